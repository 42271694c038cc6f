//! tc's grammar: an error names the mistake, its place, and the correct words.

use crate::bench::{Bench, Pkt, ms};
use proptest::prelude::*;
use sojourn_qdisc::table::{DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{AnyQdisc, Context, QdiscQuirks, Registry, TcError, disciplines};
use sojourn_units::Random;

fn build(words: &str, profile: &QdiscQuirks) -> Result<AnyQdisc<Pkt>, TcError> {
    Registry::built_in().build(words, profile, &mut Random::named(1, "words"))
}

fn error(words: &str) -> TcError {
    build(words, &QdiscQuirks::LINUX_7_3).err().unwrap_or_else(|| panic!("\"{words}\" is taken"))
}

/// Text, the word that the error points at (nothing: the end), the message; `{ALL}` is every discipline's name.
const WRONG: &[(&str, &str, &str)] = &[
    ("", "", "no queue discipline is named; write one of {ALL}"),
    ("  \t ", "", "no queue discipline is named; write one of {ALL}"),
    (
        "fq_coddle",
        "fq_coddle",
        "unknown queue discipline \"fq_coddle\"; did you mean \"fq_codel\"?",
    ),
    (
        "fq-codel flows 1",
        "fq-codel",
        "unknown queue discipline \"fq-codel\"; did you mean \"fq_codel\"?",
    ),
    ("PIE", "PIE", "unknown queue discipline \"PIE\"; there are {ALL}"),
    (
        "cake_mq besteffort",
        "cake_mq",
        "cake_mq is for a device with several transmit queues, and a bottleneck has one transmit queue; \
         write cake: cake_mq puts one on each transmit queue",
    ),
    ("dualpi9", "dualpi9", "unknown queue discipline \"dualpi9\"; did you mean \"dualpi2\"?"),
    ("codel taget 5ms", "taget", "codel has no option \"taget\"; did you mean \"target\"?"),
    ("codel inter 5ms", "inter", "codel has no option \"inter\"; did you mean \"interval\"?"),
    (
        "fq_codel target 1ms flow 1",
        "flow",
        "fq_codel has no option \"flow\"; did you mean \"flows\"?",
    ),
    (
        "codel flows 1",
        "flows",
        "codel has no option \"flows\"; its options are limit, target, interval, ecn, noecn, ce_threshold",
    ),
    ("pfifo 100", "100", "pfifo has no option \"100\"; its options are limit"),
    ("pfifo limit", "", "\"limit\" needs a value; write a number of packets from 1 to 4294967295"),
    (
        "pfifo limit 0",
        "0",
        "\"limit\": 0 is out of range; write a number of packets from 1 to 4294967295",
    ),
    (
        "pfifo limit 200p",
        "200p",
        "\"limit\": \"200p\" is not a whole number; write a number of packets from 1 to 4294967295",
    ),
    (
        "pfifo limit -1",
        "-1",
        "\"limit\": \"-1\" is not a whole number; write a number of packets from 1 to 4294967295",
    ),
    (
        "pfifo limit 1.5",
        "1.5",
        "\"limit\": \"1.5\" is not a whole number; write a number of packets from 1 to 4294967295",
    ),
    (
        "pfifo limit 4294967296",
        "4294967296",
        "\"limit\": 4294967296 is out of range; write a number of packets from 1 to 4294967295",
    ),
    (
        "bfifo limit 10x",
        "10x",
        "\"limit\": \"x\" in \"10x\" is not a unit here; write a size from 1 to 4294967295 bytes, such as 32k",
    ),
    (
        "fq_codel target",
        "",
        "\"target\" needs a value; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel target ecn",
        "ecn",
        "\"target\": \"ecn\" does not begin with a number; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel target 5mbit",
        "5mbit",
        "\"target\": \"mbit\" in \"5mbit\" is not a unit here; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel target -5ms",
        "-5ms",
        "\"target\": \"-5ms\" is negative; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel interval 0",
        "0",
        "\"interval\": 0 is out of range; write a time from 1us to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel target 2h",
        "2h",
        "\"target\": \"h\" in \"2h\" is not a unit here; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel target 5000s",
        "5000s",
        "\"target\": 5000s is out of range; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "fq_codel flows 70000",
        "70000",
        "\"flows\": 70000 is out of range; write a number of queues from 1 to 65536",
    ),
    ("fq_codel limit 5 limit 6", "limit", "\"limit\" is given twice; keep one of them"),
    (
        "fq_codel ecn noecn",
        "noecn",
        "\"noecn\" comes after \"ecn\", which says the same or the opposite; keep one of them",
    ),
    (
        "fq_codel ce_threshold_selector 1",
        "1",
        "\"ce_threshold_selector\": \"1\" is not a value and a mask; write VALUE/MASK, such as 0x1/0x3",
    ),
    (
        "fq_codel ce_threshold_selector 0x100/1",
        "0x100/1",
        "\"ce_threshold_selector\": \"0x100/1\" is not a value and a mask; write VALUE/MASK, such as 0x1/0x3",
    ),
    (
        "pie alpha 33",
        "33",
        "\"alpha\": 33 is out of range; write a number of sixteenths of a hertz from 0 to 32",
    ),
    (
        "netem delay",
        "",
        "\"delay\" needs a value; write a time from 0s to 3600s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "netem delay 10ms jitter 5ms",
        "jitter",
        "netem has no option \"jitter\"; its options are limit, delay, latency, distribution, rate, loss, drop, ecn, duplicate, reorder, gap, slot, packets, bytes",
    ),
    (
        "netem delay 10ms 3s",
        "3s",
        "\"delay\": 3s is out of range; write a time from 0s to 2.147483647s, such as 20ms (a bare number is microseconds)",
    ),
    (
        "netem delay 10ms 5ms 120%",
        "120%",
        "\"delay\": \"120%\" is out of range; write a percentage from 0% to 100%",
    ),
    ("netem loss random", "", "\"loss\" needs a value; write a percentage from 0% to 100%"),
    (
        "netem loss 10% corrupt 1%",
        "corrupt",
        "\"corrupt\" of netem is not modelled here; a flipped bit is found by a checksum and the packet dropped at its host: loss behind the queue",
    ),
    ("htb", "", "htb needs \"rate\"; write \"rate\" and a rate of at least 8bit, such as 50mbit"),
    (
        "htb pie",
        "",
        "htb needs \"rate\"; write \"rate\" and a rate of at least 8bit, such as 50mbit",
    ),
    (
        "htb rate 0 pie",
        "0",
        "\"rate\": 0 is out of range; write a rate of at least 8bit, such as 50mbit",
    ),
    (
        "htb rate 50m pie",
        "50m",
        "\"rate\": \"m\" in \"50m\" is not a unit here; write a rate of at least 8bit, such as 50mbit",
    ),
    (
        "htb rate 50mbit pie taget 5ms",
        "taget",
        "pie has no option \"taget\"; did you mean \"target\"?",
    ),
    (
        "htb rate 50mbit fq_coddle",
        "fq_coddle",
        "htb has no option \"fq_coddle\"; did you mean \"fq_codel\"?",
    ),
    (
        "htb rate 50mbit pie htb rate 1mbit",
        "htb",
        "pie has no option \"htb\"; its options are limit, target, tupdate, alpha, beta, ecn, noecn, bytemode, nobytemode, dq_rate_estimator, no_dq_rate_estimator",
    ),
];

#[test]
fn wrong_words_are_pointed_at() {
    let all: Vec<&str> = disciplines().iter().map(|d| d.name).collect();
    for (words, at, message) in WRONG {
        let error = error(words);
        assert_eq!(error.to_string(), message.replace("{ALL}", &all.join(", ")), "{words}");
        assert_eq!(&words[error.at.clone()], *at, "{words}");
        assert_eq!(error.text, *words);
        if at.is_empty() {
            assert_eq!(error.at, words.len()..words.len(), "{words}");
        }
    }
    // The second of two, not the first.
    assert_eq!(error("fq_codel limit 5 limit 6").at, 17..22);
}

#[test]
fn the_pointer_underlines_the_word() {
    assert_eq!(error("codel taget 5ms").pointer(), "codel taget 5ms\n      ^^^^^");
    assert_eq!(error("codel target").pointer(), "codel target\n            ^");
    // Columns are characters, not bytes.
    assert_eq!(error("codel tärget 5ms").pointer(), "codel tärget 5ms\n      ^^^^^^");
}

#[test]
fn an_option_of_another_kernel_is_recognised() {
    let error = |words| build(words, &QdiscQuirks::LINUX_5_4).unwrap_err().to_string();
    assert_eq!(
        error("pie dq_rate_estimator"),
        "pie of linux-5.4 has no option \"dq_rate_estimator\"; that of linux-7.3, linux-5.10, l4steam-2021-06, l4steam-2024 has"
    );
    assert_eq!(
        error("fq_codel ce_threshold_selector 1/3"),
        "fq_codel of linux-5.4 has no option \"ce_threshold_selector\"; that of linux-7.3, l4steam-2024 has"
    );
    // Nor is it offered.
    assert!(!error("pie dq_rate").contains("dq_rate_estimator\"?"));
}

#[test]
fn a_change_has_errors_of_its_own_and_changes_nothing() {
    let mut b = Bench::new("htb rate 50mbit fq_codel limit 7");
    let before = b.any.show();
    for (words, message) in [
        (
            "",
            "nothing cannot change the htb that is there; write \"htb\" and its options, or replace it",
        ),
        (
            "pie",
            "\"pie\" cannot change the htb that is there; write \"htb\" and its options, or replace it",
        ),
        (
            "htb rate 1mbit pie",
            "\"pie\" cannot change the fq_codel that is there; write \"fq_codel\" and its options, or replace it",
        ),
        (
            "htb ceil 1mbit",
            "htb needs \"rate\"; write \"rate\" and a rate of at least 8bit, such as 50mbit",
        ),
        (
            "htb rate 1mbit fq_codel limit 3 flows 4",
            "\"flows\" cannot be changed while the queue runs; replace the fq_codel instead",
        ),
        (
            "htb rate 1mbit fq_codel limit 3 target x",
            "\"target\": \"x\" does not begin with a number; write a time from 0s to 4294.967295s, such as 20ms (a bare number is microseconds)",
        ),
    ] {
        let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
        let error = b
            .any
            .change(ms(1), &mut Registry::<Pkt>::built_in().words(words), &mut cx)
            .unwrap_err();
        assert_eq!(error.to_string(), message, "{words}");
        assert_eq!(b.any.show(), before, "{words}");
    }
    b.change(ms(1), "htb rate 1mbit fq_codel limit 3");
    assert!(b.any.show().contains("rate 1Mbit") && b.any.show().contains("limit 3p flows 1024"));
}

/// A value of the kind, in range, and unlike any default.
fn example(value: &ValueSpec) -> String {
    match value.kind {
        Kind::Span { .. } => "7ms".to_owned(),
        Kind::Rate => "3mbit".to_owned(),
        Kind::Size { .. } => "3000".to_owned(),
        // red's cannot be that small.
        Kind::Count { .. } if value.name == "BURST" => "99".to_owned(),
        Kind::Count { .. } => "3".to_owned(),
        Kind::Percent => "30%".to_owned(),
        Kind::Masked => "1/3".to_owned(),
        Kind::Real { .. } => "0.5".to_owned(),
        Kind::SpanOrPackets { .. } => "7p".to_owned(),
        Kind::Word(words) => words[0].to_owned(),
        Kind::Keyword(word) => word.to_owned(),
    }
}

/// What a discipline needs to be built at all.
fn required(name: &str) -> String {
    match name {
        "red" => return " limit 400000 avpkt 1000".to_owned(),
        "tbf" => return " rate 1mbit burst 9000 limit 50000".to_owned(),
        _ => {}
    }
    let info = disciplines().iter().find(|d| d.name == name).unwrap();
    let needed = info.options.iter().filter(|o| matches!(o.preset, DefaultValue::Required));
    needed.fold(String::new(), |all, o| all + " " + o.name + " 9mbit")
}

/// Words that an option needs next to it.
fn beside(discipline: &str, option: &str) -> &'static str {
    match (discipline, option) {
        ("netem", "distribution") => " delay 9ms 1ms",
        ("netem", "reorder") => " delay 1ms",
        ("netem", "gap") => " delay 1ms reorder 1%",
        ("netem", "packets" | "bytes") => " slot 1ms",
        _ => "",
    }
}

/// Every option in every table is taken, shows in the configuration, and its default is the same as leaving it out.
#[test]
fn the_tables_and_the_disciplines_agree() {
    for profile in QdiscQuirks::ALL {
        for info in disciplines() {
            let base = format!("{}{}", info.name, required(info.name));
            let plain = build(&base, profile).unwrap();
            let mut defaults = base.clone();
            for option in info.options.iter().filter(|o| o.is_known(profile)) {
                // These exclude or need one another: traces of their own.
                if info.name == "tbf"
                    && ["limit", "latency", "peakrate", "mtu"].contains(&option.name)
                {
                    continue;
                }
                // A loss is random, by gemodel, or by state.
                let models = ["random", "gemodel"].map(Kind::Keyword);
                let values = option.values.iter().filter(|v| !models.contains(&v.kind));
                let values: Vec<String> = values.map(example).collect();
                let base = format!("{base}{}", beside(info.name, option.name));
                let plain = build(&base, profile).unwrap();
                for word in core::iter::once(&option.name).chain(option.aliases) {
                    if !matches!(option.preset, DefaultValue::Required) {
                        let words = format!("{base} {word} {}", values.join(" "));
                        let given =
                            build(&words, profile).unwrap_or_else(|e| panic!("{words}: {e}"));
                        let shown = given.describe() != plain.describe();
                        // mtu matters only to the default bursts, which tc shows instead.
                        assert!(shown || option.preset.words(profile) == Some(word), "{words}");
                    }
                }
                for word in option.others.iter().copied().chain(option.off) {
                    let given = build(&format!("{base} {word}"), profile)
                        .unwrap_or_else(|e| panic!("{word}: {e}"));
                    let differs = given.describe() != plain.describe();
                    assert!(differs || option.off == Some(word), "{base} {word}");
                }
                if let Some(words) = option.preset.words(profile) {
                    let name = if option.values.is_empty() { "" } else { option.name };
                    defaults = format!("{defaults} {name} {words}");
                }
            }
            // fq_codel's drop_batch of 5.4 cannot be set to its default.
            let buggy = profile.fq_codel_drop_batch_bug && info.name == "fq_codel";
            let spelled = build(&defaults, profile).unwrap_or_else(|e| panic!("{defaults}: {e}"));
            assert!(buggy || spelled.describe() == plain.describe(), "{defaults}");
        }
    }
}

#[test]
fn bare_numbers_have_tc_s_hidden_units() {
    let shown = |words| Bench::new(words).any.describe();
    assert_eq!(shown("netem delay 10000"), shown("netem delay 10ms"));
    assert_eq!(shown("htb rate 50000000"), shown("htb rate 50mbit"));
    assert_eq!(shown("htb rate 1mbps"), shown("htb rate 8mbit"));
    assert_eq!(shown("bfifo limit 2k"), shown("bfifo limit 2048"));
    assert_eq!(shown("pfifo limit 0x10"), shown("pfifo limit 16"));
    assert_eq!(shown("pfifo limit 020"), shown("pfifo limit 16"));
    assert_eq!(shown("netem loss 1"), shown("netem loss 1%"));
    assert_eq!(shown("netem loss 0.5"), shown("netem loss 0.5%"));
    assert_eq!(shown("  pie\ttarget\n 20ms  "), shown("pie target 20ms"));
}

/// Found by random words: the default burst, a byte a nanosecond and a packet, was more than 32 bits hold.
#[test]
fn a_burst_for_the_largest_packet_does_not_overflow() {
    assert!(build("htb rate 16gbit mtu 4294967295 pfifo", &QdiscQuirks::LINUX_7_3).is_ok());
}

#[test]
fn deep_nests_are_refused() {
    let words = "htb rate 1mbit ".repeat(10_000);
    assert_eq!(error(&words).to_string(), "disciplines are nested too deeply");
    assert!(build(&"htb rate 1mbit ".repeat(8), &QdiscQuirks::LINUX_7_3).is_ok());
}

/// Words that are likely to get far, among others.
fn word() -> impl Strategy<Value = String> {
    let known: Vec<String> = disciplines()
        .iter()
        .flat_map(|d| core::iter::once(d.name).chain(d.options.iter().flat_map(OptionSpec::words)))
        .map(str::to_owned)
        .collect();
    prop_oneof![
        4 => prop::sample::select(known),
        3 => prop::sample::select(vec!["1", "0", "-1", "1e3", "5ms", "10%", "1e300s", "64kb", "1/3", "random", "18446744073709551616", "0x", "ms", "%", "1e-9ns", "nan", "inf", "99999999999gbit"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(words in prop::collection::vec(word(), 0..8), raw in any::<String>()) {
        for text in [words.join(" "), raw, format!("pie {}", words.join("\u{a0}"))] {
            for profile in QdiscQuirks::ALL {
                if let Err(error) = build(&text, profile) {
                    // The place is in the text, on the borders of characters.
                    let _ = error.pointer();
                    prop_assert!(text.get(error.at.clone()).is_some());
                    prop_assert!(!error.message.is_empty());
                }
            }
        }
    }
}
