//! The control as a whole, on paths by hand.

use super::*;
use crate::feedback::{Arrival, read, write};
use sojourn_units::Ecn;

/// A path with a rate, a base delay and an endless queue. The sender sends what its application offers, up to its
/// target.
struct Path {
    gcc: Gcc,
    /// Bits per millisecond.
    rate: f64,
    offered: f64,
    now: u64,
    free: f64,
    sent: u32,
    waiting: Vec<Arrival>,
    begun: u32,
}

impl Path {
    fn new(rate: f64, offered: f64) -> Self {
        let options = GccOptions { min: 300e3, max: 20e6, max_packet: 1_000 };
        let (now, free, sent, begun) = (0, 0.0, 0, 0);
        let waiting = Vec::new();
        Self { gcc: Gcc::new(options), rate, offered, now, free, sent, waiting, begun }
    }

    /// Packets of 1000 bytes, and a report of all that came each 50 ms; all arrive 10 ms after they have left the
    /// queue.
    fn run(&mut self, millis: u64) {
        let end = self.now + millis;
        let mut owed = 0.0;
        while self.now < end {
            self.now += 1;
            let at = Time::from_millis(self.now);
            owed += self.gcc.target_bitrate().min(self.offered) / 1_000.0;
            while owed >= 8_000.0 {
                owed -= 8_000.0;
                self.gcc.on_sent(at, 1_000);
                self.free = self.free.max(self.now as f64) + 8_000.0 / self.rate;
                let came = Time::from_nanos(((self.free + 10.0) * 1e6) as u64);
                self.waiting.push(Arrival { at: came, ecn: Ecn::NotEct });
                self.sent += 1;
            }
            if self.now.is_multiple_of(50) {
                let come = self.waiting.iter().take_while(|arrival| arrival.at <= at).count();
                let packets: Vec<_> = self.waiting.drain(..come).map(Some).collect();
                let report = read(&write(self.begun as u16, &packets, at)).unwrap();
                self.begun += come as u32;
                self.gcc.on_report(at + Span::from_millis(10), &report);
            }
        }
    }

    fn queue_ms(&self) -> f64 {
        (self.free - self.now as f64).max(0.0)
    }
}

/// 2 Mbit/s for a sender that begins with 300 kbit/s: 8 % a second reaches the capacity after some 25 s. Then it stays
/// near it, with a short queue.
#[test]
fn it_fills_a_link_and_keeps_its_queue_short() {
    let mut path = Path::new(2_000.0, 20e6);
    path.run(15_000);
    assert!(path.gcc.target_bitrate() < 1.3e6, "{}", path.gcc.target_bitrate());
    path.run(25_000);
    let (mut least, mut most, mut longest) = (f64::MAX, 0.0_f64, 0.0_f64);
    for _ in 0..600 {
        path.run(100);
        least = least.min(path.gcc.target_bitrate());
        most = most.max(path.gcc.target_bitrate());
        longest = longest.max(path.queue_ms());
    }
    assert!(least > 1.5e6 && most < 2.5e6, "{least} {most}");
    assert!(longest < 150.0, "{longest}");
}

/// pion/interceptor's issue 299: an application of 784 kbit/s on a path of 10 Mbit/s. The estimate stops at 1.5 times
/// this and 10 kbit/s.
#[test]
fn an_application_of_784_kbit_does_not_prove_4_mbit() {
    let mut path = Path::new(10_000.0, 784e3);
    path.run(120_000);
    let bound = 1.5 * 784e3 + 10e3;
    let target = path.gcc.target_bitrate();
    assert!((0.9 * bound..1.03 * bound).contains(&target), "{target}");
}

/// The rate falls to a quarter: within a second the target is below it, and the queue drains.
#[test]
fn a_fall_of_the_rate_is_followed() {
    let mut path = Path::new(2_000.0, 20e6);
    path.run(40_000);
    path.rate = 500.0;
    path.run(2_000);
    assert!(path.gcc.target_bitrate() < 500e3, "{}", path.gcc.target_bitrate());
    path.run(8_000);
    assert!(path.queue_ms() < 200.0, "{}", path.queue_ms());
}

/// Packets leave at 2.5 times the target: 1000 bytes at 300 kbit/s every 10.667 ms.
#[test]
fn packets_are_paced() {
    let mut gcc = Gcc::new(GccOptions { min: 300e3, max: 1e6, max_packet: 1_000 });
    gcc.on_sent(Time::from_secs(1), 1_000);
    let gap = gcc.may_send(1_000) - Time::from_secs(1);
    assert!((gap.as_secs_f64() - 8_000.0 / 750e3).abs() < 1e-8, "{gap}");
}
