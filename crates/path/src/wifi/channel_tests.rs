use super::super::airtime::SIFS;
use super::*;

fn channel(stations: usize, neighbours: Option<Neighbours>) -> Channel {
    let stream = |what| Random::named(7, what);
    let mut channel =
        Channel::new(neighbours, Span::from_millis(4), stream("arrivals"), stream("backoff"));
    for i in 0..stations {
        assert_eq!(channel.join(), i);
    }
    channel
}

/// Stations that always have something, each exchange's data this long. How many were answered, how many collided.
fn saturate(channel: &mut Channel, data: Span, until: Time) -> (Vec<u64>, u64) {
    let n = channel.stations.len();
    let (mut turns, mut answered, mut collided) = (vec![Time::ZERO; n], vec![0; n], 0);
    loop {
        let now = *turns.iter().min().unwrap();
        if now > until {
            return (answered, collided);
        }
        for id in 0..n {
            if turns[id] > now {
                continue;
            }
            turns[id] = match channel.turn(now, id) {
                Turn::Wait(at) => at,
                Turn::Send { collides } => {
                    answered[id] += u64::from(!collides);
                    collided += u64::from(collides);
                    channel.send(now, id, data, !collides, true)
                }
            };
        }
    }
}

/// One station alone: AIFS, 7.5 slots on average, data, reply.
#[test]
fn one_station_has_the_channel() {
    let data = Span::from_micros(1010);
    let (sent, collided) = saturate(&mut channel(1, None), data, Time::from_secs(60));
    let cycle = 37.0 + 7.5 * 9.0 + 1010.0 + 48.0;
    assert!((sent[0] as f64 / (60e6 / cycle) - 1.0).abs() < 0.005, "{sent:?}");
    assert_eq!(collided, 0);
}

/// Bianchi 2000 ("Performance Analysis of the IEEE 802.11 Distributed Coordination Function", (7) to (13)): in
/// saturation a station sends in a slot with probability τ = 2(1−2p) / ((1−2p)(W+1) + pW(1−(2p)^m)), where
/// p = 1 − (1−τ)^(n−1) is that of a collision, W = 16, m = 6. Returns the share of the time that holds answered
/// data, and p.
fn bianchi(n: u32, data: f64) -> (f64, f64) {
    let (w, m) = (16.0, 6.0);
    let collision = |tau: f64| 1.0 - libm::pow(1.0 - tau, f64::from(n - 1));
    let sends = |p: f64| {
        let q = 1.0 - 2.0 * p;
        2.0 * q / (q * (w + 1.0) + p * w * (1.0 - libm::pow(2.0 * p, m)))
    };
    let (mut low, mut high) = (0.0_f64, 1.0);
    for _ in 0..100 {
        let tau = f64::midpoint(low, high);
        if sends(collision(tau)) > tau { low = tau } else { high = tau }
    }
    let tau = low;
    let any = 1.0 - libm::pow(1.0 - tau, f64::from(n));
    let alone = f64::from(n) * tau * libm::pow(1.0 - tau, f64::from(n - 1));
    let busy = data + (REPLY + AIFS).as_nanos() as f64 / 1e3;
    let slot = SLOT.as_nanos() as f64 / 1e3;
    (alone * data / ((1.0 - any) * slot + any * busy), collision(tau))
}

/// Within 3 % of Bianchi's throughput, and within 0.03 of his probability of a collision. His stations count a slot down
/// while the channel is taken, ours do not; who has just sent may draw zero and go first, which his cannot.
#[test]
fn saturation_is_bianchis() {
    for n in [2, 5, 10, 20] {
        for data in [200, 1010, 4000] {
            let mut channel = channel(n as usize, None);
            let seconds = 100;
            let span = Span::from_micros(data);
            let (sent, collided) = saturate(&mut channel, span, Time::from_secs(seconds));
            let all: u64 = sent.iter().sum();
            let share = all as f64 * data as f64 / (seconds as f64 * 1e6);
            let p = collided as f64 / (collided + all) as f64;
            let (expected, collision) = bianchi(n, data as f64);
            let what =
                format!("{n} stations, {data} us: {share:.4} {p:.4}, {expected:.4} {collision:.4}");
            assert!((share / expected - 1.0).abs() < 0.03, "{what}");
            assert!((p - collision).abs() < 0.03, "{what}");
            // And few have the same; many do so only after longer, since who has sent begins with the small window.
            let mean = all as f64 / f64::from(n);
            let even = sent.iter().all(|&s| (s as f64 / mean - 1.0).abs() < 0.1);
            assert!(even || n > 5, "{sent:?}");
        }
    }
}

/// Two who have nothing to wait for and ask at one time collide, and both know it, whoever asks first.
#[test]
fn who_begins_in_one_slot_collides() {
    let mut channel = channel(3, None);
    let now = Time::from_millis(5);
    channel.stations[0].request(now, &mut Random::named(1, "a"));
    channel.stations[2].request(now, &mut Random::named(1, "b"));
    assert_eq!(channel.turn(now, 0), Turn::Send { collides: true });
    let data = Span::from_micros(500);
    assert_eq!(channel.send(now, 0, data, false, true), now + data + REPLY);
    assert_eq!(channel.turn(now, 2), Turn::Send { collides: true });
    // The longer one holds the channel.
    assert_eq!(channel.send(now, 2, data * 2, false, true), now + data * 2 + REPLY);
    let Turn::Wait(at) = channel.turn(now + data * 2 + REPLY, 0) else { panic!() };
    assert!(at >= now + data * 2 + REPLY + AIFS);
    assert_eq!((channel.stations[0].window, channel.stations[1].window), (31, CW_MIN));
    // Who comes while it is taken draws, and waits at least AIFS.
    let Turn::Wait(at) = channel.turn(now + SIFS, 1) else { panic!() };
    assert!(at >= now + data * 2 + REPLY + AIFS);
}

/// A countdown stands still while others send: 8 slots, less 3 that have passed, are 5 after it.
#[test]
fn a_countdown_stands_still() {
    let mut contender = Contender { slots: 8, from: Time::from_micros(100), ..Contender::new() };
    let (start, end) = (Time::from_micros(100 + 3 * 9), Time::from_micros(1000));
    contender.stand_still(start, end);
    assert_eq!((contender.slots, contender.from), (5, end + AIFS));
    // It began within AIFS of the channel's falling silent: none has passed.
    contender.stand_still(end + SIFS, end + SIFS);
    assert_eq!((contender.slots, contender.from), (5, end + SIFS + AIFS));
}

/// Alone on the channel, neighbours have the airtime of their load.
#[test]
fn neighbours_have_their_load() {
    for load in [0.2, 0.5] {
        let mut channel = channel(1, Some(Neighbours { load, transfer: Span::from_millis(300) }));
        let end = Time::from_secs(4000);
        channel.pass(end);
        let share = channel.foreign().as_secs_f64() / 4000.0;
        assert!((share / load - 1.0).abs() < 0.05, "{share} of {load}");
    }
}

/// A saturated station has at least the time that neighbours leave, and half of the time at most while one is there.
#[test]
fn neighbours_take_from_a_saturated_station() {
    let data = Span::from_millis(4);
    let alone = saturate(&mut channel(1, None), data, Time::from_secs(500)).0[0];
    let mut with_neighbours =
        channel(1, Some(Neighbours { load: 0.2, transfer: Span::from_millis(300) }));
    let with = saturate(&mut with_neighbours, data, Time::from_secs(500)).0[0];
    let share = with as f64 / alone as f64;
    assert!((0.72..0.84).contains(&share), "{share}");
}

/// Without answers the windows are 31, 63, 127, 255, 511 and 1023; the seventh failure in a row reaches the limit of retries,
/// and the window is 15 again (IEEE 802.11-2016, 10.22.2.2). An answer starts the count over.
#[test]
fn the_window_doubles_up_to_the_limit_of_retries() {
    let mut random = Random::named(5, "backoff");
    let mut contender = Contender::new();
    let mut sends = |answered| {
        contender.sent(answered, &mut random);
        assert!(contender.slots <= contender.window);
        contender.window
    };
    let doubling = [31, 63, 127, 255, 511, 1023, 15, 31];
    assert_eq!(doubling.map(|_| sends(false)), doubling);
    assert_eq!(sends(true), 15);
    assert_eq!(doubling.map(|_| sends(false)), doubling);
}
