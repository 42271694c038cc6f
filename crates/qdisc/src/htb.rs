//! `htb` with one class: a token bucket that owns the discipline it draws packets from. The bottleneck of
//! every published testbed.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_htb.c`, `sch_api.c`/`sch_generic.c` (rates), and iproute2 6,
//! `tc/q_htb.c`, `tc/tc_core.c` (burst). The testbeds use one class with nothing to borrow from, and so does this
//! model: the class may send while neither the tokens of its rate nor those of its ceil are below zero.
//!
//! Invariants: tokens are time, in nanoseconds, never above the burst's and never below minus a minute; a
//! packet that finds the bucket not in debt leaves at once, whatever its size; the child is asked for a packet
//! only when one may leave, so the time spent waiting for tokens counts as the child's queueing delay, and never while it
//! is empty (`htb_dequeue`, `htb_dequeue_tree`: a class without packets is not active), so a child that starts over
//! after a dequeue from an empty queue, as dualpi2's scheduler does, does not start over under htb.
//!
//! Two consequences that surprise: with the default burst of 1600 bytes, two full packets leave back to back
//! after a pause (1600 - 1514 is not below zero); and a packet may leave as soon as the debt is *zero*, so a
//! busy class sends one packet per packet time exactly.

use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::QdiscCounters;
use crate::words::{TcError, TcTokens};
use crate::{AnyQdisc, Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Stats, Telemetry};
use crate::{options_of, report};
use sojourn_units::{Rate, Span, Time};

/// The table of `htb`.
pub const INFO: Discipline = Discipline {
    name: "htb",
    summary: "a token bucket (one class) over the discipline in the words that follow",
    source: "Linux 5.4 to 7.3, net/sched/sch_htb.c; iproute2 6, tc/q_htb.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    classful: true,
    examples: &[
        "htb rate 10mbit pfifo limit 5",
        "htb rate 1mbit fq_codel flows 2 limit 7",
        "htb rate 5mbit ceil 8mbit burst 5k pie limit 9 target 1ms tupdate 2ms",
        "htb rate 3mbit netem delay 3ms 2ms limit 6",
        "htb rate 8bit pfifo limit 3",
    ],
    changes: &["htb rate 100mbit", "htb rate 20kbit burst 1b"],
    ..Discipline::BASE
};

/// Tokens are not let below minus this.
const DEEPEST_DEBT: i64 = 60_000_000_000;

/// A rate as the kernel multiplies by it: the time of a packet is its length times `mult`, shifted right,
/// which rounds down (`psched_ratecfg_precompute`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Divisor {
    mult: u64,
    shift: u32,
}

impl Divisor {
    pub(crate) fn new(rate: Rate) -> Self {
        let bytes_per_sec = rate.bytes_per_sec().max(1);
        let (mut factor, mut shift) = (1_000_000_000_u64, 0);
        loop {
            let mult = factor / bytes_per_sec;
            if mult & 1 << 31 != 0 || factor & 1 << 63 != 0 {
                // The kernel keeps 32 bits, which is more than is ever left above bit 31.
                return Self { mult: mult & 0xffff_ffff, shift };
            }
            factor <<= 1;
            shift += 1;
        }
    }

    /// The time of `bytes`.
    #[inline]
    pub(crate) fn nanos(self, bytes: u32) -> i64 {
        (u64::from(bytes).wrapping_mul(self.mult) >> self.shift) as i64
    }
}

/// One bucket: that of the rate, or that of the ceil.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bucket {
    rate: Rate,
    divisor: Divisor,
    /// Its tokens when full, in nanoseconds.
    full: i64,
    tokens: i64,
}

impl Bucket {
    /// A full bucket, `burst` bytes deep as tc computes it: in ticks of 64 ns, rounded up.
    fn new(rate: Rate, burst: u32) -> Self {
        let full = burst_time(rate, burst);
        Self { rate, divisor: Divisor::new(rate), full, tokens: full }
    }

    /// Takes over rate and depth and keeps the tokens, even more than fit: they go at the next packet.
    const fn change(&mut self, to: &Self) {
        *self = Self { tokens: self.tokens, ..*to };
    }

    #[inline]
    fn charge(&mut self, elapsed: i64, bytes: u32) {
        let tokens = (self.tokens + elapsed).min(self.full) - self.divisor.nanos(bytes);
        self.tokens = if tokens <= -DEEPEST_DEBT { 1 - DEEPEST_DEBT } else { tokens };
    }
}

/// The time of `burst` bytes at `rate` in whole ticks, as tc hands it over (`tc_calc_xmittime`).
fn burst_time(rate: Rate, burst: u32) -> i64 {
    const TICKS_PER_MICROSECOND: f64 = 15.625;
    let micros = 1e6 * (f64::from(burst) / rate.bytes_per_sec().max(1) as f64);
    let ticks = (micros * TICKS_PER_MICROSECOND).ceil().min(f64::from(u32::MAX));
    (ticks as i64) << 6
}

#[derive(Clone, Debug)]
struct Config {
    rate: Rate,
    ceil: Option<Rate>,
    burst: Option<u32>,
    cburst: Option<u32>,
    mtu: u32,
    overhead: u32,
    mpu: u32,
}

impl Config {
    fn at(rate: Rate) -> Self {
        Self { rate, ceil: None, burst: None, cburst: None, mtu: 1600, overhead: 0, mpu: 0 }
    }

    fn ceil(&self) -> Rate {
        self.ceil.unwrap_or(self.rate)
    }

    /// tc's default burst: the bytes of one timer tick, and a packet. With high-resolution timers, which every kernel
    /// modelled has, the tick is a nanosecond (`get_hz` reads it from `/proc/net/psched`).
    fn burst_of(&self, given: Option<u32>, rate: Rate) -> u32 {
        let tick = (rate.bytes_per_sec() / 1_000_000_000) as u32;
        given.unwrap_or_else(|| tick.saturating_add(self.mtu))
    }

    fn buckets(&self) -> (Bucket, Bucket) {
        (
            Bucket::new(self.rate, self.burst_of(self.burst, self.rate)),
            Bucket::new(self.ceil(), self.burst_of(self.cburst, self.ceil())),
        )
    }
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "rate",
            values: table::RATE,
            preset: DefaultValue::Required,
            doc: "long-run rate, counting Ethernet headers",
            tried: &["rate 1mbit", "rate 7mbit", "rate 40mbit", "rate 200mbit"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.rate = given.rate()),
        OptionSpec {
            name: "ceil",
            values: table::RATE,
            preset: DefaultValue::Unset("the rate"),
            doc: "rate that is never exceeded, when above the rate by borrowing (there is no parent here)",
            ..OptionSpec::BASE
        }.sets(|config, given| config.ceil = Some(given.rate())),
        OptionSpec {
            name: "burst",
            aliases: &["buffer", "maxburst"],
            values: table::BYTES,
            preset: DefaultValue::Unset("the rate in bytes per nanosecond, and mtu: 1600"),
            doc: "bytes that may leave at once after a pause",
            tried: &["burst 1600", "burst 15k", "burst 60k"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.burst = Some(given.number())),
        OptionSpec {
            name: "cburst",
            aliases: &["cbuffer", "cmaxburst"],
            values: table::BYTES,
            preset: DefaultValue::Unset("the ceil in bytes per nanosecond, and mtu: 1600"),
            doc: "the same for ceil",
            ..OptionSpec::BASE
        }.sets(|config, given| config.cburst = Some(given.number())),
        OptionSpec {
            name: "mtu",
            values: table::BYTES,
            preset: DefaultValue::Is("1600"),
            doc: "packet size that the default bursts make room for",
            ..OptionSpec::BASE
        }.sets(|config, given| config.mtu = given.number()),
        table::OVERHEAD.sets(|config, given| config.overhead = given.number()),
        table::MPU.sets(|config, given| config.mpu = given.number()),
    ];
    // tc computes a whole class from the words of a change.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self::at(Rate::ZERO)
    }
}

/// A token bucket over a child.
#[derive(Clone, Debug)]
pub struct Htb<P> {
    config: Config,
    profile: QdiscQuirks,
    rate: Bucket,
    ceil: Bucket,
    /// Whether the two are the same, so that one is enough to reckon with.
    is_single: bool,
    /// When the tokens were last counted (`t_c`).
    counted: Time,
    /// When neither bucket is in debt.
    ready: Time,
    child: Box<AnyQdisc<P>>,
    lended: u64,
    tally: QdiscCounters,
    /// Drops by children that have been replaced.
    dropped_before: u64,
}

impl<P: Packet> Htb<P> {
    /// A class of `rate` over `child`: what `htb rate RATE` and the child's words make.
    pub fn over(rate: Rate, child: AnyQdisc<P>) -> Self {
        Self::new(Config::at(rate), *child.quirks(), child)
    }

    fn new(config: Config, profile: QdiscQuirks, child: AnyQdisc<P>) -> Self {
        let (rate, ceil) = config.buckets();
        Self {
            config,
            profile,
            is_single: rate == ceil,
            rate,
            ceil,
            counted: Time::ZERO,
            ready: Time::ZERO,
            child: Box::new(child),
            lended: 0,
            tally: QdiscCounters::default(),
            dropped_before: 0,
        }
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.rate.rate
    }

    fn set(&mut self, config: Config) {
        let (rate, ceil) = config.buckets();
        self.rate.change(&rate);
        self.ceil.change(&ceil);
        self.is_single = self.rate == self.ceil;
        self.config = config;
    }

    #[inline]
    fn elapsed(&self, now: Time) -> i64 {
        now.since(self.counted).as_nanos().min(DEEPEST_DEBT as u64) as i64
    }

    #[inline]
    fn charge(&mut self, now: Time, len: u32) {
        let elapsed = self.elapsed(now);
        let bytes = (len + self.config.overhead).max(self.config.mpu);
        self.rate.charge(elapsed, bytes);
        if self.is_single {
            self.ceil.tokens = self.rate.tokens;
        } else {
            self.ceil.charge(elapsed, bytes);
        }
        self.counted = now;
        if self.ceil.tokens < 0 {
            self.tally.over_limit();
        }
        let debt = -self.rate.tokens.min(self.ceil.tokens).min(0);
        self.ready = now + Span::from_nanos(debt as u64);
    }
}

/// In the scheduler's ticks of 64 ns, as tc prints them.
fn ticks(tokens: i64) -> i64 {
    (tokens >> 6).clamp(i32::MIN.into(), i32::MAX.into())
}

report! {
    impl[P: Packet] Htb<P>, htb at now;
    counters {
        lended: Count, line 0, Colon, "packets sent from its own tokens" => htb.lended;
        borrowed: Count, line 0, Colon, "packets sent from a parent's: none" => 0.0;
        giants: Count, line 0, Colon, "no longer counted by the kernel" => 0.0;
        tokens: Ticks, line 1, Colon, "tokens of the rate after the last packet"
            => ticks(htb.rate.tokens);
        ctokens: Ticks, line 1, Colon, "tokens of the ceil after it" => ticks(htb.ceil.tokens);
    }
    gauges where {
        let elapsed = htb.elapsed(now);
        let seconds = |bucket: &Bucket| (bucket.tokens + elapsed).min(bucket.full) as f64 / 1e9;
    } {
        tokens: Seconds, "tokens of the rate now" => seconds(&htb.rate);
        ctokens: Seconds, "tokens of the ceil now" => seconds(&htb.ceil);
    }
}

impl<P: Packet> Qdisc<P> for Htb<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        self.child.enqueue(now, packet, cx);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        if self.child.backlog().packets == 0 {
            return Dequeued::Empty;
        }
        if now < self.ready {
            return Dequeued::Wait(self.ready);
        }
        let dequeued = self.child.dequeue_any(now, cx);
        if let Dequeued::Packet(packet) = &dequeued {
            let len = packet.wire_len();
            self.tally.sent(len);
            self.lended += 1;
            self.charge(now, len);
        }
        dequeued
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        self.child.next_timer()
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.child.on_timer(now, cx);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }

    fn stats(&self) -> Stats {
        Stats {
            dropped: self.dropped_before + self.child.stats().dropped,
            ..self.tally.stats(self.child.backlog(), self.counted())
        }
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.gauged(now, out);
        self.child.gauges(now, out);
    }
}

impl<P: Packet> TcConfigurable<P> for Htb<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let config = Config::read(words, cx.quirks)?;
        let child = cx.child(words)?;
        Ok(Self::new(config, *cx.quirks, child))
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        let config = self.config.changed(words, &self.profile)?.0;
        if words.peek().is_some() {
            self.child.change(now, words, cx)?;
        }
        self.set(config);
        Ok(())
    }

    /// The bucket is full, as a new class's is.
    fn start(&mut self, now: Time) {
        self.rate.tokens = self.rate.full;
        self.ceil.tokens = self.ceil.full;
        self.counted = now;
        self.ready = now;
        self.child.start(now);
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.child.flush(now, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { rate, burst, cburst, mpu, overhead, .. } = self.config;
        let ceil = self.config.ceil();
        let size = |given, rate| show::size(self.config.burst_of(given, rate).into());
        let overhead = if overhead == 0 { String::new() } else { format!(" overhead {overhead}") };
        format!(
            "rate {rate}{overhead} ceil {ceil} burst {} mpu {mpu}b cburst {}",
            size(burst, rate),
            size(cburst, ceil),
        )
    }

    fn child(&self) -> Option<&AnyQdisc<P>> {
        Some(&self.child)
    }

    fn child_mut(&mut self) -> Option<&mut AnyQdisc<P>> {
        Some(&mut self.child)
    }

    /// Tokens are kept.
    fn replace_child<T: Telemetry<P>>(
        &mut self,
        now: Time,
        mut child: AnyQdisc<P>,
        cx: &mut Context<'_, T>,
    ) -> Option<AnyQdisc<P>> {
        self.child.flush(now, cx);
        self.dropped_before += self.child.stats().dropped;
        child.start(now);
        *self.child = child;
        None
    }

    /// As `tc class change … htb rate RATE` with the other words as they were: stated values stay, all others follow
    /// the rate. Rate and bursts apply at once, tokens are kept. The caller asks [`Qdisc::dequeue`] again to learn when
    /// the next packet may leave: it can only be the time it already knew, since a debt is time and time is not
    /// converted.
    fn set_rate(&mut self, _now: Time, rate: Rate) -> bool {
        self.set(Config { rate, ..self.config.clone() });
        true
    }
}
