//! A capture of ours, read packet by packet.

use super::error::AnnotateError;
use crate::cause;
use pcap_file::PcapError;
use pcap_file::pcap::PcapReader;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn unread(file: &Path) -> impl Fn(PcapError) -> AnnotateError {
    |e| AnnotateError::Read { file: file.to_owned(), why: cause(e) }
}

/// A capture of ours, packet by packet.
pub(super) struct Packets {
    file: PathBuf,
    reader: PcapReader<BufReader<File>>,
}

/// One of them.
pub(super) struct Packet {
    /// When it was seen, in Unix time.
    pub(super) at: Duration,
    /// How long it was, bytes.
    pub(super) wire_len: u32,
    /// What was kept of it.
    pub(super) frame: Vec<u8>,
}

impl Packets {
    /// Opens a file.
    pub(super) fn open(file: PathBuf) -> Result<Self, AnnotateError> {
        let opened = File::open(&file).map_err(|e| unread(&file)(PcapError::IoError(e)))?;
        let reader = PcapReader::new(BufReader::new(opened)).map_err(unread(&file))?;
        Ok(Self { file, reader })
    }

    /// The next packet. It may be longer than what is kept of each, which the reader's own check takes for an error.
    pub(super) fn next(&mut self) -> Result<Option<Packet>, AnnotateError> {
        let Some(packet) = self.reader.next_raw_packet() else { return Ok(None) };
        let packet = packet.map_err(unread(&self.file))?;
        Ok(Some(Packet {
            at: Duration::new(packet.ts_sec.into(), packet.ts_frac),
            wire_len: packet.orig_len,
            frame: packet.data.into_owned(),
        }))
    }
}
