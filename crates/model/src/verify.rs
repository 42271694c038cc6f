//! Whether a scenario that was read back from a file holds together.

use super::element::{Kind, Queue, Selector, Shaper, Side};
use super::event::{Action, Gauge, Reference, When};
use super::flow::{Direction, Flow, Pulse, Traffic};
use super::limits::{self, Counts, Times};
use super::scenario::Scenario;
use super::standing::Impossible;
use sojourn_units::{Rate, Span};
use std::collections::BTreeSet;

/// What does not hold together in a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Inconsistent {
    /// Two things of one kind have one name.
    #[error("two {what}s are called \"{name}\"")]
    Duplicate {
        /// What kind of thing.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that refers to nothing.
    #[error("{by} refers to the {what} \"{name}\", which does not exist")]
    Unknown {
        /// What refers.
        by: String,
        /// To what kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing to run.
    #[error("the run has no {0}")]
    Missing(&'static str),
    /// A rate at which nothing would ever leave.
    #[error("{0} has a rate of less than a byte a second; write 8bit or more")]
    NoRate(String),
    /// An event that cannot do what it says when it comes.
    #[error("event {event}: {why}; {help}")]
    Change {
        /// Which.
        event: String,
        /// Why not.
        why: String,
        /// What would be right.
        help: String,
    },
    /// A number that is outside its range.
    #[error("{what} is {value}; it must be from {least} to {most}")]
    Range {
        /// Of what.
        what: String,
        /// What it is.
        value: String,
        /// The smallest that it may be.
        least: String,
        /// The largest.
        most: String,
    },
    /// A list that must not be empty.
    #[error("{0} is empty; it needs one entry or more")]
    Empty(String),
    /// A name or words with a character that ends a line or steers a terminal.
    #[error(
        "{what} has the control character U+{:04X}; words are letters, digits and signs between spaces",
        u32::from(*character)
    )]
    Control {
        /// The owner of the words.
        what: String,
        /// Which.
        character: char,
    },
    /// More than a run's tables hold.
    #[error(
        "{what} would be {rows} rows, and a run's tables hold {} together; {help}",
        limits::ROWS
    )]
    Rows {
        /// Which table.
        what: String,
        /// How many rows it would have.
        rows: u128,
        /// What to change.
        help: String,
    },
}

/// That words have no control character, a line's end among them.
fn plain(what: impl FnOnce() -> String, words: &str) -> Result<(), Inconsistent> {
    match words.chars().find(|c| c.is_control()) {
        None => Ok(()),
        Some(character) => Err(Inconsistent::Control { what: what(), character }),
    }
}

fn time_in(what: impl FnOnce() -> String, span: Span, range: Times) -> Result<(), Inconsistent> {
    if range.holds(span) {
        return Ok(());
    }
    Err(Inconsistent::Range {
        what: what(),
        value: span.to_string(),
        least: range.least.to_owned(),
        most: range.most.to_owned(),
    })
}

fn count_in(
    what: impl FnOnce() -> String,
    count: impl Into<u64>,
    range: Counts,
) -> Result<(), Inconsistent> {
    let count = count.into();
    if range.holds(count) {
        return Ok(());
    }
    Err(Inconsistent::Range {
        what: what(),
        value: count.to_string(),
        least: range.least.to_string(),
        most: range.most.to_string(),
    })
}

fn unique<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<BTreeSet<&'a str>, Inconsistent> {
    let mut seen = BTreeSet::new();
    for name in names {
        plain(|| format!("the name of a {what}"), name)?;
        if !seen.insert(name) {
            return Err(Inconsistent::Duplicate { what, name: name.to_owned() });
        }
    }
    Ok(seen)
}

impl Scenario {
    /// Verifies the invariants that the module states.
    pub fn check(&self) -> Result<(), Inconsistent> {
        let hops = unique("hop", self.hops.iter().map(|h| h.name.as_str()))?;
        let flows = unique("flow", self.flows.iter().map(|f| f.name.as_str()))?;
        let events = unique("event", self.events.iter().map(|e| e.name.as_str()))?;
        let phases = unique("phase", self.phases.iter().map(|p| p.name.as_str()))?;
        unique("window", self.windows.iter().map(|w| w.name.as_str()))?;
        if hops.is_empty() {
            return Err(Inconsistent::Missing("hop"));
        }
        if flows.is_empty() {
            return Err(Inconsistent::Missing("flow"));
        }
        time_in(|| "the run's duration".to_owned(), self.duration, limits::LENGTH)?;
        time_in(|| "the run's warmup".to_owned(), self.warmup, limits::WARMUP)?;
        // A program may sample more often than a file; the estimate of rows includes that.
        let whole = Times { least: "1ns", ..limits::SAMPLE_INTERVAL };
        time_in(|| "the run's sample_interval".to_owned(), self.sample_interval, whole)?;
        for (what, words) in self.words() {
            plain(|| what, words)?;
        }
        for flow in &self.flows {
            traffic(flow, &flow.traffic)?;
        }
        self.rows()?;

        let unknown = |by: &str, what, name: &str| {
            Err(Inconsistent::Unknown { by: by.to_owned(), what, name: name.to_owned() })
        };
        let known_flow = |by: &str, name: &str| {
            if flows.contains(name) { Ok(()) } else { unknown(by, "flow", name) }
        };
        for hop in &self.hops {
            for side in [Side::Down, Side::Up] {
                let elements = hop.side(side);
                unique("element", elements.iter().map(|e| e.name.as_str()))?;
                for element in elements {
                    let by = format!("{}.{side}.{}", hop.name, element.name);
                    match &element.kind {
                        Kind::Queue(Queue { shaper, .. }) if shaped_to_nothing(shaper) => {
                            return Err(Inconsistent::NoRate(by));
                        }
                        Kind::Queue(Queue { shaper: Shaper::Trace { trace, .. }, .. })
                            if self.traces.get(*trace as usize).is_none() =>
                        {
                            let name = format!("number {trace}");
                            return Err(Inconsistent::Unknown { by, what: "trace", name });
                        }
                        Kind::Queue(Queue { shaper: Shaper::Link { link, .. }, .. })
                            if self.links.get(*link as usize).is_none() =>
                        {
                            let name = format!("number {link}");
                            return Err(Inconsistent::Unknown { by, what: "link", name });
                        }
                        Kind::Queue(Queue {
                            shaper: Shaper::Htb { burst: Some(bytes), .. },
                            ..
                        }) => {
                            count_in(|| format!("the burst of {by}"), *bytes, limits::BUCKET)?;
                        }
                        Kind::Policer(policer) if too_slow(policer.rate) => {
                            return Err(Inconsistent::NoRate(by));
                        }
                        Kind::Policer(policer) => {
                            count_in(
                                || format!("the burst of {by}"),
                                policer.burst,
                                limits::BUCKET,
                            )?;
                        }
                        Kind::AggregatingLink(link)
                            if link.rates.iter().chain([&link.line]).any(|&r| too_slow(r)) =>
                        {
                            return Err(Inconsistent::NoRate(by));
                        }
                        Kind::Wifi(wifi)
                            if wifi.rates.iter().chain([&wifi.line]).any(|&r| too_slow(r)) =>
                        {
                            return Err(Inconsistent::NoRate(by));
                        }
                        Kind::Netem(netem) => {
                            for own in &netem.per_flow {
                                known_flow(&by, &own.flow)?;
                            }
                        }
                        Kind::Rewrite(super::Rewrite {
                            select: Selector::Flows(names), ..
                        })
                        | Kind::Encapsulate(super::Tunnel {
                            select: Selector::Flows(names), ..
                        })
                        | Kind::Middlebox(super::Middlebox {
                            select: Selector::Flows(names),
                            ..
                        }) => {
                            for name in names {
                                known_flow(&by, name)?;
                            }
                        }
                        Kind::Decapsulate { tunnel } => {
                            let entered = self.hops.iter().flat_map(|h| h.side(side)).any(|e| {
                                e.name == *tunnel && matches!(e.kind, Kind::Encapsulate(_))
                            });
                            if !entered {
                                return unknown(&by, "tunnel", tunnel);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        for flow in &self.flows {
            if let Traffic::Udp(udp) = &flow.traffic
                && too_slow(udp.rate)
            {
                return Err(Inconsistent::NoRate(format!("flow {}", flow.name)));
            }
            if flow.hops.iter().any(|&h| h >= self.hops.len()) {
                return unknown(&flow.name, "hop", "");
            }
            if flow.hops.is_empty() {
                return Err(Inconsistent::Missing(match flow.direction {
                    Direction::Down | Direction::Up => "hop on a flow's path",
                }));
            }
        }
        let known_time = |by: &str, when: &When| match when {
            When::At(_) => Ok(()),
            When::After { reference, .. } => match reference {
                Reference::Event(name) if !events.contains(name.as_str()) => {
                    unknown(by, "event", name)
                }
                Reference::Flow(name) => known_flow(by, name),
                Reference::Phase(name) if !phases.contains(name.as_str()) => {
                    unknown(by, "phase", name)
                }
                _ => Ok(()),
            },
            When::State { gauge: Gauge::Flow { flow, .. }, .. } => known_flow(by, flow),
            When::State { gauge: Gauge::Queue { queue, .. }, .. } => {
                if self.is_queue(queue) {
                    Ok(())
                } else {
                    unknown(by, "queue", queue)
                }
            }
        };
        for event in &self.events {
            known_time(&event.name, &event.when)?;
            for action in &event.actions {
                if let Some(path) = action.element()
                    && self.element(path).is_none()
                {
                    return unknown(&event.name, "element", path);
                }
                if let Action::ReplaceQdisc { shaper: Some(Shaper::Trace { trace, .. }), .. } =
                    action
                    && self.traces.get(*trace as usize).is_none()
                {
                    return unknown(&event.name, "trace", &format!("number {trace}"));
                }
                if let Action::ReplaceQdisc { shaper: Some(Shaper::Link { link, .. }), .. } = action
                    && self.links.get(*link as usize).is_none()
                {
                    return unknown(&event.name, "link", &format!("number {link}"));
                }
                let stands = match action {
                    Action::Rate { rate, .. } => too_slow(*rate),
                    Action::ReplaceQdisc { shaper: Some(shaper), .. } => shaped_to_nothing(shaper),
                    _ => false,
                };
                if stands {
                    let element = action.element().unwrap_or_default();
                    return Err(Inconsistent::NoRate(format!("event {}: {element}", event.name)));
                }
                if let Some(flow) = action.flow() {
                    known_flow(&event.name, flow)?;
                }
            }
        }
        for phase in &self.phases {
            known_time(&phase.name, &phase.from)?;
            known_time(&phase.name, &phase.to)?;
        }
        match self.change_of_another() {
            Some(Impossible { event, why, help, .. }) => {
                Err(Inconsistent::Change { event, why, help })
            }
            None => Ok(()),
        }
    }

    /// Every word that an engine hands to somebody else, such as `tc` and the kernel, each with its owner.
    fn words(&self) -> impl Iterator<Item = (String, &str)> {
        let stacks = std::iter::once(("the run's stack".to_owned(), self.stack.as_str()))
            .chain(self.hops.iter().map(|h| (format!("the stack of hop {}", h.name), &*h.stack)))
            .chain(self.flows.iter().flat_map(|f| {
                f.stacks().map(|stack| (format!("the stack of flow {}", f.name), stack))
            }));
        let elements = self.elements().flat_map(|(path, element)| match &element.kind {
            Kind::Queue(queue) => {
                let link = match queue.shaper {
                    Shaper::Link { link, .. } => self.links.get(link as usize),
                    _ => None,
                };
                let link = link.map(|words| (path.clone(), words.as_str()));
                std::iter::once((path, queue.qdisc.as_str())).chain(link).collect()
            }
            Kind::Netem(netem) => netem.chain.iter().map(|w| (path.clone(), w.as_str())).collect(),
            _ => Vec::new(),
        });
        let tcp = self.flows.iter().filter_map(|f| Some((f, f.traffic.tcp()?)));
        let flows = tcp.flat_map(|(flow, tcp)| {
            let cc = (format!("the congestion control of flow {}", flow.name), tcp.cc.as_str());
            let host = tcp.host_qdisc.as_deref();
            let host = host.map(|w| (format!("the host_qdisc of flow {}", flow.name), w));
            std::iter::once(cc).chain(host)
        });
        let events = self.events.iter().flat_map(|event| {
            let words = event.actions.iter().flat_map(|action| match action {
                Action::ChangeQdisc { qdisc, .. } | Action::ReplaceQdisc { qdisc, .. } => {
                    vec![qdisc.as_str()]
                }
                Action::ChangeNetem { chain, .. } => chain.iter().map(String::as_str).collect(),
                _ => Vec::new(),
            });
            words.map(|w| (format!("event {}", event.name), w))
        });
        stacks.chain(elements).chain(flows).chain(events)
    }

    /// That the tables stay of a size that a machine can hold. Packets are not foreseen here: they depend on what the
    /// queues and the senders do.
    fn rows(&self) -> Result<(), Inconsistent> {
        let over = |interval: Span| {
            u128::from(self.length().as_nanos()) / u128::from(interval.as_nanos().max(1))
        };
        let samples = over(self.sample_interval);
        let queues = self.queues().count() as u128;
        let sampled = samples * (self.flows.len() as u128 + queues);
        let mut asked = vec![(
            format!("{} flows and {queues} queues at the sample interval", self.flows.len()),
            sampled,
            format!(
                "make sample_interval (now {}) longer, or the run shorter",
                self.sample_interval
            ),
        )];
        for flow in &self.flows {
            let interval = match &flow.traffic {
                Traffic::Ping(ping) => ping.interval,
                Traffic::Irtt(irtt) => irtt.interval,
                Traffic::Voip(voip) => voip.interval,
                Traffic::ShortFlows(short) => short.mean_interval,
                _ => continue,
            };
            let rows = match &flow.traffic {
                Traffic::ShortFlows(short) => {
                    over(interval).min(short.count.map_or(u128::MAX, u128::from))
                }
                _ => over(interval),
            };
            asked.push((
                format!("flow {}", flow.name),
                rows,
                format!("make its interval (now {interval}) longer, or the run shorter"),
            ));
        }
        let sum: u128 = asked.iter().map(|(_, rows, _)| rows).sum();
        if sum <= u128::from(limits::ROWS) {
            return Ok(());
        }
        let largest = asked.into_iter().max_by_key(|(_, rows, _)| *rows);
        largest.map_or(Ok(()), |(what, rows, help)| Err(Inconsistent::Rows { what, rows, help }))
    }
}

/// At such a rate nothing would ever leave.
fn too_slow(rate: Rate) -> bool {
    rate.bits_per_sec() < limits::LEAST_RATE
}

fn shaped_to_nothing(shaper: &Shaper) -> bool {
    match *shaper {
        Shaper::Htb { rate, ceil, .. } => too_slow(rate) || ceil.is_some_and(too_slow),
        Shaper::Line { rate } | Shaper::Trace { rate, .. } | Shaper::Link { rate, .. } => {
            too_slow(rate)
        }
        Shaper::Own { rate } => rate.is_some_and(too_slow),
    }
}

/// That a source's numbers are in the ranges that the language gives them.
fn traffic(flow: &Flow, of: &Traffic) -> Result<(), Inconsistent> {
    let what = |key: &'static str| move || format!("{key} of flow {}", flow.name);
    let granularity = |step: Option<Span>| {
        step.map_or(Ok(()), |step| {
            time_in(what("timer_granularity"), step, limits::TIMER_GRANULARITY)
        })
    };
    if let Some(tcp) = of.tcp()
        && [tcp.max_pacing_rate, tcp.app_rate].into_iter().flatten().any(too_slow)
    {
        return Err(Inconsistent::NoRate(format!("flow {}", flow.name)));
    }
    match of {
        Traffic::Udp(udp) => count_in(what("payload"), udp.payload, limits::PAYLOAD),
        Traffic::Ping(ping) => {
            time_in(what("interval"), ping.interval, limits::INTERVAL)?;
            count_in(what("size"), ping.size, limits::PING_SIZE)
        }
        Traffic::Irtt(irtt) => {
            time_in(what("interval"), irtt.interval, limits::INTERVAL)?;
            count_in(what("payload"), irtt.payload, limits::PAYLOAD)
        }
        Traffic::Voip(voip) => {
            time_in(what("interval"), voip.interval, limits::INTERVAL)?;
            count_in(what("payload"), voip.payload, limits::PAYLOAD)
        }
        Traffic::Video(video) => {
            if video.frame_sizes.is_empty() {
                return Err(Inconsistent::Empty(what("frame_sizes")()));
            }
            if video.frame_intervals.is_empty() {
                return Err(Inconsistent::Empty(what("frame_intervals")()));
            }
            for interval in &video.frame_intervals {
                time_in(what("frame_intervals"), *interval, limits::INTERVAL)?;
            }
            if video.audio_payload > 0 {
                time_in(what("audio_interval"), video.audio_interval, limits::INTERVAL)?;
            }
            if too_slow(video.burst_rate) {
                return Err(Inconsistent::NoRate(format!("flow {}", flow.name)));
            }
            count_in(what("packet_payload"), video.packet_payload, limits::PAYLOAD)
        }
        Traffic::ShortFlows(short) => {
            time_in(what("mean_interval"), short.mean_interval, limits::INTERVAL)?;
            short.count.map_or(Ok(()), |n| count_in(what("count"), n, limits::SHORT_FLOWS))
        }
        Traffic::Streaming(streaming) => {
            if streaming.ladder.is_empty() {
                return Err(Inconsistent::Empty(what("ladder")()));
            }
            time_in(what("segment"), streaming.segment, limits::LENGTH)
        }
        Traffic::OnOff(on_off) => {
            time_in(what("on"), on_off.on, limits::LENGTH)?;
            time_in(what("off"), on_off.off, limits::LENGTH)?;
            match &on_off.over {
                Pulse::Udp(udp) => count_in(what("payload"), udp.payload, limits::PAYLOAD),
                Pulse::Tcp(_) => Ok(()),
            }
        }
        Traffic::Program(program) => {
            if program.client.is_empty() {
                return Err(Inconsistent::Empty(what("client")()));
            }
            program.within.map_or(Ok(()), |span| time_in(what("within"), span, limits::LENGTH))?;
            time_in(what("cpu_limit"), program.cpu_limit, limits::CPU)
        }
        Traffic::App(app) if app.words.trim().is_empty() => Err(Inconsistent::Empty(what("app")())),
        Traffic::Tcp(_) | Traffic::App(_) => Ok(()),
        Traffic::Quic(quic) => {
            if quic.max_pacing_rate.is_some_and(too_slow) {
                return Err(Inconsistent::NoRate(format!("flow {}", flow.name)));
            }
            count_in(what("streams"), quic.streams, limits::QUIC_STREAMS)?;
            count_in(what("burst"), quic.burst, limits::QUIC_BURST)?;
            granularity(quic.timer_granularity)
        }
        Traffic::TcpStack(tcp) => {
            count_in(what("receive_window"), tcp.receive_window, limits::STACK_WINDOW)?;
            if let Some(delay) = tcp.ack_delay {
                time_in(what("ack_delay"), delay, limits::ACK_DELAY)?;
            }
            granularity(tcp.timer_granularity)
        }
    }
}
