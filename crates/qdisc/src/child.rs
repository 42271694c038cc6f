//! What a discipline that draws from another knows of that other.
//!
//! A shaper may stand over any discipline, and whatever holds any discipline may hold a shaper. So that neither file
//! needs the other, this one says what a child is and what is asked of it. Which type it is, the list of the
//! disciplines says (`any.rs`).

use crate::packet::Packet;
use crate::profile::QdiscQuirks;
use crate::qdisc::{Dequeued, Qdisc};
use crate::telemetry::{Context, Telemetry};
use crate::words::{TcError, TcTokens};
use sojourn_units::Time;

/// A kind of packet, and the one type that is any discipline which holds such packets.
pub trait HeldByAny {
    /// [`crate::AnyQdisc`].
    type Any;
}

/// Any discipline that holds packets of this kind: another name of [`crate::AnyQdisc`], for files that its list needs.
pub type AnyOf<P> = <P as HeldByAny>::Any;

/// Packets whose disciplines may stand under one another: any packet.
pub trait HasChildren: Packet + HeldByAny<Any: Child<Self>> + Sized {}

impl<P: Packet + HeldByAny<Any: Child<P>>> HasChildren for P {}

/// What a discipline asks of the child that it draws from, besides [`Qdisc`]. [`crate::AnyQdisc`] has it.
pub trait Child<P: Packet>: Qdisc<P> {
    /// [`Qdisc::dequeue`], as a call: the code of the one that asks is written out in line already.
    fn dequeue_called<T: Telemetry<P>>(
        &mut self,
        now: Time,
        cx: &mut Context<'_, T>,
    ) -> Dequeued<P>;

    /// [`crate::AnyQdisc::change`].
    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError>;

    /// [`crate::AnyQdisc::start`].
    fn start(&mut self, now: Time);

    /// [`crate::AnyQdisc::flush`].
    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>);

    /// [`crate::AnyQdisc::quirks`].
    fn quirks(&self) -> &QdiscQuirks;
}
