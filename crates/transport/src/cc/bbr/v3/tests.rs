//! ACKs worked out by hand on a path of 20 ms, ticks of 4 ms, segments of 1448 bytes; then random ones.

use super::memory::LEAST_CWND;
use super::parts::{AckPhase, Aggregation, MaxBw};
use super::rules::Rules;
use super::settings::Settings;
use super::*;
use crate::cc::SegmentState;
use crate::ecn::Agreed;
use crate::rate_sample::RateSample;
use crate::stack::examples::LINUX_7_3;
use crate::tcb::Tcb;
use proptest::prelude::*;
use sojourn_units::Span;

const RTT_US: u32 = 20_000;

/// A connection and what its next ACK will tell.
struct Bed<V> {
    bbr: Bbr3<V>,
    tcb: Tcb,
    rtt_us: u32,
    app_limited: bool,
    delayed: bool,
    ece: bool,
    lost: u32,
    sent: Option<SegmentState>,
    wait: Span,
}

impl<V: Version> Bed<V> {
    /// Established with a window of ten; the handshake took 20 ms.
    fn new() -> Self {
        let (mut bbr, mut tcb) = (Bbr3::<V>::new(&LINUX_7_3), Tcb::example(10));
        tcb.view.rtt.sample(tcb.view.now, RTT_US, RTT_US, 0, 0);
        tcb.view.ecn = Agreed::Rfc3168;
        // So that a segment may have left long ago.
        tcb.view.lost = 1_000;
        bbr.init(&tcb.view, &mut tcb.control);
        Self {
            bbr,
            tcb,
            rtt_us: RTT_US,
            app_limited: false,
            delayed: false,
            ece: false,
            lost: 0,
            sent: None,
            wait: Span::ZERO,
        }
    }

    fn in_flight(&mut self, packets: u32) -> &mut Self {
        self.tcb.view.packets_out = packets;
        self
    }

    fn later(&mut self, us: u64) -> &mut Self {
        self.tcb.view.now += Span::from_micros(us);
        self
    }

    /// An ACK of `delivered`; its newest packet left when `prior` had been delivered; `rate` of them in 20 ms.
    fn tell(&mut self, delivered: u32, prior: u32, rate: Option<u32>) {
        self.tcb.view.delivered += delivered;
        if delivered > 0 {
            self.tcb.view.delivered_at = self.tcb.view.now;
        }
        let app_limited = self.app_limited;
        let lost = self.tcb.view.lost;
        let delivered_ce = self.tcb.view.delivered_ce;
        let in_flight = self.tcb.view.packets_out;
        let as_now = SegmentState { in_flight, lost, delivered_ce };
        let sample = ControlSample {
            delivered,
            lost: std::mem::take(&mut self.lost),
            ece: self.ece,
            rtt_us: (delivered > 0).then_some(self.rtt_us),
            rate: rate.map(|n| RateSample { delivered: n, interval_us: RTT_US, app_limited }),
            prior_delivered: (delivered > 0).then_some(prior),
            sent: (delivered > 0).then(|| self.sent.take().unwrap_or(as_now)),
            prior_in_flight: in_flight,
            ack_delayed: self.delayed,
            next_departure: self.tcb.view.now + self.wait,
            ..ControlSample::default()
        };
        self.bbr.cong_control(&self.tcb.view, &mut self.tcb.control, &sample);
        self.tcb.note_app_limited();
    }

    /// A round trip later, an ACK of `packets` that begins a round, at the rate of `packets` a round trip.
    fn round(&mut self, packets: u32) -> &mut Self {
        self.later(u64::from(RTT_US));
        let prior = self.tcb.view.delivered.max(self.bbr.round_end);
        self.tell(packets, prior, Some(packets));
        self
    }

    /// An ACK now, in a round and in a round of losses, with a rate that is no news.
    fn ack(&mut self, delivered: u32) -> &mut Self {
        let prior = self.bbr.round_end.min(self.bbr.loss_round_delivered).wrapping_sub(1);
        self.tell(delivered, prior, (delivered > 0).then_some(1));
        self
    }

    /// A segment that left in a flight of `in_flight` is taken for lost, the `nth` since it left.
    fn lose(&mut self, seq: u32, in_flight: u32, nth: u32) -> &mut Self {
        self.tcb.view.lost += 1;
        self.lost += 1;
        let lost = self.tcb.view.lost;
        let sent = SegmentState { in_flight, lost: lost - nth, ..SegmentState::default() };
        let segment = LostSegment { seq, sent, app_limited: self.app_limited, lost };
        self.bbr.segment_lost(&self.tcb.view, &mut self.tcb.control, &segment);
        self
    }

    fn recover(&mut self, state: CaState) -> &mut Self {
        if state > self.tcb.view.ca_state {
            self.bbr.ssthresh(&self.tcb.view, &self.tcb.control);
        }
        self.bbr.set_state(&self.tcb.view, &mut self.tcb.control, state);
        self.tcb.view.ca_state = state;
        self
    }

    /// The pipe is full at 62 packets, and Drain has begun with 124 in flight.
    fn draining() -> Self {
        let mut b = Self::new();
        b.in_flight(124);
        for packets in [10, 20, 40, 62, 62, 62, 62] {
            b.round(packets);
        }
        assert_eq!(b.bbr.state, State::Drain);
        b
    }

    /// In CRUISE, 62 packets in flight.
    fn cruising() -> Self {
        let mut b = Self::draining();
        b.in_flight(62).ack(1).ack(1);
        assert_eq!(b.bbr.state, State::Cruise, "{:?}", b.bbr);
        b
    }

    /// In UP, at its first ACK, 62 packets in flight and all of the window used.
    fn probing() -> Self {
        let mut b = Self::cruising();
        b.tcb.view.cwnd_limited = true;
        for _ in 0..80 {
            if b.bbr.state == State::Up {
                return b;
            }
            b.round(62);
        }
        panic!("no probe: {:?}", b.bbr);
    }
}

fn of_20ms(packets: u32) -> u32 {
    ((u64::from(packets) << BW_BITS) / u64::from(RTT_US)) as u32
}

/// Each gain as its text has it: 2.77, 0.5, 0.9, 1, 1, 1.25; 710, 88, 232, 256, 256, 320 of 256.
#[test]
fn gains_are_those_of_the_texts() {
    let pacing = |rules: &Rules| State::ALL.map(|s| s.gains(rules, &Settings::of(rules)).0);
    assert_eq!(pacing(&Rules::DRAFT), [70_912, 12_800, 23_040, 25_600, 25_600, 32_000, 25_600]);
    assert_eq!(pacing(&Rules::GOOGLE), [710, 88, 232, 256, 256, 320, 256].map(|n| n * 100));
    let cwnd = State::ALL.map(|s| s.gains(&Rules::DRAFT, &Settings::of(&Rules::DRAFT)).1);
    assert_eq!(cwnd, [51_200, 51_200, 51_200, 51_200, 51_200, 57_600, 12_800]);
    assert_eq!(cwnd, State::ALL.map(|s| s.gains(&Rules::GOOGLE, &Settings::of(&Rules::GOOGLE)).1));
}

/// The table at [`State::may_follow`], row by row.
#[test]
fn the_table_of_states() {
    let row = |from| State::ALL.map(|to| u8::from(State::may_follow(from, to)));
    assert_eq!(
        State::ALL.map(row),
        [
            [0, 1, 0, 0, 0, 0, 1],
            [1, 0, 1, 0, 0, 0, 1],
            [1, 0, 0, 1, 1, 0, 1],
            [1, 0, 0, 0, 1, 0, 1],
            [1, 0, 0, 0, 1, 1, 1],
            [1, 0, 1, 0, 0, 0, 1],
            [1, 0, 1, 0, 0, 0, 0],
        ]
    );
}

/// Ten packets in 20 ms are 8388/2^24 a microsecond. Times 1448 bytes, 2.77 and 0.99: 1 985 367 B/s in reals.
#[test]
fn the_first_pace_is_the_window_over_the_rtt() {
    let b = Bed::<Draft>::new();
    let reals = 10.0 / 0.02 * 1448.0 * 2.77 * 0.99;
    assert!((b.tcb.control.pacing_rate as f64 / reals - 1.0).abs() < 2e-4);
    assert!(b.tcb.control.paced && b.bbr.state == State::Startup);
    let b = Bed::<Google>::new();
    let reals = 10.0 / 0.02 * 1448.0 * (710.0 / 256.0) * 0.99;
    assert!((b.tcb.control.pacing_rate as f64 / reals - 1.0).abs() < 2e-4);
}

/// A burst: 1 ms of the rate, at least two, at most 64 kB. At 16 MB/s that is 16 kB: 11 segments; Google's millisecond is
/// 1/1024 s and adds 64 kB halved for every 512 us: at 3 ms of RTT (5 halvings) 2 kB, 12 segments.
#[test]
fn bursts() {
    let mut d = Bed::<Draft>::new();
    let mut g = Bed::<Google>::new();
    for (rate, draft, google) in [(16_000_000, 11, 12), (100_000, 2, 2), (900_000_000, 45, 45)] {
        d.tcb.control.pacing_rate = rate;
        g.tcb.control.pacing_rate = rate;
        g.bbr.min_rtt_us = 3_000;
        assert_eq!(d.bbr.tso_segs(&d.tcb.view, &d.tcb.control), Some(draft));
        assert_eq!(g.bbr.tso_segs(&g.tcb.view, &g.tcb.control), Some(google));
    }
    g.tcb.control.pacing_rate = 16_000_000;
    g.bbr.min_rtt_us = 20_000;
    assert_eq!(g.bbr.tso_segs(&g.tcb.view, &g.tcb.control), Some(10));
}

/// Three rounds without a quarter more than the last growth: 49 is not 1.25 · 40, 50 is, 62 is not 62.5. A round in which
/// the application paused says nothing.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    fn run<V: Version>(gain: u32) {
        let mut b = Bed::<V>::new();
        b.in_flight(124);
        for (packets, rounds) in [(10, 0), (20, 0), (40, 0), (49, 1), (50, 0), (55, 1), (62, 2)] {
            b.round(packets);
            assert_eq!((b.bbr.full_bw.rounds, b.bbr.state), (rounds, State::Startup), "{packets}");
        }
        b.app_limited = true;
        b.round(30);
        assert_eq!((b.bbr.full_bw.rounds, b.bbr.state), (2, State::Startup));
        b.app_limited = false;
        b.round(60);
        assert!(b.bbr.full_bw.now && b.bbr.full_bw_reached);
        assert_eq!((b.bbr.state, b.bbr.pacing_gain, b.bbr.cwnd_gain), (State::Drain, gain, 51_200));
    }
    run::<Draft>(12_800);
    run::<Google>(8_800);
}

/// A fast sample within a round counts as growth for Google, who looks at every ACK, and not for the draft.
#[test]
fn growth_within_a_round() {
    fn count<V: Version>() -> u32 {
        let mut b = Bed::<V>::new();
        b.in_flight(60);
        b.round(40).round(41);
        let prior = b.bbr.round_end - 1;
        b.tell(1, prior, Some(50));
        b.round(49);
        b.bbr.full_bw.rounds
    }
    assert_eq!((count::<Draft>(), count::<Google>()), (2, 1));
}

/// In a round of recovery more than 2 % lost in six ranges: Startup is over, and the delivered number is the bound.
/// Five ranges are not enough, nor is a fiftieth.
#[test]
fn startup_ends_by_loss_in_six_ranges() {
    for (ranges, delivered, over) in [(6, 99, true), (5, 99, false), (6, 300, false)] {
        let mut b = Bed::<Draft>::new();
        b.in_flight(200).round(20).round(40);
        for i in 0..ranges {
            b.lose(100 + 2 * i, 60, 1);
        }
        b.recover(CaState::Recovery);
        b.sent = Some(SegmentState { in_flight: 60, lost: b.tcb.view.lost, delivered_ce: 0 });
        b.round(delivered);
        assert_eq!(b.bbr.full_bw_reached, over, "{ranges} {delivered}");
        assert_eq!(b.bbr.state == State::Drain, over);
        if over {
            // 99 packets a round trip are 99 in flight without a queue.
            assert_eq!((b.bbr.inflight_longterm, b.bbr.undo.state), (99, Some(State::Startup)));
        }
    }
    // Neighbours are one range.
    let mut b = Bed::<Draft>::new();
    b.in_flight(60).round(20);
    (0..6).for_each(|i| {
        b.lose(100 + i, 60, 1);
    });
    b.recover(CaState::Recovery);
    b.round(60);
    assert!(!b.bbr.full_bw_reached);
}

/// Google counts ACKs that tell of losses, and asks the last sample.
#[test]
fn startup_ends_by_six_acks_with_losses() {
    for (acks, over) in [(6, true), (5, false)] {
        let mut b = Bed::<Google>::new();
        b.in_flight(60).round(40);
        b.lose(1, 60, 1);
        b.recover(CaState::Recovery);
        for i in 1..acks {
            b.ack(1).lose(10 * i, 60, 1);
        }
        // The newest segment of the ACK that ends the round left before the last two losses: 2 of 60 are more than 1.
        b.sent = Some(SegmentState { in_flight: 60, lost: b.tcb.view.lost - 2, delivered_ce: 0 });
        b.later(20_000);
        let prior = b.tcb.view.delivered;
        b.tell(40, prior, Some(40));
        assert_eq!((b.bbr.full_bw_reached, b.bbr.state == State::Drain), (over, over), "{acks}");
    }
}

/// Drain ends at 62 packets in flight; the draft's after three rounds, whatever is. Google subtracts what will have arrived
/// when the next burst leaves: 62 packets in 20 ms are 3 in a millisecond.
#[test]
fn drain_ends_at_the_product_or_in_time() {
    let mut b = Bed::<Draft>::draining();
    b.in_flight(63).ack(1);
    assert_eq!(b.bbr.state, State::Drain);
    b.in_flight(62).ack(1);
    // In the same step there is room already.
    assert_eq!(b.bbr.state, State::Cruise);

    let mut b = Bed::<Draft>::draining();
    b.in_flight(100);
    for _ in 0..3 {
        b.round(50);
        assert_eq!(b.bbr.state, State::Drain);
    }
    b.round(50);
    assert_eq!(b.bbr.state, State::Down);

    let mut b = Bed::<Google>::draining();
    b.in_flight(100);
    (0..20).for_each(|_| {
        b.round(50);
    });
    assert_eq!(b.bbr.state, State::Drain);
    b.wait = Span::from_millis(1);
    b.in_flight(67).ack(1);
    assert_eq!(b.bbr.state, State::Drain);
    // Rounded up twice: 63 fill the path.
    b.in_flight(66).ack(1);
    assert_eq!(b.bbr.state, State::Cruise);
}

/// The setting of an experiment takes effect exactly: 0.35 is 8960 of 25600, 0.34375 the kernel's 88/256.
#[test]
fn the_drain_gain_is_what_is_set() {
    let mut b = Bed::<Draft>::new();
    b.bbr.set("drain_gain", OptionValue::Factor(350_000));
    b.in_flight(124);
    for packets in [10, 20, 40, 62, 62, 62, 62] {
        b.round(packets);
    }
    assert_eq!((b.bbr.state, b.bbr.pacing_gain), (State::Drain, 8_960));
    b.in_flight(62).ack(1);
    assert_eq!((b.bbr.state, b.bbr.pacing_gain), (State::Cruise, UNIT));
    let mut of_kernel = Settings::of(&Rules::DRAFT);
    of_kernel.set("drain_gain", OptionValue::Factor(343_750));
    assert_eq!(of_kernel, Settings::of(&Rules::GOOGLE));
}

/// The defaults in the table of options are the numbers of the text.
#[test]
fn the_table_of_options_has_the_texts_own_numbers() {
    fn run<V: Version>() {
        let words = |o: &crate::cc::ControlOption| format!(" {} {}", o.name, o.default);
        let words: String = V::INFO.options.iter().map(words).collect();
        let mut settings =
            Settings { drain_gain: 1, probe_rtt_interval: Span::ZERO, min_rtt_window: Span::ZERO };
        for (option, value) in
            crate::cc::options::read(&format!("{}{words}", V::INFO.name), V::INFO.options).unwrap()
        {
            settings.set(option, value);
        }
        assert_eq!(settings, Settings::of(&V::RULES));
    }
    run::<Draft>();
    run::<Google>();
    run::<GoogleEcn>();
}

/// With ProbeRTT each second and a filter of two the search for the lowest RTT begins after one second, and the model
/// gives its own up after two: 25 ms instead of 20.
#[test]
fn the_interval_and_the_window_are_what_is_set() {
    let mut b = Bed::<Draft>::cruising();
    b.bbr.set("probe_rtt_interval", OptionValue::Time(Span::from_secs(1)));
    b.bbr.set("min_rtt_window", OptionValue::Time(Span::from_secs(2)));
    b.rtt_us = 25_000;
    let began = b.bbr.probe_rtt_min_stamp;
    while b.tcb.view.now <= began + Span::from_secs(1) {
        assert_ne!(b.bbr.state, State::ProbeRtt);
        b.in_flight(62).round(62);
    }
    assert_eq!(b.bbr.state, State::ProbeRtt);
    assert_eq!((b.bbr.probe_rtt_min_us, b.bbr.min_rtt_us), (25_000, 20_000));
    b.in_flight(31);
    while b.tcb.view.now <= began + Span::from_secs(2) {
        b.round(31);
        assert_eq!(
            b.bbr.min_rtt_us,
            if b.tcb.view.now <= began + Span::from_secs(2) { 20_000 } else { 25_000 }
        );
    }
    assert_eq!(b.bbr.min_rtt_us, 25_000);
}

/// DOWN goes on to CRUISE when 15 % of the bound are free: of 70, 10.
#[test]
fn down_ends_with_headroom() {
    let mut b = Bed::<Draft>::draining();
    b.bbr.inflight_longterm = 70;
    b.in_flight(62).ack(1);
    assert_eq!((b.bbr.state, b.bbr.with_headroom()), (State::Down, 60));
    b.in_flight(61).ack(1);
    assert_eq!(b.bbr.state, State::Down);
    b.in_flight(60).ack(1);
    assert_eq!(b.bbr.state, State::Cruise);
}

/// A probe is due after as many rounds as packets are aimed at, 63 at most, or by the clock after two to three seconds.
#[test]
fn probes_are_due_by_rounds_or_by_the_clock() {
    let mut b = Bed::<Draft>::cruising();
    let mut rounds = b.bbr.rounds_since_probe;
    assert!(rounds <= 1);
    while b.bbr.state == State::Cruise {
        b.round(62);
        rounds += 1;
        assert!(rounds <= 62);
    }
    assert_eq!((b.bbr.state, rounds), (State::Refill, 62));

    let mut b = Bed::<Draft>::cruising();
    let wait = b.bbr.probe_wait;
    assert!(wait >= Span::from_secs(2) && wait < Span::from_secs(3));
    let since = b.tcb.view.now.since(b.bbr.cycle_stamp);
    b.later((wait - since).as_nanos() / 1_000).ack(1);
    assert_eq!(b.bbr.state, State::Cruise, "not later than");
    b.later(1).ack(1);
    assert_eq!(b.bbr.state, State::Refill);
}

/// REFILL lasts a round; UP begins with the bound growing by one segment a round, then 2, 4, 8, spread over the window.
#[test]
fn refill_then_up_and_how_the_bound_grows() {
    let mut b = Bed::<Draft>::cruising();
    b.bbr.bw_shortterm = 5;
    b.bbr.inflight_shortterm = 50;
    while b.bbr.state == State::Cruise {
        b.round(62);
    }
    assert_eq!(
        (b.bbr.state, b.bbr.bw_shortterm, b.bbr.inflight_shortterm),
        (State::Refill, NONE, NONE)
    );
    b.ack(1);
    assert_eq!((b.bbr.state, b.bbr.probe_sample), (State::Refill, false));
    (b.tcb.control.cwnd, b.bbr.inflight_longterm) = (100, 100);
    b.round(62);
    assert_eq!((b.bbr.state, b.bbr.probe_sample), (State::Up, true));
    assert_eq!(b.bbr.ack_phase, AckPhase::Starting);
    assert_eq!((b.bbr.pacing_gain, b.bbr.cwnd_gain), (32_000, 57_600));

    // Steps of 100, 101/2 = 50, 103/4 = 25 and 107/8 = 13 segments; a window is acknowledged in each round.
    let mut grown = Vec::new();
    for _ in 0..4 {
        let before = b.bbr.inflight_longterm;
        b.tcb.control.cwnd = before;
        b.ack(before - 1);
        b.tcb.control.cwnd = b.bbr.inflight_longterm;
        b.round(1);
        grown.push(b.bbr.inflight_longterm - before);
    }
    assert_eq!(grown, [1, 2, 4, 8]);
}

/// UP ends when the rate has not grown for three rounds, unless it is the bound that holds it.
#[test]
fn up_ends_at_the_plateau() {
    let mut b = Bed::<Draft>::probing();
    for _ in 0..2 {
        b.round(62);
        assert_eq!(b.bbr.state, State::Up);
    }
    b.round(62);
    assert_eq!(b.bbr.state, State::Down);
    assert_eq!((b.bbr.ack_phase, b.bbr.pacing_gain), (AckPhase::Stopping, 23_040));

    let mut b = Bed::<Draft>::probing();
    (b.bbr.inflight_longterm, b.tcb.control.cwnd, b.bbr.full_bw.rounds) = (50, 50, 2);
    b.in_flight(50).ack(1);
    assert_eq!((b.bbr.state, b.bbr.full_bw.rounds), (State::Up, 0));
}

/// What is too much lost of a flight: above 2 %. One of 49 is, of 50 is not; Google rounds 5/256 down, so one of 51.
#[test]
fn the_threshold_of_loss() {
    let draft = |flight, lost| Model::<Draft>::is_too_much_lost(flight, lost);
    let google = |flight, lost| Model::<Google>::is_too_much_lost(flight, lost);
    assert_eq!(
        [draft(49, 1), draft(50, 1), draft(100, 2), draft(100, 3)],
        [true, false, false, true]
    );
    assert_eq!(
        [google(51, 1), google(52, 1), google(102, 2), google(103, 2)],
        [true, false, true, false]
    );
    // Of 49, 48 fit in any case, and 0.02 · 48 = 0.96 of one more: none. Google: ⌈48 · 5/256⌉ = 1, so that one.
    assert_eq!(Model::<Draft>::flight_that_fits(49, 1), 48);
    assert_eq!(Model::<Google>::flight_that_fits(49, 1), 49);
    // The third of 100: two before it are already ⌈1.93⌉.
    assert_eq!(Model::<Draft>::flight_that_fits(100, 3), 99);
    assert_eq!(Model::<Google>::flight_that_fits(100, 3), 99);
}

/// A loss in UP's flight: the bound is the amount that fitted, at least 0.7 of the target, and DOWN begins at once.
/// Once a probe.
#[test]
fn too_much_in_up() {
    let mut b = Bed::<Draft>::probing();
    b.tcb.control.cwnd = 140;
    b.lose(1, 100, 2);
    assert_eq!((b.bbr.state, b.bbr.inflight_longterm), (State::Up, NONE));
    b.lose(2, 100, 3);
    assert_eq!((b.bbr.state, b.bbr.inflight_longterm), (State::Down, 99));
    assert!(b.bbr.probe_too_high && !b.bbr.probe_sample);
    assert_eq!(b.bbr.undo.state, Some(State::Up));
    b.lose(3, 100, 40);
    assert_eq!(b.bbr.inflight_longterm, 99);

    // 0.7 of 62 are 43.
    let mut b = Bed::<Draft>::probing();
    b.tcb.control.cwnd = 140;
    b.lose(1, 20, 1);
    assert_eq!(b.bbr.inflight_longterm, 43);

    // What an application's pause had held back says nothing of how much fits.
    let mut b = Bed::<Draft>::probing();
    b.app_limited = true;
    b.lose(1, 20, 1);
    assert_eq!((b.bbr.state, b.bbr.inflight_longterm), (State::Down, NONE));

    // Outside of a probe nothing is cut for long.
    let mut b = Bed::<Draft>::cruising();
    b.lose(1, 20, 1);
    assert_eq!((b.bbr.state, b.bbr.inflight_longterm), (State::Cruise, NONE));
}

/// After a probe that was too much the next stops at the bound; if a round later nothing was lost, it probes on at once.
#[test]
fn a_precautionary_probe() {
    let mut b = Bed::<Draft>::probing();
    (b.bbr.probe_too_high, b.bbr.inflight_longterm) = (true, 80);
    b.in_flight(79).ack(1);
    assert_eq!(b.bbr.state, State::Up);
    b.in_flight(80).ack(1);
    assert_eq!(
        (b.bbr.state, b.bbr.precautionary, b.bbr.probe_too_high),
        (State::Down, true, false)
    );
    b.round(62);
    assert_eq!((b.bbr.state, b.bbr.precautionary), (State::Refill, false));
    // A late verdict cancels it.
    let mut b = Bed::<Draft>::probing();
    (b.bbr.probe_too_high, b.bbr.inflight_longterm) = (true, 80);
    b.in_flight(80).ack(1).lose(1, 80, 2);
    assert!(b.bbr.probe_too_high);
    b.round(62);
    assert_ne!(b.bbr.state, State::Refill);
}

/// A round of losses in CRUISE: from the highest rate and the window, times 0.7, but no less than what got through.
#[test]
fn short_term_bounds() {
    let mut b = Bed::<Draft>::cruising();
    b.tcb.control.cwnd = 124;
    b.lose(1, 62, 1);
    b.round(10);
    // bw_latest and inflight_latest are those of the rounds up to this ACK: 62 a round trip.
    let latest = (b.bbr.bw_latest, b.bbr.inflight_latest);
    assert_eq!(latest, (of_20ms(10), 10));
    assert!(b.bbr.bw_shortterm <= of_20ms(62) && b.bbr.inflight_shortterm >= 62);
    // Seven rounds of 0.7 make a tenth of it, with so little delivered.
    let first = b.bbr.bw_shortterm;
    let mut reals = f64::from(first);
    for n in 1..=7 {
        reals *= 0.7;
        // So that no probe comes between.
        b.bbr.rounds_since_probe = 0;
        b.lose(1, 62, 1);
        b.round(1);
        let floor = f64::from(of_20ms(if n == 1 { 10 } else { 1 }));
        let got = f64::from(b.bbr.bw_shortterm);
        assert!((got - reals.max(floor)).abs() < 10.0, "{n}: {got} {reals}");
    }
    assert_eq!(b.bbr.bw(), b.bbr.bw_shortterm);
    // Probing does not cut.
    let mut b = Bed::<Draft>::probing();
    b.lose(1, 200, 1);
    b.round(62);
    assert_eq!((b.bbr.bw_shortterm, b.bbr.inflight_shortterm), (NONE, NONE));
}

/// The highest rate is of this cycle and the one before; one without a sample does not count.
#[test]
fn two_cycles_of_rates() {
    let mut b = Bed::<Draft>::probing();
    b.round(62).round(62).round(62);
    assert_eq!(b.bbr.state, State::Down);
    let mut f = MaxBw::default();
    f.advance();
    assert_eq!(f.get(), 0);
    b.round(40);
    // The first round start after UP has moved the slot on.
    assert_eq!(b.bbr.max_bw.get(), of_20ms(62));
    b.bbr.max_bw.advance();
    assert_eq!(b.bbr.max_bw.get(), of_20ms(62).min(b.bbr.max_bw.get()));
    b.bbr.max_bw.advance();
    assert!(b.bbr.max_bw.get() <= of_20ms(62));
}

/// Five seconds without a lower RTT: half of what fills the path for 200 ms and a round, then CRUISE with the window of before.
#[test]
fn probe_rtt() {
    fn run<V: Version>() {
        let mut b = Bed::<V>::cruising();
        b.rtt_us = 25_000;
        let began = b.bbr.probe_rtt_min_stamp;
        b.tcb.control.cwnd = 100;
        while b.tcb.view.now <= began + Span::from_secs(5) {
            assert_ne!(b.bbr.state, State::ProbeRtt);
            b.in_flight(62).round(62);
        }
        if V::RULES.kernel_clocks {
            b.later(4_000).ack(1);
        }
        assert_eq!(b.bbr.state, State::ProbeRtt);
        assert_eq!(b.bbr.probe_rtt_min_us, 25_000, "the old one has gone");
        assert_eq!(b.bbr.min_rtt_us, 20_000, "the model's has not");
        // Half of 62, of Google's 62 and a bit, rounded up.
        let half = if V::RULES.rates_round_up { 32 } else { 31 };
        assert_eq!(b.tcb.control.cwnd, half);
        assert!(b.tcb.view.app_limited.is_some());
        b.in_flight(31).ack(1);
        let (done, now) = (b.bbr.probe_rtt_done_stamp.unwrap(), b.tcb.view.now);
        assert!(done >= now + Span::from_millis(196) && done <= now + Span::from_millis(200));
        b.app_limited = true;
        b.later(100_000);
        let prior = b.bbr.round_end;
        b.tell(31, prior, Some(31));
        assert_eq!(b.bbr.state, State::ProbeRtt, "a round, but not 200 ms");
        b.later(104_000).ack(1);
        assert_eq!(b.bbr.state, State::Cruise);
        assert!(b.tcb.control.cwnd >= 100.min(b.bbr.max_inflight(&b.tcb.view, &b.tcb.control)));
    }
    run::<Draft>();
    run::<Google>();
}

/// A silence counts as a drain: after it there is no ProbeRTT, and it paces at the rate.
#[test]
fn idleness_is_a_drain() {
    let mut b = Bed::<Draft>::cruising();
    b.tcb.view.app_limited = Some(1);
    b.later(6_000_000);
    b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::TxStart { idle_jiffies: 1_500 });
    assert!(b.bbr.idle_restart);
    b.in_flight(10).ack(2);
    assert_ne!(b.bbr.state, State::ProbeRtt);
    assert!(!b.bbr.idle_restart);
}

/// A spurious recovery: bounds come back with both; the draft goes back to where it probed, Google stays.
#[test]
fn spurious_recovery() {
    fn undone<V: Version>() -> (State, u32, bool) {
        let mut b = Bed::<V>::probing();
        b.tcb.control.cwnd = 124;
        b.lose(1, 40, 1).recover(CaState::Recovery);
        assert_eq!(b.bbr.state, State::Down);
        assert!(b.bbr.inflight_longterm < 124);
        let cwnd = b.bbr.undo_cwnd(&b.tcb.view, &b.tcb.control);
        assert_eq!(cwnd, 124);
        (b.bbr.state, b.bbr.inflight_longterm, b.bbr.loss_in_round)
    }
    assert_eq!(undone::<Draft>(), (State::Refill, NONE, false));
    // Google notes the bounds when recovery begins, which is after the cut.
    let (state, longterm, _) = undone::<Google>();
    assert_eq!(state, State::Down);
    assert!(longterm < 124);

    let mut b = Bed::<Draft>::new();
    b.in_flight(200).round(20).round(40);
    (0..6).for_each(|i| {
        b.lose(100 + 2 * i, 60, 1);
    });
    b.recover(CaState::Recovery).round(60);
    assert_eq!(b.bbr.state, State::Drain);
    b.bbr.undo_cwnd(&b.tcb.view, &b.tcb.control);
    assert_eq!((b.bbr.state, b.bbr.full_bw_reached), (State::Startup, false));
}

/// A timeout: Google bounds what is in flight by the window of before; the window comes back when it is over.
#[test]
fn a_timeout() {
    fn run<V: Version>() -> (u32, u32) {
        let mut b = Bed::<V>::cruising();
        b.tcb.control.cwnd = 120;
        b.bbr.ssthresh(&b.tcb.view, &b.tcb.control);
        b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::Loss);
        b.tcb.control.cwnd = 1;
        b.bbr.set_state(&b.tcb.view, &mut b.tcb.control, CaState::Loss);
        b.tcb.view.ca_state = CaState::Loss;
        let bound = b.bbr.inflight_shortterm;
        b.in_flight(1).ack(1);
        assert_eq!(b.tcb.control.cwnd, 4, "never below");
        b.recover(CaState::Open);
        (bound, b.tcb.control.cwnd)
    }
    assert_eq!(run::<Draft>(), (NONE, 120));
    assert_eq!(run::<Google>(), (120, 120));
}

/// A loss that a tail-loss probe has repaired counts as one of a flight of what was delivered last and it.
#[test]
fn a_loss_that_a_probe_repaired() {
    let mut b = Bed::<Google>::probing();
    b.bbr.inflight_latest = 30;
    b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::TlpRecovery { app_limited: false });
    // 0.703 of the target, which is more than 31.
    assert_eq!(b.bbr.state, State::Down);
    assert!(b.bbr.inflight_longterm >= 31);
}

/// Marks on a route with ecn_low: alpha begins at one and loses a sixteenth a round; the bound is cut by a third of it.
#[test]
fn marks_of_google() {
    let mut b = Bed::<GoogleEcn>::new();
    b.bbr.min_rtt_us = 4_000;
    b.bbr.probe_rtt_min_us = 4_000;
    b.rtt_us = 4_000;
    b.in_flight(124).round(10);
    // 240/256 · 256 = 240.
    assert_eq!((b.bbr.ecn.alpha, b.bbr.ecn.eligible), (240, true));
    b.tcb.view.delivered_ce += 5;
    b.round(10);
    // 240 · 240/256 = 225, and a sixteenth of 128: 8.
    assert_eq!(b.bbr.ecn.alpha, 233);
    assert_eq!(b.bbr.state, State::Startup);
    b.tcb.view.delivered_ce += 10;
    b.round(20);
    assert_eq!(b.bbr.state, State::Drain, "two rounds of half");

    // Above 5 ms they never count; nor do they without ecn_low.
    let mut b = Bed::<GoogleEcn>::new();
    b.tcb.view.delivered_ce += 10;
    b.round(10);
    assert!(!b.bbr.ecn.eligible);
    let mut b = Bed::<Google>::new();
    b.bbr.min_rtt_us = 1_000;
    b.tcb.view.delivered_ce += 10;
    b.round(10);
    assert!(!b.bbr.ecn.eligible);
}

/// Heaps: 62 a round trip are 3.1 a millisecond. 40 at once are 40 more than expected; 10 ms later 31 were to come, and 51
/// came: 60 more, in both memories.
#[test]
fn heaps_of_acks() {
    fn run<V: Version>() {
        let mut b = Bed::<V>::cruising();
        b.tcb.control.cwnd = 124;
        b.bbr.aggregation = Aggregation::default();
        b.in_flight(62).ack(40);
        assert_eq!(b.bbr.extra_acked(), 40);
        b.later(10_001).ack(51);
        assert_eq!(b.bbr.extra_acked(), 60);
        // The expected number has caught up: a new epoch.
        b.later(20_000).ack(1);
        b.ack(9);
        assert_eq!((b.bbr.aggregation.epoch.acked, b.bbr.extra_acked()), (10, 60));
    }
    run::<Draft>();
    run::<Google>();
}

/// Google's fast path: an application's pause leaves window and pace alone, once the window has reached its target.
#[test]
fn the_fast_path_of_google() {
    let mut b = Bed::<Google>::cruising();
    b.tcb.control.cwnd = 200;
    b.ack(1);
    assert!(b.bbr.reached_target);
    b.app_limited = true;
    b.tcb.control.cwnd = 77;
    b.ack(1);
    assert_eq!(b.tcb.control.cwnd, 77);
    let mut b = Bed::<Draft>::cruising();
    b.app_limited = true;
    b.tcb.control.cwnd = 77;
    b.ack(1);
    assert_eq!(b.tcb.control.cwnd, 78);
}

/// A random ACK, or a change of state.
#[derive(Clone, Debug)]
enum Step {
    Ack {
        delivered: u32,
        later_us: u64,
        in_flight: u32,
        rtt_us: u32,
        new_round: bool,
        app_limited: bool,
        wait_us: u64,
        ece: bool,
    },
    Lose {
        in_flight: u32,
        nth: u32,
    },
    To(CaState),
    Undo,
    Restart,
    Probe,
}

prop_compose! {
    fn any_ack()(
        delivered in 0_u32..40,
        later_us in prop_oneof![8 => 1_u64..5_000, 1 => 1_u64..6_000_000],
        in_flight in prop_oneof![1 => 0_u32..5, 3 => 0_u32..300],
        rtt_us in 1_000_u32..200_000,
        new_round: bool,
        app_limited in proptest::bool::weighted(0.1),
        wait_us in 0_u64..3_000,
        ece in proptest::bool::weighted(0.1),
    ) -> Step {
        Step::Ack { delivered, later_us, in_flight, rtt_us, new_round, app_limited, wait_us, ece }
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any_ack(),
        3 => (1_u32..300, 1_u32..20).prop_map(|(in_flight, nth)| Step::Lose { in_flight, nth }),
        1 => Just(Step::To(CaState::Open)),
        1 => Just(Step::To(CaState::Recovery)),
        1 => Just(Step::To(CaState::Loss)),
        1 => Just(Step::Undo),
        1 => Just(Step::Restart),
        1 => Just(Step::Probe),
    ]
}

fn invariants_hold<V: Version>(steps: Vec<Step>, seed: u64) -> Result<(), TestCaseError> {
    let mut b = Bed::<V>::new();
    b.bbr.seed(Random::named(seed, "cc"));
    for step in steps {
        let before = b.tcb.control.cwnd;
        let mut acked = 0;
        match step {
            Step::Ack {
                delivered,
                later_us,
                in_flight,
                rtt_us,
                new_round,
                app_limited,
                wait_us,
                ece,
            } => {
                b.in_flight(in_flight);
                (b.rtt_us, b.app_limited, b.ece) = (rtt_us, app_limited, ece);
                b.wait = Span::from_micros(wait_us);
                b.later(later_us);
                b.tcb.view.delivered_ce += u32::from(ece);
                acked = delivered;
                if new_round {
                    let prior = b.tcb.view.delivered;
                    b.tell(delivered, prior, (delivered > 0).then_some(delivered));
                } else {
                    b.ack(delivered);
                }
                // Gains are those of the state, unless the fast path left them.
                if !V::RULES.fast_path {
                    prop_assert_eq!(
                        (b.bbr.pacing_gain, b.bbr.cwnd_gain),
                        b.bbr.state.gains(&V::RULES, &b.bbr.settings)
                    );
                }
                prop_assert!(
                    b.tcb.control.cwnd >= LEAST_CWND || delivered == 0 || V::RULES.fast_path
                );
                prop_assert!(b.tcb.control.pacing_rate > 0);
                prop_assert!(
                    b.bbr.state != State::ProbeRtt
                        || b.tcb.control.cwnd <= b.bbr.probe_rtt_cwnd().max(before)
                );
            }
            Step::Lose { in_flight, nth } => {
                b.lose(7, in_flight, nth);
            }
            Step::To(to) => {
                if to != b.tcb.view.ca_state {
                    b.recover(to);
                    if to == CaState::Loss {
                        b.tcb.control.cwnd = 1;
                    }
                }
            }
            Step::Undo => b.tcb.control.cwnd = b.bbr.undo_cwnd(&b.tcb.view, &b.tcb.control),
            Step::Restart => {
                b.tcb.view.app_limited = Some(b.tcb.view.delivered);
                b.bbr.event(&b.tcb.view, &mut b.tcb.control, Event::TxStart { idle_jiffies: 1 });
            }
            Step::Probe => b.bbr.event(
                &b.tcb.view,
                &mut b.tcb.control,
                Event::TlpRecovery { app_limited: false },
            ),
        }
        // Growth is never faster than what was acknowledged, but for what recovery and ProbeRTT give back.
        let most = before.max(b.bbr.prior_cwnd).max(LEAST_CWND).saturating_add(acked);
        prop_assert!(b.tcb.control.cwnd <= most, "{} from {before}", b.tcb.control.cwnd);
        let bbr = &b.bbr;
        prop_assert!(bbr.state.is_probing() || bbr.full_bw_reached || bbr.state == State::ProbeRtt);
        prop_assert!(bbr.min_rtt_us <= 200_000 && bbr.ecn.alpha <= 256);
    }
    Ok(())
}

proptest! {
    /// Whatever comes, states follow each other as the table says (asserted where they change), the window keeps to its
    /// bounds and grows no faster than what was acknowledged.
    #[test]
    fn invariants_of_the_draft(steps in proptest::collection::vec(any_step(), 1..400), seed: u64) {
        invariants_hold::<Draft>(steps, seed)?;
    }

    #[test]
    fn invariants_of_google(steps in proptest::collection::vec(any_step(), 1..400), seed: u64) {
        invariants_hold::<Google>(steps, seed)?;
    }

    #[test]
    fn invariants_of_google_with_marks(steps in proptest::collection::vec(any_step(), 1..400), seed: u64) {
        invariants_hold::<GoogleEcn>(steps, seed)?;
    }
}
