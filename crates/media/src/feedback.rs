//! Congestion control feedback in RTCP (RFC 8888): the packet in which a receiver reports whether each packet of a
//! stream came, when, and with which ECN field.
//!
//! The format is §3.1's: eight bytes of RTCP header and sender; for each stream eight bytes and two for each packet, filled up
//! to four; four of a time stamp. The range of numbers is half open, as erratum 8166 has it: `num_reports` is their
//! number. It is a reduced-size packet (RFC 5506) alone in its datagram; SRTCP's additions are left out.
//!
//! The time stamp is the middle of an NTP time: seconds and 1/65536 of them, modulo 65536 s. A packet's arrival is
//! given by how much earlier it was, in 1/1024 s and 13 bits. So the sender knows arrivals to a millisecond, and not
//! better.

use sojourn_units::{Ecn, Span, Time};

/// RTCP's version, no padding, the format number 11.
const FIRST: u8 = 0b1000_1011;
/// Transport-layer feedback (RFC 4585).
const PACKET_TYPE: u8 = 205;
/// The packet came, but earlier than the field can express.
const TOO_EARLY: u16 = 0x1ffe;
/// The flow distinguishes the sources: there is one stream each way.
const SSRC: u32 = 1;
/// Bytes before the first packet's block.
const HEAD: usize = 16;
/// The most packets that one stream's block may tell of.
pub const MOST: usize = 16_384;

/// A packet that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When, on the receiver's clock.
    pub at: Time,
    /// Its ECN field then.
    pub ecn: Ecn,
}

/// What a report says of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It has not come.
    Missing,
    /// It has.
    Received {
        /// Its ECN field.
        ecn: Ecn,
        /// How long before the report, in 1/1024 s; nothing if earlier than the field can express.
        before: Option<u16>,
    },
}

/// A report as read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The RTP sequence number of the first packet that it tells of.
    pub begin: u16,
    /// What it says of that one and those behind it.
    pub packets: Vec<Status>,
    /// When it was written, in 1/65536 s, modulo 2³².
    pub stamp: u32,
}

/// The middle 32 bits of the NTP time of a point in the run.
fn stamp(at: Time) -> u32 {
    (u128::from(at.as_nanos()) * 65_536 / 1_000_000_000) as u32
}

/// A time stamp less another in seconds, the nearest such that there is: half the range of 65536 s either way.
pub fn seconds_between(stamp: u32, other: u32) -> f64 {
    f64::from(stamp.wrapping_sub(other) as i32) / 65_536.0
}

/// The time stamp of a packet's sending, as [`Report::arrived`] has that of its arrival.
pub fn stamp_of(at: Time) -> u32 {
    stamp(at)
}

/// The bytes of a report on the packets from number `begin` on, written at `now`.
///
/// # Panics
/// With more packets than [`MOST`].
pub fn write(begin: u16, packets: &[Option<Arrival>], now: Time) -> Vec<u8> {
    assert!(packets.len() <= MOST, "{} packets", packets.len());
    let padded = packets.len().next_multiple_of(2);
    let length = HEAD + 2 * padded + 4;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend([FIRST, PACKET_TYPE]);
    bytes.extend(((length / 4 - 1) as u16).to_be_bytes());
    bytes.extend(SSRC.to_be_bytes());
    bytes.extend(SSRC.to_be_bytes());
    bytes.extend(begin.to_be_bytes());
    bytes.extend((packets.len() as u16).to_be_bytes());
    for packet in packets {
        let block = packet.map_or(0, |Arrival { at, ecn }| {
            let before = u128::from(now.since(at).as_nanos()) * 1_024 / 1_000_000_000;
            let before = before.min(TOO_EARLY.into()) as u16;
            1 << 15 | u16::from(ecn.bits()) << 13 | before
        });
        bytes.extend(block.to_be_bytes());
    }
    bytes.resize(length - 4, 0);
    bytes.extend(stamp(now).to_be_bytes());
    bytes
}

/// Reads a report; nothing if the bytes are none.
pub fn read(bytes: &[u8]) -> Option<Report> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    if head[0] != FIRST || head[1] != PACKET_TYPE || (usize::from(short(2)) + 1) * 4 != bytes.len()
    {
        return None;
    }
    let (begin, count) = (short(12), usize::from(short(14)));
    let (blocks, stamp) = rest.split_at_checked(2 * count.next_multiple_of(2))?;
    let stamp = u32::from_be_bytes(stamp.try_into().ok()?);
    let packets = blocks.chunks_exact(2).take(count).map(|block| {
        let block = u16::from_be_bytes([block[0], block[1]]);
        if block >> 15 == 0 {
            return Status::Missing;
        }
        let before = block & 0x1fff;
        let ecn = Ecn::from_bits((block >> 13) as u8);
        Status::Received { ecn, before: (before < TOO_EARLY).then_some(before) }
    });
    Some(Report { begin, packets: packets.collect(), stamp })
}

impl Report {
    /// The time stamp of a packet's arrival that was so long before the report.
    pub fn arrived(&self, before: u16) -> u32 {
        self.stamp.wrapping_sub(u32::from(before) << 6)
    }
}

/// What one unit of an arrival is.
pub const RESOLUTION: Span = Span::from_nanos(1_000_000_000 / 1_024);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Worked by hand from the figure of §3.1: three packets from number 65535 on, with the second one missing, written
    /// at 2.5 s. 100 ms before are 102.4 units, 0 ms none. 2.5 s are 0x0002_8000.
    #[test]
    fn a_report_is_the_figures_bytes() {
        let came = |millis, ecn| Some(Arrival { at: Time::from_millis(millis), ecn });
        let packets = [came(2_400, Ecn::Ect1), None, came(2_500, Ecn::Ce)];
        let bytes = write(65_535, &packets, Time::from_millis(2_500));
        let expected = [
            0x8b,
            205,
            0,
            6, // 7 words
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            1, // who reports, on which stream
            0xff,
            0xff,
            0,
            3, // from which number on, how many
            0b1010_0000,
            102,
            0,
            0,
            0b1110_0000,
            0,
            0,
            0, // the packets and two bytes to fill up
            0,
            2,
            0x80,
            0,
        ];
        assert_eq!(bytes, expected);
        let report = read(&bytes).unwrap();
        assert_eq!((report.begin, report.stamp), (65_535, 0x0002_8000));
        let received = |ecn, before| Status::Received { ecn, before: Some(before) };
        let read = [received(Ecn::Ect1, 102), Status::Missing, received(Ecn::Ce, 0)];
        assert_eq!(report.packets, read);
        let before = seconds_between(report.arrived(102), stamp_of(Time::from_millis(2_400)));
        assert!((0.0..0.001).contains(&before), "{before}");
    }

    /// 13 bits of 1/1024 s end at 8 s.
    #[test]
    fn what_came_long_ago_came() {
        let old = [Some(Arrival { at: Time::ZERO, ecn: Ecn::NotEct })];
        let report = read(&write(7, &old, Time::from_secs(9))).unwrap();
        assert_eq!(report.packets, [Status::Received { ecn: Ecn::NotEct, before: None }]);
    }

    #[test]
    fn what_is_no_report_is_not_read() {
        let good = write(1, &[None, None], Time::ZERO);
        assert!(read(&good).is_some());
        assert!(read(&good[..good.len() - 1]).is_none());
        assert!(read(&[]).is_none());
        for place in 0..4 {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            assert!(read(&bytes).is_none(), "byte {place}");
        }
    }

    proptest! {
        #[test]
        fn any_report_is_read_as_it_was_written(
            begin: u16, came in proptest::collection::vec(proptest::option::of((0..7_900_u64, 0..4_u8)), 0..200),
        ) {
            let now = Time::from_secs(8);
            let packets: Vec<_> = came.iter().map(|came| {
                came.map(|(millis, ecn)| Arrival { at: Time::from_millis(millis + 100), ecn: Ecn::from_bits(ecn) })
            }).collect();
            let report = read(&write(begin, &packets, now)).unwrap();
            prop_assert_eq!(report.begin, begin);
            prop_assert_eq!(report.packets.len(), packets.len());
            for (packet, status) in packets.iter().zip(&report.packets) {
                match (packet, status) {
                    (None, Status::Missing) => {}
                    (Some(Arrival { at, ecn }), Status::Received { ecn: read, before: Some(before) }) => {
                        prop_assert_eq!(ecn, read);
                        let error = seconds_between(report.arrived(*before), stamp_of(*at));
                        prop_assert!((0.0..0.001).contains(&error), "{}", error);
                    }
                    _ => prop_assert!(false, "{:?} is {:?}", packet, status),
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
