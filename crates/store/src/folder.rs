//! The segments of one results folder, as one set of runs.
//!
//! Invariants: each run has one name, and a name has one run; if it was stored twice, the one that keeps more counts. The segments that are there when the set is opened are closed or
//! belong to a writer that was killed (the folder's lock says which). A set that is open for adding has one segment of its
//! own; when that is full it is closed, and the next run begins another.

use super::answers::{Questions, Shapes, Values, View};
use super::keep::Keep;
use super::segment::{EXTENSION, Entry, Reader, SegmentError, Source, Stored, UNFIT, Writer};
use indexmap::IndexMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A segment that has grown beyond this number of bytes is closed.
pub const FULL: u64 = 64 << 20;

/// Of this number of segments below [`SMALL`] the next command that adds runs makes one.
pub const MANY: usize = 32;

/// A small segment has fewer bytes.
pub const SMALL: u64 = 1 << 20;

/// A thread of its own reads at least this number of runs.
const FEW: usize = 256;

/// The facts of a queue by its path, those of several runs together; the order is that of
/// [`QueueFacts`](super::answers::QueueFacts).
pub type QueueSum = (String, [f64; 5]);

/// The segments of a folder.
#[derive(Debug)]
pub struct Segments {
    folder: PathBuf,
    /// Those of the answers that were read.
    shapes: Shapes,
    readers: Vec<Reader>,
    /// Segments that cannot be read at all.
    broken: Vec<SegmentError>,
    adding: Mutex<Adding>,
}

/// The parts that change while runs are added.
#[derive(Debug, Default)]
struct Adding {
    writer: Option<Writer>,
    /// Segments that were full.
    closed: Vec<Reader>,
    /// How much of each run is kept, and where it is, by its name, in the order in which the runs came.
    places: IndexMap<String, (Keep, Spot)>,
    unsynced: bool,
}

#[derive(Clone, Copy, Debug)]
enum Spot {
    Old(u32, u32),
    Closed(u32, u32),
    Open(u32),
}

impl Adding {
    /// Adds a run, or more of a run that is there; of two that keep as much the first stays.
    fn add(&mut self, entry: &Entry, spot: Spot) {
        let keep = Keep::named(&entry.brief.of.keep).unwrap_or_default();
        match self.places.get_mut(&entry.name) {
            Some((known, _)) if *known >= keep => {}
            Some(own) => *own = (keep, spot),
            None => drop(self.places.insert(entry.name.clone(), (keep, spot))),
        }
    }

    /// Whether the run is there with as much as this one keeps.
    fn has(&self, run: &Stored) -> bool {
        let keep = Keep::named(&run.brief.of.keep).unwrap_or_default();
        self.places.get(&run.name).is_some_and(|(known, _)| *known >= keep)
    }
}

impl Segments {
    /// Opens the segments in a folder, which may have none.
    pub fn open(folder: &Path) -> Result<Self, SegmentError> {
        let mut own = Self {
            folder: folder.to_owned(),
            shapes: Shapes::default(),
            readers: Vec::new(),
            broken: Vec::new(),
            adding: Mutex::default(),
        };
        for path in own.files()? {
            match Reader::open(&path) {
                Ok(reader) => own.readers.push(reader),
                Err(error) => own.broken.push(error),
            }
        }
        let adding = own.adding.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (place, reader) in own.readers.iter().enumerate() {
            for (entry, found) in reader.entries().iter().enumerate() {
                adding.add(found, Spot::Old(place as u32, entry as u32));
            }
        }
        Ok(own)
    }

    /// Opens them for adding, under the folder's lock: segments that killed writers left are cut behind their last whole run
    /// and closed; of those with a damaged index or block the readable runs are written again.
    /// Many small segments, one for each of many commands, become one.
    pub fn open_to_add(folder: &Path) -> Result<Self, SegmentError> {
        let own = Self::open(folder)?;
        let small: Vec<&Reader> =
            own.readers.iter().filter(|own| own.is_whole() && own.bytes() < SMALL).collect();
        let many = small.len() >= MANY;
        if own.readers.iter().all(Reader::is_whole) && !many {
            return Ok(own);
        }
        for reader in own.readers.iter().filter(|reader| !reader.is_whole()) {
            if reader.entries().is_empty() && reader.faults().is_empty() {
                fs::remove_file(reader.path())
                    .map_err(|error| SegmentError::Io { path: reader.path().to_owned(), error })?;
            } else if reader.faults().is_empty() {
                Writer::recover(reader.path())?.close()?;
            } else {
                own.rewrite(&[reader], &|_| true)?;
            }
        }
        if many {
            own.rewrite(&small, &|_| true)?;
        }
        Self::open(folder)
    }

    /// Writes the readable runs of segments that are wanted into one other, then removes the segments. After a kill in between
    /// both are there, with the same runs, and no run is lost.
    fn rewrite(
        &self,
        readers: &[&Reader],
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(), SegmentError> {
        let mut writer = Writer::create(&self.next()?)?;
        for reader in readers {
            for entry in reader.entries().iter().filter(|entry| wanted(&entry.name)) {
                match reader.read().stored(entry) {
                    Ok(run) => writer.put(&run)?,
                    Err(SegmentError::Damaged { .. }) => {}
                    Err(other) => return Err(other),
                }
            }
        }
        writer.close()?;
        for reader in readers {
            fs::remove_file(reader.path())
                .map_err(|error| SegmentError::Io { path: reader.path().to_owned(), error })?;
        }
        Ok(())
    }

    /// The files of the segments, in the order in which they were begun.
    pub fn files(&self) -> Result<Vec<PathBuf>, SegmentError> {
        let wrapped = |error| SegmentError::Io { path: self.folder.clone(), error };
        let found = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(wrapped)?,
        };
        let mut files = Vec::new();
        for file in found {
            let path = file.map_err(wrapped)?.path();
            if path.extension().is_some_and(|own| own == EXTENSION) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn adding(&self) -> MutexGuard<'_, Adding> {
        self.adding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the runs, in the order in which they came.
    pub fn names(&self) -> Vec<String> {
        self.adding().places.keys().cloned().collect()
    }

    /// Whether there is a run of this name.
    pub fn has(&self, name: &str) -> bool {
        self.adding().places.contains_key(name)
    }

    /// How much is kept of the run of this name; `None` if there is none.
    pub fn keeps(&self, name: &str) -> Option<Keep> {
        self.adding().places.get(name).map(|(keep, _)| *keep)
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.adding().places.len()
    }

    /// Reads something of the run of this name; `None` if there is none.
    pub fn with<T>(&self, name: &str, read: impl FnOnce(&Source, &Entry) -> T) -> Option<T> {
        let adding = self.adding();
        match adding.places.get(name)?.1 {
            Spot::Old(segment, entry) => {
                // Closed segments never change: nothing else need wait.
                drop(adding);
                let reader = &self.readers[segment as usize];
                Some(read(reader.read(), &reader.entries()[entry as usize]))
            }
            Spot::Closed(segment, entry) => {
                let reader = &adding.closed[segment as usize];
                Some(read(reader.read(), &reader.entries()[entry as usize]))
            }
            Spot::Open(entry) => {
                let writer = adding.writer.as_ref()?;
                Some(read(writer.read(), &writer.entries()[entry as usize]))
            }
        }
    }

    /// The answers of a run; `None` inside if it was stored without. `None` if there is no run of this name.
    pub fn view(&self, name: &str) -> Option<Result<Option<View>, SegmentError>> {
        self.with(name, |source, entry| {
            let Some(packed) = source.answers(entry)? else { return Ok(None) };
            let view = self.shapes.view(packed);
            view.ok_or_else(|| source.damaged(entry.answers.at, UNFIT)).map(Some)
        })
    }

    /// Reads the answers of these runs on every core. Each thread makes a `T`, which sees the answers of consecutive runs; they
    /// are returned in the order of the runs. Nothing is returned if one of the runs is not there.
    fn views<T: Send>(
        &self,
        names: &[String],
        make: impl Fn() -> T + Sync,
        see: impl Fn(&mut T, Option<&View>) + Sync,
    ) -> Result<Option<Vec<T>>, SegmentError> {
        let read = |names: &[String]| {
            let mut own = make();
            for name in names {
                let Some(view) = self.view(name) else { return Ok(None) };
                see(&mut own, view?.as_ref());
            }
            Ok(Some(own))
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut parts = names.chunks(names.len().div_ceil(cores).max(FEW));
        let here = parts.next().unwrap_or_default();
        std::thread::scope(|scope| {
            let read = &read;
            let others: Vec<_> = parts.map(|own| scope.spawn(move || read(own))).collect();
            let first = read(here);
            let others = others.into_iter().map(|own| match own.join() {
                Ok(own) => own,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(first).chain(others).collect()
        })
    }

    /// The values of these metrics in these runs; `None` for a metric that one of them has no answer to. Nothing if one of the
    /// runs is not there.
    pub fn values(
        &self,
        names: &[String],
        metrics: &[String],
    ) -> Result<Option<Vec<Option<Values>>>, SegmentError> {
        let parts = self.views(names, || Questions::new(metrics), Questions::ask)?;
        let Some(parts) = parts else { return Ok(None) };
        let mut all: Vec<Option<Values>> =
            metrics.iter().map(|_| Some(Values::default())).collect();
        for part in parts {
            for (all, part) in all.iter_mut().zip(part.into_values()) {
                match (all.as_mut(), part) {
                    (Some(own), Some(part)) => own.extend(part),
                    _ => *all = None,
                }
            }
        }
        Ok(Some(all))
    }

    /// The facts of each queue in these runs together, in the order in which packets came to a queue first. Nothing if one of the
    /// runs is not there or has no answers.
    pub fn queues(&self, names: &[String]) -> Result<Option<Vec<QueueSum>>, SegmentError> {
        fn add(all: &mut Vec<QueueSum>, path: &str, facts: [f64; 5]) {
            if let Some((_, sum)) = all.iter_mut().find(|(own, _)| own == path) {
                sum.iter_mut().zip(facts).for_each(|(sum, own)| *sum += own);
            } else {
                all.push((path.to_owned(), facts));
            }
        }
        let parts = self.views(
            names,
            || Some(Vec::new()),
            |all, view| match view {
                Some(view) => {
                    if let Some(all) = all {
                        view.queues().for_each(|(path, facts)| add(all, path, facts));
                    }
                }
                None => *all = None,
            },
        )?;
        let Some(parts) = parts.and_then(|parts| parts.into_iter().collect::<Option<Vec<_>>>())
        else {
            return Ok(None);
        };
        let mut all = Vec::new();
        for (path, facts) in parts.into_iter().flatten() {
            add(&mut all, &path, facts);
        }
        Ok(Some(all))
    }

    /// Appends a run, unless the folder has it already and keeps as much of it. Several threads may append: they compress at the same
    /// time and write one after the other.
    pub fn append(&self, run: &Stored) -> Result<(), SegmentError> {
        let dictionary = {
            let mut adding = self.adding();
            if adding.has(run) {
                return Ok(());
            }
            self.writer(&mut adding)?.dictionary(run)?
        };
        let wrapped = |error| SegmentError::Io { path: self.folder.clone(), error };
        let frames = dictionary.compress(run).map_err(wrapped)?;
        let mut adding = self.adding();
        if adding.has(run) {
            return Ok(());
        }
        let writer = self.writer(&mut adding)?;
        if writer.dictionary(run)?.is(&dictionary) {
            writer.append(frames)?;
        } else {
            // The segment was full in the meantime; this run begins or joins the next.
            writer.put(run)?;
        }
        let spot = Spot::Open(writer.entries().len() as u32 - 1);
        let full = writer.bytes() >= FULL;
        let entry = writer.entries()[writer.entries().len() - 1].clone();
        adding.add(&entry, spot);
        adding.unsynced = true;
        if full {
            Self::close_segment(&mut adding)?;
        }
        Ok(())
    }

    /// The writer; it begins the next segment if there is none.
    fn writer<'a>(&self, adding: &'a mut Adding) -> Result<&'a mut Writer, SegmentError> {
        if adding.writer.is_none() {
            fs::create_dir_all(&self.folder)
                .map_err(|error| SegmentError::NotWritten { path: self.folder.clone(), error })?;
            adding.writer = Some(Writer::create(&self.next()?)?);
        }
        Ok(adding.writer.as_mut().expect("it was just made"))
    }

    /// A path for the next segment: one more than the largest number.
    fn next(&self) -> Result<PathBuf, SegmentError> {
        let numbers = self.files()?.into_iter().filter_map(|file| {
            file.file_stem()
                .and_then(|stem| stem.to_str())
                .and_then(|stem| stem.parse::<u64>().ok())
        });
        let next = numbers.max().unwrap_or(0) + 1;
        Ok(self.folder.join(format!("{next:06}.{EXTENSION}")))
    }

    fn close_segment(adding: &mut Adding) -> Result<(), SegmentError> {
        let Some(writer) = adding.writer.take() else { return Ok(()) };
        let path = writer.path().to_owned();
        let any = !writer.entries().is_empty();
        writer.close()?;
        if any {
            let reader = Reader::open(&path)?;
            let segment = adding.closed.len() as u32;
            for (_, spot) in adding.places.values_mut() {
                if let Spot::Open(entry) = *spot {
                    *spot = Spot::Closed(segment, entry);
                }
            }
            adding.closed.push(reader);
        }
        adding.unsynced = false;
        Ok(())
    }

    /// Hands to the disk what was appended.
    pub fn sync(&self) -> Result<(), SegmentError> {
        let mut adding = self.adding();
        if core::mem::take(&mut adding.unsynced)
            && let Some(writer) = &adding.writer
        {
            writer.sync()?;
        }
        Ok(())
    }

    /// Closes the segment that is being written; the next run begins another.
    pub fn close(&self) -> Result<(), SegmentError> {
        Self::close_segment(&mut self.adding())
    }

    /// Takes over the runs of another folder that are not here; returns how many.
    pub fn take(&self, other: &Self) -> Result<usize, SegmentError> {
        self.close()?;
        let mut taken = 0;
        for reader in &other.readers {
            for entry in reader.entries() {
                taken += usize::from(!self.has(&entry.name));
                self.append(&reader.read().stored(entry)?)?;
            }
        }
        self.close()?;
        Ok(taken)
    }

    /// Removes runs: each segment that has one is written again without it. Segments that cannot be read at all are
    /// removed if `broken` says so.
    pub fn remove(
        folder: &Path,
        is_unwanted: &dyn Fn(&str) -> bool,
        broken: bool,
    ) -> Result<(), SegmentError> {
        let own = Self::open_to_add(folder)?;
        for reader in &own.readers {
            if reader.entries().iter().any(|entry| is_unwanted(&entry.name)) {
                own.rewrite(&[reader], &|name| !is_unwanted(name))?;
            }
        }
        for error in own.broken.iter().filter(|_| broken) {
            let path = error.path();
            fs::remove_file(path)
                .map_err(|error| SegmentError::Io { path: path.to_owned(), error })?;
        }
        Ok(())
    }

    /// Damage that was seen when the segments were opened: it hides runs.
    pub fn faults(&self) -> Vec<&SegmentError> {
        self.broken.iter().chain(self.readers.iter().flat_map(Reader::faults)).collect()
    }

    /// Compares every byte of every segment with what was written: the faults, each with the run that it is in, if it is in
    /// one.
    pub fn verify(&self) -> Vec<(Option<String>, String)> {
        let broken = self.broken.iter().map(|error| (None, error.to_string()));
        broken.chain(self.readers.iter().flat_map(Reader::verify)).collect()
    }
}
