//! The discipline: its tables, its queue, and what it asks of the law (RFC 8289) in `law.rs`.

use crate::law::{Law, Parameters, from_nanos, seconds};
use sojourn_plugin::{
    Aqm, AqmInfo, Counter, Dequeued, Gauge, Host, Name, OptionSpec, Packet, Reason, Shown, Unit,
    Value,
};
use std::collections::VecDeque;

/// The places in [`Aqm::INFO`]'s reasons.
const TAIL: Reason = Reason(0);
const OVERLIMIT: Reason = Reason(1);
pub(crate) const CONTROL_LAW: Reason = Reason(2);
pub(crate) const CE_THRESHOLD: Reason = Reason(3);

/// Packets in order of arrival, and how many bytes they are.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    packets: VecDeque<Packet>,
    pub(crate) bytes: u64,
}

impl Queue {
    fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.wire_len);
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_len);
        Some(packet)
    }
}

/// One queue under CoDel's law.
#[derive(Clone)]
pub struct MyCodel {
    limit: usize,
    parameters: Parameters,
    law: Law,
    queue: Queue,
    refused: u64,
}

/// The options' values, in the order of [`Aqm::INFO`].
fn read(values: &[Value]) -> (usize, Parameters) {
    let [limit, target, interval, ecn, ce_threshold] = values else {
        unreachable!("there is a value for each option");
    };
    let parameters = Parameters {
        target: from_nanos(target.integer),
        interval: from_nanos(interval.integer),
        ecn: ecn.integer == 1,
        ce_threshold: ce_threshold.is_set.then(|| from_nanos(ce_threshold.integer)),
    };
    (limit.integer as usize, parameters)
}

impl Aqm for MyCodel {
    const INFO: AqmInfo = AqmInfo {
        name: c"my_codel",
        summary: c"one queue under CoDel's control law, from a plugin",
        source: c"RFC 8289; examples/plugin-rust",
        options: &[
            OptionSpec::packets(c"limit", c"packets held at most").or(c"1000"),
            OptionSpec::time(c"target", c"acceptable sojourn time").or(c"5ms"),
            OptionSpec::time(c"interval", c"time above target before the first signal")
                .or(c"100ms")
                .within(1e3, 4e12),
            OptionSpec::flag(c"ecn", c"mark ECN-capable packets instead of dropping them")
                .or(c"noecn"),
            OptionSpec::time(c"ce_threshold", c"sojourn time above which everything is marked"),
        ],
        counters: &[
            Counter::new(c"count", Unit::Count, 0, Shown::Always, c"signals in this state"),
            Counter::new(c"lastcount", Unit::Count, 0, Shown::Always, c"count when it began"),
            Counter::new(c"ldelay", Unit::Seconds, 0, Shown::Always, c"last sojourn time"),
            Counter::new(c"dropping", Unit::Flag, 0, Shown::Flag, c"whether signals are sent"),
            Counter::new(c"maxpacket", Unit::Bytes, 1, Shown::Always, c"largest packet seen"),
            Counter::new(c"ecn_mark", Unit::Count, 1, Shown::Always, c"marks by the law"),
            Counter::new(c"drop_overlimit", Unit::Count, 1, Shown::Always, c"refused at limit"),
            Counter::new(c"ce_mark", Unit::Count, 1, Shown::NonZero, c"marks by ce_threshold"),
        ],
        gauges: &[
            Gauge::new(c"count", Unit::Count, c"signals in this state"),
            Gauge::new(c"dropping", Unit::Flag, c"whether signals are sent"),
            Gauge::new(c"drop_next", Unit::Seconds, c"time until the next signal"),
            Gauge::new(c"head_delay", Unit::Seconds, c"sojourn time of the head"),
        ],
        reasons: &[
            Name::new(c"tail"),
            Name::new(c"overlimit"),
            Name::new(c"control_law"),
            Name::new(c"ce_threshold"),
        ],
    };

    fn create(values: &[Value], _host: &mut Host<'_>) -> Result<Self, String> {
        let (limit, parameters) = read(values);
        parameters.check()?;
        Ok(Self { limit, parameters, law: Law::default(), queue: Queue::default(), refused: 0 })
    }

    fn change(&mut self, _now: u64, values: &[Value], host: &mut Host<'_>) -> Result<(), String> {
        let (limit, parameters) = read(values);
        parameters.check()?;
        (self.limit, self.parameters) = (limit, parameters);
        while self.queue.packets.len() > self.limit {
            let Some(packet) = self.queue.pop() else { break };
            host.drop(packet, OVERLIMIT);
        }
        Ok(())
    }

    fn enqueue(&mut self, _now: u64, packet: Packet, host: &mut Host<'_>) {
        if self.queue.packets.len() < self.limit {
            self.queue.push(packet);
        } else {
            self.refused += 1;
            host.drop(packet, TAIL);
        }
    }

    fn dequeue(&mut self, now: u64, host: &mut Host<'_>) -> Dequeued {
        match self.law.dequeue(now, &self.parameters, &mut self.queue, host) {
            Some(packet) => Dequeued::Packet(packet),
            None => Dequeued::Empty,
        }
    }

    fn flush(&mut self, _now: u64) {
        self.queue = Queue::default();
        self.law.forget();
    }

    fn counters(&self, out: &mut [f64]) {
        let law = &self.law;
        out.copy_from_slice(&[
            f64::from(law.count),
            f64::from(law.lastcount),
            seconds(law.ldelay),
            f64::from(u8::from(law.dropping)),
            f64::from(law.maxpacket),
            law.ecn_mark as f64,
            self.refused as f64,
            law.ce_mark as f64,
        ]);
    }

    fn gauges(&self, now: u64, out: &mut [f64]) {
        let waited = |packet: &Packet| (now - packet.stamp) as f64 / 1e9;
        out.copy_from_slice(&[
            f64::from(self.law.count),
            f64::from(u8::from(self.law.dropping)),
            if self.law.dropping { self.law.until_next(now) } else { 0.0 },
            self.queue.packets.front().map_or(0.0, waited),
        ]);
    }
}
