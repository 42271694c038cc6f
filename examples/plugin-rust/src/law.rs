//! CoDel's control law, with Linux's arithmetic (`include/net/codel_impl.h`): times in units of 1024 ns that wrap, and an
//! inverse square root that is improved by one Newton step at each signal.

use crate::codel::{CE_THRESHOLD, CONTROL_LAW, Queue};
use sojourn_plugin::{Host, Packet, abi};

/// At or below this backlog there is never a signal.
const MTU: u64 = 1514;

/// A time of the law: tc hands over whole microseconds.
pub(crate) fn from_nanos(nanos: u64) -> u32 {
    units(nanos / 1_000 * 1_000)
}

fn units(nanos: u64) -> u32 {
    (nanos >> 10) as u32
}

/// A time of the law in seconds.
pub(crate) fn seconds(units: u32) -> f64 {
    f64::from(units) * 1024e-9
}

fn is_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() < 0
}

#[derive(Clone)]
pub(crate) struct Parameters {
    pub(crate) target: u32,
    pub(crate) interval: u32,
    pub(crate) ecn: bool,
    pub(crate) ce_threshold: Option<u32>,
}

impl Parameters {
    /// What no single option can be wrong about.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.target <= self.interval {
            return Ok(());
        }
        Err("\"target\" is above \"interval\": no queue would be bad for so long".to_owned())
    }
}

/// The law's memory of one queue, and what it counts.
#[derive(Clone, Default)]
pub(crate) struct Law {
    pub(crate) count: u32,
    pub(crate) lastcount: u32,
    pub(crate) dropping: bool,
    rec_inv_sqrt: u16,
    first_above: u32,
    drop_next: u32,
    pub(crate) ldelay: u32,
    pub(crate) maxpacket: u32,
    pub(crate) ecn_mark: u64,
    pub(crate) ce_mark: u64,
}

impl Law {
    /// Back to the beginning; what was counted stays.
    pub(crate) fn forget(&mut self) {
        let Self { maxpacket, ecn_mark, ce_mark, .. } = *self;
        *self = Self { maxpacket, ecn_mark, ce_mark, ..Self::default() };
    }

    pub(crate) fn until_next(&self, now: u64) -> f64 {
        f64::from(self.drop_next.wrapping_sub(units(now)).cast_signed()) * 1024e-9
    }

    fn newton_step(&mut self) {
        let y = u32::from(self.rec_inv_sqrt) << 16;
        let y2 = ((u64::from(y) * u64::from(y)) >> 32) as u32;
        let slope = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(u64::from(y2)));
        let y = (slope >> 2).wrapping_mul(u64::from(y)) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (y >> 16) as u16;
    }

    fn next_after(&self, from: u32, interval: u32) -> u32 {
        let fraction = u64::from(self.rec_inv_sqrt) << 16;
        from.wrapping_add(((u64::from(interval) * fraction) >> 32) as u32)
    }

    /// Whether the queue, seen by the packet just taken from it, has been above target for an interval.
    fn is_bad(&mut self, now: u32, packet: Option<&Packet>, p: &Parameters, bytes: u64) -> bool {
        let Some(packet) = packet else {
            self.first_above = 0;
            return false;
        };
        self.ldelay = now.wrapping_sub(units(packet.stamp));
        self.maxpacket = self.maxpacket.max(packet.wire_len);
        if is_after(p.target, self.ldelay) || bytes <= MTU {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now.wrapping_add(p.interval);
            return false;
        }
        is_after(now, self.first_above)
    }

    /// The packet that leaves, after the law has had its way.
    pub(crate) fn dequeue(
        &mut self,
        now: u64,
        p: &Parameters,
        queue: &mut Queue,
        host: &mut Host<'_>,
    ) -> Option<Packet> {
        let now = units(now);
        let Some(mut packet) = queue.pop() else {
            self.dropping = false;
            return None;
        };
        let is_bad = self.is_bad(now, Some(&packet), p, queue.bytes);
        if self.dropping && !is_bad {
            self.dropping = false;
        } else if self.dropping {
            packet = self.go_on(now, packet, p, queue, host)?;
        } else if is_bad {
            packet = self.begin(now, packet, p, queue, host)?;
        }
        let is_late = p.ce_threshold.is_some_and(|threshold| is_after(self.ldelay, threshold));
        if is_late && Self::mark(&mut packet, CE_THRESHOLD, host) {
            self.ce_mark += 1;
        }
        Some(packet)
    }

    fn mark(packet: &mut Packet, reason: sojourn_plugin::Reason, host: &mut Host<'_>) -> bool {
        packet.ecn != abi::SOJOURN_NOT_ECT && host.mark(packet, reason)
    }

    /// Sends the signals that are due in the dropping state.
    fn go_on(
        &mut self,
        now: u32,
        mut packet: Packet,
        p: &Parameters,
        queue: &mut Queue,
        host: &mut Host<'_>,
    ) -> Option<Packet> {
        while self.dropping && !is_after(self.drop_next, now) {
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if p.ecn && Self::mark(&mut packet, CONTROL_LAW, host) {
                self.ecn_mark += 1;
                self.drop_next = self.next_after(self.drop_next, p.interval);
                break;
            }
            host.drop(packet, CONTROL_LAW);
            let next = queue.pop();
            if self.is_bad(now, next.as_ref(), p, queue.bytes) {
                self.drop_next = self.next_after(self.drop_next, p.interval);
            } else {
                self.dropping = false;
            }
            packet = next?;
        }
        Some(packet)
    }

    /// Enters the dropping state with its first signal.
    fn begin(
        &mut self,
        now: u32,
        mut packet: Packet,
        p: &Parameters,
        queue: &mut Queue,
        host: &mut Host<'_>,
    ) -> Option<Packet> {
        let next = if p.ecn && Self::mark(&mut packet, CONTROL_LAW, host) {
            self.ecn_mark += 1;
            Some(packet)
        } else {
            host.drop(packet, CONTROL_LAW);
            let next = queue.pop();
            self.is_bad(now, next.as_ref(), p, queue.bytes);
            next
        };
        self.dropping = true;
        let gained = self.count.wrapping_sub(self.lastcount);
        let idle = now.wrapping_sub(self.drop_next);
        if gained > 1 && is_after(p.interval.wrapping_mul(16), idle) {
            self.count = gained;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = self.next_after(now, p.interval);
        next
    }
}
