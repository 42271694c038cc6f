//! The input for an application.

use crate::packet::Owner;
use sojourn_model::Flow;
use sojourn_stacks::Stack;
use sojourn_transport::HostNic;
use sojourn_transport::cc::Registry;
use sojourn_transport::stack::TcpQuirks;
use sojourn_units::Random;
use std::sync::Arc;

/// What a host makes its connections with: the stack, and the congestion controls that it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostStack<'a> {
    /// The stack.
    pub(crate) stack: &'static Stack,
    /// What its TCP differs in.
    pub(crate) quirks: &'a Arc<TcpQuirks>,
    /// And that of the host that receives.
    pub(crate) receiver: &'a Arc<TcpQuirks>,
    /// The controls.
    pub(crate) controls: &'a Registry,
}

/// A flow of a checked scenario, and its place in the run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    /// The flow.
    pub(crate) flow: &'a Flow,
    /// The owner of its packets.
    pub(crate) owner: Owner,
    /// What its hosts make connections with.
    pub(crate) host: HostStack<'a>,
    /// The device that its sender's packets wait for.
    pub(crate) device: Option<HostNic>,
    /// Routes of its data and of what comes back.
    pub(crate) routes: (u16, u16),
    /// Those of its program's control connection.
    pub(crate) control_routes: (u16, u16),
    /// The run's seed.
    pub(crate) seed: u64,
    /// What its hosts draw from.
    pub(crate) random: &'a mut Random,
}

impl Setup<'_> {
    /// What the application itself draws from.
    pub(crate) fn own_random(&self) -> Random {
        Random::named(self.seed, &sojourn_workload::random_name(&self.flow.name))
    }
}

/// An application that a flow's traffic asks for.
pub(crate) trait FromFlow: Sized {
    /// The application, at rest; nothing if the flow's traffic is not for it.
    fn of(setup: &mut Setup<'_>) -> Option<Self>;
}

impl<T: FromFlow> FromFlow for Box<T> {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        T::of(setup).map(Self::new)
    }
}
