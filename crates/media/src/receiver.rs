//! The receiver of a stream: notes arrivals, decides when a report is due, and makes it.
//!
//! A report is due (§5 of SCReAMv2's text) after a number of packets since the last one, with the last packet of a
//! frame, and a time after the last report if anything has come since. It covers all numbers since the last report, and
//! at least a number of the newest, so that the next report makes up for a lost one (the reference implementation's
//! way, §6 of the text).

use crate::feedback::{Arrival, MOST, write};
use sojourn_units::{Ecn, Span, Time};
use std::collections::VecDeque;

/// When a report is due, and what it tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportRules {
    /// After this number of packets; 16 in the text.
    pub every: u32,
    /// With the last packet of a frame.
    pub frames: bool,
    /// So long after the last one, if packets have come since; 40 ms in the text.
    pub interval: Span,
    /// A report covers at least this number of the newest packets; 32 in the reference implementation.
    pub span: u32,
}

impl ReportRules {
    /// Those that SCReAMv2's text has tried.
    pub const SCREAM: Self =
        Self { every: 16, frames: true, interval: Span::from_millis(40), span: 32 };
}

/// A receiver. Numbers begin at 0; on the wire they are RTP's sequence numbers, the lowest 16 bits.
#[derive(Clone, Debug)]
pub struct Receiver {
    rules: ReportRules,
    /// The newest packets; the last one is `next - 1`.
    packets: VecDeque<Option<Arrival>>,
    /// One past the highest number that has come.
    next: u32,
    /// One past the highest number that a report has covered.
    reported: u32,
    /// Packets that have come since the last report.
    since: u32,
    last_report: Time,
}

impl Receiver {
    /// One that has received nothing.
    pub fn new(rules: ReportRules) -> Self {
        let packets = VecDeque::new();
        Self { rules, packets, next: 0, reported: 0, since: 0, last_report: Time::ZERO }
    }

    /// A packet comes; the report that is due with it, if one is. `ends_frame` is RTP's marker bit.
    pub fn on_packet(
        &mut self,
        now: Time,
        number: u32,
        ecn: Ecn,
        ends_frame: bool,
    ) -> Option<Vec<u8>> {
        while self.next <= number {
            self.packets.push_back(None);
            self.next += 1;
        }
        let behind = (self.next - number) as usize;
        let place = self.packets.len().checked_sub(behind)?;
        let arrival = &mut self.packets[place];
        if arrival.is_some() {
            return None;
        }
        *arrival = Some(Arrival { at: now, ecn });
        if self.since == 0 && self.last_report == Time::ZERO {
            self.last_report = now;
        }
        self.since += 1;
        let is_due = self.since >= self.rules.every || (self.rules.frames && ends_frame);
        (is_due || self.next_report() <= now).then(|| self.report(now))
    }

    /// When a report is due if nothing more comes; never if there is nothing new to say.
    pub fn next_report(&self) -> Time {
        if self.since == 0 {
            Time::NEVER
        } else {
            self.last_report.saturating_add(self.rules.interval)
        }
    }

    /// The report that is due now.
    pub fn report(&mut self, now: Time) -> Vec<u8> {
        // Late packets, from before the last report, are among those that are reported again.
        let since = self.next - self.reported.min(self.next);
        let count = (since.max(self.rules.span).min(self.next) as usize).min(MOST);
        let keep = count.min(self.packets.len());
        self.packets.drain(..self.packets.len() - keep);
        self.reported = self.next;
        self.since = 0;
        self.last_report = now;
        let begin = self.next - keep as u32;
        write(begin as u16, self.packets.make_contiguous(), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{Status, read};

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_report_is_due_with_the_sixteenth_packet_and_with_a_frame() {
        let mut receiver = Receiver::new(ReportRules::SCREAM);
        for number in 0..15 {
            assert_eq!(receiver.on_packet(at(1), number, Ecn::Ect1, false), None, "{number}");
        }
        let report = read(&receiver.on_packet(at(1), 15, Ecn::Ect1, false).unwrap()).unwrap();
        assert_eq!((report.begin, report.packets.len()), (0, 16));
        let report = read(&receiver.on_packet(at(2), 16, Ecn::Ce, true).unwrap()).unwrap();
        assert_eq!((report.begin, report.packets.len()), (0, 17));
        let last = Status::Received { ecn: Ecn::Ce, before: Some(0) };
        assert_eq!(report.packets.last(), Some(&last));
    }

    /// 40 ms behind the first packet, then behind the last report; none while nothing comes.
    #[test]
    fn a_report_is_due_in_time() {
        let mut receiver = Receiver::new(ReportRules::SCREAM);
        assert!(receiver.next_report().is_never());
        assert_eq!(receiver.on_packet(at(100), 0, Ecn::NotEct, false), None);
        assert_eq!(receiver.next_report(), at(140));
        receiver.report(at(140));
        assert!(receiver.next_report().is_never());
        assert_eq!(receiver.on_packet(at(150), 1, Ecn::NotEct, false), None);
        assert_eq!(receiver.next_report(), at(180));
        assert!(receiver.on_packet(at(190), 2, Ecn::NotEct, false).is_some());
    }

    /// The newest 32 at least, and all that no report has covered: 40 were lost here.
    #[test]
    fn a_report_tells_of_all_that_is_new_and_of_some_again() {
        let mut receiver = Receiver::new(ReportRules::SCREAM);
        for number in 0..100 {
            receiver.on_packet(at(1), number, Ecn::NotEct, false);
        }
        receiver.report(at(2));
        let report = read(&receiver.on_packet(at(3), 140, Ecn::NotEct, true).unwrap()).unwrap();
        assert_eq!((report.begin, report.packets.len()), (100, 41));
        let missing = report.packets.iter().filter(|packet| **packet == Status::Missing);
        assert_eq!(missing.count(), 40);
        let report = read(&receiver.on_packet(at(4), 141, Ecn::NotEct, true).unwrap()).unwrap();
        assert_eq!((report.begin, report.packets.len()), (110, 32));
    }

    #[test]
    fn a_copy_is_not_reported_and_an_old_packet_is_dropped() {
        let mut receiver = Receiver::new(ReportRules::SCREAM);
        receiver.on_packet(at(1), 0, Ecn::NotEct, true);
        assert_eq!(receiver.on_packet(at(2), 0, Ecn::NotEct, true), None);
        receiver.on_packet(at(3), 500, Ecn::NotEct, true);
        receiver.on_packet(at(3), 501, Ecn::NotEct, true);
        assert_eq!(receiver.on_packet(at(4), 100, Ecn::NotEct, true), None);
    }
}
