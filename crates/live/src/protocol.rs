//! What the engine and its helper say to each other: one JSON message a packet of a `SOCK_SEQPACKET` pair, with file
//! descriptors attached (`SCM_RIGHTS`).

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// The longest message, bytes.
const LONGEST: usize = 1 << 17;
/// The most descriptors of a message.
const MOST_FDS: usize = 16;

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Host {
    /// Where `down` begins.
    Server,
    /// Where `down` ends.
    Client,
}

impl Host {
    /// Both, in the order in which lists have them.
    pub(crate) const BOTH: [Self; 2] = [Self::Server, Self::Client];

    /// Its place in [`Host::BOTH`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    /// `server` or `client`: what programs call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// The namespaces that are wanted.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The congestion control of connections of programs; the host's default if none.
    pub(crate) control: Option<String>,
    /// Whether connections of programs ask for ECN.
    pub(crate) ecn: bool,
    /// Whether hosts hand super-packets over.
    pub(crate) offload: bool,
    /// What programs see as `/etc/hosts`.
    pub(crate) hosts: Option<String>,
    /// Whether the client's way to all other addresses leads to the relay ([`Order::Outside`]).
    pub(crate) outside: bool,
}

/// A server and a client of their own, in namespaces of their own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Pair {
    /// Their addresses: the server's, the client's.
    pub(crate) addresses: [IpAddr; 2],
    /// Whether they hand super-packets over.
    pub(crate) offload: bool,
}

/// A program of a flow, in a view of the machine's files that only it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    /// The program's path and its arguments.
    pub(crate) words: Vec<String>,
    /// Its whole environment: `NAME=value`.
    pub(crate) variables: Vec<String>,
    /// Texts by file name, in its working folder.
    pub(crate) files: BTreeMap<String, String>,
    /// What it sees as `/etc/hosts`.
    pub(crate) hosts: String,
    /// The files and folders that it may read in addition to the system's.
    pub(crate) reads: Vec<PathBuf>,
}

/// A kind of socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum SocketKind {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP echo.
    Ping,
}

/// What the engine wants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Namespaces: the answer is [`Reply::Built`].
    Build(Plan),
    /// A program on a host, its standard input and output this process's; or no input, and the attached file for output.
    Start {
        /// Where.
        host: Host,
        /// Program and arguments.
        words: Vec<OsString>,
    },
    /// A socket on a host: the answer is [`Reply::Socket`].
    Socket(Host, SocketKind),
    /// A pair of hosts more; the pairs are numbered from 1 on. The answer is [`Reply::Built`].
    Pair(Pair),
    /// A program on a host of a pair. Attached: where its output goes, and a file with the [`Program`] in JSON, which a message may
    /// be too short for.
    Program(usize, Host),
    /// Whether a program of this pair's server listens, on this port if there is one: the answer is [`Reply::Listens`].
    Listens(usize, Option<u16>),
    /// A queue of this number by the kernel, in the relay's namespace, and tc's words for it: the answer is [`Reply::Queue`].
    Queue(usize, Vec<String>),
    /// The tap device to the outside, in the relay's namespace: the answer is [`Reply::Outside`].
    Outside,
    /// The programs of a pair are to end (SIGTERM), or have to (SIGKILL): the answer is [`Reply::Done`].
    End(usize, bool),
}

/// What the helper says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The namespaces are there. Attached: the packet sockets of server and client, then their sock_diag sockets.
    Built {
        /// Optional parts that could not be set up.
        lacking: Vec<String>,
    },
    /// The program runs, under this number.
    Started(u32),
    /// The socket is attached.
    Socket,
    /// The queue is there. Attached: a packet socket from which its packets come back, then those that send into it.
    Queue,
    /// Whether the tap device is there. If so, its packet socket is attached.
    Outside(bool),
    /// Something could not be done.
    Failed(Failure),
    /// A program is over, with its exit status, or with the negative number of the signal that ended it.
    Exited(u32, i32),
    /// Whether a program listens.
    Listens(bool),
    /// The order is carried out.
    Done,
}

/// Why something could not be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {why}")]
pub struct Failure {
    /// What was tried.
    pub step: String,
    /// What the kernel says.
    pub why: String,
    /// The kernel's number for it; 0 if it has none.
    pub errno: i32,
}

impl Failure {
    /// An error of a step.
    pub(crate) fn of(step: impl Into<String>, why: impl Into<io::Error>) -> Self {
        let why = why.into();
        Self { step: step.into(), errno: why.raw_os_error().unwrap_or(0), why: why.to_string() }
    }
}

/// Sends a message with descriptors.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is too long"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    sendmsg(socket, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message with its descriptors; none if the other end is closed.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let found = loop {
        let mut parts = [IoSliceMut::new(&mut text)];
        match recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            other => break other?,
        }
    };
    if found.bytes == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    Ok(Some((serde_json::from_slice(&text[..found.bytes])?, fds)))
}

/// A pair of connected sockets.
pub(crate) fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn messages_arrive_whole_with_their_descriptors() {
        let (a, b) = pair().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let words = vec![OsString::from("echo"), OsString::from("a b")];
        let order = Order::Start { host: Host::Client, words };
        send(a.as_fd(), &order, &[file.as_fd(), file.as_fd()]).unwrap();
        send(a.as_fd(), &Reply::Exited(3, 143), &[]).unwrap();
        let (found, fds) = receive::<Order>(b.as_fd()).unwrap().unwrap();
        assert_eq!((found, fds.len()), (order, 2));
        let (found, fds) = receive::<Reply>(b.as_fd()).unwrap().unwrap();
        assert_eq!((found, fds.len()), (Reply::Exited(3, 143), 0));
        drop(a);
        assert!(receive::<Reply>(b.as_fd()).unwrap().is_none());
    }

    #[test]
    fn a_command_that_is_too_long_is_refused() {
        let (a, _b) = pair().unwrap();
        let words = vec![OsString::from("x".repeat(LONGEST))];
        let order = Order::Start { host: Host::Client, words };
        let error = send(a.as_fd(), &order, &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
