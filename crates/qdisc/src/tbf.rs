//! `tbf`: a token bucket over a plain queue limited in bytes, and a second bucket for bursts at a peak rate.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_tbf.c`; iproute2 6, `tc/q_tbf.c`.
//!
//! Tokens are nanoseconds of the rate, as many as `burst` bytes take when the bucket is full. The head may leave
//! when its own time is there, unlike `htb`'s, which leaves on any token and owes the rest. With `peakrate` the
//! same holds of a bucket of `mtu` bytes at that rate. Only a packet that leaves moves the clock; until then
//! tokens are recomputed each time.
//!
//! Invariants: order of arrival; in any span the bytes that leave are at most `burst` and what the rate gives; a
//! packet longer than `burst` (or than `mtu` with a peak) is refused ([`Reason::TooLong`]).
//!
//! Where this differs from Linux: its queue is always the plain one; Linux takes other disciplines as a child.

use crate::configured::{BuildContext, TcConfigurable};
use crate::htb::Divisor;
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{Rate, Span, Time};

/// The table of `tbf`.
pub const INFO: Discipline = Discipline {
    name: "tbf",
    summary: "a token bucket over a queue limited in bytes",
    source: "Linux 5.4 to 7.3, net/sched/sch_tbf.c; iproute2 6, tc/q_tbf.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &[
        "tbf rate 10mbit burst 4000 limit 9000",
        "tbf rate 1mbit burst 5000 latency 50ms peakrate 3mbit mtu 3100 overhead 20 mpu 100",
    ],
    changes: &["tbf rate 100mbit burst 3000 limit 5000", "tbf rate 9mbit burst 1500 limit 50000"],
    ..Discipline::BASE
};

/// The words.
#[derive(Clone, Debug)]
struct Config {
    rate: Rate,
    burst: u32,
    limit: Option<u32>,
    latency: Option<Span>,
    peakrate: Option<Rate>,
    mtu: Option<u32>,
    overhead: u32,
    mpu: u32,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "rate",
            values: table::RATE,
            preset: DefaultValue::Required,
            doc: "long-run rate, counting Ethernet headers",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.rate = given.rate()),
        OptionSpec {
            name: "burst",
            aliases: &["buffer", "maxburst"],
            values: table::BYTES,
            preset: DefaultValue::Required,
            doc: "bytes that may leave at once after a pause; longer packets are refused",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.burst = given.number()),
        OptionSpec {
            name: "limit",
            values: table::BYTES,
            preset: DefaultValue::Unset("from latency; one of the two must be given"),
            doc: "bytes held at most",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.limit = Some(given.number())),
        OptionSpec {
            name: "latency",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Unset("limit is given"),
            doc: "longest wait for tokens, which makes limit this at the rate, and burst",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.latency = Some(given.span())),
        OptionSpec {
            name: "peakrate",
            values: table::RATE,
            preset: DefaultValue::Unset("bursts leave at once"),
            doc: "rate of bursts, above rate; mtu must be given with it",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.peakrate = Some(given.rate())),
        OptionSpec {
            name: "mtu",
            aliases: &["minburst"],
            values: table::BYTES,
            preset: DefaultValue::Unset("no peak rate"),
            doc: "bytes that may leave at once at the peak rate",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.mtu = Some(given.number())),
        table::OVERHEAD.sets(|config, given| config.overhead = given.number()),
        table::MPU.sets(|config, given| config.mpu = given.number()),
    ];
    // tc computes a whole configuration from the words of a change.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            rate: Rate::ZERO,
            burst: 0,
            limit: None,
            latency: None,
            peakrate: None,
            mtu: None,
            overhead: 0,
            mpu: 0,
        }
    }
}

/// A rate and how much of it may be saved up.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    divisor: Divisor,
    full: i64,
    tokens: i64,
}

impl Bucket {
    fn new(rate: Rate, bytes: u32) -> Self {
        let divisor = Divisor::new(rate);
        let full = divisor.nanos(bytes);
        Self { divisor, full, tokens: full }
    }

    /// Tokens after `elapsed`.
    fn after(&self, elapsed: i64) -> i64 {
        (self.tokens + elapsed).min(self.full)
    }
}

/// What tc and the kernel make of the words.
#[derive(Clone, Debug)]
struct Shape {
    limit: u32,
    longest: u32,
    rate: Bucket,
    peak: Option<Bucket>,
}

impl Config {
    fn compute(&self, words: &TcTokens<'_>) -> Result<Shape, TcError> {
        let end = words.text().len();
        let wrong = |message: &str, help: &str| {
            words.error(end..end, message.to_owned(), Some(help.to_owned()))
        };
        let peak = match (self.peakrate, self.mtu) {
            (Some(peak), _) if peak <= self.rate => {
                return Err(wrong("\"peakrate\" is not above \"rate\"", "write a greater one"));
            }
            (Some(_), None) => {
                return Err(wrong("\"peakrate\" needs \"mtu\"", "write \"mtu\" and a size"));
            }
            (Some(peak), Some(mtu)) => Some((peak, mtu)),
            (None, _) => None,
        };
        let limit = match (self.limit, self.latency) {
            (Some(_), Some(_)) => {
                return Err(wrong("\"limit\" and \"latency\" say the same", "keep one of them"));
            }
            (None, None) => {
                return Err(wrong("tbf needs \"limit\" or \"latency\"", "write one of them"));
            }
            (Some(limit), None) => limit,
            (None, Some(latency)) => {
                let within = |rate: Rate, burst: u32| {
                    rate.bytes_per_sec() as f64 * latency.as_secs_f64() + f64::from(burst)
                };
                let by_rate = within(self.rate, self.burst);
                peak.map_or(by_rate, |(peak, mtu)| by_rate.min(within(peak, mtu))) as u32
            }
        };
        // A packet is charged with its overhead, and must fit the bucket to ever leave.
        let burst = peak.map_or(self.burst, |(_, mtu)| self.burst.min(mtu));
        Ok(Shape {
            limit,
            longest: burst,
            rate: Bucket::new(self.rate, self.burst),
            peak: peak.map(|(rate, mtu)| Bucket::new(rate, mtu)),
        })
    }

    fn charged(&self, len: u32) -> u32 {
        (len + self.overhead).max(self.mpu)
    }
}

/// A token bucket over a queue.
#[derive(Clone, Debug)]
pub struct Tbf<P> {
    config: Config,
    shape: Shape,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    /// When tokens were last counted (`t_c`).
    counted: Time,
    tally: QdiscCounters,
}

impl<P: Packet> Tbf<P> {
    /// Time since tokens were counted, no more than fills the bucket.
    fn elapsed(&self, now: Time) -> i64 {
        (now.since(self.counted).as_nanos().min(i64::MAX as u64) as i64).min(self.shape.rate.full)
    }
}

report! {
    impl[P: Packet] Tbf<P>, tbf at now;
    counters {}
    gauges where {
        let elapsed = tbf.elapsed(now);
        let seconds = |bucket: &Bucket| bucket.after(elapsed) as f64 / 1e9;
    } {
        tokens: Seconds, "tokens of the rate now" => seconds(&tbf.shape.rate);
        ptokens: Seconds, "tokens of the peak rate now; 0 without"
            => tbf.shape.peak.as_ref().map_or(0.0, seconds);
    }
}

impl<P: Packet> Qdisc<P> for Tbf<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        let len = packet.wire_len();
        // The kernel compares the bare length: one that only its overhead makes too long would block for ever.
        if self.config.charged(len) > self.shape.longest {
            self.tally.drop(now, packet, Reason::TooLong, cx);
        } else if self.ring.bytes() + u64::from(len) > u64::from(self.shape.limit) {
            self.tally.drop(now, packet, Reason::Tail, cx);
        } else {
            self.ring.push(packet);
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(len) = self.ring.first().map(Packet::wire_len) else { return Dequeued::Empty };
        let (elapsed, bytes) = (self.elapsed(now), self.config.charged(len));
        let left = |bucket: &Bucket| bucket.after(elapsed) - bucket.divisor.nanos(bytes);
        let tokens = left(&self.shape.rate);
        let ptokens = self.shape.peak.as_ref().map_or(0, left);
        if tokens < 0 || ptokens < 0 {
            self.tally.over_limit();
            let wait = (-tokens).max(-ptokens).cast_unsigned();
            return Dequeued::Wait(now + Span::from_nanos(wait));
        }
        self.counted = now;
        self.shape.rate.tokens = tokens;
        if let Some(peak) = &mut self.shape.peak {
            peak.tokens = ptokens;
        }
        self.tally.sent(len);
        self.ring.pop().map_or(Dequeued::Empty, Dequeued::Packet)
    }

    crate::reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Tbf<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let config = Config::read(words, profile)?;
        let shape = config.compute(words)?;
        Ok(Self {
            config,
            shape,
            profile: *profile,
            ring: PacketQueue::new(),
            counted: Time::ZERO,
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        let config = self.config.changed(words, &self.profile)?.0;
        // The buckets begin full; the clock goes on, as in the kernel.
        self.shape = config.compute(words)?;
        self.config = config;
        // What no longer fits the bucket would block for ever in the kernel.
        for _ in 0..self.ring.len() {
            let Some(packet) = self.ring.pop() else { break };
            if self.config.charged(packet.wire_len()) > self.shape.longest {
                self.tally.drop(now, packet, Reason::TooLong, cx);
            } else {
                self.ring.push(packet);
            }
        }
        Ok(())
    }

    fn start(&mut self, now: Time) {
        self.counted = now;
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
        self.counted = now;
        self.shape.rate.tokens = self.shape.rate.full;
        if let Some(peak) = &mut self.shape.peak {
            peak.tokens = peak.full;
        }
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { rate, burst, peakrate, mtu, overhead, mpu, .. } = &self.config;
        let mut words = vec![format!("rate {rate} burst {}", show::size((*burst).into()))];
        if let (Some(peak), Some(mtu)) = (peakrate, mtu) {
            words.push(format!("peakrate {peak} mtu {}", show::size((*mtu).into())));
        }
        words.push(format!("limit {}", show::size(self.shape.limit.into())));
        for (name, bytes) in [("overhead", overhead), ("mpu", mpu)] {
            if *bytes > 0 {
                words.push(format!("{name} {bytes}b"));
            }
        }
        words.join(" ")
    }
}
