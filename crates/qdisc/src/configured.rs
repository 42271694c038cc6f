//! What a discipline has besides [`Qdisc`]: words to be made from and changed with.

use crate::words::{TcError, Words};
use crate::{Any, Context, Packet, Profile, Qdisc, Telemetry};
use sojourn_units::{Random, Time};

/// A discipline that tc's words configure. [`Any`] asks nothing more of its variants.
pub(crate) trait Configured<P: Packet>: Qdisc<P> + Sized {
    /// From the words behind its name, as the kernel of `profile` does.
    fn build(
        words: &mut Words<'_>,
        profile: &Profile,
        random: &mut Random,
    ) -> Result<Self, TcError>;

    /// `tc qdisc change`: takes the words over and keeps queue and state. An error changes nothing.
    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut Words<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError>;

    /// It begins its work at `now`, not at the run's beginning.
    fn start(&mut self, _now: Time) {}

    /// Drops everything it holds, as [`crate::Why::Flushed`].
    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>);

    /// The kernel that it behaves as.
    fn profile(&self) -> &Profile;

    /// Its configuration as `tc qdisc show` prints it.
    fn describe(&self) -> String;

    /// The discipline that it hands packets to.
    fn child(&self) -> Option<&Any<P>> {
        None
    }

    /// As [`Configured::child`], to be changed or replaced.
    fn child_mut(&mut self) -> Option<&mut Any<P>> {
        None
    }
}
