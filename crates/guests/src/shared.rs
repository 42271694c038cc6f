//! The calendar's memory that guests share, version 2 (`struct um_timetravel_schedshm`; Linux 6.11 and later).
//!
//! Where a guest can use it, most messages are superfluous: the guest that runs says its time here and reads how far it may go,
//! and a guest that waits leaves its request here. Kernels before 6.11 drop the descriptors, and go on by messages.
//!
//! Invariants: all times are the calendar's; number 0 is the calendar, guest `g` has number `g + 1`. A guest writes while it
//! runs or is interrupted, and then it does nothing else than to wait for this process, so that no two write at a time.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;

const VERSION: u32 = 2;
/// Bytes of the header and of each client's part.
const HEADER: u64 = 4096;
const CLIENT: u64 = 128;
/// Places in the header: what follows the version.
const LENGTH: u64 = 4;
const FREE_UNTIL: u64 = 8;
const CURRENT_TIME: u64 = 16;
const RUNNING: u64 = 24;
const CLIENTS: u64 = 26;
/// Places in a client's part: what follows its capabilities.
const FLAGS: u64 = 4;
const REQUEST: u64 = 8;
const NAME: u64 = 16;
/// The client shares its time.
const SHARES: u32 = 1;
/// The client has a request.
const HAS_REQUEST: u32 = 1;

/// It.
#[derive(Debug)]
pub(crate) struct Shared(File);

impl Shared {
    /// Memory for this number of guests.
    pub(crate) fn new(guests: usize) -> io::Result<Self> {
        let clients = guests as u64 + 1;
        let length = HEADER + CLIENT * clients;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("sojourn-calendar", flags)?;
        ftruncate(&file, length)?;
        // A guest that made it shorter would be a fault in the others.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let shared = Self(File::from(file));
        shared.put(0, &VERSION.to_ne_bytes())?;
        shared.put(LENGTH, &(length as u32).to_ne_bytes())?;
        shared.put(CLIENTS, &(clients as u16).to_ne_bytes())?;
        // By this, guests leave their requests here while none of them runs.
        shared.put(HEADER, &SHARES.to_ne_bytes())?;
        for client in 1..clients {
            shared.put(HEADER + CLIENT * client + NAME, &client.to_ne_bytes())?;
        }
        Ok(shared)
    }

    fn put(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn word(&self, at: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.0.read_exact_at(&mut bytes, at)?;
        Ok(u32::from_ne_bytes(bytes))
    }

    fn long(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    const fn part(guest: usize) -> u64 {
        HEADER + CLIENT * (guest as u64 + 1)
    }

    /// Whether a guest uses this memory.
    pub(crate) fn is_used_by(&self, guest: usize) -> io::Result<bool> {
        Ok(self.word(Self::part(guest))? & SHARES != 0)
    }

    /// A guest runs from `now` on, or nobody does; it may go on up to `free`.
    pub(crate) fn run(&self, guest: Option<usize>, now: u64, free: u64) -> io::Result<()> {
        let number = guest.map_or(0, |guest| guest as u16 + 1);
        // Three neighbours: one write.
        let mut bytes = [0; 18];
        bytes[..8].copy_from_slice(&free.to_ne_bytes());
        bytes[8..16].copy_from_slice(&now.to_ne_bytes());
        bytes[16..].copy_from_slice(&number.to_ne_bytes());
        debug_assert_eq!((CURRENT_TIME, RUNNING), (FREE_UNTIL + 8, FREE_UNTIL + 16));
        self.put(FREE_UNTIL, &bytes)
    }

    /// The guest that runs may go on up to `free` and no further.
    pub(crate) fn set_free(&self, free: u64) -> io::Result<()> {
        self.put(FREE_UNTIL, &free.to_ne_bytes())
    }

    /// The time that the guest that runs has said last.
    pub(crate) fn now(&self) -> io::Result<u64> {
        self.long(CURRENT_TIME)
    }

    /// When a guest wants to run, if it does.
    pub(crate) fn request(&self, guest: usize) -> io::Result<Option<u64>> {
        let part = Self::part(guest);
        if self.word(part + FLAGS)? & HAS_REQUEST == 0 {
            return Ok(None);
        }
        self.long(part + REQUEST).map(Some)
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a guest of number 2 reads and writes, by the header's offsets.
    #[test]
    fn the_layout_is_the_kernels() {
        let shared = Shared::new(2).unwrap();
        assert_eq!((shared.word(0).unwrap(), shared.word(4).unwrap()), (2, 4096 + 3 * 128));
        shared.run(Some(1), 1000, 2000).unwrap();
        assert_eq!((shared.long(8).unwrap(), shared.long(16).unwrap()), (2000, 1000));
        assert_eq!(shared.word(24).unwrap(), 3 << 16 | 2);
        assert!(!shared.is_used_by(1).unwrap());
        let part = 4096 + 2 * 128;
        shared.put(part, &1_u32.to_ne_bytes()).unwrap();
        assert!(shared.is_used_by(1).unwrap() && !shared.is_used_by(0).unwrap());
        assert_eq!(shared.request(1).unwrap(), None);
        shared.put(part + 4, &1_u32.to_ne_bytes()).unwrap();
        shared.put(part + 8, &77_u64.to_ne_bytes()).unwrap();
        assert_eq!(shared.request(1).unwrap(), Some(77));
        shared.put(16, &1500_u64.to_ne_bytes()).unwrap();
        assert_eq!(shared.now().unwrap(), 1500);
        assert!(ftruncate(&shared, 100).is_err());
    }
}
