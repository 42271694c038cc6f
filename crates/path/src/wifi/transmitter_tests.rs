use super::super::airtime::{AIFS, REPLY};
use super::*;
use crate::testing::Walker;
use std::cell::RefCell;

fn settings(rates: &[u64], frame_errors: f64, retries: u32) -> Wifi {
    Wifi {
        rates: rates.iter().map(|&r| Rate::from_mbit(r)).collect(),
        dwell: Span::from_secs(1),
        frames: 64,
        airtime: Span::from_millis(4),
        frame_errors,
        retries,
        line: Rate::from_mbit(1000),
        limit: 1000,
        neighbours: None,
    }
}

fn channel(stations: usize) -> Channel {
    let stream = |what| Random::named(3, what);
    let mut channel =
        Channel::new(None, Span::from_millis(4), stream("arrivals"), stream("backoff"));
    (0..stations).for_each(|_| {
        channel.join();
    });
    channel
}

/// Frame `n`, a full one.
fn frame(n: u32) -> Walker {
    Walker { flow: n as usize, ..Walker::default() }
}

fn transmitter(station: usize, settings: &Wifi) -> Transmitter<Walker> {
    let stream = |what| Random::named(3, &format!("{station}/{what}"));
    Transmitter::new(station, settings, stream("quality"), stream("losses"))
}

/// The output of `ends`, each with `load` frames, numbered, of 1514 bytes: time, end, frame, whether it was given up.
fn run(
    ends: &mut [Transmitter<Walker>],
    channel: &mut Channel,
    load: u32,
    until: Time,
) -> Vec<(Time, usize, u32, bool)> {
    let mut out = Vec::new();
    let mut taken = vec![0; ends.len()];
    let mut wake = vec![Time::ZERO; ends.len()];
    loop {
        let now = *wake.iter().min().unwrap();
        if now > until {
            return out;
        }
        for (i, end) in ends.iter_mut().enumerate() {
            if wake[i] > now {
                continue;
            }
            loop {
                let queued = load - taken[i];
                let count = RefCell::new(&mut taken[i]);
                let next = || {
                    let mut n = count.borrow_mut();
                    (**n < load).then(|| {
                        **n += 1;
                        (frame(**n - 1), Sojourn { waited: Span::ZERO, class: None })
                    })
                };
                match end.serve(now, channel, queued, next) {
                    Served::Packet(p, _) => out.push((now, i, p.flow as u32, false)),
                    Served::GivenUp(p) => out.push((now, i, p.flow as u32, true)),
                    Served::Later(at) => {
                        wake[i] = at;
                        break;
                    }
                }
            }
        }
    }
}

/// At 26 Mbit/s seven frames of 1560 bytes are 87382 bits, 841 symbols, 3410 µs with preamble and extension; eight
/// would be 3890 µs: 960·... they fit too (99862 bits, 961 symbols), nine do not. The exchange of eight takes 37 µs,
/// 7.5 slots, 3890 and 48 µs: 23.9 Mbit/s of Ethernet frames.
#[test]
fn a_saturated_link_carries_what_its_airtime_allows() {
    assert_eq!(airtime::ampdu(8 * 1560, Rate::from_mbit(26)), Span::from_micros(3890));
    assert!(airtime::ampdu(9 * 1560, Rate::from_mbit(26)) > Span::from_millis(4));
    let mut ends = [transmitter(0, &settings(&[26], 0.0, 7))];
    let out = run(&mut ends, &mut channel(1), 1_000_000, Time::from_secs(20));
    let cycle = (AIFS + REPLY).as_nanos() as f64 / 1e3 + 7.5 * 9.0 + 3890.0;
    let expected = 20e6 / cycle * 8.0;
    assert!((out.len() as f64 / expected - 1.0).abs() < 0.005, "{} {expected}", out.len());
    assert!(out.iter().all(|o| !o.3));
}

/// With losses and two ends on one channel: each frame comes out once, in its order, or is given up, and the share of
/// those follows from the retries: 0.3⁴ of frames lost by errors alone.
#[test]
fn every_frame_comes_out_once_and_in_order() {
    let settings = settings(&[26, 39, 52], 0.3, 3);
    let mut ends = [transmitter(0, &settings), transmitter(1, &settings)];
    let load = 20_000;
    let out = run(&mut ends, &mut channel(2), load, Time::from_secs(600));
    for end in 0..2 {
        let of: Vec<u32> = out.iter().filter(|o| o.1 == end).map(|o| o.2).collect();
        assert!(of.iter().copied().eq(0..load), "{}", of.len());
    }
    assert!(out.windows(2).all(|w| w[0].0 <= w[1].0));
    // Errors alone would give up 0.8 %; collisions and steps that the channel does not carry come on top.
    let given_up = out.iter().filter(|o| o.3).count() as f64 / f64::from(2 * load);
    assert!((0.008..0.1).contains(&given_up), "{given_up}");
    assert!(ends.iter().all(|e| e.held().count() == 0));
    // The same again, to the bit.
    let mut again = [transmitter(0, &settings), transmitter(1, &settings)];
    assert_eq!(run(&mut again, &mut channel(2), load, Time::from_secs(600)), out);
}

/// ARF: down after two failures, up after ten good ones, and down at once if the first there fails.
#[test]
fn the_rate_falls_back_and_probes() {
    let mut arf = Fallback { at: 3, ..Fallback::default() };
    arf.learn(true, 6);
    assert_eq!(arf.at, 3);
    arf.learn(true, 6);
    assert_eq!(arf.at, 2);
    (0..10).for_each(|_| arf.learn(false, 6));
    assert_eq!((arf.at, arf.probing), (3, true));
    arf.learn(true, 6);
    assert_eq!((arf.at, arf.probing), (2, false));
    // A good one there is a good one; nothing is above the last step nor below the first.
    (0..60).for_each(|_| arf.learn(false, 6));
    assert_eq!(arf.at, 5);
    (0..20).for_each(|_| arf.learn(true, 6));
    assert_eq!(arf.at, 0);
}

/// A frame that is lost holds back those behind it until it has come.
#[test]
fn frames_wait_for_the_one_before() {
    let mut end = transmitter(0, &settings(&[26], 0.0, 7));
    let frame = |n, fate| Frame {
        packet: frame(n),
        sojourn: Sojourn { waited: Span::ZERO, class: None },
        tries: 1,
        fate,
    };
    end.frames.push_back(frame(0, Fate::Received));
    end.frames.push_back(frame(1, Fate::Open));
    end.frames.push_back(frame(2, Fate::Received));
    end.release(Time::from_millis(1));
    assert_eq!(end.done.iter().map(|d| d.3.flow).collect::<Vec<_>>(), [0]);
    end.frames[0].fate = Fate::GivenUp;
    end.release(Time::from_millis(2));
    let done: Vec<_> = end.done.iter().map(|d| (d.3.flow, d.1 == Fate::Received)).collect();
    assert_eq!(done, [(0, true), (1, false), (2, true)]);
}

/// Two full frames at 26 Mbit/s are 1010 µs on the air, the reply is there 48 µs later: then the sender is done with what was
/// received, and with what was sent too often, and not with what is to be sent again.
#[test]
fn the_sender_is_done_with_frames_when_the_reply_is_there() {
    for (errors, retries, done) in [(0.0, 7, 2), (1.0, 0, 2), (1.0, 7, 0)] {
        let mut end = transmitter(0, &settings(&[26], errors, retries));
        let sojourn = Sojourn { waited: Span::ZERO, class: None };
        let mut frames = (0..2).map(|n| (frame(n), sojourn));
        end.serve(Time::ZERO, &mut channel(1), 2, || frames.next());
        let settled: Vec<_> = end.take_settled().collect();
        assert_eq!(settled.len(), done, "{errors} {retries}");
        assert!(settled.iter().all(|s| s.0 == Time::from_micros(1058)), "{settled:?}");
        assert_eq!(end.take_settled().count(), 0);
    }
}
