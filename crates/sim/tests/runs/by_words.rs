//! Path elements and applications that words name: the built-in ones against a pencil, and some from outside.

use crate::bench::{JITTER, counts, rows_of, run, table, total, try_run};
use sojourn_engine::Engine;
use sojourn_language::{Experiment, MOST_RUNS};
use sojourn_model::{Scenario, Traffic};
use sojourn_path::link::Fate;
use sojourn_path::{Link, NamedElement, NamedLink, PathElement, PathPacket, Verdict};
use sojourn_qdisc::{
    Backlog, Discipline, QdiscQuirks, Reason, Setting, Settings, options_of, table as words,
};
use sojourn_results::Run;
use sojourn_sim::Sim;
use sojourn_sim::app::{App, AppSetup, FlowReport, HostTx, NamedApp, Packet, Record};
use sojourn_units::{Ecn, Random, Rate, Span, Time};
use sojourn_vocabulary::Words;

/// The first scenario of an experiment over 20 ms, with the words that a simulator knows.
fn planned(sim: &Sim, text: &str) -> Result<Scenario, String> {
    let head = "[experiment]\nname = \"words\"\nduration = \"20s\"\nping = false\n\n[[hop]]\nname = \"line\"\n\
                rate = \"100mbit\"\nrtt = \"20ms\"\nqdisc = \"pfifo limit 10000\"\n\n";
    let words = Words::new(sim.qdiscs().clone())
        .with_elements(sim.elements().words())
        .with_links(sim.elements().link_words())
        .with_apps(sim.apps().words());
    let plan = Experiment::parse("words.toml", &format!("{head}{text}"))
        .and_then(|experiment| experiment.plan(&words, MOST_RUNS))
        .map_err(|diagnostics| diagnostics.to_string())?;
    Ok(plan.scenarios().next().expect("there is one"))
}

fn plan(text: &str) -> Scenario {
    planned(&Sim::new(), text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    planned(&Sim::new(), text).expect_err("it is wrong")
}

fn lossy(words: &str, more: &str, flows: &str) -> String {
    format!(
        "[[hop.element]]\nname = \"loss\"\nmiddlebox = {{ words = \"{words}\"{more} }}\n\n{flows}"
    )
}

const RENO: &str = "[[flow]]\nname = \"a\"\ncc = \"reno\"\necn = \"off\"\n";

/// Mathis et al.: of N packets one is lost, so the window goes up and down between W/2 and W, and 3/8 W² = N packets are one
/// cycle of W/2 round trips. Its mean is √(3N/2): for 600 packets 30, or 1500 packets a second at 20 ms. The two round trips in
/// which a loss is repaired are not in the model; nor are the packets of one burst in flight at a window's peak.
#[test]
fn reno_has_the_window_of_its_response_function() {
    for (every, window) in [(600, 30.0), (2400, 60.0)] {
        let words = format!("periodic_loss every {every} least 1000b");
        let run = run(&plan(&lossy(&words, "", RENO)));
        let cwnd = counts(&run, "flows", "cwnd", "a");
        let late = cwnd.iter().filter(|row| row.0 > 5.0).map(|row| row.1 as f64);
        let late: Vec<f64> = late.collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean / window - 1.0).abs() < 0.1, "one in {every}: {mean} packets, not {window}");
    }
}

/// It drops by number; other flows pass.
#[test]
fn periodic_loss_is_counted_where_it_happens() {
    let udp = "[[flow]]\nname = \"a\"\nudp = { rate = \"5mbit\" }\n\n[[flow]]\nname = \"b\"\nudp = { rate = \"3mbit\" }\n";
    for (more, flows) in [("", &["a", "b"][..]), (", flows = [\"b\"]", &["b"])] {
        let run = run(&plan(&lossy("periodic_loss every 10 first 1", more, udp)));
        let of = |name: &str| total(&run, "line.down.loss", name);
        let sent: f64 = flows.iter().map(|flow| total(&run, flow, "packets_sent")).sum();
        // A packet that has left its host may not have come to the element yet.
        assert!((of("dropped") - sent / 10.0).abs() <= 1.0, "{} of {sent}", of("dropped"));
        assert_eq!(of("entered"), of("left") + of("dropped"));
        let signals = table(&run, "queue_signals");
        let last = rows_of(signals, "line.down.loss").last().expect("it drops");
        assert_eq!(signals.text("reason").get(last), "periodic_loss");
        assert_eq!(signals.u64("count")[last] as f64, of("dropped"));
    }
}

/// As any element it can be switched off; here for the second half of the run.
#[test]
fn events_switch_an_element_that_words_name() {
    let dropped = |more: &str| {
        let flows = format!("[[flow]]\nname = \"a\"\nudp = {{ rate = \"5mbit\" }}\n{more}");
        total(&run(&plan(&lossy("periodic_loss every 2", "", &flows))), "line.down.loss", "dropped")
    };
    let event = "\n[[event]]\nname = \"off\"\nat = \"10s\"\nhop = \"line\"\ndisable = [\"loss\"]\n";
    let half = dropped(event) / dropped("");
    assert!((half - 0.5).abs() < 0.01, "{half}");
}

fn linked(words: &str, rate: &str) -> String {
    // A hop in front of the one of `planned`; it is slower than that one's 100 Mbit/s.
    format!(
        "[[hop]]\nname = \"slow\"\nrate = \"{rate}\"\nqdisc = \"pfifo limit 10000\"\nlink = \"{words}\"\n\n\
         [[flow]]\nname = \"a\"\nudp = {{ rate = \"20mbit\", payload = 1472 }}\n"
    )
}

/// 12.112 Mbit/s send a packet of 1514 bytes in a millisecond: two fit a slot of 2.5 ms, so 400 leave in a second; at 24.224
/// Mbit/s there are five.
#[test]
fn a_slotted_link_sends_the_packets_that_fit_its_slots() {
    let words = "slotted every 5ms open 2500us";
    let text = linked(words, "12112kbit");
    let scenario = plan(&text);
    assert_eq!(scenario.links, [words]);
    let per_second = |run: &Run| {
        let left = counts(run, "queues", "sent_packets", "slow.down.qdisc");
        let at = |t: f64| left.iter().find(|row| (row.0 - t).abs() < 0.01).expect("a sample").1;
        [at(9.0) - at(4.0), at(19.0) - at(14.0)].map(|packets| packets as f64 / 5.0)
    };
    assert_eq!(per_second(&run(&scenario)), [400.0, 400.0]);
    let event = "\n[[event]]\nname = \"e\"\nat = \"10s\"\nhop = \"slow\"\nrate = \"24224kbit\"\n";
    assert_eq!(per_second(&run(&plan(&format!("{text}{event}")))), [400.0, 1000.0]);
}

/// A link from outside: it takes every packet at once and loses each third.
#[derive(Clone, Debug, Default)]
struct Leaky(u32);

#[derive(Clone, Debug)]
struct LeakyOptions;

impl Settings for LeakyOptions {
    const INFO: &'static Discipline = &Discipline {
        name: "leaky",
        summary: "loses each third packet",
        source: "this test",
        options: options_of!(Self),
        examples: &["leaky"],
        ..Discipline::BASE
    };
    const OPTIONS: &'static [Setting<Self>] = &[];
    const CHANGE_STARTS_AFRESH: bool = false;
    fn blank(_profile: &QdiscQuirks) -> Self {
        Self
    }
}

impl NamedLink for Leaky {
    type Options = LeakyOptions;
    fn new(_options: LeakyOptions, _rate: Rate, _random: Random) -> Self {
        Self::default()
    }
}

impl Link for Leaky {
    fn ready(&mut self, now: Time, waiting: Backlog) -> Time {
        assert!(waiting.packets > 0);
        now
    }

    fn take(&mut self, now: Time, _bytes: u32, _left: Backlog) -> Fate {
        self.0 += 1;
        if self.0.is_multiple_of(3) {
            return Fate::Lost(Reason::Custom("leak"));
        }
        Fate::Arrives(now + Span::from_millis(7))
    }
}

#[test]
fn a_link_from_outside_loses_and_delays() {
    let sim = Sim::new().with_link::<Leaky>().expect("the name is free");
    let scenario = planned(&sim, &linked("leaky", "10mbit")).unwrap_or_else(|e| panic!("{e}"));
    let run = sim.run(&scenario.clone().into(), &()).expect("it runs");
    let of = |name: &str| total(&run, "slow.down.qdisc", name);
    assert!(
        (of("dropped") - of("entered") / 3.0).abs() < 1.0,
        "{} of {}",
        of("dropped"),
        of("entered")
    );
    // Packets on the way count as held: 20 Mbit/s for 7 ms are 12 packets less a third that is lost.
    let held = of("entered") - of("dropped") - of("left");
    assert!((6.0..=9.0).contains(&held), "{held}");
    // The simulator without it refuses the scenario, which may come from a file.
    let refused = Sim::new().refuse(&scenario);
    assert_eq!(refused[0].why, "unknown link \"leaky\"");
}

#[test]
fn words_of_a_link_are_checked() {
    let wrong = error(&linked("sloted every 5ms open 1ms", "10mbit"));
    assert!(wrong.contains("did you mean \"slotted\"?"), "{wrong}");
    let both = linked("slotted every 5ms open 1ms", "10mbit")
        .replace("link =", "shaper = \"line\"\nlink =");
    assert!(
        error(&both).contains("a link has words of its own, a trace or a shaper"),
        "{}",
        error(&both)
    );
}

/// The durations of the transactions of flow `a`, in order; NaN of one that has not ended.
fn transactions(run: &Run) -> Vec<f64> {
    table(run, "completions").f64("duration_s").to_vec()
}

fn rr(words: &str) -> Run {
    run(&plan(&format!("[[flow]]\nname = \"a\"\necn = \"off\"\napp = \"{words}\"\n")))
}

/// One request and one response of a byte: a round trip each, and the handshake's before the first. The pauses between them
/// are the client's.
#[test]
fn a_transaction_is_a_round_trip() {
    let run = rr("tcp_rr think 80ms");
    let took = transactions(&run);
    for (number, took) in took.iter().filter(|took| !took.is_nan()).enumerate() {
        let rtts = if number == 0 { 2.0 } else { 1.0 };
        // Some 70 bytes take 6 us of 100 Mbit/s each way, at the hosts and the queue.
        let more = took - rtts * 0.020;
        assert!((0.0..rtts * (2.0 * JITTER + 30e-6)).contains(&more), "{number}: {took} s");
    }
    // 20 s in steps of 100 ms.
    assert!((198..=200).contains(&took.len()), "{}", took.len());
    let done = took.iter().filter(|took| !took.is_nan()).count();
    assert_eq!(total(&run, "a", "transactions"), done as f64);
}

/// 100 kB are 70 segments: with windows of 10, 20, 40 three round trips, less what the first request's hold in the handshake;
/// on an open connection with a grown window, one.
#[test]
fn a_response_takes_the_windows_that_it_needs() {
    let run = rr("tcp_rr response 100000b count 3");
    let took = transactions(&run);
    assert_eq!(took.len(), 3);
    assert!((0.080..0.092).contains(&took[0]), "{took:?}");
    assert!((0.020..0.032).contains(&took[2]), "{took:?}");
    assert_eq!(total(&run, "a", "transactions"), 3.0);
}

#[test]
fn what_is_wrong_with_words_is_said_where_they_stand() {
    for (text, says) in [
        (lossy("periodic_los every 2", "", RENO), "did you mean \"periodic_loss\"?"),
        (lossy("periodic_loss everyy 2", "", RENO), "did you mean \"every\"?"),
        (lossy("periodic_loss", "", RENO), "periodic_loss needs \"every\""),
        (lossy("periodic_loss every 2", ", flows = [\"z\"]", RENO), "\"z\""),
        ("[[flow]]\nname = \"a\"\napp = \"tcp_r\"\n".to_owned(), "did you mean \"tcp_rr\"?"),
        (
            "[[flow]]\nname = \"a\"\napp = \"tcp_rr thnk 1s\"\n".to_owned(),
            "did you mean \"think\"?",
        ),
        (
            "[[flow]]\nname = \"a\"\napp = \"tcp_rr\"\nvoip = {}\n".to_owned(),
            "a flow is one thing, not voip and app",
        ),
    ] {
        let said = error(&text);
        assert!(said.contains(says) && said.contains("words.toml:"), "{said}");
    }
}

/// One that was read back from a file has passed no check of words: the simulator refuses it, and does not panic.
#[test]
fn a_scenario_with_unknown_words_is_refused() {
    let mut scenario =
        plan(&lossy("periodic_loss every 2", "", "[[flow]]\nname = \"a\"\napp = \"tcp_rr\"\n"));
    let text = serde_json::to_string(&scenario).expect("it is data");
    scenario = serde_json::from_str(&text.replace("periodic_loss", "periodic_lost")).expect("so");
    if let Traffic::App(app) = &mut scenario.flows[0].traffic {
        app.words = "tcp_rr response 0b".to_owned();
    }
    let said: Vec<String> = Sim::new().refuse(&scenario).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("unknown path element \"periodic_lost\""), "{said:?}");
    assert!(said[1].contains("\"response\": 0b is out of range"), "{said:?}");
    try_run(&scenario).expect_err("it is refused");
}

/// An element from outside: marks what its own stream says.
#[derive(Debug)]
struct Coin;

#[derive(Clone, Debug)]
struct NoOptions;

static COIN: Discipline = Discipline {
    name: "coin",
    summary: "marks every second packet or so",
    source: "this test",
    options: options_of!(NoOptions),
    ..Discipline::BASE
};

impl Settings for NoOptions {
    const INFO: &'static Discipline = &COIN;
    const OPTIONS: &'static [Setting<Self>] = &[];
    const CHANGE_STARTS_AFRESH: bool = false;
    fn blank(_quirks: &QdiscQuirks) -> Self {
        Self
    }
}

impl NamedElement for Coin {
    type Options = NoOptions;
    fn new(_options: NoOptions) -> Self {
        Self
    }
}

impl PathElement for Coin {
    fn pass(&mut self, _now: Time, packet: &mut dyn PathPacket, random: &mut Random) -> Verdict {
        let heads = random.unit() < 0.5;
        if heads && packet.set_ce() {
            Verdict::Marked(Reason::Custom("coin"))
        } else {
            Verdict::Passes
        }
    }
}

/// An application from outside: a datagram every so often.
#[derive(Debug)]
struct Beat {
    every: Span,
    next: Time,
    sent: u32,
    arrived: u64,
}

#[derive(Clone, Debug)]
struct BeatOptions {
    every: Span,
}

static BEAT: Discipline = Discipline {
    name: "beat",
    summary: "a datagram every so often",
    source: "this test",
    options: options_of!(BeatOptions),
    ..Discipline::BASE
};

impl Settings for BeatOptions {
    const INFO: &'static Discipline = &BEAT;
    const OPTIONS: &'static [Setting<Self>] = &[words::OptionSpec {
        name: "every",
        values: words::TIME_ABOVE_ZERO,
        preset: words::DefaultValue::Is("10ms"),
        doc: "between datagrams",
        ..words::OptionSpec::BASE
    }
    .sets(|options, given| options.every = given.span())];
    const CHANGE_STARTS_AFRESH: bool = false;
    fn blank(_quirks: &QdiscQuirks) -> Self {
        Self { every: Span::ZERO }
    }
}

impl NamedApp for Beat {
    type Options = BeatOptions;
    fn new(options: BeatOptions, _setup: AppSetup) -> Self {
        Self { every: options.every, next: Time::NEVER, sent: 0, arrived: 0 }
    }
}

impl App for Beat {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.next = tx.now();
    }
    fn stop(&mut self, _now: Time) {
        self.next = Time::NEVER;
    }
    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        self.arrived += 1;
        tx.note_delivery(packet);
    }
    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        if self.next <= tx.now() {
            tx.send_datagram(self.sent, 1000, Ecn::Ect0, false);
            self.sent += 1;
            self.next = tx.now() + self.every;
        }
    }
    fn next_timer(&self) -> Time {
        self.next
    }
    fn delivered_bytes(&self) -> u64 {
        self.arrived * 1000
    }
    fn record(&self) -> Record {
        Record::Nothing
    }
    fn report(&self, _end: Time) -> FlowReport {
        FlowReport { totals: vec![("beats", f64::from(self.sent))], ..FlowReport::default() }
    }
}

#[test]
fn an_element_and_an_application_from_outside_run_by_their_words() {
    let outside = || Sim::new().with_element::<Coin>().and_then(Sim::with_app::<Beat>);
    let sim = outside().expect("the names are free");
    let text = lossy("coin", "", "[[flow]]\nname = \"a\"\napp = \"beat every 5ms\"\n");
    assert!(error(&text).contains("unknown path element \"coin\""));
    let scenario = planned(&sim, &text).expect("both are known");
    assert_eq!(Sim::new().refuse(&scenario).len(), 2);
    assert!(sim.refuse(&scenario).is_empty());
    let go = || sim.run(&scenario.clone().into(), &()).expect("it runs");
    let run = go();
    let beats = total(&run, "a", "beats");
    // The flow starts up to the stack's jitter late.
    assert!((3990.0..=4001.0).contains(&beats), "{beats}");
    let marked = total(&run, "line.down.loss", "marked");
    // Four standard deviations of 4000 coins.
    assert!((marked - 2000.0).abs() < 127.0, "{marked}");
    assert_eq!(marked, total(&go(), "line.down.loss", "marked"), "the same seed, the same marks");
    let again = sim.with_app::<Beat>().expect_err("it is there already");
    assert_eq!(
        again.to_string(),
        "the name \"beat\" is taken by another application; choose another"
    );
}
