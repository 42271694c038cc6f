//! Congestion controls: the hooks of Linux's `struct tcp_congestion_ops`, their arguments and the values that they may
//! set.

use super::{Gauge, Host};
use core::ffi::{c_char, c_void};

/// Nothing is wrong.
pub const SOJOURN_OPEN: u32 = 0;
/// Duplicates or SACKs have come; not yet clear that something was lost.
pub const SOJOURN_DISORDER: u32 = 1;
/// The window is being reduced for ECN-Echo.
pub const SOJOURN_CWR: u32 = 2;
/// The window is being reduced for a loss, and losses repaired.
pub const SOJOURN_RECOVERY: u32 = 3;
/// The retransmission timer fired.
pub const SOJOURN_LOSS: u32 = 4;

/// No ECN.
pub const SOJOURN_ECN_OFF: u32 = 0;
/// RFC 3168's ECE and CWR.
pub const SOJOURN_ECN_RFC3168: u32 = 1;
/// Accurate ECN's counter.
pub const SOJOURN_ECN_ACCECN: u32 = 2;

/// The first transmission after all had been acknowledged.
pub const SOJOURN_EVENT_TX_START: u32 = 0;
/// A reduction for ECN-Echo or loss is complete.
pub const SOJOURN_EVENT_COMPLETE_CWR: u32 = 1;
/// The retransmission timer fired.
pub const SOJOURN_EVENT_LOSS: u32 = 2;
/// A tail-loss probe that repeated old data has repaired its loss.
pub const SOJOURN_EVENT_TLP_RECOVERY: u32 = 3;

/// `SojournView.max_pacing_rate` of a socket without one.
pub const SOJOURN_NO_CAP: u64 = u64::MAX;

/// What a control may read of its connection, by the kernel's names. Windows and counts are in segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The time of the event being handled, ns.
    pub now: u64,
    /// When something was last delivered, or a flight began, ns.
    pub delivered_at: u64,
    /// Highest rate of payload that the socket may be paced at, bytes per second, or `SOJOURN_NO_CAP`.
    pub max_pacing_rate: u64,
    /// RTT samples so far.
    pub rtt_samples: u64,
    /// Oldest segment not acknowledged.
    pub una: u32,
    /// Next segment to be sent for the first time.
    pub nxt: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of these, SACKed.
    pub sacked_out: u32,
    /// Of these, taken for lost.
    pub lost_out: u32,
    /// Of these, retransmissions still out.
    pub retrans_out: u32,
    /// Segments in the network: packets_out + retrans_out - sacked_out - lost_out.
    pub in_flight: u32,
    /// Segments delivered so far, SACKed ones included.
    pub delivered: u32,
    /// Marked segments so far.
    pub delivered_ce: u32,
    /// Segments taken for lost so far.
    pub lost: u32,
    /// Payload of a full new segment, bytes.
    pub mss: u32,
    /// Bytes of IP and TCP headers before it.
    pub headers: u32,
    /// The window at the last reduction.
    pub prior_cwnd: u32,
    /// Most segments out in the current window of data.
    pub max_packets_out: u32,
    /// `delivered` at which the application's pause will have passed through, if `is_app_limited`.
    pub app_limited: u32,
    /// State of recovery: `SOJOURN_OPEN` and so on.
    pub ca_state: u32,
    /// What is agreed about ECN: `SOJOURN_ECN_OFF` and so on.
    pub ecn: u32,
    /// Segments delivered in the interval of the latest rate sample.
    pub rate_delivered: u32,
    /// That interval, us; 0 before the first sample.
    pub rate_interval_us: u32,
    /// The smoothed RTT, us.
    pub srtt_us: u32,
    /// Mean deviation of the RTT, us.
    pub mdev_us: u32,
    /// The latest RTT sample, us.
    pub latest_rtt_us: u32,
    /// The least RTT that the estimator knows, us.
    pub min_rtt_us: u32,
    /// A TSO burst has the bytes of a 2^nth of a second at the pacing rate.
    pub pacing_shift: u32,
    /// Ticks per second of the host's coarse clock.
    pub hz: u32,
    /// Whether the application is pausing.
    pub is_app_limited: bool,
    /// Whether the application was pausing in the interval of the latest rate sample.
    pub rate_app_limited: bool,
    /// Whether sending last stopped because of the window.
    pub cwnd_limited: bool,
}

/// What a control may set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Pacing rate in bytes of payload per second.
    pub pacing_rate: u64,
    /// Congestion window.
    pub cwnd: u32,
    /// Segments acknowledged since the window last grew by a whole one (`snd_cwnd_cnt`).
    pub cwnd_count: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Highest window allowed.
    pub cwnd_clamp: u32,
    /// Payload of a full new segment, bytes.
    pub mss: u32,
    /// Most segments that may leave as one TSO burst; 0: no limit of the control's.
    pub burst_limit: u32,
    /// Whether the socket is really paced.
    pub paced: bool,
    /// Set by a control to make the data that is out count as limited by the application.
    pub app_limited: bool,
}

/// What a control needs of ECN. All zero: nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnRequirements {
    /// The least that is asked for: `SOJOURN_ECN_OFF` and so on.
    pub request: u32,
    /// Whether what it sends is ECT(1), and not ECT(0).
    pub ect_1: bool,
    /// Whether retransmissions and pure ACKs are ECN-capable, too.
    pub on_all: bool,
    /// Whether the SYN is.
    pub on_syn: bool,
    /// Whether the receiver echoes each packet's mark (RFC 8257) where RFC 3168 was agreed.
    pub exact_echo: bool,
    /// Whether the receiver echoes ECT(1) as SCE.
    pub echo_sce: bool,
}

/// What is kept with each segment from when it last left, for a control that asks for it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentState {
    /// Segments in flight, this one included.
    pub in_flight: u32,
    /// `SojournView.lost` then.
    pub lost: u32,
    /// `SojournView.delivered_ce` then.
    pub delivered_ce: u32,
}

/// A segment that has just been taken for lost.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// What was kept with it.
    pub sent: SegmentState,
    /// Its number.
    pub seq: u32,
    /// Segments taken for lost so far, this one included.
    pub lost: u32,
    /// Whether the application was pausing when it last left.
    pub app_limited: bool,
}

/// An ACK as it has come.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// Segments that it acknowledges cumulatively.
    pub acked: u32,
    /// Whether it tells of marks.
    pub ece: bool,
    /// Whether it echoes SCE.
    pub esce: bool,
    /// Whether it changes the window, as every ACK of new data does.
    pub window_update: bool,
}

/// What an ACK newly acknowledged.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments acknowledged cumulatively by this ACK.
    pub acked: u32,
    /// RTT of the newest of them, us, if `has_rtt`.
    pub rtt_us: u32,
    /// Whether there is one: not when only retransmissions were acknowledged.
    pub has_rtt: bool,
}

/// The sum of an ACK's news, for a control that sets its window itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ControlSample {
    /// Not before this may the next segment leave, ns; may be past.
    pub next_departure: u64,
    /// What was kept with the newest segment delivered, if `has_sent`.
    pub sent: SegmentState,
    /// Segments newly delivered, SACKed ones included.
    pub delivered: u32,
    /// Segments newly known to be marked.
    pub ce: u32,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// RTT of the newest segment delivered, us, if `has_rtt`.
    pub rtt_us: u32,
    /// The ACK's rate sample, if `has_rate`: segments delivered.
    pub rate_delivered: u32,
    /// And in how many us.
    pub rate_interval_us: u32,
    /// Delivery count when the newest of these segments left, if `has_prior_delivered`.
    pub prior_delivered: u32,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// Whether the ACK reported marks.
    pub ece: bool,
    /// See `rtt_us`.
    pub has_rtt: bool,
    /// See `rate_delivered`.
    pub has_rate: bool,
    /// Whether the application was pausing in the interval of the rate sample.
    pub rate_app_limited: bool,
    /// See `prior_delivered`.
    pub has_prior_delivered: bool,
    /// See `sent`.
    pub has_sent: bool,
    /// Whether the ACK reaches a tail-loss probe that repeated old data.
    pub acks_probe: bool,
    /// Whether the ACK has probably been delayed.
    pub ack_delayed: bool,
    /// Whether there is more to send, and none but the socket itself paces.
    pub backlogged: bool,
}

/// Something that happens to a connection besides ACKs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// `SOJOURN_EVENT_TX_START` and so on.
    pub kind: u32,
    /// Of the start of a transmission: time since the last one, in ticks.
    pub idle_jiffies: u32,
    /// Of a probe's repair: whether the application was pausing when the repeated segment had first left.
    pub app_limited: bool,
}

/// A congestion control. Each connection has one of its own; otherwise as of `SojournAqm`. A hook that may be null is then the
/// kernel's default.
#[repr(C)]
#[derive(Debug)]
pub struct CongestionControl {
    /// `sizeof(SojournCongestionControl)`.
    pub size: u32,
    /// Its name: one word.
    pub name: *const c_char,
    /// What it is, in a line.
    pub summary: *const c_char,
    /// Where it is specified.
    pub source: *const c_char,
    /// The numbers that the recorder samples.
    pub gauges: *const Gauge,
    /// How many there are.
    pub gauge_count: u32,
    /// What it needs of ECN.
    pub ecn: EcnRequirements,
    /// Windows that the send buffer is for; 0: two, as the kernel has it.
    pub send_buffer_windows: u32,
    /// Whether `cong_control` sets window and pacing rate in every state, instead of PRR, `cong_avoid` and default pacing.
    pub has_cong_control: bool,
    /// Whether a `SojournSegmentState` is kept with each segment, and `segment_lost` called.
    pub wants_segment_state: bool,
    /// Makes one, for a connection that has sent nothing.
    pub create: Option<unsafe extern "C" fn(host: *mut Host) -> *mut c_void>,
    /// Ends one.
    pub destroy: Option<unsafe extern "C" fn(cc: *mut c_void, host: *mut Host)>,
    /// One more like it.
    pub clone: Option<unsafe extern "C" fn(cc: *const c_void, host: *mut Host) -> *mut c_void>,
    /// A reduction begins: the new threshold, at least 2.
    pub ssthresh: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *const Control,
        ) -> u32,
    >,
    /// `acked` segments were delivered while nothing was wrong: grow.
    pub cong_avoid: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            acked: u32,
        ),
    >,
    /// The connection is established. May be null.
    pub init: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
        ),
    >,
    /// An ACK has been worked through. Null unless `has_cong_control`.
    pub cong_control: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            sample: *const ControlSample,
        ),
    >,
    /// An ACK has come, and nothing else has been done yet. May be null.
    pub in_ack_event: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            event: *const AckEvent,
        ),
    >,
    /// An ACK acknowledged new data. May be null.
    pub pkts_acked: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            sample: *const AckSample,
        ),
    >,
    /// A segment has been taken for lost. May be null.
    pub segment_lost: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            lost: *const LostSegment,
        ),
    >,
    /// The state of recovery is about to become `state`. May be null.
    pub set_state: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            state: u32,
        ),
    >,
    /// Something happened. May be null.
    pub event: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *mut Control,
            event: *const Event,
        ),
    >,
    /// The last reduction was for nothing: the window to go back to. May be null: the greater of cwnd and prior_cwnd.
    pub undo_cwnd: Option<
        unsafe extern "C" fn(
            cc: *mut c_void,
            host: *mut Host,
            view: *const View,
            control: *const Control,
        ) -> u32,
    >,
    /// Least segments of a TSO burst. May be null: 2.
    pub min_tso_segs: Option<
        unsafe extern "C" fn(
            cc: *const c_void,
            host: *mut Host,
            view: *const View,
            control: *const Control,
        ) -> u32,
    >,
    /// Writes its numbers, in their table's order. May be null if there are none.
    pub read_gauges: Option<
        unsafe extern "C" fn(
            cc: *const c_void,
            host: *mut Host,
            view: *const View,
            control: *const Control,
            out: *mut f64,
        ),
    >,
}

tables!(CongestionControl);
