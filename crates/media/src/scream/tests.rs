//! The control as a whole, over a path of a few lines: a rate, a queue and a delay.

use super::*;
use crate::feedback::read;
use crate::{Encoder, EncoderSettings, Receiver, ReportRules};
use proptest::prelude::*;
use sojourn_units::{Ecn, Random};

const OPTIONS: Options = Options {
    mode: Mode::NoEcn,
    min: 150e3,
    max: 1.5e6,
    mss: 1_000,
    frame_period: 0.04,
    switches: Switches {
        reduce_jitter: false,
        clock_drift: false,
        loss_threshold: false,
        undershoot: false,
        competing: false,
    },
};

/// A trace by hand. Three packets of 1000 bytes leave, paced at 1 Mbit/s, 8 ms apart: the least window times three has room for
/// nine, so the window does not hold them. The report of all three is there at 100 ms: a round trip of the last, from 16 ms on,
/// of 84 ms. Nothing is marked, nothing waits. Growth: 3000 bytes, and each counts 1000/3000; a scale of 1 for the
/// round trip; 1 + 0.02·3. The most allowed is 1000 + 1.5·3000. Then the target: 0.8 (a small window), 1000/1020, 1.2.
#[test]
fn the_first_report_worked_by_hand() {
    let mut scream = Scream::new(OPTIONS);
    let mut receiver = Receiver::new(ReportRules::SCREAM);
    let mut report = None;
    for number in 0..3 {
        let at = scream.may_send(1_000);
        assert_eq!(at, Time::from_millis(8 * u64::from(number)));
        scream.on_sent(at, 1_000);
        let came = at + Span::from_millis(42);
        report = receiver.on_packet(came, number, Ecn::NotEct, number == 2);
    }
    scream.on_report(Time::from_millis(100), &read(&report.unwrap()).unwrap());
    assert_eq!(scream.measured().srtt, Some(0.084));
    assert!((scream.measured().window - (3_000.0 + 1_000.0 * 1.06)).abs() < 1e-9);
    let part = (1.0 - (1_000.0 / 4_060.0 - 0.1)) / 1.02 / 1.2;
    let target = part * 8.0 * 4_060.0 / 0.084;
    assert!((scream.target_bitrate() - target).abs() < 1e-6, "{}", scream.target_bitrate());
    assert!((scream.measured().pacing - 1.5 * target).abs() < 1e-6);
    // The next packet waits for the pacing of the last, which was the first rate's.
    assert_eq!(scream.may_send(1_000), Time::from_millis(24));
}

/// Nine packets fill the least window three times over; the tenth leaves half a second behind the ninth, and so do those behind
/// it: nothing stalls without reports.
#[test]
fn without_reports_a_packet_leaves_each_half_second() {
    let mut scream = Scream::new(OPTIONS);
    let mut times = Vec::new();
    for _ in 0..12 {
        let at = scream.may_send(1_000);
        scream.on_sent(at, 1_000);
        times.push(at.as_nanos() / 1_000_000);
    }
    assert_eq!(times, [0, 8, 16, 24, 32, 40, 48, 56, 64, 564, 1_064, 1_564]);
}

/// A bottleneck of a rate with a queue of a length in time, a mark above a delay, losses; feedback may be away for a while.
#[derive(Clone, Copy, Debug)]
struct Path {
    rate: f64,
    one_way: f64,
    buffer: f64,
    mark_above: Option<f64>,
    loss: f64,
    silence: (f64, f64),
}

const PATH: Path = Path {
    rate: 1e6,
    one_way: 0.05,
    buffer: 0.3,
    mark_above: None,
    loss: 0.0,
    silence: (0.0, 0.0),
};

/// Measurements of a call over a path, once a frame from `from` seconds on: targets, and the queue's delays of packets.
struct Seen {
    targets: Vec<f64>,
    delays: Vec<f64>,
    delivered: u64,
    last_arrival: f64,
}

fn call(options: Options, path: Path, seconds: f64, from: f64, seed: u64) -> Seen {
    let mut scream = Scream::new(options);
    let mut receiver = Receiver::new(ReportRules::SCREAM);
    let settings = EncoderSettings {
        fps: 1.0 / options.frame_period,
        size_noise: 0.15,
        interval_noise: 0.0,
        reaction: Span::from_millis(200),
        key_every: None,
        key_size: 3.0,
    };
    let mut encoder = Encoder::new(Time::ZERO, settings);
    let (mut random, mut fate) = (Random::named(seed, "encoder"), Random::named(seed, "path"));
    let mut queue: VecDeque<(u32, bool, Time)> = VecDeque::new();
    // What is on its way: packets by arrival, reports by arrival.
    let mut packets: VecDeque<(Time, u32, Ecn, bool)> = VecDeque::new();
    let mut reports: VecDeque<(Time, Vec<u8>)> = VecDeque::new();
    let (mut number, mut free) = (0, 0.0_f64);
    let mut seen =
        Seen { targets: Vec::new(), delays: Vec::new(), delivered: 0, last_arrival: 0.0 };
    let end = Time::ZERO + Span::from_secs_f64(seconds);
    loop {
        let head =
            queue.front().map_or(Time::NEVER, |(bytes, _, at)| scream.may_send(*bytes).max(*at));
        let arrives = packets.front().map_or(Time::NEVER, |packet| packet.0);
        let reported = reports.front().map_or(Time::NEVER, |report| report.0);
        let due = receiver.next_report();
        let now = encoder.next().min(head).min(arrives).min(reported).min(due);
        let secs = now.as_secs_f64();
        if now >= end {
            return seen;
        }
        let mut report = None;
        if now == arrives {
            let (_, number, ecn, marker) = packets.pop_front().unwrap();
            seen.last_arrival = secs;
            report = receiver.on_packet(now, number, ecn, marker);
        } else if now == reported {
            let (_, report) = reports.pop_front().unwrap();
            scream.on_report(now, &read(&report).unwrap());
            assert!((options.min..=options.max).contains(&scream.target_bitrate()));
        } else if now == due {
            report = Some(receiver.report(now));
        } else if now == head {
            let (bytes, marker, _) = queue.pop_front().unwrap();
            scream.on_sent(now, bytes);
            let waits = (free - secs).max(0.0);
            if waits < path.buffer && fate.unit() >= path.loss {
                free = free.max(secs) + f64::from(bytes + 28) * 8.0 / path.rate;
                let marks = path.mark_above.is_some_and(|above| waits > above);
                let ecn = if marks { Ecn::Ce } else { Ecn::Ect1 };
                let at = Time::ZERO + Span::from_secs_f64(free + path.one_way);
                packets.push_back((at, number, ecn, marker));
                seen.delivered += u64::from(bytes);
                if secs >= from {
                    seen.delays.push(waits);
                }
            }
            number += 1;
        } else {
            let waited = queue.front().map_or(Span::ZERO, |(_, _, at)| now.since(*at));
            let frame = encoder.frame(scream.target_bitrate(), &mut random);
            scream.on_frame(waited, frame.bytes);
            let count = frame.bytes.div_ceil(options.mss.into());
            for packet in 0..count {
                let bytes = frame.bytes * (packet + 1) / count - frame.bytes * packet / count;
                queue.push_back((bytes as u32, packet + 1 == count, now));
            }
            if secs >= from {
                seen.targets.push(scream.target_bitrate());
            }
        }
        if let Some(report) = report
            && !(path.silence.0..path.silence.1).contains(&secs)
        {
            reports.push_back((now + Span::from_secs_f64(path.one_way), report));
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Delay alone: the target of 60 ms bounds the queue, and the link is used for the greater part.
#[test]
fn a_call_fills_a_link_and_keeps_its_queue_below_the_target() {
    let seen = call(OPTIONS, PATH, 100.0, 20.0, 1);
    let (target, delay) = (mean(&seen.targets), mean(&seen.delays));
    assert!((0.6e6..1e6).contains(&target), "{target}");
    assert!(delay < 0.06, "{delay}");
}

/// With marks above a millisecond of queue the queue is a part of what it is without.
#[test]
fn l4s_keeps_the_queue_short() {
    let l4s = Options { mode: Mode::L4s, max: 2e7, ..OPTIONS };
    let path = Path { rate: 1e7, one_way: 0.01, mark_above: Some(0.001), ..PATH };
    let marked = call(l4s, path, 60.0, 20.0, 1);
    let delayed =
        call(Options { max: 2e7, ..OPTIONS }, Path { mark_above: None, ..path }, 60.0, 20.0, 1);
    assert!(mean(&marked.delays) < 0.5 * mean(&delayed.delays));
    assert!(mean(&marked.targets) > 5e6, "{}", mean(&marked.targets));
}

/// Three seconds without a report: the call goes on, and has its rate again ten seconds later.
#[test]
fn a_call_survives_a_silence_of_feedback() {
    let silent = Path { silence: (30.0, 33.0), ..PATH };
    let seen = call(OPTIONS, silent, 60.0, 43.0, 1);
    assert!(mean(&seen.targets) > 0.5e6, "{}", mean(&seen.targets));
    assert!(seen.last_arrival > 59.5, "{}", seen.last_arrival);
}

/// Half a percent of losses that nobody's queue makes is a loss every half second at 4 Mbit/s: it holds a call down, and with the
/// threshold of §4.5.2, which is twice as much, it does not.
#[test]
fn losses_below_the_threshold_do_not_hold_a_call_down() {
    let lossy = Path { loss: 0.005, rate: 4e6, ..PATH };
    let options = Options { max: 5e6, ..OPTIONS };
    let plain = mean(&call(options, lossy, 100.0, 20.0, 1).targets);
    let switches = Switches { loss_threshold: true, ..Switches::default() };
    let tolerant = mean(&call(Options { switches, ..options }, lossy, 100.0, 20.0, 1).targets);
    assert!(tolerant > 1.2 * plain, "{tolerant} {plain}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Over any path the target stays within its bounds (`call` asserts it), packets go on arriving, and no more than the link
    /// carries is delivered. With all switches on, too.
    #[test]
    fn no_path_stalls_a_call(
        rate in 100e3..3e7_f64, one_way in 0.001..0.3_f64, buffer in 0.02..1.0_f64,
        mark in proptest::option::of(0.0005..0.05_f64), loss in 0.0..0.2_f64, all: bool, seed: u64,
    ) {
        let switches = Switches {
            reduce_jitter: all, clock_drift: all, loss_threshold: all, undershoot: all, competing: all,
        };
        let mode = if mark.is_some() { Mode::L4s } else { Mode::NoEcn };
        let path = Path { rate, one_way, buffer, mark_above: mark, loss, ..PATH };
        let seen = call(Options { mode, switches, ..OPTIONS }, path, 20.0, 0.0, seed);
        prop_assert!(seen.last_arrival > 17.0, "{}", seen.last_arrival);
        prop_assert!(seen.delivered as f64 * 8.0 <= rate * (20.0 + buffer) + 16_000.0);
    }
}
