//! SEARCH 3.0 (draft-chung-ccwg-search, the text of June 2024): slow start ends when what was delivered over the last
//! three and a half RTTs is clearly less than twice what was delivered up to one RTT ago.
//!
//! Invariants: it acts in the first slow start of a connection alone; bins are as long as a tenth of the window of 3.5 times
//! the first RTT, and are judged when one is over, never in between.
//!
//! The sums are of segments where the text has bytes: with one segment size it is the same. Its `cwnd -= overshoot` is done.
//! An RTT of fifteen bins, which the text admits, is not looked back: its bins are 25, and the sum would need a 26th.

use crate::cc::{Control, INFINITE_SSTHRESH, MIN_CWND, View};
use sojourn_units::{Span, Time};

/// Bins that are compared (`W`), and further ones for looking back by an RTT (`EXTRA_BINS`).
const COMPARED: usize = 10;
const EXTRA: usize = 15;
const KEPT: usize = COMPARED + EXTRA;
/// The window, in tenths of the first RTT.
const WINDOW_TENTHS: u64 = 35;
/// The allowed shortfall from the double, in hundredths (`THRESH`).
const MISSING_PERCENT: u64 = 35;

/// State of SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    /// Deliveries by bin, the bin's number modulo their count.
    bins: [u32; KEPT],
    /// Bins that are over.
    over: usize,
    bin: Span,
    bin_end: Time,
    /// Deliveries when the last bin was over.
    delivered: u32,
    first_rtt: Option<Span>,
    ended: bool,
    /// The last comparison: the shortfall from the double, in thousandths.
    missing: Option<i64>,
}

impl Search {
    /// At rest.
    #[expect(clippy::new_without_default, reason = "it begins with a connection: restart")]
    pub fn new() -> Self {
        Self {
            bins: [0; KEPT],
            over: 0,
            bin: Span::ZERO,
            bin_end: Time::ZERO,
            delivered: 0,
            first_rtt: None,
            ended: false,
            missing: None,
        }
    }

    /// A connection begins.
    pub fn restart(&mut self, view: &View) {
        *self = Self { delivered: view.delivered, ..Self::new() };
        if view.rtt.srtt_us() > 0 {
            self.begin(view, view.rtt.srtt_us());
        }
    }

    /// The first RTT is known.
    fn begin(&mut self, view: &View, rtt_us: u32) {
        let rtt = Span::from_micros(u64::from(rtt_us.max(1)));
        self.first_rtt = Some(rtt);
        self.bin = rtt * WINDOW_TENTHS / (10 * COMPARED as u64);
        self.bin_end = view.now + self.bin;
    }

    /// An ACK of new data, with its RTT if it gave one. Sets window and threshold when slow start is to end.
    pub fn on_ack(&mut self, view: &View, control: &mut Control, rtt_us: Option<u32>) {
        self.ended |= control.ssthresh != INFINITE_SSTHRESH;
        let Some(rtt_us) = rtt_us.filter(|_| !self.ended) else { return };
        let Some(first_rtt) = self.first_rtt else {
            self.begin(view, rtt_us);
            return;
        };
        if view.now <= self.bin_end {
            return;
        }
        self.pass_bins(view);
        let rtt = Span::from_micros(u64::from(rtt_us));
        if self.is_full(rtt) {
            self.ended = true;
            let since = (first_rtt * 2).as_nanos() / self.bin.as_nanos().max(1);
            let overshoot = self.sum(self.over - 1, since as usize);
            control.cwnd = control.cwnd.saturating_sub(overshoot).max(MIN_CWND);
            control.ssthresh = control.cwnd;
        }
    }

    /// One bin is over, or more where no ACK has come for long: these had nothing.
    fn pass_bins(&mut self, view: &View) {
        let width = self.bin.as_nanos().max(1);
        let passed = view.now.since(self.bin_end).as_nanos() / width + 1;
        self.bin_end += self.bin * passed;
        for _ in 1..passed.min(KEPT as u64 + 1) {
            self.bins[self.over % KEPT] = 0;
            self.over += 1;
        }
        self.bins[self.over % KEPT] = view.delivered.wrapping_sub(self.delivered);
        self.over += 1;
        self.delivered = view.delivered;
    }

    /// Deliveries of the `count` bins that end with bin `last`.
    fn sum(&self, last: usize, count: usize) -> u32 {
        (0..count.min(last + 1).min(KEPT)).map(|back| self.bins[(last - back) % KEPT]).sum()
    }

    /// Whether deliveries have stopped doubling.
    fn is_full(&mut self, rtt: Span) -> bool {
        let width = self.bin.as_nanos().max(1);
        let (back, rest) = (rtt.as_nanos() / width, rtt.as_nanos() % width);
        let current = self.over - 1;
        let Some(previous) = usize::try_from(back).ok().and_then(|b| current.checked_sub(b)) else {
            return false;
        };
        if previous < COMPARED || current - previous >= EXTRA {
            return false;
        }
        // Widths of a bin: an RTT is seldom a multiple of one, so that the window of then begins and ends within bins.
        let (width, rest) = (u128::from(width), u128::from(rest));
        let now = u128::from(self.sum(current, COMPARED)) * width;
        let whole = u128::from(self.sum(previous, COMPARED)) * width;
        let first = u128::from(self.bins[(previous - COMPARED) % KEPT]) * rest;
        let last = u128::from(self.bins[previous % KEPT]) * rest;
        let double = 2 * (whole + first - last);
        if double == 0 {
            return false;
        }
        let missing = double as i128 - now as i128;
        self.missing = Some((missing * 1_000 / double as i128) as i64);
        missing * 100 >= double as i128 * i128::from(MISSING_PERCENT)
    }

    /// What was missing of the double in the last comparison, 0 while it doubles and a half where it stands still; `None`
    /// before the first.
    pub fn missing(&self) -> Option<f64> {
        self.missing.map(|thousandths| thousandths as f64 / 1_000.0)
    }

    /// Whether it has ended slow start, or will not act any more.
    pub fn is_over(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcb::Tcb;

    /// A path of 100 ms with these deliveries by bin of 35 ms; one ACK right behind the end of each bin.
    fn play(deliveries: impl Iterator<Item = u32>) -> (Search, Tcb, Option<usize>) {
        let mut tcb = Tcb::example(1_000_000);
        let mut search = Search::new();
        search.restart(&tcb.view);
        search.on_ack(&tcb.view, &mut tcb.control, Some(100_000));
        assert_eq!(search.bin, Span::from_millis(35));
        let mut ended = None;
        for (bin, delivered) in deliveries.enumerate() {
            tcb.view.now += Span::from_millis(35);
            tcb.view.delivered += delivered;
            let late = Span::from_micros(1);
            tcb.view.now += late;
            search.on_ack(&tcb.view, &mut tcb.control, Some(100_000));
            tcb.view.now = tcb.view.now - late;
            if ended.is_none() && search.is_over() {
                ended = Some(bin);
            }
        }
        (search, tcb, ended)
    }

    /// As many segments a bin as double every 100 ms.
    fn doubling(bin: usize) -> u32 {
        libm::round(10.0 * libm::exp2(bin as f64 * 0.35)) as u32
    }

    /// While it doubles nothing is missing, and slow start goes on.
    #[test]
    fn it_does_not_end_while_deliveries_double() {
        let (search, tcb, ended) = play((0..30).map(doubling));
        assert_eq!(ended, None);
        assert!(search.missing().unwrap().abs() < 0.02, "{:?}", search.missing());
        assert_eq!(tcb.control.ssthresh, INFINITE_SSTHRESH);
    }

    /// From bin 20 on the path is full. By hand, with the sums of a stream that doubles every 1/0.35 bins and then stands:
    /// 0.35 is missing in the sixth bin after, 2.0 RTTs on, and what those RTTs added is taken off again: the 5 whole bins
    /// in two RTTs of 100 ms.
    #[test]
    fn it_ends_two_rtts_after_the_path_is_full() {
        let full = doubling(20);
        let (_, tcb, ended) = play((0..40).map(|bin| doubling(bin).min(full)));
        let expected =
            (20..40).find(|&bin| by_hand(bin, |b| f64::from(doubling(b).min(full))) >= 0.35);
        assert_eq!(ended, expected);
        assert!(matches!(ended, Some(25..=27)), "{ended:?}");
        assert_eq!(tcb.control.cwnd, 1_000_000 - 5 * full);
        assert_eq!(tcb.control.ssthresh, tcb.control.cwnd);
    }

    /// The text's formula on whole sequences, with real numbers: the shortfall behind bin `bin`, an RTT being 100/35
    /// bins.
    fn by_hand(bin: usize, delivered: impl Fn(usize) -> f64) -> f64 {
        let (back, rest) = (2, 100.0 / 35.0 - 2.0);
        let current: f64 = (bin - 9..=bin).map(&delivered).sum();
        let end = bin - back;
        let between: f64 = (end - 9..end).map(&delivered).sum();
        let previous = delivered(end - 10) * rest + between + delivered(end) * (1.0 - rest);
        (2.0 * previous - current) / (2.0 * previous)
    }

    /// The first comparison needs ten bins before the RTT that is looked back: with an RTT of 2.9 bins it is behind bin 12.
    #[test]
    fn the_first_comparison_needs_enough_bins() {
        assert_eq!(play((0..12).map(doubling)).0.missing(), None);
        assert!(play((0..13).map(doubling)).0.missing().is_some());
    }

    /// No ACK for a second: the bins in between had nothing, which is a path that stands still, not one that is unknown.
    #[test]
    fn a_silence_fills_bins_with_nothing() {
        let (mut search, mut tcb, _) = play((0..20).map(doubling));
        let over = search.over;
        tcb.view.now += Span::from_millis(351);
        search.on_ack(&tcb.view, &mut tcb.control, Some(100_000));
        assert_eq!(search.over, over + 10);
        assert_eq!(search.sum(search.over - 1, 10), 0);
        assert!(search.is_over());
    }

    /// An RTT of more than fifteen bins cannot be looked back.
    #[test]
    fn an_rtt_beyond_the_bins_is_not_judged() {
        let (mut search, mut tcb, _) = play((0..12).map(doubling));
        for _ in 0..20 {
            tcb.view.now += Span::from_millis(36);
            search.on_ack(&tcb.view, &mut tcb.control, Some(600_000));
        }
        assert_eq!(search.missing(), None);
        assert!(!search.is_over());
    }
}
