//! Packet captures of a guest: turns the agent's packets into the files that every engine writes.
//!
//! Packets are taken at the devices themselves, both ways, as tcpdump takes them: the server's, both of a hop's, the
//! client's. Each of the agent's files is a row of (time, length, how much follows, the bytes), from the Ethernet header on.

use sojourn_capture::{Capture, PcapFile, Point, stamp};
use sojourn_engine::RunError;
use sojourn_model::Scenario;
use sojourn_units::Time;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Bytes before each packet.
const HEAD: usize = 16;
/// The most that the agent keeps of a packet: more than any packet here has.
const MOST: u32 = 2048;

/// How much the agent is asked to keep.
pub(crate) fn snap(capture: &Capture) -> u32 {
    capture.snap_len.clamp(1, MOST)
}

/// Writes the captures of a guest that has ended; its folder has `capture.0`, `capture.1`, … in the order of the points.
pub(crate) fn write(
    capture: &Capture,
    points: &[Point],
    scenario: &Scenario,
    folder: &Path,
) -> Result<(), RunError> {
    let failed = |e: &io::Error| RunError::Failed(format!("a capture of the guest: {e}"));
    for (number, point) in points.iter().enumerate() {
        let file = File::open(folder.join(format!("capture.{number}"))).map_err(|e| failed(&e))?;
        let mut packets = BufReader::with_capacity(1 << 18, file);
        let mut out = PcapFile::create(capture, point)?;
        let mut frame = Vec::new();
        while let Some(packet) = next(&mut packets, &mut frame).map_err(|e| failed(&e))? {
            out.write(stamp(scenario, packet.at), packet.length, &frame)?;
        }
        out.finish()?;
    }
    Ok(())
}

/// The header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Head {
    at: Time,
    length: u32,
}

/// The next packet, its bytes in `frame`; `None` at the end of the file.
fn next(from: &mut impl Read, frame: &mut Vec<u8>) -> io::Result<Option<Head>> {
    let mut head = [0; HEAD];
    match from.read(&mut head[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut head[1..])?,
    }
    let [a, b, c, d, e, f, g, h, l0, l1, l2, l3, k0, k1, k2, k3] = head;
    let kept = u32::from_ne_bytes([k0, k1, k2, k3]);
    frame.resize(kept as usize, 0);
    from.read_exact(frame)?;
    let at = Time::from_nanos(u64::from_ne_bytes([a, b, c, d, e, f, g, h]));
    Ok(Some(Head { at, length: u32::from_ne_bytes([l0, l1, l2, l3]) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_until_the_file_ends_and_a_torn_one_is_an_error() {
        let mut bytes = Vec::new();
        bytes.extend(7u64.to_ne_bytes());
        bytes.extend(1514u32.to_ne_bytes());
        bytes.extend(3u32.to_ne_bytes());
        bytes.extend([1, 2, 3]);
        let mut frame = Vec::new();
        let mut file = &bytes[..];
        let first = next(&mut file, &mut frame).unwrap().unwrap();
        assert_eq!(
            (first.at, first.length, &frame[..]),
            (Time::from_nanos(7), 1514, &[1, 2, 3][..])
        );
        assert_eq!(next(&mut file, &mut frame).unwrap(), None);
        assert!(next(&mut &bytes[..bytes.len() - 1], &mut frame).is_err());
    }
}
