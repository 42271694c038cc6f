//! SEARCH 4.0: slow start stops growing when deliveries stay well behind the data of one RTT earlier, and then drains
//! the queue instead of cutting the window at once.
//!
//! Source: the behaviour of the authors' Linux module 4.0 (maryam-ataei/TCP_SS_SEARCH_ALG, August 2026).
//! draft-chung-ccwg-search-10 drains in the same way: one segment leaves for three delivered ones. We could not read
//! the body of -10; draft -09 compares the same sums against 26 % instead of the module's 35.
//!
//! Invariants: bins are a tenth of 3.5 times the first RTT long, and a bin is judged when it is over; the window grows
//! by no ACK from the verdict to the end of the drain; the drain never takes the window below its target, and ends
//! there.
//!
//! Bins hold running totals, so a window of ten bins is a difference of two of them, and a silent bin repeats the last
//! total. The sums count segments without the module's 16-bit scaling. The module restarts its bins with the coarse
//! clock of an idle restart; here the same clock decides, from the time of the last transmission.

use crate::cc::{Control, View};
use sojourn_units::{Span, Time};

/// Bins that are compared (`SEARCH_BINS`).
const COMPARED: usize = 10;
/// Totals kept of acknowledged and of sent segments (`SEARCH_ACKED_BINS`, `SEARCH_SENT_BINS`).
const ACKED: usize = COMPARED + 1;
const SENT: usize = COMPARED + 40;
/// Bins that the comparison may look back, less than this.
const LOOKED_BACK: usize = 39;
/// The window, in tenths of the first RTT.
const WINDOW_TENTHS: u64 = 35;
/// Least shortfall from the sent segments that ends the growth, in hundredths (`search_thresh`).
const MISSING_PERCENT: u64 = 35;
/// In the drain, one segment may leave for this number of delivered ones (`SEARCH_DRAIN_ACKEDSEG_THRESH`).
const DRAIN_DIVISOR: u32 = 3;
/// The drain's target is at least this (`TCP_INIT_CWND`), segments.
const LEAST_TARGET: u32 = 10;

/// The drain.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Where it ends: the deliveries of the last RTT, segments.
    target: u32,
    /// Deliveries at the last ACK, and those that have not yet made up a third.
    delivered: u32,
    left: u32,
}

/// State of SEARCH 4.0.
#[derive(Clone, Debug)]
pub struct Search4 {
    /// Totals of acknowledged and sent segments at the end of each bin, the bin's number modulo their count.
    acked: [u32; ACKED],
    sent: [u32; SENT],
    /// The newest bin that is over; `None` before the first ACK.
    current: Option<usize>,
    bin: Span,
    bin_end: Time,
    drain: Option<Drain>,
    /// The shortfall of the last comparison, in thousandths.
    missing: Option<i64>,
    drained: bool,
}

impl Search4 {
    /// At rest.
    #[expect(clippy::new_without_default, reason = "it begins with a connection: restart")]
    pub fn new() -> Self {
        Self {
            acked: [0; ACKED],
            sent: [0; SENT],
            current: None,
            bin: Span::ZERO,
            bin_end: Time::ZERO,
            drain: None,
            missing: None,
            drained: false,
        }
    }

    /// A connection begins, or begins again after a timeout or after idleness: the next RTT is the first one.
    pub fn restart(&mut self) {
        *self = Self::new();
    }

    /// Segments by which the window grows for `acked` delivered ones: none in the drain.
    pub fn growth(&self, acked: u32) -> u32 {
        if self.drain.is_some() { 0 } else { acked }
    }

    /// An ACK of new data, with its RTT if it gave one. In the drain it sets the window, and the threshold at the end.
    pub fn on_ack(&mut self, view: &View, control: &mut Control, rtt_us: Option<u32>) {
        let Some(rtt_us) = rtt_us.filter(|_| control.in_slow_start()) else { return };
        if let Some(drain) = &mut self.drain {
            if drain.step(view, control) {
                *self = Self { missing: self.missing, drained: true, ..Self::new() };
            }
            return;
        }
        let rtt = Span::from_micros(u64::from(rtt_us.max(1)));
        let Some(current) = self.current else {
            self.begin(view, rtt);
            return;
        };
        if view.now < self.bin_end {
            return;
        }
        let current = self.pass_bins(view, current);
        if self.is_full(current, rtt) {
            self.drain = self.target(current).map(|target| Drain {
                target,
                delivered: view.delivered,
                left: 0,
            });
        }
    }

    fn begin(&mut self, view: &View, rtt: Span) {
        self.bin = rtt * WINDOW_TENTHS / (10 * COMPARED as u64);
        self.bin_end = view.now + self.bin;
        self.current = Some(0);
        (self.acked[0], self.sent[0]) = (view.una, view.nxt);
        self.drained = false;
    }

    /// One bin is over, or more where no ACK has come for long: in these nothing was sent and acknowledged. The newest
    /// one.
    fn pass_bins(&mut self, view: &View, current: usize) -> usize {
        let passed = view.now.since(self.bin_end).as_nanos() / self.bin.as_nanos().max(1) + 1;
        self.bin_end += self.bin * passed;
        // A longer silence looks like one of all the bins kept.
        let newest = current + passed as usize;
        let (acked, sent) = (self.acked[current % ACKED], self.sent[current % SENT]);
        for silent in (current + 1).max(newest.saturating_sub(SENT))..newest {
            (self.acked[silent % ACKED], self.sent[silent % SENT]) = (acked, sent);
        }
        (self.acked[newest % ACKED], self.sent[newest % SENT]) = (view.una, view.nxt);
        self.current = Some(newest);
        newest
    }

    /// Segments acknowledged after bin `left`, up to the end of bin `right`.
    fn acked_between(&self, left: usize, right: usize) -> u32 {
        self.acked[right % ACKED].wrapping_sub(self.acked[left % ACKED])
    }

    /// Segments sent in bin `bin`; the first one includes all before it.
    fn sent_in(&self, bin: usize) -> u64 {
        let before = bin.checked_sub(1).map_or(0, |before| self.sent[before % SENT]);
        u64::from(self.sent[bin % SENT].wrapping_sub(before))
    }

    /// Whether deliveries have fallen too far behind the segments sent one RTT before.
    fn is_full(&mut self, current: usize, rtt: Span) -> bool {
        let width = self.bin.as_nanos().max(1);
        let (back, part) = (rtt.as_nanos() / width, (rtt.as_nanos() % width) * 100 / width);
        let then = usize::try_from(back).ok().and_then(|back| current.checked_sub(back));
        let Some(then) = then.filter(|&bin| bin >= COMPARED && current - bin < LOOKED_BACK) else {
            return false;
        };
        // An RTT is seldom a multiple of a bin: the window of then begins and ends within bins.
        let left = then - COMPARED;
        let whole = u64::from(self.sent[(then - 1) % SENT].wrapping_sub(self.sent[left % SENT]));
        let sent =
            whole + self.sent_in(left) * part / 100 + self.sent_in(then) * (100 - part) / 100;
        let delivered = u64::from(self.acked_between(current - COMPARED, current));
        if sent == 0 {
            return false;
        }
        self.missing = Some((sent as i64 - delivered as i64) * 1_000 / sent as i64);
        sent >= delivered && (sent - delivered) * 100 / sent >= MISSING_PERCENT
    }

    /// Deliveries of the newest bins that make up the first RTT, rounded up to whole bins.
    fn target(&self, current: usize) -> Option<u32> {
        let width = self.bin.as_nanos().max(1);
        let first_rtt = width * (10 * COMPARED as u64) / WINDOW_TENTHS;
        let bins = first_rtt.div_ceil(width) as usize;
        let from = current.checked_sub(bins).filter(|_| bins < ACKED)?;
        Some(self.acked_between(from, current).max(LEAST_TARGET))
    }

    /// The shortfall of the last comparison as a share of the sent segments, 0 while deliveries keep up; `None` before
    /// the first.
    pub fn missing(&self) -> Option<f64> {
        self.missing.map(|thousandths| thousandths as f64 / 1_000.0)
    }

    /// The drain's target in segments while it drains.
    pub fn drains_to(&self) -> Option<u32> {
        self.drain.map(|drain| drain.target)
    }

    /// Whether a drain has ended slow start.
    pub fn is_over(&self) -> bool {
        self.drained
    }
}

impl Drain {
    /// An ACK: the window that lets a third of the deliveries leave, never below the target. True when slow start ends
    /// there.
    fn step(&mut self, view: &View, control: &mut Control) -> bool {
        self.left += view.delivered.wrapping_sub(self.delivered);
        self.delivered = view.delivered;
        let may_leave = self.left / DRAIN_DIVISOR;
        self.left %= DRAIN_DIVISOR;
        control.cwnd = (view.in_flight() + may_leave).max(self.target);
        let ended = control.cwnd == self.target;
        if ended {
            control.ssthresh = control.cwnd;
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::INFINITE_SSTHRESH;
    use crate::tcb::Tcb;

    const BIN: Span = Span::from_millis(35);

    struct Path {
        search: Search4,
        tcb: Tcb,
    }

    impl Path {
        /// A path of 100 ms after its first ACK, with these segments sent and acknowledged before.
        fn new(sent: u32, acked: u32) -> Self {
            let mut tcb = Tcb::example(1_000_000);
            (tcb.view.nxt, tcb.view.una, tcb.view.delivered) = (sent, acked, acked);
            tcb.view.packets_out = sent - acked;
            let mut path = Self { search: Search4::new(), tcb };
            path.ack(Some(100_000));
            assert_eq!(path.search.bin, BIN);
            path
        }

        fn ack(&mut self, rtt_us: Option<u32>) {
            self.search.on_ack(&self.tcb.view, &mut self.tcb.control, rtt_us);
        }

        /// A bin passes, in which these segments are sent and acknowledged.
        fn bin(&mut self, sent: u32, acked: u32) {
            let view = &mut self.tcb.view;
            view.now += BIN;
            (view.nxt, view.una, view.delivered) =
                (view.nxt + sent, view.una + acked, view.delivered + acked);
            view.packets_out = view.nxt - view.una;
            self.ack(Some(100_000));
        }
    }

    /// Acknowledged segments after `bins` bins, in total: they double every 100 ms, 20/7 bins. The sent ones are an
    /// RTT ahead.
    fn doubling(bins: f64) -> f64 {
        100.0 * libm::exp2(bins * 0.35)
    }

    fn rounded(total: f64) -> u32 {
        libm::round(total) as u32
    }

    /// Plays bins from 1 on with these totals, up to the one that begins the drain.
    fn play(bins: usize, sent: impl Fn(f64) -> f64, acked: impl Fn(f64) -> f64) -> (Path, usize) {
        let total = |f: &dyn Fn(f64) -> f64, bin: usize| rounded(f(bin as f64));
        let mut path = Path::new(total(&sent, 0), total(&acked, 0));
        for bin in 1..=bins {
            let step = |f: &dyn Fn(f64) -> f64| total(f, bin) - total(f, bin - 1);
            path.bin(step(&sent), step(&acked));
            if path.search.drains_to().is_some() {
                return (path, bin);
            }
        }
        (path, bins)
    }

    /// While deliveries double they equal the segments of one RTT before, and slow start goes on. An RTT is 2.857
    /// bins, cut to 85 % of a bin: the sum interpolates linearly within curved bins, so two thousandths may be
    /// missing.
    #[test]
    fn it_goes_on_while_deliveries_keep_up() {
        let (path, bin) = play(30, |bin| doubling(bin + 100.0 / 35.0), doubling);
        assert_eq!((bin, path.search.drains_to()), (30, None));
        assert!(path.search.missing().unwrap().abs() <= 0.005, "{:?}", path.search.missing());
        assert_eq!(path.tcb.control.ssthresh, INFINITE_SSTHRESH);
    }

    /// From bin 20 on the path delivers no more a bin than it did there, and the sender, which doubles what is
    /// delivered, sends twice as much. The formula by real numbers gives the bin: (sent − delivered)/sent reaches
    /// 0.35. The target is the delivery of three bins, the 1.05 RTTs that whole bins make of one.
    #[test]
    fn it_drains_to_what_one_rtt_delivers() {
        let slope = doubling(20.0) - doubling(19.0);
        let acked = move |bin: f64| {
            if bin <= 20.0 { doubling(bin) } else { slope.mul_add(bin - 20.0, doubling(20.0)) }
        };
        let sent = move |bin: f64| {
            if bin <= 20.0 {
                doubling(bin + 100.0 / 35.0)
            } else {
                (2.0 * slope).mul_add(bin - 20.0, doubling(20.0 + 100.0 / 35.0))
            }
        };
        let missing = |bin: f64| {
            let then = bin - 100.0 / 35.0;
            let (sent, acked) = (sent(then) - sent(then - 10.0), acked(bin) - acked(bin - 10.0));
            (sent - acked) / sent
        };
        let by_hand = (13..60).find(|&bin| missing(f64::from(bin)) >= 0.35).unwrap();
        let (path, bin) = play(60, sent, acked);
        assert!(bin.abs_diff(by_hand as usize) <= 1, "{bin} {by_hand}");
        let expected = rounded(acked(bin as f64)) - rounded(acked(bin as f64 - 3.0));
        assert_eq!(path.search.drains_to(), Some(expected));
        assert_eq!(path.search.growth(7), 0, "no ACK grows the window in the drain");
    }

    /// By hand: target 40, 50 in flight. ACKs of two: 48 + 0 (two of three), 46 + 1 (four: one and one left), 45 + 1
    /// (three), and the window is in flight again, less what was delivered. At 40 slow start ends.
    #[test]
    fn one_segment_leaves_for_three_delivered() {
        let mut path = Path::new(150, 100);
        path.tcb.control.cwnd = 90;
        path.search.drain = Some(Drain { target: 40, delivered: 100, left: 0 });
        let mut windows = Vec::new();
        while path.search.drain.is_some() {
            let view = &mut path.tcb.view;
            (view.una, view.delivered) = (view.una + 2, view.delivered + 2);
            view.packets_out -= 2;
            path.ack(Some(120_000));
            windows.push(path.tcb.control.cwnd);
            // What the window allows leaves.
            let view = &mut path.tcb.view;
            view.nxt += path.tcb.control.cwnd - view.packets_out;
            view.packets_out = path.tcb.control.cwnd;
        }
        assert_eq!(windows, [48, 47, 46, 44, 43, 42, 40]);
        assert_eq!(path.tcb.control.ssthresh, 40);
        assert!(path.search.is_over() && path.search.growth(7) == 7);
    }

    /// Ten segments are the least target, and a flight below it ends the drain at once.
    #[test]
    fn the_target_is_the_initial_window_at_least() {
        let mut path = Path::new(10, 0);
        for _ in 0..12 {
            path.bin(0, 0);
        }
        assert_eq!(path.search.target(12), Some(10));
        path.search.drain = Some(Drain { target: 10, delivered: path.tcb.view.delivered, left: 0 });
        path.tcb.view.packets_out = 4;
        path.ack(Some(100_000));
        assert_eq!((path.tcb.control.cwnd, path.tcb.control.ssthresh), (10, 10));
    }

    /// The first comparison needs ten bins before the RTT that is looked back: with 2.857 bins an RTT it is that of
    /// bin 12.
    #[test]
    fn the_first_comparison_needs_enough_bins() {
        let sent = |bin: f64| doubling(bin + 100.0 / 35.0);
        assert_eq!(play(11, sent, doubling).0.search.missing(), None);
        assert!(play(12, sent, doubling).0.search.missing().is_some());
    }

    /// A silence of ten bins repeats the totals: the window of deliveries is then empty, that of one RTT before is
    /// not, and the drain begins. An ACK without an RTT changes nothing.
    #[test]
    fn a_silence_is_bins_without_progress() {
        let sent = |bin: f64| doubling(bin + 100.0 / 35.0);
        let (mut path, _) = play(20, sent, doubling);
        path.tcb.view.now += BIN * 10;
        path.ack(None);
        assert_eq!(path.search.current, Some(20));
        path.ack(Some(100_000));
        assert_eq!(path.search.current, Some(30));
        assert_eq!(path.search.acked_between(20, 30), 0);
        assert_eq!(path.search.missing(), Some(1.0));
        assert_eq!(path.search.drains_to(), Some(10));
        // Longer than all bins: nothing is left to compare with.
        let (mut path, _) = play(20, sent, doubling);
        path.tcb.view.now += Span::from_secs(100);
        path.ack(Some(100_000));
        assert_eq!(path.search.drains_to(), None);
    }

    /// Above the threshold it has no say: a loss has ended slow start.
    #[test]
    fn a_loss_ends_it() {
        let mut path = Path::new(150, 100);
        path.search.drain = Some(Drain { target: 40, delivered: 100, left: 0 });
        (path.tcb.control.cwnd, path.tcb.control.ssthresh) = (60, 60);
        path.ack(Some(100_000));
        assert_eq!(path.tcb.control.cwnd, 60);
    }
}
