//! The transmission control block (RFC 9293 §3.3.1) in its two halves: [`View`], which belongs to the sender and which
//! a congestion control reads, and [`Control`], which the control writes.

use crate::cc::{Control, View};

/// A connection's state.
#[derive(Clone, Debug)]
pub struct Tcb {
    /// What the sender keeps true.
    pub view: View,
    /// What the congestion control steers by.
    pub control: Control,
}

impl Tcb {
    /// Notes what a control has asked for: that what is out now counts as limited by the application.
    #[inline]
    pub(crate) fn note_app_limited(&mut self) {
        if core::mem::take(&mut self.control.app_limited) {
            let view = &mut self.view;
            view.app_limited = Some(view.delivered.wrapping_add(view.in_flight()));
        }
    }
}

#[cfg(test)]
impl Tcb {
    /// A connection in the middle of its life, for tests of controls: limited by its window, at `cwnd`.
    pub(crate) fn example(cwnd: u32) -> Self {
        let mut view = View::new(1448, crate::segment::HEADERS, 250);
        view.now = sojourn_units::Time::from_secs(1);
        (view.nxt, view.packets_out, view.max_packets_out) = (cwnd, cwnd, cwnd);
        view.cwnd_limited = true;
        Self { view, control: Control::new(cwnd, 1448) }
    }
}
