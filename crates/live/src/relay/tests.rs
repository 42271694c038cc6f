//! The relay between two pairs of datagram sockets in place of interfaces: any frame may come.

use super::*;
use proptest::prelude::*;
use sojourn_language::{AnyWords, Experiment};
use std::os::unix::net::UnixDatagram;

/// Every frame is of the first flow; the run ends after some time.
#[derive(Default)]
struct Everything {
    end: Time,
    delivered: u64,
    /// What happens to the flow, and when the relay hears of it.
    happens: Vec<(Time, Wish)>,
    /// For how long the relay stands still, once.
    stall: Duration,
}

impl Traffic for Everything {
    fn flow_of(&mut self, _: Time, _: &Frame, _: Host) -> Option<u32> {
        Some(0)
    }
    fn delivered(&mut self, _: Time, _: &Packet) {
        self.delivered += 1;
    }
    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    fn act(&mut self, now: Time, _: &mut Recorder) -> Result<Vec<Wish>, RunError> {
        let mut wishes = Vec::new();
        std::thread::sleep(std::mem::take(&mut self.stall));
        while self.happens.first().is_some_and(|(at, _)| *at <= now) {
            wishes.push(self.happens.remove(0).1);
        }
        wishes.extend((now >= self.end).then_some(Wish::End));
        Ok(wishes)
    }
    fn sample(&mut self, _: Time, _: &mut Recorder, _: &Topology<Packet>) {}
    fn number(&self, _: &str, name: &str) -> Option<f64> {
        (name == "cwnd").then_some(21.0)
    }
    fn switch(&mut self, _: Time, _: &str, _: bool, _: &mut Recorder) {}
    fn status(&mut self, _: Time, _: &Seen<'_>) {}
    fn finish(&mut self, _: Time, _: &mut Recorder, _: &Topology<Packet>) {}
}

fn scenario(hop: &str, rest: &str) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"10s\"\nping = false\nwarmup = \"0s\"\n\
         [[hop]]\nname = \"link\"\nrate = \"1gbit\"\n{hop}\n[[flow]]\nname = \"x\"\ncc = \"cubic\"\n{rest}"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let plan = experiment.plan(&AnyWords, 1).unwrap_or_else(|e| panic!("{e}"));
    plan.scenarios().next().expect("one")
}

/// Sends these to both sides of a relay; returns how many packets came out of it, and its outcome.
fn relayed(hop: &str, offload: bool, frames: &[Vec<u8>], millis: u64) -> (u64, Outcome) {
    let mut traffic = Everything { end: Time::from_millis(millis), ..Everything::default() };
    let outcome = relay(&scenario(hop, ""), offload, frames, &mut traffic);
    (traffic.delivered, outcome)
}

fn relay(
    scenario: &Scenario,
    offload: bool,
    frames: &[Vec<u8>],
    traffic: &mut Everything,
) -> Outcome {
    let pairs = [(); 2].map(|()| UnixDatagram::pair().unwrap());
    for (ours, theirs) in &pairs {
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        for frame in frames {
            // Frames that the socket has no room for never came.
            let _ = theirs.send(frame);
        }
    }
    let [(a, server), (b, client)] = pairs;
    let setting = Setting {
        scenario,
        carried: scenario,
        queues: &[],
        registry: &Registry::built_in(),
        elements: &Elements::built_in(),
        links: vec![[a.into(), b.into()]],
        pair_of: Vec::new(),
        offload,
        super_packets: offload,
        spin: false,
        capture: None,
        clock: Clock::start(),
    };
    let outcome = run(&setting, traffic, &()).unwrap_or_else(|e| panic!("{e}"));
    drop((server, client));
    outcome
}

/// A header of offloads and an IPv4 frame of TCP with this payload, by hand.
fn tcp(kind: u8, size: u16, payload: usize) -> Vec<u8> {
    let mut bytes = vec![u8::from(kind != 0), kind, 54, 0];
    bytes.extend(size.to_ne_bytes());
    bytes.extend([34, 0, 16, 0]);
    bytes.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 2]);
    bytes.extend(((40 + payload) as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 9, 9, 2, 10, 9, 9, 1]);
    bytes.extend([0x13, 0x89, 0x9c, 0x41, 0, 0, 0, 1, 0, 0, 1, 0, 0x50, 0x18, 0, 1, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + payload, 7);
    bytes
}

#[test]
fn a_super_packet_leaves_as_packets_of_its_size() {
    let hop = "qdisc = \"pfifo\"\nrtt = \"1ms\"";
    let (delivered, outcome) = relayed(hop, true, &[tcp(1, 1000, 4500)], 20);
    assert_eq!(delivered, 2 * 5, "both ways");
    assert_eq!((outcome.validity.frames, outcome.validity.super_packets), (2, 2));
    let (delivered, outcome) = relayed(hop, false, &[tcp(0, 0, 1000), tcp(0, 0, 3000)], 20);
    assert_eq!((delivered, outcome.validity.oversized), (2, 2));
}

/// A relay that stands still for 60 ms, while a sample is due every 10 ms, has been stopped for at least 40 ms of its run.
#[test]
fn a_stop_of_the_relay_is_measured() {
    let mut scenario = scenario("qdisc = \"pfifo\"\nrtt = \"1ms\"", "");
    scenario.sample_interval = Span::from_millis(10);
    let (end, stall) = (Time::from_millis(100), Duration::from_millis(60));
    let mut traffic = Everything { end, stall, ..Everything::default() };
    let outcome = relay(&scenario, false, &[], &mut traffic);
    let stopped = outcome.validity.stopped * outcome.length.as_secs_f64();
    assert!(stopped > 0.04, "{stopped} s");
    assert!(outcome.validity.faults().iter().any(|fault| fault.contains("was stopped for")));
}

/// Events and phases follow a flow from the time at which its host says that it started or ended, not from the time at which the
/// relay hears of it. Here the relay hears of a start before it, so that no stall of the machine moves an event.
#[test]
fn events_follow_flows_events_phases_and_numbers() {
    let event = |name: &str, at: &str| {
        format!("[[event]]\nname = \"{name}\"\nat = \"{at}\"\nhop = \"link\"\nrate = \"2gbit\"\n")
    };
    let rest = [
        "bytes = \"1mb\"\n[[phase]]\nname = \"p\"\nfrom = \"flow x starts + 7ms\"\nto = \"flow x ends\"\n".to_owned(),
        event("after-flow", "flow x starts + 12ms"),
        event("after-event", "event after-flow + 3ms"),
        event("after-phase", "phase p starts + 1ms"),
        event("after-all", "workload ends + 2ms"),
        event("at-once", "flow x ends"),
        event("window", "flow x cwnd > 20 + 1ms"),
        event("queue", "queue link.down.qdisc backlog_packets < 1"),
        event("never", "queue link.down.qdisc backlog_packets > 1000"),
        event("no-number", "flow x alpha > 0"),
    ]
    .concat();
    let ms = Time::from_millis;
    let mut traffic = Everything {
        end: ms(400),
        happens: vec![
            (ms(0), Wish::Happened(ms(200), 0, Edge::Start)),
            (ms(0), Wish::Happened(ms(300), 0, Edge::End)),
        ],
        ..Everything::default()
    };
    let scenario = scenario("qdisc = \"pfifo\"\nrtt = \"1ms\"", &rest);
    let outcome = relay(&scenario, false, &[], &mut traffic);
    let events = outcome.tables.iter().find(|table| table.schema().name == "events").unwrap();
    let at = |subject: &str, what: &str| {
        let is_it = |&row: &usize| {
            events.text("subject").get(row) == subject && events.text("what").get(row) == what
        };
        let found = (0..events.len()).find(is_it);
        found.map(|row| (events.f64("t_s")[row] * 1e6).round() as u64)
    };
    assert_eq!(at("phase p", "start"), Some(207_000));
    assert_eq!(at("phase p", "end"), Some(300_000));
    assert_eq!(at("event after-flow", "event"), Some(212_000));
    assert_eq!(at("event after-event", "event"), Some(215_000));
    assert_eq!(at("event after-phase", "event"), Some(208_000));
    assert_eq!(at("event at-once", "event"), Some(300_000));
    assert_eq!(at("event after-all", "event"), Some(302_000));
    assert_eq!(at("event window", "event"), Some(2000));
    assert_eq!(at("event queue", "event"), Some(1000));
    assert_eq!((at("event never", "event"), at("event no-number", "event")), (None, None));
}

/// A super-packet that says that its packets have no payload stays whole, and is too long.
#[test]
fn a_super_packet_without_a_size_is_oversized() {
    let hop = "qdisc = \"pfifo\"\nrtt = \"1ms\"";
    let (delivered, outcome) = relayed(hop, true, &[tcp(1, 0, 4500)], 20);
    assert_eq!((delivered, outcome.validity.oversized), (0, 2));
}

/// The parts of one super-packet leave joined; a marked packet leaves alone.
#[test]
fn neighbours_of_a_connection_leave_joined() {
    let whole = Frame::new(tcp(1, 1000, 4000)[10..].to_vec());
    let parts = whole.unfinished_segments(1000, false);
    let packet =
        |part: &Frame| Packet::new(part.clone(), Time::ZERO, Host::Client, 0, 0).unfinished();
    let mut packets: Vec<Packet> = parts.iter().map(packet).collect();
    let sent = |packets: &[Packet]| -> Vec<(usize, u8, u16, bool)> {
        let out = joined(packets.iter());
        let of = |o: &Outgoing<'_>| {
            let (offloaded, bytes) = o.parts();
            (bytes.len() - 54, offloaded.kind, offloaded.size, offloaded.needs_checksum)
        };
        out.iter().map(of).collect()
    };
    // The last has PSH, and is the last of the join.
    assert_eq!(sent(&packets), [(4000, 1, 1000, true)]);
    sojourn_qdisc::Packet::set_ce(&mut packets[1]);
    let alone = (1000, 0, 0, true);
    assert_eq!(sent(&packets), [alone, alone, (2000, 1, 1000, true)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever arrives, the relay goes on, and its books are right: each packet that entered left, was dropped or waits.
    #[test]
    fn any_frame_may_come(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        headers in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u16>(), 0_usize..9000), 0..20),
        queue in prop::sample::select(vec!["pfifo", "fq_codel", "dualpi2", "cake ack-filter", "pie ecn"]),
        offload in any::<bool>(),
    ) {
        let mut all = frames;
        all.extend(headers.into_iter().map(|(flags, kind, size, payload)| {
            let mut frame = tcp(kind, size, payload);
            frame[0] = flags;
            frame
        }));
        let hop = format!("qdisc = \"{queue}\"\nrtt = \"1ms\"");
        let (_, outcome) = relayed(&hop, offload, &all, 5);
        let totals = outcome.tables.iter().find(|table| table.schema().name == "totals").unwrap();
        let of = |subject: &str, name: &str| {
            let row = (0..totals.len()).find(|&row| {
                totals.text("subject").get(row) == subject && totals.text("name").get(row) == name
            });
            row.map_or(0.0, |row| totals.f64("value")[row])
        };
        for queue in ["link.down.qdisc", "link.up.qdisc"] {
            let rest = of(queue, "left") + of(queue, "dropped") + of(queue, "held");
            prop_assert_eq!(of(queue, "entered"), rest, "{}", queue);
        }
    }
}
