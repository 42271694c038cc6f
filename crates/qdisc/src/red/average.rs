//! RED's arithmetic: what tc computes from its words, and the average and the decision as the kernel has them
//! (`tc/tc_red.c`; `include/net/red.h`).

use sojourn_units::{Random, Rate, Span, Time};

/// 1 % of 2^32, to the nearest.
const ONE_PERCENT: u32 = 42_949_673;
/// Cells of the table of idle times.
const CELLS: usize = 256;

/// The least log2 of the averaging weight's inverse that lets `burst` packets through before the average, which
/// starts at zero, is at `min` (Floyd and Jacobson 1993, §6, equation 3). `None` if no weight does.
pub(super) fn weight(min: u32, burst: u32, avpkt: u32) -> Option<u32> {
    let room = f64::from(burst) + 1.0 - f64::from(min) / f64::from(avpkt);
    if room < 1.0 {
        return None;
    }
    (1..32)
        .find(|&log| {
            let weight = libm::scalbn(1.0, -log);
            room <= (1.0 - libm::pow(1.0 - weight, f64::from(burst))) / weight
        })
        .map(i32::cast_unsigned)
}

/// By how much an idle time shrinks the average: for each cell of `2^cell_log` µs, how often it is halved.
#[derive(Clone, Debug)]
pub(super) struct Idling {
    pub(super) cell_log: u32,
    halvings: [u8; CELLS],
}

impl Idling {
    /// Each `avpkt` bytes that `rate` could have sent are meant to multiply the average by one less the weight. tc
    /// takes the natural logarithm and the kernel a halving for each unit of it. `None` if the rate is too low for
    /// the table.
    pub(super) fn new(weight_log: u32, avpkt: u32, rate: Rate) -> Option<Self> {
        // tc counts a packet's time in whole scheduler ticks of 64 ns, rounded up.
        let micros = 1e6 * f64::from(avpkt) / rate.bytes_per_sec().max(1) as f64;
        let ticks = (micros * 15.625).ceil();
        let decay = -libm::log(1.0 - libm::scalbn(1.0, -weight_log.cast_signed())) / ticks;
        let longest = 31.0 / decay;
        let cell_log = (0..32).find(|&log| longest / f64::from(1_u32 << log) < 512.0)?;
        let mut halvings = [0; CELLS];
        for (i, cell) in halvings.iter_mut().enumerate().skip(1) {
            let at = (i as u64) << cell_log;
            *cell = (at as f64 * decay).min(31.0) as u8;
        }
        halvings[CELLS - 1] = 31;
        Some(Self { cell_log, halvings })
    }

    /// `average` after an idle time (`red_calc_qavg_from_idle_time`). The kernel indexes by microseconds a table
    /// that tc filled by ticks of 64 ns; so the average shrinks more slowly than was meant, by 15.6.
    fn after(&self, average: u64, idle: Span) -> u64 {
        let micros = idle.as_micros().min(255 << self.cell_log);
        match self.halvings[(micros >> self.cell_log) as usize & (CELLS - 1)] {
            0 => {
                let less = average.wrapping_mul(micros) >> self.cell_log;
                if less < average >> 1 { average - less } else { average >> 1 }
            }
            halvings => average >> halvings,
        }
    }
}

/// Thresholds and weights, as set.
#[derive(Clone, Debug)]
pub(super) struct Params {
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) weight_log: u32,
    pub(super) idling: Idling,
}

impl Params {
    const fn range(&self) -> u32 {
        let range = self.max.saturating_sub(self.min);
        if range == 0 { 1 } else { range }
    }
}

/// What the average says of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    None,
    /// Between the thresholds, by chance.
    Early,
    /// At or above the upper threshold.
    Hard,
}

/// The average and what goes with it (`struct red_vars`, and of `red_parms` what adapts).
#[derive(Clone, Debug)]
pub(super) struct Average {
    /// Bytes, times 2^weight_log.
    scaled: u64,
    /// Packets since the last signal or the last time below `min`; -1 before the first.
    count: i64,
    /// What the count times the distance must reach: uniform in 0 to range / max_p.
    aim: u32,
    idle_since: Option<Time>,
    /// A share of 2^32.
    pub(super) max_p: u32,
    /// `max_p` over the range, at least 1.
    per_byte: u32,
}

impl Average {
    /// At zero, and idle since `now`.
    pub(super) fn new(params: &Params, max_p: u32, now: Time) -> Self {
        let per_byte = (max_p / params.range()).max(1);
        Self { scaled: 0, count: -1, aim: 0, idle_since: Some(now), max_p, per_byte }
    }

    /// The queue was flushed.
    pub(super) const fn reset(&mut self) {
        self.scaled = 0;
        self.count = -1;
        self.idle_since = None;
    }

    /// The queue was found empty.
    pub(super) fn idles(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    /// Bytes.
    pub(super) fn bytes(&self, params: &Params) -> f64 {
        self.scaled as f64 / f64::from(1_u32 << params.weight_log)
    }

    /// A packet arrives and finds `held` bytes (`red_calc_qavg`, `red_action`).
    #[inline]
    pub(super) fn arrival(
        &mut self,
        params: &Params,
        now: Time,
        held: u64,
        random: &mut Random,
    ) -> Signal {
        self.scaled = match self.idle_since.take() {
            Some(since) => params.idling.after(self.scaled, now.since(since)),
            None => self.scaled + held - (self.scaled >> params.weight_log),
        };
        let (min, max) = (
            u64::from(params.min) << params.weight_log,
            u64::from(params.max) << params.weight_log,
        );
        if self.scaled < min {
            self.count = -1;
            return Signal::None;
        }
        if self.scaled >= max {
            self.count = -1;
            return Signal::Hard;
        }
        self.count += 1;
        if self.count == 0 {
            self.aim = random.next_u32() / self.per_byte;
            return Signal::None;
        }
        let distance = (self.scaled - min) >> params.weight_log;
        if distance.wrapping_mul(self.count.cast_unsigned()) < u64::from(self.aim) {
            return Signal::None;
        }
        self.count = 0;
        self.aim = random.next_u32() / self.per_byte;
        Signal::Early
    }

    /// Each half second (`red_adaptative_algo`; Floyd, Gummadi and Shenker 2001): the average is to stay between
    /// 40 and 60 % of the way from `min` to `max`.
    pub(super) fn adapt(&mut self, params: &Params, now: Time) {
        let scaled = match self.idle_since {
            Some(since) => params.idling.after(self.scaled, now.since(since)),
            None => self.scaled,
        };
        let average = scaled >> params.weight_log;
        let fifth = u64::from(params.range() / 5);
        let min = u64::from(params.min);
        if average > min + 3 * fifth && self.max_p <= 50 * ONE_PERCENT {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < min + 2 * fifth && self.max_p >= ONE_PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        let range = u64::from(params.range());
        self.per_byte = ((u64::from(self.max_p) + range / 2) / range).max(1) as u32;
    }
}
