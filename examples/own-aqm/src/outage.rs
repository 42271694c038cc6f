//! `outage`: a path that is gone for a while, at fixed intervals, as at a handover between radio cells that forwards nothing.
//!
//! From the beginning of the run on, each interval of `every` ends with a time of `long` in which all packets are dropped. The
//! phase of the first is drawn, so that several seeds do not lose the same packets.
//!
//! Invariant: what is dropped depends on the time alone, never on the packet.

use sojourn_path::{NamedElement, PathElement, PathPacket, Verdict};
use sojourn_qdisc::table::{self, DefaultValue, OptionSpec};
use sojourn_qdisc::{
    Discipline, QdiscQuirks, Reason, Setting, Settings, TcError, TcTokens, options_of,
};
use sojourn_units::{Random, Span, Time};

/// What the recorder calls its drops.
const OUTAGE: Reason = Reason::Custom("outage");

/// The name and the options: parser, messages and lists read this.
pub const INFO: Discipline = Discipline {
    name: "outage",
    summary: "drops everything for a while, at fixed intervals",
    source: "examples/own-aqm",
    options: options_of!(Options),
    ..Discipline::BASE
};

/// The options as a type.
#[derive(Clone, Debug)]
pub struct Options {
    every: Span,
    long: Span,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "every",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("5s"),
            doc: "from one outage to the next",
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.every = given.span()),
        OptionSpec {
            name: "long",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("200ms"),
            doc: "how long each is; less than `every`",
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.long = given.span()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_quirks: &QdiscQuirks) -> Self {
        Self { every: Span::ZERO, long: Span::ZERO }
    }
}

/// The path that comes and goes.
#[derive(Debug)]
pub struct Outage {
    options: Options,
    /// By how much the first interval is shorter; drawn when the first packet comes.
    phase: Option<Span>,
}

impl NamedElement for Outage {
    type Options = Options;

    /// The table's rows, and what no single one of them can be wrong about.
    fn options(words: &mut TcTokens<'_>) -> Result<Options, TcError> {
        let options = Options::read(words, &QdiscQuirks::default())?;
        if options.long < options.every {
            return Ok(options);
        }
        let end = words.text().len();
        let message =
            format!("\"long\" ({}) is not below \"every\" ({})", options.long, options.every);
        Err(words.error(end..end, message, Some("write a greater \"every\"".to_owned())))
    }

    fn new(options: Options) -> Self {
        Self { options, phase: None }
    }
}

impl PathElement for Outage {
    fn pass(&mut self, now: Time, _packet: &mut dyn PathPacket, random: &mut Random) -> Verdict {
        let every = self.options.every.as_nanos();
        let phase = *self.phase.get_or_insert_with(|| Span::from_nanos(random.below(every)));
        let into = (now + phase).since(Time::ZERO).as_nanos() % every;
        if into < every - self.options.long.as_nanos() {
            Verdict::Passes
        } else {
            Verdict::Dropped(OUTAGE)
        }
    }
}
