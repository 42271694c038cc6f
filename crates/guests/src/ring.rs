//! Split rings of virtio 1.2 §2.7, from the device's side.
//!
//! Invariants: indices count modulo 2¹⁶ and entries modulo the ring's size, a power of two up to 32768; a chain has at most as
//! many descriptors as the ring, so that one in a circle ends with an error. The driver stands still while the device
//! looks: it waits for an answer or for its time.

use crate::memory::{Memory, OutOfBounds};

/// The largest ring (virtio 1.2 §2.7).
const MOST: u16 = 1 << 15;
/// Another descriptor follows.
const NEXT: u16 = 1;
/// The device writes into it.
const WRITE: u16 = 2;
/// It names a table of descriptors.
const INDIRECT: u16 = 4;
/// The driver wants no interrupt.
const NO_INTERRUPT: u16 = 1;

/// What is wrong with a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadRing {
    /// An address of it or of a descriptor.
    #[error(transparent)]
    Outside(#[from] OutOfBounds),
    /// Its size.
    #[error("a ring of {0} entries: powers of two up to {MOST} are right")]
    Size(u32),
    /// It is used before all of its parts have addresses.
    #[error("a ring that has no size or no addresses yet")]
    Unready,
    /// The driver is further ahead than the ring is long.
    #[error("{0} new entries in a ring of {1}")]
    Ahead(u16, u16),
    /// A descriptor of a number that there is not.
    #[error("descriptor {0} in a ring of {1}")]
    Number(u16, u16),
    /// A chain of more descriptors than there are.
    #[error("a chain that does not end")]
    Endless,
    /// A form that was not agreed upon.
    #[error("an indirect descriptor, which was not agreed upon")]
    Indirect,
    /// A descriptor of the wrong direction, or a chain with too little room for this many bytes.
    #[error("a chain without room for {0} bytes")]
    Room(usize),
    /// A chain of more bytes than a frame can have.
    #[error("a frame of more than {0} bytes")]
    Long(usize),
}

/// Where a ring is, and how far the device has read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ring {
    /// Entries; 0 if it has no size yet.
    size: u16,
    /// Addresses of descriptors, available and used entries.
    places: Option<[u64; 3]>,
    /// The next available entry to look at.
    next: u16,
}

/// A part of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
    next: u16,
}

fn u16_at(memory: &impl Memory, address: u64) -> Result<u16, OutOfBounds> {
    let mut bytes = [0; 2];
    memory.read(address, &mut bytes)?;
    Ok(u16::from_le_bytes(bytes))
}

/// An address behind another; one that wraps around is outside of all memory.
fn at(base: u64, offset: u64) -> u64 {
    base.saturating_add(offset)
}

impl Ring {
    /// Gives it a size.
    ///
    /// # Errors
    /// If it is none.
    pub fn set_size(&mut self, size: u32) -> Result<(), BadRing> {
        let fits = u16::try_from(size).ok().filter(|n| n.is_power_of_two() && *n <= MOST);
        self.size = fits.ok_or(BadRing::Size(size))?;
        Ok(())
    }

    /// Says where its descriptors, its available and its used entries are.
    pub const fn set_places(&mut self, descriptors: u64, available: u64, used: u64) {
        self.places = Some([descriptors, available, used]);
    }

    /// Says which entry comes next.
    pub const fn set_next(&mut self, next: u16) {
        self.next = next;
    }

    /// Which entry comes next.
    pub const fn next(&self) -> u16 {
        self.next
    }

    /// Whether it can be used.
    pub const fn is_ready(&self) -> bool {
        self.size > 0 && self.places.is_some()
    }

    fn places(&self) -> Result<[u64; 3], BadRing> {
        self.places.filter(|_| self.size > 0).ok_or(BadRing::Unready)
    }

    fn descriptor(&self, memory: &impl Memory, number: u16) -> Result<Descriptor, BadRing> {
        let [descriptors, ..] = self.places()?;
        if number >= self.size {
            return Err(BadRing::Number(number, self.size));
        }
        let mut b = [0; 16];
        memory.read(at(descriptors, u64::from(number) * 16), &mut b)?;
        let found = Descriptor {
            address: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            length: u32::from_le_bytes([b[8], b[9], b[10], b[11]]),
            flags: u16::from_le_bytes([b[12], b[13]]),
            next: u16::from_le_bytes([b[14], b[15]]),
        };
        if found.flags & INDIRECT != 0 { Err(BadRing::Indirect) } else { Ok(found) }
    }

    /// The next chain that the driver has made available: the number of its first descriptor.
    fn pop(&mut self, memory: &impl Memory) -> Result<Option<u16>, BadRing> {
        let [_, available, _] = self.places()?;
        let index = u16_at(memory, at(available, 2))?;
        let new = index.wrapping_sub(self.next);
        if new > self.size {
            return Err(BadRing::Ahead(new, self.size));
        }
        if new == 0 {
            return Ok(None);
        }
        let entry = u64::from(self.next % self.size);
        let head = u16_at(memory, at(available, 4 + 2 * entry))?;
        self.next = self.next.wrapping_add(1);
        Ok(Some(head))
    }

    /// Calls for each descriptor of a chain, as long as the call returns true.
    fn walk(
        &self,
        memory: &impl Memory,
        head: u16,
        mut each: impl FnMut(Descriptor) -> Result<bool, BadRing>,
    ) -> Result<(), BadRing> {
        let mut number = head;
        for _ in 0..self.size {
            let descriptor = self.descriptor(memory, number)?;
            if !each(descriptor)? || descriptor.flags & NEXT == 0 {
                return Ok(());
            }
            number = descriptor.next;
        }
        Err(BadRing::Endless)
    }

    /// Gives a chain back, with the number of bytes that were written into it.
    fn push(&self, memory: &mut impl Memory, head: u16, written: u32) -> Result<(), BadRing> {
        let [.., used] = self.places()?;
        let index = u16_at(memory, at(used, 2))?;
        let mut entry = [0; 8];
        entry[..2].copy_from_slice(&head.to_le_bytes());
        entry[4..].copy_from_slice(&written.to_le_bytes());
        memory.write(at(used, 4 + 8 * u64::from(index % self.size)), &entry)?;
        // The index last: it says that the entry is there.
        memory.write(at(used, 2), &index.wrapping_add(1).to_le_bytes())?;
        Ok(())
    }

    /// Takes the bytes of the next chain that the driver sends, at most `most` of them, and gives the chain back.
    ///
    /// # Errors
    /// What is wrong with the ring or the chain.
    pub fn take(
        &mut self,
        memory: &mut impl Memory,
        most: usize,
    ) -> Result<Option<Vec<u8>>, BadRing> {
        let Some(head) = self.pop(memory)? else { return Ok(None) };
        let mut bytes = Vec::new();
        self.walk(memory, head, |part| {
            let (from, length) = (bytes.len(), part.length as usize);
            if part.flags & WRITE != 0 {
                return Err(BadRing::Room(0));
            }
            if from + length > most {
                return Err(BadRing::Long(most));
            }
            bytes.resize(from + length, 0);
            memory.read(part.address, &mut bytes[from..])?;
            Ok(true)
        })?;
        self.push(memory, head, 0)?;
        Ok(Some(bytes))
    }

    /// Writes bytes into the next chain that the driver has made available; false if there is none.
    ///
    /// # Errors
    /// What is wrong with the ring, or a chain that is too short.
    pub fn put(&mut self, memory: &mut impl Memory, bytes: &[u8]) -> Result<bool, BadRing> {
        let Some(head) = self.pop(memory)? else { return Ok(false) };
        let (mut parts, mut room) = (Vec::new(), 0);
        self.walk(memory, head, |part| {
            let length = (part.length as usize).min(bytes.len() - room);
            if part.flags & WRITE == 0 {
                return Err(BadRing::Room(bytes.len()));
            }
            parts.push((part.address, room..room + length));
            room += length;
            Ok(room < bytes.len())
        })?;
        if room < bytes.len() {
            return Err(BadRing::Room(bytes.len()));
        }
        for (address, part) in parts {
            memory.write(address, &bytes[part])?;
        }
        self.push(memory, head, bytes.len() as u32)?;
        Ok(true)
    }

    /// Whether the driver wants an interrupt for chains that come back.
    ///
    /// # Errors
    /// What is wrong with the ring.
    pub fn wants_interrupt(&self, memory: &impl Memory) -> Result<bool, BadRing> {
        let [_, available, _] = self.places()?;
        Ok(u16_at(memory, available)? & NO_INTERRUPT == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Descriptors at 0, available entries at 256, used ones at 512, buffers behind.
    fn ring(size: u32) -> Ring {
        let mut ring = Ring::default();
        ring.set_size(size).unwrap();
        ring.set_places(0, 256, 512);
        ring
    }

    fn describe(
        memory: &mut Vec<u8>,
        number: u64,
        address: u64,
        length: u32,
        flags: u16,
        next: u16,
    ) {
        memory.write(number * 16, &address.to_le_bytes()).unwrap();
        memory.write(number * 16 + 8, &length.to_le_bytes()).unwrap();
        memory.write(number * 16 + 12, &flags.to_le_bytes()).unwrap();
        memory.write(number * 16 + 14, &next.to_le_bytes()).unwrap();
    }

    fn offer(memory: &mut Vec<u8>, heads: &[u16]) {
        for (place, head) in heads.iter().enumerate() {
            memory.write(260 + 2 * place as u64, &head.to_le_bytes()).unwrap();
        }
        memory.write(258, &(heads.len() as u16).to_le_bytes()).unwrap();
    }

    /// A chain of two, and one of one; their heads come back in order.
    #[test]
    fn chains_are_read_and_come_back() {
        let (mut memory, mut ring) = (vec![0; 4096], ring(4));
        memory[1000..1006].copy_from_slice(b"header");
        memory[1100..1105].copy_from_slice(b"frame");
        describe(&mut memory, 2, 1000, 6, NEXT, 0);
        describe(&mut memory, 0, 1100, 5, 0, 0);
        describe(&mut memory, 3, 1000, 4, 0, 0);
        offer(&mut memory, &[2, 3]);
        assert_eq!(ring.take(&mut memory, 100).unwrap().unwrap(), b"headerframe");
        assert_eq!(ring.take(&mut memory, 100).unwrap().unwrap(), b"head");
        assert_eq!(ring.take(&mut memory, 100), Ok(None));
        assert_eq!(u16_at(&memory, 514), Ok(2));
        assert_eq!((u16_at(&memory, 516), u16_at(&memory, 524)), (Ok(2), Ok(3)));
        assert_eq!(ring.wants_interrupt(&memory), Ok(true));
        memory[256] = 1;
        assert_eq!(ring.wants_interrupt(&memory), Ok(false));
    }

    #[test]
    fn frames_are_written_over_several_parts() {
        let (mut memory, mut ring) = (vec![0; 4096], ring(4));
        describe(&mut memory, 1, 1000, 3, NEXT | WRITE, 2);
        describe(&mut memory, 2, 2000, 100, WRITE, 0);
        offer(&mut memory, &[1]);
        assert_eq!(ring.put(&mut memory, b"abcdef"), Ok(true));
        assert_eq!((&memory[1000..1003], &memory[2000..2003]), (&b"abc"[..], &b"def"[..]));
        assert_eq!(memory[520], 6);
        assert_eq!(ring.put(&mut memory, b"abcdef"), Ok(false));
    }

    /// Each of these would be a read without end or outside of the ring, were it not refused.
    #[test]
    fn what_a_ring_must_not_be() {
        let mut memory = vec![0; 4096];
        describe(&mut memory, 0, 1000, 1, NEXT, 1);
        describe(&mut memory, 1, 1000, 1, NEXT, 0);
        describe(&mut memory, 2, 1000, 1, INDIRECT, 0);
        describe(&mut memory, 3, 5000, 1, 0, 0);
        let mut take = |heads: &[u16]| {
            offer(&mut memory, heads);
            ring(4).take(&mut memory, 100)
        };
        assert_eq!(take(&[0]), Err(BadRing::Endless));
        assert_eq!(take(&[2]), Err(BadRing::Indirect));
        assert_eq!(take(&[3]), Err(OutOfBounds { address: 5000, length: 1 }.into()));
        assert_eq!(take(&[4]), Err(BadRing::Number(4, 4)));
        assert_eq!(take(&[0; 5]), Err(BadRing::Ahead(5, 4)));
        assert_eq!(Ring::default().take(&mut memory, 1), Err(BadRing::Unready));
        for size in [0, 3, 65536, u32::MAX] {
            assert_eq!(Ring::default().set_size(size), Err(BadRing::Size(size)));
        }
    }

    proptest! {
        /// Any memory, any place of the ring: an end, and no panic.
        #[test]
        fn any_memory(
            mut memory in prop::collection::vec(any::<u8>(), 0..700),
            size in 0_u32..9,
            places in any::<[u16; 3]>(),
            far in any::<bool>(),
        ) {
            let mut ring = Ring::default();
            let _ = ring.set_size(1 << size);
            let [a, b, c] = places.map(|p| if far { u64::MAX - u64::from(p) } else { u64::from(p % 700) });
            ring.set_places(a, b, c);
            for _ in 0..20 {
                let _ = ring.take(&mut memory, 2000);
                let _ = ring.put(&mut memory, &[7; 60]);
                let _ = ring.wants_interrupt(&memory);
            }
        }
    }
}
