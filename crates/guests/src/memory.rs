//! A guest's memory, by the guest's own addresses.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// An address at which a guest has no memory that it shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{length} bytes at address {address:#x} are outside of the memory that the guest shares")]
pub struct OutOfBounds {
    /// Where.
    pub address: u64,
    /// How many bytes.
    pub length: usize,
}

/// Memory that can be read and written by address.
pub trait Memory {
    /// Reads this many bytes.
    ///
    /// # Errors
    /// If they are not all memory.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), OutOfBounds>;

    /// Writes these bytes.
    ///
    /// # Errors
    /// If there is not all memory.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfBounds>;
}

/// A piece of memory that a guest shares: a part of a file.
#[derive(Debug)]
pub(crate) struct Region {
    /// The guest's address of its beginning.
    pub(crate) address: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// The file.
    pub(crate) file: File,
}

/// All pieces that a guest shares.
#[derive(Default, Debug)]
pub(crate) struct Regions(pub(crate) Vec<Region>);

impl Regions {
    /// The file and the place in it of these bytes.
    fn find(&self, address: u64, length: usize) -> Result<(&File, u64), OutOfBounds> {
        let found = self.0.iter().find_map(|region| {
            let at = address.checked_sub(region.address)?;
            let end = at.checked_add(length as u64)?;
            (end <= region.size).then_some(())?;
            Some((&region.file, region.offset.checked_add(at)?))
        });
        found.ok_or(OutOfBounds { address, length })
    }
}

impl Memory for Regions {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), OutOfBounds> {
        let length = to.len();
        let (file, at) = self.find(address, length)?;
        file.read_exact_at(to, at).map_err(|_| OutOfBounds { address, length })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        let length = from.len();
        let (file, at) = self.find(address, length)?;
        file.write_all_at(from, at).map_err(|_| OutOfBounds { address, length })
    }
}

/// Memory of a test or a fuzz target: bytes from address 0 on.
impl Memory for Vec<u8> {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), OutOfBounds> {
        let length = to.len();
        let part =
            usize::try_from(address).ok().and_then(|at| self.get(at..at.checked_add(length)?));
        to.copy_from_slice(part.ok_or(OutOfBounds { address, length })?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        let length = from.len();
        let at = usize::try_from(address).ok();
        let part = at.and_then(|at| self.get_mut(at..at.checked_add(length)?));
        part.ok_or(OutOfBounds { address, length })?.copy_from_slice(from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that ends before its region does, and addresses at every edge.
    #[test]
    fn nothing_outside_is_read_or_written() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        let region = Region { address: 1000, size: 200, offset: 10, file };
        let mut memory = Regions(vec![region]);
        memory.write(1000, b"abc").unwrap();
        let mut three = [0; 3];
        memory.read(1000, &mut three).unwrap();
        assert_eq!(&three, b"abc");
        for address in [0, 999, 1198, 1199, 1200, u64::MAX - 1, u64::MAX] {
            assert_eq!(memory.read(address, &mut three), Err(OutOfBounds { address, length: 3 }));
            assert_eq!(memory.write(address, &three), Err(OutOfBounds { address, length: 3 }));
        }
        // Inside of the region, and behind the end of the file.
        assert!(memory.read(1089, &mut three).is_err());
    }
}
