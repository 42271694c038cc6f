//! Disciplines from outside: this file uses only what another crate could use.

use crate::bench::{Bench, Log, Pkt, build, ms, pkt, registry};
use sojourn_qdisc::codel::{self, Codel};
use sojourn_qdisc::table::{self, Counter, DefaultValue, OptionSpec};
use sojourn_qdisc::{
    AnyQdisc, Backlog, BuildContext, Context, Dequeued, Discipline, DynContext, DynQdisc, Family,
    OwnedPacket, Packet, PacketQueue, Qdisc, QdiscCounters, QdiscQuirks, Reason, Registry,
    RegistryError, Setting, Settings, Stats, TcConfigurable, TcError, TcTokens, Telemetry, mark,
    options_of, report, reports,
};
use sojourn_units::{Ecn, Random, Rate, Span, Time};

/// Adds all of them.
pub(crate) fn add(registry: &mut Registry<Pkt>) {
    registry.add::<CopyFamily>().expect("its name is free");
    registry.add::<ThresholdFamily>().expect("its name is free");
    let through = |words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, Pkt>| {
        let profile = *cx.quirks;
        Ok(Box::new(Through { profile, child: cx.child(words)? }) as Box<dyn DynQdisc<Pkt>>)
    };
    registry.add_entry(&THROUGH, through).expect("its name is free");
}

/// CoDel under another name: the built-in one, behind a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Copy<P>(Codel<P>);

pub(crate) struct CopyFamily;

impl Family for CopyFamily {
    type Of<P: OwnedPacket> = Copy<P>;
}

impl<P: Packet> Qdisc<P> for Copy<P> {
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        self.0.enqueue(now, packet, cx);
    }
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        self.0.dequeue(now, cx)
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn stats(&self) -> Stats {
        self.0.stats()
    }
    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.gauges(now, out);
    }
}

impl<P: Packet> TcConfigurable<P> for Copy<P> {
    const INFO: &'static Discipline = &Discipline { name: "codel_copy", ..codel::INFO };

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        Codel::build(words, cx).map(Self)
    }
    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.0.change(now, words, cx)
    }
    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.0.flush(now, cx);
    }
    fn quirks(&self) -> &QdiscQuirks {
        self.0.quirks()
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

/// Marks what has waited for longer than a threshold, with a timer that counts its ticks.
#[derive(Clone, Debug)]
pub(crate) struct Threshold<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    tally: QdiscCounters,
    marks: u64,
    next_tick: Time,
    ticks: u64,
}

pub(crate) struct ThresholdFamily;

impl Family for ThresholdFamily {
    type Of<P: OwnedPacket> = Threshold<P>;
}

const THRESHOLD: Discipline = Discipline {
    name: "threshold",
    summary: "marks what has waited for longer than a threshold",
    source: "this test",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    ..Discipline::BASE
};

const TICK: Span = Span::from_millis(7);

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    threshold: Span,
}

impl Settings for Config {
    const INFO: &'static Discipline = &THRESHOLD;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec { preset: DefaultValue::Is("100"), ..table::LIMIT }
            .sets(|config, given| config.limit = given.number()),
        OptionSpec {
            name: "threshold",
            values: table::TIME,
            preset: DefaultValue::Is("1ms"),
            doc: "sojourn time above which every ECN-capable packet is marked",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.threshold = given.span()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { limit: 0, threshold: Span::ZERO }
    }
}

report! {
    impl[P: Packet] Threshold<P>, it at now;
    counters {
        marks: Count, line 0, Always, "packets marked at the threshold" => it.marks;
    }
    gauges {
        ticks: Count, "ticks of its timer" => it.ticks;
    }
}

impl<P: Packet> Qdisc<P> for Threshold<P> {
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.ring.len() < self.config.limit {
            packet.set_stamp(now);
            self.ring.push(packet);
        } else {
            self.tally.drop(now, packet, Reason::Tail, cx);
        }
    }

    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(mut packet) = self.ring.pop() else { return Dequeued::Empty };
        if now.since(packet.stamp()) > self.config.threshold
            && mark(now, &mut packet, Reason::Custom("over_threshold"), cx)
        {
            self.marks += 1;
        }
        self.tally.sent(packet.wire_len());
        Dequeued::Packet(packet)
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_tick)
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) {
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.ticks += 1;
        }
    }

    reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Threshold<P> {
    const INFO: &'static Discipline = &THRESHOLD;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        Ok(Self {
            config: Config::read(words, cx.quirks)?,
            profile: *cx.quirks,
            ring: PacketQueue::new(),
            tally: QdiscCounters::default(),
            marks: 0,
            next_tick: Time::ZERO + TICK,
            ticks: 0,
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.ring.shorten(now, self.config.limit, Reason::Overlimit, &mut self.tally, cx);
        Ok(())
    }

    fn start(&mut self, now: Time) {
        self.next_tick = now + TICK;
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, threshold } = &self.config;
        format!("limit {limit}p threshold {threshold}")
    }
}

const THROUGH: Discipline = Discipline {
    name: "through",
    summary: "hands everything to its child",
    source: "this test",
    classful: true,
    ..Discipline::BASE
};

/// Hands everything to its child: for packets of one kind, and written as the object form itself.
#[derive(Clone)]
struct Through {
    profile: QdiscQuirks,
    child: AnyQdisc<Pkt>,
}

/// Runs `$call` with a context that generic methods take.
macro_rules! with {
    ($cx:ident, $call:expr) => {{
        let mut telemetry = &mut *$cx.telemetry;
        let $cx = &mut Context { random: &mut *$cx.random, telemetry: &mut telemetry };
        $call
    }};
}

impl DynQdisc<Pkt> for Through {
    fn info(&self) -> &'static Discipline {
        &THROUGH
    }
    fn enqueue(&mut self, now: Time, packet: Pkt, cx: &mut DynContext<'_, Pkt>) {
        with!(cx, self.child.enqueue(now, packet, cx));
    }
    fn dequeue(&mut self, now: Time, cx: &mut DynContext<'_, Pkt>) -> Dequeued<Pkt> {
        with!(cx, self.child.dequeue(now, cx))
    }
    fn next_timer(&self) -> Option<Time> {
        self.child.next_timer()
    }
    fn on_timer(&mut self, now: Time, cx: &mut DynContext<'_, Pkt>) {
        with!(cx, self.child.on_timer(now, cx));
    }
    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }
    fn stats(&self) -> Stats {
        Stats { own: Vec::new(), ..self.child.stats() }
    }
    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.child.gauges(now, out);
    }
    fn change(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut DynContext<'_, Pkt>,
    ) -> Result<(), TcError> {
        with!(cx, self.child.change(now, words, cx))
    }
    fn start(&mut self, now: Time) {
        self.child.start(now);
    }
    fn flush(&mut self, now: Time, cx: &mut DynContext<'_, Pkt>) {
        with!(cx, self.child.flush(now, cx));
    }
    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }
    fn describe(&self) -> String {
        "plain".to_owned()
    }
    fn child(&self) -> Option<&AnyQdisc<Pkt>> {
        Some(&self.child)
    }
    fn child_mut(&mut self) -> Option<&mut AnyQdisc<Pkt>> {
        Some(&mut self.child)
    }
    fn replace_child(
        &mut self,
        now: Time,
        child: AnyQdisc<Pkt>,
        cx: &mut DynContext<'_, Pkt>,
    ) -> Option<AnyQdisc<Pkt>> {
        with!(cx, self.child.replace(now, child, cx));
        None
    }
    fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        self.child.set_rate(now, rate)
    }
    fn clone_box(&self) -> Box<dyn DynQdisc<Pkt>> {
        Box::new(self.clone())
    }
}

fn error(words: &str) -> TcError {
    build(words, &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "words"))
        .err()
        .unwrap_or_else(|| panic!("\"{words}\" is taken"))
}

#[test]
fn a_name_is_added_once_and_not_one_of_the_built_in() {
    let mut registry = Registry::<Pkt>::built_in();
    let before = registry.disciplines().len();
    registry.add::<CopyFamily>().unwrap();
    assert_eq!(registry.add::<CopyFamily>(), Err(RegistryError::NameTaken("codel_copy")));
    assert_eq!(
        RegistryError::NameTaken("codel_copy").to_string(),
        "there is a queue discipline \"codel_copy\" already; choose another name"
    );
    assert_eq!(registry.disciplines().len(), before + 1);
    assert!(registry.disciplines().is_sorted_by_key(|d| d.name));
    assert_eq!(registry.info("codel_copy").unwrap().options.len(), codel::INFO.options.len());
    let entry = |info| {
        Registry::<Pkt>::built_in().add_entry(
            info,
            |words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, Pkt>| {
                Ok(Box::new(<Codel<Pkt> as TcConfigurable<Pkt>>::build(words, cx)?))
            },
        )
    };
    assert_eq!(entry(&codel::INFO), Err(RegistryError::NameTaken("codel")));
    for name in ["", "two words", "5g"] {
        let info: &'static Discipline = Box::leak(Box::new(Discipline { name, ..codel::INFO }));
        assert_eq!(entry(info), Err(RegistryError::NotAWord(name)));
    }
}

/// A table that contradicts itself is refused when the discipline is added, not when somebody uses it.
#[test]
fn a_table_is_checked_when_it_is_added() {
    const LIMIT: OptionSpec = OptionSpec { preset: DefaultValue::Is("many"), ..table::LIMIT };
    const MARKS_TWICE: &[Counter] = &[COUNTERS[0], COUNTERS[0]];
    const TWICE: OptionSpec = OptionSpec { preset: DefaultValue::Is("5"), ..table::LIMIT };
    let tables: [(Discipline, &str); 3] = [
        (
            Discipline { options: &[LIMIT], ..THRESHOLD },
            "a default cannot be read: \"limit\": \"many\" is not a whole number; write a number of packets from 1 to 4294967295",
        ),
        (Discipline { options: &[TWICE, TWICE], ..THRESHOLD }, "two options are called \"limit\""),
        (Discipline { counters: MARKS_TWICE, ..THRESHOLD }, "two counters are called \"marks\""),
    ];
    for (info, expected) in tables {
        let info: &'static Discipline = Box::leak(Box::new(info));
        let added = Registry::<Pkt>::built_in().add_entry(
            info,
            |words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, Pkt>| {
                Ok(Box::new(<Codel<Pkt> as TcConfigurable<Pkt>>::build(words, cx)?))
            },
        );
        let message = added.expect_err("it is refused").to_string();
        assert_eq!(message, format!("the table of \"threshold\": {expected}"));
    }
}

#[test]
fn errors_point_into_the_words_of_an_added_one() {
    for (words, at, message) in [
        (
            "treshold",
            "treshold",
            "unknown queue discipline \"treshold\"; did you mean \"threshold\"?",
        ),
        (
            "threshold treshold 5ms",
            "treshold",
            "threshold has no option \"treshold\"; did you mean \"threshold\"?",
        ),
        (
            "threshold limit 0",
            "0",
            "\"limit\": 0 is out of range; write a number of packets from 1 to 4294967295",
        ),
        ("threshold limit 5 limit 6", "limit", "\"limit\" is given twice"),
        (
            "htb rate 5mbit treshold limit 3",
            "treshold",
            "htb has no option \"treshold\"; did you mean \"threshold\"?",
        ),
        (
            "htb rate 5mbit threshold lmit 3",
            "lmit",
            "threshold has no option \"lmit\"; did you mean \"limit\"?",
        ),
        (
            "through threshold limitt",
            "limitt",
            "threshold has no option \"limitt\"; did you mean \"limit\"?",
        ),
    ] {
        let error = error(words);
        let text = error.to_string();
        assert!(text.starts_with(message), "{text}");
        assert_eq!(&words[error.at.clone()], at, "{words}");
        assert!(error.pointer().ends_with(&"^".repeat(at.len())));
    }
    // One that is not added is not known.
    let unknown = Registry::<Pkt>::built_in().build(
        "htb rate 5mbit threshold",
        &QdiscQuirks::LINUX_7_3,
        &mut Random::named(1, "words"),
    );
    assert!(unknown.is_err());
}

#[test]
fn an_added_child_is_built_changed_and_replaced_under_a_shaper() {
    let mut b = Bench::new("htb rate 12112kbit threshold limit 3");
    assert_eq!(b.any.child().unwrap().info().name, "threshold");
    assert!(b.any.show().contains("qdisc threshold limit 3p threshold 1ms\n"), "{}", b.any.show());
    for id in 0..5 {
        b.put(ms(0), pkt(id).ecn(Ecn::Ect0));
    }
    assert_eq!(b.log.drops(), [(3, Reason::Tail), (4, Reason::Tail)]);
    assert_eq!(b.next_timer(), Some(ms(7)));
    b.timer(ms(7));
    assert_eq!((b.gauge(ms(7), "ticks"), b.next_timer()), (1.0, Some(ms(14))));
    // A shaper's change goes on to its child, by its name.
    b.change(ms(7), "htb rate 12112kbit threshold threshold 9ms");
    assert!(b.any.show().contains("threshold limit 3p threshold 9ms"), "{}", b.any.show());
    assert_eq!(b.get(ms(8)).ecn, Ecn::Ect0);
    assert_eq!(b.get(ms(10)).ecn, Ecn::Ce);
    assert_eq!(b.log.marks(), [(1, Reason::Custom("over_threshold"))]);
    assert_eq!(b.log.marked[0].2.to_string(), "over_threshold");
    let registry = registry();
    let with = registry.build("codel_copy", &QdiscQuirks::LINUX_7_3, &mut b.random).unwrap();
    let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
    assert!(b.any.replace_child(ms(10), with, &mut cx).is_none());
    assert_eq!(b.log.drops()[2..], [(2, Reason::Flushed)]);
    // Earlier drops stay counted, and the rate is still the shaper's.
    assert_eq!((b.stats().dropped, b.backlog()), (3, Backlog::default()));
    assert!(b.any.set_rate(ms(10), Rate::from_mbit(100)));
    assert!(b.any.describe().starts_with("rate 100Mbit"), "{}", b.any.describe());
}

#[test]
fn one_from_outside_changes_and_is_replaced_as_others_are() {
    let mut b = Bench::new("threshold limit 9");
    (0..4).for_each(|id| b.put(ms(0), pkt(id)));
    b.change(ms(1), "threshold limit 3");
    assert_eq!(b.log.drops(), [(0, Reason::Overlimit)]);
    let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
    let wrong = b.any.change(ms(1), &mut TcTokens::new("codel limit 3"), &mut cx).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "\"codel\" cannot change the threshold that is there; write \"threshold\" and its options, or replace it"
    );
    assert!(!b.any.set_rate(ms(1), Rate::from_mbit(1)), "it has no shaper");
    let child = build("pfifo", &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "c")).unwrap();
    let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
    assert!(b.any.replace_child(ms(1), child, &mut cx).is_some(), "it has no child");
    let with = build("threshold", &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "c")).unwrap();
    let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
    let old = b.any.replace(ms(20), with, &mut cx);
    assert_eq!((old.stats().dropped, old.backlog()), (4, Backlog::default()));
    assert_eq!(b.next_timer(), Some(ms(27)), "it begins its work when it is put in");
}

/// A copy of a queue has packets of its own.
#[test]
fn a_clone_goes_its_own_way() {
    let mut b = Bench::new("through threshold");
    b.put(ms(0), pkt(1));
    let mut copy =
        Bench { any: b.any.clone(), random: Random::named(1, "bench"), log: Log::default() };
    b.put(ms(0), pkt(2));
    assert_eq!((copy.backlog().packets, b.backlog().packets), (1, 2));
    assert_eq!(copy.get(ms(1)).id, 1);
    assert_eq!((copy.backlog().packets, b.backlog().packets), (0, 2));
    assert_eq!(format!("{:?}", b.any), "Custom(through plain)");
}

/// The object form decides as the built-in one does, to the bit, alone and as a child of a shaper from outside.
#[test]
fn a_copy_of_codel_does_what_codel_does() {
    let run = |words: &str| {
        let mut b = Bench::new(words);
        let mut out = Vec::new();
        for id in 0..4000_u64 {
            let now = Time::from_micros(id * 700);
            b.put(now, pkt(id).of(id % 3).ecn(Ecn::from_bits((id % 4) as u8)));
            if id % 5 != 0
                && let Dequeued::Packet(packet) = b.take(now)
            {
                out.push(packet);
            }
            if id == 2000 {
                let names = &words[..words.find(" ecn").expect("it marks")];
                b.change(now, &format!("{names} limit 400"));
            }
        }
        let mut gauges = Vec::new();
        b.any.gauges(Time::from_secs(3), &mut |name, value| gauges.push((name, value.to_bits())));
        let (backlog, stats) = (b.backlog(), b.stats());
        (out, b.log.dropped, b.log.marked, backlog, gauges, stats.dropped)
    };
    let built_in = run("codel ecn target 1ms interval 8ms");
    assert!(built_in.2.len() > 20 && built_in.1.len() > 20, "{}", built_in.2.len());
    assert_eq!(run("codel_copy ecn target 1ms interval 8ms"), built_in);
    assert_eq!(run("through codel_copy ecn target 1ms interval 8ms"), built_in);
}
