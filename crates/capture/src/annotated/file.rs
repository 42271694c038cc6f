//! The pcapng file: a section, an interface a point, and packets with comments.

use super::packets::Packet;
use crate::{CaptureError, Point, UNFINISHED, cause, error};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The file while it grows. Dropped before it is whole, it leaves nothing behind.
pub(super) struct PcapNgFile {
    /// `None` once it is whole.
    writer: Option<PcapNgWriter<BufWriter<File>>>,
    path: PathBuf,
    unfinished: PathBuf,
}

impl PcapNgFile {
    /// A file without packets, with an interface for each point.
    pub(super) fn create(path: &Path, about: &str, points: &[Point]) -> Result<Self, CaptureError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let unfinished = path.with_file_name(format!("{UNFINISHED}{name}"));
        let opened = File::create(&unfinished).map_err(|why| error(path, why))?;
        let section = SectionHeaderBlock {
            // Whatever the machine, the same bytes.
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(about.to_owned())),
                SectionHeaderOption::UserApplication(Cow::Borrowed("Sojourn")),
            ],
            ..SectionHeaderBlock::default()
        };
        let writer = PcapNgWriter::with_section_header(BufWriter::new(opened), section);
        let writer = Some(writer.map_err(|e| error(path, cause(e)))?);
        let mut file = Self { writer, path: path.to_owned(), unfinished };
        points.iter().try_for_each(|point| file.interface(point))?;
        Ok(file)
    }

    fn interface(&mut self, point: &Point) -> Result<(), CaptureError> {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name_of(point))),
            InterfaceDescriptionOption::IfDescription(Cow::Owned(described(point))),
            // Nanoseconds.
            InterfaceDescriptionOption::IfTsResol(9),
        ];
        let linktype = DataLink::ETHERNET;
        let block = InterfaceDescriptionBlock { linktype, snaplen: 0, options };
        let written = self.writer().write_pcapng_block(block);
        written.map(drop).map_err(|e| error(&self.path, cause(e)))
    }

    /// Adds a packet that was seen at the point of this number.
    pub(super) fn write(
        &mut self,
        point: usize,
        packet: Packet,
        comments: Vec<String>,
    ) -> Result<(), CaptureError> {
        let comment = |text| EnhancedPacketOption::Comment(Cow::Owned(text));
        let block = EnhancedPacketBlock {
            interface_id: point as u32,
            timestamp: packet.at,
            original_len: packet.wire_len,
            data: Cow::Owned(packet.frame),
            options: comments.into_iter().map(comment).collect(),
        };
        let written = self.writer().write_pcapng_block(block);
        written.map(drop).map_err(|e| error(&self.path, cause(e)))
    }

    /// Writes out what waits and gives the file its name.
    pub(super) fn finish(mut self) -> Result<(), CaptureError> {
        let flushed = self.writer().get_mut().flush();
        flushed
            .and_then(|()| fs::rename(&self.unfinished, &self.path))
            .map_err(|why| error(&self.path, why))?;
        self.writer = None;
        Ok(())
    }

    fn writer(&mut self) -> &mut PcapNgWriter<BufWriter<File>> {
        let Some(writer) = &mut self.writer else { unreachable!("only `finish` takes it") };
        writer
    }
}

impl Drop for PcapNgFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // Nothing can be done if that fails, too.
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

/// The interface's name: the capture's without its suffix.
fn name_of(point: &Point) -> String {
    point.file_name().trim_end_matches(".pcap").to_owned()
}

fn described(point: &Point) -> String {
    match point {
        Point::Server => "the hosts on the server's side".to_owned(),
        Point::Left(hop) => format!("hop {hop}, server's side: into down, out of up"),
        Point::Right(hop) => format!("hop {hop}, client's side: out of down, into up"),
        Point::Client => "the hosts on the client's side".to_owned(),
    }
}
