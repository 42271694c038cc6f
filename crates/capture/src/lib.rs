//! Packet captures: where they are taken, the names of their files, and how they get to the disk.
//!
//! The files are classic pcap with nanosecond stamps (magic `0xa1b23c4d`; draft-ietf-opsawg-pcap) and Ethernet frames.
//! Every engine writes the same ones:
//!
//! ```text
//! server.pcap          packets of the hosts on the server's side
//! HOP.left.pcap        at the server's side of a hop's queues: packets into `down`, and out of `up`
//! HOP.right.pcap       at the client's side: packets out of `down`, and into `up`
//! client.pcap          packets of the hosts on the client's side
//! ```
//!
//! The server is where `down` begins. A hop without a queue has no files. "Left" and "right" are the words of the
//! published harness for the two devices of its middle box; unlike there, a hop's delays lie outside of both.
//!
//! Stamps have no real date: a run's origin is [`EPOCH`], so that the same run gives the same bytes.
//!
//! Invariants: packets go to the disk as they come, through a buffer of a fixed size; a file bears its name once it
//! is whole, and until then another ([`UNFINISHED`]), so what a crash leaves behind is never taken for a capture.

mod annotated;

pub use annotated::{AnnotateError, Captures};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use sojourn_model::{Scenario, Side};
use sojourn_units::Time;
use std::fs::{self, File};
use std::io::{self, BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The date of every run's origin, in seconds of Unix time: 2000-01-01T00:00:00Z.
pub const EPOCH: u64 = 946_684_800;

/// What is kept of a packet unless asked otherwise: all headers with room to spare, as the published harness has it.
pub const SNAP_LEN: u32 = 128;

/// How the name of a file begins that is not whole yet.
pub const UNFINISHED: &str = ".unfinished-";

/// Bytes that wait to be written, a file.
const BUFFER: usize = 1 << 16;

/// The wish to have a run's packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Where the files go; a folder that is there.
    pub folder: PathBuf,
    /// The most that is kept of a packet, bytes from the Ethernet header on.
    pub snap_len: u32,
}

/// Where packets are captured.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Point {
    /// The hosts where `down` begins.
    Server,
    /// The server's side of a hop's queues; the hop's name.
    Left(String),
    /// The client's side.
    Right(String),
    /// The hosts where `down` ends.
    Client,
}

impl Point {
    /// Every point of a scenario, from the server to the client.
    pub fn all(scenario: &Scenario) -> Vec<Self> {
        let queued = scenario.hops.iter().filter(|hop| {
            let mut elements = [Side::Down, Side::Up].into_iter().flat_map(|side| hop.side(side));
            elements.any(|e| e.kind.holds_a_queue())
        });
        let sides = queued.flat_map(|h| [Self::Left(h.name.clone()), Self::Right(h.name.clone())]);
        [Self::Server].into_iter().chain(sides).chain([Self::Client]).collect()
    }

    /// The name of its file. Characters of a hop's name that a file system may not like are written as `_`.
    pub fn file_name(&self) -> String {
        let safe = |name: &str| -> String {
            let keeps = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            name.chars().map(|c| if keeps(c) { c } else { '_' }).collect()
        };
        match self {
            Self::Server => "server.pcap".to_owned(),
            Self::Left(hop) => format!("{}.left.pcap", safe(hop)),
            Self::Right(hop) => format!("{}.right.pcap", safe(hop)),
            Self::Client => "client.pcap".to_owned(),
        }
    }
}

/// The Unix time that a point of the run's own clock is stamped with.
pub fn stamp(scenario: &Scenario, at: Time) -> Duration {
    // The epoch is 30 years, a warmup some seconds: nothing saturates.
    Duration::from_secs(EPOCH)
        .saturating_sub(Duration::from_nanos(scenario.warmup.as_nanos()))
        .saturating_add(Duration::from_nanos(at.as_nanos()))
}

/// A capture cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("the capture {} cannot be written: {why}", .file.display())]
pub struct CaptureError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub why: io::Error,
}

/// One capture file while it grows. Dropped before it is whole, it leaves nothing behind.
#[derive(Debug)]
pub struct PcapFile {
    /// `None` once it is whole.
    writer: Option<PcapWriter<BufWriter<File>>>,
    path: PathBuf,
    unfinished: PathBuf,
    snap_len: u32,
}

impl PcapFile {
    /// An empty capture of this point.
    pub fn create(capture: &Capture, point: &Point) -> Result<Self, CaptureError> {
        let name = point.file_name();
        let path = capture.folder.join(&name);
        let unfinished = capture.folder.join(format!("{UNFINISHED}{name}"));
        let header = PcapHeader {
            snaplen: capture.snap_len,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            // Whatever the machine, the same bytes.
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let file = File::create(&unfinished).map_err(|why| error(&path, why))?;
        let writer = PcapWriter::with_header(BufWriter::with_capacity(BUFFER, file), header);
        let writer = Some(writer.map_err(|e| error(&path, cause(e)))?);
        Ok(Self { writer, path, unfinished, snap_len: capture.snap_len })
    }

    /// Adds a packet of `wire_len` bytes that begins with `frame`; keeps at most the snap length of it.
    pub fn write(&mut self, at: Duration, wire_len: u32, frame: &[u8]) -> Result<(), CaptureError> {
        let Some(writer) = &mut self.writer else { unreachable!("only `finish` takes it") };
        let kept = frame.len().min(self.snap_len.min(wire_len) as usize);
        let packet = PcapPacket::new(at, wire_len, &frame[..kept]);
        writer.write_packet(&packet).map(drop).map_err(|e| error(&self.path, cause(e)))
    }

    /// Writes out what waits and gives the file its name.
    pub fn finish(mut self) -> Result<(), CaptureError> {
        if let Some(writer) = self.writer.take() {
            let flushed = writer.into_writer().into_inner().map_err(IntoInnerError::into_error);
            let synced = flushed.and_then(|file| file.sync_all());
            let named = synced.and_then(|()| fs::rename(&self.unfinished, &self.path));
            named.map_err(|why| {
                // Nothing can be done if that fails, too.
                let _ = fs::remove_file(&self.unfinished);
                error(&self.path, why)
            })?;
        }
        Ok(())
    }
}

impl Drop for PcapFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            drop(writer);
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

fn error(path: &Path, why: io::Error) -> CaptureError {
    CaptureError { file: path.to_owned(), why }
}

fn cause(e: PcapError) -> io::Error {
    match e {
        PcapError::IoError(why) => why,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests;
