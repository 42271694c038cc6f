//! CUBIC (RFC 9438; Ha, Rhee, Xu 2008) as Linux has it (`net/ipv4/tcp_cubic.c`), in its integers: the window
//! is a cubic function of the time since the last reduction, centred on the window of that reduction.
//!
//! Where Linux and RFC 9438 differ: the window is counted in whole segments and its clock moves in ticks of
//! 1/`hz` s, converted to 2^-10 s; the cubic is evaluated one minimum RTT ahead and at most once a tick; growth
//! never exceeds half of slow start's; ECN-Echo and loss are cut alike; the Reno-friendly estimate grows by one
//! segment for every 1.875 windows acknowledged.
//!
//! The kernel approximates the cube root by a table with a mean error of 0.2 %; here it is the exact integer root.

use super::hystart::{Exit, HyStart};
use super::{AckSample, CongestionControl, Event, Info, MIN_CWND, additive_increase, slow_start};
use crate::stack::{HyStartVariant, Switches};
use crate::tcb::{CaState, Tcb};

/// Multiplicative decrease, in 1/1024 (0.7002).
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// Bits of the clock's fraction of a second (`BICTCP_HZ`).
const CLOCK_BITS: u32 = 10;
/// C of the cubic as the kernel scales it: 410/1024 segments per s³ (`bic_scale` 41 · 10).
const CUBE_SCALE: u64 = 410;
/// Bits that a cube in clock units has to be shifted by.
const CUBE_BITS: u32 = 10 + 3 * CLOCK_BITS;
/// Eighths of a window of ACKs for one segment of the Reno-friendly estimate: 8·(1+β)/(3·(1−β)) = 15.
const FRIENDLY_EIGHTHS: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// ACKed segments per segment of growth.
    count: u32,
    last_max: u32,
    last_cwnd: u32,
    last_jiffies: u32,
    origin: u32,
    /// Time from the epoch's start to the origin, 2^-10 s.
    k: u32,
    /// Lowest RTT seen, microseconds; zero before the first.
    delay_min_us: u32,
    epoch: Option<u32>,
    acked: u32,
    friendly_cwnd: u32,
    /// Whether the lowest RTT is known in whole milliseconds only, as up to Linux 5.5.
    whole_ms: bool,
    hystart: HyStart,
}

impl Cubic {
    /// What it is.
    pub const INFO: Info = Info {
        name: "cubic",
        summary: "a window that is cubic in the time since the last reduction; HyStart",
        source: "RFC 9438; Linux net/ipv4/tcp_cubic.c",
        gauges: &[
            ("w_max", "segments", "window at the last reduction, after fast convergence"),
            ("k", "s", "time from the reduction to the plateau"),
            ("w_est", "segments", "Reno-friendly estimate"),
            ("hystart", "", "0 in slow start, 1 left by the ACK train, 2 by the delay"),
        ],
    };

    /// A new one, with the stack's HyStart.
    pub fn new(switches: &Switches) -> Self {
        Self {
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_jiffies: 0,
            origin: 0,
            k: 0,
            delay_min_us: 0,
            epoch: None,
            acked: 0,
            friendly_cwnd: 0,
            whole_ms: switches.hystart == HyStartVariant::Milliseconds,
            hystart: HyStart::new(switches),
        }
    }

    fn reset(&mut self, tcb: &Tcb) {
        self.count = 0;
        self.last_max = 0;
        self.last_cwnd = 0;
        self.last_jiffies = 0;
        self.origin = 0;
        self.k = 0;
        self.delay_min_us = 0;
        self.epoch = None;
        self.acked = 0;
        self.friendly_cwnd = 0;
        self.hystart.restart(tcb);
    }

    /// Brings `count` up to date (`bictcp_update`).
    fn update(&mut self, tcb: &Tcb, acked: u32) {
        let (cwnd, now) = (tcb.cwnd, tcb.jiffies());
        self.acked += acked;
        if self.last_cwnd == cwnd && now.wrapping_sub(self.last_jiffies) <= tcb.hz / 32 {
            return;
        }
        if self.epoch.is_none() || now != self.last_jiffies {
            self.last_cwnd = cwnd;
            self.last_jiffies = now;
            let epoch = self.epoch.unwrap_or_else(|| {
                self.begin_epoch(cwnd, acked);
                now
            });
            self.epoch = Some(epoch);
            self.count = self.cubic_count(tcb, now.wrapping_sub(epoch));
        }
        self.count = self.count.min(self.friendly_count(cwnd)).max(2);
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u32) {
        self.acked = acked;
        self.friendly_cwnd = cwnd;
        if self.last_max <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            let volume = (1_u64 << CUBE_BITS) / CUBE_SCALE * u64::from(self.last_max - cwnd);
            self.k = integer_cube_root(volume);
            self.origin = self.last_max;
        }
    }

    /// ACKs per segment of growth that reach the cubic one minimum RTT from now, `since` ticks into the epoch.
    fn cubic_count(&self, tcb: &Tcb, since: u32) -> u32 {
        let cwnd = tcb.cwnd;
        let delay_us =
            self.delay_min_us - if self.whole_ms { self.delay_min_us % 1_000 } else { 0 };
        let ahead = delay_us.div_ceil(1_000_000 / tcb.hz);
        let t = (u64::from(since + ahead) << CLOCK_BITS) / u64::from(tcb.hz);
        let offset = t.abs_diff(u64::from(self.k));
        let delta = ((CUBE_SCALE * offset * offset * offset) >> CUBE_BITS) as u32;
        let target = if t < u64::from(self.k) {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Before the first loss there is no plateau to be careful about.
        if self.last_max == 0 { count.min(20) } else { count }
    }

    /// ACKs per segment of growth that keep up with Reno (RFC 9438 §4.3).
    fn friendly_count(&mut self, cwnd: u32) -> u32 {
        let step = (cwnd * FRIENDLY_EIGHTHS) >> 3;
        while self.acked > step {
            self.acked -= step;
            self.friendly_cwnd += 1;
        }
        if self.friendly_cwnd > cwnd { cwnd / (self.friendly_cwnd - cwnd) } else { u32::MAX }
    }
}

/// The largest integer whose cube is not above `a`.
fn integer_cube_root(a: u64) -> u32 {
    let mut root = libm::cbrt(a as f64) as u64;
    while root * root * root > a {
        root -= 1;
    }
    while (root + 1) * (root + 1) * (root + 1) <= a {
        root += 1;
    }
    root as u32
}

impl CongestionControl for Cubic {
    fn init(&mut self, tcb: &mut Tcb) {
        self.reset(tcb);
    }

    fn ssthresh(&mut self, tcb: &Tcb) -> u32 {
        self.epoch = None;
        // Fast convergence (RFC 9438 §4.7): a flow whose windows shrink gives way faster.
        self.last_max = if tcb.cwnd < self.last_max {
            tcb.cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            tcb.cwnd
        };
        (tcb.cwnd * BETA / BETA_SCALE).max(MIN_CWND)
    }

    #[inline]
    fn cong_avoid(&mut self, tcb: &mut Tcb, acked: u32) {
        if !tcb.is_cwnd_limited() {
            return;
        }
        let mut left = acked;
        if tcb.in_slow_start() {
            self.hystart.on_growth(tcb);
            left = slow_start(tcb, acked);
            if left == 0 {
                return;
            }
        }
        self.update(tcb, left);
        additive_increase(tcb, self.count, left);
    }

    #[inline]
    fn pkts_acked(&mut self, tcb: &mut Tcb, sample: AckSample) {
        let Some(rtt_us) = sample.rtt_us else { return };
        // Samples right after a recovery hold its queue.
        if self.epoch.is_some_and(|e| tcb.jiffies().wrapping_sub(e) < tcb.hz) {
            return;
        }
        let rtt_us = rtt_us.max(1);
        if self.delay_min_us == 0 || rtt_us < self.delay_min_us {
            self.delay_min_us = rtt_us;
        }
        if tcb.in_slow_start() && self.hystart.on_sample(tcb, rtt_us, self.delay_min_us) {
            tcb.ssthresh = tcb.cwnd;
        }
    }

    fn set_state(&mut self, tcb: &mut Tcb, state: CaState) {
        if state == CaState::Loss {
            self.reset(tcb);
        }
    }

    fn event(&mut self, tcb: &mut Tcb, event: Event) {
        if let (Event::TxStart { idle_jiffies }, Some(epoch)) = (event, self.epoch) {
            let (now, shifted) = (tcb.jiffies(), epoch.wrapping_add(idle_jiffies));
            self.epoch = Some(if (shifted.wrapping_sub(now) as i32) > 0 { now } else { shifted });
        }
    }

    fn gauges(&self, _tcb: &Tcb, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max", f64::from(self.last_max));
        out("k", f64::from(self.k) / f64::from(1 << CLOCK_BITS));
        out("w_est", f64::from(self.friendly_cwnd));
        out(
            "hystart",
            match self.hystart.found() {
                None => 0.0,
                Some(Exit::Train) => 1.0,
                Some(Exit::Delay) => 2.0,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact_at_and_around_cubes() {
        for n in [1_u64, 2, 1023, 4096, 200_000] {
            assert_eq!(integer_cube_root(n * n * n), n as u32);
            assert_eq!(integer_cube_root(n * n * n - 1), n as u32 - 1);
        }
        assert_eq!(integer_cube_root(0), 0);
    }

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!(FRIENDLY_EIGHTHS, 15);
        assert_eq!(CUBE_BITS, 40);
    }
}
