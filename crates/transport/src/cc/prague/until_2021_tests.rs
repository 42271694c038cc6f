use super::*;
use crate::cc::CaState;
use crate::cc::CongestionControl;
use crate::cc::INFINITE_SSTHRESH;
use crate::ecn::Agreed;
use crate::stack::examples::LINUX_5_4;
use crate::stack::{PragueVersion, TcpQuirks};
use crate::tcb::Tcb;
use sojourn_units::Span;

/// Out of slow start, established, at `cwnd` and 20 ms.
fn established(version: Version, cwnd: u32) -> (Until2021, Tcb) {
    let (mut p, mut t) = (Until2021::new(version, None), Tcb::example(cwnd));
    t.view.ecn = Agreed::AccEcn;
    t.view.rtt.sample(t.view.now, 20_000, 20_000, 0, cwnd);
    p.init(&t.view, &mut t.control);
    t.control.ssthresh = cwnd;
    (p, t)
}

fn ack(p: &mut Until2021, t: &mut Tcb, delivered: u32, ce: u32) {
    t.view.delivered += delivered;
    t.view.delivered_ce += ce;
    t.view.una += delivered;
    t.view.nxt += delivered;
    let sample = ControlSample { delivered, ce, ece: ce > 0, ..ControlSample::default() };
    p.cong_control(&t.view, &mut t.control, &sample);
}

/// Alpha one: the cut is half of the window of 20, ten packets, one on each ACK; each ACK's unmarked two earn 2/W
/// meanwhile. Nine ACKs have earned 2/20 + 2/19 + … + 2/13 + 2/12 = 1.156, so that the window stops at 12.
#[test]
fn a_cut_is_spread_over_acks() {
    let (mut p, mut t) = established(Version::August2020, 20);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, -10 * ONE);
    let mut earned = 0;
    for i in 1..=8 {
        earned += (2 * ONE + i64::from(t.control.cwnd) / 2) / i64::from(t.control.cwnd);
        ack(&mut p, &mut t, 2, 0);
        assert_eq!((t.control.cwnd, t.control.ssthresh), (20 - i, 20 - i));
        assert_eq!(p.carry, (i64::from(i) - 10) * ONE + earned);
    }
    ack(&mut p, &mut t, 2, 0);
    assert_eq!(t.control.cwnd, 12);
    assert!((real(p.carry) - (1.1557 - 2.0)).abs() < 0.001, "{}", real(p.carry));
}

/// α ← α·15/16 + F/16, kept times sixteen so that nothing is lost: 1 → 15/16 + 0.1/16 with two of twenty marked.
/// Before the first mark it does not move.
#[test]
fn alpha_after_some_rounds() {
    let (mut p, mut t) = established(Version::August2020, 20);
    let round = |p: &mut Until2021, t: &mut Tcb, ce: u32| {
        (t.view.una, t.view.delivered, t.view.delivered_ce) =
            (p.next_seq, t.view.delivered + 20, t.view.delivered_ce + ce);
        t.view.nxt = t.view.una + 20;
        p.saw_ce |= ce > 0;
        p.update_alpha(&t.view);
        p.begin_round(&t.view, &t.control);
    };
    round(&mut p, &mut t, 0);
    assert_eq!(p.alpha(), ONE);
    let mut expected = 1.0;
    for ce in [2, 2, 0, 20, 1, 0, 0, 0] {
        round(&mut p, &mut t, ce);
        expected = expected * 15.0 / 16.0 + f64::from(ce) / 20.0 / 16.0;
        assert!((real(p.alpha()) - expected).abs() < 1e-5, "{} for {expected}", real(p.alpha()));
    }
    for _ in 0..1000 {
        round(&mut p, &mut t, 20);
    }
    assert!(p.alpha() > ONE - ONE / 1000 && p.alpha() <= ONE);
}

/// Marked packets earn nothing; the others 1/W each: sixteen unmarked of twenty at 20 are 0.8.
#[test]
fn growth_is_for_what_is_not_marked() {
    let (mut p, mut t) = established(Version::August2020, 20);
    for i in 0..10 {
        ack(&mut p, &mut t, 2, u32::from(i < 4));
    }
    assert!((real(p.carry) - 0.8).abs() < 1e-5, "{}", real(p.carry));
    for _ in 0..2 {
        ack(&mut p, &mut t, 2, 0);
    }
    assert_eq!(t.control.cwnd, 21);
    // More marks than deliveries: nothing is earned, nothing taken but by CWR.
    let carry = p.carry;
    ack(&mut p, &mut t, 2, 5);
    assert_eq!((t.control.cwnd, p.carry), (21, carry));
}

/// Slow start ends only where the code looks at the carry: at an ACK with all of its packets marked.
#[test]
fn slow_start_ends_with_an_ack_of_marks_alone() {
    let (mut p, mut t) = established(Version::August2020, 20);
    t.control.ssthresh = INFINITE_SSTHRESH;
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, -10 * ONE);
    ack(&mut p, &mut t, 2, 1);
    assert_eq!((t.control.cwnd, t.control.ssthresh), (21, INFINITE_SSTHRESH));
    ack(&mut p, &mut t, 2, 2);
    assert_eq!((t.control.cwnd, t.control.ssthresh, p.carry), (20, 20, -9 * ONE));
}

/// A loss takes half; from the fix on nothing grows until the state is Open again. April's slow start goes on.
#[test]
fn the_loss_rule_by_version() {
    for (version, stops) in [
        (Version::April2020, false),
        (Version::April2020Fixed, true),
        (Version::August2020, true),
        (Version::Year2021, true),
    ] {
        let (mut p, mut t) = established(version, 20);
        t.control.ssthresh = INFINITE_SSTHRESH;
        p.set_state(&t.view, &t.control, CaState::Recovery);
        assert_eq!((p.carry, p.loss_cwnd), (-10 * ONE, 20));
        for _ in 0..20 {
            ack(&mut p, &mut t, 2, 0);
        }
        assert_eq!(t.control.cwnd, if stops { 10 } else { 60 }, "{version:?}");
        p.set_state(&t.view, &t.control, CaState::Open);
        assert!(!p.in_loss);
        assert_eq!(p.undo_cwnd(&t.control), if stops { 20 } else { 60 });
    }
}

/// The effect of an undo on the carry: of a window of 200 a loss takes 100, and taking it back takes 100 more instead
/// of giving them. ACKs of two bring 2/W each meanwhile, so one packet an ACK goes until 2·ln(200/W) = W: at 6.8.
#[test]
fn a_false_loss_takes_the_whole_window() {
    let (mut p, mut t) = established(Version::April2020Fixed, 200);
    p.set_state(&t.view, &t.control, CaState::Recovery);
    assert_eq!(p.carry, -100 * ONE);
    t.control.cwnd = p.undo_cwnd(&t.control);
    p.set_state(&t.view, &t.control, CaState::Open);
    assert_eq!((t.control.cwnd, p.carry, p.in_loss), (200, -200 * ONE, false));
    let mut acks = 0;
    while p.carry <= -ONE {
        ack(&mut p, &mut t, 2, 0);
        acks += 1;
    }
    assert_eq!((t.control.cwnd, t.control.ssthresh, acks), (7, 7, 193));
}

#[test]
fn never_below_two() {
    let (mut p, mut t) = established(Version::August2020, 3);
    p.carry = -5 * ONE;
    for _ in 0..10 {
        ack(&mut p, &mut t, 1, 1);
    }
    assert_eq!((t.control.cwnd, t.control.ssthresh, p.carry), (2, 2, 0));
}

/// 100 % of window over RTT on the wire, twice that while the window is below half the threshold: 1500 B · 20 / 20 ms.
#[test]
fn pacing_is_the_window_over_the_rtt() {
    let (mut p, mut t) = established(Version::August2020, 20);
    t.view.packets_out = 10;
    ack(&mut p, &mut t, 2, 2);
    assert_eq!((t.control.pacing_rate, t.control.burst_limit), (1_500_000, Some(1)));
    t.control.ssthresh = 1000;
    ack(&mut p, &mut t, 2, 2);
    assert_eq!(t.control.pacing_rate, 3_000_000);
    // 250 Mbit/s: 20833 packets a second, five of them in 2^-12 s.
    t.control.cwnd = 417;
    ack(&mut p, &mut t, 2, 2);
    assert_eq!(t.control.burst_limit, Some(10));
}

/// Single packets until November 2020, pairs in 2021: 20 packets of 1500 B in 20 ms are a quarter of one in 2^-12 s.
#[test]
fn pairs_leave_from_2021_on() {
    for (version, burst) in
        [(Version::August2020, 1), (Version::November2020, 1), (Version::Year2021, 2)]
    {
        let (mut p, mut t) = established(version, 20);
        ack(&mut p, &mut t, 2, 2);
        assert_eq!(t.control.burst_limit, Some(burst), "{version:?}");
    }
}

/// From November 2020 on: after 500 rounds a flow of 12.5 ms grows by (97/195)² of a packet, and is cut every 25 ms at most.
#[test]
fn rtt_independence_after_its_transition() {
    for version in [Version::November2020, Version::Year2021] {
        rtt_independence_of(version);
    }
}

fn rtt_independence_of(version: Version) {
    let (mut p, mut t) = established(version, 20);
    t.view.rtt = crate::rtt::Rtt::default();
    t.view.rtt.sample(t.view.now, 12_500, 12_500, 0, 0);
    p.round = 499;
    assert!(!p.independence_active(&t.control));
    p.begin_round(&t.view, &t.control);
    assert!(p.independence_active(&t.control));
    assert_eq!(p.ai, ((97 * 97) << 20) / (195 * 195));
    t.view.now += Span::from_millis(24);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, 0, "too soon");
    t.view.now += Span::from_millis(1);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, -10 * ONE);
}

/// The threshold that a reduction begins with, and what the detector's averages span: April's goes up with the window
/// (36: 2^-8), after the fix it stays where the last cut left it (8: 2^-5), and August has no detector.
#[test]
fn the_threshold_by_version() {
    for (version, ssthresh, shift) in [
        (Version::April2020, 36, Some(8)),
        (Version::April2020Fixed, 8, Some(5)),
        (Version::August2020, 8, None),
    ] {
        let (mut p, mut t) = established(version, 36);
        t.control.ssthresh = 8;
        assert_eq!(p.ssthresh(&t.control), ssthresh, "{version:?}");
        assert_eq!(p.detector.as_ref().map(Detector::shift), shift, "{version:?}");
    }
}

/// 2020 with RTT independence asked for: by the hundredth round, and with the RTT added to the target of 15 ms a cut waits
/// for 35 ms; 20 of them squared are 156²/273² in 128 µs.
#[test]
fn a_mode_may_be_asked_for() {
    let additive = Independence { scaling: Scaling::Additive, target_us: 15_000 };
    let mut p = Until2021::new(Version::August2020, Some(additive));
    let (_, mut t) = established(Version::August2020, 20);
    p.init(&t.view, &mut t.control);
    p.round = 99;
    assert!(!p.independence_active(&t.control));
    p.begin_round(&t.view, &t.control);
    assert!(p.independence_active(&t.control));
    assert_eq!(p.ai, ((156 * 156) << 20) / (273 * 273));
    t.view.now += Span::from_millis(34);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, 0, "too soon");
    t.view.now += Span::from_millis(1);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, -10 * ONE);
}

/// April's detector lifts alpha behind a classic queue: at a score of 9 to 0.625.
#[test]
fn the_fallback_cuts_more() {
    let (mut p, t) = established(Version::April2020, 32);
    p.alpha16 = 0;
    let detector = p.detector.as_mut().unwrap();
    detector.sample(1);
    for _ in 0..20 {
        detector.adapt(2);
        (0..50).for_each(|i| detector.sample(20_000 + 20_000 * (i % 2)));
        detector.judge(20_000);
    }
    assert!(detector.score() > 9.0);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.carry, -10 * ONE);
}

/// Where every packet is marked with probability p by itself, alpha is p. A cut is followed by a round trip of W
/// packets without one, and by 1/p packets until the next mark, so pW²/2 is lost every W + 1/p packets, and each
/// unmarked packet earns 1/W. With x = pW: (1 − p)(1 + 1/x) = x/2. If every round were cut, it would be W = 2/p.
#[test]
fn the_window_at_a_fixed_marking_probability() {
    for p in [0.02_f64, 0.05, 0.1] {
        let q = 1.0 - p;
        let expected = (q + (q * q + 2.0 * q).sqrt()) / p;
        let w = toy_link(p);
        assert!((w / expected - 1.0).abs() < 0.05, "{p}: {w} for {expected}");
    }
}

/// Mean window over rounds of a link that only marks, each packet by itself; ACKs of two.
fn toy_link(p: f64) -> f64 {
    let stack = TcpQuirks { prague: PragueVersion::August2020, ..LINUX_5_4 };
    let mut control = crate::cc::AnyCongestionControl::from(crate::cc::Prague::new(&stack));
    let mut t = Tcb::example(20);
    t.view.ecn = Agreed::AccEcn;
    t.view.rtt.sample(t.view.now, 20_000, 20_000, 0, 20);
    control.init(&t.view, &mut t.control);
    t.control.ssthresh = 20;
    let mut random = sojourn_units::Random::named(7, "marks");
    let (mut high, mut sum, mut n) = (0, 0.0, 0.0);
    for i in 0..400_000 {
        let ce = (0..2).map(|_| u32::from(random.below(1_000_000) < (p * 1e6) as u64)).sum::<u32>();
        t.view.una += 2;
        t.view.nxt = t.view.una + t.control.cwnd;
        t.view.packets_out = t.control.cwnd;
        t.view.max_packets_out = t.control.cwnd;
        t.view.delivered += 2;
        t.view.delivered_ce += ce;
        if t.view.ca_state == CaState::Cwr && t.view.una > high {
            control.set_state(&t.view, &mut t.control, CaState::Open);
            t.view.ca_state = CaState::Open;
        }
        if ce > 0 && t.view.ca_state == CaState::Open {
            high = t.view.nxt;
            t.control.ssthresh = control.ssthresh(&t.view, &t.control);
            control.set_state(&t.view, &mut t.control, CaState::Cwr);
            t.view.ca_state = CaState::Cwr;
        }
        let sample = ControlSample { delivered: 2, ce, ece: ce > 0, ..ControlSample::default() };
        control.cong_control(&t.view, &mut t.control, &sample);
        if i > 50_000 {
            // By time: an ACK of a window of W stands for 2/W of a round.
            (sum, n) = (sum + 1.0, n + 1.0 / f64::from(t.control.cwnd));
        }
    }
    sum / n
}
