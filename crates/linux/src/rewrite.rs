//! Rewriters as tc's filters and actions, where packets come in.
//!
//! A rewriter is one or more u32 filters with `pedit`, the checksums fixed after it, and `continue`, so that the
//! next filter sees the packet as it is now. Headers have fixed places here: IPv4 without options or IPv6 without
//! extension headers, TCP behind it.
//!
//! Version 6 has its traffic class in the middle of the first two bytes, and no checksum of its own.

use crate::ports::{RECEIVER_PORT, SENDER_PORT};
use crate::programs;
use sojourn_model::{Flow, Ip, Rewrite, Rule, Scenario, Selector, Traffic};
use sojourn_units::Ecn;

/// The bits of a TOS byte, or traffic class, that are the ECN field.
const ECN: u8 = 0x03;
/// Those that are the DSCP.
const DSCP: u8 = 0xfc;
/// All of them.
const BYTE: u8 = 0xff;

/// The versions of IP that a rewriter of this scenario has filters for: 6 where a flow has it.
pub(crate) fn versions(scenario: &Scenario) -> Vec<Ip> {
    let sixth = scenario.flows.iter().any(|flow| flow.ip == Ip::V6);
    if sixth { vec![Ip::V4, Ip::V6] } else { vec![Ip::V4] }
}

/// The filters of a rewriter for packets of one version, as words behind `filter add dev … parent ffff: protocol … prio …`.
pub(crate) fn filters(scenario: &Scenario, rewrite: &Rewrite, ip: Ip) -> Vec<String> {
    let actions = actions(rewrite.rule, ip);
    let field = field(rewrite.rule, ip);
    let mut filters = Vec::new();
    for select in selections(scenario, &rewrite.select, ip) {
        for segment in segments(rewrite, ip) {
            for length in lengths(rewrite.rule, ip) {
                let words = [&select, &segment, &field, &length];
                let words: Vec<&str> =
                    words.into_iter().map(String::as_str).filter(|w| !w.is_empty()).collect();
                let words =
                    if words.is_empty() { "match u32 0 0".to_owned() } else { words.join(" ") };
                filters.push(format!("u32 {words} {actions}"));
            }
        }
    }
    filters
}

/// The lengths that a rule is for: by the total length of version 4, and by the length behind the header of version 6. u32
/// knows no order, so what is longer than a bound is cut into blocks of a power of two, which a value and a mask tell; none
/// overlaps another.
fn lengths(rule: Rule, ip: Ip) -> Vec<String> {
    const BEYOND: u32 = 1 << 16;
    let (header, at) = match ip {
        Ip::V4 => (20, 2),
        Ip::V6 => (0, 4),
    };
    let Rule::ClassifyByLength { longer_than, .. } = rule else { return vec![String::new()] };
    let mut from = longer_than.saturating_add(header + 1);
    let mut blocks = Vec::new();
    while from < BEYOND {
        // The largest block that begins here: a bound of 16 bits is a multiple of it, too.
        let size = 1 << from.trailing_zeros();
        blocks.push(format!("match u16 {from:#06x} {:#06x} at {at}", (BEYOND - size) & 0xffff));
        from += size;
    }
    blocks
}

/// What finds packets with a value in these bits of the TOS byte, or of the traffic class.
fn class(ip: Ip, value: u8, bits: u8) -> String {
    match ip {
        Ip::V4 => format!("match ip tos {value:#04x} {bits:#04x}"),
        Ip::V6 => {
            format!("match u16 {:#06x} {:#06x} at 0", u16::from(value) << 4, u16::from(bits) << 4)
        }
    }
}

/// What finds packets of a protocol, by its number.
fn protocol(ip: Ip, number: u8) -> String {
    match ip {
        Ip::V4 => format!("match ip protocol {number} 0xff"),
        Ip::V6 => format!("match ip6 protocol {number} 0xff"),
    }
}

/// Where the byte of TCP's flags is from the beginning of IP's header.
const fn flags_at(ip: Ip) -> u8 {
    match ip {
        Ip::V4 => 33,
        Ip::V6 => 53,
    }
}

/// Which packets, by header: those with a DSCP, those of some flows.
fn selections(scenario: &Scenario, select: &Selector, ip: Ip) -> Vec<String> {
    match select {
        Selector::All => vec![String::new()],
        Selector::Dscp(dscp) => vec![class(ip, dscp.value() << 2, DSCP)],
        Selector::Flows(names) => scenario
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| flow.ip == ip && names.contains(&flow.name))
            .flat_map(|(i, flow)| of_flow(i, flow))
            .collect(),
    }
}

/// What finds a flow's packets, both ways.
pub(crate) fn of_flow(i: usize, flow: &Flow) -> Vec<String> {
    if matches!(flow.traffic, Traffic::Program(_)) {
        let network = programs::network(i, flow.ip);
        return match flow.ip {
            Ip::V4 => vec![format!("match ip src {network}")],
            Ip::V6 => vec![format!("match ip6 src {network}")],
        };
    }
    if matches!(flow.traffic, Traffic::Ping(_)) {
        return match flow.ip {
            Ip::V4 => vec![format!("match ip protocol 1 0xff match u16 {i} 0xffff at 24")],
            Ip::V6 => vec![format!("match ip6 protocol 58 0xff match u16 {i} 0xffff at 44")],
        };
    }
    // Of many connections each has a port of its own at the receiver.
    let many = matches!(flow.traffic, Traffic::ShortFlows(_));
    let receiver = if many { ("dport", SENDER_PORT + i) } else { ("sport", RECEIVER_PORT + i) };
    let ip = match flow.ip {
        Ip::V4 => "ip",
        Ip::V6 => "ip6",
    };
    [("sport", SENDER_PORT + i), receiver]
        .map(|(side, port)| format!("match {ip} {side} {port} 0xffff"))
        .to_vec()
}

/// The filters that give a flow's packets the codepoint that it states instead of its control's, at both of its hosts,
/// as words behind `filter add dev … egress`. Packets that are not ECN-capable stay as they are.
pub(crate) fn codepoint(i: usize, flow: &Flow) -> Vec<String> {
    let Some(ecn) = flow.traffic.tcp().and_then(|tcp| tcp.codepoint) else { return Vec::new() };
    let own = [Ecn::Ect0, Ecn::Ect1].into_iter().filter(|other| *other != ecn);
    let (from, to): (Vec<u8>, u8) = (own.map(Ecn::bits).collect(), ecn.bits());
    let packets = of_flow(i, flow);
    let filter = |(packets, from): (&String, &u8)| match flow.ip {
        Ip::V4 => format!(
            "protocol ip prio {} u32 {packets} match ip tos {from:#04x} 0x03 action pedit \
             munge ip tos set {to:#04x} retain 0x03 pipe action csum ip4h",
            2 * from,
        ),
        // The traffic class lies across the first two bytes.
        Ip::V6 => format!(
            "protocol ipv6 prio {} u32 {packets} match u8 {:#04x} 0x30 at 1 action pedit \
             munge offset 1 u8 set {:#04x} retain 0x30",
            2 * from + 1,
            from << 4,
            to << 4,
        ),
    };
    packets
        .iter()
        .flat_map(|packets| from.iter().map(move |from| (packets, from)))
        .map(filter)
        .collect()
}

/// What keeps SYN segments, or what is not TCP, out.
fn segments(rewrite: &Rewrite, ip: Ip) -> Vec<String> {
    let tcp = protocol(ip, 6);
    let no_syn = format!("{tcp} match u8 0x00 0x02 at {}", flags_at(ip));
    let icmp = match ip {
        Ip::V4 => 1,
        Ip::V6 => 58,
    };
    let tcp_alone = matches!(rewrite.rule, Rule::DscpToNotect | Rule::DscpToNotectEct1);
    match (tcp_alone, rewrite.syn) {
        (true, true) => vec![tcp],
        (true, false) => vec![no_syn],
        (false, true) => vec![String::new()],
        (false, false) => vec![no_syn, protocol(ip, 17), protocol(ip, icmp)],
    }
}

/// The ECN field that a rule is for.
fn field(rule: Rule, ip: Ip) -> String {
    let of = |ecn: Ecn| class(ip, ecn.bits(), ECN);
    match rule {
        Rule::BleachCe | Rule::CeToEct { .. } => of(Ecn::Ce),
        Rule::Ect0ToEct1 => of(Ecn::Ect0),
        Rule::Ect1ToEct0 => of(Ecn::Ect1),
        _ => String::new(),
    }
}

/// What a rule makes of the TOS byte: the value, and the bits that it changes.
fn byte(rule: Rule) -> Option<(u8, u8)> {
    match rule {
        Rule::BleachEcn { keep_dscp: true } => Some((0, ECN)),
        Rule::BleachEcn { keep_dscp: false } | Rule::BleachCe => Some((0, BYTE)),
        // The published rules set the whole byte.
        Rule::DscpToEct1 | Rule::Ect0ToEct1 | Rule::DscpToNotectEct1 => {
            Some((Ecn::Ect1.bits(), BYTE))
        }
        Rule::Ect1ToEct0 => Some((Ecn::Ect0.bits(), BYTE)),
        Rule::CeToEct { ecn } | Rule::ClassifyByLength { ecn, to: None, .. } => {
            Some((ecn.bits(), ECN))
        }
        Rule::DscpToNotect => None,
        Rule::SetDscp { to } => Some((to.value() << 2, DSCP)),
        Rule::ClassifyByLength { ecn, to: Some(dscp), .. } => Some((dscp.tos(ecn), BYTE)),
    }
}

fn actions(rule: Rule, ip: Ip) -> String {
    let mut munges = Vec::new();
    let strips = matches!(rule, Rule::DscpToNotect | Rule::DscpToNotectEct1);
    if strips {
        // ECE and CWR.
        munges.push(format!("munge offset {} u8 set 0x00 retain 0xc0", flags_at(ip)));
    }
    munges.extend(byte(rule).map(|(value, bits)| match ip {
        Ip::V4 => format!("munge ip tos set {value:#04x} retain {bits:#04x}"),
        Ip::V6 => {
            let [value, bits] = [value, bits].map(|byte| u16::from(byte) << 4);
            format!("munge offset 0 u16 set {value:#06x} retain {bits:#06x}")
        }
    }));
    let munges = munges.join(" ");
    match (ip, strips) {
        (Ip::V4, false) => format!("action pedit {munges} pipe action csum ip4h continue"),
        (Ip::V4, true) => format!("action pedit {munges} pipe action csum ip4h tcp continue"),
        (Ip::V6, false) => format!("action pedit {munges} continue"),
        (Ip::V6, true) => format!("action pedit {munges} pipe action csum tcp continue"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_tcs_words() {
        let ect1 = Rewrite { rule: Rule::Ect0ToEct1, select: Selector::All, syn: true };
        let words: Vec<String> = selections_of(&ect1);
        assert_eq!(
            words,
            ["u32 match ip tos 0x02 0x03 action pedit munge ip tos set 0x01 retain 0xff \
              pipe action csum ip4h continue"]
        );
        assert_eq!(
            filters(&scenario(), &ect1, Ip::V6),
            ["u32 match u16 0x0020 0x0030 at 0 action pedit munge offset 0 u16 set 0x0010 \
              retain 0x0ff0 continue"]
        );
        let no_echo = Rewrite { rule: Rule::DscpToNotect, select: Selector::All, syn: false };
        assert_eq!(
            filters(&scenario(), &no_echo, Ip::V6),
            [
                "u32 match ip6 protocol 6 0xff match u8 0x00 0x02 at 53 action pedit munge offset 53 \
              u8 set 0x00 retain 0xc0 pipe action csum tcp continue"
            ]
        );
        let rule = Rule::CeToEct { ecn: Ecn::Ect0 };
        let ce = Rewrite { rule, select: Selector::All, syn: false };
        let words = selections_of(&ce);
        assert_eq!(words.len(), 3);
        assert!(words[0].contains("match u8 0x00 0x02 at 33 match ip tos 0x03 0x03"), "{words:?}");
        let all = Rewrite {
            rule: Rule::BleachEcn { keep_dscp: false },
            select: Selector::All,
            syn: true,
        };
        assert!(selections_of(&all)[0].starts_with("u32 match u32 0 0 action pedit"));
    }

    /// The bug of the published classifier: UDP datagrams with a header and payload longer than 1024 bytes, that is IP
    /// packets from 1045 on. 0x0415 is odd, so the blocks begin with one of 1, 2, 8, 32 and so on.
    #[test]
    fn lengths_are_cut_into_blocks() {
        let rule = |longer_than| Rule::ClassifyByLength { longer_than, ecn: Ecn::Ect1, to: None };
        let blocks = lengths(rule(1024), Ip::V4);
        assert_eq!(lengths(rule(1024), Ip::V6)[0], "match u16 0x0401 0xffff at 4");
        assert_eq!(blocks[0], "match u16 0x0415 0xffff at 2");
        assert_eq!(blocks[1], "match u16 0x0416 0xfffe at 2");
        assert_eq!(blocks[2], "match u16 0x0418 0xfff8 at 2");
        assert_eq!(blocks.last().unwrap(), "match u16 0x8000 0x8000 at 2");
        let hex = |word: &str| u32::from_str_radix(&word[2..], 16).unwrap();
        let taken = |blocks: &[String], length: u32| {
            let is_in = |b: &&String| {
                let words: Vec<&str> = b.split(' ').collect();
                length & hex(words[3]) == hex(words[2])
            };
            blocks.iter().filter(is_in).count()
        };
        for longer_than in [0, 1, 44, 1003, 1004, 1024, 1480, 65_514] {
            let blocks = lengths(rule(longer_than), Ip::V4);
            assert!(blocks.len() <= 16);
            for length in 0..=0xffff {
                let meant = usize::from(length > longer_than + 20);
                assert_eq!(taken(&blocks, length), meant, "{longer_than} {length}");
            }
        }
        assert!(lengths(rule(65_515), Ip::V4).is_empty());
        assert!(lengths(rule(u32::MAX), Ip::V6).is_empty());
        let slip = Rewrite { rule: rule(1024), select: Selector::All, syn: true };
        assert_eq!(
            selections_of(&slip)[0],
            "u32 match u16 0x0415 0xffff at 2 action pedit munge ip tos set 0x01 retain 0x03 \
             pipe action csum ip4h continue"
        );
    }

    fn scenario() -> Scenario {
        let text = "[experiment]\nname = \"t\"\nduration = \"1s\"\n[[hop]]\nname = \"h\"\nrate = \"1mbit\"\n\
                    rtt = \"1ms\"\nqdisc = \"pfifo\"\n[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";
        let experiment = sojourn_language::Experiment::parse("t.toml", text).unwrap();
        let plan = experiment.plan(&sojourn_language::AnyWords, 10).unwrap();
        plan.into_scenarios().remove(0)
    }

    fn selections_of(rewrite: &Rewrite) -> Vec<String> {
        filters(&scenario(), rewrite, Ip::V4)
    }
}
