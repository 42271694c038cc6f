//! The part of a discipline besides [`Qdisc`]: construction and changes from words.

use crate::words::{TcError, TcTokens};
use crate::{AnyQdisc, Context, Discipline, Packet, Qdisc, QdiscQuirks, Telemetry};
use core::fmt::Debug;
use sojourn_units::{Random, Rate, Time};

/// A discipline that tc's words configure. [`crate::AnyQdisc`] asks nothing more of its variants, and
/// [`crate::Registry::add`] nothing more of a discipline from outside.
pub trait TcConfigurable<P: Packet>: Qdisc<P> + Sized {
    /// Its table: name, options, statistics.
    const INFO: &'static Discipline;

    /// From the words behind its name, which it reads to the end.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError>;

    /// `tc qdisc change`: takes the words over and keeps queue and state.
    ///
    /// # Errors
    /// Whatever is wrong with the words; nothing has changed then.
    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError>;

    /// It begins its work at `now`, not at the run's beginning.
    fn start(&mut self, _now: Time) {}

    /// Drops everything it holds, as [`crate::Reason::Flushed`].
    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>);

    /// The kernel that it behaves as.
    fn quirks(&self) -> &QdiscQuirks;

    /// Its configuration as `tc qdisc show` prints it.
    fn describe(&self) -> String;

    /// The discipline that it hands packets to.
    fn child(&self) -> Option<&AnyQdisc<P>> {
        None
    }

    /// As [`TcConfigurable::child`], to be changed or replaced.
    fn child_mut(&mut self) -> Option<&mut AnyQdisc<P>> {
        None
    }

    /// Replaces the present child by `child`, which begins its work at `now`; packets of the old child are dropped as
    /// [`crate::Reason::Flushed`]. Returns `child` if the discipline takes no child.
    fn replace_child<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        child: AnyQdisc<P>,
        _cx: &mut Context<'_, T>,
    ) -> Option<AnyQdisc<P>> {
        Some(child)
    }

    /// Sets the rate of its shaper; packets already queued stay. False when it has none.
    fn set_rate(&mut self, _now: Time, _rate: Rate) -> bool {
        false
    }
}

/// Who builds the children of classful disciplines: [`crate::Registry`].
pub(crate) trait Children<P>: Debug + Sync {
    /// [`BuildContext::child`].
    fn child(
        &self,
        words: &mut TcTokens<'_>,
        quirks: &QdiscQuirks,
        random: &mut Random,
    ) -> Result<AnyQdisc<P>, TcError>;
}

/// The input for building a discipline, besides its words.
#[derive(Debug)]
#[non_exhaustive]
pub struct BuildContext<'a, P> {
    /// The kernel that it is to behave as.
    pub quirks: &'a QdiscQuirks,
    /// Its own random stream, which keys of hashes are drawn from.
    pub random: &'a mut Random,
    children: &'a dyn Children<P>,
}

impl<'a, P: Packet> BuildContext<'a, P> {
    pub(crate) const fn new(
        children: &'a dyn Children<P>,
        quirks: &'a QdiscQuirks,
        random: &'a mut Random,
    ) -> Self {
        Self { quirks, random, children }
    }

    /// The child of a classful discipline, from the words that follow its own options; without any, the `pfifo` that
    /// the kernel gives a class without a discipline.
    ///
    /// # Errors
    /// Whatever is wrong with the child's words, with its place in them.
    pub fn child(&mut self, words: &mut TcTokens<'_>) -> Result<AnyQdisc<P>, TcError> {
        self.children.child(words, self.quirks, self.random)
    }
}
