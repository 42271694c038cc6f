//! DualPI2's options: the table, and what tc and the kernel make of the words.

use crate::options_of;
use crate::pi2_law::{self, Gain, MTU, Params};
use crate::profile::DualPi2 as Version;
use crate::settings::{ParsedOption, Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Kind, OptionSpec, ValueSpec};
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{QdiscQuirks, Reason};
use core::fmt::Write as _;
use sojourn_units::Span;

/// Times are 32 bits of nanoseconds in mainline.
const LONGEST: u64 = u32::MAX as u64;
/// From the auto-configuration: `max_rtt` where only `typical_rtt` is given, and the reverse.
const MAX_PER_TYPICAL: u64 = 6;

const COUPLING: &[ValueSpec] = &[ValueSpec {
    name: "FACTOR",
    kind: Kind::Count { unit: "times", min: 1, max: u8::MAX as u64 },
    optional: false,
}];

const fn is_mainline(profile: &QdiscQuirks) -> bool {
    matches!(profile.dualpi2, Version::Mainline)
}

/// C and L, in the order of the numbers by which [`super::Class`] knows them.
pub(super) static CLASSES: [table::Class; 2] = [
    table::Class { name: "c", doc: "classic traffic: Not-ECT, and ECT(0) without any_ect" },
    table::Class { name: "l", doc: "scalable traffic: ECT(1) and CE, and ECT(0) with any_ect" },
];

/// The part of dualpi2's table that does not depend on what it holds: all but what it reports.
pub(super) const WORDS: Discipline = Discipline {
    name: "dualpi2",
    summary: "two coupled queues, one for scalable traffic with marks from a shallow delay, one for the rest",
    source: "RFC 9332; Linux 7.3 and L4STeam/linux of 2020, net/sched/sch_dualpi2.c; iproute2 6, tc/q_dualpi2.c",
    options: options_of!(Config),
    xstats: &Xstats {
        fields: &[
            Form::Share32.of("prob"),
            Form::Micros.of("delay_c"),
            Form::Micros.of("delay_l"),
            Form::Number.of("pkts_in_c"),
            Form::Number.of("pkts_in_l"),
            Form::Number.of("maxq"),
            Form::Number.of("ecn_mark"),
            Form::Number.of("step_marks"),
        ],
        signals: &[
            Counted::Marks(Reason::Step, "step_marks"),
            Counted::Marks(Reason::Early, "ecn_mark"),
            Counted::OtherDrops(Reason::Early),
        ],
    },
    classes: &CLASSES,
    examples: &[
        "dualpi2 limit 9",
        "dualpi2 target 100us tupdate 1ms alpha 2000 beta 9000 step_thresh 2ms",
        "dualpi2 target 1us tupdate 2ms alpha 500 beta 0.5 overflow any_ect memlimit 30000 step_thresh 2p",
        "dualpi2 drop_enqueue target 1us tupdate 3ms alpha 900 classic_protection 0 min_qlen_step 2",
        "dualpi2 rfc_t_shift 1ms rfc_ramp 500us max_rtt 3ms classic_protection 100%",
    ],
    changes: &[
        "dualpi2 limit 3",
        "dualpi2 memlimit 9000",
        "dualpi2 classic_protection 60%",
        "dualpi2 target 1s",
    ],
    ..Discipline::BASE
};

/// What L's own queue is marked by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A sojourn time.
    Time(Span),
    /// Packets that stay behind in L.
    Packets(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) limit: u32,
    pub(super) memory_limit: u64,
    memlimit: Option<u32>,
    pub(super) pi: Params,
    pub(super) tupdate: Span,
    pub(super) step: Step,
    pub(super) min_qlen_step: u32,
    pub(super) coupling: u32,
    pub(super) drop_on_overload: bool,
    pub(super) drop_enqueue: bool,
    /// C's weight in per cent.
    pub(super) wc: i64,
    pub(super) any_ect: bool,
    split_gso: bool,
    pub(super) t_shift: Option<Span>,
    pub(super) ramp: Option<Span>,
    max_rtt: Option<Span>,
    typical_rtt: Option<Span>,
    version: Version,
}

impl Settings for Config {
    const INFO: &'static Discipline = &WORDS;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            preset: DefaultValue::Is("10000"),
            doc: "packets held at most in both queues; one that arrives beyond is refused",
            ..table::LIMIT
        }.sets(|config, given| {
                config.limit = given.number();
                config.memlimit = None;
            }),
        OptionSpec {
            name: "memlimit",
            aliases: &["memory_limit"],
            values: table::BYTES,
            preset: DefaultValue::Unset("3028 bytes for each packet of the limit"),
            doc: "memory of the packets held at most, as the kernel accounts it (skb->truesize)",
            known: Some(is_mainline),
            ..OptionSpec::BASE
        }.sets(|config, given| config.memlimit = Some(given.number())),
        OptionSpec {
            name: "coupling_factor",
            values: COUPLING,
            preset: DefaultValue::Is("2"),
            doc: "k: the base probability is multiplied by it for L",
            ..OptionSpec::BASE
        }.sets(|config, given| config.coupling = given.number()),
        OptionSpec {
            name: "step_thresh",
            values: &[ValueSpec {
                name: "TIME|PACKETS",
                kind: Kind::SpanOrPackets { min: 1_000, max: LONGEST },
                optional: false,
            }],
            preset: DefaultValue::Is("1ms"),
            doc: "sojourn time, or packets left in L, above which all that leaves L is marked",
            ..OptionSpec::BASE
        }.sets(|config, given| {
                config.step = match (given.nth_span(0), config.version) {
                    (Some(_), _) => Step::Time(given.micros()),
                    (None, Version::Mainline) => Step::Packets(given.number()),
                    // 32 bits in the kernel, as here.
                    (None, Version::L4sTeam) => Step::Packets(given.number().wrapping_mul(1_000)),
                };
            }),
        OptionSpec {
            name: "min_qlen_step",
            values: &[ValueSpec {
                name: "PACKETS",
                kind: Kind::Count { unit: "packets", min: 0, max: u32::MAX as u64 },
                optional: false,
            }],
            preset: DefaultValue::Is("0"),
            doc: "packets in L that one must find on arrival for the step to concern it; 2 in l4steam-*",
            known: Some(is_mainline),
            ..OptionSpec::BASE
        }.sets(|config, given| config.min_qlen_step = given.number()),
        OptionSpec {
            name: "drop_on_overload",
            off: Some("overflow"),
            preset: DefaultValue::Is("drop_on_overload"),
            doc: "when L's probability is beyond 100 %, drop in L as in C; else L is never dropped before the limit",
            ..OptionSpec::BASE
        }.sets(|config, given| config.drop_on_overload = given.on),
        OptionSpec {
            name: "drop_enqueue",
            off: Some("drop_dequeue"),
            preset: DefaultValue::Is("drop_dequeue"),
            doc: "decide by the probability on arrival; else on leaving",
            ..OptionSpec::BASE
        }.sets(|config, given| config.drop_enqueue = given.on),
        OptionSpec {
            name: "classic_protection",
            aliases: &["c_protection"],
            values: &[ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false }],
            preset: DefaultValue::Is("10%"),
            doc: "C's share of the bytes while both queues hold packets, in whole per cent",
            ..OptionSpec::BASE
        }.sets(|config, given| {
                config.wc = given.probability(0).map_or(0, |p| (p * 100.0).round_ties_even() as i64);
            }),
        OptionSpec {
            name: "any_ect",
            off: Some("l4s_ect"),
            preset: DefaultValue::Is("l4s_ect"),
            doc: "ECT(0) goes to L too; else only ECT(1) and CE",
            ..OptionSpec::BASE
        }.sets(|config, given| config.any_ect = given.on),
        OptionSpec {
            name: "split_gso",
            off: Some("no_split_gso"),
            preset: DefaultValue::Is("split_gso"),
            doc: "split aggregated packets on arrival; accepted, packets here are never aggregated",
            ..OptionSpec::BASE
        }.sets(|config, given| config.split_gso = given.on),
        OptionSpec {
            name: "max_rtt",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Unset("no auto-configuration"),
            doc: "tc derives target, tupdate, alpha and beta from it and ignores other values for them",
            ..OptionSpec::BASE
        }.sets(|config, given| config.max_rtt = Some(given.micros())),
        OptionSpec {
            name: "typical_rtt",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Unset("a sixth of max_rtt, if that is given"),
            doc: "the target in that derivation",
            ..OptionSpec::BASE
        }.sets(|config, given| config.typical_rtt = Some(given.micros())),
        OptionSpec {
            name: "target",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("15ms"),
            doc: "delay that the controller aims at, of whichever queue's head is older",
            ..OptionSpec::BASE
        }.sets(|config, given| config.pi.target = given.micros()),
        OptionSpec {
            name: "tupdate",
            values: &[ValueSpec {
                name: "TIME",
                kind: Kind::Span { min: 1_000, max: LONGEST },
                optional: false,
            }],
            preset: DefaultValue::Is("16ms"),
            doc: "time between updates of the probability",
            ..OptionSpec::BASE
        }.sets(|config, given| config.tupdate = given.micros()),
        OptionSpec {
            name: "alpha",
            values: pi2_law::GAIN,
            preset: DefaultValue::Is("0.16015625"),
            doc: "gain on the distance from target, in 256ths rounded down (0.16 is 40 of them)",
            ..OptionSpec::BASE
        }.sets(|config, given| config.pi.alpha = Gain::from_parts(pi2_law::parts(given.real()))),
        OptionSpec {
            name: "beta",
            values: pi2_law::GAIN,
            preset: DefaultValue::Is("3.19921875"),
            doc: "gain on the change of the delay, in 256ths rounded down",
            ..OptionSpec::BASE
        }.sets(|config, given| config.pi.beta = Gain::from_parts(pi2_law::parts(given.real()))),
        OptionSpec {
            name: "rfc_t_shift",
            values: table::TIME,
            preset: DefaultValue::Unset("classic_protection schedules"),
            doc: "not in Linux: RFC 9332's time-shifted FIFO; C goes first if its head waited this much longer",
            ..OptionSpec::BASE
        }.sets(|config, given| config.t_shift = Some(given.span())),
        OptionSpec {
            name: "rfc_ramp",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Unset("a step"),
            doc: "not in Linux: RFC 9332's ramp; L's native probability grows to 1 over this from step_thresh on",
            ..OptionSpec::BASE
        }.sets(|config, given| config.ramp = Some(given.span())),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            memory_limit: u64::MAX,
            memlimit: None,
            pi: Params::BLANK,
            tupdate: Span::ZERO,
            step: Step::Packets(0),
            // The team's rule was built in: more than one packet in L.
            min_qlen_step: 2,
            coupling: 0,
            drop_on_overload: false,
            drop_enqueue: false,
            wc: 0,
            any_ect: false,
            split_gso: false,
            t_shift: None,
            ramp: None,
            max_rtt: None,
            typical_rtt: None,
            version: profile.dualpi2,
        }
    }
}

impl Config {
    /// What follows from several options together, in the order in which the kernel looks at them.
    pub(super) fn finish(
        mut self,
        given: &[ParsedOption],
        words: &TcTokens<'_>,
    ) -> Result<Self, TcError> {
        // A limit that was written before a memlimit has undone it already.
        if let Some(memlimit) = given.iter().find(|g| g.name == "memlimit") {
            self.memlimit = Some(memlimit.number());
        }
        self.memory_limit = match (self.version, self.memlimit) {
            (Version::L4sTeam, _) => u64::MAX,
            (Version::Mainline, Some(bytes)) => bytes.into(),
            (Version::Mainline, None) => {
                (u64::from(self.limit) * 2 * u64::from(MTU)).min(u32::MAX.into())
            }
        };
        self.configure_by_rtt(words)?;
        Ok(self)
    }

    /// tc's own derivation of the controller's parameters (RFC 9332 appendix A.1 has the same formulas).
    fn configure_by_rtt(&mut self, words: &TcTokens<'_>) -> Result<(), TcError> {
        let (max, typical) = match (self.max_rtt.take(), self.typical_rtt.take()) {
            (None, None) => return Ok(()),
            (Some(max), None) => {
                (max, Span::from_micros((max.as_micros() / MAX_PER_TYPICAL).max(1)))
            }
            (None, Some(typical)) => (typical * MAX_PER_TYPICAL, typical),
            (Some(max), Some(typical)) => (max, typical),
        };
        let end = words.text().len();
        if typical > max {
            let message = format!("\"typical_rtt\" {typical} is above \"max_rtt\" {max}");
            return Err(words.error(end..end, message, Some("make it less".to_owned())));
        }
        let micros = max.as_micros() as f64;
        let tupdate = ((typical.as_micros() as f64).min(micros / 3.0) as u64).max(1);
        // Both constants are `float` in tc.
        let alpha = tupdate as f64 / micros / micros * 1e6 * f64::from(0.1_f32);
        let beta = f64::from(0.3_f32) / micros * 1e6;
        if alpha.min(beta) * 256.0 < 1.0 {
            let message = format!("\"max_rtt\" {max} rounds alpha or beta down to 0");
            return Err(words.error(end..end, message, Some("make it less".to_owned())));
        }
        self.pi = Params {
            target: typical,
            alpha: Gain::from_parts((alpha * 256.0) as u32),
            beta: Gain::from_parts((beta * 256.0) as u32),
        };
        self.tupdate = Span::from_micros(tupdate);
        Ok(())
    }

    /// As tc prints it.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("limit {}p", self.limit);
        let mut add = |more: core::fmt::Arguments<'_>| {
            text.write_fmt(more).expect("a string takes everything");
        };
        if self.version == Version::Mainline {
            add(format_args!(" memlimit {}B", self.memory_limit));
        }
        add(format_args!(
            " target {} tupdate {} alpha {:.6} beta {:.6}",
            show::time(self.pi.target),
            show::time(self.tupdate),
            self.pi.alpha.shown(),
            self.pi.beta.shown()
        ));
        match self.step {
            Step::Time(span) => add(format_args!(" step_thresh {}", show::time(span))),
            Step::Packets(packets) => add(format_args!(" step_thresh {packets}p")),
        }
        if self.version == Version::Mainline {
            add(format_args!(" min_qlen_step {}p", self.min_qlen_step));
        }
        let word = |on: bool, yes: &'static str, no: &'static str| if on { yes } else { no };
        add(format_args!(
            " coupling_factor {} {} {} classic_protection {}% {} {}",
            self.coupling,
            word(self.drop_on_overload, "drop_on_overload", "overflow"),
            word(self.drop_enqueue, "drop_enqueue", "drop_dequeue"),
            self.wc,
            word(self.any_ect, "any_ect", "l4s_ect"),
            word(self.split_gso, "split_gso", "no_split_gso"),
        ));
        if let Some(shift) = self.t_shift {
            add(format_args!(" rfc_t_shift {}", show::time(shift)));
        }
        if let Some(ramp) = self.ramp {
            add(format_args!(" rfc_ramp {}", show::time(ramp)));
        }
        text
    }
}
