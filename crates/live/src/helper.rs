//! The helper: a process that makes the namespaces, gives their sockets to the engine, and starts programs in them.
//!
//! An unprivileged process may make a user namespace, in which it has every capability over the other namespaces that it then
//! makes (user_namespaces(7)). It has to have one thread, so the engine starts the helper as a program of its own:
//!
//! ```text
//! engine ── helper (waits) ── PID 1 of a PID namespace ── programs
//!    │                        └ network namespaces: relay ═ server, relay ═ client
//!    └ packet sockets of the relay's two interfaces, received by SCM_RIGHTS
//! ```
//!
//! Invariants:
//! - Nothing outlives the engine. When the engine's end of the socket closes, PID 1 leaves; the kernel then kills
//!   everything in its PID namespace, and the namespaces go with the last process and socket. If the helper dies, PID 1
//!   gets SIGKILL; nothing is mounted, named or written outside the namespaces.
//! - Programs have the user's own IDs and no capability, and cannot get one ([`sys::confine`]): the relay's namespace is
//!   closed to them.

use crate::kernel_queue::Wanted;
use crate::netlink::{Links, RouteFeatures, Sockets};
use crate::outside;
use crate::protocol::{self, Failure, Host, Order, Pair, Plan, Program, Reply, SocketKind};
use crate::sys::{self, Fork};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fs;
use std::io::{self, Seek as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Bytes of an IP packet on the links.
pub(crate) const MTU: u32 = 1500;
/// What a host calls its interface.
const INTERFACE: &str = "net0";
/// Sockets that send into a queue by the kernel: what waits there is charged to them.
const QUEUE_SOCKETS: usize = 8;
/// How often processes that nobody waits for are taken off the list, at the least.
const REAP: Duration = Duration::from_millis(500);

/// A host's plain IPv4 address, the one that asks for ECN, and its IPv6 address.
pub(crate) const fn addresses(host: Host) -> [IpAddr; 3] {
    let number = match host {
        Host::Server => 1,
        Host::Client => 2,
    };
    [
        IpAddr::V4(Ipv4Addr::new(10, 9, 9, number)),
        IpAddr::V4(Ipv4Addr::new(10, 9, 9, 100 + number)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 9, 0, 0, 0, 0, number as u16)),
    ]
}

/// A host's MAC address: locally administered.
const fn mac(host: Host) -> [u8; 6] {
    [2, 0x53, 0x6f, 0x6a, 0, host as u8 + 1]
}

/// What the helper process does, with the number of the descriptor that is the engine's socket. Returns the process's status.
///
/// The calling process has to have one thread, and ends after this.
pub fn main(socket: RawFd) -> i32 {
    let Ok(socket) = sys::adopt(socket) else { return 2 };
    match begin() {
        Ok(Fork::Parent(child)) => {
            drop(socket);
            loop {
                match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
                    Err(rustix::io::Errno::INTR) => {}
                    _ => return 0,
                }
            }
        }
        Ok(Fork::Child) => {
            let outcome = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            if outcome.is_ok() {
                serve(&socket);
            }
            0
        }
        Err(failure) => {
            // The engine asks first, and gets this for an answer.
            let _ = protocol::receive::<Order>(socket.as_fd());
            let _ = protocol::send(socket.as_fd(), &Reply::Failed(failure), &[]);
            1
        }
    }
}

/// Leaves the host's namespaces and forks: the child is PID 1.
fn begin() -> Result<Fork, Failure> {
    let of = |step: &str| {
        let step = step.to_owned();
        move |why: rustix::io::Errno| Failure::of(step, why)
    };
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(of("the parent-death signal"))?;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let all = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC;
    sys::unshare(all).map_err(of("user, mount, PID and network namespaces"))?;
    let write = |file: &str, text: String| {
        fs::write(file, text).map_err(|why| Failure::of(format!("writing {file}"), why))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    // A change of credentials clears it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(of("the parent-death signal"))?;
    sys::fork().map_err(|why| Failure::of("fork", why))
}

/// A network namespace that this process can enter.
struct Space(OwnedFd);

impl Space {
    /// The current one.
    fn current() -> io::Result<Self> {
        Ok(Self(fs::File::open("/proc/thread-self/ns/net")?.into()))
    }

    /// A new one, which is entered.
    fn new() -> io::Result<Self> {
        sys::unshare(UnshareFlags::NEWNET)?;
        Self::current()
    }

    fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// A program that was started.
struct Running {
    pid: Pid,
    pidfd: OwnedFd,
}

/// What PID 1 has.
struct Helper {
    relay: Space,
    /// The namespaces of each pair of hosts; the first are those of all flows but programs.
    pairs: Vec<[Space; 2]>,
    running: Vec<Running>,
}

/// Answers the engine until it closes its end.
fn serve(socket: &OwnedFd) {
    let mut helper: Option<Helper> = None;
    loop {
        let none = Vec::new();
        let running = helper.as_ref().map_or(&none, |h| &h.running);
        let mut fds = vec![PollFd::new(socket, PollFlags::IN)];
        fds.extend(running.iter().map(|r| PollFd::new(&r.pidfd, PollFlags::IN)));
        let timeout = rustix::time::Timespec::try_from(REAP).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        let asked = !fds[0].revents().is_empty();
        drop(fds);
        if !reap(socket.as_fd(), helper.as_mut()) {
            return;
        }
        if asked {
            let Ok(Some((order, fds))) = protocol::receive::<Order>(socket.as_fd()) else { return };
            let (reply, fds) = match carry_out(order, fds, &mut helper) {
                Ok((reply, fds)) => (reply, fds),
                Err(failure) => (Reply::Failed(failure), Vec::new()),
            };
            let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
            if protocol::send(socket.as_fd(), &reply, &fds).is_err() {
                return;
            }
        }
    }
}

/// Takes processes that are over off the kernel's list, and tells the engine about those that it started; false if it is gone.
fn reap(socket: BorrowedFd<'_>, helper: Option<&mut Helper>) -> bool {
    let Some(helper) = helper else { return true };
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        let before = helper.running.len();
        helper.running.retain(|running| running.pid != pid);
        if helper.running.len() < before {
            let number = pid.as_raw_nonzero().get() as u32;
            let exited = Reply::Exited(number, number_of(status));
            if protocol::send(socket, &exited, &[]).is_err() {
                return false;
            }
        }
    }
    true
}

/// The exit status, or the negative number of the signal that ended a program.
fn number_of(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| -signal)).unwrap_or(1)
}

fn carry_out(
    order: Order,
    mut attached: Vec<OwnedFd>,
    helper: &mut Option<Helper>,
) -> Result<(Reply, Vec<OwnedFd>), Failure> {
    let lacking_plan = || Failure {
        step: "the helper".to_owned(),
        why: "the namespaces are not there yet".to_owned(),
        errno: 0,
    };
    match order {
        Order::Build(plan) => {
            let (relay, hosts, sockets, lacking) = build(&plan)?;
            *helper = Some(Helper { relay, pairs: vec![hosts], running: Vec::new() });
            Ok((Reply::Built { lacking }, sockets))
        }
        Order::Pair(pair) => helper.as_mut().ok_or_else(lacking_plan)?.add(&pair),
        Order::Outside => {
            let helper = helper.as_ref().ok_or_else(lacking_plan)?;
            let socket = helper.outside().map_err(|why| Failure::of("the way out", why))?;
            Ok((Reply::Outside(socket.is_some()), socket.into_iter().collect()))
        }
        Order::Queue(number, words) => {
            let helper = helper.as_ref().ok_or_else(lacking_plan)?;
            Ok((Reply::Queue, helper.queue(number, &words)?))
        }
        Order::Program(pair, host) => {
            let helper = helper.as_mut().ok_or_else(lacking_plan)?;
            let running = helper.start_program(pair, host, attached)?;
            let number = running.pid.as_raw_nonzero().get() as u32;
            helper.running.push(running);
            Ok((Reply::Started(number), Vec::new()))
        }
        Order::Listens(pair, port) => {
            let helper = helper.as_mut().ok_or_else(lacking_plan)?;
            helper.enter(pair, Host::Server)?;
            Ok((Reply::Listens(listens(port)), Vec::new()))
        }
        Order::End(pair, kill) => {
            let helper = helper.as_mut().ok_or_else(lacking_plan)?;
            let signal = if kill { Signal::KILL } else { Signal::TERM };
            helper.end(pair, signal).map_err(|why| Failure::of("ending programs", why))?;
            Ok((Reply::Done, Vec::new()))
        }
        Order::Start { host, words } => {
            let helper = helper.as_mut().ok_or_else(lacking_plan)?;
            let running = helper.start(host, &words, attached.pop())?;
            let number = running.pid.as_raw_nonzero().get() as u32;
            helper.running.push(running);
            Ok((Reply::Started(number), Vec::new()))
        }
        Order::Socket(host, kind) => {
            let helper = helper.as_mut().ok_or_else(lacking_plan)?;
            helper.enter(0, host)?;
            let socket =
                socket(kind).map_err(|why| Failure::of(format!("{kind:?} socket"), why))?;
            Ok((Reply::Socket, vec![socket]))
        }
    }
}

fn socket(kind: SocketKind) -> rustix::io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
    let (of, protocol) = match kind {
        SocketKind::Tcp => (SocketType::STREAM, None),
        SocketKind::Udp => (SocketType::DGRAM, None),
        SocketKind::Ping => (SocketType::DGRAM, Some(ipproto::ICMP)),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::INET, of, flags, protocol)
}

impl Helper {
    fn enter(&self, pair: usize, host: Host) -> Result<(), Failure> {
        let space = self.pairs.get(pair).map(|pair| &pair[host.index()]);
        let space = space.ok_or_else(|| Failure {
            step: "the helper".to_owned(),
            why: format!("there is no pair {pair}"),
            errno: 0,
        })?;
        space.enter().map_err(|why| Failure::of("setns", why))
    }

    /// Makes a pair of hosts more.
    fn add(&mut self, pair: &Pair) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        let spaces = || -> io::Result<[Space; 2]> { Ok([Space::new()?, Space::new()?]) };
        let spaces = spaces().map_err(|why| Failure::of("network namespaces", why))?;
        let names = Host::BOTH.map(|host| format!("{}{}", host.name(), self.pairs.len()));
        let mut sockets = connect(&self.relay, &spaces, &names)?;
        let mut lacking = Vec::new();
        for host in Host::BOTH {
            let step = |why: io::Error| Failure::of(format!("setting up a {}", host.name()), why);
            spaces[host.index()].enter().map_err(step)?;
            set_up(host, &mut lacking).map_err(step)?;
            let [own, peer] = [host, host.other()].map(|host| pair.addresses[host.index()]);
            let prefix = if own.is_ipv6() { 128 } else { 32 };
            let plain = RouteFeatures { control: None, ecn: false };
            lead(host, (own, peer, prefix), &plain).map_err(step)?;
            if !pair.offload {
                switch_off(host, &mut lacking).map_err(step)?;
            }
            // A server may have any port, as on a machine that is its own.
            let _ = fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
            sockets.push(Sockets::open().map_err(step)?);
        }
        self.pairs.push(spaces);
        Ok((Reply::Built { lacking }, sockets))
    }

    /// The packet socket of the device to the outside, which is switched on; none if it is not there yet.
    fn outside(&self) -> io::Result<Option<OwnedFd>> {
        self.relay.enter()?;
        let links = Links::open()?;
        let Ok(index) = links.index(outside::DEVICE) else { return Ok(None) };
        links.up(index)?;
        sys::packet_socket(index).map(Some)
    }

    /// Makes a queue by the kernel: a pair of interfaces in the relay's namespace, with tc's words on the first.
    fn queue(&self, number: usize, words: &[String]) -> Result<Vec<OwnedFd>, Failure> {
        let (device, peer) = (Wanted::device(number), format!("r{number}"));
        let made = || -> io::Result<[u32; 2]> {
            self.relay.enter()?;
            let links = Links::open()?;
            links.pair(&device, (&peer, mac(Host::Client), self.relay.0.as_fd()), MTU)?;
            let indices = [links.index(&device)?, links.index(&peer)?];
            indices.into_iter().try_for_each(|index| links.up(index))?;
            let socket = socket(SocketKind::Udp)?;
            for (_, offload) in sys::OFFLOADS {
                for name in [&device, &peer] {
                    // What an interface does not have is off.
                    let _ = sys::switch_off(socket.as_fd(), name, offload);
                }
            }
            Ok(indices)
        };
        let [device, peer] = made().map_err(|why| Failure::of("a pair for a queue", why))?;
        words.iter().try_for_each(|words| tc(words))?;
        let sockets = || -> io::Result<Vec<OwnedFd>> {
            let mut sockets = vec![sys::packet_socket(peer)?];
            for _ in 0..QUEUE_SOCKETS {
                sockets.push(sys::queue_socket(device)?);
            }
            Ok(sockets)
        };
        sockets().map_err(|why| Failure::of("packet sockets of a queue", why))
    }

    /// Starts a program of a flow.
    fn start_program(
        &self,
        pair: usize,
        host: Host,
        attached: Vec<OwnedFd>,
    ) -> Result<Running, Failure> {
        let step = |why: io::Error| Failure::of(format!("starting the {}", host.name()), why);
        let Ok([output, text]) = <[OwnedFd; 2]>::try_from(attached) else {
            return Err(step(io::ErrorKind::InvalidInput.into()));
        };
        let mut text = fs::File::from(text);
        text.rewind().map_err(step)?;
        let program: Program =
            serde_json::from_reader(io::BufReader::new(text)).map_err(|why| step(why.into()))?;
        let name = program.words.first().cloned().unwrap_or_default();
        let step = |why: io::Error| Failure::of(format!("starting {name}"), why);
        let mut command = crate::furnish::command(program).map_err(step)?;
        let second = output.try_clone().map_err(step)?;
        command.stdout(output).stderr(second);
        self.enter(pair, host)?;
        spawn(&mut command).map_err(step)
    }

    /// Sends a signal to every process of a pair. Nothing leaves its network namespace.
    fn end(&self, pair: usize, signal: Signal) -> io::Result<()> {
        let Some(spaces) = self.pairs.get(pair) else { return Ok(()) };
        let of = |space: &Space| fs::read_link(format!("/proc/self/fd/{}", space.0.as_raw_fd()));
        let spaces = [of(&spaces[0])?, of(&spaces[1])?];
        // What forks without end is caught at the latest when the run ends.
        for _ in 0..100 {
            let mut found = false;
            for entry in fs::read_dir("/proc")?.flatten() {
                let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
                let Some(pid) = pid.filter(|pid| *pid > 1).and_then(Pid::from_raw) else {
                    continue;
                };
                let is_there = fs::read_link(entry.path().join("ns/net"));
                if is_there.is_ok_and(|space| spaces.contains(&space)) {
                    found = true;
                    // It may be gone.
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
            if !found || signal != Signal::KILL {
                break;
            }
        }
        Ok(())
    }

    fn start(
        &self,
        host: Host,
        words: &[std::ffi::OsString],
        output: Option<OwnedFd>,
    ) -> Result<Running, Failure> {
        let [program, arguments @ ..] = words else {
            let why = "there is no program".to_owned();
            return Err(Failure { step: "starting a program".to_owned(), why, errno: 0 });
        };
        let step = || format!("starting {}", program.display());
        let mut command = Command::new(program);
        command.args(arguments);
        for host in Host::BOTH {
            let name = format!("SOJOURN_{}", host.name().to_uppercase());
            command.env(name, addresses(host)[0].to_string());
        }
        if let Some(output) = output {
            let second = output.try_clone().map_err(|why| Failure::of(step(), why))?;
            command.stdin(Stdio::null()).stdout(output).stderr(second);
        }
        sys::confine(&mut command);
        self.enter(0, host)?;
        spawn(&mut command).map_err(|why| Failure::of(step(), why))
    }
}

/// Carries out tc's words in the current namespace.
fn tc(words: &str) -> Result<(), Failure> {
    let step = || format!("tc {words}");
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut command = Command::new("tc");
    command.args(words.split_whitespace()).env("PATH", path).stdin(Stdio::null());
    sys::with_network(&mut command);
    let output = command.output().map_err(|why| Failure::of(step(), why))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().map(str::trim).find(|line| !line.is_empty());
    let why = why.map_or_else(|| output.status.to_string(), str::to_owned);
    Err(Failure { step: step(), why, errno: 0 })
}

fn spawn(command: &mut Command) -> io::Result<Running> {
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    Ok(Running { pid, pidfd: pidfd_open(pid, PidfdFlags::empty())? })
}

/// Whether a program listens in this namespace, on this port if there is one; on the loopback address nobody reaches it.
fn listens(port: Option<u16>) -> bool {
    // States of `net/tcp_states.h`: a TCP socket that listens, a UDP socket without a peer.
    [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")].into_iter().any(
        |(file, state)| {
            let table = fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
            listens_in(&table, state, port)
        },
    )
}

/// The same of a table of sockets (`/proc/net/tcp`, proc_pid_net(5)).
fn listens_in(table: &str, state: &str, port: Option<u16>) -> bool {
    const LOOPBACK: [&str; 2] = ["0100007F", "00000000000000000000000001000000"];
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let own = words.next().and_then(|own| own.split_once(':'));
        let Some(((address, bound), found)) = own.zip(words.nth(1)) else { return false };
        let is_port = port.is_none_or(|port| u16::from_str_radix(bound, 16) == Ok(port));
        found == state && is_port && !LOOPBACK.contains(&address)
    })
}

/// The relay's namespace and the hosts', the sockets of [`Reply::Built`], and what is lacking.
type Built = (Space, [Space; 2], Vec<OwnedFd>, Vec<String>);

fn build(plan: &Plan) -> Result<Built, Failure> {
    let mut lacking = Vec::new();
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|why| Failure::of("making mounts private", why))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if let Err(why) = mount(c"proc", c"/proc", c"proc", flags, None) {
        lacking.push(format!("programs see the host's /proc: a new mount: {why}"));
    }
    if let Some(text) = &plan.hosts
        && let Err(why) = show("/etc/hosts", text)
    {
        lacking.push(format!("programs cannot use the names server and client: {why}"));
    }
    if plan.outside
        && let Err(why) = show("/etc/resolv.conf", &format!("nameserver {}\n", outside::RESOLVER))
    {
        lacking.push(format!("programs cannot look names up: {why}"));
    }
    let spaces = || -> io::Result<(Space, [Space; 2])> {
        Ok((Space::current()?, [Space::new()?, Space::new()?]))
    };
    let (relay, hosts) = spaces().map_err(|why| Failure::of("network namespaces", why))?;
    relay.enter().map_err(|why| Failure::of("setns", why))?;
    quiet();
    let mut sockets = connect(&relay, &hosts, &Host::BOTH.map(|host| host.name().to_owned()))?;
    for host in Host::BOTH {
        hosts[host.index()].enter().map_err(|why| Failure::of("setns", why))?;
        let step = |why: io::Error| Failure::of(format!("setting up the {}", host.name()), why);
        configure(host, plan, &mut lacking).map_err(step)?;
        sockets.push(Sockets::open().map_err(step)?);
    }
    Ok((relay, hosts, sockets, lacking))
}

/// Connects two hosts with the relay; gives its packet sockets. `names` are those of its interfaces.
fn connect(
    relay: &Space,
    hosts: &[Space; 2],
    names: &[String; 2],
) -> Result<Vec<OwnedFd>, Failure> {
    relay.enter().map_err(|why| Failure::of("setns", why))?;
    let links = Links::open().map_err(|why| Failure::of("rtnetlink", why))?;
    let mut sockets = Vec::new();
    for (host, name) in Host::BOTH.into_iter().zip(names) {
        let step = |what: &str| {
            let step = format!("{what} to the {}", host.name());
            move |why: io::Error| Failure::of(step, why)
        };
        let there = (INTERFACE, mac(host), hosts[host.index()].0.as_fd());
        links.pair(name, there, MTU).map_err(step("a veth pair"))?;
        let index = links.index(name).map_err(step("the interface"))?;
        links.up(index).map_err(step("switching on the interface"))?;
        sockets.push(sys::packet_socket(index).map_err(step("a packet socket"))?);
    }
    Ok(sockets)
}

/// Lets programs see this text as that file. It is in a file system of its own, which goes with the namespace.
fn show(as_file: &str, text: &str) -> io::Result<()> {
    // `/sys` is any folder that is there: programs get another one.
    let (place, file) = ("/sys", "/sys/text");
    mount(c"tmpfs", place, c"tmpfs", MountFlags::NOSUID, None)?;
    let bound = fs::write(file, text).and_then(|()| Ok(mount_bind(file, as_file)?));
    rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH)?;
    bound
}

/// The relay's own stack says nothing on its interfaces.
fn quiet() {
    // Without IPv6 there is no such file, and nothing to silence.
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

/// What each host's network namespace is set to.
const SETTINGS: [(&str, &str); 6] = [
    ("ipv4/tcp_rmem", "4096 131072 6291456"),
    ("ipv4/tcp_wmem", "4096 16384 4194304"),
    ("ipv4/tcp_ecn", "2"),
    ("ipv4/tcp_ecn_fallback", "1"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/ip_no_pmtu_disc", "1"),
];

/// Sets a host's namespace up, and switches its interfaces on.
fn set_up(host: Host, lacking: &mut Vec<String>) -> io::Result<()> {
    let set = |name: &str, value: &str| fs::write(format!("/proc/sys/net/{name}"), value);
    for (name, value) in SETTINGS {
        if let Err(why) = set(name, value) {
            lacking.push(format!("{} {name}={value}: {why}", host.name()));
        }
    }
    let group = rustix::process::getgid().as_raw();
    if let Err(why) = set("ipv4/ping_group_range", &format!("{group} {group}")) {
        lacking.push(format!("ping on the {}: {why}", host.name()));
    }
    // No router is there to be asked, and no address is to be made.
    let _ = set(&format!("ipv6/conf/{INTERFACE}/addr_gen_mode"), "1");
    let _ = set(&format!("ipv6/conf/{INTERFACE}/accept_ra"), "0");
    let links = Links::open()?;
    links.up(links.index("lo")?)?;
    links.up(links.index(INTERFACE)?)
}

/// Leads packets from this address of a host's to that one of the other's.
fn lead(
    host: Host,
    (from, to, prefix): (IpAddr, IpAddr, u8),
    features: &RouteFeatures,
) -> io::Result<()> {
    let links = Links::open()?;
    let index = links.index(INTERFACE)?;
    links.address(index, from, prefix)?;
    links.neighbour(index, to, mac(host.other()))?;
    links.route(index, (to, prefix), from, features)
}

/// Lets a host hand over and take single packets.
fn switch_off(host: Host, lacking: &mut Vec<String>) -> io::Result<()> {
    let socket = socket(SocketKind::Udp)?;
    for (name, command) in sys::OFFLOADS {
        if let Err(why) = sys::switch_off(socket.as_fd(), INTERFACE, command) {
            lacking.push(format!("switching off {name} on the {}: {why}", host.name()));
        }
    }
    Ok(())
}

/// Sets a host up, in its namespace.
fn configure(host: Host, plan: &Plan, lacking: &mut Vec<String>) -> io::Result<()> {
    set_up(host, lacking)?;
    let other = host.other();
    let [plain, ecn, v6] = addresses(host);
    let programs = RouteFeatures { control: plan.control.clone(), ecn: plan.ecn };
    let asking = RouteFeatures { control: None, ecn: true };
    let to = addresses(other);
    for (from, to, prefix, features) in
        [(plain, to[0], 32, &programs), (ecn, to[1], 32, &asking), (v6, to[2], 128, &programs)]
    {
        match lead(host, (from, to, prefix), features) {
            Err(why) if from.is_ipv6() => {
                lacking.push(format!("IPv6 on the {}: {why}", host.name()));
            }
            other => other?,
        }
    }
    if plan.outside && host == Host::Client {
        let links = Links::open()?;
        links.gateway(links.index(INTERFACE)?, addresses(other)[0], plain, &programs)?;
    }
    if !plan.offload {
        switch_off(host, lacking)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_addresses_of_their_own() {
        let all: Vec<IpAddr> = Host::BOTH.into_iter().flat_map(addresses).collect();
        let words = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(words, "10.9.9.1 10.9.9.101 fd00:9:9::1 10.9.9.2 10.9.9.102 fd00:9:9::2");
        assert_ne!(mac(Host::Server), mac(Host::Client));
    }

    /// Lines as Linux 6.18 shows them.
    #[test]
    fn a_server_that_listens_is_found() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let line = |own: &str, state: &str| {
            format!(
                "{head}   0: {own} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000        0 1 1\n"
            )
        };
        let everywhere = line("00000000:01BB", "0A");
        assert!(listens_in(&everywhere, "0A", None) && listens_in(&everywhere, "0A", Some(443)));
        assert!(!listens_in(&everywhere, "0A", Some(80)) && !listens_in(&everywhere, "07", None));
        assert!(!listens_in(&line("0100007F:01BB", "0A"), "0A", None), "nobody reaches it");
        assert!(!listens_in(head, "0A", None) && !listens_in("", "0A", None));
    }
}
