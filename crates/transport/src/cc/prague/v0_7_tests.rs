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

/// The first mark halves the window without alpha, which is zero; `cwnd` follows by one packet an ACK.
#[test]
fn the_first_mark_halves() {
    let (mut p, mut t) = established(20, 25_000);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!(p.f_w, whole(20), "alpha is zero");
    ack(&mut p, &mut t, 2, 2);
    assert_eq!((p.f_w, t.control.cwnd, t.control.ssthresh), (whole(10), 19, 19));
    for _ in 0..20 {
        ack(&mut p, &mut t, 2, 2);
    }
    assert_eq!(t.control.cwnd, 10);
    assert_eq!(p.f_w, whole(10), "only once");
}

/// Sixteen rounds with all packets marked, from zero: 1 − (15/16)^16 = 0.644.
#[test]
fn alpha_from_zero() {
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

/// Twenty packets of 1500 bytes in 25 ms are 1.2 MB/s. A loss halves both. An undo gives the rate back, and the window
/// that this is by the long second: ⌈1200000 · 200000 / 8 / 1500⌉ = 20000000 of 2^-20, 19.07 packets.
#[test]
fn an_undo_restores_the_rate_and_what_follows_from_it() {
    let (mut p, mut t) = established(20, 25_000);
    assert_eq!(p.rate, 1_200_000);
    p.set_state(&t.view, &t.control, CaState::Recovery);
    assert_eq!((p.f_w, p.rate, p.in_loss), (whole(10), 600_000, true));
    t.control.cwnd = 15;
    assert_eq!(p.undo_cwnd(&t.view, &t.control), 20);
    assert_eq!((p.f_w, p.rate, p.in_loss), (20_000_000, 1_200_000, false));
}

/// In rate mode a loss halves the rate, rounded up, and the window follows: ⌈30001 · 40000 / 8 / 1500⌉ = 100004.
#[test]
fn a_loss_halves_the_rate() {
    let (mut p, t) = controlled(60_001, 5_000);
    p.set_state(&t.view, &t.control, CaState::Recovery);
    assert_eq!((p.rate, p.f_w, p.loss_rate), (30_001, 100_004, 60_001));
    // Before RTT independence acts it is the window that is halved, also in rate mode: a packet in 5 ms.
    let (mut p, t) = controlled(60_000, 5_000);
    (p.round, p.f_w) = (TRANSITION - 1, whole(2));
    p.set_state(&t.view, &t.control, CaState::Recovery);
    assert_eq!((p.rate, p.f_w), (300_000, whole(1)));
}

/// Below 2^12 packets a second and less than twice that, one leaves by itself: up to 98.3 Mbit/s.
#[test]
fn single_packets_leave() {
    for (packets, burst) in [(20, 1), (8_191, 1), (8_192, 2), (12_288, 3)] {
        // The number of packets in a second.
        let (mut p, mut t) = established(packets, 1_000_000);
        t.view.packets_out = packets;
        p.pace(&t.view, &mut t.control);
        assert_eq!(t.control.burst_limit, Some(burst), "{packets} a second");
    }
}

/// At every ACK, and after the pace: the controlled quantity determines the other one. Five and a half packets in 25 ms
/// leave at the rate of five, and are kept as 330 kB/s; 60 kB/s are, by the slow average of 5 ms and the long second,
/// ⌈60000 · 40000 / 8 / 1500⌉ = 200000 of 2^-20, 0.19 packets.
#[test]
fn every_ack_works_the_other_out() {
    let (mut p, mut t) = established(6, 25_000);
    (p.saw_ce, p.f_w, p.in_loss) = (true, ONE * 11 / 2, true);
    t.view.packets_out = 3;
    ack(&mut p, &mut t, 1, 1);
    assert_eq!((t.control.cwnd, p.rate_mode), (6, false));
    assert_eq!((t.control.pacing_rate, p.rate), (300_000, 330_000));

    let (mut p, mut t) = controlled(60_000, 5_000);
    p.in_loss = true;
    for _ in 0..3 {
        p.f_w = whole(2);
        t.view.nxt += 10;
        ack(&mut p, &mut t, 1, 1);
        assert_eq!((p.rate, p.f_w, t.control.cwnd), (60_000, 200_000, 2));
    }
    // While RTT independence does not act, it is the window that paces, by whole packets, and then follows.
    let (mut p, mut t) = controlled(60_000, 5_000);
    (p.in_loss, p.round, p.f_w) = (true, 0, whole(2));
    t.view.packets_out = 1;
    t.view.nxt += 10;
    ack(&mut p, &mut t, 1, 1);
    assert_eq!((t.control.pacing_rate, p.rate), (600_000, 600_000));
    assert_eq!(p.f_w, 2_000_000, "⌈600000 · 40000 / 8 / 1500⌉");
}

/// 1500 bytes in 25 ms are ⌊1500 · 2^23 / 200000⌋ = 62914 B/s in long seconds. 60 kB/s are one packet in that time, by
/// whole ones; 100 kB/s are two, so that each adds half of it, 31457, and two at once half of 125829, 62915.
#[test]
fn a_rate_grows_by_a_packet_in_the_target() {
    for (rate, unmarked, grown) in
        [(60_000, 1, 122_914), (100_000, 1, 131_457), (100_000, 2, 162_915)]
    {
        let (mut p, mut t) = controlled(rate, 5_000);
        p.f_w = 0;
        let sample = ControlSample { delivered: unmarked, ..ControlSample::default() };
        p.update_window(&t.view, &mut t.control, &sample);
        assert_eq!(p.rate, grown, "{unmarked} at {rate} B/s");
        assert_eq!(p.f_w, (((grown * 40_000) >> 3).div_ceil(1500)) as i64);
    }
}

/// The first mark halves the window and leaves the rate to follow from it.
#[test]
fn the_first_mark_leaves_the_rate_alone() {
    let (mut p, mut t) = established(20, 25_000);
    let sample = ControlSample { delivered: 2, ce: 2, ..ControlSample::default() };
    p.update_window(&t.view, &mut t.control, &sample);
    assert_eq!((p.f_w, p.rate), (whole(10), 1_200_000));
}

/// The rest of an ACK that slow start leaves grows the window from where slow start has brought it: two of five packets
/// from 23 on, by 2/23 of 2^20: 91181.
#[test]
fn the_end_of_slow_start_counts_from_the_window() {
    let (mut p, mut t) = established(20, 25_000);
    t.control.ssthresh = 23;
    let sample = ControlSample { delivered: 5, ..ControlSample::default() };
    p.update_window(&t.view, &mut t.control, &sample);
    assert_eq!((t.control.cwnd, p.f_w), (24, whole(23) + 91_181));
}

/// The slow average of the RTT is taken at the end of each round, marks or not: from 5 ms to 7 by a 128th of 2 ms.
#[test]
fn the_slow_average_moves_once_a_round() {
    let (mut p, mut t) = established(20, 5_000);
    t.view.rtt = crate::rtt::Rtt::default();
    t.view.rtt.sample(t.view.now, 7_000, 7_000, 0, 0);
    p.update_alpha(&t.view, &mut t.control);
    assert_eq!(p.hsrtt, (40_000 << 7) + 16_000);
}

/// The gain is (r/T)², to the nearest: (5.001/25)² · 2^20 = 41959.8.
#[test]
fn gain_by_the_rtt() {
    let (mut p, t) = controlled(60_000, 5_001);
    p.set_gain(&t.view);
    assert_eq!(p.ai, 41_960);
}

/// A flow with a controlled rate and this RTT, at the end of its rounds.
fn controlled(rate: u64, rtt_us: u32) -> (V0_7, Tcb) {
    let (mut p, mut t) = established(2, rtt_us);
    (p.saw_ce, p.rate_mode, p.round, p.rate) = (true, true, TRANSITION, rate);
    t.control.ssthresh = 2;
    (p, t)
}

/// Two packets in 25 ms, computed in seconds of 2^20 µs: at 60 000 B/s ⌊60000 · 25000 / 2^20⌋ = 1430 bytes, 715 each.
/// The window of two packets of 1500 bytes is 4.196 of them, so five are sent; the threshold follows.
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

fn early(cwnd: u32, rtt_us: u32) -> (V0_7, Tcb) {
    let (_, mut t) = established(cwnd, rtt_us);
    let mut p = V0_7::early();
    p.init(&t.view, &mut t.control);
    (p, t)
}

/// 3 of 20 packets at a gain of one are 3/20 packets of window, of whole packets: with a fraction of 20.5 the newest text grows
/// by 3/20.5. And it grows as long as the application sends, whether or not the window holds it back.
#[test]
fn the_early_text_grows_by_whole_windows() {
    let (mut p, mut t) = early(20, 25_000);
    (p.f_w, t.control.cwnd) = (whole(20) + ONE / 2, 20);
    t.view.cwnd_limited = false;
    let before = p.f_w;
    ack(&mut p, &mut t, 3, 0);
    assert_eq!(p.f_w - before, (3 * ONE + 10) / 20);
    t.view.app_limited = Some(99);
    let before = p.f_w;
    ack(&mut p, &mut t, 3, 0);
    assert_eq!(p.f_w, before, "the application pauses");

    let (mut newest, mut t) = established(20, 25_000);
    (newest.f_w, t.control.cwnd, t.view.cwnd_limited) = (whole(20) + ONE / 2, 20, false);
    let before = newest.f_w;
    ack(&mut newest, &mut t, 3, 0);
    assert_eq!(newest.f_w, before);
}

/// It paces whole windows, twice as fast early in slow start, and keeps that rate.
#[test]
fn the_early_text_paces_whole_windows() {
    let (mut p, mut t) = early(20, 25_000);
    let out = t.view.in_flight();
    (p.f_w, t.control.cwnd) = (whole(out + 1), out + 9);
    let packet = SECOND8 * mtu(&t.view, &t.control) / (25_000 << 3);
    let rates = |packets: u32, kept: u32| (u64::from(packets) * packet, u64::from(kept) * packet);
    p.pace(&t.view, &mut t.control);
    assert_eq!((t.control.pacing_rate, p.rate), rates(out + 9, out + 9));
    t.control.ssthresh = 2 * (out + 10);
    p.pace(&t.view, &mut t.control);
    assert_eq!((t.control.pacing_rate, p.rate), rates(2 * (out + 9), 2 * (out + 9)));
    let mut newest = V0_7 { text: Text::Newest, ..p };
    newest.pace(&t.view, &mut t.control);
    assert_eq!((t.control.pacing_rate, newest.rate), rates(2 * (out + 1), out + 1));
}

/// A cut in window mode leaves the rate to the next pace, and no mode works one out of the other.
#[test]
fn the_early_text_keeps_window_and_rate_apart() {
    let (mut p, mut t) = early(20, 25_000);
    (p.saw_ce, p.alpha16) = (true, ALPHA_ONE << GAIN_SHIFT);
    let rate = p.rate;
    t.view.now += sojourn_units::Span::from_millis(30);
    p.set_state(&t.view, &t.control, CaState::Cwr);
    assert_eq!((p.f_w, p.rate), (whole(10), rate));
    t.control.cwnd = 4;
    p.choose_mode(&t.view, &t.control);
    assert!(p.rate_mode);
    assert_eq!((p.f_w, p.rate), (whole(10), rate));
}
