//! Plans that cannot be carried out are refused before the run, with their place.

use sojourn_language::{Experiment, MOST_RUNS};
use sojourn_vocabulary::Words;

fn said(hop: &str, flow: &str, events: &str) -> Result<(), String> {
    let text = format!(
        "[experiment]\nname = \"s\"\nduration = \"10s\"\n\n[[hop]]\nname = \"b\"\nrtt = \"20ms\"\n{hop}\n\n[[flow]]\nname = \"f\"\n{flow}\n\n{events}"
    );
    let experiment = Experiment::parse("s.toml", &text).expect("TOML");
    experiment.plan(&Words::default(), MOST_RUNS).map(drop).map_err(|e| e.to_string())
}

const HOP: &str = "rate = \"50mbit\"\nqdisc = \"fq_codel\"";

fn event(name: &str, at: &str, what: &str) -> String {
    format!("[[event]]\nname = \"{name}\"\nat = \"{at}\"\nhop = \"b\"\n{what}\n\n")
}

#[test]
fn a_change_is_of_the_discipline_that_stands_there_then() {
    let change = |at| event("c", at, "change = \"pie target 5ms\"");
    let wrong = said(HOP, "", &change("2s")).expect_err("fq_codel is there");
    for part in [
        "b.down.qdisc is fq_codel then, and pie cannot change it",
        "replace = \"pie target 5ms\"",
        "s.toml:19:10",
        "^^^^",
    ] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    let replace = event("r", "1s", "replace = \"pie\"");
    assert_eq!(said(HOP, "", &(replace.clone() + &change("2s"))), Ok(()));
    // The earlier time is earlier, whatever the order in the file.
    assert!(said(HOP, "", &(replace + &change("500ms"))).is_err());
    // When one that waits comes nobody knows.
    let waits = event("r", "flow f ends", "replace = \"pie\"");
    assert_eq!(said(HOP, "", &(waits + &change("2s"))), Ok(()));
    assert_eq!(said(HOP, "", &event("c", "2s", "change = \"FQ_CoDel target 9ms\"")), Ok(()));
}

#[test]
fn a_change_names_the_child_that_stands_there_then() {
    let hop = "qdisc = \"htb rate 10mbit fq_codel\"\nshaper = \"own\"";
    let change = |words| event("c", "2s", &format!("change = \"{words}\""));
    let wrong = said(hop, "", &change("htb rate 5mbit pie")).expect_err("fq_codel is the child");
    for part in [
        "b.down.qdisc is htb with fq_codel then, and htb with pie cannot change it",
        "write htb, its options, fq_codel and its new options, or replace = \"htb rate 5mbit pie\"",
        "s.toml:19:10",
        "^^^^",
    ] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    for right in ["htb rate 5mbit", "htb rate 5mbit fq_codel", "HTB rate 5mbit fq_codel target 9ms"]
    {
        assert_eq!(said(hop, "", &change(right)), Ok(()), "{right}");
    }
    // A child that nobody named has a name.
    let plain = "qdisc = \"htb rate 10mbit\"\nshaper = \"own\"";
    let wrong = said(plain, "", &change("htb rate 5mbit pie")).expect_err("it has another child");
    assert!(wrong.contains("b.down.qdisc is htb with pfifo then, and htb with pie"), "{wrong}");
    let replace = event("r", "1s", "replace = \"htb rate 9mbit pie\"");
    assert_eq!(said(plain, "", &(replace + &change("htb rate 5mbit pie target 5ms"))), Ok(()));
}

#[test]
fn what_only_goes_at_creation_is_no_change() {
    let wrong = said(HOP, "", &event("c", "2s", "change = \"fq_codel limit 5 flows 16\""));
    let wrong = wrong.expect_err("the hash has its size");
    assert!(wrong.contains("\"flows\" cannot be changed while the queue runs"), "{wrong}");
    assert!(wrong.contains("s.toml:19:28") && wrong.contains("^^^^^"), "{wrong}");
}

#[test]
fn a_rate_is_not_set_where_the_discipline_shapes_itself() {
    let replace = event("r", "1s", "replace = \"cake bandwidth 5mbit\"\nshaper = \"own\"");
    let rate = event("c", "2s", "rate = \"1mbit\"");
    let wrong = said(HOP, "", &(replace + &rate)).expect_err("cake shapes itself");
    assert!(wrong.contains("b.down.qdisc is cake then, which shapes itself"), "{wrong}");
    assert_eq!(said(HOP, "", &rate), Ok(()));
}

#[test]
fn a_bucket_is_within_tcs_range() {
    let wrong = said("rate = \"10tbit\"\nqdisc = \"pfifo\"\nburst = \"0.5bdp\"", "", "");
    let wrong = wrong.expect_err("12.5 GB");
    assert!(wrong.contains("12500000000 bytes here; a bucket has at most 4294967295"), "{wrong}");
    assert_eq!(said("rate = \"10gbit\"\nqdisc = \"pfifo\"\nburst = \"0.5bdp\"", "", ""), Ok(()));
}

#[test]
fn a_rate_below_a_byte_a_second_is_none() {
    for (hop, flow, events) in [
        ("rate = \"1bit\"\nqdisc = \"pfifo\"", "", String::new()),
        ("rate = \"1mbit\"\nceil = \"7bit\"\nqdisc = \"pfifo\"", "", String::new()),
        (HOP, "max_pacing_rate = \"1bit\"", String::new()),
        (HOP, "app_rate = \"1bit\"", String::new()),
        (HOP, "", event("c", "2s", "rate = \"1bit\"")),
    ] {
        let wrong = said(hop, flow, &events).expect_err("too slow");
        assert!(wrong.contains("8bit"), "{wrong}");
        let enough =
            |text: &str| text.replace("\"1bit\"", "\"8bit\"").replace("\"7bit\"", "\"8bit\"");
        assert_eq!(said(&enough(hop), &enough(flow), &enough(&events)), Ok(()));
    }
}
