//! Rewriters as tc's filters and actions, where packets come in.
//!
//! A rewriter is one or more u32 filters with `pedit`, the checksums mended after it, and `continue`, so that the
//! next filter sees the packet as it is now. Headers have fixed places here: IPv4 without options, TCP behind it.

use crate::plan::{RECEIVER_PORT, SENDER_PORT};
use sojourn_scenario::model::{Rewrite, Rule, Scenario, Selector, Traffic};

/// The filters of a rewriter, as words behind `filter add dev … parent ffff: protocol ip prio …`.
pub(crate) fn filters(scenario: &Scenario, rewrite: &Rewrite) -> Vec<String> {
    let actions = actions(rewrite.rule);
    let field = field(rewrite.rule);
    let mut filters = Vec::new();
    for select in selections(scenario, &rewrite.select) {
        for segment in segments(rewrite) {
            let words: Vec<&str> =
                [select.as_str(), segment, field].into_iter().filter(|w| !w.is_empty()).collect();
            let words = if words.is_empty() { "match u32 0 0".to_owned() } else { words.join(" ") };
            filters.push(format!("u32 {words} {actions}"));
        }
    }
    filters
}

/// Which packets, by header: those with a DSCP, those of some flows.
fn selections(scenario: &Scenario, select: &Selector) -> Vec<String> {
    match select {
        Selector::All => vec![String::new()],
        Selector::Dscp(dscp) => vec![format!("match ip tos {:#04x} 0xfc", dscp.value() << 2)],
        Selector::Flows(names) => scenario
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| names.contains(&flow.name))
            .flat_map(|(i, flow)| of_flow(i, &flow.traffic))
            .collect(),
    }
}

/// What finds a flow's packets, both ways.
pub(crate) fn of_flow(i: usize, traffic: &Traffic) -> Vec<String> {
    if matches!(traffic, Traffic::Ping(_)) {
        return vec![format!("match ip protocol 1 0xff match u16 {i} 0xffff at 24")];
    }
    [SENDER_PORT + i, RECEIVER_PORT + i]
        .map(|port| format!("match ip sport {port} 0xffff"))
        .to_vec()
}

/// What keeps SYN segments, or what is not TCP, out.
fn segments(rewrite: &Rewrite) -> Vec<&'static str> {
    const TCP: &str = "match ip protocol 6 0xff";
    let tcp_alone = matches!(rewrite.rule, Rule::DscpToNotect | Rule::DscpToNotectEct1);
    match (tcp_alone, rewrite.syn) {
        (true, true) => vec![TCP],
        (true, false) => vec!["match ip protocol 6 0xff match u8 0x00 0x02 at 33"],
        (false, true) => vec![""],
        (false, false) => vec![
            "match ip protocol 6 0xff match u8 0x00 0x02 at 33",
            "match ip protocol 17 0xff",
            "match ip protocol 1 0xff",
        ],
    }
}

/// The ECN field that a rule is for.
fn field(rule: Rule) -> &'static str {
    match rule {
        Rule::BleachCe | Rule::CeToEct { .. } => "match ip tos 0x03 0x03",
        Rule::Ect0ToEct1 => "match ip tos 0x02 0x03",
        Rule::Ect1ToEct0 => "match ip tos 0x01 0x03",
        _ => "",
    }
}

fn actions(rule: Rule) -> String {
    let tos = |set: u8, bits: u8| format!("munge ip tos set {set:#04x} retain {bits:#04x}");
    // ECE and CWR.
    let no_echo = "munge offset 33 u8 set 0x00 retain 0xc0".to_owned();
    let munges = match rule {
        Rule::BleachEcn { keep_dscp: true } => vec![tos(0, 0x03)],
        Rule::BleachEcn { keep_dscp: false } | Rule::BleachCe => vec![tos(0, 0xff)],
        Rule::DscpToEct1 | Rule::Ect0ToEct1 => vec![tos(1, 0x03)],
        Rule::Ect1ToEct0 => vec![tos(2, 0x03)],
        Rule::CeToEct { ecn } => vec![tos(ecn.bits(), 0x03)],
        Rule::DscpToNotect => vec![no_echo],
        Rule::DscpToNotectEct1 => vec![no_echo, tos(1, 0x03)],
        Rule::SetDscp { to } => vec![tos(to.value() << 2, 0xfc)],
        Rule::ClassifyByLength { .. } => vec![],
    };
    let sums = if matches!(rule, Rule::DscpToNotect | Rule::DscpToNotectEct1) {
        "ip4h tcp"
    } else {
        "ip4h"
    };
    format!("action pedit {} pipe action csum {sums} continue", munges.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Ecn;

    #[test]
    fn rules_are_tcs_words() {
        let ect1 = Rewrite { rule: Rule::Ect0ToEct1, select: Selector::All, syn: true };
        let words: Vec<String> = selections_of(&ect1);
        assert_eq!(
            words,
            ["u32 match ip tos 0x02 0x03 action pedit munge ip tos set 0x01 retain 0x03 \
              pipe action csum ip4h continue"]
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

    fn selections_of(rewrite: &Rewrite) -> Vec<String> {
        let text = "[experiment]\nname = \"t\"\nduration = \"1s\"\n[[hop]]\nname = \"h\"\nrate = \"1mbit\"\n\
                    rtt = \"1ms\"\nqdisc = \"pfifo\"\n[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";
        let experiment = sojourn_scenario::language::Experiment::parse("t.toml", text).unwrap();
        let plan = experiment.plan(&sojourn_scenario::language::AnyWords, 10).unwrap();
        filters(&plan.into_scenarios().remove(0), rewrite)
    }
}
