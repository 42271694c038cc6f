//! Bytes become words or operations, and whatever they do, nothing may panic, get lost or grow without bound.
//!
//! The two functions are the fuzz targets of `fuzz/`, where libFuzzer looks for bytes that reach new code. Its finds
//! are in `fuzz/corpus` and are replayed here, on any toolchain; a byte string that ever failed is kept as
//! `fuzz/corpus/*/failed-…`.
//!
//! Words come from the tables of `disciplines()`: an option that is added is tried without a line here.

use crate::bench::{Log, Pkt, pkt};
use arbitrary::{Result, Unstructured};
use sojourn_qdisc::table::{DefaultValue, Kind, OptionSpec, Unit};
use sojourn_qdisc::{
    AnyQdisc, Context, Dequeued, Discipline, Qdisc, QdiscQuirks, Registry, TcError, disciplines,
};
use sojourn_units::{Dscp, Ecn, Random, Span, Time};
use std::collections::HashMap;

/// Operations of one run at most.
const MOST: usize = 4096;

/// A whole number between these, often an end, and else of any magnitude.
fn number(u: &mut Unstructured<'_>, min: u64, max: u64) -> Result<u64> {
    Ok(match u.int_in_range(0..=7)? {
        0 => min,
        1 => max,
        2 => min.saturating_add(u64::from(u.arbitrary::<u8>()? % 16)).min(max),
        _ => {
            let bits = u.int_in_range(0..=63)?;
            (u.arbitrary::<u64>()? >> bits).clamp(min, max)
        }
    })
}

fn value(u: &mut Unstructured<'_>, kind: Kind) -> Result<String> {
    Ok(match kind {
        Kind::Span { min, max } => format!("{}ns", number(u, min, max)?),
        Kind::SpanOrPackets { min, max } => {
            if u.arbitrary()? {
                format!("{}ns", number(u, min, max)?)
            } else {
                format!("{}p", number(u, 1, u32::MAX.into())?)
            }
        }
        Kind::Rate => format!("{}bit", number(u, 8, 1 << 53)?),
        Kind::Size { min, max } => format!("{}b", number(u, min, max)?),
        Kind::Count { min, max, .. } => number(u, min, max)?.to_string(),
        Kind::Percent => format!("{}%", f64::from(u.int_in_range(0_u16..=1000)?) / 10.0),
        Kind::Masked => format!("{}/{}", u.arbitrary::<u8>()?, u.arbitrary::<u8>()?),
        Kind::Real { min, max, .. } => {
            (min + (max - min) * f64::from(u.arbitrary::<u16>()?) / 65535.0).to_string()
        }
        Kind::Word(words) => (*u.choose(words)?).to_owned(),
        Kind::Keyword(word) => word.to_owned(),
    })
}

fn option(u: &mut Unstructured<'_>, option: &OptionSpec, out: &mut Vec<String>) -> Result<()> {
    let words: Vec<&str> = option.words().collect();
    let word = *u.choose(&words)?;
    out.push(word.to_owned());
    if option.off == Some(word) || option.others.contains(&word) {
        return Ok(());
    }
    for v in option.values {
        if (v.optional || matches!(v.kind, Kind::Keyword(_))) && u.arbitrary()? {
            if matches!(v.kind, Kind::Keyword(_)) {
                continue;
            }
            break;
        }
        out.push(value(u, v.kind)?);
    }
    Ok(())
}

/// The discipline's name and some of its options. Most such texts can be built, some contradict themselves.
fn words(
    u: &mut Unstructured<'_>,
    info: &'static Discipline,
    profile: &QdiscQuirks,
    depth: u8,
) -> Result<String> {
    let mut out = vec![info.name.to_owned()];
    for spec in info.options.iter().filter(|o| o.is_known(profile)) {
        if matches!(spec.preset, DefaultValue::Required) || u.ratio(1_u8, 4)? {
            option(u, spec, &mut out)?;
        }
    }
    if info.classful && depth < 2 && u.arbitrary()? {
        let child = *u.choose(disciplines())?;
        out.push(words(u, child, profile, depth + 1)?);
    }
    Ok(out.join(" "))
}

fn points_into_the_text(error: &TcError) {
    let _ = error.pointer();
    assert!(error.text.get(error.at.clone()).is_some(), "{error:?}");
    assert!(!error.message.is_empty(), "{error:?}");
}

/// Any text is either a discipline that can describe itself, or refused with a place.
pub(crate) fn grammar(data: &[u8]) {
    let _ = try_grammar(&mut Unstructured::new(data));
}

fn try_grammar(u: &mut Unstructured<'_>) -> Result<()> {
    let profile = u.choose(QdiscQuirks::ALL)?;
    let mut text = String::new();
    // Half of them are words that make sense, with one edit; the others are whatever the bytes are.
    if u.arbitrary()? {
        let info = *u.choose(disciplines())?;
        text = words(u, info, profile, 0)?;
        let mut chars: Vec<char> = text.chars().collect();
        let at = u.int_in_range(0..=chars.len())?;
        match u.int_in_range(0_u8..=3)? {
            0 => chars.insert(at, u.arbitrary()?),
            1 if at < chars.len() => drop(chars.remove(at)),
            2 => chars.truncate(at),
            _ => {}
        }
        text = chars.into_iter().collect();
    } else {
        text.push_str(&String::from_utf8_lossy(u.bytes(u.len())?));
    }
    let build = |text: &str| {
        Registry::<Pkt>::built_in().build(text, profile, &mut Random::named(1, "fuzz"))
    };
    match build(&text) {
        Err(error) => points_into_the_text(&error),
        Ok(mut any) => {
            assert!(!any.describe().is_empty() && any.show().starts_with("qdisc "), "{text}");
            let mut random = Random::named(2, "fuzz");
            let mut cx = Context { random: &mut random, telemetry: &mut () };
            if let Err(error) =
                any.change(Time::ZERO, &mut Registry::<Pkt>::built_in().words(&text), &mut cx)
            {
                points_into_the_text(&error);
            }
        }
    }
    Ok(())
}

/// The packets that went in and have not come out, and those that came out.
struct Run {
    any: AnyQdisc<Pkt>,
    words: String,
    random: Random,
    log: Log,
    inside: HashMap<u64, Vec<Pkt>>,
    packets: u64,
    bytes: u64,
    sent: (u64, u64),
    dropped: u64,
    /// The greatest limit that it has had, and whether that is of packets.
    limit: Option<(u64, bool)>,
    next_id: u64,
    now: Time,
}

/// The `limit` of a discipline in these words, or its default; and whether it counts packets. `None` where there is
/// none, or it follows from other words.
fn limit(words: &str, info: &Discipline, profile: &QdiscQuirks) -> Option<(u64, bool)> {
    let option = info.options.iter().find(|o| o.name == "limit")?;
    let is_of_packets = matches!(option.values.first()?.kind, Kind::Count { .. });
    let given = words.split(' ').skip_while(|word| *word != "limit").nth(1);
    let text = given.or_else(|| option.preset.words(profile))?;
    let number = text.strip_suffix('b').unwrap_or(text).parse().ok()?;
    Some((number, is_of_packets))
}

impl Run {
    fn new(any: AnyQdisc<Pkt>, words: String, profile: &QdiscQuirks) -> Self {
        Self {
            limit: limit(&words, any.info(), profile),
            any,
            words,
            random: Random::named(3, "fuzz"),
            log: Log::default(),
            inside: HashMap::new(),
            packets: 0,
            bytes: 0,
            sent: (0, 0),
            dropped: 0,
            next_id: 0,
            now: Time::ZERO,
        }
    }

    /// Calls the discipline, and accounts what it dropped and copied.
    fn call<R>(
        &mut self,
        what: impl FnOnce(&mut AnyQdisc<Pkt>, Time, &mut Context<'_, Log>) -> R,
    ) -> R {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.log };
        let result = what(&mut self.any, self.now, &mut cx);
        for id in core::mem::take(&mut self.log.copied) {
            let packet = self.inside.get(&id).and_then(|twins| twins.first()).copied();
            self.enter(packet.expect("what is copied is inside"));
        }
        for (at, packet, _) in core::mem::take(&mut self.log.dropped) {
            assert_eq!(at, self.now, "{}", self.words);
            self.leave(&packet);
            self.dropped += 1;
        }
        for (_, packet, _) in core::mem::take(&mut self.log.marked) {
            assert!(packet.ecn == Ecn::Ce, "{}", self.words);
        }
        self.log.sce_marked.clear();
        result
    }

    fn enter(&mut self, packet: Pkt) {
        self.inside.entry(packet.id).or_default().push(packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
    }

    /// Takes out the packet, which was inside once more than it has left; only its ECN field may have changed.
    fn leave(&mut self, packet: &Pkt) {
        let twins = self.inside.get_mut(&packet.id).and_then(Vec::pop);
        let was = twins.unwrap_or_else(|| panic!("{}: {packet:?} was not inside", self.words));
        assert_eq!((was.flow, was.len), (packet.flow, packet.len));
        let is_washed = self.words.contains("wash") && packet.dscp == Dscp::BEST_EFFORT;
        assert!(packet.dscp == was.dscp || is_washed, "{}", self.words);
        let ecn_is_allowed = match was.ecn {
            Ecn::NotEct | Ecn::Ce => packet.ecn == was.ecn,
            Ecn::Ect1 => packet.ecn == Ecn::Ect1 || packet.ecn == Ecn::Ce,
            Ecn::Ect0 => packet.ecn != Ecn::NotEct,
        };
        assert!(ecn_is_allowed, "{}: {:?} became {:?}", self.words, was.ecn, packet.ecn);
        self.packets -= 1;
        self.bytes -= u64::from(packet.len);
    }

    /// Sums agree, whatever is reported is a number of its unit.
    fn check(&self) {
        let backlog = self.any.backlog();
        assert_eq!(
            (u64::from(backlog.packets), backlog.bytes),
            (self.packets, self.bytes),
            "{}",
            self.words
        );
        if let Some((limit, is_of_packets)) = self.limit {
            let held = if is_of_packets { self.packets } else { self.bytes };
            // netem looks at its limit before the packet and its copy are both taken.
            let spare = u64::from(self.words.contains("duplicate"));
            assert!(
                held <= limit.saturating_add(spare),
                "{}: {held} are more than {limit}",
                self.words
            );
        }
        let stats = self.any.stats();
        assert_eq!((stats.packets, stats.bytes), self.sent, "{}", self.words);
        assert_eq!((stats.dropped, stats.backlog), (self.dropped, backlog), "{}", self.words);
    }

    fn check_numbers(&self) {
        let is_sane = |name: &str, unit: Unit, value: f64| match unit {
            Unit::Probability => (0.0..=1.0).contains(&value),
            Unit::Flag => value == 0.0 || value == 1.0,
            // Tokens and credit may be owed.
            _ if name == "credit" => value.is_finite(),
            Unit::Seconds | Unit::Ticks => value.is_finite(),
            Unit::Count | Unit::Bytes | Unit::BytesPerSecond => value >= 0.0 && value.is_finite(),
        };
        let mut chain = Some(&self.any);
        let mut units: Vec<(&str, Unit)> = Vec::new();
        while let Some(any) = chain {
            units.extend(any.info().gauges.iter().map(|g| (g.name, g.unit)));
            for (name, value) in &any.stats().own {
                let counter = any.info().counters.iter().find(|c| c.name == *name).expect(name);
                assert!(is_sane(name, counter.unit, *value), "{}: {name} is {value}", self.words);
            }
            chain = any.child();
        }
        self.any.gauges(self.now, &mut |name, value| {
            let unit = units.iter().find(|(known, _)| *known == name).expect(name).1;
            assert!(is_sane(name, unit, value), "{}: {name} is {value}", self.words);
        });
        assert!(self.any.show().starts_with("qdisc "));
    }

    fn put(&mut self, packet: Pkt) {
        let packet = Pkt { id: self.next_id, ..packet };
        self.next_id += 1;
        self.enter(packet);
        self.call(|any, now, cx| any.enqueue(now, packet, cx));
    }

    fn take(&mut self) -> Option<Time> {
        match self.call(Qdisc::dequeue) {
            Dequeued::Packet(packet) => {
                self.leave(&packet);
                self.sent.0 += 1;
                self.sent.1 += u64::from(packet.len);
                None
            }
            Dequeued::Wait(at) => {
                assert!(at > self.now, "{}: to wait until now is not to wait", self.words);
                assert!(self.packets > 0, "{}: nothing to wait for", self.words);
                Some(at)
            }
            Dequeued::Empty => {
                assert_eq!(self.packets, 0, "{} hides packets", self.words);
                None
            }
        }
    }

    /// Time goes on, with the timers on the way; not as far if there are very many.
    fn pass(&mut self, to: Time) {
        for _ in 0..64 {
            let Some(at) = self.any.next_timer().filter(|at| *at <= to) else {
                self.now = to;
                return;
            };
            assert!(at >= self.now, "{}: timers are not in the past", self.words);
            self.now = at;
            self.call(Qdisc::on_timer);
            assert!(self.any.next_timer() > Some(at), "{}: a timer goes on", self.words);
        }
    }
}

fn packet(u: &mut Unstructured<'_>) -> Result<Pkt> {
    let bits: u8 = u.arbitrary()?;
    let len = match u.int_in_range(0_u8..=3)? {
        0 => 66,
        1 | 2 => 1514,
        _ => u.int_in_range(1_u32..=70_000)?,
    };
    let flow = u64::from(bits >> 2) % 12 * 37;
    let dscp = Dscp::new(*u.choose(&[0, 4, 8, 1, 46, 48, 10, 63])?).expect("a DSCP");
    let ecn = Ecn::from_bits(bits & 3);
    Ok(Pkt { dscp, ..pkt(0).of(flow).long(len).ecn(ecn) })
}

fn step(u: &mut Unstructured<'_>, run: &mut Run, profile: &QdiscQuirks) -> Result<()> {
    match u.int_in_range(0_u8..=23)? {
        0..=7 => {
            let packet = packet(u)?;
            let departure = u.ratio(1_u8, 16)?.then_some(run.now + Span::from_micros(90));
            run.put(Pkt { departure, ..packet });
        }
        8 => {
            let packet = packet(u)?;
            for _ in 0..u.int_in_range(1..=100)? {
                run.put(packet);
            }
        }
        9..=13 => {
            run.take();
        }
        14..=16 => {
            if let Some(at) = run.take() {
                run.pass(at);
                run.take();
            }
        }
        17..=18 => {
            let micros = u.int_in_range(0_u64..=20_000)?;
            run.pass(run.now + Span::from_micros(micros));
        }
        // Some 18 minutes at most; all runs together stay far from the end of time.
        19 => {
            let nanos = number(u, 0, 1 << 40)?;
            run.pass(run.now + Span::from_nanos(nanos));
        }
        20 => run.call(Qdisc::on_timer),
        21 => {
            let text = words(u, run.any.info(), profile, 0)?;
            let before = run.any.describe();
            match run.call(|any, now, cx| {
                any.change(now, &mut Registry::<Pkt>::built_in().words(&text), cx)
            }) {
                // What was held under a higher limit may stay.
                Ok(()) => {
                    let new = limit(&text, run.any.info(), profile);
                    run.limit = run.limit.zip(new).map(|(old, new)| (old.0.max(new.0), old.1));
                    run.words = format!("{} then {text}", run.words);
                }
                Err(error) => {
                    points_into_the_text(&error);
                    assert_eq!(run.any.describe(), before, "what is refused changes nothing");
                }
            }
        }
        22 => {
            let info = *u.choose(disciplines())?;
            let text = words(u, info, profile, 0)?;
            if let Ok(with) = Registry::built_in().build(&text, profile, &mut run.random) {
                let old = run.call(|any, now, cx| any.replace(now, with, cx));
                assert_eq!(old.backlog().packets, 0, "{}", run.words);
                assert_eq!(run.packets, 0, "{}", run.words);
                (run.sent, run.dropped) = ((0, 0), 0);
                run.limit = limit(&text, run.any.info(), profile);
                run.words = text;
            }
        }
        _ => {
            run.call(AnyQdisc::flush);
            assert_eq!(run.packets, 0, "{} keeps packets", run.words);
        }
    }
    Ok(())
}

/// Any discipline under any operations: packets are conserved and sums agree, limits hold, and in the end all comes
/// out. Returns how many operations there were.
pub(crate) fn operations(data: &[u8]) -> usize {
    let mut done = 0;
    let _ = try_operations(&mut Unstructured::new(data), &mut done);
    done
}

fn try_operations(u: &mut Unstructured<'_>, done: &mut usize) -> Result<()> {
    let profile = u.choose(QdiscQuirks::ALL)?;
    let info = *u.choose(disciplines())?;
    let text = words(u, info, profile, 0)?;
    let any = match Registry::built_in().build(&text, profile, &mut Random::named(1, "fuzz")) {
        Ok(any) => any,
        Err(error) => {
            points_into_the_text(&error);
            return Ok(());
        }
    };
    let mut run = Run::new(any, text, profile);
    let mut result = Ok(());
    while *done < MOST && !u.is_empty() && result.is_ok() {
        result = step(u, &mut run, profile);
        *done += 1;
        run.check();
        if done.is_multiple_of(16) {
            run.check_numbers();
        }
    }
    run.check_numbers();
    for _ in 0..2000 {
        if run.packets == 0 {
            break;
        }
        if let Some(at) = run.take() {
            run.pass(at);
        }
    }
    // A rate of a few bits a second would take for ever.
    run.call(AnyQdisc::flush);
    assert_eq!(run.packets, 0, "{} keeps packets", run.words);
    run.check();
    result
}

/// Where there is no libFuzzer.
#[cfg(test)]
mod replay {
    use super::*;
    use std::path::PathBuf;

    fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let folder: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "fuzz", "corpus", target].iter().collect();
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|entry| entry.expect("a file").path())
            .collect();
        files.sort();
        files.into_iter().map(|f| (f.clone(), std::fs::read(f).expect("it can be read"))).collect()
    }

    #[test]
    fn the_corpus_of_words_is_harmless() {
        let files = corpus("grammar");
        assert!(files.len() > 100, "{}", files.len());
        for (_, data) in &files {
            grammar(data);
        }
    }

    #[test]
    fn the_corpus_of_operations_is_harmless() {
        let files = corpus("operations");
        let done: usize = files.iter().map(|(_, data)| operations(data)).sum();
        assert!(done > 20_000, "{done} operations in {} files", files.len());
    }
    /// Runs byte strings of a seed until at least `least` operations ran.
    fn random(seed: u64, least: usize) {
        let mut random = Random::named(seed, "bytes");
        let mut done = 0;
        let mut strings = 0_u64;
        while done < least {
            strings += 1;
            let len = 16 + random.next_u32() as usize % 2000;
            let data: Vec<u8> = (0..len).map(|_| random.next_u32() as u8).collect();
            let run = || {
                grammar(&data[..len.min(300)]);
                operations(&data)
            };
            done += std::panic::catch_unwind(run)
                .unwrap_or_else(|_| panic!("byte string {strings} of seed {seed} fails: {data:?}"));
        }
    }

    #[test]
    fn random_bytes_are_harmless() {
        random(1, 20_000);
    }

    /// `cargo test -p sojourn-qdisc --release --test traces -- --ignored ten_million`: some minutes.
    #[test]
    #[ignore = "takes minutes; the issue asks for it once"]
    fn ten_million_operations_are_harmless() {
        random(2, 10_000_000);
    }
}
