//! Rapid Start (draft-kazuho-ccwg-rapid-start, the editor's text behind -02): the window triples a round trip while the path builds no
//! queue, and doubles then; the first reduction converges on the path by what it delivers and loses.
//!
//! Let β be what the control leaves of its window, and K 2/3. At the first loss or mark the window falls by the silence factor
//! β + K (1 − β); then each delivered segment takes K (1 − β) off it, and each lost one β + K (1 − β). Whatever the overshoot was, the
//! window ends at β times what path and queue hold, but not below a third of β times what it was.
//!
//! Invariants: one reduction of a connection is by these rules, that which ends its first slow start; a timeout ends them. Fractions
//! are 2^-16 of a segment.
//!
//! Not done here: the text asks senders to pace the first window and later ones over a whole RTT. Linux paces behind a host's `fq` alone,
//! at twice window/RTT in slow start (`host_qdisc = "fq"`).

use crate::cc::{Control, INFINITE_SSTHRESH, MIN_CWND, View};
use crate::segment::{Seq, before};

/// Above the least RTT by this, or by a tenth of it if that is less, a queue is being built; microseconds.
const QUEUE_US: u32 = 4_000;
/// Bits of a fraction of a segment.
const BITS: u32 = 16;
const ONE: i64 = 1 << BITS;

/// State of Rapid Start.
#[derive(Clone, Debug, Default)]
pub struct RapidStart {
    /// Where the round ends.
    round_end: Seq,
    /// The lowest RTT of the round, or of the last one while this has no sample.
    floor_us: Option<u32>,
    /// Whether this round has a sample.
    sampled: bool,
    /// The reduction that ends it, from when it begins.
    reduction: Option<Reduction>,
    over: bool,
}

/// The first reduction.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// The window, in 2^-16 segments.
    window: i64,
    /// The least that it may come to.
    least: i64,
    /// What an acknowledged and a lost segment take off.
    ack_factor: i64,
    loss_factor: i64,
    /// β.
    beta: i64,
}

impl RapidStart {
    /// A connection begins, or begins again after a timeout: then the rules of the first slow start are over.
    pub fn restart(&mut self, view: &View) {
        let again = self.floor_us.is_some();
        *self = Self { round_end: view.nxt, over: again, ..Self::default() };
    }

    /// An ACK of new data, with its RTT if it gave one.
    pub fn on_ack(&mut self, view: &View, control: &Control, rtt_us: Option<u32>) {
        self.over |= control.ssthresh != INFINITE_SSTHRESH && self.reduction.is_none();
        if !before(view.una, self.round_end) {
            (self.round_end, self.sampled) = (view.nxt, false);
        }
        let Some(rtt_us) = rtt_us else { return };
        let lowest =
            self.floor_us.filter(|_| self.sampled).map_or(rtt_us, |floor| floor.min(rtt_us));
        (self.floor_us, self.sampled) = (Some(lowest), true);
    }

    /// Segments by which the window grows for `acked` delivered ones.
    pub fn growth(&self, view: &View, acked: u32) -> u32 {
        if self.over || self.builds_a_queue(view) { acked } else { acked.saturating_mul(2) }
    }

    /// Whether the round's lowest RTT is above the connection's by more than noise.
    pub fn builds_a_queue(&self, view: &View) -> bool {
        let least = view.rtt.min_us();
        let threshold = (least.saturating_add(QUEUE_US)).min(least.saturating_add(least / 10));
        self.floor_us.is_some_and(|floor| floor > threshold)
    }

    /// A reduction begins, with which the control would leave `left` of its window; whether it is this one's.
    pub fn begin(&mut self, control: &Control, left: u32) -> bool {
        if self.over || control.ssthresh != INFINITE_SSTHRESH || control.cwnd == 0 {
            self.over = true;
            return false;
        }
        let window = i64::from(control.cwnd) << BITS;
        let beta = ((i64::from(left) << BITS) / i64::from(control.cwnd)).min(ONE);
        let ack_factor = (ONE - beta) * 2 / 3;
        let silence = beta + ack_factor;
        self.reduction = Some(Reduction {
            window: (window >> BITS) * silence,
            least: (((window >> BITS) * beta) / 3).max(i64::from(MIN_CWND) << BITS),
            ack_factor,
            loss_factor: silence,
            beta,
        });
        true
    }

    /// In the reduction, `delivered` segments were delivered and `lost` taken for lost: the window. None outside of it.
    pub fn reduce(&mut self, delivered: u32, lost: u32) -> Option<u32> {
        let own = self.reduction.as_mut()?;
        own.window -= own.ack_factor * i64::from(delivered) + own.loss_factor * i64::from(lost);
        own.window = own.window.max(own.least);
        u32::try_from((own.window + ONE / 2) >> BITS).ok()
    }

    /// The reduction is over: the window from which a control that remembers one has been cut, twice what path and queue hold, for
    /// that it grows no slower than after a slow start that had overshot by a factor of two. None if there was no reduction of this.
    pub fn end(&mut self) -> Option<u32> {
        let own = self.reduction.take()?;
        self.over = true;
        u32::try_from(2 * own.window / own.beta.max(1)).ok()
    }

    /// A timeout: the rules end where they are.
    pub fn give_up(&mut self) {
        (self.reduction, self.over) = (None, true);
    }

    /// Whether its rules have ended.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcb::Tcb;
    use sojourn_units::Time;

    fn at(min_us: u32, rtt_us: u32) -> (RapidStart, Tcb) {
        let mut tcb = Tcb::example(20);
        tcb.view.rtt.sample(Time::ZERO, min_us, min_us, tcb.view.una, tcb.view.nxt);
        let mut rapid = RapidStart::default();
        rapid.restart(&tcb.view);
        rapid.on_ack(&tcb.view, &tcb.control, Some(rtt_us));
        (rapid, tcb)
    }

    /// At 20 ms the threshold is a tenth, 22 ms; at 100 ms it is 4 ms, 104. At it the window still triples.
    #[test]
    fn it_triples_until_a_queue_is_built() {
        for (min, rtt, growth) in [
            (20_000, 20_000, 10),
            (20_000, 22_000, 10),
            (20_000, 22_001, 5),
            (100_000, 104_000, 10),
            (100_000, 104_001, 5),
        ] {
            let (rapid, tcb) = at(min, rtt);
            assert_eq!(rapid.growth(&tcb.view, 5), growth, "{min} {rtt}");
        }
    }

    /// The floor is the round's: a sample of 20 ms hides one of 30 in the same round, and not in the next.
    #[test]
    fn the_floor_is_that_of_the_round() {
        let (mut rapid, mut tcb) = at(20_000, 20_000);
        rapid.on_ack(&tcb.view, &tcb.control, Some(30_000));
        assert!(!rapid.builds_a_queue(&tcb.view));
        tcb.view.una = rapid.round_end;
        tcb.view.nxt = tcb.view.una + 20;
        rapid.on_ack(&tcb.view, &tcb.control, None);
        assert!(!rapid.builds_a_queue(&tcb.view), "no sample yet");
        rapid.on_ack(&tcb.view, &tcb.control, Some(30_000));
        assert!(rapid.builds_a_queue(&tcb.view));
    }

    /// The text's numbers for β of a half: silence 5/6, an acknowledged segment 1/3, a lost one 5/6. A window of 120, with
    /// 60 held by path and queue: 60 are delivered and 60 lost: 100 − 20 − 50 = 30, half of 60. With 40 held, the least of all, 40 and 80:
    /// 100 − 13.3 − 66.7 = 20, half of 40. For β of 0.7 and 100 held of 150: 150 · 0.9 − 100 · 0.2 − 50 · 0.9 = 70.
    #[test]
    fn it_ends_at_beta_times_what_is_held() {
        for (cwnd, left, delivered, lost, ends) in [
            (120, 60, 60, 60, 30),
            (120, 60, 40, 80, 20),
            (150, 105, 100, 50, 70),
            (60, 30, 60, 0, 30),
        ] {
            let mut rapid = RapidStart::default();
            let mut tcb = Tcb::example(cwnd);
            tcb.control.ssthresh = INFINITE_SSTHRESH;
            assert!(rapid.begin(&tcb.control, left));
            assert_eq!(rapid.reduce(0, 0), Some((cwnd * 2 + left + 1) / 3), "the silence");
            let mut window = 0;
            for step in 0..delivered.max(lost) {
                window = rapid.reduce(u32::from(step < delivered), u32::from(step < lost)).unwrap();
            }
            assert_eq!(window, ends);
            // Twice what is held.
            let held = rapid.end().unwrap();
            assert!(held.abs_diff(2 * delivered) <= 2, "{held}");
            assert!(rapid.is_over() && rapid.reduce(1, 0).is_none());
        }
    }

    /// Not below a third of β times the window, however much is lost; and once only.
    #[test]
    fn it_is_bounded_and_happens_once() {
        let mut rapid = RapidStart::default();
        let mut tcb = Tcb::example(120);
        tcb.control.ssthresh = INFINITE_SSTHRESH;
        assert!(rapid.begin(&tcb.control, 60));
        assert_eq!(rapid.reduce(0, 1000), Some(20));
        rapid.end();
        assert!(!rapid.begin(&tcb.control, 60));
        let mut late = RapidStart::default();
        tcb.control.ssthresh = 80;
        assert!(!late.begin(&tcb.control, 60), "slow start was over");
        let mut given_up = RapidStart::default();
        given_up.give_up();
        assert_eq!(given_up.growth(&tcb.view, 5), 5);
    }
}
