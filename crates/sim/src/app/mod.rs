//! Applications at the two ends of a flow.
//!
//! One application a file. Each is an [`App`]: it is told of the packets that reach either of its hosts and of the times
//! that it asked for, and sends through [`HostTx`]. When what is sent is decided by the state machines of
//! `sojourn_workload`, which the engines share; here is what happens to it.

/// Every application, a line each. Those that the model has a type for stand first: the file, and the type that stands in the
/// enum, as `any.rs` sees it; in front, whether it is there at all. Then those that words name ([`NamedApp`]): the file and
/// the type there. The enum in `any.rs` and the registry in `apps.rs` take the list.
macro_rules! apps {
    ($take:ident) => {
        $take! {
            typed {
                bulk: Bulk(super::bulk::Bulk);
                probe: Probe(super::probe::Probe);
                stream: Stream(Box<super::stream::Stream>);
                short_flows: ShortFlows(Box<super::short_flows::ShortFlows>);
                streaming: Streaming(Box<super::streaming::Streaming>);
                #[cfg(feature = "quic")] quic: Quic(Box<super::quic::Quic>);
            }
            by_words {
                media: Media;
                tcp_rr: TcpRr;
            }
        }
    };
}

pub(crate) mod any;
mod apps;
mod bulk;
mod connection;
mod connections;
mod elsewhere;
mod endpoint;
mod half;
mod interface;
mod media;
mod named;
mod netperf;
mod probe;
#[cfg(feature = "quic")]
mod quic;
mod report;
pub(crate) mod setup;
mod short_flows;
mod stream;
mod streaming;
mod tcp_rr;
mod writer;

pub use crate::host::HostTx;
pub use crate::packet::{Body, Packet};
pub use apps::Apps;
pub use connection::Connection;
pub(crate) use connection::Template;
pub use connections::{Client, Connections};
pub(crate) use elsewhere::Elsewhere;
pub(crate) use half::HalfPath;
pub use interface::App;
pub use named::{AppSetup, NamedApp};
pub use report::{Counts, DelayKind, FlowReport, Record};
pub use sojourn_record::{Completion, FlowSample, PingSample, RecoveryState};
