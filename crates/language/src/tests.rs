//! The language's errors, word by word; and that nothing makes it panic.

use super::*;
use core::ops::Range;
use proptest::prelude::*;
use sojourn_model::{At, Scenario, Start, When, WordError, nearest};
use sojourn_units::Span;
use std::fmt::Write as _;

/// Knows a few words, and points at those it does not know.
struct FewWords;

fn unknown(words: &str, at: Range<usize>, what: &str, known: &[&str]) -> WordError {
    let wrong = &words[at.clone()];
    let help = nearest(wrong, known.iter().copied())
        .map_or_else(|| known.join(", "), |near| format!("did you mean \"{near}\"?"));
    WordError { at, message: format!("unknown {what} \"{wrong}\""), help }
}

fn one_of(words: &str, what: &str, known: &[&str]) -> Result<(), WordError> {
    let end = words.find(' ').unwrap_or(words.len());
    if known.contains(&&words[..end]) { Ok(()) } else { Err(unknown(words, 0..end, what, known)) }
}

impl Vocabulary for FewWords {
    fn qdisc(&self, words: &str, _stack: &str) -> Result<(), WordError> {
        one_of(words, "qdisc", &["fq_codel", "pie", "pfifo", "codel"])?;
        let options = ["flows", "target", "interval", "limit", "ecn"];
        let mut at = 0;
        for word in words.split(' ') {
            let is_option = at > 0 && word.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
            if is_option && !options.contains(&word) {
                return Err(unknown(words, at..at + word.len(), "option", &options));
            }
            at += word.len() + 1;
        }
        Ok(())
    }
    fn netem(&self, words: &str, _stack: &str) -> Result<(), WordError> {
        one_of(words, "netem option", &["delay", "loss", "slot", "limit"])
    }
    fn cc(&self, name: &str, _stack: &str) -> Result<(), WordError> {
        one_of(name, "congestion control", &["cubic", "reno"])
    }
    fn stack(&self, name: &str) -> Result<(), WordError> {
        one_of(name, "stack", &["linux-7.3", "linux-5.4"])
    }
}

const BASE: &str = r#"[experiment]
name = "test"
duration = "60s"

[axis.queue]
"fq_codel" = { hop.bottleneck.down.qdisc = "fq_codel flows 1" }
"pie" = { hop.bottleneck.down.qdisc = "pie ecn" }

[[hop]]
name = "bottleneck"
rtt = "20ms"
down = { rate = "50mbit" }

[[flow]]
name = "cubic"

[[flow]]
name = "rival"
cc = "reno"

[[event]]
name = "step"
at = "30s"
hop = "bottleneck"
rate = "25mbit"

[[check]]
that = "ratio(delivery_rate, cubic, rival) >= 10"
"#;

fn planned(text: &str) -> Result<Plan, Diagnostics> {
    Experiment::parse("test.toml", text)?.plan(&FewWords, 100)
}

/// (what is wrong, what is replaced, by what)
const WRONG: &[(&str, &str, &str)] = &[
    ("not TOML", "name = \"test\"", "name = \"test"),
    ("a key twice", "rtt = \"20ms\"", "rtt = \"20ms\"\nrtt = \"30ms\""),
    ("unknown key", "rtt = \"20ms\"", "rrt = \"20ms\""),
    (
        "a path in quotes",
        "\"pie\" = { hop.bottleneck.down.qdisc",
        "\"pie\" = { \"hop.bottleneck.down.qdisc\"",
    ),
    ("unknown key far from any", "rtt = \"20ms\"", "colour = \"blue\""),
    ("unknown section", "[[event]]", "[[evnet]]"),
    (
        "unknown key in a bundle",
        "\"pie\" = { hop.bottleneck.down.qdisc",
        "\"pie\" = { hop.bottleneck.down.qdsic",
    ),
    ("no unit", "rtt = \"20ms\"", "rtt = 20"),
    ("wrong unit", "rtt = \"20ms\"", "rtt = \"20mss\""),
    ("a rate for a time", "rtt = \"20ms\"", "rtt = \"20mbit\""),
    ("wrong type", "rtt = \"20ms\"", "rtt = true"),
    ("negative", "rtt = \"20ms\"", "rtt = \"-20ms\""),
    ("RTT above a minute", "rtt = \"20ms\"", "rtt = \"61s\""),
    ("rate zero", "down = { rate = \"50mbit\" }", "down = { rate = \"0mbit\" }"),
    ("duration zero", "duration = \"60s\"", "duration = \"0s\""),
    ("duration missing", "duration = \"60s\"\n", ""),
    ("no seed", "duration = \"60s\"", "duration = \"60s\"\nseeds = 0"),
    ("a seed twice", "duration = \"60s\"", "duration = \"60s\"\nseeds = [1, 2, 1]"),
    ("name of an experiment", "name = \"test\"", "name = \"../test\""),
    (
        "a word of a few",
        "[[flow]]\nname = \"cubic\"",
        "[[flow]]\nname = \"cubic\"\ndirection = \"dwon\"",
    ),
    ("unknown qdisc", "\"pie ecn\"", "\"pei ecn\""),
    ("unknown option of a qdisc", "fq_codel flows 1", "fq_codel folws 1"),
    ("unknown congestion control", "cc = \"reno\"", "cc = \"rino\""),
    ("unknown stack", "duration = \"60s\"", "duration = \"60s\"\nstack = \"linux-5.5\""),
    ("netem's words", "rtt = \"20ms\"", "rtt = \"20ms\"\nnetem = [\"dealy 2ms\"]"),
    ("a host's NIC behind a delay", "rtt = \"20ms\"", "rtt = \"20ms\"\nhost_nic = true"),
    ("two hops of one name", "[[event]]", "[[hop]]\nname = \"bottleneck\"\n\n[[event]]"),
    ("two flows of one name", "name = \"rival\"", "name = \"cubic\""),
    ("a flow called ping", "name = \"rival\"", "name = \"ping\""),
    ("a bundle that hits nothing", "\"pie\" = { hop.bottleneck", "\"pie\" = { hop.botleneck"),
    ("unknown hop of an event", "hop = \"bottleneck\"", "hop = \"botleneck\""),
    ("unknown hop of a flow", "cc = \"reno\"", "cc = \"reno\"\nhops = [\"bottelneck\"]"),
    ("unknown flow in a point in time", "at = \"30s\"", "at = \"flow rivla ends + 5s\""),
    ("a point in time", "at = \"30s\"", "at = \"flow rival stops\""),
    ("a point outside the run", "at = \"30s\"", "at = \"61s\""),
    ("an event that waits for itself", "at = \"30s\"", "at = \"event step + 1s\""),
    ("an event again and again, but how often?", "at = \"30s\"", "at = \"30s\"\nevery = \"1s\""),
    ("an event so often, but how soon?", "at = \"30s\"", "at = \"30s\"\ntimes = 3"),
    (
        "an event again and again beyond the run",
        "at = \"30s\"",
        "at = \"30s\"\nevery = \"15s\"\ntimes = 4",
    ),
    ("an event that does nothing", "hop = \"bottleneck\"\nrate = \"25mbit\"", ""),
    ("a setting of no hop", "hop = \"bottleneck\"\nrate", "rate"),
    ("an empty axis", "[axis.queue]\n", "[axis.path]\n\n[axis.queue]\n"),
    ("an axis that is no table", "[axis.queue]\n", "[axis]\npath = 1\n\n[axis.queue]\n"),
    (
        "a label that is no table",
        "\"pie\" = { hop.bottleneck.down.qdisc = \"pie ecn\" }",
        "\"pie\" = \"pie ecn\"",
    ),
    ("everything excluded", "[[hop]]", "[[exclude]]\nqueue = [\"fq_codel\", \"pie\"]\n\n[[hop]]"),
    ("unknown label", "[[hop]]", "[[exclude]]\nqueue = \"pi\"\n\n[[hop]]"),
    ("unknown axis", "[[hop]]", "[[exclude]]\nqueues = \"pie\"\n\n[[hop]]"),
    ("too many runs", "duration = \"60s\"", "duration = \"60s\"\nseeds = 51"),
    ("a check that does not parse", "cubic, rival) >= 10", "cubic, rival >= 10"),
    ("unknown metric", "ratio(", "ration("),
    ("unknown flow in a check", "cubic, rival)", "cubic, rivla)"),
    ("units in a check", ">= 10", ">= 10ms"),
    ("a check that checks nothing", " >= 10", ""),
    ("a check without a unit", "ratio(delivery_rate, cubic, rival) >= 10", "mean(rtt, cubic) < 30"),
    ("unknown variable", "\"pie ecn\"", "\"pie limit ${buffr}\""),
    ("rate twice", "rtt = \"20ms\"", "rtt = \"20ms\"\nrate = \"20mbit\""),
    ("no qdisc", "\"pie\" = { hop.bottleneck.down.qdisc = \"pie ecn\" }", "\"pie\" = {}"),
    ("no rate", "down = { rate = \"50mbit\" }", ""),
    ("TCP's key on UDP", "cc = \"reno\"", "cc = \"reno\"\nudp = { rate = \"1mbit\" }"),
    ("two kinds of traffic", "cc = \"reno\"", "voip = {}\nudp = { rate = \"1mbit\" }"),
    (
        "an element that does nothing",
        "[[flow]]\nname = \"cubic\"",
        "[[hop.element]]\nname = \"x\"\n\n[[flow]]\nname = \"cubic\"",
    ),
    (
        "an element before nothing",
        "[[flow]]\nname = \"cubic\"",
        "[[hop.element]]\nname = \"x\"\nbefore = \"qdsic\"\nrewrite = { rule = \"bleach_ce\" }\n\n[[flow]]\nname = \"cubic\"",
    ),
    (
        "a rule without what it needs",
        "[[flow]]\nname = \"cubic\"",
        "[[hop.element]]\nname = \"x\"\nrewrite = { rule = \"ce_to_ect\" }\n\n[[flow]]\nname = \"cubic\"",
    ),
    ("a window without bounds", "[[check]]", "[[window]]\nname = \"steady\"\n\n[[check]]"),
    (
        "a window that ends after the run",
        "[[check]]",
        "[[window]]\nname = \"steady\"\nfrom = \"10s\"\nto = \"61s\"\n\n[[check]]",
    ),
    (
        "a window that begins before the run",
        "[[check]]",
        "[[window]]\nname = \"steady\"\nfrom = \"-6s\"\nto = \"60s\"\n\n[[check]]",
    ),
    (
        "a window that is longer than the run",
        "[[check]]",
        "[[window]]\nname = \"steady\"\nlast = \"59s\"\nbefore_end = \"1001ms\"\n\n[[check]]",
    ),
    (
        "a check over more than the run",
        "cubic, rival) >= 10",
        "cubic, rival) over last 60s before 1s >= 10",
    ),
    (
        "a check of a flow that is left out",
        "\"pie\" = {",
        "\"pie\" = { flow.rival.enabled = false,",
    ),
    ("an old name: warmup", "duration = \"60s\"", "duration = \"60s\"\nlead = \"5s\""),
    ("an old name: sample_interval", "duration = \"60s\"", "duration = \"60s\"\nstep = \"20ms\""),
    ("an old name: host_nic", "rtt = \"20ms\"", "rtt = \"20ms\"\nown_device = true"),
    ("an old name: ignore_ce", "cc = \"reno\"", "cc = \"reno\"\nunresponsive_to_ce = true"),
    ("an old name: max_pacing_rate", "cc = \"reno\"", "cc = \"reno\"\npacing_cap = \"1mbit\""),
    (
        "an old name: wifi",
        "[[flow]]\nname = \"cubic\"",
        "[[hop.element]]\nname = \"x\"\nwlan = { frame_errors = 0.1 }\n\n[[flow]]\nname = \"cubic\"",
    ),
    (
        "an old name: aggregating_link",
        "[[flow]]\nname = \"cubic\"",
        "[[hop.element]]\nname = \"x\"\nwifi = { opportunity_max = \"2ms\" }\n\n[[flow]]\nname = \"cubic\"",
    ),
    ("an old name in a bundle", "\"pie\" = {", "\"pie\" = { experiment.lead = \"1s\","),
    (
        "an old name of a metric",
        "ratio(delivery_rate, cubic, rival) >= 10",
        "largest_second(rtt, cubic) < 30ms",
    ),
    (
        "receiver of no connection",
        "cc = \"reno\"",
        "receiver_stack = \"linux-5.4\"\nudp = { rate = \"1mbit\" }",
    ),
    ("stop before start", "cc = \"reno\"", "cc = \"reno\"\nstart = \"10s\"\nstop = \"5s\""),
];

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_would_be_right() {
    planned(BASE).unwrap();
    let mut text = String::new();
    for (what, old, new) in WRONG {
        assert!(BASE.contains(old), "{what}: {old} is not in the base");
        let broken = BASE.replacen(old, new, 1);
        let errors = planned(&broken).expect_err(what);
        let _ = write!(text, "--- {what}\n{errors}\n\n");
    }
    insta::assert_snapshot!("errors", text);
}

#[test]
fn several_mistakes_are_said_at_once() {
    let broken = BASE
        .replace("rtt = \"20ms\"", "rrt = \"20ms\"")
        .replace("duration = \"60s\"", "duration = \"60\"")
        .replace("cc = \"reno\"", "count = 0");
    let errors = planned(&broken).unwrap_err();
    let lines: Vec<usize> = errors.iter().map(|e| e.line).collect();
    assert_eq!(lines, [3, 11, 19]);
}

#[test]
fn too_many_runs_is_an_error_of_its_own() {
    let broken = BASE.replace("duration = \"60s\"", "duration = \"60s\"\nseeds = 51");
    let experiment = Experiment::parse("test.toml", &broken).unwrap();
    let errors = experiment.plan(&FewWords, 100).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().kind, DiagnosticKind::TooManyRuns(102));
    assert_eq!(experiment.plan(&FewWords, 102).unwrap().runs(), 102);
}

#[test]
fn a_matrix_beyond_all_bounds_is_refused_before_it_is_written_out() {
    let mut axes = String::new();
    for axis in 0..9 {
        let _ = writeln!(axes, "[axis.a{axis}]");
        for label in 0..10 {
            let _ = writeln!(axes, "\"{label}\" = {{}}");
        }
    }
    let text = BASE.replace("[axis.queue]", &format!("{axes}[axis.queue]"));
    let errors = Experiment::parse("t", &text).unwrap().plan(&AnyWords, MOST_RUNS).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().kind, DiagnosticKind::TooManyRuns(2_000_000_000));
}

#[test]
fn the_command_line_overrides_in_the_files_paths() {
    let mut experiment = Experiment::parse("test.toml", BASE).unwrap();
    experiment.set("hop.bottleneck.down.rate=20mbit").unwrap();
    experiment.set("hop.bottleneck.down.qdisc = codel target 1ms").unwrap();
    experiment.set("flow.rival.start=\"10s\"").unwrap();
    experiment.set_seeds(&[7, 9]).unwrap();
    experiment.set_duration(Span::from_secs(40)).unwrap();
    experiment.only("queue=pie").unwrap();
    let plan = experiment.plan(&FewWords, 100).unwrap();
    let scenarios: Vec<Scenario> = plan.scenarios().collect();
    assert_eq!(scenarios.iter().map(|s| s.seed).collect::<Vec<_>>(), [7, 9]);
    let s = &scenarios[0];
    assert_eq!(s.duration, Span::from_secs(40));
    assert_eq!(plan.simulated(), Span::from_secs(90));
    let (_, queue) = s.disciplines().next().unwrap();
    assert_eq!(queue.qdisc, "codel target 1ms");
    assert_eq!(queue.capacity().unwrap().as_mbit(), 20.0);
    assert_eq!(s.flow("rival").unwrap().start, Start::At(At::from_secs(10)));
}

#[test]
fn a_wrong_override_is_shown_as_it_was_typed() {
    let wrong = |setting: &str| {
        let mut experiment = Experiment::parse("test.toml", BASE).unwrap();
        match experiment.set(setting) {
            Err(errors) => errors.to_string(),
            Ok(()) => experiment.plan(&FewWords, 100).unwrap_err().to_string(),
        }
    };
    assert_eq!(
        wrong("duration=2s"),
        "--set:1:1: unknown key \"duration\" in the file\n  \
         1 | duration=2s\n    | ^^^^^^^^\n\
         help: duration is a key of [experiment]: experiment.duration"
    );
    assert_eq!(
        wrong("hop.botleneck.rate=20mbit"),
        "--set:1:5: there is no hop called \"botleneck\" to set anything of\n  \
         1 | hop.botleneck.rate=20mbit\n    |     ^^^^^^^^^\nhelp: did you mean \"bottleneck\"?"
    );
    assert_eq!(
        wrong("hop.bottleneck.down.rate=20mbits"),
        "--set:1:26: rate: \"mbits\" in \"20mbits\" is not a unit here; write a rate such as 50mbit, 1gbit or 256kbit\n  \
         1 | hop.bottleneck.down.rate=20mbits\n    |                          ^^^^^^^"
    );
    assert_eq!(
        wrong("hop.bottleneck.down.qdisc=fq_codel folws 1"),
        "--set:1:36: unknown option \"folws\"\n  \
         1 | hop.bottleneck.down.qdisc=fq_codel folws 1\n    |                                    ^^^^^\nhelp: did you mean \"flows\"?"
    );
    assert_eq!(
        wrong("experiment.lead=5s"),
        "--set:1:12: `lead` is called `warmup` now\n  1 | experiment.lead=5s\n    |            ^^^^\n\
         help: warmup: How long the run lasts before time 0: 5 s with a ping and first-flow, otherwise 0 s."
    );
    assert_eq!(
        wrong("hop..rate=1mbit"),
        "--set:1:1: a path is names with dots between them\n  \
         1 | hop..rate=1mbit\n    | ^^^^^^^^^\nhelp: such as hop.bottleneck.rate"
    );
    assert!(wrong("hop.bottleneck").contains("a setting is PATH=VALUE"));
    let mut experiment = Experiment::parse("test.toml", BASE).unwrap();
    assert!(
        experiment.only("queue=pye").unwrap_err().to_string().contains("did you mean \"pie\"?")
    );
}

#[test]
fn includes_add_to_what_is_left_and_variables_reach_everywhere() {
    let text = BASE
        .replace(
            "[axis.queue]",
            "[let]\nn = 1\n\n[axis.n]\n\"one\" = {}\n\"two\" = { let.n = 2 }\n\n[axis.queue]",
        )
        .replace("fq_codel flows 1", "fq_codel flows ${n}")
        .replace(
            "[[hop]]",
            "[[exclude]]\nn = \"two\"\n\n[[include]]\nn = \"two\"\nqueue = \"fq_codel\"\n\n[[hop]]",
        );
    let scenarios = planned(&text).unwrap().into_scenarios();
    let ids: Vec<String> = scenarios.iter().map(Scenario::id).collect();
    assert_eq!(ids, ["test[one,fq_codel]#1", "test[one,pie]#1", "test[two,fq_codel]#1"]);
    assert_eq!(scenarios[2].disciplines().next().unwrap().1.qdisc, "fq_codel flows 2");
}

#[test]
fn starts_that_wait_become_events() {
    let text = BASE.replace(
        "cc = \"reno\"",
        "cc = \"reno\"\nstart = \"flow cubic starts + 10s\"\nstop = \"event step\"",
    );
    let s = planned(&text).unwrap().into_scenarios().remove(0);
    assert_eq!(s.flow("rival").unwrap().start, Start::Event);
    let names: Vec<&str> = s.events.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["start-rival", "stop-rival", "step"]);
    assert!(matches!(s.events[0].when, When::After { .. }));
}

#[test]
fn an_event_happens_again_and_again() {
    let text = BASE.replace("at = \"30s\"", "at = \"30s\"\nevery = \"15s\"\ntimes = 3");
    let s = planned(&text).unwrap().into_scenarios().remove(0);
    let of: Vec<(&str, &When)> = s.events.iter().map(|e| (e.name.as_str(), &e.when)).collect();
    let at = |seconds: i64| When::At(At::from_secs(seconds));
    assert_eq!(of, [("step", &at(30)), ("step-2", &at(45)), ("step-3", &at(60))]);
    assert!(s.events.iter().all(|e| e.actions == s.events[0].actions));

    let text = text.replace("at = \"30s\"", "at = \"flow cubic starts + 2s\"");
    let s = planned(&text).unwrap().into_scenarios().remove(0);
    let delays: Vec<Span> = s
        .events
        .iter()
        .map(|e| match e.when {
            When::After { delay, .. } => delay,
            _ => panic!("{:?}", e.when),
        })
        .collect();
    assert_eq!(delays, [2, 17, 32].map(|s| Span::from_nanos(s * 1_000_000_000)));
}

#[test]
fn the_schema_and_the_reference_know_every_key() {
    let schema = json_schema();
    let hop = &schema["properties"]["hop"]["items"]["properties"];
    assert_eq!(hop["delay_on"]["enum"], serde_json::json!(["both", "down", "up"]));
    assert_eq!(hop["netem_limit"]["default"], serde_json::json!(1_000_000));
    assert_eq!(schema["required"], serde_json::json!(["experiment", "hop", "flow"]));
    let reference = reference();
    for section in ["## [experiment]", "## [[hop]]", "## streaming of [[flow]]", "## [[check]]"] {
        assert!(reference.contains(section), "{section}");
    }
    assert!(reference.contains("| `replay_window` |"));
}

/// The suites' files and the cases, to be mutated.
fn cases() -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inside =
        |folder: std::path::PathBuf| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<_> = inside(root.join("python/sojourn/suites"))
        .filter(|path| path.is_dir())
        .flat_map(inside)
        .chain(inside(root.join("tests/cases")))
        .collect();
    files.sort();
    files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect()
}

fn must_not_panic(text: &str) {
    if let Ok(experiment) = Experiment::parse("x", text) {
        match experiment.plan(&FewWords, 1000) {
            Ok(plan) => {
                if let Some(s) = plan.scenarios().next() {
                    s.check().unwrap();
                }
            }
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        must_not_panic(&text);
        let _ = moment::parse(&text);
        if let Err(error) = sojourn_results::metrics::Expression::parse(&text) {
            prop_assert!(error.at.start <= error.at.end && error.at.end <= text.len());
        }
        let _ = overrides::bundle(&text);
    }

    #[test]
    fn a_broken_case_is_read_or_refused(
        case in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        length in 0usize..30,
        put in "[ -~\n]{0,12}",
    ) {
        let cases = cases();
        let mut text = case.get(&cases).clone();
        let mut from = at.index(text.len());
        while !text.is_char_boundary(from) { from -= 1; }
        let mut to = (from + length).min(text.len());
        while !text.is_char_boundary(to) { to -= 1; }
        text.replace_range(from..to.max(from), &put);
        must_not_panic(&text);
    }

    #[test]
    fn words_in_any_order_are_an_expression_or_not(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "ratio", "mean", "p99", "jain", "(", ")", ",", "delivery_rate", "rtt", "a", "b.down.qdisc",
                ">=", "<", "-", "+", "*", "/", "10", "30ms", "20mbit", "95%", "over", "last", "during",
                "from", "to", "and", "\"x y\"", "time_above", "drops",
            ]),
            0..14,
        ),
    ) {
        let text = words.join(" ");
        if let Ok(expression) = sojourn_results::metrics::Expression::parse(&text) {
            prop_assert_eq!(expression.text(), &text);
        }
    }
}

fn one_hop(hop: &str, rest: &str) -> String {
    format!(
        "[experiment]\nname = \"one\"\nduration = \"10s\"\n\n{rest}\n[[hop]]\nname = \"b\"\n{hop}\n[[flow]]\nname = \"f\"\n"
    )
}

fn only_run(text: &str) -> Scenario {
    let plan = planned(text).unwrap_or_else(|e| panic!("{e}"));
    plan.scenarios().next().unwrap()
}

fn words_down(s: &Scenario) -> String {
    let words = s.hops[0].down.iter().find_map(|e| match &e.kind {
        sojourn_model::Kind::Queue(queue) => Some(queue.qdisc.to_string()),
        _ => None,
    });
    words.unwrap()
}

#[test]
fn expressions_know_settings_next_to_them_and_under_let() {
    for (qdisc, said) in [
        ("pfifo limit ${round(rate * rtt * 0.2 / 1514b)}", "pfifo limit 17"),
        ("pfifo limit ${round(hop.b.rate * hop.b.rtt / frame)}", "pfifo limit 83"),
        ("pfifo limit ${packets}", "pfifo limit 7"),
        ("pfifo limit ${packets * 2}", "pfifo limit 14"),
        ("pfifo limit ${round(experiment.duration / 1s)}", "pfifo limit 10"),
    ] {
        let hop = format!("rate = \"50mbit\"\nrtt = \"20ms\"\nqdisc = \"{qdisc}\"\n");
        let vars = "[let]\npackets = 7\nframe = \"1514b\"\n";
        assert_eq!(words_down(&only_run(&one_hop(&hop, vars))), said, "{qdisc}");
    }
    // An axis changes what it is worked out from.
    let hop = "rtt = \"20ms\"\nqdisc = \"pfifo limit ${round(rate * rtt / 1514b)}\"\n";
    let axis = "[axis.rate]\nhop.b.rate = \"10mbit..30mbit step 10mbit\"\n";
    let plan = planned(&one_hop(hop, axis)).unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<(String, String)> =
        plan.scenarios().map(|s| (s.cell[0].1.clone(), words_down(&s))).collect();
    let said =
        [("10mbit", "pfifo limit 17"), ("20mbit", "pfifo limit 33"), ("30mbit", "pfifo limit 50")];
    assert_eq!(found, said.map(|(a, b)| (a.to_owned(), b.to_owned())));
    // One setting from another, which is an expression itself.
    let hop = "rate = \"${rtt / 20ms * 1mbit}\"\nrtt = \"20ms\"\nqdisc = \"pfifo limit ${rate / 100kbit}\"\n";
    assert_eq!(words_down(&only_run(&one_hop(hop, ""))), "pfifo limit 10");
}

#[test]
fn expressions_that_are_wrong_are_pointed_at() {
    for (hop, said, mark) in [
        (
            "rate = \"50mbit\"\nrtt = \"20ms\"\nqdisc = \"pfifo limit ${rate + rtt}\"",
            "a time cannot be added to a rate",
            "^^^^^^^^^^",
        ),
        (
            "rate = \"50mbit\"\nrtt = \"20ms\"\nqdisc = \"pfifo limit ${rat * 2}\"",
            "\"rat\" is set neither",
            "^^^",
        ),
        (
            "rate = \"${rtt / 1s * 1mbit}\"\nrtt = \"${rate / 1mbit * 1s}\"\nqdisc = \"pfifo\"",
            "worked out from itself",
            "^",
        ),
        ("rate = \"50mbit\"\nqdisc = \"pfifo limit ${qdisc}\"", "more than one expression", "^"),
        ("rate = \"50mbit\"\nqdisc = \"pfifo limit ${name * 2}\"", "which is no quantity", "^^^^"),
    ] {
        let errors = planned(&one_hop(hop, "")).expect_err(hop).to_string();
        assert!(errors.contains(said), "{hop}:\n{errors}");
        assert!(errors.contains(mark), "{hop}:\n{errors}");
    }
}

#[test]
fn a_sweep_is_an_axis_and_its_mistakes_have_a_place() {
    let hop = "rtt = \"20ms\"\nqdisc = \"pfifo\"\n";
    let wrong = planned(&one_hop(hop, "[axis.rate]\nhop.b.rate = \"1mbit..2gbit lin 10\"\n"));
    let errors = wrong.expect_err("lin").to_string();
    assert!(errors.contains("test.toml:6:28: \"lin\" is neither log nor step"), "{errors}");
    let count = "[axis.flows]\nflow.f.count = \"1..4 step 1\"\n";
    let plan = planned(&one_hop("rtt = \"20ms\"\nrate = \"1mbit\"\nqdisc = \"pfifo\"\n", count));
    let plan = plan.unwrap_or_else(|e| panic!("{e}"));
    let flows: Vec<usize> = plan.scenarios().map(|s| s.flows.len()).collect();
    assert_eq!(flows, [2, 3, 4, 5], "with the ping");
}

#[test]
fn bits_and_bytes_are_asked_for_outside_tc() {
    let hop = "rate = \"50 Mbps\"\nrtt = \"20ms\"\nqdisc = \"pfifo\"\n";
    let errors = planned(&one_hop(hop, "")).expect_err("bps").to_string();
    assert!(errors.contains("write 50mbit or 400mbit"), "{errors}");
}

/// What `[search]` says is judged where it is written.
#[test]
fn searches_are_judged_in_their_places() {
    let text = |search: &str| {
        format!(
            "[experiment]\nname = \"t\"\nduration = \"60s\"\n[[hop]]\nname = \"bottleneck\"\nrtt = \"20ms\"\nrate = \"50mbit\"\n\
             qdisc = \"pie\"\n[[flow]]\nname = \"a\"\n[search]\n{search}\n"
        )
    };
    let judged = |search: &str| {
        let text = text(search);
        let found = Experiment::parse("t.toml", &text).and_then(|e| e.check_search(&FewWords));
        found.map_err(|found| {
            let first = found.into_iter().next().expect("one").clone();
            (text[first.span.clone()].to_owned(), first.to_string())
        })
    };
    for (search, at, said) in [
        ("hop.bottleneck.rate = \"5mbit..200mbit lag\"", "lag", "neither log nor step"),
        ("hop.bottleneck.rate = \"5mbit..1mbit\"", "5mbit..1mbit", "not below"),
        ("hop.bottleneck.rate = \"0mbit..1mbit log\"", "0mbit", "above 0"),
        ("hop.bottleneck.rate = \"1mbit..9mbit log 4\"", "4", "no number of values"),
        ("hop.bottleneck.rate = \"5ms..9ms\"", "\"5ms..9ms\"", "rate"),
        ("hop.bottelneck.rate = \"5mbit..9mbit\"", "bottelneck", "did you mean \"bottleneck\""),
        ("hop.bottleneck.rat = \"5mbit..9mbit\"", "rat", "did you mean"),
        ("hop.bottleneck.qdisc = [\"pie\", \"coddle\"]", "coddle", "codel"),
        ("hop.bottleneck.qdisc = [\"pie\"]", "[\"pie\"]", "two or more"),
        ("hop.bottleneck.rate = 5", "5", "has a range"),
        ("flow.a.count = \"0..8 step 1\"", "\"0..8 step 1\"", ""),
        ("flow.a.count = \"1..8 step 1\"\nminimise = \"share(goodput, b)\"", "b", "\"b\""),
        ("flow.a.count = \"1..8 step 1\"\nminimise = 3", "3", "is a metric"),
        (
            "flow.a.count = \"1..8 step 1\"\n[search.behaviour]\n\"share(goodput, c)\" = \"0..1 step 0.1\"",
            "c",
            "\"c\"",
        ),
        ("minimise = \"share(goodput, a)\"", "search", "varies no setting"),
        (
            "flow.a.count = \"1..8 step 1\"\nminimise = \"share(goodput, a)\"\nmaximise = \"share(goodput, a)\"",
            "\"share(goodput, a)\"",
            "not both",
        ),
    ] {
        let (place, message) = judged(search).expect_err(search);
        assert_eq!(place, at, "{search}: {message}");
        assert!(message.contains(said), "{search}: {message}");
    }
    let good = "hop.bottleneck.rate = \"5mbit..200mbit log\"\nhop.bottleneck.qdisc = [\"pie\", \"codel\"]\n\
                flow.a.count = \"1..8 step 1\"\nflow.a.start = \"0s..10s\"\nminimise = \"share(goodput, a)\"\n\
                [search.behaviour]\n\"share(goodput, a)\" = \"0..1 step 0.5\"\n\"p99(queue_delay, bottleneck.down.qdisc)\" = \"1ms..100ms log 3\"";
    judged(good).expect("a search");
    let text = text(good);
    let experiment = Experiment::parse("t.toml", &text).expect("an experiment");
    let search = experiment.search().expect("a search");
    let at = |u: f64| {
        let settings: Vec<String> = search.dimensions().iter().map(|d| d.setting(u)).collect();
        settings.join(" ")
    };
    assert_eq!(
        at(0.0),
        "hop.bottleneck.rate=\"5mbit\" hop.bottleneck.qdisc=\"pie\" flow.a.count=1 flow.a.start=\"0ns\""
    );
    assert_eq!(
        at(0.5),
        "hop.bottleneck.rate=\"31.6mbit\" hop.bottleneck.qdisc=\"codel\" flow.a.count=5 flow.a.start=\"5s\""
    );
    assert_eq!(
        at(1.0),
        "hop.bottleneck.rate=\"200mbit\" hop.bottleneck.qdisc=\"codel\" flow.a.count=8 flow.a.start=\"10s\""
    );
    let sizes: Vec<_> = search.dimensions().iter().map(|d| (d.size(), d.is_choice())).collect();
    assert_eq!(sizes, [(None, false), (Some(2), true), (Some(8), false), (None, false)]);
    let edges: Vec<_> = search.behaviour().map(|(_, edges)| edges.to_vec()).collect();
    assert_eq!(edges, [vec![0.0, 0.5, 1.0], vec![0.001, 0.01, 0.1]]);
    // Every value is one that the language takes, and the file runs as it is.
    for u in (0..=20).map(|n| f64::from(n) / 20.0) {
        let mut own = experiment.clone();
        search.dimensions().iter().for_each(|d| own.set(&d.setting(u)).expect("a setting"));
        assert_eq!(own.plan(&FewWords, 1).expect("a run").runs(), 1, "{u}");
    }
}
