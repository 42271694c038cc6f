//! One run, resolved: engines take it, the results folder keeps it, and it can be run again.
//!
//! The experiment language has axes, defaults and sugar; this has none. Every name is
//! resolved, every default written out, every time is counted from the stated [`Origin`].
//!
//! Invariants, which [`Scenario::check`] verifies for a scenario that was read from a file:
//! - names of hops, flows and events are unique, those of elements unique in their side of a hop;
//! - every index and name that refers to a hop, flow, element or event exists;
//! - `warmup + duration` fits the clock.
//!
//! tc's words are a type here ([`TcWords`]); the crate that implements a discipline parses its options.

mod at;
mod element;
mod event;
#[cfg(any(test, feature = "example"))]
pub mod example;
mod flow;
mod kind;
pub mod limits;
mod measure;
mod program;
mod scenario;
mod standing;
mod trace;
mod unsupported;
mod verify;
mod video;
mod words;

pub use at::At;
pub use element::{
    AggregatingLink, Element, FlowDelay, Hop, Kind, Middlebox, Neighbours, Netem, PoliceAction,
    Policer, Queue, Rewrite, Rule, Selector, Shaper, Side, Tunnel, TunnelKind, Wifi,
};
pub use event::{Action, Edge, Event, Gauge, Order, Reference, When};
pub use flow::{
    App, Direction, EcnMode, Flow, Ip, Irtt, OnOff, Ping, Pulse, Quic, QuicCrypto, ReceiveWindow,
    RttScaling, ShortFlows, SlowStart, Start, Streaming, Tcp, TcpStack, Traffic, Udp, Voip,
};
pub use kind::{By, ElementKind, RuleKind, TrafficKind, TunnelProtocol};
pub use measure::{Check, Outside, Phase, Window, WindowBounds};
pub use program::{Program, Ready};
pub use scenario::{HOST_STACK, Origin, Plugin, Scenario};
pub use standing::{Impossible, Nested};
pub use trace::{CHANCE, DeliveryTrace, MOST_CHANCES, TUNNEL_HEADER, TraceError};
pub use unsupported::{Feature, Place, Unsupported};
pub use verify::Inconsistent;
pub use video::{Adaptation, FrameSize, MEASURED_AT, Profile, Video};
pub use words::{Renamed, TcWords, WordError, nearest, new_name, renamed};

#[cfg(test)]
mod tests;
