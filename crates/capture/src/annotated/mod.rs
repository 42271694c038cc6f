//! The captures of a run as one pcapng file (draft-ietf-opsawg-pcapng).
//!
//! Each point is an interface with its name. Comments of packets name their flow, and their fate at a queue:
//!
//! ```text
//! flow cubic                               by the sender's port
//! dropped in bottleneck down               went in, and later packets of its flow came out
//! marked in bottleneck down: ECT(0) to CE
//! waited 12.345 ms in bottleneck down      between the two sides
//! ```
//!
//! Nothing is asked of the engine, so this works with every engine's captures: both sides of a queue are there, and
//! a packet is known again by all that a router leaves as it is.
//!
//! Invariants: every packet of every capture is in the file once, as its capture has it; the file is in the order of
//! time, packets of one time in the order of the points; it bears its name once it is whole.

mod error;
mod fates;
mod file;
mod identity;
mod packets;

pub use error::AnnotateError;

use crate::Point;
use fates::{Fate, fates_of};
use file::PcapNgFile;
use identity::flow_of;
use packets::{Packet, Packets};
use sojourn_model::Scenario;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The captures of a run, and what identifies its flows in them.
#[derive(Clone, Copy, Debug)]
pub struct Captures<'a> {
    /// Where they lie.
    pub folder: &'a Path,
    /// What was run.
    pub scenario: &'a Scenario,
    /// The first port of senders: flow *n* of the scenario sends from port `senders` + *n*.
    pub senders: u16,
}

impl Captures<'_> {
    /// Writes them as one file that says in a comment what it is `about`; returns whether there were any.
    pub fn annotate(&self, to: &Path, about: &str) -> Result<bool, AnnotateError> {
        let points: Vec<_> = Point::all(self.scenario)
            .into_iter()
            .filter(|point| self.file(point).is_file())
            .collect();
        if points.is_empty() {
            return Ok(false);
        }
        let fates = self.fates(&points)?;
        let mut file = PcapNgFile::create(to, about, &points)?;
        let mut captures = Vec::new();
        for point in &points {
            captures.push(Packets::open(self.file(point))?);
        }
        let mut written = vec![0_usize; points.len()];
        let mut merged = Merged::of(captures)?;
        while let Some((index, packet)) = merged.next()? {
            let fate = fates[index].get(written[index]).and_then(Option::as_ref);
            written[index] += 1;
            let flow = flow_of(&packet.frame, self.scenario, self.senders);
            let mut comments: Vec<_> =
                flow.map(|name| format!("flow {name}")).into_iter().collect();
            comments.extend(fate.into_iter().flat_map(|fate| fate.comments(&points[index])));
            file.write(index, packet, comments)?;
        }
        file.finish()?;
        Ok(true)
    }

    fn file(&self, point: &Point) -> PathBuf {
        self.folder.join(point.file_name())
    }

    /// For each point what became of its packets there; nothing where no queue is, or only one side of it was captured.
    fn fates(&self, points: &[Point]) -> Result<Vec<Vec<Option<Fate>>>, AnnotateError> {
        let mut fates = vec![Vec::new(); points.len()];
        for (left, point) in points.iter().enumerate() {
            if let Point::Left(hop) = point
                && let Some(right) = points.iter().position(|p| *p == Point::Right(hop.clone()))
            {
                let side = |n: usize| identity::read(self.file(&points[n]));
                [fates[left], fates[right]] = fates_of(&side(left)?, &side(right)?);
            }
        }
        Ok(fates)
    }
}

/// Several captures as one, in the order of time; of one time in the captures' own.
struct Merged {
    captures: Vec<Packets>,
    heads: BTreeMap<(Duration, usize), Packet>,
}

impl Merged {
    fn of(captures: Vec<Packets>) -> Result<Self, AnnotateError> {
        let mut merged = Self { captures, heads: BTreeMap::new() };
        for index in 0..merged.captures.len() {
            merged.pull(index)?;
        }
        Ok(merged)
    }

    fn pull(&mut self, index: usize) -> Result<(), AnnotateError> {
        if let Some(packet) = self.captures[index].next()? {
            self.heads.insert((packet.at, index), packet);
        }
        Ok(())
    }

    /// The next packet with the capture that it is of.
    fn next(&mut self) -> Result<Option<(usize, Packet)>, AnnotateError> {
        let Some(((_, index), packet)) = self.heads.pop_first() else { return Ok(None) };
        self.pull(index)?;
        Ok(Some((index, packet)))
    }
}

#[cfg(test)]
mod tests;
