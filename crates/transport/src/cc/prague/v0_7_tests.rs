use super::*;
use crate::cc::CaState;
use crate::ecn::Agreed;
use crate::tcb::Tcb;

fn established(cwnd: u32, rtt_us: u32) -> (V0_7, Tcb) {
    let (mut p, mut t) = (V0_7::new(), Tcb::example(cwnd));
    t.view.ecn = Agreed::AccEcn;
    t.view.rtt.sample(t.view.now, rtt_us, rtt_us, 0, cwnd);
    p.init(&t.view, &mut t.control);
    t.control.ssthresh = cwnd;
    (p, t)
}

fn ack(p: &mut V0_7, t: &mut Tcb, delivered: u32, ce: u32) {
    t.view.delivered += delivered;
    t.view.delivered_ce += ce;
    t.view.una += delivered;
    t.view.nxt += delivered;
    let sample = ControlSample { delivered, ce, ece: ce > 0, ..ControlSample::default() };
    p.cong_control(&t.view, &mut t.control, &sample);
}

/// The first mark halves the window of its own, alpha being nought; `cwnd` follows by one packet an ACK.
#[test]
fn the_first_mark_halves() {
    let (mut p, mut t) = established(20, 25_000);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.f_w, whole(20), "alpha is nought");
    ack(&mut p, &mut t, 2, 2);
    assert_eq!((p.f_w, t.control.cwnd, t.control.ssthresh), (whole(10), 19, 19));
    for _ in 0..20 {
        ack(&mut p, &mut t, 2, 2);
    }
    assert_eq!(t.control.cwnd, 10);
    assert_eq!(p.f_w, whole(10), "only once");
}

/// Sixteen rounds of all marks from nought: 1 − (15/16)^16 = 0.644.
#[test]
fn alpha_from_nought() {
    let (mut p, mut t) = established(20, 25_000);
    p.saw_ce = true;
    for _ in 0..16 {
        (t.view.delivered, t.view.delivered_ce) = (t.view.delivered + 20, t.view.delivered_ce + 20);
        p.update_alpha(&t.view, &mut t.control);
        p.begin_round(&t.view, &t.control);
    }
    let alpha = p.alpha16 as f64 / (ALPHA_ONE << GAIN_SHIFT) as f64;
    assert!((alpha - (1.0 - libm::pow(15.0 / 16.0, 16.0))).abs() < 1e-5, "{alpha}");
    // Half of alpha of the window.
    let before = p.f_w;
    t.view.now += sojourn_units::Span::from_millis(30);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert!((real(before - p.f_w) - 10.0 * alpha).abs() < 1e-3);
}

/// In slow start the fraction is the window.
#[test]
fn slow_start_keeps_the_fraction() {
    let (mut p, mut t) = established(20, 25_000);
    t.control.ssthresh = crate::cc::INFINITE_SSTHRESH;
    ack(&mut p, &mut t, 10, 0);
    assert_eq!((t.control.cwnd, p.f_w), (30, whole(30)));
}

/// Below four packets the rate is controlled, and the pace goes below two packets a round trip, to 100 kbit/s.
#[test]
fn small_windows_are_rates() {
    let (mut p, mut t) = established(4, 5_000);
    for _ in 0..400 {
        ack(&mut p, &mut t, 1, 1);
        t.view.now += sojourn_units::Span::from_millis(30);
        p.set_state(&t.view, &t.control, CaState::Cwr);
    }
    assert!(p.rate_mode && t.control.cwnd == 2);
    assert_eq!(p.rate, MIN_RATE);
    // A 32nd faster in the first half of a round.
    assert_eq!(t.control.pacing_rate, MIN_RATE + MIN_RATE / 32);
}

#[test]
fn an_undo_restores_window_and_rate() {
    let (mut p, mut t) = established(20, 25_000);
    let before = (p.f_w, p.rate);
    p.set_state(&t.view, &t.control, CaState::Recovery);
    assert_eq!(p.f_w, whole(10));
    t.control.cwnd = 15;
    assert_eq!(p.undo_cwnd(&t.control), 20);
    assert_eq!((p.f_w, p.rate, p.in_loss), (before.0, before.1, false));
}

/// A flow whose rate is controlled, its rounds over and its RTT this.
fn controlled(rate: u64, rtt_us: u32) -> (V0_7, Tcb) {
    let (mut p, mut t) = established(2, rtt_us);
    (p.saw_ce, p.rate_mode, p.round, p.rate) = (true, true, TRANSITION, rate);
    t.control.ssthresh = 2;
    (p, t)
}

/// Two packets in 25 ms, computed in seconds of 2^20 µs: at 60 000 B/s ⌊60000 · 25000 / 2^20⌋ = 1430 bytes, 715 each.
/// The window of two packets of 1500 bytes is 4.196 of them, of which five are sent; the threshold follows.
#[test]
fn two_packets_fit_into_the_target() {
    for (rate, rtt_us, size) in [
        (60_000, 5_000, 715),
        // Longer than the target: two in the RTT. ⌊60000 · 40000 / 2^20⌋ = 2288.
        (60_000, 40_000, 1144),
        // 2^20 / 25000 · 2999 = 125787.4: the last rate with full packets, and the first without.
        (125_788, 5_000, 1500),
        (125_700, 5_000, 1498),
        (1_000_000, 5_000, 1500),
        // 298 bytes, 149 each: 150 of payload at least.
        (MIN_RATE, 5_000, 202),
    ] {
        let (mut p, mut t) = controlled(rate, rtt_us);
        p.f_w = whole(2);
        p.update_alpha(&t.view, &mut t.control);
        assert_eq!(
            (mtu(&t.view, &t.control), t.control.mss),
            (size, size as u32 - 52),
            "{rate} B/s at {rtt_us} µs"
        );
    }
    let (mut p, mut t) = controlled(60_000, 5_000);
    p.f_w = whole(2);
    p.update_alpha(&t.view, &mut t.control);
    assert_eq!((p.f_w, t.control.cwnd, t.control.ssthresh), (whole(2) * 1500 / 715, 5, 4));
    // And back: the same bytes, 5.0 packets of 715 bytes.
    p.rate = 1_000_000;
    p.f_w = whole(5);
    p.update_alpha(&t.view, &mut t.control);
    assert_eq!((p.f_w, t.control.cwnd, t.control.mss), (whole(5) * 715 / 1500, 3, 1448));
    // 3575 bytes are 2.4 full packets, three; four of 715 are one as a threshold.
    assert_eq!(t.control.ssthresh, 1);
}

/// Where a window is controlled its bytes count, scaled to the target: 3.5 packets of 1500 bytes in 50 ms are 5250
/// bytes, more than two; in 5 ms of a window of half a packet they are 5 · 750 bytes.
#[test]
fn a_window_has_a_size_too() {
    for (f_w, rtt_us, size) in [
        (ONE * 7 / 2, 50_000, 1500),
        (ONE / 2, 5_000, 1500),
        (ONE / 4, 5_000, 938),
        (ONE, 25_000, 750),
    ] {
        let (mut p, mut t) = controlled(60_000, rtt_us);
        (p.rate_mode, p.f_w) = (false, f_w);
        p.update_alpha(&t.view, &mut t.control);
        assert_eq!(mtu(&t.view, &t.control), size, "{} packets in {rtt_us} µs", real(f_w));
    }
}

/// Not in slow start, nor in its first rounds after it, nor while a loss is being answered, nor before a mark.
#[test]
fn the_size_stays_where_rtt_independence_does_not_act() {
    type Change = fn(&mut V0_7, &mut Tcb);
    let changes: [(Change, bool); 5] = [
        (|_, _| {}, true),
        (|_, t| t.control.ssthresh = 10, false),
        (|p, _| p.round = TRANSITION - 1, false),
        (|p, _| p.in_loss = true, false),
        (|p, _| p.saw_ce = false, false),
    ];
    for (i, (change, resizes)) in changes.into_iter().enumerate() {
        let (mut p, mut t) = controlled(60_000, 5_000);
        change(&mut p, &mut t);
        p.update_alpha(&t.view, &mut t.control);
        assert_eq!(t.control.mss != 1448, resizes, "{i}");
    }
}
