//! Applications at the two ends of a flow.
//!
//! One application a file. Each is an [`App`]: it is told of the packets that reach either of its hosts and of the times
//! that it asked for, and sends through [`HostTx`]. When what is sent is decided by the state machines of
//! `sojourn_workload`, which the engines share; here is what happens to it.

pub(crate) mod any;
mod bulk;
mod connection;
mod connections;
mod endpoint;
mod half;
mod interface;
mod netperf;
mod probe;
mod report;
pub(crate) mod setup;
mod short_flows;
mod stream;
mod streaming;
mod writer;

pub use crate::host::HostTx;
pub use crate::packet::{Body, Packet};
pub use connection::Connection;
pub(crate) use connection::Template;
pub use connections::{Client, Connections};
pub(crate) use half::HalfPath;
pub use interface::App;
pub use report::{Completion, ConnectionRecord, Counts, DelayKind, FlowReport, PingRow, Record};
