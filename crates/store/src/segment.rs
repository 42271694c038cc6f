//! A segment: one append-only file with many runs.
//!
//! ```text
//! file    = HEADER block* [footer]
//! block   = u32 length of the payload, u8 kind, 3 zero bytes, SHA-256 of kind and payload, payload
//! run     = a T block (tables), an A block (answers), an H block (head): the H block comes last and makes the run exist
//! footer  = MAGIC, u64 place of the I block (index) that comes before it
//! ```
//! All numbers are little-endian. Payloads are zstd frames. The first run's blocks are the dictionary (a D
//! block) of all that follow: runs of one campaign have nearly the same head, and tables of the same names.
//!
//! Invariants:
//! - A run is in a segment if and only if its H block is whole. A writer that was killed leaves a torn tail; readers stop in
//!   front of it, and the next writer cuts it off.
//! - A closed segment (with a footer) never changes, so it may be copied, moved, or kept in object storage.
//! - One writer has a segment to itself. Two commands, threads of other processes, shards: each has its own.
//! - A reader verifies the SHA-256 of each block before it uses the payload.

use super::answers::Packed;
use core::fmt;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::{CCtx, DCtx, ErrorCode, get_error_name};

/// How a segment begins: its name and the version of this format.
pub const HEADER: [u8; 16] = *b"sojourn runs\x00\x00\x00\x01";
/// How a footer begins.
const MAGIC: [u8; 8] = *b"runs end";
/// Bytes of a footer.
const FOOTER: u64 = 16;
/// Bytes of a block before its payload.
const BLOCK: u64 = 40;
/// The extension of segments.
pub const EXTENSION: &str = "runs";
/// Bytes of the dictionary at most; zstd searches no further back at this level.
const MOST_DICTIONARY: usize = 112 << 10;
/// Bytes that a block may unpack to.
const MOST_UNPACKED: usize = 1 << 30;
/// zstd's level: its default. A higher one took three times as long for a tenth of the size.
const LEVEL: i32 = 3;

/// Answers with parts that do not belong together.
pub(super) const UNFIT: &str = "its answers are not as they are written";

const DICTIONARY: u8 = b'D';
const TABLES: u8 = b'T';
const ANSWERS: u8 = b'A';
const HEAD: u8 = b'H';
const INDEX: u8 = b'I';

/// Why a segment could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The system refused to write.
    #[error("{} could not be written: {error}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A block is not as it was written.
    #[error("{} is damaged at byte {at}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The block's place.
        at: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The file is no segment of this version.
    #[error("{} is not a segment that this version reads", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

impl SegmentError {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotWritten { path, .. }
            | Self::Damaged { path, .. }
            | Self::Foreign { path } => path,
        }
    }
}

/// Where a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    pub(super) at: u64,
    length: u32,
}

/// A run of a segment, as the index has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The run's name: its label made safe for file systems, and its digest.
    pub name: String,
    /// The part of a run that is needed before its head is read: labels, seed, cell.
    pub brief: Brief,
    head: Place,
    pub(super) answers: Place,
    tables: Place,
}

impl Entry {
    /// Bytes that the run takes.
    pub fn bytes(&self) -> u64 {
        let blocks = [self.head, self.answers, self.tables];
        blocks.iter().map(|place| BLOCK + u64::from(place.length)).sum()
    }
}

/// What the index says of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Brief {
    /// What it shares with other runs.
    #[serde(flatten)]
    pub of: Arc<OfCell>,
    /// The seed.
    pub seed: u64,
    /// Which run of this scenario and seed it is, from 1.
    #[serde(default = "first")]
    pub repetition: u32,
}

/// What the index says of the runs of a cell: a segment's index has it once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OfCell {
    /// The experiment's name.
    pub experiment: String,
    /// (axis, label).
    pub labels: Vec<(String, String)>,
    /// The hash of all but the seed: runs with the same are seeds of one cell.
    pub cell: String,
    /// The engine.
    pub engine: String,
    /// The build, and on Linux the kernel and the plan.
    pub version: String,
    /// How much of the run is stored ([`Keep`](super::Keep)).
    pub keep: String,
    /// The names of the stored tables.
    pub tables: Vec<String>,
}

const fn first() -> u32 {
    1
}

/// The content of an index block.
#[derive(Default, Debug)]
struct Index {
    entries: Vec<Entry>,
    /// What their runs share.
    cells: HashSet<Arc<OfCell>>,
    /// A second copy of the dictionary: without it a flipped bit in the first would cost all runs.
    copy: Option<Place>,
}

/// An index as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    cells: Vec<Arc<OfCell>>,
    /// Name, place among the cells, seed, repetition; head, answers, tables.
    runs: Vec<(String, u32, u64, u32, Place, Place, Place)>,
    copy: Option<Place>,
}

impl Index {
    /// Adds a run. Runs of a cell share what they have in common.
    fn push(&mut self, mut entry: Entry) {
        if let Some(known) = self.cells.get(&entry.brief.of) {
            entry.brief.of = Arc::clone(known);
        } else {
            self.cells.insert(Arc::clone(&entry.brief.of));
        }
        self.entries.push(entry);
    }

    fn written(&self) -> Written {
        let mut cells = Vec::new();
        let mut places: HashMap<*const OfCell, u32> = HashMap::new();
        let runs = self.entries.iter().map(|entry| {
            let Entry { name, brief, head, answers, tables } = entry;
            let cell = *places.entry(Arc::as_ptr(&brief.of)).or_insert_with(|| {
                cells.push(Arc::clone(&brief.of));
                cells.len() as u32 - 1
            });
            (name.clone(), cell, brief.seed, brief.repetition, *head, *answers, *tables)
        });
        Written { runs: runs.collect(), cells, copy: self.copy }
    }

    /// `None` if a run names a cell that is not there.
    fn read(written: Written) -> Option<Self> {
        let Written { cells, runs, copy } = written;
        let entries =
            runs.into_iter().map(|(name, cell, seed, repetition, head, answers, tables)| {
                let of = Arc::clone(cells.get(cell as usize)?);
                Some(Entry { name, brief: Brief { of, seed, repetition }, head, answers, tables })
            });
        Some(Self {
            entries: entries.collect::<Option<_>>()?,
            cells: cells.into_iter().collect(),
            copy,
        })
    }
}

fn digest(kind: u8, payload: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update([kind]);
    hash.update(payload);
    hash.finalize().into()
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts and numbers")
}

/// A run that is ready to be appended: compressed when it is, because only the segment knows the dictionary.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The run's name.
    pub name: String,
    /// For the index.
    pub brief: Brief,
    /// JSON.
    pub head: Vec<u8>,
    /// The answers; nothing for an imported run: its tables answer questions.
    pub answers: Option<Packed>,
    /// As [`encode`](super::tables::encode) has them.
    pub tables: Vec<u8>,
}

impl Stored {
    /// The run as one text of bytes, to be sent to whoever writes the segment.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let parts = [
            self.name.as_bytes().to_vec(),
            json(&self.brief),
            self.head.clone(),
            pack_answers(self.answers.as_ref()),
            self.tables.clone(),
        ];
        let mut out = Vec::new();
        for part in parts {
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            out.extend_from_slice(&part);
        }
        zstd::bulk::compress(&out, 1)
    }

    /// The run of these bytes; `None` if they are not as [`Stored::to_bytes`] makes them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = match bytes {
            [0x28, 0xB5, 0x2F, 0xFD, ..] => &zstd::bulk::decompress(bytes, MOST_UNPACKED).ok()?,
            // Whoever sends few bytes need not pack them.
            plain => plain,
        };
        let mut rest = bytes;
        let mut part = || {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let (own, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            Some(own)
        };
        Some(Self {
            name: String::from_utf8(part()?.to_vec()).ok()?,
            brief: serde_json::from_slice(part()?).ok()?,
            head: part()?.to_vec(),
            answers: unpack_answers(part()?).ok()?,
            tables: part()?.to_vec(),
        })
    }
}

fn pack_answers(answers: Option<&Packed>) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(answers) = answers else { return out };
    for text in [&answers.shape, &answers.texts] {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    answers.values.iter().for_each(|value| out.extend_from_slice(&value.to_bits().to_le_bytes()));
    out
}

/// Bytes that are no answers.
struct Misfit;

fn unpack_answers(bytes: &[u8]) -> Result<Option<Packed>, Misfit> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let text = |bytes: &mut &[u8]| -> Result<String, Misfit> {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or(Misfit)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (text, rest) = rest.split_at_checked(length).ok_or(Misfit)?;
        *bytes = rest;
        String::from_utf8(text.to_vec()).map_err(|_| Misfit)
    };
    let mut rest = bytes;
    let (shape, texts) = (text(&mut rest)?, text(&mut rest)?);
    let (values, left) = rest.as_chunks::<8>();
    if !left.is_empty() {
        return Err(Misfit);
    }
    let values = values.iter().map(|own| f64::from_le_bytes(*own)).collect();
    Ok(Some(Packed { shape, values, texts }))
}

/// A run's three payloads, compressed with a segment's dictionary.
#[derive(Debug)]
pub struct Frames {
    name: String,
    brief: Brief,
    payloads: [(u8, Vec<u8>); 3],
}

/// A segment's dictionary. Several threads may compress and unpack with it at a time.
#[derive(Clone)]
pub struct Dictionary(Arc<Prepared>);

/// The bytes, and what zstd makes of them once.
struct Prepared {
    bytes: Vec<u8>,
    encoder: OnceLock<EncoderDictionary<'static>>,
    decoder: OnceLock<DecoderDictionary<'static>>,
    /// Contexts that no thread uses at the moment: a new one costs more than a small run.
    compressors: Mutex<Vec<CCtx<'static>>>,
    decompressors: Mutex<Vec<DCtx<'static>>>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.0.bytes.len())
    }
}

impl Dictionary {
    fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Prepared {
            bytes,
            encoder: OnceLock::new(),
            decoder: OnceLock::new(),
            compressors: Mutex::default(),
            decompressors: Mutex::default(),
        }))
    }

    /// A dictionary from the first run of a segment.
    pub fn of(run: &Stored) -> Self {
        let answers = pack_answers(run.answers.as_ref());
        let room = MOST_DICTIONARY.saturating_sub(run.head.len() + answers.len());
        let tables = &run.tables[..run.tables.len().min(room)];
        let bytes = [tables, &answers, &run.head].concat();
        let from = bytes.len().saturating_sub(MOST_DICTIONARY);
        Self::new(bytes[from..].to_vec())
    }

    /// Whether both are the same.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn encoder(&self) -> &EncoderDictionary<'static> {
        self.0.encoder.get_or_init(|| EncoderDictionary::copy(&self.0.bytes, LEVEL))
    }

    fn decoder(&self) -> &DecoderDictionary<'static> {
        self.0.decoder.get_or_init(|| DecoderDictionary::copy(&self.0.bytes))
    }

    /// Unpacks a frame, which states its size.
    fn unpack(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let size = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten()?;
        let size = usize::try_from(size).ok().filter(|size| *size <= MOST_UNPACKED)?;
        let mut out = Vec::with_capacity(size);
        let mut context = taken(&self.0.decompressors).unwrap_or_else(DCtx::create);
        let done = context.decompress_using_ddict(&mut out, frame, self.decoder().as_ddict());
        given_back(&self.0.decompressors, context);
        done.ok().filter(|length| *length == size).map(|_| out)
    }

    /// Compresses a run.
    pub fn compress(&self, run: &Stored) -> io::Result<Frames> {
        let mut context = taken(&self.0.compressors).unwrap_or_else(CCtx::create);
        let answers = pack_answers(run.answers.as_ref());
        let mut frame = |kind, bytes: &[u8]| {
            let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(bytes.len()));
            let done = context.compress_using_cdict(&mut out, bytes, self.encoder().as_cdict());
            done.map(|_| (kind, out)).map_err(wrong)
        };
        let payloads =
            [frame(TABLES, &run.tables)?, frame(ANSWERS, &answers)?, frame(HEAD, &run.head)?];
        given_back(&self.0.compressors, context);
        Ok(Frames { name: run.name.clone(), brief: run.brief.clone(), payloads })
    }
}

fn taken<T>(pool: &Mutex<Vec<T>>) -> Option<T> {
    pool.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

fn given_back<T>(pool: &Mutex<Vec<T>>, own: T) {
    pool.lock().unwrap_or_else(PoisonError::into_inner).push(own);
}

fn wrong(code: ErrorCode) -> io::Error {
    io::Error::other(get_error_name(code))
}

/// The file of a segment with its dictionary: it reads runs, whether the segment is still written or not.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    file: File,
    dictionary: Option<Dictionary>,
}

impl Source {
    /// The head of a run: JSON.
    pub fn head(&self, entry: &Entry) -> Result<Vec<u8>, SegmentError> {
        self.unpacked(entry.head, HEAD)
    }

    /// The answers of a run; `None` if it was stored without.
    pub fn answers(&self, entry: &Entry) -> Result<Option<Packed>, SegmentError> {
        let bytes = self.unpacked(entry.answers, ANSWERS)?;
        let wrong = || self.damaged(entry.answers.at, UNFIT);
        unpack_answers(&bytes).map_err(|Misfit| wrong())
    }

    /// The tables of a run, as [`decode`](super::tables::decode) takes them.
    pub fn tables(&self, entry: &Entry) -> Result<Vec<u8>, SegmentError> {
        self.unpacked(entry.tables, TABLES)
    }

    /// The whole run, to be appended elsewhere.
    pub fn stored(&self, entry: &Entry) -> Result<Stored, SegmentError> {
        Ok(Stored {
            name: entry.name.clone(),
            brief: entry.brief.clone(),
            head: self.head(entry)?,
            answers: self.answers(entry)?,
            tables: self.tables(entry)?,
        })
    }

    fn io(&self, error: io::Error) -> SegmentError {
        SegmentError::NotWritten { path: self.path.clone(), error }
    }

    pub(super) fn damaged(&self, at: u64, why: &'static str) -> SegmentError {
        SegmentError::Damaged { path: self.path.clone(), at, why }
    }

    /// The block that begins at a byte, if all of it is in the file.
    fn header(&self, at: u64, length: u64) -> Option<(Place, u8)> {
        let mut header = [0; 8];
        self.file.read_exact_at(&mut header, at).ok()?;
        let (size, rest) = header.split_first_chunk::<4>()?;
        let place = Place { at, length: u32::from_le_bytes(*size) };
        let ends = at.checked_add(BLOCK)?.checked_add(u64::from(place.length))?;
        (ends <= length).then_some((place, rest[0]))
    }

    /// The payload of a block, verified.
    fn payload(&self, place: Place, kind: u8) -> Result<Vec<u8>, SegmentError> {
        let mut block = vec![0; BLOCK as usize + place.length as usize];
        let io = |error| match error {
            error if io::Error::kind(&error) == io::ErrorKind::UnexpectedEof => {
                self.damaged(place.at, "it ends early")
            }
            error => SegmentError::Io { path: self.path.clone(), error },
        };
        self.file.read_exact_at(&mut block, place.at).map_err(io)?;
        let (header, payload) = block.split_at(BLOCK as usize);
        let stated = place.length.to_le_bytes();
        let same = header[..4] == stated && header[4..8] == [kind, 0, 0, 0];
        if !same || header[8..] != digest(kind, payload) {
            return Err(self.damaged(place.at, CHECKSUM));
        }
        block.drain(..BLOCK as usize);
        Ok(block)
    }

    fn packed(&self, dictionary: &Dictionary) -> Result<Vec<u8>, SegmentError> {
        zstd::bulk::compress(&dictionary.0.bytes, LEVEL).map_err(|error| self.io(error))
    }

    fn read_dictionary(&self, place: Place) -> Result<Dictionary, SegmentError> {
        let payload = self.payload(place, DICTIONARY)?;
        let bytes = zstd::bulk::decompress(&payload, MOST_DICTIONARY);
        bytes.map(Dictionary::new).map_err(|_| self.damaged(place.at, "it cannot be unpacked"))
    }

    fn unpacked(&self, place: Place, kind: u8) -> Result<Vec<u8>, SegmentError> {
        let payload = self.payload(place, kind)?;
        let Some(dictionary) = &self.dictionary else {
            return Err(self.damaged(place.at, "its segment has no dictionary"));
        };
        let wrong = || self.damaged(place.at, "it cannot be unpacked");
        dictionary.unpack(&payload).ok_or_else(wrong)
    }
}

/// A segment that runs are appended to.
#[derive(Debug)]
pub struct Writer {
    source: Source,
    end: u64,
    index: Index,
}

impl Writer {
    /// Begins a segment at a path where nothing is yet.
    pub fn create(path: &Path) -> Result<Self, SegmentError> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let wrapped = |error| SegmentError::NotWritten { path: path.to_owned(), error };
        let mut own = Self {
            source: Source {
                path: path.to_owned(),
                file: file.map_err(wrapped)?,
                dictionary: None,
            },
            end: 0,
            index: Index::default(),
        };
        own.write(&HEADER)?;
        Ok(own)
    }

    /// Writes at the end; an incomplete write is cut off again.
    fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        if let Err(error) = self.source.file.write_all_at(bytes, self.end) {
            // A cut that fails leaves a torn tail, which readers pass over.
            let _ = self.source.file.set_len(self.end);
            return Err(self.source.io(error));
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn block(out: &mut Vec<u8>, start: u64, kind: u8, payload: &[u8]) -> Place {
        let place = Place { at: start + out.len() as u64, length: payload.len() as u32 };
        out.extend_from_slice(&place.length.to_le_bytes());
        out.extend_from_slice(&[kind, 0, 0, 0]);
        out.extend_from_slice(&digest(kind, payload));
        out.extend_from_slice(payload);
        place
    }

    /// The dictionary to compress the next runs with; the first run that asks gives it.
    pub fn dictionary(&mut self, first: &Stored) -> Result<Dictionary, SegmentError> {
        if let Some(dictionary) = &self.source.dictionary {
            return Ok(dictionary.clone());
        }
        let dictionary = Dictionary::of(first);
        let mut out = Vec::new();
        Self::block(&mut out, self.end, DICTIONARY, &self.source.packed(&dictionary)?);
        self.write(&out)?;
        self.source.dictionary = Some(dictionary.clone());
        Ok(dictionary)
    }

    /// Appends a run that was compressed with this segment's dictionary. It is in the segment, whole, or not at all.
    pub fn append(&mut self, run: Frames) -> Result<(), SegmentError> {
        let mut out = Vec::new();
        let [tables, answers, head] =
            run.payloads.map(|(kind, payload)| Self::block(&mut out, self.end, kind, &payload));
        self.write(&out)?;
        self.index.push(Entry { name: run.name, brief: run.brief, head, answers, tables });
        Ok(())
    }

    /// Compresses and appends a run.
    pub fn put(&mut self, run: &Stored) -> Result<(), SegmentError> {
        let dictionary = self.dictionary(run)?;
        let frames = dictionary.compress(run).map_err(|error| self.source.io(error))?;
        self.append(frames)
    }

    /// The runs so far.
    pub fn entries(&self) -> &[Entry] {
        &self.index.entries
    }

    /// Reads the runs that were appended.
    pub fn read(&self) -> &Source {
        &self.source
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// Bytes so far.
    pub const fn bytes(&self) -> u64 {
        self.end
    }

    /// Hands what was written to the disk: a power cut after it loses nothing.
    pub fn sync(&self) -> Result<(), SegmentError> {
        self.source.file.sync_data().map_err(|error| self.source.io(error))
    }

    /// Writes the index and the footer; the segment never changes after that. A segment without runs is removed.
    pub fn close(mut self) -> Result<(), SegmentError> {
        if self.index.entries.is_empty() {
            let removed = std::fs::remove_file(&self.source.path);
            return removed.map_err(|error| self.source.io(error));
        }
        if let Some(dictionary) = self.source.dictionary.clone() {
            let mut out = Vec::new();
            let packed = self.source.packed(&dictionary)?;
            self.index.copy = Some(Self::block(&mut out, self.end, DICTIONARY, &packed));
            self.write(&out)?;
        }
        let payload = zstd::bulk::compress(&json(&self.index.written()), LEVEL)
            .map_err(|e| self.source.io(e))?;
        let mut out = Vec::new();
        let place = Self::block(&mut out, self.end, INDEX, &payload);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&place.at.to_le_bytes());
        self.write(&out)?;
        self.sync()
    }

    /// Takes over the segment of a writer that was killed: cuts off its torn tail and goes on behind the last whole run.
    pub fn recover(path: &Path) -> Result<Self, SegmentError> {
        let reader = Reader::open(path)?;
        let wrapped = |error| SegmentError::Io { path: path.to_owned(), error };
        let file = File::options().read(true).write(true).open(path).map_err(wrapped)?;
        file.set_len(reader.end).map_err(wrapped)?;
        let source = Source { file, ..reader.source };
        Ok(Self { source, end: reader.end, index: reader.index })
    }
}

/// A segment to read from.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    /// Where the whole runs end.
    end: u64,
    closed: bool,
    index: Index,
    /// Blocks that a scan passed over, and what is wrong with them.
    damages: Vec<SegmentError>,
}

impl Reader {
    /// Opens a segment: by its footer, or block by block if its writer has not closed it.
    pub fn open(path: &Path) -> Result<Self, SegmentError> {
        let wrapped = |error| SegmentError::Io { path: path.to_owned(), error };
        let file = {
            use std::os::unix::fs::OpenOptionsExt as _;
            // A link, a pipe or a device instead of a segment is not followed, waited for or read.
            const NOFOLLOW: i32 = 0o400_000;
            const NONBLOCK: i32 = 0o4000;
            let flags = NOFOLLOW | NONBLOCK;
            File::options().read(true).custom_flags(flags).open(path).map_err(wrapped)?
        };
        let about = file.metadata().map_err(wrapped)?;
        let foreign = || SegmentError::Foreign { path: path.to_owned() };
        if !about.is_file() {
            return Err(foreign());
        }
        let mut header = [0; HEADER.len()];
        // A writer that was killed before its first run may have left less than a header, even nothing.
        let begun = about.len().min(HEADER.len() as u64) as usize;
        file.read_exact_at(&mut header[..begun], 0).map_err(wrapped)?;
        if header[..begun] != HEADER[..begun] {
            return Err(foreign());
        }
        let source = Source { path: path.to_owned(), file, dictionary: None };
        let end = HEADER.len() as u64;
        let index = Index::default();
        let mut own = Self { source, end, closed: false, index, damages: Vec::new() };
        own.source.dictionary = own.first(about.len());
        match own.footer(about.len()) {
            Some(place) => match own.read_index(place) {
                Ok(index) => {
                    if own.source.dictionary.is_none() {
                        own.take_copy(index.copy)?;
                    }
                    (own.index, own.end, own.closed) = (index, place.at, true);
                }
                // The runs are whole: the next command that adds runs writes the index again.
                Err(error) => {
                    own.scan(place.at);
                    own.damages.push(error);
                }
            },
            None => own.scan(about.len()),
        }
        Ok(own)
    }

    fn read_index(&self, place: Place) -> Result<Index, SegmentError> {
        let wrong = || self.source.damaged(place.at, "its index is not as it is written");
        let payload = self.source.payload(place, INDEX)?;
        let bytes = zstd::bulk::decompress(&payload, MOST_UNPACKED).map_err(|_| wrong())?;
        serde_json::from_slice(&bytes).ok().and_then(Index::read).ok_or_else(wrong)
    }

    /// The index block that a footer names; `None` if the file has no whole footer.
    fn footer(&self, length: u64) -> Option<Place> {
        let mut footer = [0; FOOTER as usize];
        self.source.file.read_exact_at(&mut footer, length.checked_sub(FOOTER)?).ok()?;
        let (magic, at) = footer.split_first_chunk::<8>()?;
        let at = u64::from_le_bytes(at.try_into().ok()?);
        let (place, kind) = self.source.header(at, length)?;
        let ends = at + BLOCK + u64::from(place.length) + FOOTER;
        (*magic == MAGIC && kind == INDEX && ends == length).then_some(place)
    }

    /// The dictionary at the beginning; `None` if it is damaged, or its writer was killed while it wrote it.
    fn first(&mut self, length: u64) -> Option<Dictionary> {
        let (place, kind) = self.source.header(self.end, length)?;
        match (kind, self.source.read_dictionary(place)) {
            (DICTIONARY, Ok(dictionary)) => {
                self.end = place.at + BLOCK + u64::from(place.length);
                Some(dictionary)
            }
            (DICTIONARY, Err(error)) if place.at + BLOCK + u64::from(place.length) < length => {
                self.damages.push(error);
                None
            }
            _ => None,
        }
    }

    /// The second copy of the dictionary.
    fn take_copy(&mut self, place: Option<Place>) -> Result<(), SegmentError> {
        let start = self.end;
        let place = place.ok_or_else(|| self.source.damaged(start, CHECKSUM))?;
        self.source.dictionary = Some(self.source.read_dictionary(place)?);
        Ok(())
    }

    /// Finds the whole runs in front of a byte. A run with a damaged block is passed over; a torn tail ends the search.
    fn scan(&mut self, length: u64) {
        let mut at = self.end;
        while self.source.dictionary.is_some() {
            let mut places = Vec::new();
            for kind in [TABLES, ANSWERS, HEAD] {
                match self.source.header(at, length) {
                    Some((place, found)) if found == kind => {
                        at += BLOCK + u64::from(place.length);
                        places.push(place);
                    }
                    _ => return,
                }
            }
            let &[tables, answers, head] = places.as_slice() else { return };
            match self.scanned(head) {
                Ok(HeadOfScan { name, brief }) => {
                    self.index.push(Entry { name, brief, head, answers, tables });
                }
                // A tail that a power cut tore may have its length but not its bytes.
                Err(_) if at >= length => return,
                Err(error) => self.damages.push(error),
            }
            self.end = at;
        }
    }

    /// The name and the index entry of a run.
    fn scanned(&self, head: Place) -> Result<HeadOfScan, SegmentError> {
        let text = self.source.unpacked(head, HEAD)?;
        let wrong = |_| self.source.damaged(head.at, "it is not as it is written");
        serde_json::from_slice(&text).map_err(wrong)
    }

    /// The runs.
    pub fn entries(&self) -> &[Entry] {
        &self.index.entries
    }

    /// Bytes of its runs.
    pub const fn bytes(&self) -> u64 {
        self.end
    }

    /// Whether all that was written can be read: by its index, with its dictionary.
    pub fn is_whole(&self) -> bool {
        self.closed && self.damages.is_empty()
    }

    /// Whether its writer has closed it.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Reads the segment's runs.
    pub fn read(&self) -> &Source {
        &self.source
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// Damaged blocks that were passed over when the segment was opened.
    pub fn faults(&self) -> &[SegmentError] {
        &self.damages
    }

    /// Compares every byte with what was written: the faults, each with the run that it is in, if it is in one.
    pub fn verify(&self) -> Vec<(Option<String>, String)> {
        let mut faults: Vec<_> = self.damages.iter().map(|own| (None, own.to_string())).collect();
        for entry in self.entries() {
            let read = self.source.head(entry).map(drop);
            let read = read.and_then(|()| self.source.answers(entry).map(drop));
            if let Err(error) = read.and_then(|()| self.source.tables(entry).map(drop)) {
                faults.push((Some(entry.name.clone()), error.to_string()));
            }
        }
        if self.closed {
            faults.extend(self.gap().map(|error| (None, error.to_string())));
        }
        faults
    }

    /// Blocks follow one another up to the index: a byte that no block has would go unnoticed. Also the dictionaries.
    fn gap(&self) -> Option<SegmentError> {
        let mut at = HEADER.len() as u64;
        while at < self.end {
            let Some((place, kind)) = self.source.header(at, self.end) else {
                return Some(self.source.damaged(at, "a block is missing"));
            };
            if let Err(error) = self.source.payload(place, kind)
                && kind == DICTIONARY
            {
                return Some(error);
            }
            at += BLOCK + u64::from(place.length);
        }
        None
    }
}

const CHECKSUM: &str = "it has another SHA-256 than was written";

/// What a scan reads of a head.
#[derive(Deserialize)]
struct HeadOfScan {
    name: String,
    brief: Brief,
}
