//! What a discipline in Rust implements.

use crate::abi::{Counter, Gauge, OptionSpec, Packet, Value};
use crate::host::Host;
use crate::tables::Name;
use core::ffi::CStr;

/// Everything that is known of a discipline before it runs. The host reads words, prints help and errors, and names result
/// columns by it, as it does with its own.
#[derive(Debug)]
pub struct AqmInfo {
    /// tc's name for it: one word.
    pub name: &'static CStr,
    /// What it is, in one sentence.
    pub summary: &'static CStr,
    /// Where it is described.
    pub source: &'static CStr,
    /// Its options.
    pub options: &'static [OptionSpec],
    /// Its statistics.
    pub counters: &'static [Counter],
    /// The numbers that the recorder samples.
    pub gauges: &'static [Gauge],
    /// The reasons for its drops and marks; a [`Reason`](crate::Reason) is a place in this list. A name of Sojourn's own
    /// (`tail`, `control_law`, …) is that reason.
    pub reasons: &'static [Name],
}

/// A discipline's answer when it is asked for a packet.
#[derive(Clone, Copy, Debug)]
pub enum Dequeued {
    /// This one leaves now.
    Packet(Packet),
    /// Packets are held, and none may leave before this time, ns.
    Wait(u64),
    /// Nothing is held.
    Empty,
}

/// A queue discipline. Times are in ns. Everything that happens depends on the calls and on the host's random stream, and
/// on nothing else: no clock, no generator of its own, nothing shared between two of them.
pub trait Aqm: Clone + Send + Sized + 'static {
    /// Its tables.
    const INFO: AqmInfo;

    /// Makes one, from one value for each option.
    ///
    /// # Errors
    /// What is wrong with the values together; shown with the words that the user wrote.
    fn create(values: &[Value], host: &mut Host<'_>) -> Result<Self, String>;

    /// `tc qdisc change`: these values hold from now on; packets stay.
    ///
    /// # Errors
    /// As of [`Aqm::create`]; nothing has changed then.
    fn change(&mut self, now: u64, values: &[Value], host: &mut Host<'_>) -> Result<(), String>;

    /// Takes a packet.
    fn enqueue(&mut self, now: u64, packet: Packet, host: &mut Host<'_>);

    /// Which packet leaves now.
    fn dequeue(&mut self, now: u64, host: &mut Host<'_>) -> Dequeued;

    /// When [`Aqm::on_timer`] wants to be called next.
    fn next_timer(&self) -> Option<u64> {
        None
    }

    /// The timer.
    fn on_timer(&mut self, _now: u64, _host: &mut Host<'_>) {}

    /// It begins its work at `now`, not when it was made.
    fn start(&mut self, _now: u64) {}

    /// Forgets all packets, which the host has dropped.
    fn flush(&mut self, now: u64);

    /// Writes its statistics, in their table's order.
    fn counters(&self, _out: &mut [f64]) {}

    /// Writes its state's numbers, in their table's order.
    fn gauges(&self, _now: u64, _out: &mut [f64]) {}
}
