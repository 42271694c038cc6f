use super::*;
use crate::ecn::Agreed;

fn established(cwnd: u32, rtt_us: u32) -> (Newest, Tcb) {
    let (mut p, mut t) = (Newest::new(), Tcb::example(cwnd));
    t.ecn = Agreed::AccEcn;
    t.rtt.sample(t.now, rtt_us, rtt_us, 0, cwnd);
    p.init(&mut t);
    t.ssthresh = cwnd;
    (p, t)
}

fn ack(p: &mut Newest, t: &mut Tcb, delivered: u32, ce: u32) {
    t.delivered += delivered;
    t.delivered_ce += ce;
    t.una += delivered;
    t.nxt += delivered;
    let sample = ControlSample { delivered, ce, ece: ce > 0, ..ControlSample::default() };
    p.cong_control(t, &sample);
}

/// The first mark halves the window of its own, alpha being nought; `cwnd` follows by one packet an ACK.
#[test]
fn the_first_mark_halves() {
    let (mut p, mut t) = established(20, 25_000);
    p.set_state(&t, CaState::Cwr);
    assert_eq!(p.f_w, whole(20), "alpha is nought");
    ack(&mut p, &mut t, 2, 2);
    assert_eq!((p.f_w, t.cwnd, t.ssthresh), (whole(10), 19, 19));
    for _ in 0..20 {
        ack(&mut p, &mut t, 2, 2);
    }
    assert_eq!(t.cwnd, 10);
    assert_eq!(p.f_w, whole(10), "only once");
}

/// Sixteen rounds of all marks from nought: 1 − (15/16)^16 = 0.644.
#[test]
fn alpha_from_nought() {
    let (mut p, mut t) = established(20, 25_000);
    p.saw_ce = true;
    for _ in 0..16 {
        (t.delivered, t.delivered_ce) = (t.delivered + 20, t.delivered_ce + 20);
        p.update_alpha(&t);
        p.begin_round(&t);
    }
    let alpha = p.alpha16 as f64 / (ALPHA_ONE << GAIN_SHIFT) as f64;
    assert!((alpha - (1.0 - (15.0_f64 / 16.0).powi(16))).abs() < 1e-5, "{alpha}");
    // Half of alpha of the window.
    let before = p.f_w;
    t.now += sojourn_units::Span::from_millis(30);
    p.set_state(&t, CaState::Cwr);
    assert!((real(before - p.f_w) - 10.0 * alpha).abs() < 1e-3);
}

/// In slow start the fraction is the window.
#[test]
fn slow_start_keeps_the_fraction() {
    let (mut p, mut t) = established(20, 25_000);
    t.ssthresh = crate::tcb::INFINITE_SSTHRESH;
    ack(&mut p, &mut t, 10, 0);
    assert_eq!((t.cwnd, p.f_w), (30, whole(30)));
}

/// Below four packets the rate is controlled, and the pace goes below two packets a round trip, to 100 kbit/s.
#[test]
fn small_windows_are_rates() {
    let (mut p, mut t) = established(4, 5_000);
    for _ in 0..400 {
        ack(&mut p, &mut t, 1, 1);
        t.now += sojourn_units::Span::from_millis(30);
        p.set_state(&t, CaState::Cwr);
    }
    assert!(p.rate_mode && t.cwnd == 2);
    assert_eq!(p.rate, MIN_RATE);
    // A 32nd faster in the first half of a round.
    assert_eq!(t.pacing_rate, MIN_RATE + MIN_RATE / 32);
}

#[test]
fn an_undo_restores_window_and_rate() {
    let (mut p, mut t) = established(20, 25_000);
    let before = (p.f_w, p.rate);
    p.set_state(&t, CaState::Recovery);
    assert_eq!(p.f_w, whole(10));
    t.cwnd = 15;
    assert_eq!(p.undo_cwnd(&t), 20);
    assert_eq!((p.f_w, p.rate, p.in_loss), (before.0, before.1, false));
}
