use super::*;
use crate::cc::INFINITE_SSTHRESH;
use crate::cc::sce::tests::{ack, beyond_slow_start, quirks};
use crate::tcb::Tcb;
use sojourn_units::{Span, Time};

fn new(sce: SceSenders, tcb: &mut Tcb) -> CubicSce {
    let mut control = CubicSce::new(&quirks(sce));
    control.init(&tcb.view, &mut tcb.control);
    control
}

/// 100 segments cut to 70 at 1 s, ticks of a millisecond, the epoch begun: K is that of CUBIC, ∛(30/0.4) = 4.217 s.
fn cut(sce: SceSenders) -> (CubicSce, Tcb) {
    let mut t = beyond_slow_start(100);
    t.view.hz = 1000;
    let mut c = new(sce, &mut t);
    t.control.ssthresh = c.ssthresh(&t.view, &t.control);
    t.control.cwnd = t.control.ssthresh;
    assert_eq!((t.control.cwnd, c.cubic.epoch), (70, None));
    c.cong_avoid(&t.view, &mut t.control, 2);
    assert_eq!((c.cubic.origin, c.cubic.acked, c.root), (100, 0, 8));
    assert!((4313..=4318).contains(&c.cubic.k), "{}", c.cubic.k);
    (c, t)
}

/// Height of the curve now, in segments: the window's current target, without looking ahead.
fn curve(c: &CubicSce, t: &Tcb) -> f64 {
    let since = t.view.jiffies().wrapping_sub(c.cubic.epoch.unwrap());
    let offset = f64::from(since) / f64::from(t.view.hz) - f64::from(c.cubic.k) / 1024.0;
    f64::from(c.cubic.origin) + 410.0 / 1024.0 * offset * offset * offset
}

/// Before anything else SCE ends slow start: half is the threshold, the window stays, and CE would still cut as CUBIC.
#[test]
fn sce_ends_slow_start() {
    let mut t = Tcb::example(100);
    let mut c = new(SceSenders::Published, &mut t);
    c.in_ack_event(&t.view, &mut t.control, ack(2, false));
    assert_eq!(t.control.ssthresh, INFINITE_SSTHRESH);
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!((t.control.cwnd, t.control.ssthresh, c.recent), (100, 50, 0));
    assert_eq!(c.ssthresh(&t.view, &t.control), 70);
    // From there on growth is that of before the first loss: 5 % a round trip.
    t.control.cwnd = 100;
    t.control.ssthresh = 50;
    let mut c = new(SceSenders::Published, &mut t);
    (0..50).for_each(|_| c.cong_avoid(&t.view, &mut t.control, 2));
    assert_eq!(t.control.cwnd, 105);
}

/// √70 is 8 from below. A window of ESCE in ACKs of two takes 16 of 70 each: the fifth ACK takes a segment, the plateau's
/// too, and at 69 the rest of 10 is still there. Recent for a window of ACKs, so CE takes an eighth.
#[test]
fn a_window_of_esce_takes_its_root() {
    let (mut c, mut t) = cut(SceSenders::Corrected);
    for _ in 0..4 {
        c.in_ack_event(&t.view, &mut t.control, ack(2, true));
        assert_eq!(t.control.cwnd, 70);
    }
    let origin = c.cubic.origin;
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!((t.control.cwnd, t.control.ssthresh, c.root), (69, 34, 8));
    assert!(c.cubic.origin < origin);
    assert_eq!(c.cubic.acked, (70 - 5 * 16) * 1448);
    assert_eq!(c.recent, 70);
    assert_eq!(c.ssthresh(&t.view, &t.control), 69 * 7 / 8);
}

/// Below the plateau, one second in: an ACK of two of a root of eight takes a quarter of the time that is left, and the
/// curve goes on from where it is. Past the plateau the same part of the time since is gone.
#[test]
fn the_curve_gets_flatter_and_stays_whole() {
    let (mut c, mut t) = cut(SceSenders::Corrected);
    t.view.now += Span::from_secs(1);
    let (left, height) = (c.cubic.k - 1024, curve(&c, &t));
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!(c.cubic.k, left * 6 / 8);
    assert!(c.cubic.origin < 100);
    assert!((curve(&c, &t) - height).abs() <= 1.5, "{} for {height}", curve(&c, &t));
    // An ACK of more than the root: the plateau is here.
    t.view.now += Span::from_millis(500);
    let height = curve(&c, &t);
    c.in_ack_event(&t.view, &mut t.control, ack(20, true));
    assert_eq!(c.cubic.k, 0);
    // The two windows that it took are off the plateau.
    assert!((f64::from(c.cubic.origin) - height).abs() <= 4.0, "{} {height}", c.cubic.origin);
    // Past it.
    t.view.now += Span::from_secs(8);
    let height = curve(&c, &t);
    assert!(height > f64::from(c.cubic.origin) + 200.0);
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!(c.cubic.k, 8 * 1024 * 2 / u32::max(c.root, 8));
    assert!((curve(&c, &t) - height).abs() <= 2.5, "{} for {height}", curve(&c, &t));
}

/// The published code. Past the plateau all of the time since goes, whatever the ACK: 2896 bytes are more than a root
/// of 8. Below it the level is computed with the time that was just set to zero: (0 − 1024)³·410 >> 40 in 64 bits is
/// 2^24 − 1 (0.4 rounded), and 100 − (2^24 − 1 − 13) is below zero: the plateau is at 2^32 − 16777102, with 12.97 of
/// height, rounded down, before. From then on a segment for every two.
#[test]
fn the_published_plateau_flies_off() {
    let (mut c, mut t) = cut(SceSenders::Published);
    t.view.now += Span::from_secs(1);
    let before = height(u64::from(c.cubic.k) - 1024);
    assert_eq!(before, 13);
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!(c.cubic.k, 0);
    assert_eq!(u64::from(c.cubic.origin), (1_u64 << 32) + 100 - ((1 << 24) - 1) + 13);
    t.view.now += Span::from_millis(100);
    let cwnd = t.control.cwnd;
    t.control.cwnd_count = 0;
    (0..10).for_each(|_| c.cong_avoid(&t.view, &mut t.control, 2));
    assert_eq!(t.control.cwnd, cwnd + 10);
    // A reduction ends it.
    t.view.now += Span::from_millis(100);
    t.control.ssthresh = c.ssthresh(&t.view, &t.control);
    t.control.cwnd = t.control.ssthresh;
    c.cong_avoid(&t.view, &mut t.control, 2);
    assert!(c.cubic.origin <= 100);
}

/// The published balance in bytes: an ACK of two counts for 2·1448·8 of a window of 70·536, which is 0.62 of a segment.
#[test]
fn as_published_a_segment_counts_for_more() {
    let (mut c, mut t) = cut(SceSenders::Published);
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!((t.control.cwnd, c.cubic.acked), (70, -23_168));
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!((t.control.cwnd, c.cubic.acked), (69, 70 * 536 - 2 * 23_168));
}

/// While a reduction for CE goes on there is no epoch: ESCE sets the threshold that it heads for to half of the window
/// of now.
#[test]
fn esce_in_a_reduction_lowers_its_goal() {
    let (mut c, mut t) = cut(SceSenders::Published);
    t.control.cwnd = 80;
    t.control.ssthresh = c.ssthresh(&t.view, &t.control);
    assert_eq!(t.control.ssthresh, 56);
    c.in_ack_event(&t.view, &mut t.control, ack(2, true));
    assert_eq!((t.control.ssthresh, c.recent), (40, 0));
}

/// A timeout forgets SCE with the rest; without ESCE it is CUBIC's growth.
#[test]
fn without_esce_it_is_cubic() {
    let (mut c, mut t) = cut(SceSenders::Published);
    let mut cubic = Cubic::new(&quirks(SceSenders::Published));
    let mut u = beyond_slow_start(100);
    u.view.hz = 1000;
    cubic.init(&u.view, &mut u.control);
    u.control.ssthresh = cubic.ssthresh(&u.view, &u.control);
    u.control.cwnd = u.control.ssthresh;
    cubic.cong_avoid(&u.view, &mut u.control, 2);
    for i in 0..20_000_u64 {
        (t.view.now, u.view.now) = (Time::from_millis(1000 + i), Time::from_millis(1000 + i));
        c.in_ack_event(&t.view, &mut t.control, ack(2, false));
        c.cong_avoid(&t.view, &mut t.control, 2);
        cubic.cong_avoid(&u.view, &mut u.control, 2);
        // The ACK that began the epoch is the only difference.
        assert!(
            t.control.cwnd.abs_diff(u.control.cwnd) <= 1,
            "{i}: {} {}",
            t.control.cwnd,
            u.control.cwnd
        );
    }
    assert!(t.control.cwnd > 1000);
    c.recent = 5;
    c.set_state(&t.view, &mut t.control, CaState::Loss);
    assert_eq!((c.recent, c.root, c.cubic.epoch), (0, 1, None));
}
