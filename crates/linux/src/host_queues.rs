//! The queue on the device of a direction's sending host, in tc's words.
//!
//! On the simulator a flow's `host_qdisc` holds its data alone: flows of the same words share one, and the host's other packets
//! pass none. Where all packets of the host are of such flows, the discipline is the device's root. Else the root is `prio`:
//! each of the words has a band, to which filters lead its flows by their ports, and all other packets have the last band,
//! with what the host's device has without a `host_qdisc`. The device takes no time, so no band waits for another, and a
//! discipline that holds packets back (`fq`, `tbf`) holds back those of its band alone.
//!
//! `fq` paces below `prio` as it does at the root: it takes a socket's pacing over when the first packet comes to it, whatever
//! is above it.

use crate::rewrite;
use sojourn_model::{Direction, Flow, Ip, Scenario};

/// The bands that `prio` can have, with that of all other packets (`TCQ_PRIO_BANDS` in `include/uapi/linux/pkt_sched.h`).
const BANDS: usize = 16;

/// The most different words that the flows of one direction can have.
pub(crate) const MOST: usize = BANDS - 1;

/// What `prio`'s handle is.
const HANDLE: &str = "1:";

/// The words of a flow's own queue at the host that sends this direction's data.
fn own(flow: &Flow, direction: Direction) -> Option<&str> {
    let tcp = flow.traffic.tcp().filter(|_| flow.direction == direction)?;
    tcp.host_qdisc.as_deref()
}

/// The different words of a direction's flows, in their order.
pub(crate) fn different(scenario: &Scenario, direction: Direction) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for words in scenario.flows.iter().filter_map(|flow| own(flow, direction)) {
        if !all.contains(&words) {
            all.push(words);
        }
    }
    all
}

/// tc's words for the device of the host that sends a direction's data; `other` is the discipline of a device that has no
/// `host_qdisc`, if it has one.
pub(crate) fn words(
    scenario: &Scenario,
    direction: Direction,
    device: &str,
    other: Option<&str>,
) -> Vec<String> {
    let different = different(scenario, direction);
    let root = |words: &str| format!("qdisc add dev {device} root {words}");
    let Some(first) = different.first() else {
        return other.into_iter().map(root).collect();
    };
    if scenario.flows.iter().all(|flow| own(flow, direction) == Some(first)) {
        return vec![root(first)];
    }
    let bands = different.len() + 1;
    let last = vec![different.len().to_string(); BANDS].join(" ");
    let mut all = vec![root(&format!("handle {HANDLE} prio bands {bands} priomap {last}"))];
    let leaves = different.iter().copied().chain(other);
    all.extend((1..).zip(leaves).map(|(band, words): (usize, &str)| {
        format!("qdisc add dev {device} parent {HANDLE}{band} {words}")
    }));
    for (i, flow) in scenario.flows.iter().enumerate() {
        let band = own(flow, direction).and_then(|own| different.iter().position(|w| *w == own));
        let Some(band) = band else { continue };
        // Of each protocol filters have a priority of their own.
        let protocol = match flow.ip {
            Ip::V4 => "ip prio 1",
            Ip::V6 => "ipv6 prio 2",
        };
        all.extend(rewrite::of_flow(i, flow).into_iter().map(|packets| {
            format!(
                "filter add dev {device} parent {HANDLE} protocol {protocol} u32 {packets} flowid {HANDLE}{}",
                band + 1
            )
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_language::{AnyWords, Experiment};

    fn scenario(flows: &str) -> Scenario {
        let text = format!(
            "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\nrate = \"9mbit\"\n\
             rtt = \"20ms\"\nqdisc = \"pfifo\"\n{flows}"
        );
        let experiment = Experiment::parse("t.toml", &text).unwrap();
        experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0)
    }

    fn words_of(flows: &str) -> Vec<String> {
        words(&scenario(flows), Direction::Down, "c", Some("netem delay 3us"))
    }

    #[test]
    fn other_packets_pass_a_band_of_their_own() {
        let fq = "[[flow]]\nname = \"a\"\ncc = \"bbr\"\nhost_qdisc = \"fq\"\n";
        // Each experiment has a ping; without it no packet is of another kind.
        let root = "qdisc add dev c root fq";
        let mut alone = scenario(fq);
        alone.flows.retain(|flow| flow.traffic.tcp().is_some());
        assert_eq!(words(&alone, Direction::Down, "c", None), [root]);
        let plain = "[[flow]]\nname = \"b\"\ncc = \"cubic\"\n";
        assert_eq!(words_of(plain), ["qdisc add dev c root netem delay 3us"]);
        let six = "[[flow]]\nname = \"c\"\ncc = \"cubic\"\nip = 6\nhost_qdisc = \"codel\"\n";
        assert_eq!(
            words_of(&format!("{fq}{plain}{six}")),
            [
                "qdisc add dev c root handle 1: prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2",
                "qdisc add dev c parent 1:1 fq",
                "qdisc add dev c parent 1:2 codel",
                "qdisc add dev c parent 1:3 netem delay 3us",
                "filter add dev c parent 1: protocol ip prio 1 u32 match ip sport 40001 0xffff flowid 1:1",
                "filter add dev c parent 1: protocol ip prio 1 u32 match ip sport 5001 0xffff flowid 1:1",
                "filter add dev c parent 1: protocol ipv6 prio 2 u32 match ip6 sport 40003 0xffff flowid 1:2",
                "filter add dev c parent 1: protocol ipv6 prio 2 u32 match ip6 sport 5003 0xffff flowid 1:2",
            ]
        );
        // What comes back of another direction's flow is no data of this one's.
        let up =
            "[[flow]]\nname = \"up\"\ncc = \"cubic\"\ndirection = \"up\"\nhost_qdisc = \"fq\"\n";
        assert_eq!(words_of(&format!("{plain}{up}")), words_of(plain));
        assert!(words_of(&format!("{fq}{up}"))[0].contains("prio bands 2"));
    }
}
