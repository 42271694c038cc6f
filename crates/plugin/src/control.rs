//! What a congestion control in Rust implements.

use crate::abi::{
    AckEvent, AckSample, Control, ControlSample, EcnRequirements, Event, Gauge, LostSegment, View,
};
use crate::host::Host;
use core::ffi::CStr;

/// Everything that is known of a control before it runs.
#[derive(Debug)]
pub struct ControlInfo {
    /// Its name: one word.
    pub name: &'static CStr,
    /// What it is, in a line.
    pub summary: &'static CStr,
    /// Where it is specified.
    pub source: &'static CStr,
    /// The numbers that the recorder samples.
    pub gauges: &'static [Gauge],
    /// What it needs of ECN.
    pub ecn: EcnRequirements,
    /// Windows that the send buffer is for; 0: two, as the kernel has it.
    pub send_buffer_windows: u32,
    /// Whether [`CongestionControl::cong_control`] sets window and pacing rate in every state.
    pub has_cong_control: bool,
    /// Whether [`CongestionControl::segment_lost`] is called, and per-segment state kept.
    pub wants_segment_state: bool,
}

impl ControlInfo {
    /// What a control says unless it says otherwise: nothing, without ECN.
    pub const BASE: Self = Self {
        name: c"",
        summary: c"",
        source: c"",
        gauges: &[],
        ecn: EcnRequirements {
            request: 0,
            ect_1: false,
            on_all: false,
            on_syn: false,
            exact_echo: false,
            echo_sce: false,
        },
        send_buffer_windows: 0,
        has_cong_control: false,
        wants_segment_state: false,
    };
}

/// A congestion control: the hooks of Linux's `struct tcp_congestion_ops`, with the kernel's defaults. Each connection
/// has one of its own. The host is for random numbers alone.
pub trait CongestionControl: Clone + Send + Sized + 'static {
    /// Its tables.
    const INFO: ControlInfo;

    /// One for a connection that has sent nothing.
    fn create(host: &mut Host<'_>) -> Self;

    /// A reduction begins: the new threshold, at least 2.
    fn ssthresh(&mut self, view: &View, control: &Control, host: &mut Host<'_>) -> u32;

    /// `acked` segments were delivered while nothing was wrong: grow.
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32, host: &mut Host<'_>);

    /// The connection is established.
    fn init(&mut self, _view: &View, _control: &mut Control, _host: &mut Host<'_>) {}

    /// An ACK has been worked through.
    fn cong_control(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _sample: &ControlSample,
        _host: &mut Host<'_>,
    ) {
    }

    /// An ACK has come.
    fn in_ack_event(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _event: &AckEvent,
        _host: &mut Host<'_>,
    ) {
    }

    /// An ACK acknowledged new data.
    fn pkts_acked(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _sample: &AckSample,
        _host: &mut Host<'_>,
    ) {
    }

    /// A segment has been taken for lost.
    fn segment_lost(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _lost: &LostSegment,
        _host: &mut Host<'_>,
    ) {
    }

    /// The state of recovery is about to become `state` ([`SOJOURN_OPEN`](crate::abi::SOJOURN_OPEN) and so on).
    fn set_state(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _state: u32,
        _host: &mut Host<'_>,
    ) {
    }

    /// Something happened.
    fn event(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _event: &Event,
        _host: &mut Host<'_>,
    ) {
    }

    /// The last reduction was for nothing: the window to go back to.
    fn undo_cwnd(&mut self, view: &View, control: &Control, _host: &mut Host<'_>) -> u32 {
        control.cwnd.max(view.prior_cwnd)
    }

    /// Least segments of a TSO burst.
    fn min_tso_segs(&self, _view: &View, _control: &Control) -> u32 {
        2
    }

    /// Writes its numbers, in their table's order.
    fn gauges(&self, _view: &View, _control: &Control, _out: &mut [f64]) {}
}
