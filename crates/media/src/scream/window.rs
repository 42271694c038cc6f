//! The reference window (§4.2.1.3, §4.2.2): reduced when there is congestion, and grown with what is acknowledged.
//!
//! The order is the text's: the scale near the inflection point is that of the window as it was; then the reduction; then
//! growth, which happens together with a reduction, too. That makes two marks a round trip the balance of a scalable
//! control.
//!
//! Where the text can be read in two ways: `ref_wnd_lowest` is set with a reduction, as its description has it, and not with
//! each update, as the indentation of the pseudocode does. `ref_wnd_delay_scale`, which the text uses and never
//! defines, is `latency_diff_ref_wnd_scale_t`. The window is not cut to whole bytes.

use super::constants::{
    ACKED_BITRATE_MARGIN, BACKOFF_SCALE_LOW_TARGET_RATE, BETA_ECN, BETA_LOSS,
    BYTES_IN_FLIGHT_HEAD_ROOM, L4S_ALPHA_INTERVAL, L4S_AVG_G, LOSS_RATE_THRESHOLD, MIN_REF_WND,
    MUL_INCREASE_FACTOR, POST_CONGESTION_DELAY_RTTS, REF_WND_I_UPDATE_MAX_HOLD_RTTS, VIRTUAL_RTT,
};
use sojourn_units::Time;

/// The input of the window's update: the state of everything else when a report has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    pub(super) now: Time,
    /// Smoothed round trip, seconds.
    pub(super) s_rtt: f64,
    pub(super) qdelay: f64,
    pub(super) qdelay_avg: f64,
    pub(super) qdelay_target: f64,
    pub(super) latency_diff_avg: f64,
    pub(super) mss: f64,
    /// Marks are those of L4S.
    pub(super) is_l4s: bool,
    pub(super) bytes_newly_acked: f64,
    pub(super) bytes_newly_acked_ce: f64,
    pub(super) max_bytes_in_flight: f64,
    pub(super) max_bytes_in_flight_prev: f64,
    /// Bits per second.
    pub(super) target_bitrate: f64,
    pub(super) target_bitrate_max: f64,
    /// Losses count only above this rate of them or with a delay (§4.5.2); the rate that there is.
    pub(super) loss_rate: Option<f64>,
    /// Reductions are smaller while the target is below this rate (§4.5.3).
    pub(super) acked_bitrate: Option<f64>,
}

/// The signs of congestion since the window was last reduced.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    lost: bool,
    marked: bool,
}

/// The reason of a reduction.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Loss,
    Mark,
    /// The queue's delay, as if so much had been marked.
    Delay(f64),
}

/// The share of packets that are marked.
#[derive(Clone, Debug, Default)]
struct Alpha {
    value: f64,
    delivered: u32,
    marked: u32,
    updated: Option<Time>,
}

/// The reference window, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) ref_wnd: f64,
    /// Where it was when congestion was last met.
    pub(super) ref_wnd_i: f64,
    ref_wnd_lowest: f64,
    ref_wnd_i_update_allowed: bool,
    ref_wnd_i_updated: Option<Time>,
    /// Whether there has been congestion.
    pub(super) is_congestion_detected: bool,
    congestion_detected: Option<Time>,
    reacted: Option<Time>,
    seen: Seen,
    alpha: Alpha,
    qdelay_avg_prev: f64,
}

/// Seconds since then; for ever if it never was.
fn since(now: Time, then: Option<Time>) -> f64 {
    then.map_or(f64::INFINITY, |then| now.since(then).as_secs_f64())
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            ref_wnd_lowest: 0.0,
            ref_wnd_i_update_allowed: true,
            ref_wnd_i_updated: None,
            is_congestion_detected: false,
            congestion_detected: None,
            reacted: None,
            seen: Seen::default(),
            alpha: Alpha::default(),
            qdelay_avg_prev: 0.0,
        }
    }

    /// The averaged share of marked packets.
    pub(super) const fn l4s_alpha(&self) -> f64 {
        self.alpha.value
    }

    /// `received` packets were received, `marked` of them with CE, and `lost` are lost.
    pub(super) fn see(&mut self, now: Time, s_rtt: f64, received: u32, marked: u32, lost: u32) {
        self.seen.lost |= lost > 0;
        self.seen.marked |= marked > 0;
        let alpha = &mut self.alpha;
        alpha.delivered += received;
        alpha.marked += marked;
        if alpha.delivered > 0 && since(now, alpha.updated) >= L4S_ALPHA_INTERVAL.min(s_rtt) {
            let fraction = f64::from(alpha.marked) / f64::from(alpha.delivered);
            alpha.value = L4S_AVG_G * fraction + (1.0 - L4S_AVG_G) * alpha.value;
            (alpha.updated, alpha.delivered, alpha.marked) = (Some(now), 0, 0);
        }
    }

    /// Reduces and grows.
    pub(super) fn update(&mut self, inputs: &Inputs) {
        let near = (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i * 8.0;
        let scl = (near * near).clamp(0.1, 1.0);
        if self.seen.lost || self.seen.marked {
            self.congestion_detected = Some(inputs.now);
        }
        if let Some(event) = self.event(inputs) {
            self.is_congestion_detected = true;
            self.note_inflection(inputs);
            self.reduce(event, scl, inputs);
            self.ref_wnd_lowest = self.ref_wnd;
            self.reacted = Some(inputs.now);
            self.seen = Seen::default();
        }
        self.qdelay_avg_prev = inputs.qdelay_avg;
        self.grow(scl, inputs);
    }

    /// The reason for which the window is to be reduced now.
    fn event(&self, inputs: &Inputs) -> Option<Event> {
        let (avg, half) = (inputs.qdelay_avg, inputs.qdelay_target / 2.0);
        if since(inputs.now, self.reacted) < VIRTUAL_RTT.min(inputs.s_rtt) {
            return None;
        }
        if self.seen.lost {
            // §4.5.2, which replaces the inner of the text's conditions and not the choice between them.
            let counts = |rate| rate > LOSS_RATE_THRESHOLD || avg > inputs.qdelay_target / 4.0;
            return inputs.loss_rate.is_none_or(counts).then_some(Event::Loss);
        }
        if self.seen.marked {
            return Some(Event::Mark);
        }
        let grows = avg >= self.qdelay_avg_prev;
        (avg > half && grows).then(|| Event::Delay(((avg - half) / half).clamp(0.0, 1.0)))
    }

    fn note_inflection(&mut self, inputs: &Inputs) {
        let held = since(inputs.now, self.ref_wnd_i_updated);
        if self.ref_wnd > self.ref_wnd_lowest * 1.05
            || held > REF_WND_I_UPDATE_MAX_HOLD_RTTS * inputs.s_rtt
        {
            self.ref_wnd_i_update_allowed = true;
        }
        if self.ref_wnd_i_update_allowed {
            self.ref_wnd_i = self.ref_wnd;
            self.ref_wnd_i_update_allowed = false;
            self.ref_wnd_i_updated = Some(inputs.now);
        }
    }

    fn reduce(&mut self, event: Event, scl: f64, inputs: &Inputs) {
        // A reaction can come each VIRTUAL_RTT, more often than a long round trip has it.
        let often = (inputs.s_rtt / VIRTUAL_RTT).max(1.0);
        let is_low = |acked: f64| inputs.target_bitrate < acked * ACKED_BITRATE_MARGIN;
        let low = if inputs.acked_bitrate.is_some_and(is_low) {
            BACKOFF_SCALE_LOW_TARGET_RATE
        } else {
            1.0
        };
        let keep = match event {
            Event::Loss => BETA_LOSS,
            Event::Mark if !inputs.is_l4s => BETA_ECN,
            Event::Mark => {
                let mut backoff = self.alpha.value / 2.0 / often;
                if inputs.qdelay < inputs.qdelay_target * 0.25 {
                    backoff *= scl.max(0.25);
                    backoff *= (1.0 - inputs.latency_diff_avg).max(0.25);
                }
                if since(inputs.now, self.reacted) > 100.0 * VIRTUAL_RTT.max(inputs.s_rtt) {
                    self.ref_wnd = self.ref_wnd.min(inputs.max_bytes_in_flight_prev);
                }
                1.0 - backoff * low
            }
            Event::Delay(alpha) => 1.0 - alpha / 2.0 / often * low,
        };
        self.ref_wnd = (self.ref_wnd * keep).max(MIN_REF_WND);
    }

    fn grow(&mut self, scl: f64, inputs: &Inputs) {
        let steady = 1.0 - inputs.latency_diff_avg;
        let rounds = since(inputs.now, self.congestion_detected)
            / (POST_CONGESTION_DELAY_RTTS * VIRTUAL_RTT.max(inputs.s_rtt));
        let post_congestion = rounds.clamp(0.0, 1.0) * steady;

        let ref_wnd_ratio = (inputs.mss / self.ref_wnd).min(1.0);
        let unmarked = inputs.bytes_newly_acked - inputs.bytes_newly_acked_ce;
        let mut increment = unmarked.max(0.0) * ref_wnd_ratio / (4.0 - 3.0 * steady);
        increment *= (inputs.s_rtt / VIRTUAL_RTT).min(1.0);
        increment *= scl.max(0.25);
        if !inputs.is_l4s {
            increment *= steady.max(0.1);
        }
        increment *= 1.0 + MUL_INCREASE_FACTOR * self.ref_wnd / inputs.mss * post_congestion;

        let most = inputs.max_bytes_in_flight.max(inputs.max_bytes_in_flight_prev);
        let max_allowed = inputs.mss + most * BYTES_IN_FLIGHT_HEAD_ROOM;
        let grown = self.ref_wnd + increment;
        if grown <= max_allowed
            && inputs.target_bitrate < inputs.target_bitrate_max
            && increment > 0.0
        {
            self.ref_wnd = grown;
            self.ref_wnd_i_update_allowed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of 50 ms, 30 000 bytes in flight, nothing acknowledged, no delay.
    fn inputs(now: Time) -> Inputs {
        Inputs {
            now,
            s_rtt: 0.05,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_target: 0.06,
            latency_diff_avg: 0.0,
            mss: 1_000.0,
            is_l4s: true,
            bytes_newly_acked: 0.0,
            bytes_newly_acked_ce: 0.0,
            max_bytes_in_flight: 30_000.0,
            max_bytes_in_flight_prev: 30_000.0,
            target_bitrate: 1e6,
            target_bitrate_max: 1e7,
            loss_rate: None,
            acked_bitrate: None,
        }
    }

    fn window(ref_wnd: f64) -> Window {
        Window { ref_wnd, ..Window::new() }
    }

    const AT: Time = Time::from_secs(100);

    fn near(ours: f64, expected: f64) {
        assert!(
            (ours - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{ours}, expected {expected}"
        );
    }

    /// 20 000 bytes acknowledged with a window of 20 000 are one MSS, and 2 % of the window: 1 + 0.02·20 times as much. The
    /// first growth has no inflection point near.
    #[test]
    fn growth_is_a_segment_and_two_percent_a_round_trip() {
        let mut window = window(20_000.0);
        window.update(&Inputs { bytes_newly_acked: 20_000.0, ..inputs(AT) });
        near(window.ref_wnd, 21_400.0);
    }

    /// The same 2 s after a mark, of 100 round trips of 50 ms: two fifths of the multiplicative part. At a round trip of 10 ms
    /// additive growth is two fifths, and the 100 round trips count 25 ms each.
    #[test]
    fn growth_is_held_back_after_congestion_and_with_short_round_trips() {
        let mut after = window(20_000.0);
        after.congestion_detected = Some(Time::from_secs(98));
        after.update(&Inputs { bytes_newly_acked: 20_000.0, ..inputs(AT) });
        near(after.ref_wnd, 21_160.0);
        let mut short = window(20_000.0);
        short.congestion_detected = Some(Time::from_secs(99));
        short.update(&Inputs { s_rtt: 0.01, bytes_newly_acked: 20_000.0, ..inputs(AT) });
        near(short.ref_wnd, 20_000.0 + 400.0 * (1.0 + 0.4 * 0.4));
    }

    /// One part in sixteen of the old inflection point: (1/16·8)² is a quarter; and at it a tenth, but a quarter at least.
    #[test]
    fn growth_is_slow_near_the_inflection_point() {
        for (ref_wnd, scale) in
            [(17_000.0, 0.25), (16_000.0, 0.25), (18_000.0, 1.0), (17_500.0, 0.5625)]
        {
            let mut window = window(ref_wnd);
            window.ref_wnd_i = 16_000.0;
            window.congestion_detected = Some(AT);
            window.update(&Inputs { bytes_newly_acked: ref_wnd, ..inputs(AT) });
            near(window.ref_wnd, ref_wnd + 1_000.0 * scale);
        }
    }

    /// Not beyond one and a half times what was in flight and a segment, and not at the highest rate.
    #[test]
    fn growth_needs_bytes_in_flight_and_room_for_the_rate() {
        let acked = Inputs { bytes_newly_acked: 20_000.0, ..inputs(AT) };
        for (tight, expected) in [
            (
                Inputs { max_bytes_in_flight: 13_500.0, max_bytes_in_flight_prev: 0.0, ..acked },
                20_000.0,
            ),
            (
                Inputs { max_bytes_in_flight: 13_700.0, max_bytes_in_flight_prev: 0.0, ..acked },
                21_400.0,
            ),
            (Inputs { target_bitrate: 1e7, ..acked }, 20_000.0),
        ] {
            let mut window = window(20_000.0);
            window.update(&tight);
            near(window.ref_wnd, expected);
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_a_classic_mark_eight() {
        for (marked, lost, expected) in [(0, 1, 14_000.0), (1, 0, 16_000.0), (1, 1, 14_000.0)] {
            let mut window = window(20_000.0);
            window.see(AT, 0.05, 10, marked, lost);
            window.update(&Inputs { is_l4s: false, ..inputs(AT) });
            near(window.ref_wnd, expected);
            near(window.ref_wnd_i, 20_000.0);
            // Within a virtual round trip there is no second reduction; behind it there is one.
            window.see(AT, 0.05, 10, marked, lost);
            let soon = Time::from_millis(100_024);
            window.update(&Inputs { is_l4s: false, ..inputs(soon) });
            near(window.ref_wnd, expected);
            let later = Time::from_millis(100_025);
            window.update(&Inputs { is_l4s: false, ..inputs(later) });
            assert!(window.ref_wnd < expected * 0.81);
        }
    }

    /// Half of the packets marked: alpha goes to 1/32. The round trip is two virtual ones: a backoff of 1/128. Far from the
    /// inflection point nothing reduces it; at it the quarter does. With a delay above 15 ms neither counts.
    #[test]
    fn a_scalable_mark_reduces_by_half_of_alpha() {
        for (ref_wnd_i, qdelay, backoff) in
            [(1.0, 0.0, 1.0 / 128.0), (20_000.0, 0.0, 1.0 / 512.0), (20_000.0, 0.016, 1.0 / 128.0)]
        {
            let mut window = window(20_000.0);
            window.ref_wnd_i = ref_wnd_i;
            window.reacted = Some(Time::from_secs(99));
            window.see(AT, 0.05, 10, 5, 0);
            near(window.l4s_alpha(), 1.0 / 32.0);
            window.update(&Inputs { qdelay, ..inputs(AT) });
            near(window.ref_wnd, 20_000.0 * (1.0 - backoff));
        }
    }

    /// More than 100 round trips of 50 ms after the last reaction the window is first cut to what was in flight.
    #[test]
    fn after_long_without_congestion_the_window_is_what_was_in_flight() {
        for (reacted, base) in [(94, 12_000.0), (96, 20_000.0)] {
            let mut window = window(20_000.0);
            window.reacted = Some(Time::from_secs(reacted));
            window.see(AT, 0.05, 10, 5, 0);
            window.update(&Inputs { max_bytes_in_flight_prev: 12_000.0, ..inputs(AT) });
            near(window.ref_wnd, base * (1.0 - 1.0 / 128.0));
        }
    }

    /// From half of the target of 60 ms on: at 45 ms half as if marked, a quarter off, an eighth with two virtual round trips.
    /// An average that sinks is no sign; one as high as before is.
    #[test]
    fn delay_counts_as_marks() {
        for (avg, before, factor) in
            [(0.030, 0.0, 1.0), (0.045, 0.045, 0.875), (0.2, 0.0, 0.75), (0.045, 0.046, 1.0)]
        {
            let mut window = window(20_000.0);
            window.qdelay_avg_prev = before;
            window.update(&Inputs { qdelay_avg: avg, ..inputs(AT) });
            near(window.ref_wnd, 20_000.0 * factor);
        }
    }

    /// The share is averaged each 10 ms, over what was received since.
    #[test]
    fn alpha_is_an_average_of_sixteen_updates() {
        let mut window = window(20_000.0);
        window.see(Time::from_millis(10), 0.05, 4, 4, 0);
        near(window.l4s_alpha(), 0.0625);
        window.see(Time::from_millis(15), 0.05, 4, 4, 0);
        near(window.l4s_alpha(), 0.0625);
        window.see(Time::from_millis(20), 0.05, 4, 0, 0);
        near(window.l4s_alpha(), 0.5 / 16.0 + 0.0625 * 15.0 / 16.0);
        // Without a packet there is no share.
        window.see(Time::from_millis(60), 0.05, 0, 0, 0);
        near(window.l4s_alpha(), 0.5 / 16.0 + 0.0625 * 15.0 / 16.0);
    }

    #[test]
    fn the_optional_rules_hold_reductions_back() {
        // §4.5.2: half a percent of losses without a delay is none of congestion's.
        for (loss_rate, qdelay_avg, expected) in
            [(0.005, 0.0, 20_000.0), (0.02, 0.0, 14_000.0), (0.005, 0.016, 14_000.0)]
        {
            let mut window = window(20_000.0);
            window.see(AT, 0.05, 10, 0, 1);
            window.update(&Inputs { loss_rate: Some(loss_rate), qdelay_avg, ..inputs(AT) });
            near(window.ref_wnd, expected);
        }
        // §4.5.3: a target below 0.8 of what is acknowledged leaves a quarter of the reduction.
        for (acked, expected) in [(1.2e6, 0.875), (1.3e6, 0.968_75)] {
            let mut window = window(20_000.0);
            window.update(&Inputs { qdelay_avg: 0.045, acked_bitrate: Some(acked), ..inputs(AT) });
            near(window.ref_wnd, 20_000.0 * expected);
        }
    }

    #[test]
    fn the_window_is_never_below_its_least() {
        let mut window = window(3_100.0);
        window.see(AT, 0.05, 10, 0, 1);
        window.update(&inputs(AT));
        near(window.ref_wnd, MIN_REF_WND);
    }

    /// The balance of a scalable control, which the text claims: with two marks a round trip each of them is one segment up and
    /// half of alpha down. Growth is of the reduced window, which makes it greater by one part in the number of
    /// segments less one.
    #[test]
    fn two_marks_a_round_trip_are_the_balance() {
        for segments in [10_u32, 40, 200] {
            let before = f64::from(segments) * 1_000.0;
            let mut window = window(before);
            window.alpha.value = 2.0 / f64::from(segments);
            window.reacted = Some(Time::from_millis(99_975));
            window.see(AT, 0.025, segments, 2, 0);
            window.update(&Inputs {
                s_rtt: 0.025,
                max_bytes_in_flight: before,
                bytes_newly_acked: before,
                ..inputs(AT)
            });
            near(window.ref_wnd - before, 1_000.0 / f64::from(segments - 1));
        }
    }
}
