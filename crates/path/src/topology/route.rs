//! What a route consists of.

/// The place of no port: the host.
pub const HOST: u16 = u16::MAX;

/// From one port to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteEntry {
    /// The port that it leads to, or [`HOST`].
    pub port: u16,
    /// What happens on the way: nothing at 0, else the place, plus one, in [`Topology::steps`](super::Topology::steps).
    pub steps: u16,
}

/// Something that happens on the way to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The middlebox of this number acts.
    Pass(u16),
    /// While the switch of this number is off, this many entries are left out, beginning with this one.
    Bypass(u16, u8),
}

/// A switch of an element that holds packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// The element's path.
    pub element: String,
    /// Whether it acts.
    pub on: bool,
}
