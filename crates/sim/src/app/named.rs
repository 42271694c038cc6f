//! The interface of an application that words name, for its author.
//!
//! It has options as a discipline has them, a table of them next to its code ([`Settings`]): parser, messages, lists
//! and pages read that table. A flow names it: `app = "tcp_rr response 10kb"`. It comes in by
//! [`Apps::add`](super::Apps::add), in this crate by its `mod` line and an entry of `apps!` (`mod.rs`).

use super::connections::Connections;
use super::interface::App;
use sojourn_qdisc::{QdiscQuirks, Settings, TcError, TcTokens};
use sojourn_units::Random;

/// The input for an application, besides its options.
#[derive(Debug)]
#[non_exhaustive]
pub struct AppSetup {
    /// TCP connections between the flow's hosts, as the flow's own keys (`cc`, `ecn`, …) have them. One that opens none sends
    /// datagrams by [`HostTx`](super::HostTx).
    pub connections: Connections,
    /// The application's own random stream, named after the flow.
    pub random: Random,
}

impl AppSetup {
    pub(crate) const fn new(connections: Connections, random: Random) -> Self {
        Self { connections, random }
    }
}

/// An [`App`] that words name.
pub trait NamedApp: App + Sized + 'static {
    /// Its options. Their table ([`Settings::INFO`]) has its name.
    type Options: Settings;

    /// The options behind its name, read to the end of the words.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    fn options(words: &mut TcTokens<'_>) -> Result<Self::Options, TcError> {
        Self::Options::read(words, &QdiscQuirks::default())
    }

    /// One with these options, at rest.
    fn new(options: Self::Options, setup: AppSetup) -> Self;
}
