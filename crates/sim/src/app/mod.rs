//! Applications at the two ends of a flow.
//!
//! One application a file. Each is an [`App`]: it receives the packets that reach either of its hosts and a call at the
//! times that it asked for, and sends through [`HostTx`]. The state machines of `sojourn_workload`, which the engines
//! share, decide when to send how much; the code here does it.

/// Every application, a line each. Those with a type in the model come first: the file, and the type in the enum, as
/// `any.rs` sees it, with the condition for its existence in front. Then those that words name ([`NamedApp`]): the file
/// and the type there. The enum in `any.rs` and the registry in `apps.rs` take the list.
macro_rules! apps {
    ($take:ident) => {
        $take! {
            typed {
                bulk: Bulk(super::bulk::Bulk);
                probe: Probe(super::probe::Probe);
                stream: Stream(Box<super::stream::Stream>);
                short_flows: ShortFlows(Box<super::short_flows::ShortFlows>);
                streaming: Streaming(Box<super::streaming::Streaming>);
                #[cfg(feature = "quic")] implementation: Implementation(Box<super::implementation::Implementation>);
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
#[cfg(feature = "quic")]
mod implementation;
mod interface;
mod media;
mod named;
mod netperf;
mod probe;
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
