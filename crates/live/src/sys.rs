//! System calls for which rustix has no safe function, each wrapped so that the rest of the crate needs no `unsafe`.
//!
//! Packet sockets follow packet(7), their options and the header in front of each frame `linux/if_packet.h` and
//! `linux/virtio_net.h`; batches follow recvmmsg(2) and sendmmsg(2), offloads `linux/ethtool.h` (6.18).
//!
//! Invariants: every pointer that a call gets points into a slice that outlives the call; every length is that slice's;
//! a file descriptor becomes an [`OwnedFd`] at once.

#![allow(unsafe_code, reason = "this module is the crate's boundary to the kernel")]

use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Bytes of the header in front of each frame (`struct virtio_net_hdr`).
const VNET_HEADER: usize = 10;
/// The most processes that a program may start.
const MOST_PROCESSES: u64 = 4096;

/// Leaves namespaces for new ones. The calling process has to be single-threaded for a user namespace.
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: the flag that is unsafe is `FILES`, which nobody here passes.
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// A descriptor that this process inherited under a number, and that nobody else in it has. Programs do not inherit it.
pub(crate) fn adopt(number: i32) -> io::Result<OwnedFd> {
    if number <= libc::STDERR_FILENO {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: fcntl(2) with this command takes no pointer, and fails for a number that is no descriptor.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, and the caller says that nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// What `fork` gives.
pub(crate) enum Fork {
    /// This is the parent; the child's process ID.
    Parent(rustix::process::Pid),
    /// This is the child.
    Child,
}

/// Forks this process, which has to have one thread.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: with one thread, nobody else holds a lock that the child would wait for.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(rustix::process::Pid::from_raw(pid).expect("not 0"))),
    }
}

/// Lets a program start without any capability and without a way to get one, in a mount namespace of its own with the
/// network namespace's `/sys`.
pub(crate) fn confine(command: &mut Command) {
    // SAFETY: the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            use rustix::mount::{MountFlags, mount};
            use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
            if unshare(UnshareFlags::NEWNS).is_ok() {
                // Refused where parts of the host's are hidden: then programs see the host's.
                let _ = mount(c"sysfs", c"/sys", c"sysfs", MountFlags::RDONLY, None);
            }
            let limit = getrlimit(Resource::Nproc);
            let least = |old: Option<u64>| Some(old.unwrap_or(MOST_PROCESSES).min(MOST_PROCESSES));
            let limit = Rlimit { current: least(limit.current), maximum: least(limit.maximum) };
            setrlimit(Resource::Nproc, limit)?;
            for bit in 0..u64::BITS {
                if let Some(capability) = CapabilitySet::from_bits(1 << bit)
                    && rustix::thread::remove_capability_from_bounding_set(capability).is_err()
                {
                    break;
                }
            }
            rustix::thread::set_no_new_privs(true)?;
            let none = CapabilitySet::empty();
            rustix::thread::set_capabilities(
                None,
                CapabilitySets { effective: none, permitted: none, inheritable: none },
            )?;
            Ok(())
        });
    }
}

/// Lets a program that is to be started do this before it begins, in its own process, before what was asked for later. The
/// calling process has to have one thread.
pub(crate) fn before(
    command: &mut Command,
    does: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: with one thread, nobody else holds a lock that the child would wait for, so that it may allocate.
    unsafe {
        command.pre_exec(does);
    }
}

/// Makes every mount of this namespace read-only (mount_setattr(2), Linux 5.12).
pub(crate) fn read_only() -> io::Result<()> {
    /// `struct mount_attr` of `linux/mount.h`.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    const RECURSIVE: libc::c_uint = 0x8000;
    let attributes = Attributes { set: READ_ONLY, clear: 0, propagation: 0, namespace: 0 };
    // SAFETY: path and structure outlive the call, and the size is the structure's.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    check(result as libc::c_int).map(drop)
}

/// Rules of Landlock (landlock(7), `linux/landlock.h`): whatever they do not name, this process and its children cannot open.
pub(crate) struct Landlock {
    rules: OwnedFd,
    every: u64,
}

impl Landlock {
    const EXECUTE: u64 = 1;
    const WRITE_FILE: u64 = 1 << 1;
    const READ_FILE: u64 = 1 << 2;
    const READ_FOLDER: u64 = 1 << 3;
    /// Those of version 1: all that read, write, make and remove.
    const FIRST: u64 = (1 << 13) - 1;
    /// Links and moves from folder to folder, of version 2.
    const REFER: u64 = 1 << 13;
    const OF_FILES: u64 = Self::EXECUTE | Self::WRITE_FILE | Self::READ_FILE;

    /// Without any rule; none where the kernel has no Landlock.
    pub(crate) fn new() -> Option<Self> {
        const VERSION: libc::c_uint = 1;
        let none = core::ptr::null::<u64>();
        // SAFETY: with this flag the call reads no structure.
        let version =
            unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
        let every = if version >= 2 { Self::FIRST | Self::REFER } else { Self::FIRST };
        // SAFETY: the structure of version 1 is this one number, which outlives the call.
        let rules = unsafe {
            let size = size_of::<u64>();
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const every, size, 0)
        };
        let rules = check(rules as libc::c_int).ok()?;
        // SAFETY: the descriptor is new, and nobody else has it.
        Some(Self { rules: unsafe { OwnedFd::from_raw_fd(rules as i32) }, every })
    }

    /// Allows to read and execute a file, or everything below a folder.
    pub(crate) fn reads(&self, path: &Path) {
        self.allow(path, Self::EXECUTE | Self::READ_FILE | Self::READ_FOLDER);
    }

    /// Allows to read and write a file.
    pub(crate) fn uses(&self, path: &Path) {
        self.allow(path, Self::READ_FILE | Self::WRITE_FILE);
    }

    /// Allows everything below a folder.
    pub(crate) fn owns(&self, path: &Path) {
        self.allow(path, self.every);
    }

    /// What is not there needs no rule.
    fn allow(&self, path: &Path, rights: u64) {
        /// `struct landlock_path_beneath_attr`.
        #[repr(C, packed)]
        struct Beneath {
            allowed: u64,
            parent: i32,
        }
        const BENEATH: libc::c_int = 1;
        use rustix::fs::{Mode, OFlags, open};
        let Ok(file) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { return };
        let is_folder = path.is_dir();
        let allowed = if is_folder { rights } else { rights & Self::OF_FILES };
        let rule = Beneath { allowed, parent: file.as_raw_fd() };
        // SAFETY: the rule outlives the call.
        unsafe {
            let rules = self.rules.as_raw_fd();
            libc::syscall(libc::SYS_landlock_add_rule, rules, BENEATH, &raw const rule, 0);
        }
    }

    /// From here on the rules hold, for good. The process must not be able to get new privileges.
    pub(crate) fn restrict(&self) -> io::Result<()> {
        // SAFETY: the call takes no pointer.
        let result =
            unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0) };
        check(result as libc::c_int).map(drop)
    }
}

fn check(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn set(fd: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value is an int that outlives the call.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const value).cast(), length)
    };
    check(result).map(drop)
}

/// A packet socket of an interface that is ours alone: its frames bypass the discipline and the captures of the interface.
pub(crate) fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    let socket = shared_packet_socket(interface)?;
    set(std::os::fd::AsFd::as_fd(&socket), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
    Ok(socket)
}

/// A packet socket that receives every frame that comes in through this interface, with the header of offloads in front and
/// the time of arrival. Others' captures of the interface have the frames that it sends.
pub(crate) fn shared_packet_socket(interface: u32) -> io::Result<OwnedFd> {
    // Protocol 0: nothing arrives before the socket is bound.
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket(2) takes no pointer.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new, and nobody else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let own = std::os::fd::AsFd::as_fd(&fd);
    for option in [libc::PACKET_VNET_HDR, libc::PACKET_IGNORE_OUTGOING] {
        set(own, libc::SOL_PACKET, option, 1)?;
    }
    set(own, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    // The kernel cuts this down to twice `rmem_max`.
    set(own, libc::SOL_SOCKET, libc::SO_RCVBUF, 1 << 26)?;
    set(own, libc::SOL_SOCKET, libc::SO_SNDBUF, 1 << 26)?;
    bind(own, interface, libc::ETH_P_ALL as u16)?;
    Ok(fd)
}

/// A packet socket that only sends, through the interface's discipline.
pub(crate) fn queue_socket(interface: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket(2) takes no pointer. With protocol 0 nothing arrives.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new, and nobody else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let own = std::os::fd::AsFd::as_fd(&fd);
    // What waits in the discipline is charged to the socket. Without privilege the kernel cuts this down to twice `wmem_max`.
    if set(own, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 1 << 28).is_err() {
        set(own, libc::SOL_SOCKET, libc::SO_SNDBUF, 1 << 28)?;
    }
    bind(own, interface, 0)?;
    Ok(fd)
}

/// Binds a packet socket to an interface, for frames of this protocol.
fn bind(socket: BorrowedFd<'_>, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: an all-zero address is a valid one.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address outlives the call, and the length is its own.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// Bytes of memory that packets of a socket take, which have not left the discipline (`SIOCOUTQ`).
pub(crate) fn unsent(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the command writes one number, which outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(bytes.unsigned_abs())
}

/// Lets a program that is to be started keep the capability over network namespaces that this process has.
pub(crate) fn with_network(command: &mut Command) {
    before(command, || {
        let own = CapabilitySet::NET_ADMIN;
        let mut sets = rustix::thread::capabilities(None)?;
        sets.inheritable |= own;
        rustix::thread::set_capabilities(None, sets)?;
        Ok(rustix::thread::configure_capability_in_ambient_set(own, true)?)
    });
}

/// The kernel's `struct tcp_info` of a socket, as long as this kernel's is.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the buffer outlives the call, and the length is its own.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(result)?;
    bytes.truncate(length as usize);
    Ok(bytes)
}

/// The most that a socket sends in a second, bytes.
pub(crate) fn set_max_pacing_rate(fd: BorrowedFd<'_>, rate: u64) -> rustix::io::Result<()> {
    let length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the value is a 64-bit number that outlives the call; the kernel takes 32 or 64 bits by the length.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const rate).cast(),
            length,
        )
    };
    check(result)
        .map(drop)
        .map_err(|why| rustix::io::Errno::from_io_error(&why).unwrap_or(rustix::io::Errno::INVAL))
}

/// Frames that came and frames that the socket had no room for, since the last call.
pub(crate) fn packet_statistics(fd: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut counts = [0_u32; 2];
    let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
    // SAFETY: the two counters outlive the call, and the length is theirs.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(result)?;
    // The first counts what was dropped, too.
    Ok((counts[0].wrapping_sub(counts[1]), counts[1]))
}

/// Commands of `SIOCETHTOOL` that switch an offload of an interface.
pub(crate) const OFFLOADS: [(&str, u32); 5] = [
    ("transmit checksums", 0x17),
    ("scatter-gather", 0x19),
    ("tso", 0x1f),
    ("gso", 0x24),
    ("gro", 0x2c),
];

/// `SIOCETHTOOL`.
const ETHTOOL: libc::Ioctl = 0x8946;

/// Switches an offload of an interface off. Any socket of the interface's namespace will do.
pub(crate) fn switch_off(socket: BorrowedFd<'_>, interface: &str, command: u32) -> io::Result<()> {
    let mut value = [command, 0_u32];
    // SAFETY: an all-zero request is a valid one.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: the request and the value that it points to outlive the call; these commands take one number.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), ETHTOOL, &raw mut request) }).map(drop)
}

/// The header of offloads in front of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Offloaded {
    /// Whether the transport checksum is to be finished.
    pub(crate) needs_checksum: bool,
    /// The kind of a super-packet: 1 TCP over IPv4, 4 over IPv6, 5 UDP; 0 if it is none.
    pub(crate) kind: u8,
    /// Payload of its packets, bytes.
    pub(crate) size: u16,
    /// Bytes of its headers.
    pub(crate) headers: u16,
    /// Where the checksum begins to count, and where it is from there.
    pub(crate) checksum: (u16, u16),
}

impl Offloaded {
    /// A flag of the kind: CWR belongs to the first packet alone (`VIRTIO_NET_HDR_GSO_ECN`).
    const ECN: u8 = 0x80;

    fn read(bytes: &[u8; VNET_HEADER]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            needs_checksum: bytes[0] & 1 != 0,
            kind: bytes[1] & !Self::ECN,
            headers: word(2),
            size: word(4),
            checksum: (word(6), word(8)),
        }
    }

    fn bytes(self) -> [u8; VNET_HEADER] {
        let [h, s, c, o] =
            [self.headers, self.size, self.checksum.0, self.checksum.1].map(u16::to_ne_bytes);
        [u8::from(self.needs_checksum), self.kind, h[0], h[1], s[0], s[1], c[0], c[1], o[0], o[1]]
    }
}

/// A frame that arrived.
pub(crate) struct Arrival<'a> {
    /// When, nanoseconds of the real-time clock; none if the kernel gave no stamp.
    pub(crate) real: Option<u64>,
    /// What was left to the interface.
    pub(crate) offloaded: Offloaded,
    /// The frame.
    pub(crate) frame: &'a [u8],
    /// Whether it was longer than the buffer.
    pub(crate) truncated: bool,
}

/// Room for a batch of frames.
pub(crate) struct Batch {
    frames: Vec<u8>,
    /// Bytes for each.
    room: usize,
    headers: Vec<[u8; VNET_HEADER]>,
    /// Aligned as control messages have to be.
    control: Vec<[u64; 8]>,
    /// Length, truncation and stamp of each that was received.
    received: Vec<(usize, bool, Option<u64>)>,
    refused: u64,
}

impl Batch {
    /// For this number of frames, each with this room in bytes.
    pub(crate) fn new(frames: usize, room: usize) -> Self {
        Self {
            frames: vec![0; frames * room],
            room,
            headers: vec![[0; VNET_HEADER]; frames],
            control: vec![[0; 8]; frames],
            received: Vec::with_capacity(frames),
            refused: 0,
        }
    }

    /// The frames since the last call of this that the kernel could not describe, and has thrown away.
    pub(crate) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// Receives as many frames as there are and as there is room for, without waiting.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.received.clear();
        let mut parts: Vec<[libc::iovec; 2]> = self
            .frames
            .chunks_exact_mut(self.room)
            .zip(&mut self.headers)
            .map(|(frame, header)| {
                [
                    libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: VNET_HEADER },
                    libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: self.room },
                ]
            })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .zip(&mut self.control)
            .map(|(part, control)| {
                // SAFETY: an all-zero message is a valid one.
                let mut message: libc::mmsghdr = unsafe { zeroed() };
                message.msg_hdr.msg_iov = part.as_mut_ptr();
                message.msg_hdr.msg_iovlen = part.len();
                message.msg_hdr.msg_control = control.as_mut_ptr().cast();
                message.msg_hdr.msg_controllen = size_of::<[u64; 8]>();
                message
            })
            .collect();
        let (count, flags) = (messages.len() as u32, libc::MSG_DONTWAIT);
        // SAFETY: all parts and control buffers outlive the call, with their own lengths.
        let result = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                messages.as_mut_ptr(),
                count,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        let (count, refused) = received(check(result))?;
        self.refused += refused;
        for message in &messages[..count] {
            let length = (message.msg_len as usize).saturating_sub(VNET_HEADER).min(self.room);
            let truncated = message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            self.received.push((length, truncated, stamp(&message.msg_hdr)));
        }
        Ok(count)
    }

    /// What the last call received.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = Arrival<'_>> {
        let parts = self.frames.chunks_exact(self.room).zip(&self.headers);
        parts.zip(&self.received).map(|((frame, header), &(length, truncated, real))| Arrival {
            real,
            offloaded: Offloaded::read(header),
            frame: &frame[..length],
            truncated,
        })
    }
}

/// How many frames a call gave, and how many it threw away. Linux before 6.2 has no header of offloads for UDP super-packets
/// (`virtio_net_hdr_from_skb`): such a frame is an error, and gone.
fn received(result: io::Result<usize>) -> io::Result<(usize, u64)> {
    match result {
        Ok(count) => Ok((count, 0)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok((0, 0)),
            io::ErrorKind::InvalidInput => Ok((0, 1)),
            _ => Err(error),
        },
    }
}

/// The stamp among the control messages of a received message.
fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled the control buffer, which is still there, and set its length.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: a message of this type holds a timespec.
    let time: libc::timespec = unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Sends frames in order without waiting, and says how many the interface took. An error is the first frame's.
pub(crate) fn send(fd: BorrowedFd<'_>, frames: &[(Offloaded, &[u8])]) -> io::Result<usize> {
    let headers: Vec<[u8; VNET_HEADER]> = frames.iter().map(|(o, _)| o.bytes()).collect();
    let mut parts: Vec<[libc::iovec; 2]> = headers
        .iter()
        .zip(frames)
        .map(|(header, (_, frame))| {
            [
                libc::iovec { iov_base: header.as_ptr().cast_mut().cast(), iov_len: VNET_HEADER },
                libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() },
            ]
        })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = parts
        .iter_mut()
        .map(|part| {
            // SAFETY: an all-zero message is a valid one.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = part.as_mut_ptr();
            message.msg_hdr.msg_iovlen = part.len();
            message
        })
        .collect();
    let (count, flags) = (messages.len() as u32, libc::MSG_DONTWAIT);
    // SAFETY: all parts outlive the call with their own lengths; the kernel reads them and writes `msg_len` alone.
    let result =
        unsafe { libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), count, flags as _) };
    check(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a TCP super-packet with CWR as `linux/virtio_net.h` lays it out on a little-endian machine.
    #[test]
    #[cfg(target_endian = "little")]
    fn the_header_of_offloads_is_read_and_written() {
        let bytes = [1, 0x81, 66, 0, 0xa8, 0x05, 34, 0, 16, 0];
        let read = Offloaded::read(&bytes);
        let expected = Offloaded {
            needs_checksum: true,
            kind: 1,
            size: 1448,
            headers: 66,
            checksum: (34, 16),
        };
        assert_eq!(read, expected);
        assert_eq!(read.bytes(), [1, 1, 66, 0, 0xa8, 0x05, 34, 0, 16, 0]);
        assert_eq!(Offloaded::default().bytes(), [0; 10]);
    }

    #[test]
    fn a_frame_that_the_kernel_cannot_describe_is_lost_and_ends_nothing() {
        let of = |errno| received(Err(io::Error::from_raw_os_error(errno))).ok();
        assert_eq!(received(Ok(3)).unwrap(), (3, 0));
        assert_eq!((of(libc::EAGAIN), of(libc::EINTR)), (Some((0, 0)), Some((0, 0))));
        assert_eq!((of(libc::EINVAL), of(libc::ENETDOWN)), (Some((0, 1)), None));
    }

    /// Stamps and batches over an ordinary datagram socket, which has no header of offloads: its first bytes are taken for one.
    #[test]
    fn a_batch_receives_what_was_sent_in_order() {
        use std::os::fd::AsFd;
        let (a, b) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let frames = [b"first".as_slice(), b"five+one"];
        let all = frames.map(|frame| (Offloaded { kind: 1, ..Offloaded::default() }, frame));
        assert_eq!(send(a.as_fd(), &all).unwrap(), 2);
        let mut batch = Batch::new(4, 5);
        assert_eq!(batch.receive(b.as_fd()).unwrap(), 2);
        let found: Vec<_> =
            batch.arrivals().map(|a| (a.frame.to_vec(), a.truncated, a.offloaded.kind)).collect();
        assert_eq!(found, [(b"first".to_vec(), false, 1), (b"five+".to_vec(), true, 1)]);
        assert_eq!(batch.receive(b.as_fd()).unwrap(), 0);
        assert_eq!(batch.arrivals().count(), 0);
    }
}
