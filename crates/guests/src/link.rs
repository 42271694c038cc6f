//! A socket to a guest, on which messages come in pieces and with descriptors.
//!
//! Invariants: reading never blocks, so that a guest that stops in the middle of a message holds up nothing; descriptors
//! stay in their order.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, send, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes that are read at a time: more than any guest has under way.
const AT_ONCE: usize = 8192;

/// A socket.
#[derive(Debug)]
pub(crate) struct Link {
    socket: OwnedFd,
    /// Bytes that have come and were not taken.
    held: Vec<u8>,
    files: Vec<OwnedFd>,
    /// The other end is closed.
    over: bool,
}

impl Link {
    pub(crate) const fn new(socket: OwnedFd) -> Self {
        Self { socket, held: Vec::new(), files: Vec::new(), over: false }
    }

    /// Whether nothing more will come.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    /// Reads what is there.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; AT_ONCE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let read = recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags);
        match read {
            Ok(message) => {
                for part in control.drain() {
                    if let RecvAncillaryMessage::ScmRights(files) = part {
                        self.files.extend(files);
                    }
                }
                if message.flags.contains(ReturnFlags::CTRUNC) {
                    return Err(io::Error::other("more than 8 descriptors in a message"));
                }
                self.over = message.bytes == 0;
                self.held.extend_from_slice(&bytes[..message.bytes]);
                Ok(())
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(()),
            // A guest that was killed.
            Err(rustix::io::Errno::CONNRESET) => {
                self.over = true;
                Ok(())
            }
            Err(e) => Err(e.into()),
        }
    }

    /// What has come.
    pub(crate) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Takes the beginning of what has come.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.held.drain(..bytes);
    }

    /// Takes the descriptors that have come.
    pub(crate) fn files(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.files)
    }

    /// Sends a message with two descriptors; false if the other end is closed.
    pub(crate) fn send_with(
        &mut self,
        bytes: &[u8],
        files: [BorrowedFd<'_>; 2],
    ) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(sent) => self.send(&bytes[sent..]),
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => {
                self.over = true;
                Ok(false)
            }
            Err(e) => Err(e.into()),
        }
    }

    /// Sends a message; false if the other end is closed.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> io::Result<bool> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => {
                    self.over = true;
                    return Ok(false);
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(true)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
