//! The interface of a congestion control: the hooks that a sender calls, and their arguments.
//!
//! The hooks are Linux's (`struct tcp_congestion_ops`), their defaults the kernel's. A control that needs more than
//! those of mainline (per-packet state, each lost segment, the probe's repair) asks for it; the others pay nothing.
//!
//! What a control sees of recovery:
//!
//! ```text
//! a reduction begins       segment_lost for each loss, ssthresh, set_state(Cwr or Recovery)
//! it is over               set_state(Open), and event(CompleteCwr) unless the control has cong_control
//! a timeout                segment_lost for each loss, ssthresh, event(Loss), set_state(Loss)
//! it is over               set_state(Open)
//! it was for nothing       undo_cwnd, then the state's change
//! a probe repaired a loss  ssthresh, set_state(Cwr), set_state(Open or Disorder), event(TlpRecovery)
//! ```
//!
//! In `set_state` the view still has the state of before, so that a control can distinguish entering from leaving.

use super::{CaState, Control, OptionValue, View};
use crate::ecn::EcnRequirements;
use crate::rate_sample::RateSample;
use crate::segment::Seq;
use core::fmt::Debug;
use sojourn_units::{Random, Time};

/// What an ACK newly acknowledged, as `pkts_acked` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// Segments acknowledged cumulatively by this ACK.
    pub acked: u32,
    /// RTT of the newest of them in microseconds; `None` when only retransmissions were acknowledged.
    pub rtt_us: Option<u32>,
}

/// An ACK as `in_ack_event` tells of it (`enum tcp_ca_ack_event_flags`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckEvent {
    /// Segments that it acknowledges cumulatively.
    pub acked: u32,
    /// Whether it tells of marks.
    pub ece: bool,
    /// Whether it echoes SCE (`CA_ACK_ESCE` of chromi/sce).
    pub esce: bool,
    /// Whether it changes the window, as every ACK of new data does.
    pub window_update: bool,
}

/// Things that happen to a connection besides ACKs (`enum tcp_ca_event`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The first transmission after all had been acknowledged.
    TxStart {
        /// Time since the last transmission, in ticks.
        idle_jiffies: u32,
    },
    /// A reduction for ECN-Echo or loss is complete.
    CompleteCwr,
    /// The retransmission timer fired.
    Loss,
    /// A tail-loss probe that repeated old data has repaired its loss (`CA_EVENT_TLP_RECOVERY` of google/bbr): the loss is
    /// known only now, and no segment was marked for it.
    TlpRecovery {
        /// Whether the application was pausing when the repeated segment had first left.
        app_limited: bool,
    },
}

/// What the sender keeps with each segment for a control that asks for it
/// ([`CongestionControl::wants_segment_state`]), from when the segment last left (draft-ietf-ccwg-bbr §4.1;
/// `tcp_skb_cb` of google/bbr).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentState {
    /// Segments in flight, this one included (`P.tx_in_flight`).
    pub in_flight: u32,
    /// [`View::lost`] then (`P.lost`).
    pub lost: u32,
    /// [`View::delivered_ce`] then.
    pub delivered_ce: u32,
}

/// A segment that has just been taken for lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// Its number.
    pub seq: Seq,
    /// What was kept with it from when it last left.
    pub sent: SegmentState,
    /// Whether the application was pausing then.
    pub app_limited: bool,
    /// Segments taken for lost so far, this one included. Of several that one ACK shows, the later ones are in
    /// [`View::lost`] already, and not in here.
    pub lost: u32,
}

/// The sum of an ACK's information, for a control that sets its window itself (`struct rate_sample`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControlSample {
    /// Segments newly delivered, SACKed ones included.
    pub delivered: u32,
    /// Segments newly known to be marked; may be more than `delivered`.
    pub ce: u32,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// Whether the ACK reported marks (`FLAG_ECE`).
    pub ece: bool,
    /// RTT of the newest segment delivered, microseconds.
    pub rtt_us: Option<u32>,
    /// The ACK's rate sample, if it gave one.
    pub rate: Option<RateSample>,
    /// Delivery count when the newest of these segments left.
    pub prior_delivered: Option<u32>,
    /// What was kept with that segment, for a control that asked for it.
    pub sent: Option<SegmentState>,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// Whether the ACK reaches a tail-loss probe that repeated old data; whether it is the repeat or the original that has
    /// arrived need not be known yet (`is_acking_tlp_retrans_seq` of google/bbr).
    pub acks_probe: bool,
    /// Whether the ACK is of a lone segment below the full size, and has therefore probably been delayed
    /// (`FLAG_ACK_MAYBE_DELAYED`).
    pub ack_delayed: bool,
    /// Not before this may the next segment leave; may be past.
    pub next_departure: Time,
    /// Whether there is more to send, and none but the socket itself paces (no host `fq`).
    pub backlogged: bool,
}

/// Copies a boxed control: every control that is `Clone` has it.
pub trait CloneControl {
    /// A copy in a box of its own.
    fn clone_box(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + 'static> CloneControl for C {
    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A congestion control. Two hooks have to be there; the defaults of the others are the kernel's.
///
/// It can be made into an object. One that comes from outside this crate is called through a box
/// ([`AnyCongestionControl::Custom`](super::AnyCongestionControl::Custom)), those inside by a `match`.
pub trait CongestionControl: CloneControl + Debug + Send {
    /// Randomness of its own, given before the connection opens. Most draw none.
    fn seed(&mut self, _random: Random) {}

    /// One of the options in [`Info::options`](super::Info::options) has this value instead of its default. Called before
    /// anything else; the value is within the bounds of its table.
    fn set(&mut self, _option: &'static str, _value: OptionValue) {}

    /// The connection is established.
    fn init(&mut self, _view: &View, _control: &mut Control) {}

    /// A reduction begins: the new threshold in segments, at least [`MIN_CWND`](super::MIN_CWND).
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32;

    /// What it needs of ECN.
    fn ecn(&self) -> EcnRequirements {
        EcnRequirements::NONE
    }

    /// Whether [`CongestionControl::cong_control`] sets window and pacing rate in every state, instead of PRR, the
    /// end of a reduction, [`CongestionControl::cong_avoid`] and the default pacing. Asked once, after
    /// [`CongestionControl::init`].
    fn has_cong_control(&self) -> bool {
        false
    }

    /// From now on another slow start grows the window up to its threshold
    /// ([`WithSlowStart`](super::WithSlowStart)): a control that ends slow start by a rule of its own gives that rule up. Called
    /// before [`CongestionControl::init`].
    fn leave_slow_start_to_others(&mut self) {}

    /// Whether the sender keeps a [`SegmentState`] with each segment, which [`ControlSample::sent`] gives back, and calls
    /// [`CongestionControl::segment_lost`]. Such a control gets exact marks of pauses, too: whether the application limits
    /// the flow is tested when an ACK or a timer comes as well, before it changes anything (draft-ietf-ccwg-bbr §4.1.2.4).
    /// Asked once, after [`CongestionControl::init`].
    fn wants_segment_state(&self) -> bool {
        false
    }

    /// Least segments of a TSO burst (`min_tso_segs`).
    fn min_tso_segs(&self, _view: &View, _control: &Control) -> u32 {
        2
    }

    /// Segments of a TSO burst, if it is the control that says so and not the stack (`tso_segs` of google/bbr).
    fn tso_segs(&self, _view: &View, _control: &Control) -> Option<u32> {
        None
    }

    /// Windows that the send buffer is for (`sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// An ACK has been worked through (`cong_control`); only for a control that sets its window itself.
    fn cong_control(&mut self, _view: &View, _control: &mut Control, _sample: &ControlSample) {}

    /// An ACK has come (`in_ack_event`): `una` has moved and nothing else has been done yet, but that, as the stack has
    /// it, its deliveries and marks have been counted
    /// ([`TcpQuirks::ack_event_counts_its_ack`](crate::stack::TcpQuirks::ack_event_counts_its_ack)).
    fn in_ack_event(&mut self, _view: &View, _control: &mut Control, _event: AckEvent) {}

    /// `acked` segments were delivered while nothing was wrong: grow.
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32);

    /// A reduction is under way, and an ACK has delivered and shown as lost these numbers of segments: a control that reduces by a
    /// law of its own sets window and threshold here and returns true, and proportional rate reduction (RFC 6937) leaves them
    /// alone. Only for one without [`CongestionControl::has_cong_control`].
    fn reduce(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _delivered: u32,
        _lost: u32,
    ) -> bool {
        false
    }

    /// An ACK acknowledged new data.
    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _sample: AckSample) {}

    /// A segment has been taken for lost (`skb_marked_lost` of google/bbr), also one that is lost again after it was
    /// repaired. Called before the ACK's other work for the control; only for one that
    /// [wants it](CongestionControl::wants_segment_state).
    fn segment_lost(&mut self, _view: &View, _control: &mut Control, _lost: &LostSegment) {}

    /// The state of recovery is about to become `state`.
    fn set_state(&mut self, _view: &View, _control: &mut Control, _state: CaState) {}

    /// Something happened.
    fn event(&mut self, _view: &View, _control: &mut Control, _event: Event) {}

    /// The last reduction was for nothing: the window to go back to.
    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        control.cwnd.max(view.prior_cwnd)
    }

    /// The control's own numbers, which are recorded once per sample interval, in the order of
    /// [`Info::gauges`](super::Info::gauges).
    fn gauges(&self, _view: &View, _control: &Control, _out: &mut dyn FnMut(&'static str, f64)) {}
}
