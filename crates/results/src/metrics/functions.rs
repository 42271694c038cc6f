//! Every metric, each one entry: its name, the label of its axis, its parameters, its unit, its meaning with the source,
//! and the function that computes it. Parser, evaluation, reference pages and figures read [`FUNCTIONS`].

use super::asked::{self, Aggregate, Asked};
use super::fault::Fault;
use super::rates::RateOf;
use super::signals::Kind;
use super::{Unit, counts, oscillation, playback, rates, signals};
use crate::estimators::{harm_less_is_better, harm_more_is_better};
use core::fmt;
use sojourn_model::Renamed;

/// What a metric may be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// A quantity, or `state.NAME`.
    Quantity,
    /// `delivery_rate` or `goodput`.
    Rate,
    /// A flow or a group.
    Flow,
    /// A queue.
    Queue,
    /// A queue, or another element that marks or drops: a tunnel's end, a policer.
    Element,
    /// A flow or a queue, whichever the quantity is of.
    Subject,
    /// A value in the quantity's unit.
    Level,
    /// A percentage, 0 to 100.
    Percent,
    /// Any number of flows or groups; all that carry data if there is none.
    Flows,
    /// The reason of a mark or drop; all if it is left out.
    Reason,
    /// A value: an expression of its own, with a window of its own if it says one.
    Value,
}

/// The unit of a metric's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Always this.
    Unit(Unit),
    /// That of the quantity.
    Quantity,
}

/// Where a metric looks by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// In the default window, or in the one that is given.
    Window,
    /// In the whole run by its nature.
    Run,
    /// Where the values that it is given do.
    Values,
}

impl Looks {
    /// As the reference says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Window => "the window",
            Self::Run => "the whole run",
            Self::Values => "as its values",
        }
    }
}

/// How people read a value, where its unit does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// In the usual multiple of its unit: milliseconds, Mbit/s.
    Usual,
    /// In per cent.
    Percent,
    /// In seconds, because it is no delay of a packet.
    Seconds,
    /// As a plain number, because it counts other things than packets.
    Things,
}

impl Read {
    /// The word in listings.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Percent => "percent",
            Self::Seconds => "seconds",
            Self::Things => "things",
        }
    }
}

/// How a value is computed.
#[derive(Clone, Copy)]
pub(super) enum Compute {
    /// From the tables of a run; `None` where nothing was measured.
    Run(fn(&Asked<'_>) -> Result<Option<f64>, Fault>),
    /// From two values: the function, and which of them must not be zero.
    Values(fn(f64, f64) -> f64, &'static str),
}

/// A metric that expressions can name.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Its name on an axis; `{q}` stands for the quantity, `{n}` for the percentage, `{level}` for the level.
    pub label: &'static str,
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
    /// The unit of its value.
    pub gives: Gives,
    /// Its meaning: formula and source.
    pub doc: &'static str,
    /// Where it looks.
    pub looks: Looks,
    /// How people read it.
    pub read: Read,
    /// Whether 1 is all that it can be, so that an axis ends there.
    pub up_to_all: bool,
    /// Whether it takes distributions of every packet, too.
    pub of_distributions: bool,
    /// Whether it differs between the means of sample intervals and single values; a mean does not.
    pub of_single_values: bool,
    pub(super) compute: Compute,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn metric(
    name: &'static str,
    label: &'static str,
    parameters: &'static [Parameter],
    gives: Gives,
    doc: &'static str,
    compute: fn(&Asked<'_>) -> Result<Option<f64>, Fault>,
) -> Function {
    Function {
        name,
        label,
        parameters,
        gives,
        doc,
        looks: Looks::Window,
        read: Read::Usual,
        up_to_all: false,
        of_distributions: false,
        of_single_values: false,
        compute: Compute::Run(compute),
    }
}

const fn of_values(
    name: &'static str,
    label: &'static str,
    doc: &'static str,
    of: fn(f64, f64) -> f64,
    whole: &'static str,
) -> Function {
    let compute = Compute::Values(of, whole);
    let of = metric(name, label, &[Value, Value], ONE, doc, |_| Ok(None));
    Function { looks: Looks::Values, compute, ..of }
}

impl Function {
    const fn of_the_run(self) -> Self {
        Self { looks: Looks::Run, ..self }
    }

    const fn in_percent(self) -> Self {
        Self { read: Read::Percent, ..self }
    }

    const fn in_seconds(self) -> Self {
        Self { read: Read::Seconds, ..self }
    }

    const fn of_things(self) -> Self {
        Self { read: Read::Things, ..self }
    }

    const fn up_to_all(self) -> Self {
        Self { up_to_all: true, ..self }
    }

    const fn of_distributions(self) -> Self {
        Self { of_distributions: true, ..self }
    }

    const fn of_single_values(self) -> Self {
        Self { of_single_values: true, ..self }
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|f| f.name == name)
    }
}

use Parameter::{
    Element, Flow as F, Flows, Level, Percent, Quantity as Q, Queue, Rate, Reason, Subject, Value,
};
const ONE: Gives = Gives::Unit(Unit::One);
const SECONDS: Gives = Gives::Unit(Unit::Seconds);
const RATE: Gives = Gives::Unit(Unit::BitsPerSecond);
const PACKETS: Gives = Gives::Unit(Unit::Packets);

/// What earlier versions called metrics.
pub(super) const RENAMED: &[Renamed] =
    &[("least_second", "min_1s"), ("largest_second", "max_1s"), ("range_in_a_second", "spread_1s")];

/// Every metric. `p50`, `p99`, `p99.9` … stand for `percentile` with that number.
pub const FUNCTIONS: &[Function] = &[
    metric(
        "delivery_rate",
        "delivery rate",
        &[F],
        RATE,
        "Mean of the kernel's delivery-rate samples that are not zero, in the window: D_SS of the published \
         tables (docs/sources/testbeds.md). Of a group: the sum over its flows.",
        |a| Ok(a.total(RateOf::DeliveryRate, &a.flows(0)?)),
    ),
    metric(
        "goodput",
        "goodput",
        &[F],
        RATE,
        "Payload that arrived in the window, each byte once, over the window's length: bytes in order, and \
         bytes waiting out of order when the window ends less those waiting when it began. So it is never more than \
         the links can carry; where the engine does not know those (QUIC; Linux), payload counts when it is \
         in order. Of a group: the sum over its flows.",
        |a| Ok(a.total(RateOf::Goodput, &a.flows(0)?)),
    ),
    metric(
        "sum",
        "total {q}",
        &[Rate, Flows],
        RATE,
        "Σ of the flows' rates.",
        |a| Ok(a.total(a.rate(), &a.flows_from(0)?)),
    ),
    metric(
        "ratio",
        "ratio of {q}",
        &[Rate, F, F],
        ONE,
        "The first's rate over the second's.",
        asked::ratio,
    ),
    metric(
        "share",
        "share of {q}",
        &[Rate, F, Flows],
        ONE,
        "The first's rate over the sum of the rates of the flows that follow, itself included; of all flows if \
         none follows.",
        asked::share,
    )
    .up_to_all(),
    metric(
        "jain",
        "Jain's index of {q}",
        &[Rate, Flows],
        ONE,
        "Jain's index of the flows' rates, (Σx)² / (n·Σx²) (Jain, Chiu, Hawe 1984).",
        |a| Ok(rates::jain(a.frame, a.rate(), &a.flows_from(0)?, a.window)),
    )
    .up_to_all(),
    metric(
        "mean",
        "mean {q}",
        &[Q, Subject],
        Gives::Quantity,
        "Mean of the quantity's values in the window; of queue_delay weighted by packets.",
        |a| a.aggregate(Aggregate::Mean),
    )
    .of_distributions(),
    metric(
        "min",
        "least {q}",
        &[Q, Subject],
        Gives::Quantity,
        "Least value in the window.",
        |a| a.aggregate(Aggregate::Min),
    )
    .of_distributions()
    .of_single_values(),
    metric(
        "max",
        "largest {q}",
        &[Q, Subject],
        Gives::Quantity,
        "Largest value in the window.",
        |a| a.aggregate(Aggregate::Max),
    )
    .of_distributions()
    .of_single_values(),
    metric(
        "median",
        "median {q}",
        &[Q, Subject],
        Gives::Quantity,
        "percentile(…, 50).",
        |a| a.aggregate(Aggregate::Quantile(0.5)),
    )
    .of_distributions()
    .of_single_values(),
    metric(
        "sd",
        "standard deviation of {q}",
        &[Q, Subject],
        Gives::Quantity,
        "Standard deviation of the values in the window, with n − 1.",
        |a| a.aggregate(Aggregate::StandardDeviation),
    )
    .of_single_values(),
    metric(
        "geomean",
        "geometric mean {q}",
        &[Q, Subject],
        Gives::Quantity,
        "Geometric mean of the values in the window (completion times, docs/sources/applications.md).",
        |a| a.aggregate(Aggregate::GeometricMean),
    )
    .of_single_values(),
    metric(
        "percentile",
        "{n} percentile of {q}",
        &[Q, Subject, Percent],
        Gives::Quantity,
        "Percentile of the values in the window, interpolated between the two nearest; of queue_delay of the \
         sample intervals' means, each weighted by its packets, nearest rank: the same of every packet is \
         sojourn's; of completion_time the value of rank ⌈p·n⌉; of a quantity of every packet (sojourn, pdv, \
         packet_…) within the bucket of a histogram, at most 1 % wide.",
        |a| a.aggregate(Aggregate::Quantile(a.number() / 100.0)),
    )
    .of_distributions()
    .of_single_values(),
    metric(
        "utilisation",
        "utilisation",
        &[Queue],
        ONE,
        "Bytes that left the queue in the window's whole sample intervals, Ethernet header included, over what \
         its rate could have carried in them, rate changes counted. Of a packet that was on the line when they \
         began, no more is counted than fits.",
        |a| Ok(signals::utilisation(a.frame, a.name(), a.window)),
    )
    .in_percent(),
    metric(
        "mark_fraction",
        "marked",
        &[Queue],
        ONE,
        "Packets marked over packets that left, in the window.",
        |a| Ok(signals::mark_fraction(a.frame, a.name(), a.window)),
    )
    .in_percent()
    .up_to_all(),
    metric(
        "marks",
        "marks",
        &[Element, Reason],
        PACKETS,
        "Packets marked in the window, for a reason or for all.",
        |a| Ok(signals::signals(a.frame, a.name(), Kind::Mark, a.reason(), a.window)),
    ),
    metric(
        "drops",
        "drops",
        &[Element, Reason],
        PACKETS,
        "Packets dropped in the window, for a reason or for all: by a queue, or by another element, such as a \
         tunnel's end (`bottleneck.down.ipsec-exit`) for `replay`.",
        |a| Ok(signals::signals(a.frame, a.name(), Kind::Drop, a.reason(), a.window)),
    ),
    metric(
        "departures",
        "packets that left",
        &[Queue],
        PACKETS,
        "Packets that left the queue in the window.",
        |a| Ok(signals::departures(a.frame, a.name(), a.window)),
    ),
    metric(
        "ce_fraction",
        "CE-marked",
        &[F],
        ONE,
        "Packets with CE that reached the receiver over segments delivered, in the window. Of a group: of all its \
         flows together.",
        |a| Ok(counts::ce_fraction(a.frame, &a.flows(0)?, a.window)),
    )
    .in_percent()
    .up_to_all(),
    metric(
        "retransmits",
        "retransmissions",
        &[F],
        PACKETS,
        "Segments sent again in the window. Of a group: the sum.",
        |a| Ok(counts::retransmits(a.frame, &a.flows(0)?, a.window)),
    ),
    metric(
        "loss_rate",
        "lost",
        &[F],
        ONE,
        "Segments held for lost over segments lost or delivered, in the window; of UDP by the numbers that the \
         receiver misses; of a probe or voice call packets lost over all that came or were lost. Of a group, \
         which has neither of these: of all its flows together.",
        |a| Ok(counts::loss_rate(a.frame, &a.flows(0)?, a.window)),
    )
    .in_percent(),
    metric(
        "rwnd_limited",
        "limited by the receive window",
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its receive window (tcp_info's \
         tcpi_rwnd_limited). Of a group, as of the limits below: the mean over its flows.",
        |a| a.limited("rwnd_limited_s"),
    )
    .in_percent(),
    metric(
        "sndbuf_limited",
        "limited by the send buffer",
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its send buffer (tcpi_sndbuf_limited).",
        |a| a.limited("sndbuf_limited_s"),
    )
    .in_percent(),
    metric(
        "cwnd_limited",
        "limited by the congestion window",
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its congestion window; not known on Linux.",
        |a| a.limited("cwnd_limited_s"),
    )
    .in_percent(),
    metric(
        "pacing_limited",
        "limited by pacing",
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its pacing rate; not known on Linux.",
        |a| a.limited("pacing_limited_s"),
    )
    .in_percent(),
    metric(
        "app_limited",
        "limited by the application",
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its application, which had written no \
         more; not known on Linux.",
        |a| a.limited("app_limited_s"),
    )
    .in_percent(),
    metric(
        "host_limited",
        "limited by the host's queue",
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by the small queue of its host (TSQ); not \
         known on Linux.",
        |a| a.limited("host_limited_s"),
    )
    .in_percent(),
    metric(
        "time_above",
        "time with {q} above {level}",
        &[Q, Subject, Level],
        SECONDS,
        "Time in the window during which the quantity is above the level, each value standing from the one before \
         it.",
        |a| a.standing(|own, level| own.total(|x| x > level)),
    )
    .in_seconds(),
    metric(
        "longest_above",
        "longest time with {q} above {level}",
        &[Q, Subject, Level],
        SECONDS,
        "The longest such time without a break: the length of a spike.",
        |a| a.standing(|own, level| own.longest(|x| x > level)),
    )
    .in_seconds(),
    metric(
        "longest_below",
        "longest time with {q} below {level}",
        &[Q, Subject, Level],
        SECONDS,
        "The longest time in the window without a break during which the quantity is below the level: the length \
         of a dead time.",
        |a| a.standing(|own, level| own.longest(|x| x < level)),
    )
    .in_seconds(),
    metric(
        "spike",
        "{q} above {level}",
        &[Q, Subject, Level],
        Gives::Quantity,
        "The largest value in the window less the level: the height of a spike above it; 0 if it never gets \
         there.",
        |a| a.standing(|own, level| (own.highest() - level).max(0.0)),
    ),
    metric(
        "convergence_time",
        "convergence time",
        &[Rate, Flows],
        SECONDS,
        "From the start of the last of the flows until Jain's index of their rates, averaged over 1 s, first \
         reaches 0.95 and stays there for 5 s.",
        |a| Ok(rates::convergence_time(a.frame, a.rate(), &a.flows_from(0)?)),
    )
    .of_the_run()
    .in_seconds(),
    metric(
        "completed",
        "flows completed",
        &[F],
        PACKETS,
        "Short flows that started in the window and were completed.",
        |a| Ok(Some(a.short_flows()?.0 as f64)),
    )
    .of_things(),
    metric(
        "unfinished",
        "flows unfinished",
        &[F],
        PACKETS,
        "Short flows that started in the window and were not completed when the run ended.",
        |a| Ok(Some(a.short_flows()?.1 as f64)),
    )
    .of_things(),
    metric(
        "first_above",
        "time until {q} is above {level}",
        &[Q, Subject, Level],
        SECONDS,
        "From the window's beginning until the quantity is first above the level; none if it never is.",
        |a| a.over_time(|own, within| oscillation::first(own, within, |x| x > a.number())),
    )
    .in_seconds(),
    metric(
        "first_below",
        "time until {q} is below {level}",
        &[Q, Subject, Level],
        SECONDS,
        "From the window's beginning until the quantity is first below the level; none if it never is.",
        |a| a.over_time(|own, within| oscillation::first(own, within, |x| x < a.number())),
    )
    .in_seconds(),
    metric(
        "oscillation",
        "coefficient of variation of {q}",
        &[Q, Subject],
        ONE,
        "Coefficient of variation in the window, standard deviation over mean, of the means over each second (RFC \
         5166 §2.4).",
        |a| a.by_second(|own| oscillation::variation(&own)),
    ),
    metric(
        "min_1s",
        "least {q} of a second",
        &[Q, Subject],
        Gives::Quantity,
        "The least of the means over each second of the window.",
        |a| a.by_second(|own| own.into_iter().reduce(f64::min)),
    ),
    metric(
        "max_1s",
        "largest {q} of a second",
        &[Q, Subject],
        Gives::Quantity,
        "The largest of the means over each second of the window.",
        |a| a.by_second(|own| own.into_iter().reduce(f64::max)),
    ),
    metric(
        "spread_1s",
        "range of {q} within a second",
        &[Q, Subject],
        Gives::Quantity,
        "Largest less least value of each second, averaged over the seconds of the window: the width of the band \
         around a plot by seconds.",
        |a| a.over_time(oscillation::spread_1s),
    ),
    metric(
        "period",
        "period of {q}",
        &[Q, Subject],
        SECONDS,
        "Period of the quantity's ups and downs: of the means over each second the lag of the autocorrelation's \
         highest peak behind its first fall below zero, up to two thirds of the window; none below a correlation \
         of 0.3.",
        |a| a.by_second(|own| oscillation::period(&own)),
    )
    .in_seconds(),
    metric(
        "bitrate",
        "bitrate",
        &[F],
        RATE,
        "Mean level of an adaptive stream, by the time that each was played in the window \
         (docs/sources/applications.md).",
        |a| a.stream(playback::bitrate),
    ),
    metric(
        "stalls",
        "stalls",
        &[F],
        PACKETS,
        "How often an adaptive stream's playing stalled in the window.",
        |a| a.stream(playback::stalls),
    )
    .of_things(),
    metric(
        "stall_time",
        "time stalled",
        &[F],
        SECONDS,
        "Time in the window during which an adaptive stream was stalled.",
        |a| a.stream(playback::stall_time),
    )
    .in_seconds(),
    metric(
        "switches",
        "bitrate switches",
        &[F],
        PACKETS,
        "How often the level that an adaptive stream plays changed in the window.",
        |a| a.stream(playback::switches),
    )
    .of_things(),
    metric(
        "startup_delay",
        "startup delay",
        &[F],
        SECONDS,
        "From an adaptive stream's start until it first plays.",
        |a| a.stream(|frame, flow, _| playback::startup_delay(frame, flow)),
    )
    .of_the_run()
    .in_seconds(),
    of_values(
        "harm_less_is_better",
        "harm",
        "Harm (Ware et al., HotNets 2019) to a quantity that should be small, such as completion times, delay, \
         stalls: (w − s)/w, the first value s alone, the second w next to the rival; 0 if nothing got worse.",
        harm_less_is_better,
        "next to the rival",
    )
    .up_to_all(),
    of_values(
        "harm_more_is_better",
        "harm",
        "The same of a quantity that should be large, such as goodput or bitrate: (s − w)/s.",
        harm_more_is_better,
        "alone",
    )
    .up_to_all(),
];
