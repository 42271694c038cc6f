//! What an engine says that it cannot do of a scenario. It belongs to the model because results keep it, too: what an engine
//! could not record of a run.
//!
//! Both halves are types: whoever looks for a thing or a place matches on it, and only people read the words.

use super::element::Side;
use super::kind::{By, ElementKind, RuleKind, TrafficKind, TunnelProtocol};
use core::fmt;
use std::borrow::Cow;

/// A part of scenarios that an engine may or may not have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// The engine of this name: nothing can run on it here.
    Engine(String),
    /// The stack of this name.
    Stack(String),
    /// The queue discipline of this name, by tc's.
    Qdisc(String),
    /// The congestion control of this name, by Linux's.
    CongestionControl(String),
    /// Options of a congestion control.
    ControlOptions,
    /// A kind of path element.
    Element(ElementKind),
    /// What a rewriter does.
    Rewrite(RuleKind),
    /// What a tunnel speaks.
    Tunnel(TunnelProtocol),
    /// A tunnel that is carried out by whom an experiment names.
    TunnelBy(By),
    /// A kind of traffic.
    Traffic(TrafficKind),
    /// Events that wait for a controller's own number.
    StateEvents,
    /// Events that wait for another event, a flow, a phase or the workload.
    RelativeEvents,
    /// Delays of a flow's own.
    PerFlowDelay,
    /// A queue on the sender's host.
    HostQdisc,
    /// Trains of segments sent and received as one.
    Offload,
    /// Packet captures.
    Capture,
    /// A queue or radio that is the NIC of the sending host.
    HostNic,
    /// Hops that are carried out by whom an experiment names.
    HopsBy(By),
    /// Hosts that are carried out by whom an experiment names.
    HostsBy(By),
    /// What only one engine draws a line at, in the words of its message: no engine is asked for it by name.
    Limit(Cow<'static, str>),
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Engine(name) => return write!(f, "engine {name}"),
            Self::Stack(name) => return write!(f, "stack {name}"),
            Self::Qdisc(name) => return write!(f, "qdisc {name}"),
            Self::CongestionControl(name) => return write!(f, "congestion control {name}"),
            Self::Rewrite(rule) => return write!(f, "rewrite {rule}"),
            Self::Tunnel(protocol) => return write!(f, "tunnel {protocol}"),
            Self::TunnelBy(by) => return write!(f, "a tunnel by {by}"),
            Self::Traffic(kind) => return write!(f, "traffic {kind}"),
            Self::HopsBy(by) => return write!(f, "a hop by {by}"),
            Self::HostsBy(by) => return write!(f, "hosts by {by}"),
            Self::Element(kind) => kind.name(),
            Self::StateEvents => "events by a controller's state",
            Self::RelativeEvents => "events by another event",
            Self::PerFlowDelay => "per-flow delay",
            Self::ControlOptions => "options of a congestion control",
            Self::HostQdisc => "host qdisc",
            Self::Offload => "segmentation offload",
            Self::Capture => "packet capture",
            Self::HostNic => "a hop that is the host's NIC",
            Self::Limit(words) => words,
        };
        f.write_str(words)
    }
}

/// Where in a scenario.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// What is stated for the whole experiment.
    Experiment,
    /// The hop of this name.
    Hop(String),
    /// One side of the hop of this name.
    Side(String, Side),
    /// The element of this path: `bottleneck.down.qdisc`.
    Element(String),
    /// The flow of this name.
    Flow(String),
    /// All flows together.
    Flows,
    /// The event of this name.
    Event(String),
    /// The phase of this name.
    Phase(String),
    /// A request outside the scenario.
    Command,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Experiment => f.write_str("experiment"),
            Self::Hop(name) => write!(f, "hop {name}"),
            Self::Side(hop, side) => write!(f, "{hop}.{side}"),
            Self::Element(path) => f.write_str(path),
            Self::Flow(name) => write!(f, "flow {name}"),
            Self::Flows => f.write_str("flows"),
            Self::Event(name) => write!(f, "event {name}"),
            Self::Phase(name) => write!(f, "phase {name}"),
            Self::Command => f.write_str("the command"),
        }
    }
}

/// One thing that an engine cannot do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// What.
    pub what: Feature,
    /// Where.
    pub place: Place,
    /// Why not.
    pub why: String,
    /// What would provide it; may be empty.
    pub help: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.what, self.why)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, " ({})", self.help) }
    }
}
