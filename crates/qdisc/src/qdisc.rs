//! What a discipline does, asked packet by packet, and what it answers.

use crate::packet::Packet;
use crate::telemetry::{Context, Telemetry};
use sojourn_units::Time;

/// A discipline's answer when it is asked for a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Dequeued<P> {
    /// This one leaves now.
    Packet(P),
    /// Packets are held, but none may leave before this time (a shaper's tokens, netem's delay).
    Wait(Time),
    /// Nothing is held.
    Empty,
}

/// What a discipline holds, children included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Backlog {
    /// Packets (`qlen`).
    pub packets: u32,
    /// Bytes as the queue counts them, Ethernet header included.
    pub bytes: u64,
}

/// The life of every discipline. Methods are generic over the telemetry, so that a run pays for no more than
/// it records; dispatch over the disciplines of this crate is by the enum [`crate::AnyQdisc`], not by
/// a table of pointers; [`crate::DynQdisc`] is the form behind a pointer.
pub trait Qdisc<P: Packet> {
    /// Takes a packet at `now`. A packet that is refused goes to the telemetry, as may others already held.
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>);

    /// Asks for the packet that leaves at `now`.
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P>;

    /// When [`Qdisc::on_timer`] wants to be called next, if at all (PIE's update). Children included.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The timer that [`Qdisc::next_timer`] asked for. Calls that come early do nothing.
    fn on_timer<T: Telemetry<P>>(&mut self, _now: Time, _cx: &mut Context<'_, T>) {}

    /// What is held now.
    fn backlog(&self) -> Backlog;

    /// What `tc -s qdisc` prints, by its names.
    fn stats(&self) -> Stats;

    /// The controller's own state (drop probability, CoDel's count, …), which is recorded once per sample interval.
    fn gauges(&self, _now: Time, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// What `tc -s qdisc` prints: the common line and the discipline's own counters, in tc's order.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Stats {
    /// Bytes that left (`Sent N bytes`).
    pub bytes: u64,
    /// Packets that left.
    pub packets: u64,
    /// Packets dropped, for whatever reason.
    pub dropped: u64,
    /// Times a limit was hit (a shaper's, or where the discipline counts signals as such).
    pub overlimits: u64,
    /// What is held.
    pub backlog: Backlog,
    /// The discipline's own counters, by the names tc prints.
    pub own: Vec<(&'static str, f64)>,
}
