//! A path element that holds no packets: the interface for its author.
//!
//! Packets pass it at no event of its own, while they go from one port to the next. It may change their headers, mark them,
//! or have them dropped; it holds none, and it delays none: a port with a queue discipline does that.
//!
//! An element has options as a discipline has them, a table of them next to its code ([`Settings`]): parser, messages,
//! lists and pages read that table. An experiment names it: `middlebox = { words = "periodic_loss every 100" }`. It
//! comes in by [`Elements::add`](crate::Elements::add), in this crate by its `mod` line and an entry of `middleboxes!`
//! (`lib.rs`).
//!
//! Invariants: an element draws from the stream that it is handed and from nothing else; the middlebox around it counts
//! its verdicts.

use crate::PathPacket;
use core::fmt::Debug;
use sojourn_qdisc::{QdiscQuirks, Reason, Settings, TcError, TcTokens};
use sojourn_units::{Random, Rate, Time};

/// The decision about a packet that passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on.
    Passes,
    /// It has just been marked, and goes on.
    Marked(Reason),
    /// It is dropped.
    Dropped(Reason),
}

/// What packets pass without being held.
pub trait PathElement: Debug + Send {
    /// A packet passes at `now`. `random` is the element's own stream for all its draws.
    fn pass(&mut self, now: Time, packet: &mut dyn PathPacket, random: &mut Random) -> Verdict;

    /// Sets the rate that it lets pass, for an event that sets one; false if it has none.
    fn set_rate(&mut self, _now: Time, _rate: Rate) -> bool {
        false
    }
}

/// A [`PathElement`] that words name.
pub trait NamedElement: PathElement + Sized + 'static {
    /// Its options. Their table ([`Settings::INFO`]) has its name.
    type Options: Settings;

    /// The options behind its name, read to the end of the words.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    fn options(words: &mut TcTokens<'_>) -> Result<Self::Options, TcError> {
        Self::Options::read(words, &QdiscQuirks::default())
    }

    /// One with these options that has seen no packet yet.
    fn new(options: Self::Options) -> Self;
}
