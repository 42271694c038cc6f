//! A flow while it runs: its hosts and the application on them.

use crate::app::any::AnyApp;
use crate::app::setup::{HostStack, Setup};
use crate::app::{App as _, Apps, Elsewhere};
use crate::host::Host;
use crate::packet::Owner;
use sojourn_engine::RunError;
use sojourn_model::{By, Direction, Flow};
use sojourn_record::Distribution;
use sojourn_transport::HostNic;
use sojourn_units::{Random, random};

/// How far a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowState {
    /// Not yet started.
    Waiting,
    /// The two ends of its application agree on what is to come.
    Agreeing,
    /// Sending.
    Running,
    /// Stopped or finished.
    Ended,
}

/// The flow.
///
/// What every packet touches, data and acknowledgements alike, are its first two lines of cache: they end with the path of
/// [`TcpHalf`](crate::app::half::TcpHalf). Behind them is the receiver, then the sender.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FlowRun {
    /// How far it is.
    pub(crate) state: FlowState,
    /// Whether it ends by itself.
    pub(crate) is_finite: bool,
    /// Its hosts.
    pub(crate) host: Host,
    /// What runs on its hosts.
    pub(crate) app: AnyApp,
}

impl FlowRun {
    /// Whether no packet can begin or end it: it is under way, and no end of its own is known.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.state != FlowState::Agreeing && !self.is_finite
    }

    /// A flow of a checked scenario, at rest: its routes and those of its program's control connection, and the device
    /// that its sender's packets wait for.
    ///
    /// # Errors
    /// What is wrong with the words that name its application.
    pub(crate) fn new(
        index: usize,
        flow: &Flow,
        (routes, control_routes): ((u16, u16), (u16, u16)),
        device: Option<HostNic>,
        (host, apps): (HostStack<'_>, &Apps),
        seed: u64,
    ) -> Result<Self, RunError> {
        let mut random = Random::named(seed, &format!("flow/{}/host", flow.name));
        let owner = Owner {
            flow: index as u32,
            key: random::key(&flow.name) as u32,
            up: flow.direction == Direction::Up,
            ip: flow.ip,
        };
        let setup = &mut Setup {
            flow,
            owner,
            host,
            device,
            routes,
            control_routes,
            seed,
            random: &mut random,
        };
        let app = match flow.by {
            Some(By::Kernel) => AnyApp::Custom(Box::new(Elsewhere)),
            Some(By::Sojourn) | None => AnyApp::of(setup, apps)
                .map_err(|error| RunError::Failed(format!("flow \"{}\": {error}", flow.name)))?,
        };
        let hosts = Host {
            owner,
            there: routes.0,
            back: routes.1,
            dscp: flow.dscp,
            jitter: host.stack.tcp.host_jitter.as_nanos(),
            random,
            sent: 0,
            arrived: 0,
            delays: Box::new(Distribution::new()),
        };
        Ok(Self { host: hosts, state: FlowState::Waiting, is_finite: app.is_finite(), app })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use core::mem::size_of;

    /// Thousands of flows, with their packets in flight, are to stay in the processor's caches. A flow's windows and
    /// distributions are allocated separately, as they grow.
    #[test]
    fn what_a_flow_and_a_packet_take_is_bounded() {
        let sizes = (size_of::<FlowRun>(), size_of::<Packet>());
        assert!(sizes.0 <= 1_600 && sizes.1 <= 128, "{sizes:?}");
    }
}
