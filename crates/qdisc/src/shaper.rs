//! The shaper of CAKE and its descendants: a virtual clock, without tokens or burst; and what a packet's length is
//! charged as.
//!
//! Source: docs/sources/queues.md#shapers-of-their-own; read in Linux 5.4 to 7.3 `net/sched/sch_cake.c` and chromi/sce
//! `sch_cnq_codel_af.c`; words of iproute2-sce `tc/q_cake.c`. Each packet moves the clock on by its length at the
//! rate; a packet may leave once the clock is not ahead of the time. Whoever holds a clock sets it to now when a
//! packet finds nothing queued ([`Clock::wake`]), so a pause earns no credit and there is no burst at all; but a
//! busy queue that is asked late catches up.
//!
//! Invariants: the clock never goes back; over a busy period the bytes charged are those of the rate, to within
//! the kernel's 34-bit fraction (a relative error below 2^-33).

use crate::settings::Setting;
use crate::show;
use crate::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_units::{ETHERNET_HEADER, Rate, Span, Time};

/// A rate as nanoseconds a byte: a factor of 34 bits and a shift.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PerByte {
    factor: u64,
    shift: u32,
}

impl PerByte {
    /// No rate is no time. The kernel takes no rate below 64 bytes per second.
    pub(crate) fn new(bytes_per_sec: u64) -> Self {
        if bytes_per_sec == 0 {
            return Self::default();
        }
        let mut shift = 34;
        let mut factor = (1_000_000_000_u64 << shift) / bytes_per_sec.max(64);
        while factor >> 34 != 0 {
            factor >>= 1;
            shift -= 1;
        }
        Self { factor, shift }
    }

    /// Whether there is a rate.
    #[inline]
    pub(crate) const fn is_limited(self) -> bool {
        self.factor != 0
    }

    /// The time of `bytes`, rounded down.
    #[inline]
    pub(crate) const fn time(self, bytes: u32) -> u64 {
        (bytes as u64).wrapping_mul(self.factor) >> self.shift
    }
}

/// The virtual clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    per_byte: PerByte,
    next: Time,
}

impl Clock {
    /// A clock at zero.
    pub(crate) fn new(rate: Rate) -> Self {
        Self { per_byte: PerByte::new(rate.bytes_per_sec()), next: Time::ZERO }
    }

    /// Another rate from now on; bytes already charged keep their time.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.per_byte = PerByte::new(rate.bytes_per_sec());
    }

    /// A packet comes and nothing is held.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// When the next packet may leave, if that is later than `now`.
    #[inline]
    pub(crate) fn wait(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// Whether the next packet might have left before `now`.
    #[inline]
    pub(crate) fn is_behind(&self, now: Time) -> bool {
        self.next < now
    }

    /// A packet charged as `bytes` leaves; the time that takes.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: u32) -> Span {
        let time = Span::from_nanos(self.per_byte.time(bytes));
        self.next += time;
        time
    }
}

/// How the link below packs bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Cells {
    #[default]
    None,
    /// Cells of 48 bytes in 53.
    Atm,
    /// 64 bytes in 65.
    Ptm,
}

/// What a packet's length is charged as.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Framing {
    /// Bytes to add to the IP packet; `None` (`raw`): the length as the queue counts it, Ethernet header included.
    overhead: Option<u32>,
    mpu: u32,
    cells: Cells,
}

impl Framing {
    #[inline]
    pub(crate) const fn charged(&self, wire_len: u32) -> u32 {
        let len = match self.overhead {
            Some(overhead) => wire_len.saturating_sub(ETHERNET_HEADER) + overhead,
            None => wire_len,
        };
        let len = if len < self.mpu { self.mpu } else { len };
        match self.cells {
            Cells::None => len,
            Cells::Atm => len.div_ceil(48) * 53,
            Cells::Ptm => len + len.div_ceil(64),
        }
    }

    /// As tc prints it.
    pub(crate) fn describe(&self) -> String {
        let raw = if self.overhead.is_none() { "raw " } else { "" };
        let cells = match self.cells {
            Cells::Atm => "atm ",
            Cells::Ptm => "ptm ",
            Cells::None if self.overhead.is_some() => "noatm ",
            Cells::None => "",
        };
        let mpu = if self.mpu == 0 { String::new() } else { format!(" mpu {}", self.mpu) };
        format!("{raw}{cells}overhead {}{mpu}", self.overhead.unwrap_or(0))
    }
}

/// `bandwidth RATE | unlimited`.
pub(crate) const BANDWIDTH: OptionSpec = OptionSpec {
    name: "bandwidth",
    off: Some("unlimited"),
    values: table::RATE,
    preset: DefaultValue::Unset("unlimited"),
    doc: "rate of the discipline's own shaper, which has no burst",
    ..OptionSpec::BASE
};

/// `overhead BYTES | raw`.
const OVERHEAD: OptionSpec = OptionSpec {
    name: "overhead",
    off: Some("raw"),
    values: &[ValueSpec {
        name: "BYTES",
        kind: Kind::Count { unit: "bytes", min: 0, max: 256 },
        optional: false,
    }],
    preset: DefaultValue::Unset("raw: the length with its Ethernet header"),
    doc: "bytes added to each IP packet when it is charged, instead of its Ethernet header (tc's negative ones are not modelled)",
    needs: Some(BANDWIDTH.name),
    ..OptionSpec::BASE
};

/// `mpu BYTES`.
const MPU: OptionSpec = OptionSpec {
    name: "mpu",
    values: &[ValueSpec {
        name: "BYTES",
        kind: Kind::Count { unit: "bytes", min: 0, max: 256 },
        optional: false,
    }],
    preset: DefaultValue::Is("0"),
    doc: "length that a shorter packet is charged as, overhead included",
    needs: Some(BANDWIDTH.name),
    ..OptionSpec::BASE
};

/// `noatm | atm | ptm`.
const CELLS: OptionSpec = OptionSpec {
    name: "noatm",
    others: &["atm", "ptm"],
    preset: DefaultValue::Is("noatm"),
    doc: "what the link packs bytes into: nothing, ATM cells (48 in 53), or PTM (64 in 65)",
    needs: Some(BANDWIDTH.name),
    ..OptionSpec::BASE
};

/// How links frame packets, by tc-cake(8)'s names: the name, what the link packs bytes into if the name says it, the bytes
/// that are added, and the least length if the name says it.
const FRAMINGS: [(&str, Option<Cells>, u32, Option<u32>); 13] = [
    ("docsis", Some(Cells::None), 18, Some(64)),
    ("ethernet", None, 38, Some(84)),
    ("pppoe-ptm", Some(Cells::Ptm), 30, None),
    ("bridged-ptm", Some(Cells::Ptm), 22, None),
    ("pppoa-vcmux", Some(Cells::Atm), 10, None),
    ("pppoa-llc", Some(Cells::Atm), 14, None),
    ("pppoe-vcmux", Some(Cells::Atm), 32, None),
    ("pppoe-llcsnap", Some(Cells::Atm), 40, None),
    ("bridged-vcmux", Some(Cells::Atm), 24, None),
    ("bridged-llcsnap", Some(Cells::Atm), 32, None),
    ("ipoa-vcmux", Some(Cells::Atm), 8, None),
    ("ipoa-llcsnap", Some(Cells::Atm), 16, None),
    ("conservative", Some(Cells::Atm), 48, None),
];

/// `docsis | pppoe-ptm | …`.
const FRAMING: OptionSpec = OptionSpec {
    name: "docsis",
    others: &[
        "ethernet",
        "pppoe-ptm",
        "bridged-ptm",
        "pppoa-vcmux",
        "pppoa-llc",
        "pppoe-vcmux",
        "pppoe-llcsnap",
        "bridged-vcmux",
        "bridged-llcsnap",
        "ipoa-vcmux",
        "ipoa-llcsnap",
        "conservative",
    ],
    preset: DefaultValue::Unset("no link's framing"),
    doc: "overhead, mpu and cells of a link by name: docsis 18, mpu 64; ethernet 38, mpu 84; pppoe-ptm 30, bridged-ptm 22, in PTM; pppoa-vcmux 10, pppoa-llc 14, pppoe-vcmux 32, pppoe-llcsnap 40, bridged-vcmux 24, bridged-llcsnap 32, ipoa-vcmux 8, ipoa-llcsnap 16, conservative 48, in ATM cells",
    needs: Some(BANDWIDTH.name),
    ..OptionSpec::BASE
};

/// `ether-vlan`.
const ETHER_VLAN: OptionSpec = OptionSpec {
    name: "ether-vlan",
    preset: DefaultValue::Unset("no tag"),
    doc: "4 bytes more of overhead, for a VLAN tag",
    needs: Some(BANDWIDTH.name),
    ..OptionSpec::BASE
};

/// The length of a path by its name, shortest RTT first: word and RTT.
const PATHS: [(&str, Span); 8] = [
    ("datacentre", Span::from_micros(100)),
    ("lan", Span::from_millis(1)),
    ("metro", Span::from_millis(10)),
    ("regional", Span::from_millis(30)),
    ("internet", Span::from_millis(100)),
    ("oceanic", Span::from_millis(300)),
    ("satellite", Span::from_millis(1_000)),
    ("interplanetary", Span::from_secs(1_000)),
];

/// `rtt TIME`.
const RTT: OptionSpec = OptionSpec {
    name: "rtt",
    values: table::TIME_ABOVE_ZERO,
    preset: DefaultValue::Is("100ms"),
    doc: "the longest usual RTT: COBALT's interval; its target is a twentieth",
    ..OptionSpec::BASE
};

/// `internet | lan | …`.
const PATH: OptionSpec = OptionSpec {
    name: "internet",
    others: &["datacentre", "lan", "metro", "regional", "oceanic", "satellite", "interplanetary"],
    preset: DefaultValue::Is("internet"),
    doc: "an rtt by name: 100us, 1ms, 10ms, 30ms, 100ms (internet), 300ms, 1s, 1000s",
    ..OptionSpec::BASE
};

/// A configuration that has [`overhead`], [`cells`], [`mpu`], and link framings by name.
pub(crate) trait Framed: 'static {
    fn framing(&mut self) -> &mut Framing;
}

/// [`OVERHEAD`].
pub(crate) const fn overhead<C: Framed>() -> Setting<C> {
    OVERHEAD.sets(|config, given| {
        let framing = config.framing();
        framing.overhead = given.on.then(|| given.number());
        if !given.on {
            framing.cells = Cells::None;
        }
    })
}

/// [`CELLS`].
pub(crate) const fn cells<C: Framed>() -> Setting<C> {
    CELLS.sets(|config, given| {
        config.framing().cells = match given.word {
            "atm" => Cells::Atm,
            "ptm" => Cells::Ptm,
            _ => Cells::None,
        };
    })
}

/// [`MPU`].
pub(crate) const fn mpu<C: Framed>() -> Setting<C> {
    MPU.sets(|config, given| config.framing().mpu = given.number())
}

/// [`FRAMING`].
pub(crate) const fn framing<C: Framed>() -> Setting<C> {
    FRAMING.sets(|config, given| {
        let Some((word, cells, bytes, mpu)) = FRAMINGS.iter().find(|f| f.0 == given.word) else {
            return;
        };
        let framing = config.framing();
        framing.cells = cells.unwrap_or(framing.cells);
        framing.mpu = mpu.unwrap_or(framing.mpu);
        // As tc adds them up: to what was written before it, except by the one that is meant to be enough alone.
        let before = framing.overhead.filter(|_| *word != "conservative").unwrap_or(0);
        framing.overhead = Some(before + bytes);
    })
}

/// [`ETHER_VLAN`].
pub(crate) const fn ether_vlan<C: Framed>() -> Setting<C> {
    ETHER_VLAN.sets(|config, _| {
        let framing = config.framing();
        framing.overhead = Some(framing.overhead.unwrap_or(0) + 4);
    })
}

/// A configuration that has [`rtt`] and [`path`].
pub(crate) trait HasRtt: 'static {
    /// Interval and target, as tc hands them over: whole microseconds, at least one.
    fn set_rtt(&mut self, interval: Span, target: Span);
}

/// [`RTT`].
pub(crate) const fn rtt<C: HasRtt>() -> Setting<C> {
    RTT.sets(|config, given| set_rtt(config, given.micros()))
}

/// [`PATH`].
pub(crate) const fn path<C: HasRtt>() -> Setting<C> {
    PATH.sets(|config, given| {
        if let Some((_, rtt)) = PATHS.iter().find(|(name, _)| *name == given.word) {
            set_rtt(config, *rtt);
        }
    })
}

fn set_rtt(config: &mut impl HasRtt, interval: Span) {
    config.set_rtt(interval, Span::from_micros((interval.as_micros() / 20).max(1)));
}

/// A rate as tc prints it, or that there is none.
pub(crate) fn describe_rate(rate: Rate) -> String {
    if rate.is_zero() { "bandwidth unlimited".to_owned() } else { format!("bandwidth {rate}") }
}

/// An interval as tc prints it.
pub(crate) fn describe_rtt(interval: u64) -> String {
    format!("rtt {}", show::time(Span::from_nanos(interval)))
}
