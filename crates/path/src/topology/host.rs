//! An engine's settings for a flow's hosts, and the results for them.

/// The devices between a flow's hosts and the first element of each of its ways.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostSide<'a> {
    /// Whether packets first come to a port of their host ([`Role::Nic`](super::Role::Nic)), which all hosts of one stack
    /// at one end share. A route gets one only if its first element would not hold what comes early: there
    /// packets wait for the host's jitter, so that what a host sends never arrives within the call that sent it.
    pub nic: bool,
    /// The discipline in tc's words on the device of the host that sends the flow's data, behind its interface; one for all
    /// flows of the host that have the same words, on a device that takes no time.
    pub queue: Option<&'a str>,
    /// Whether there is a control connection next to the flow, without the flow's own delays.
    pub control: bool,
}

/// The device in which a sender's own packets wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NicKind {
    /// One that is done with a packet when it has left.
    Wired,
    /// One on the air, which is done with a packet when that is acknowledged.
    Wireless,
}

/// An end of every path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The server's: sends what goes down.
    Near,
    /// The client's: sends what goes up.
    Far,
}

impl End {
    /// As it is in the names of ports and random streams.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }
}
