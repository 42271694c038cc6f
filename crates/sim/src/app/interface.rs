//! The interface of every application.
//!
//! The simulation tells an application of the packets that reach either of its hosts and of the times that it asked for;
//! it sends through [`HostTx`]. The recorder asks for what it has measured: a [`Record`] at each step, a [`FlowReport`]
//! at the end.

use super::report::{FlowReport, Record};
use crate::host::HostTx;
use crate::packet::Packet;
use sojourn_path::SkbCharge;
use sojourn_transport::LimitedTimes;
use sojourn_units::Time;

/// What runs on the two hosts of a flow.
pub trait App: core::fmt::Debug + Send {
    /// The flow starts.
    fn start(&mut self, tx: &mut HostTx<'_>);

    /// Whether what [`App::start`] began has led to the flow's own packets: false while the application's two ends
    /// still agree on what is to come.
    fn has_begun(&self) -> bool {
        true
    }

    /// The flow stops: nothing new is sent. May come before it has begun.
    fn stop(&mut self, now: Time);

    /// A packet has reached either host.
    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet);

    /// Does what is due. It may be that nothing is: timers that moved later are not taken back.
    fn on_timer(&mut self, tx: &mut HostTx<'_>);

    /// When [`App::on_timer`] is to be called; [`Time::NEVER`] if not.
    fn next_timer(&self) -> Time;

    /// Whether further TCP connections of the flow are shown in captures, each with a port of its own. If not, they are
    /// not shown, as the application does not measure them. Asked once, before it starts.
    fn has_many_connections(&self) -> bool {
        false
    }

    /// Whether its hosts are outside of the simulator ([`By::Kernel`](sojourn_model::By::Kernel)): whoever runs them records when its
    /// flow starts and ends, and what it measures.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// The device of the sending host is done with packets of this flow.
    fn tx_completion(&mut self, _tx: &mut HostTx<'_>, _done: &SkbCharge) {}

    /// Whether it ends by itself.
    fn is_finite(&self) -> bool {
        false
    }

    /// Whether it has. It is not stopped then: it has nothing more to send.
    fn is_finished(&self) -> bool {
        false
    }

    /// Why it cannot go on, if it cannot: the flow ends with that.
    fn failure(&self) -> Option<&str> {
        None
    }

    /// Payload bytes that have arrived, in order where order counts.
    fn delivered_bytes(&self) -> u64;

    /// What its row in the table `flows` says at the end of a step.
    fn record(&self) -> Record;

    /// What has limited it until `now`, if it is one TCP connection: its row in the table `limits`.
    fn limited_times(&self, _now: Time) -> Option<LimitedTimes> {
        None
    }

    /// Further numbers of its own, always in the same order.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// What is known of it at the end of the run.
    fn report(&self, end: Time) -> FlowReport;
}
