//! What changes during a run, and when.

use super::{At, Shaper, TcWords};
use core::fmt;
use serde::{Deserialize, Serialize};
use sojourn_units::{Rate, Span};

/// Something that happens once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Unique among the events.
    pub name: String,
    /// When.
    pub when: When,
    /// What, in this order.
    pub actions: Vec<Action>,
}

/// A point in a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// At a point in time.
    At(At),
    /// Some time after another event.
    After {
        /// Of what.
        reference: Reference,
        /// Its start or its end.
        edge: Edge,
        /// How long after.
        delay: Span,
    },
    /// When a number first passes a value: any on the simulator; a queue's or a TCP flow's `cwnd` on the live engine.
    State {
        /// The number.
        gauge: Gauge,
        /// Above or below.
        order: Order,
        /// The value.
        value: f64,
        /// How long after.
        delay: Span,
    },
}

/// What a point in time may refer to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// An event, by name; it starts and ends at once.
    Event(String),
    /// A flow, by name. A generator of short flows ends when its last connection has.
    Flow(String),
    /// A phase, by name.
    Phase(String),
    /// All finite traffic together: it ends when the last flow that ends by itself has ended.
    Workload,
}

/// The start or the end of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
    /// Its start.
    Start,
    /// Its end.
    End,
}

/// A controller's own number, by the names of the tables `flow_state` and `queue_state`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// A flow's (`alpha`, `cwnd`).
    Flow {
        /// The flow's name.
        flow: String,
        /// The number's name.
        name: String,
    },
    /// A queue's (`prob`, `backlog_packets`).
    Queue {
        /// The queue's path, `bottleneck.down.qdisc`.
        queue: String,
        /// The number's name.
        name: String,
    },
}

/// Which side of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Greater than it.
    Above,
    /// Less than it.
    Below,
}

/// What an event does. `element` is a path, `hop.side.element`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Changes a queue's shaper; packets in the queue stay (`tc class change`).
    Rate {
        /// The queue.
        element: String,
        /// The new rate.
        rate: Rate,
    },
    /// Changes the options of a queue's discipline; packets in the queue stay (`tc qdisc change`).
    ChangeQdisc {
        /// The queue.
        element: String,
        /// The discipline in tc's words, of the same kind.
        qdisc: TcWords,
    },
    /// Replaces the discipline by a new one, and the shaper, too, where a new one is given; packets in the queue are
    /// lost (`tc qdisc replace`).
    ReplaceQdisc {
        /// The queue.
        element: String,
        /// The discipline in tc's words.
        qdisc: TcWords,
        /// The new shaper, if it changes too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shaper: Option<Shaper>,
    },
    /// Changes the delay of the first netem of a chain; packets that are on their way keep theirs.
    Delay {
        /// The netem.
        element: String,
        /// The flow with a delay of its own that changes, if not the common one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flow: Option<String>,
        /// The new one-way delay.
        delay: Span,
    },
    /// Changes the words of a whole chain of netems.
    ChangeNetem {
        /// The netem.
        element: String,
        /// The new words, one text for each netem.
        chain: Vec<String>,
    },
    /// Lets an element act.
    Enable {
        /// Which.
        element: String,
    },
    /// Lets packets pass an element untouched. Packets in a delay still come out; packets in a queue are dropped, as
    /// `tc qdisc del` does.
    Disable {
        /// Which.
        element: String,
    },
    /// Starts a flow that waits for it.
    StartFlow {
        /// The flow.
        flow: String,
    },
    /// Stops a flow.
    StopFlow {
        /// The flow.
        flow: String,
    },
}

impl Action {
    /// The element it is about, if any.
    pub fn element(&self) -> Option<&str> {
        match self {
            Self::Rate { element, .. }
            | Self::ChangeQdisc { element, .. }
            | Self::ReplaceQdisc { element, .. }
            | Self::Delay { element, .. }
            | Self::ChangeNetem { element, .. }
            | Self::Enable { element }
            | Self::Disable { element } => Some(element),
            Self::StartFlow { .. } | Self::StopFlow { .. } => None,
        }
    }

    /// The flow it is about, if any.
    pub fn flow(&self) -> Option<&str> {
        match self {
            Self::StartFlow { flow } | Self::StopFlow { flow } => Some(flow),
            Self::Delay { flow, .. } => flow.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Action {
    /// As the table `events` tells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { rate, .. } => write!(f, "rate {rate}"),
            Self::ChangeQdisc { qdisc, .. } => write!(f, "change {qdisc}"),
            Self::ReplaceQdisc { qdisc, .. } => write!(f, "replace {qdisc}"),
            Self::Delay { delay, .. } => write!(f, "delay {delay}"),
            Self::ChangeNetem { chain, .. } => write!(f, "netem {}", chain.join(" | ")),
            Self::Enable { .. } => f.write_str("enable"),
            Self::Disable { .. } => f.write_str("disable"),
            Self::StartFlow { .. } => f.write_str("start"),
            Self::StopFlow { .. } => f.write_str("stop"),
        }
    }
}
