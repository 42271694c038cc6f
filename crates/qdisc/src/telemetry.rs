//! Where disciplines tell what they decided, and why.

use crate::reason::Reason;
use crate::table::Class;
use sojourn_units::{Random, Time};

/// What an engine hands in to hear of decisions. Methods are called at the moment of the decision.
pub trait Telemetry<P> {
    /// The packet will not come out again.
    fn dropped(&mut self, now: Time, packet: P, reason: Reason);

    /// The packet has just been marked CE (it is so already in `packet`).
    fn marked(&mut self, now: Time, packet: &P, reason: Reason);

    /// The packet has just been marked SCE: it was ECT(0) and is ECT(1) (`0b01`, "some congestion experienced").
    /// The same packet may be marked CE or dropped after that.
    fn sce_marked(&mut self, _now: Time, _packet: &P, _why: Reason) {}

    /// The packet that this call of `dequeue` returns is from this class of the discipline's.
    fn leaves(&mut self, _class: &'static Class) {}

    /// There is now a second packet like this one, which the discipline has not been given (netem's `duplicate`).
    fn duplicated(&mut self, _now: Time, _packet: &P) {}
}

/// Nobody listens.
impl<P> Telemetry<P> for () {
    fn dropped(&mut self, _now: Time, _packet: P, _why: Reason) {}
    fn marked(&mut self, _now: Time, _packet: &P, _why: Reason) {}
}

/// A reference listens as what it refers to does; so does one to `dyn Telemetry`, which is how a discipline behind
/// [`crate::DynQdisc`] is handed whatever telemetry there is.
#[deny(clippy::missing_trait_methods, reason = "what is not forwarded would be lost in silence")]
impl<P, T: Telemetry<P> + ?Sized> Telemetry<P> for &mut T {
    fn dropped(&mut self, now: Time, packet: P, reason: Reason) {
        (**self).dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &P, reason: Reason) {
        (**self).marked(now, packet, reason);
    }

    fn sce_marked(&mut self, now: Time, packet: &P, reason: Reason) {
        (**self).sce_marked(now, packet, reason);
    }

    fn leaves(&mut self, class: &'static Class) {
        (**self).leaves(class);
    }

    fn duplicated(&mut self, now: Time, packet: &P) {
        (**self).duplicated(now, packet);
    }
}

/// The arguments of every call of a discipline besides the time and the packet.
#[derive(Debug)]
pub struct Context<'a, T: ?Sized> {
    /// The discipline's own random stream.
    pub random: &'a mut Random,
    /// Receives the decisions.
    pub telemetry: &'a mut T,
}
