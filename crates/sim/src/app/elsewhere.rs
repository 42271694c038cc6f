//! The place of a flow with its two hosts outside of the simulator: the frames of real kernels pass the run's queues.
//!
//! Invariants: it sends nothing by itself and has no timer; each frame that arrives is handed out, with the ECN field and the
//! DSCP that the path has given it.

use super::interface::App;
use super::report::{FlowReport, Record};
use crate::host::HostTx;
use crate::packet::Packet;
use sojourn_units::Time;

/// It.
#[derive(Debug)]
pub(crate) struct Elsewhere;

impl App for Elsewhere {
    fn start(&mut self, _tx: &mut HostTx<'_>) {}

    fn stop(&mut self, _now: Time) {}

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        tx.hand_out(packet);
    }

    fn on_timer(&mut self, _tx: &mut HostTx<'_>) {}

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn has_many_connections(&self) -> bool {
        true
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn delivered_bytes(&self) -> u64 {
        0
    }

    fn record(&self) -> Record {
        Record::Nothing
    }

    fn report(&self, _end: Time) -> FlowReport {
        FlowReport::default()
    }
}
