//! An application that writes to one TCP connection at a rate of its own, on and off, or both.
//!
//! At a rate it writes a segment at a time, as each falls due. Data that the network does not take in time waits in the
//! socket, and leaves later. Without a rate it has data without end while it is on; data still unsent when it goes off
//! is discarded.

use super::half::TcpHalf;
use crate::host::HostTx;
use sojourn_model::{OnOff, Pulse, Tcp, Traffic, Udp};
use sojourn_units::{Ecn, Random, Rate, Time};
use sojourn_workload::{Act, ConstantRate, Pulses, Source};

/// The writer.
#[derive(Debug)]
pub(crate) struct Writer {
    rate: Option<Rate>,
    source: Option<OnOff>,
    piece: u32,
    pulses: Option<Pulses>,
    clock: Option<ConstantRate>,
    random: Random,
    running: bool,
    /// Bytes that it still may write.
    left: u64,
}

impl Writer {
    /// The writer of a flow that does not always have data, at rest; `piece` is a segment's payload.
    pub(crate) fn of(traffic: &Traffic, piece: u32, random: Random) -> Option<Self> {
        let (tcp, source): (&Tcp, _) = match traffic {
            Traffic::Tcp(tcp) if tcp.app_rate.is_some() => (tcp, None),
            Traffic::OnOff(source @ OnOff { over: Pulse::Tcp(tcp), .. }) => {
                (tcp, Some(source.clone()))
            }
            _ => return None,
        };
        Some(Self {
            rate: tcp.app_rate,
            source,
            piece,
            pulses: None,
            clock: None,
            random,
            running: false,
            left: tcp.bytes.unwrap_or(u64::MAX),
        })
    }

    /// The flow starts.
    pub(crate) fn start(&mut self, now: Time) {
        self.running = true;
        match &self.source {
            Some(source) => self.pulses = Some(Pulses::new(now, source)),
            None => self.clock = self.clock_from(now),
        }
    }

    /// The flow stops.
    pub(crate) fn stop(&mut self) {
        (self.running, self.pulses, self.clock) = (false, None, None);
    }

    /// Whether everything has been written.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    fn clock_from(&self, now: Time) -> Option<ConstantRate> {
        let udp = Udp { rate: self.rate?, payload: self.piece, ecn: Ecn::NotEct };
        Some(ConstantRate::new(now, udp))
    }

    /// When it next writes, begins or ceases.
    pub(crate) fn next(&self) -> Time {
        if !self.running {
            return Time::NEVER;
        }
        let pulse = self.pulses.as_ref().and_then(Source::next).unwrap_or(Time::NEVER);
        pulse.min(self.writes_at())
    }

    fn writes_at(&self) -> Time {
        self.clock.as_ref().and_then(Source::next).unwrap_or(Time::NEVER)
    }

    /// Does what is due.
    pub(crate) fn act(&mut self, tx: &mut HostTx<'_>, half: &mut TcpHalf) {
        let now = tx.now();
        if let Some(pulses) = &mut self.pulses
            && pulses.next().is_some_and(|at| at <= now)
        {
            let on = pulses.act(&mut self.random) == Act::On;
            if on && self.rate.is_some() {
                self.clock = self.clock_from(now);
            } else if on {
                half.supply_endlessly(tx);
            } else {
                self.clock = None;
                half.sender.stop(now);
            }
            return;
        }
        if self.writes_at() <= now
            && let Some(clock) = &mut self.clock
        {
            clock.act(&mut self.random);
            let bytes = u64::from(self.piece).min(self.left);
            if self.left != u64::MAX {
                self.left -= bytes;
            }
            half.supply(tx, bytes);
            if self.left == 0 {
                self.clock = None;
            }
        }
    }
}
