//! A sender's knowledge of its packets: which are on their way, and the news of a report.
//!
//! Bytes in flight are those behind the highest number that has been acknowledged, lost or not (§4.1.1 of SCReAMv2's text). A
//! packet is missing from when a later one is acknowledged. It counts as lost when it has been missing for the reordering
//! window, which is nothing at first and becomes as long as a packet was missing that came after all (§4.2.1.1). As the text sets
//! no bound to the window, it is at most a smoothed round trip, as in RACK (RFC 8985 §6.2).

use crate::feedback::{Report, Status, seconds_between, stamp_of};
use sojourn_units::{Ecn, Span, Time};
use std::collections::VecDeque;

/// A lost packet is remembered until it is this many packets behind the highest acknowledged one.
const REMEMBERED: u32 = 1_024;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    bytes: u32,
    sent: Time,
    fate: Fate,
}

/// What is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Unknown,
    Missing { since: Time, is_lost: bool },
    Received,
}

/// A packet that a report shows as received for the first time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrived {
    /// When it left.
    pub sent: Time,
    /// Its bytes.
    pub bytes: u32,
    /// When it came, seconds on the receiver's clock, modulo half of 65536 s either way.
    pub at: f64,
}

/// What is new in a report.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Digest {
    /// By how many bytes the highest acknowledged number has grown, lost ones included.
    pub bytes_newly_acked: u64,
    /// Bytes of the packets that have now been received with CE.
    pub bytes_newly_acked_ce: u64,
    /// Packets that have now been received.
    pub received: u32,
    /// Bytes of these.
    pub received_bytes: u64,
    /// Of these packets, those with CE.
    pub marked: u32,
    /// Packets that now count as lost.
    pub lost: u32,
    /// Packets that had counted as lost and have now been received.
    pub recovered: u32,
    /// Packets that have now been received with neither ECT(1) nor CE.
    pub bleached: u32,
    /// Of the packet with the highest number, if a higher one than before: the round trip, from sending to this report.
    pub rtt: Option<Span>,
    /// Its way there, in seconds, on two clocks: less the same of another packet it is a difference of delays.
    pub one_way: Option<f64>,
}

/// The packets of one stream. Their numbers begin at 0.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    packets: VecDeque<Packet>,
    /// The number of the first of them.
    first: u32,
    /// One past the highest number that was acknowledged.
    acked: u32,
    in_flight: u64,
    /// Bytes of packets that have been neither received nor lost.
    outstanding: u64,
    reordering_window: Span,
}

impl Sent {
    /// A packet leaves.
    pub fn push(&mut self, now: Time, bytes: u32) {
        self.packets.push_back(Packet { bytes, sent: now, fate: Fate::Unknown });
        self.in_flight += u64::from(bytes);
        self.outstanding += u64::from(bytes);
    }

    /// The number of the next packet.
    pub fn next(&self) -> u32 {
        self.first + self.packets.len() as u32
    }

    /// Bytes in flight.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes of packets with an unknown fate: neither received nor lost.
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Nothing is expected any more of what was sent.
    pub fn forget(&mut self) {
        self.first = self.next();
        self.acked = self.first;
        self.packets.clear();
        (self.in_flight, self.outstanding) = (0, 0);
    }

    /// How long a packet may be missing.
    pub const fn reordering_window(&self) -> Span {
        self.reordering_window
    }

    /// A report has come; returns the news in it. The reordering window does not grow beyond `srtt`.
    pub fn on_report(&mut self, now: Time, report: &Report, srtt: Span) -> Digest {
        self.on_report_with(now, report, srtt, &mut |_| {})
    }

    /// The same, and tells `each` of every packet that the report shows as received for the first time and with a
    /// time, in the order of their numbers.
    pub fn on_report_with(
        &mut self,
        now: Time,
        report: &Report,
        srtt: Span,
        each: &mut dyn FnMut(Arrived),
    ) -> Digest {
        let mut digest = Digest::default();
        // The numbers on the wire are the lowest 16 bits of ours, and none of ours is beyond the next.
        let behind = u32::from((self.next() as u16).wrapping_sub(report.begin));
        let Some(begin) = self.next().checked_sub(behind) else { return digest };
        for (number, status) in (begin..).zip(&report.packets) {
            if let Status::Received { ecn, before } = *status {
                let known = digest.received;
                self.received(now, number, ecn, srtt, &mut digest);
                if let (true, Some(before)) = (digest.received > known, before) {
                    let packet = self.packets[(number - self.first) as usize];
                    let at = seconds_between(report.arrived(before), stamp_of(Time::ZERO));
                    each(Arrived { sent: packet.sent, bytes: packet.bytes, at });
                }
                if number + 1 > self.acked && number < self.next() {
                    self.raise(now, number, &mut digest);
                    let packet = self.packets[(number - self.first) as usize];
                    digest.rtt = Some(now.since(packet.sent));
                    digest.one_way = before.map(|before| {
                        seconds_between(report.arrived(before), stamp_of(packet.sent))
                    });
                }
            }
        }
        self.detect(now, &mut digest);
        digest
    }

    /// The packet of this number was received.
    fn received(&mut self, now: Time, number: u32, ecn: Ecn, srtt: Span, digest: &mut Digest) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(packet) = self.packets.get_mut(place as usize) else { return };
        if packet.fate == Fate::Received {
            return;
        }
        if let Fate::Missing { since, is_lost } = packet.fate {
            self.reordering_window = self.reordering_window.max(now.since(since)).min(srtt);
            digest.recovered += u32::from(is_lost);
        }
        let was_lost = matches!(packet.fate, Fate::Missing { is_lost: true, .. });
        if !was_lost {
            self.outstanding -= u64::from(packet.bytes);
        }
        packet.fate = Fate::Received;
        digest.received += 1;
        digest.bleached += u32::from(!matches!(ecn, Ecn::Ect1 | Ecn::Ce));
        digest.received_bytes += u64::from(packet.bytes);
        if ecn == Ecn::Ce {
            digest.marked += 1;
            digest.bytes_newly_acked_ce += u64::from(packet.bytes);
        }
    }

    /// This number is now the highest that was acknowledged.
    fn raise(&mut self, now: Time, number: u32, digest: &mut Digest) {
        for number in self.acked..=number {
            let packet = &mut self.packets[(number - self.first) as usize];
            let bytes = u64::from(packet.bytes);
            digest.bytes_newly_acked += bytes;
            self.in_flight -= bytes;
            if packet.fate == Fate::Unknown {
                packet.fate = Fate::Missing { since: now, is_lost: false };
            }
        }
        self.acked = number + 1;
    }

    /// Takes packets that have been missing for too long for lost, and forgets those that need not be known any more.
    fn detect(&mut self, now: Time, digest: &mut Digest) {
        let behind = self.acked.saturating_sub(self.first) as usize;
        for packet in self.packets.iter_mut().take(behind) {
            if let Fate::Missing { since, is_lost: is_lost @ false } = &mut packet.fate
                && now.since(*since) >= self.reordering_window
            {
                *is_lost = true;
                digest.lost += 1;
                self.outstanding -= u64::from(packet.bytes);
            }
        }
        while let Some(packet) = self.packets.front()
            && self.first < self.acked
            && (packet.fate == Fate::Received || self.acked - self.first > REMEMBERED)
        {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{Arrival, read, write};
    use proptest::prelude::*;

    const SRTT: Span = Span::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn sent(count: u32, bytes: u32) -> Sent {
        let mut sent = Sent::default();
        for number in 0..count {
            sent.push(at(number.into()), bytes);
        }
        sent
    }

    fn report(begin: u16, packets: &[Option<(u64, Ecn)>], now: Time) -> Report {
        let packets: Vec<_> = packets
            .iter()
            .map(|p| p.map(|(millis, ecn)| Arrival { at: at(millis), ecn }))
            .collect();
        read(&write(begin, &packets, now)).unwrap()
    }

    /// The text's own example: five packets behind the acknowledged one are in flight, lost or not.
    #[test]
    fn bytes_in_flight_are_those_behind_the_highest() {
        let mut sent = sent(10, 1_000);
        let came = Some((20, Ecn::NotEct));
        let digest =
            sent.on_report(at(30), &report(0, &[came, None, came, came, came], at(20)), SRTT);
        assert_eq!((sent.in_flight(), digest.bytes_newly_acked), (5_000, 5_000));
        assert_eq!((digest.received, digest.received_bytes, digest.lost), (4, 4_000, 1));
        // The newest of them was number 4, sent at 4 ms.
        assert_eq!(digest.rtt, Some(Span::from_millis(26)));
        assert!((digest.one_way.unwrap() - 0.016).abs() < 0.001);
        // Nothing of it is new a second time.
        let digest =
            sent.on_report(at(31), &report(0, &[came, None, came, came, came], at(20)), SRTT);
        assert_eq!(digest, Digest::default());
    }

    /// Number 1 counts as lost at 30 ms and is reported as received at 37 ms: the window is 7 ms from then on, and a
    /// packet that is missing is lost by the first report that comes so late.
    #[test]
    fn the_reordering_window_is_as_long_as_a_packet_was_missing() {
        let mut sent = sent(10, 1_000);
        let came = Some((20, Ecn::NotEct));
        assert_eq!(sent.on_report(at(30), &report(0, &[came, None, came], at(20)), SRTT).lost, 1);
        assert_eq!(
            sent.on_report(at(37), &report(0, &[came, came, came], at(20)), SRTT).received,
            1
        );
        assert_eq!(sent.reordering_window(), Span::from_millis(7));
        let digest = sent.on_report(at(40), &report(3, &[None, came], at(30)), SRTT);
        assert_eq!((digest.lost, digest.received), (0, 1));
        assert_eq!(sent.on_report(at(46), &report(5, &[came], at(36)), SRTT).lost, 0);
        assert_eq!(sent.on_report(at(47), &report(6, &[came], at(37)), SRTT).lost, 1);
        // A window longer than a round trip would hide losses for ever.
        sent.on_report(at(900), &report(3, &[came], at(800)), SRTT);
        assert_eq!(sent.reordering_window(), SRTT);
    }

    #[test]
    fn what_was_forgotten_is_not_acknowledged() {
        let mut sent = sent(10, 100);
        sent.forget();
        assert_eq!((sent.in_flight(), sent.outstanding()), (0, 0));
        let came = Some((20, Ecn::Ect1));
        assert_eq!(
            sent.on_report(at(30), &report(8, &[came, came], at(20)), SRTT),
            Digest::default()
        );
        sent.push(at(40), 100);
        let digest = sent.on_report(at(50), &report(9, &[came, came], at(50)), SRTT);
        assert_eq!((digest.received, digest.lost, sent.outstanding()), (1, 0, 0));
    }

    #[test]
    fn marks_are_counted_by_packets_and_bytes() {
        let mut sent = sent(3, 500);
        let packets = [Some((9, Ecn::Ce)), Some((9, Ecn::Ect1)), Some((9, Ecn::Ce))];
        let digest = sent.on_report(at(20), &report(0, &packets, at(10)), SRTT);
        assert_eq!((digest.marked, digest.bytes_newly_acked_ce, digest.received), (2, 1_000, 3));
    }

    /// 65536 packets on, the numbers on the wire begin again.
    #[test]
    fn numbers_go_round() {
        let mut sent = sent(70_000, 1);
        let came = Some((70_000, Ecn::NotEct));
        let digest =
            sent.on_report(at(70_010), &report(69_998_u32 as u16, &[came, came], at(70_000)), SRTT);
        assert_eq!((digest.received, digest.bytes_newly_acked, sent.in_flight()), (2, 70_000, 0));
    }

    proptest! {
        /// Whatever reports say, each packet is received or lost once at most, and the packets in flight are those sent
        /// behind the highest number.
        #[test]
        fn every_packet_has_one_fate(
            reports in proptest::collection::vec((0..40_u16, proptest::collection::vec(any::<bool>(), 1..20)), 1..40),
        ) {
            let mut sent = sent(60, 10);
            let (mut received, mut lost, mut acked) = (0, 0, 0);
            for (step, (begin, came)) in reports.iter().enumerate() {
                let now = at(100 + step as u64);
                let packets: Vec<_> = came.iter().map(|&came| came.then_some((90, Ecn::NotEct))).collect();
                let digest = sent.on_report(now, &report(*begin, &packets, now), SRTT);
                received += digest.received;
                lost += digest.lost;
                acked += digest.bytes_newly_acked;
            }
            prop_assert!(received <= 60 && lost <= 60);
            prop_assert_eq!(acked + sent.in_flight(), 600);
        }
    }
}
