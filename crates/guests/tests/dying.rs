//! A guest that this test plays itself, and that ends after any number of bytes.

use sojourn_guests::clock::{MESSAGE, Message, Op};
use sojourn_guests::{Calendar, Error, NEVER, Plugged, World};
use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Sends each frame back a millisecond later.
#[derive(Default)]
struct Echo {
    due: Vec<(u64, Vec<u8>)>,
    arrived: Vec<Vec<u8>>,
    /// When frames came.
    times: Vec<u64>,
}

impl World for Echo {
    fn next(&mut self) -> u64 {
        self.due.iter().map(|(at, _)| *at).min().unwrap_or(NEVER)
    }

    fn advance(&mut self, now: u64) -> Result<(), String> {
        let (due, later) = self.due.drain(..).partition(|(at, _)| *at <= now);
        self.due = later;
        self.arrived.extend(due.into_iter().map(|(_, frame): (u64, Vec<u8>)| frame));
        Ok(())
    }

    fn arrived(&mut self) -> Option<(usize, Vec<u8>)> {
        (!self.arrived.is_empty()).then(|| (0, self.arrived.remove(0)))
    }

    fn sent(&mut self, now: u64, _card: usize, frame: Vec<u8>) -> Result<(), String> {
        self.times.push(now);
        self.due.push((now + 1_000_000, frame));
        Ok(())
    }

    fn goes_on(&mut self, _now: u64) -> bool {
        true
    }
}

/// The guest: its sockets, and how many bytes it may still send.
struct Guest {
    clock: UnixStream,
    card: UnixStream,
    channel: UnixStream,
    theirs: Option<UnixStream>,
    memory: File,
    left: usize,
    seq: u32,
}

/// Where the rings are: descriptors, available and used entries of both, and a buffer of each.
const PLACES: [[u64; 4]; 2] = [[0, 256, 512, 4096], [1024, 1280, 1536, 8192]];

impl Guest {
    fn new(folder: &Path, left: usize) -> io::Result<Self> {
        let memory = tempfile::tempfile()?;
        memory.set_len(16_384)?;
        let (channel, theirs) = UnixStream::pair()?;
        let clock = UnixStream::connect(folder.join("clock.sock"))?;
        let card = UnixStream::connect(folder.join("card0.sock"))?;
        Ok(Self { clock, card, channel, theirs: Some(theirs), memory, left, seq: 0 })
    }

    /// How many of these bytes it sends before its end.
    fn may(&mut self, bytes: usize) -> usize {
        let may = bytes.min(self.left);
        self.left -= may;
        may
    }

    fn over<T>() -> io::Result<T> {
        Err(io::Error::other("its end"))
    }

    fn tell(&mut self, op: Op, time: u64) -> io::Result<()> {
        self.seq += 1;
        self.put(&Message { op, seq: self.seq, time })
    }

    fn put(&mut self, message: &Message) -> io::Result<()> {
        let may = self.may(MESSAGE);
        self.clock.write_all(&message.bytes()[..may])?;
        if may < MESSAGE { Self::over() } else { Ok(()) }
    }

    fn hear(&mut self) -> io::Result<Message> {
        let mut bytes = [0; MESSAGE];
        self.clock.read_exact(&mut bytes)?;
        Message::read(&bytes).map_err(|op| io::Error::other(format!("operation {op}")))
    }

    /// Asks and waits for the answer, and acknowledges what comes before it.
    fn ask(&mut self, op: Op, time: u64) -> io::Result<u64> {
        self.tell(op, time)?;
        loop {
            let message = self.hear()?;
            if message.op == Op::Ack {
                assert_eq!(message.seq, self.seq, "an answer to another message");
                return Ok(message.time);
            }
            self.put(&Message { op: Op::Ack, ..message })?;
        }
    }

    /// Waits until it may run; returns the time.
    fn wait(&mut self) -> io::Result<u64> {
        self.ask(Op::Wait, u64::MAX)?;
        loop {
            let message = self.hear()?;
            self.put(&Message { op: Op::Ack, ..message })?;
            if message.op == Op::Run {
                return Ok(message.time);
            }
        }
    }

    fn request(&mut self, request: u32, payload: &[u8], file: Option<&OwnedFd>) -> io::Result<()> {
        let head = [request, 1 | 8, payload.len() as u32];
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(payload);
        let may = self.may(bytes.len());
        if may > 0 {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
            let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
            if !files.is_empty() {
                control.push(rustix::net::SendAncillaryMessage::ScmRights(&files));
            }
            let flags = rustix::net::SendFlags::NOSIGNAL;
            rustix::net::sendmsg(&self.card, &[IoSlice::new(&bytes[..may])], &mut control, flags)?;
        }
        if may < bytes.len() { Self::over() } else { Ok(()) }
    }

    /// Sends a request and reads the answer, and acknowledges what the clock says before it.
    fn set(&mut self, request: u32, words: &[u32], file: Option<&OwnedFd>) -> io::Result<Vec<u8>> {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.request(request, &payload, file)?;
        if request == 35 {
            // The kick's answer comes after the new end of the free time.
            let message = self.hear()?;
            assert_eq!(message.op, Op::FreeUntil);
            self.put(&Message { op: Op::Ack, ..message })?;
        }
        let mut head = [0; 12];
        self.card.read_exact(&mut head)?;
        let mut payload =
            vec![0; u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize];
        self.card.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn describe(&self, ring: usize, length: u32, flags: u16) -> io::Result<()> {
        let [descriptors, available, _, buffer] = PLACES[ring];
        self.memory.write_all_at(&(0x10_000 + buffer).to_le_bytes(), descriptors)?;
        self.memory.write_all_at(&length.to_le_bytes(), descriptors + 8)?;
        self.memory.write_all_at(&flags.to_le_bytes(), descriptors + 12)?;
        self.memory.write_all_at(&1_u16.to_le_bytes(), available + 2)
    }

    /// Boots, sets up a card, sends a frame, takes the one that comes back, and goes.
    fn live(&mut self) -> io::Result<Vec<u8>> {
        self.ask(Op::Start, 1)?;
        self.ask(Op::GetTod, 0)?;
        self.set(1, &[], None)?;
        self.set(15, &[], None)?;
        self.set(16, &[1 << 3 | 1 << 5 | 1 << 9 | 1 << 14, 0], None)?;
        let theirs = self.theirs.take().map(OwnedFd::from);
        self.set(21, &[], theirs.as_ref())?;
        self.set(2, &[0, 1], None)?;
        let file = OwnedFd::from(self.memory.try_clone()?);
        self.set(5, &[1, 0, 0, 0, 16_384, 0, 0x10_000, 0, 0, 0], Some(&file))?;
        for (ring, [descriptors, available, used, _]) in (0..).zip(PLACES) {
            self.set(8, &[ring, 4], None)?;
            let at = |place: u64| 0x10_000 + place as u32;
            let places = [ring, 0, at(descriptors), 0, at(used), 0, at(available), 0, 0, 0];
            self.set(9, &places, None)?;
        }
        self.describe(0, 100, 2)?;
        self.ask(Op::Request, 5_000)?;
        assert_eq!(self.wait()?, 5_000);
        self.memory.write_all_at(b"frame", PLACES[1][3] + 12)?;
        self.describe(1, 17, 0)?;
        // No interrupt for what leaves.
        self.memory.write_all_at(&1_u16.to_le_bytes(), PLACES[1][1])?;
        self.ask(Op::Update, 7_000)?;
        self.set(35, &[1, 0], None)?;
        self.ask(Op::Request, i64::MAX as u64)?;
        self.ask(Op::Wait, u64::MAX)?;
        // The interrupt: the guest asks for the time, and to run.
        let mut call = [0; 20];
        self.channel.read_exact(&mut call)?;
        assert_eq!(self.ask(Op::Get, 0)?, 1_007_000);
        self.ask(Op::Request, 1_007_000)?;
        let may = self.may(20);
        self.channel.write_all(&call[..may])?;
        if may < 20 {
            return Self::over();
        }
        loop {
            let message = self.hear()?;
            self.put(&Message { op: Op::Ack, ..message })?;
            if message.op == Op::Run {
                assert_eq!(message.time, 1_007_000);
                break;
            }
        }
        let mut frame = vec![0; 5];
        self.memory.read_exact_at(&mut frame, PLACES[0][3] + 12)?;
        Ok(frame)
    }
}

/// Runs a calendar with a guest that ends after `left` bytes. Returns how it ends, when frames came, and the frame that the guest got.
fn run(left: usize) -> (Result<(), Error>, Vec<u64>, Option<Vec<u8>>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let plugged =
        [Plugged { name: "played".to_owned(), cards: vec![[2, 0, 0, 0, 0, 1]], mtu: None }];
    let mut calendar = Calendar::new(folder.path(), &plugged, 0, 1).unwrap();
    let at = folder.path().to_owned();
    let playing = std::thread::spawn(move || {
        let mut guest = Guest::new(&at, left).unwrap();
        let got = guest.live().ok();
        (got, guest.left)
    });
    let mut world = Echo::default();
    let ended = calendar.run(&mut world);
    let (got, rest) = playing.join().unwrap();
    (ended, world.times, got, left - rest)
}

#[test]
fn a_frame_goes_and_comes_back_at_its_nanosecond() {
    let (ended, times, got, _) = run(usize::MAX);
    ended.unwrap();
    assert_eq!((times, got.unwrap()), (vec![7_000], b"frame".to_vec()));
}

/// Of each message every part, and nothing: the run ends by itself, and at once.
#[test]
fn a_guest_may_end_at_any_byte() {
    let (_, _, _, all) = run(usize::MAX);
    // Before it has said who it is, nobody knows that it was there: it is waited for.
    for left in [0, MESSAGE - 1] {
        let (ended, ..) = run(left);
        assert!(matches!(ended, Err(Error::Silent { .. })), "{left}: {ended:?}");
    }
    for left in MESSAGE..all {
        let (ended, ..) = run(left);
        assert!(ended.is_ok(), "{left}: {ended:?}");
    }
}

/// A guest that speaks nonsense is named, with the message.
#[test]
fn nonsense_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plugged = [Plugged { name: "odd".to_owned(), cards: vec![], mtu: None }];
    let mut calendar = Calendar::new(folder.path(), &plugged, 0, 1).unwrap();
    let mut clock = UnixStream::connect(folder.path().join("clock.sock")).unwrap();
    for (op, time) in [(Op::Start, 1), (Op::Run, 0)] {
        clock.write_all(&Message { op, seq: 1, time }.bytes()).unwrap();
    }
    let error = calendar.run(&mut Echo::default()).unwrap_err().to_string();
    assert!(error.contains("guest odd") && error.contains("RUN"), "{error}");
    assert!(error.contains("last message was START"), "{error}");
}

#[test]
fn a_silent_guest_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let plugged = [Plugged { name: "mute".to_owned(), cards: vec![], mtu: None }];
    let mut calendar = Calendar::new(folder.path(), &plugged, 0, 0).unwrap();
    let error = calendar.run(&mut Echo::default()).unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error}");
}
