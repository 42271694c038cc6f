//! The whole of a run, and the ways through it.

use super::at::At;
use super::element::{Element, Hop, Kind, Queue, Side};
use super::event::Event;
use super::flow::{Direction, Flow};
use super::measure::{Check, Phase, Window};
use super::trace::DeliveryTrace;
use serde::{Deserialize, Serialize};
use sojourn_units::{Span, Time};

/// The name of the stack of hosts that are this machine's own kernel. Queues behind them behave by the default stack.
pub const HOST_STACK: &str = "host";

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// The experiment's name: letters, digits, `-`, `_`, `.` and `/`.
    pub experiment: String,
    /// Where the experiment comes from, as its author states it; may be empty.
    pub source: String,
    /// Which combination of the axes this is: (axis, label), in the order of the file.
    pub cell: Vec<(String, String)>,
    /// The seed of every random stream of the run.
    pub seed: u64,
    /// What time 0 is.
    pub origin: Origin,
    /// How long is simulated after the origin.
    pub duration: Span,
    /// How long is simulated before the origin.
    pub warmup: Span,
    /// The time between two rows of a flow or a queue in the tables over time.
    pub sample_interval: Span,
    /// The named table of switches that hosts and queues behave by unless they name their own; or [`HOST_STACK`].
    pub stack: String,
    /// The hops, in the order in which `down` traffic passes them.
    pub hops: Vec<Hop>,
    /// The flows, probes included.
    pub flows: Vec<Flow>,
    /// What changes during the run.
    pub events: Vec<Event>,
    /// Named intervals of the run.
    pub phases: Vec<Phase>,
    /// Named measuring windows.
    pub windows: Vec<Window>,
    /// What must hold of the results.
    pub checks: Vec<Check>,
    /// The times at which links with the rate of a trace can send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<DeliveryTrace>,
    /// The words of the links that shapers name by number: `slotted every 5ms open 1ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The plugins that provide words for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<Plugin>,
}

/// A file with disciplines or controls of somebody's own: a shared library, or a Python file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Plugin {
    /// Where its file is, from the root.
    pub path: String,
    /// SHA-256 of the file, in hexadecimal digits: what tells one build from another.
    pub digest: String,
    /// What words call it by, if it is a Python file: `mine.py` in `python:mine.py:Mine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Plugin {
    /// Which build it is, in words that belong to a run's identity: `plugin libmine.so DIGEST`.
    pub fn identity(&self) -> String {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        let kind = if self.name.is_some() { "python" } else { "plugin" };
        format!("{kind} {file} {}", self.digest)
    }
}

/// What time 0 of a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The nominal start of the first flow.
    FirstFlow,
    /// Flent's `T0`: the first data point, normally the first ping's reply; flows start 5 s later.
    Flent,
    /// Where the experiment says, by an explicit warmup.
    Explicit,
}

impl Scenario {
    /// The length of the whole run: warmup and duration.
    pub fn length(&self) -> Span {
        self.warmup + self.duration
    }

    /// The point of the run's own clock (0 at the beginning of the warmup) that `at` is; the clock's zero for
    /// points before it.
    pub fn clock(&self, at: At) -> Time {
        let nanos = i128::from(self.warmup.as_nanos()) + i128::from(at.as_nanos());
        Time::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// The seconds from the origin of a point of the run's own clock: what result tables hold.
    pub fn seconds(&self, time: Time) -> f64 {
        (i128::from(time.as_nanos()) - i128::from(self.warmup.as_nanos())) as f64 / 1e9
    }

    /// The flow of this name.
    pub fn flow(&self, name: &str) -> Option<&Flow> {
        self.flows.iter().find(|f| f.name == name)
    }

    /// The hop of this name.
    pub fn hop(&self, name: &str) -> Option<&Hop> {
        self.hops.iter().find(|h| h.name == name)
    }

    /// The element at `hop.side.element`, as events and statistics name it.
    pub fn element(&self, path: &str) -> Option<&Element> {
        let (hop, rest) = path.split_once('.')?;
        let (side, element) = rest.split_once('.')?;
        let side = Side::from_name(side)?;
        self.hop(hop)?.side(side).iter().find(|e| e.name == element)
    }

    /// Every element with its path, in path order: `bottleneck.down.qdisc`, `bottleneck.up.netem`.
    pub fn elements(&self) -> impl Iterator<Item = (String, &Element)> {
        self.hops.iter().flat_map(Hop::elements)
    }

    /// The path of every element that holds a queue with recorded statistics ([`Kind::holds_a_queue`]), in path order.
    pub fn queues(&self) -> impl Iterator<Item = String> {
        self.elements().filter(|(_, e)| e.kind.holds_a_queue()).map(|(path, _)| path)
    }

    /// Whether this is the path of an element that holds a queue.
    pub fn is_queue(&self, path: &str) -> bool {
        self.element(path).is_some_and(|e| e.kind.holds_a_queue())
    }

    /// The queues that have a shaper and a discipline of tc's, with their paths, in path order: those of radios are the
    /// device's own.
    pub fn disciplines(&self) -> impl Iterator<Item = (String, &Queue)> {
        self.elements().filter_map(|(path, e)| match &e.kind {
            Kind::Queue(queue) => Some((path, queue)),
            _ => None,
        })
    }

    /// The elements that a flow's data passes, in order: (hop's name, side, element).
    pub fn data_path<'a>(
        &'a self,
        flow: &'a Flow,
    ) -> Box<dyn Iterator<Item = (&'a str, Side, &'a Element)> + 'a> {
        match flow.direction {
            Direction::Down => Box::new(self.through(flow.hops.iter(), Side::Down)),
            Direction::Up => Box::new(self.through(flow.hops.iter().rev(), Side::Up)),
        }
    }

    /// The device of the host that sends a flow's data, where packets may wait in it: the queue or radio that they meet
    /// first, if its hop says that it is one ([`Hop::host_nic`]). Its path.
    pub fn device_of(&self, flow: &Flow) -> Option<String> {
        let holds = |kind: &Kind| kind.holds_a_queue() || matches!(kind, Kind::Netem(_));
        let (hop, side, first) = self.data_path(flow).find(|place| holds(&place.2.kind))?;
        let own = self.hop(hop).is_some_and(|h| h.host_nic) && first.kind.holds_a_queue();
        own.then(|| format!("{hop}.{side}.{}", first.name))
    }

    /// The elements that a flow's acknowledgements pass, in order.
    pub fn ack_path<'a>(
        &'a self,
        flow: &'a Flow,
    ) -> Box<dyn Iterator<Item = (&'a str, Side, &'a Element)> + 'a> {
        match flow.direction {
            Direction::Down => Box::new(self.through(flow.hops.iter().rev(), Side::Up)),
            Direction::Up => Box::new(self.through(flow.hops.iter(), Side::Down)),
        }
    }

    fn through<'a>(
        &'a self,
        hops: impl Iterator<Item = &'a usize> + 'a,
        side: Side,
    ) -> impl Iterator<Item = (&'a str, Side, &'a Element)> + 'a {
        hops.flat_map(move |&h| {
            let hop = &self.hops[h];
            hop.side(side).iter().map(move |e| (hop.name.as_str(), side, e))
        })
    }

    /// The run's name, unique in an experiment: `name[label,label]#seed`.
    pub fn id(&self) -> String {
        self.label(self.seed)
    }

    /// The name of the run of the same cell with this seed.
    pub fn label(&self, seed: u64) -> String {
        let labels: Vec<&str> = self.cell.iter().map(|(_, label)| label.as_str()).collect();
        if labels.is_empty() {
            format!("{}#{seed}", self.experiment)
        } else {
            format!("{}[{}]#{seed}", self.experiment, labels.join(","))
        }
    }
}
