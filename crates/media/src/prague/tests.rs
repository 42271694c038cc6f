//! Traces by hand, and what the text promises.

use super::*;
use crate::feedback::{Arrival, read, write};
use sojourn_units::Ecn;

const OPTIONS: PragueOptions =
    PragueOptions { min: 100e3, max: 1e9, max_packet: 1_000, frame_period: 0.04, budget: 0.8 };

fn near(ours: f64, expected: f64) {
    assert!(
        (ours - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{ours}, expected {expected}"
    );
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// A report of these packets from this number on; all came just before.
fn report(begin: u16, packets: &[Option<Ecn>], now: Time) -> Report {
    let packets: Vec<_> =
        packets.iter().map(|ecn| ecn.map(|ecn| Arrival { at: now, ecn })).collect();
    read(&write(begin, &packets, now)).unwrap()
}

const CAME: Option<Ecn> = Some(Ecn::Ect1);
const MARKED: Option<Ecn> = Some(Ecn::Ce);

/// 100 kbit/s are 12 500 bytes a second: packets of 156.25 bytes, two in 25 ms. One is acknowledged after 40 ms: the window is 40 ms of
/// the rate, 500 bytes, and grows by 156.25 · 1000 / 500. Then the rate is that over 40 ms, and packets are the largest: 20 ms
/// of it are 406.
#[test]
fn the_first_report_worked_by_hand() {
    let mut prague = Prague::new(OPTIONS);
    near(prague.packet_size, 156.25);
    prague.on_sent(at(0), 156);
    prague.on_report(at(40), &report(0, &[CAME], at(20)));
    near(prague.window, 812.5);
    near(prague.rate, 812.5 / 0.04);
    near(prague.packet_size, 812.5 / 2.0);
    near(prague.target_bitrate(), 812.5 / 0.04 * 8.0 * 0.8);
}

/// A sender in congestion avoidance with this window in bytes, at this round trip, with ten packets of 1000 bytes on
/// their way since a second ago.
fn steady(window: f64, srtt: f64) -> Prague {
    let mut prague = Prague::new(OPTIONS);
    (prague.state, prague.srtt) = (State::Avoidance, Some(srtt));
    (prague.window, prague.rate) = (window, window / srtt);
    prague.packet_size = 1_000.0;
    for _ in 0..10 {
        prague.sent.push(at(1_000), 1_000);
        prague.counts.sent += 1;
    }
    prague
}

/// Ten packets of a window of ten are a packet more, at 40 ms; at 10 ms (10/25)² of it. After 7 virtual round trips without a
/// mark it is a millisecond of the rate where that is more: at 20 MB/s, 20 000 bytes.
#[test]
fn growth_is_a_packet_a_window_and_independent_of_the_round_trip() {
    for (window, rtt, rounds, grown) in [
        (10_000.0, 0.04, 7.0, 1_000.0),
        (10_000.0, 0.01, 7.0, 160.0),
        (800_000.0, 0.04, 0.0, 250.0),
    ] {
        let mut prague = steady(window, rtt);
        prague.rounds_to_growth = rounds;
        prague.grow(10.0, rtt, f64::max(rtt, REF_RTT));
        near(prague.window - window, grown);
    }
}

/// Of nine packets four are marked: α is a sixteenth of 4/9, and half of it is taken off, after growth by the other five. A
/// second mark within a virtual round trip takes nothing off.
#[test]
fn a_mark_takes_off_half_of_alpha_once() {
    let mut prague = steady(10_000.0, 0.04);
    prague.alpha_mark = Mark { at: at(900), sent: 5 };
    let marks = [CAME, MARKED, CAME, MARKED, CAME, MARKED, CAME, MARKED, CAME];
    prague.on_report(at(1_040), &report(0, &marks, at(1_020)));
    near(prague.alpha, 4.0 / 9.0 / 16.0);
    let grown = 10_000.0 + 5.0 * 1_000.0 * 1_000.0 / 10_000.0;
    near(prague.window, grown * (1.0 - 4.0 / 9.0 / 32.0));
    assert_eq!(prague.state, State::InCwr);
    let before = prague.window;
    prague.on_report(at(1_041), &report(9, &[MARKED], at(1_021)));
    assert!(prague.window >= before * 0.999);
}

/// A loss halves, and is undone when the packet comes after all.
#[test]
fn a_loss_halves_and_is_undone_if_it_was_none() {
    let mut prague = steady(10_000.0, 0.04);
    prague.on_report(at(1_040), &report(0, &[CAME, None, CAME], at(1_020)));
    near(prague.window, 5_000.0);
    assert_eq!(prague.state, State::InLoss);
    prague.on_report(at(1_041), &report(0, &[CAME, CAME, CAME], at(1_021)));
    assert_eq!((prague.state, prague.counts.lost), (State::Avoidance, 0));
    assert!(prague.window >= 10_000.0, "{}", prague.window);
}

/// Up to 2 ms a rate is controlled; a packet that is acknowledged adds to it what it adds to a window of 25 ms.
#[test]
fn short_round_trips_control_a_rate() {
    let mut prague = steady(1_000.0, 0.001);
    prague.on_report(at(1_001), &report(0, &[CAME], at(1_000)));
    assert_eq!(prague.mode, Mode::Rate);
    near(prague.rate, 1e6 + 1_000.0 / 0.025 / (1e6 * 0.025 / 1_000.0));
}

/// A path that wipes ECT(1) out is answered with Not-ECT.
#[test]
fn a_path_that_bleaches_is_given_up_on() {
    let mut prague = steady(10_000.0, 0.04);
    assert!(!prague.gives_up_ecn());
    prague.on_report(at(1_040), &report(0, &[Some(Ecn::NotEct)], at(1_020)));
    assert!(prague.gives_up_ecn());
}

/// A full window without reports: a second behind the last packet the control starts over, at 100 kbit/s.
#[test]
fn a_second_without_reports_starts_again() {
    let mut prague = Prague::new(OPTIONS);
    let mut last = Time::ZERO;
    for _ in 0..200 {
        let next = prague.may_send(150);
        if next.since(last) >= TIMEOUT {
            prague.on_sent(next, 150);
            assert_eq!(prague.state, State::Init);
            near(prague.rate, 12_500.0);
            assert_eq!(prague.sent.outstanding(), 150);
            return;
        }
        prague.on_sent(next, 150);
        last = next;
    }
    panic!("it went on sending");
}
