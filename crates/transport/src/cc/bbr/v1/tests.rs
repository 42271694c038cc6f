//! ACKs worked out by hand on a path of 20 ms, ticks of 4 ms, segments of 1448 bytes; then random ones.

use super::state::{Aggregation, LEAST_CWND};
use super::*;
use crate::rate_sample::RateSample;
use crate::stack::examples::LINUX_7_3;
use crate::tcb::Tcb;
use proptest::prelude::*;
use sojourn_units::{Span, Time};

const RTT_US: u32 = 20_000;

/// A connection and what its next ACK will tell.
struct Bed {
    bbr: Bbr,
    tcb: Tcb,
    rtt_us: u32,
    app_limited: bool,
    delayed: bool,
    lost: u32,
    /// How long pacing holds the next burst back.
    wait: Span,
}

impl Bed {
    /// Established with this window; the handshake took 20 ms.
    fn new(cwnd: u32) -> Self {
        let (mut bbr, mut tcb) = (Bbr::new(&LINUX_7_3), Tcb::example(cwnd));
        tcb.view.rtt.sample(tcb.view.now, RTT_US, RTT_US, 0, 0);
        bbr.init(&tcb.view, &mut tcb.control);
        let wait = Span::ZERO;
        Self { bbr, tcb, rtt_us: RTT_US, app_limited: false, delayed: false, lost: 0, wait }
    }

    /// Sets the number of packets in flight, before the next ACK and after it.
    fn in_flight(&mut self, packets: u32) {
        self.tcb.view.packets_out = packets;
    }

    fn later(&mut self, us: u64) -> &mut Self {
        self.tcb.view.now += Span::from_micros(us);
        self
    }

    /// The next ACK shows `packets` losses.
    fn lose(&mut self, packets: u32) -> &mut Self {
        self.tcb.view.lost += packets;
        self.lost = packets;
        self
    }

    /// An ACK of `delivered`; its newest packet left when `prior` had been delivered, `rate` of them in 20 ms.
    fn tell(&mut self, delivered: u32, prior: u32, rate: Option<u32>) {
        self.tcb.view.delivered += delivered;
        if delivered > 0 {
            self.tcb.view.delivered_at = self.tcb.view.now;
        }
        let app_limited = self.app_limited;
        let sample = ControlSample {
            delivered,
            lost: std::mem::take(&mut self.lost),
            rtt_us: (delivered > 0).then_some(self.rtt_us),
            rate: rate.map(|n| RateSample { delivered: n, interval_us: RTT_US, app_limited }),
            prior_delivered: (delivered > 0).then_some(prior),
            prior_in_flight: self.tcb.view.packets_out,
            ack_delayed: self.delayed,
            next_departure: self.tcb.view.now + self.wait,
            ..ControlSample::default()
        };
        self.bbr.cong_control(&self.tcb.view, &mut self.tcb.control, &sample);
        self.tcb.note_app_limited();
    }

    /// A round trip later, an ACK of `packets` that begins a round, at the rate of `packets` a round trip.
    fn round(&mut self, packets: u32) {
        self.later(u64::from(RTT_US));
        self.tell(packets, self.bbr.round_end, Some(packets));
    }

    /// An ACK now, in a round, with a rate that is no news.
    fn ack(&mut self, delivered: u32) {
        self.ack_within_round(delivered);
    }

    fn ack_within_round(&mut self, delivered: u32) {
        let prior = self.bbr.round_end.wrapping_sub(1);
        self.tell(delivered, prior, (delivered > 0).then_some(1));
    }

    fn ack_ending_round(&mut self, delivered: u32) {
        let prior = self.bbr.round_end;
        self.tell(delivered, prior, (delivered > 0).then_some(delivered));
    }
}

/// 2/ln 2 = 2.8854: 738.6/256, rounded up. Its inverse is rounded down: a little slower than needed.
#[test]
fn gains_are_the_kernels() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
}

/// Ten packets a round trip of 20 ms: 10·2^24/20000 = 8388. Times 1448 bytes, 739/256 and 0.99: 2 068 934 B/s.
#[test]
fn the_first_pace_is_the_window_over_the_rtt() {
    let b = Bed::new(10);
    assert_eq!(b.tcb.control.pacing_rate, 2_068_934);
    assert!(b.tcb.control.paced && b.bbr.mode == Mode::Startup);
    // 2068934 / 1024 is 2020 bytes, less than two segments: two.
    assert_eq!(b.bbr.with_bursts(&b.tcb.view, &b.tcb.control, 10), 16);
    // Below 1.2 Mbit/s one by one.
    let mut b = Bed::new(10);
    b.tcb.control.pacing_rate = 149_999;
    assert_eq!(
        (
            b.bbr.min_tso_segs(&b.tcb.view, &b.tcb.control),
            b.bbr.with_bursts(&b.tcb.view, &b.tcb.control, 10)
        ),
        (1, 14)
    );
    b.tcb.control.pacing_rate = 150_000;
    assert_eq!(b.bbr.min_tso_segs(&b.tcb.view, &b.tcb.control), 2);
}

/// The pipe is full after three rounds without a quarter more than the last growth: 49 is not 1.25 · 40; 50 is, and
/// the count starts over; 62 is not 62.5.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut b = Bed::new(10);
    for (packets, rounds_without) in [(10, 0), (20, 0), (40, 0), (49, 1), (50, 0), (55, 1), (62, 2)]
    {
        b.in_flight(124);
        b.round(packets);
        let gains = (b.bbr.pacing_gain, b.bbr.cwnd_gain);
        assert_eq!((b.bbr.full_bw_rounds, gains), (rounds_without, (739, 739)), "{packets}");
        assert!(!b.bbr.full_pipe && b.bbr.mode == Mode::Startup);
    }
    // What an application's pause held back counts neither way.
    b.app_limited = true;
    b.round(30);
    assert_eq!((b.bbr.full_bw_rounds, b.bbr.mode), (2, Mode::Startup));
    b.app_limited = false;
    b.round(60);
    assert!(b.bbr.full_pipe);
    assert_eq!((b.bbr.mode, b.bbr.pacing_gain, b.bbr.cwnd_gain), (Mode::Drain, 88, 739));
    // 62 packets, and three bursts of 8: 12.83 MB/s for a millisecond are 12.5 kB.
    assert_eq!(b.tcb.control.ssthresh, 86);
}

/// A bed with its pipe full at 62 packets, draining, 124 of them in flight.
fn draining() -> Bed {
    let mut b = Bed::new(10);
    b.in_flight(124);
    for packets in [10, 20, 40, 62, 62, 62, 62] {
        b.round(packets);
    }
    assert_eq!(b.bbr.mode, Mode::Drain);
    b
}

/// Drain lasts until what is in flight is 62 packets and three bursts of two (1.53 MB/s, a burst a millisecond).
#[test]
fn drain_ends_at_the_product() {
    let mut b = draining();
    b.in_flight(69);
    b.ack(2);
    assert_eq!((b.bbr.mode, b.bbr.phase_began), (Mode::Drain, Time::ZERO));
    b.in_flight(68);
    b.ack(2);
    assert_eq!((b.bbr.mode, b.bbr.cwnd_gain), (Mode::ProbeBw, 512));
    assert_eq!(b.bbr.phase_began, b.tcb.view.now);
    assert_ne!(b.bbr.phase, 1);
    // Packets that arrive before the next burst leaves do not count: 62 packets in 20 ms are 3 in a millisecond.
    let mut b = draining();
    b.wait = Span::from_millis(1);
    b.in_flight(71);
    b.ack(2);
    assert_eq!(b.bbr.mode, Mode::ProbeBw);
}

/// Any phase but the second, each as often, by the seed and nothing else.
#[test]
fn the_cycle_begins_where_the_seed_says() {
    let mut seen = [0_u32; 8];
    for seed in 0..7_000 {
        let first = |name| {
            let mut b = draining();
            b.bbr.seed(Random::named(seed, name));
            b.in_flight(60);
            b.ack(2);
            b.bbr.phase
        };
        assert_eq!(first("flow/a/cc"), first("flow/a/cc"));
        seen[first("flow/a/cc") as usize] += 1;
    }
    assert_eq!(seen[1], 0);
    // Seven alike: 1000 ± 29.
    assert!(seen.iter().enumerate().all(|(i, n)| i == 1 || n.abs_diff(1_000) < 120), "{seen:?}");
}

/// A bed in this phase of the cycle, at 62 packets, its window and what is in flight as they would be.
fn cycling(phase: u32) -> Bed {
    let mut b = draining();
    b.in_flight(60);
    b.ack(2);
    // The queue of an earlier mode is gone, and the pace is the phase's.
    b.bbr.phase = phase;
    b.bbr.phase_began = b.tcb.view.delivered_at;
    b.bbr.choose_gains();
    b.bbr.pace(&b.tcb.view, &mut b.tcb.control, b.bbr.pacing_gain);
    b
}

/// One phase: more than a minimum RTT at a gain of one; at 1.25 also until 1.25 products and bursts are in flight, or
/// something is lost; at 0.75 no longer than until it is down to the product.
#[test]
fn phases_end_by_time_and_by_what_is_in_flight() {
    // 20 ms are not more than 20 ms.
    let mut b = cycling(4);
    b.later(20_000).ack(2);
    assert_eq!(b.bbr.phase, 4);
    b.later(1).ack(2);
    assert_eq!((b.bbr.phase, b.bbr.pacing_gain), (5, 256));
    // At 1.25 · 4.444 MB/s a burst has 3. ⌈77.5⌉ + 9, rounded up, + 2: 90 are aimed at; the next burst counts.
    let mut b = cycling(0);
    assert_eq!(b.bbr.pacing_gain, 320);
    b.in_flight(86);
    b.later(20_001).ack(2);
    assert_eq!(b.bbr.phase, 0);
    b.in_flight(87);
    b.ack(2);
    assert_eq!((b.bbr.phase, b.bbr.pacing_gain), (1, 192));
    let mut b = cycling(0);
    b.later(20_001).lose(1).ack(2);
    assert_eq!(b.bbr.phase, 1, "so much does not fit");
    // At 0.75 a burst has 2: 62 + 6.
    let mut b = cycling(1);
    b.in_flight(69);
    b.later(5_000).ack(2);
    assert_eq!(b.bbr.phase, 1);
    b.in_flight(68);
    b.ack(2);
    assert_eq!(b.bbr.phase, 2);
    let mut b = cycling(1);
    b.in_flight(80);
    b.later(20_001).ack(2);
    assert_eq!(b.bbr.phase, 2);
    // Eight make a cycle.
    let mut b = cycling(7);
    b.later(20_001).ack(2);
    assert_eq!((b.bbr.phase, b.bbr.pacing_gain), (0, 320));
}

/// The window goes to 2 · 62 packets, three bursts and what heaps of ACKs need, and no further.
#[test]
fn the_window_is_twice_the_product() {
    let mut b = cycling(4);
    b.bbr.aggregation = Aggregation::default();
    b.tcb.control.cwnd = 100;
    b.in_flight(100);
    b.bbr.aggregation.epoch.begin(b.tcb.view.now);
    b.ack(10);
    assert_eq!(b.tcb.control.cwnd, 110);
    b.tcb.control.cwnd = 500;
    b.later(1_000).ack(2);
    // 124; ten packets acknowledged at once; bursts of 4.444 MB/s · 1 ms, of 2: 140.
    assert_eq!(b.tcb.control.cwnd, 140);
}

/// Heaps: 30 packets at once every 10 ms where 3.1 a millisecond are expected. Each heap finds the last one's epoch
/// run out (30 ≤ 31), so the excess is a heap: 30. Two halves of a heap within a millisecond make one of 27.
#[test]
fn heaps_of_acknowledgements_widen_the_window() {
    let mut b = cycling(4);
    b.bbr.aggregation = Aggregation::default();
    b.later(10_000).ack(30);
    assert_eq!(b.bbr.aggregation_cwnd(), 30);
    b.later(10_000).ack(30);
    assert_eq!(b.bbr.aggregation_cwnd(), 30);
    let mut b = cycling(4);
    b.bbr.aggregation = Aggregation::default();
    b.later(10_000).ack(15);
    b.later(1_000).ack(15);
    assert_eq!(b.bbr.aggregation_cwnd(), 27);
    // Forgotten after 5 to 10 rounds.
    for _ in 0..10 {
        b.round(1);
    }
    assert!(b.bbr.aggregation_cwnd() <= 1);
    // Never more than the rate brings in 100 ms: 310.
    b.bbr.aggregation.slots.most = [1_000, 0];
    assert_eq!(b.bbr.aggregation_cwnd(), 309);
}

/// The lowest RTT holds ten seconds; then the window is four packets from the time on that four are in flight, for
/// more than 50 ticks and a round. Afterwards the window is as before, and the cycle goes on.
#[test]
fn probe_rtt_stays_low_for_200_ms_and_a_round() {
    let mut b = cycling(4);
    b.tcb.control.cwnd = 130;
    b.rtt_us = RTT_US + 5_000;
    b.tcb.view.now = Time::from_millis(4 * u64::from(b.bbr.min_rtt_at) + 10_000);
    b.in_flight(100);
    b.ack(2);
    assert_eq!((b.bbr.mode, b.bbr.min_rtt_us), (Mode::ProbeBw, RTT_US), "ten seconds are not more");
    let cwnd = b.tcb.control.cwnd;
    b.later(4_000).ack(2);
    // A lower RTT has not come: the latest one counts from now on.
    assert_eq!((b.bbr.mode, b.bbr.min_rtt_us), (Mode::ProbeRtt, RTT_US + 5_000));
    assert_eq!((b.tcb.control.cwnd, b.bbr.prior_cwnd, b.bbr.pacing_gain), (4, cwnd, 256));
    // What is delivered now says nothing of the rate.
    assert_eq!(b.tcb.view.app_limited, Some(b.tcb.view.delivered + 100));
    b.in_flight(5);
    b.later(20_000).ack(2);
    assert_eq!(b.bbr.probe_rtt_until, None);
    b.in_flight(4);
    b.later(4_000).ack(2);
    let began = b.tcb.view.jiffies();
    assert_eq!(b.bbr.probe_rtt_until, Some(began + 50));
    b.rtt_us = RTT_US;
    b.later(180_000).round(4);
    assert_eq!((b.bbr.mode, b.tcb.control.cwnd), (Mode::ProbeRtt, 4), "not after 200 ms");
    b.later(4_000).ack(2);
    assert_eq!((b.bbr.mode, b.bbr.min_rtt_us), (Mode::ProbeBw, RTT_US));
    // The window before, and the two that were delivered.
    assert_eq!((b.tcb.control.cwnd, b.bbr.min_rtt_at), (cwnd + 2, began + 51));
    assert_ne!(b.bbr.phase, 1);
}

/// If the pipe was not full before, it goes back to fill it; a round that is not over keeps it.
#[test]
fn probe_rtt_goes_back_to_startup() {
    let mut b = Bed::new(10);
    b.round(10);
    b.rtt_us = RTT_US + 1;
    b.in_flight(4);
    b.later(10_004_000).ack(2);
    assert_eq!(b.bbr.mode, Mode::ProbeRtt);
    b.later(400_000).ack_within_round(2);
    assert_eq!(b.bbr.mode, Mode::ProbeRtt, "no round yet");
    b.round(2);
    assert_eq!((b.bbr.mode, b.bbr.full_pipe), (Mode::Startup, false));
}

/// A flow that begins again after the application paused does not go to ProbeRtt, but takes the first RTT for the
/// lowest, and paces at the rate, not faster.
#[test]
fn a_pause_takes_the_place_of_probe_rtt() {
    let mut b = cycling(0);
    b.tcb.view.app_limited = Some(b.tcb.view.delivered);
    b.later(20_000_000);
    b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::TxStart { idle_jiffies: 5_000 });
    // ⌊52009 · 1448 · 990000 / 2^24⌋.
    assert_eq!((b.bbr.restarting, b.tcb.control.pacing_rate), (true, 4_443_880));
    b.rtt_us = RTT_US + 3_000;
    b.ack(2);
    assert_eq!((b.bbr.mode, b.bbr.min_rtt_us), (Mode::ProbeBw, RTT_US + 3_000));
    assert!(!b.bbr.restarting);
    // Without a pause it would have.
    let mut b = cycling(0);
    b.rtt_us = RTT_US + 3_000;
    b.later(20_000_000).ack(2);
    assert_eq!(b.bbr.mode, Mode::ProbeRtt);
    // An ACK that has waited says nothing of the path.
    let mut b = cycling(0);
    (b.rtt_us, b.delayed) = (RTT_US + 40_000, true);
    b.later(20_000_000).ack(2);
    assert_eq!(b.bbr.min_rtt_us, RTT_US);
}

/// A policer of 40 packets a round, a fifth lost and more. Sampling begins with the first loss. The interval's first
/// round is its own, so after three more 120 have come in 60 ms: 2 a millisecond. Four rounds later it is the same
/// again, and taken for the path's: 120·2^24/60000 = 33554. It is used for 48 rounds.
#[test]
fn a_policer_is_found_in_two_intervals() {
    let mut b = cycling(4);
    b.round(40);
    assert!(!b.bbr.policer.sampling);
    for i in 1..=4 {
        b.lose(20).round(40);
        assert!(b.bbr.policer.sampling && !b.bbr.policer.used);
        assert_eq!(b.bbr.policer.bw, if i == 4 { 33_554 } else { 0 });
    }
    for _ in 0..3 {
        b.lose(20).round(40);
        assert!(!b.bbr.policer.used);
    }
    b.lose(20).round(40);
    assert_eq!((b.bbr.policer.rate(), b.bbr.bw()), (Some(33_554), 33_554));
    assert_eq!((b.bbr.mode, b.bbr.pacing_gain), (Mode::ProbeBw, 256));
    // ⌊33554 · 1448 · 990000 / 2^24⌋.
    assert_eq!(b.tcb.control.pacing_rate, 2_867_003);
    for round in 1..48 {
        b.round(40);
        assert!(b.bbr.policer.used, "{round}");
    }
    b.round(40);
    assert!(!b.bbr.policer.used);
    assert_ne!(b.bbr.phase, 1);
}

/// Not a policer: a tenth lost; rates a fifth apart; an application that pauses; no loss for 16 rounds.
#[test]
fn what_is_not_a_policer() {
    let mut b = cycling(4);
    (0..12).for_each(|_| b.lose(4).round(40));
    assert_eq!(b.bbr.policer.bw, 0, "4 of 40 are 25/256");
    let mut b = cycling(4);
    (0..4).for_each(|_| b.lose(20).round(40));
    (0..4).for_each(|_| b.lose(20).round(32));
    // Rounds take as long, so the rate is the second one's.
    assert_eq!((b.bbr.policer.used, b.bbr.policer.bw), (false, 26_843));
    (0..4).for_each(|_| b.lose(20).round(30));
    assert_eq!(b.bbr.policer.rate(), Some(u32::midpoint(26_843, 25_165)), "a sixteenth apart");
    let mut b = cycling(4);
    b.lose(20).round(40);
    b.app_limited = true;
    b.round(40);
    assert!(!b.bbr.policer.sampling);
    let mut b = cycling(4);
    b.lose(20).round(40);
    (0..15).for_each(|_| b.round(40));
    assert!(b.bbr.policer.sampling);
    b.round(40);
    assert!(!b.bbr.policer.sampling, "16 rounds are too long");
}

/// Recovery: a packet out for a packet delivered, for a round; then slow start; at its end the window before it.
#[test]
fn recovery_conserves_packets_and_gives_the_window_back() {
    let mut b = cycling(4);
    b.tcb.control.cwnd = 120;
    b.in_flight(90);
    assert_eq!(b.bbr.ssthresh(&b.tcb.view, &b.tcb.control), b.tcb.control.ssthresh);
    b.tcb.view.ca_state = CaState::Recovery;
    b.in_flight(87);
    b.lose(1).ack_within_round(2);
    assert_eq!((b.tcb.control.cwnd, b.bbr.prior_cwnd, b.bbr.conserving), (89, 120, true));
    b.in_flight(89 - 4);
    b.lose(3).ack_within_round(1);
    // 89 − 3 lost, but 85 + 1 for 1.
    assert_eq!(b.tcb.control.cwnd, 86);
    b.in_flight(84);
    b.round(2);
    assert_eq!((b.tcb.control.cwnd, b.bbr.conserving), (88, false));
    b.tcb.view.ca_state = CaState::Open;
    b.bbr.aggregation = Aggregation::default();
    b.bbr.aggregation.epoch.begin(b.tcb.view.now);
    b.ack_within_round(2);
    assert_eq!(b.tcb.control.cwnd, 122);
    // ECN's reduction is none.
    b.bbr.ssthresh(&b.tcb.view, &b.tcb.control);
    b.tcb.view.ca_state = CaState::Cwr;
    b.ack_within_round(2);
    assert_eq!(b.tcb.control.cwnd, 124);
}

/// A timeout: the window begins at one and grows to the target; the rate and its history stay, but Startup looks for
/// growth again. Undo restores the window at once.
#[test]
fn a_timeout_and_its_undo() {
    let mut b = cycling(4);
    b.tcb.control.cwnd = 120;
    let bw = b.bbr.bw();
    b.bbr.ssthresh(&b.tcb.view, &b.tcb.control);
    b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::Loss);
    b.tcb.control.cwnd = 1;
    b.bbr.set_state(&b.tcb.view, &mut b.tcb.control, CaState::Loss);
    b.tcb.view.ca_state = CaState::Loss;
    assert_eq!((b.bbr.full_bw, b.bbr.round_start, b.bbr.policer.sampling), (0, true, true));
    b.in_flight(1);
    b.ack_within_round(1);
    assert_eq!((b.tcb.control.cwnd, b.bbr.bw()), (4, bw));
    b.ack_within_round(2);
    assert_eq!(b.tcb.control.cwnd, 6);
    assert_eq!(b.bbr.undo_cwnd(&b.tcb.view, &b.tcb.control), 6);
    assert!(!b.bbr.policer.sampling && b.bbr.full_pipe);
    b.bbr.set_state(&b.tcb.view, &mut b.tcb.control, CaState::Open);
    b.tcb.view.ca_state = CaState::Open;
    b.ack_within_round(1);
    assert_eq!(b.tcb.control.cwnd, 121);
}

/// Which mode may follow which.
#[test]
fn the_table_of_modes() {
    use Mode::{Drain, ProbeBw, ProbeRtt, Startup};
    let all = [Startup, Drain, ProbeBw, ProbeRtt];
    let row = |from| all.map(|to| u8::from(Mode::may_follow(from, to)));
    assert_eq!(all.map(row), [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1], [1, 0, 1, 0]]);
}

/// A random ACK, or a change of state.
#[derive(Clone, Debug)]
enum Step {
    Ack {
        delivered: u32,
        lost: u32,
        later_us: u64,
        in_flight: u32,
        rtt_us: u32,
        new_round: bool,
        app_limited: bool,
        wait_us: u64,
    },
    To(CaState),
    Undo,
    Restart,
}

prop_compose! {
    fn any_ack()(
        delivered in 0_u32..40,
        lost in prop_oneof![3 => Just(0), 1 => 0_u32..30],
        later_us in prop_oneof![8 => 1_u64..5_000, 1 => 1_u64..12_000_000],
        in_flight in prop_oneof![1 => 0_u32..5, 3 => 0_u32..300],
        rtt_us in 1_000_u32..200_000,
        new_round: bool,
        app_limited in proptest::bool::weighted(0.1),
        wait_us in 0_u64..3_000,
    ) -> Step {
        Step::Ack { delivered, lost, later_us, in_flight, rtt_us, new_round, app_limited, wait_us }
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any_ack(),
        1 => Just(Step::To(CaState::Open)),
        1 => Just(Step::To(CaState::Recovery)),
        1 => Just(Step::To(CaState::Cwr)),
        1 => Just(Step::To(CaState::Loss)),
        1 => Just(Step::Undo),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    /// Whatever comes, the modes follow each other as the table says (asserted where they change), the pipe once full
    /// stays so, gains are those of the mode, and the window keeps to its bounds.
    #[test]
    fn invariants_hold(steps in proptest::collection::vec(any_step(), 1..400), seed: u64) {
        let mut b = Bed::new(10);
        b.bbr.seed(Random::named(seed, "cc"));
        for step in steps {
            let full = b.bbr.full_pipe;
            let Step::Ack { delivered, lost, later_us, in_flight, rtt_us, new_round, app_limited, wait_us } = step else {
                match step {
                    Step::To(to) if to != b.tcb.view.ca_state => {
                        if to != CaState::Open {
                            let kept = b.bbr.ssthresh(&b.tcb.view, &b.tcb.control);
                            prop_assert_eq!(kept, b.tcb.control.ssthresh);
                        }
                        b.bbr.set_state(&b.tcb.view, &mut b.tcb.control, to);
                        b.tcb.view.ca_state = to;
                    }
                    Step::Undo => b.tcb.control.cwnd = b.bbr.undo_cwnd(&b.tcb.view, &b.tcb.control),
                    Step::Restart => {
                        b.tcb.view.app_limited = Some(b.tcb.view.delivered);
                        b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::TxStart { idle_jiffies: 1 });
                    }
                    _ => {}
                }
                continue;
            };
            b.in_flight(in_flight);
            (b.rtt_us, b.app_limited, b.wait) = (rtt_us, app_limited, Span::from_micros(wait_us));
            b.later(later_us).lose(lost);
            let before = b.tcb.control.cwnd;
            if new_round { b.ack_ending_round(delivered) } else { b.ack_within_round(delivered) }
            let (bbr, tcb) = (&b.bbr, &b.tcb);
            prop_assert!(bbr.full_pipe || !full);
            prop_assert!(bbr.phase < 8 && tcb.control.cwnd >= 1 && tcb.control.pacing_rate > 0);
            prop_assert!(bbr.mode != Mode::ProbeRtt || tcb.control.cwnd <= LEAST_CWND);
            prop_assert!(bbr.mode == Mode::ProbeRtt || delivered == 0 || bbr.conserving || tcb.control.cwnd >= LEAST_CWND);
            // An ACK of P lets out 2P at most; the end of recovery or ProbeRtt gives back what was had.
            let given_back = before.max(bbr.prior_cwnd).max(in_flight).max(LEAST_CWND);
            prop_assert!(tcb.control.cwnd <= given_back + delivered, "{} from {before}", tcb.control.cwnd);
            prop_assert!(bbr.min_rtt_us <= RTT_US.max(200_000));
            let gains = match bbr.mode {
                Mode::Startup => [739, 739],
                Mode::Drain => [88, 739],
                Mode::ProbeBw if bbr.policer.used || bbr.phase > 1 => [256, 512],
                Mode::ProbeBw => [[320, 512], [192, 512]][bbr.phase as usize],
                Mode::ProbeRtt => [256, 256],
            };
            prop_assert_eq!([bbr.pacing_gain, bbr.cwnd_gain], gains);
            prop_assert!(matches!(bbr.mode, Mode::Startup | Mode::ProbeRtt) || bbr.full_pipe);
        }
    }
}
