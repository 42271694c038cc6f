//! The engine's side of the helper: it starts the process and asks it for namespaces, programs and sockets.

use crate::netlink::Sockets;
use crate::outside::Outside;
use crate::protocol::{self, Failure, Host, Order, Pair, Plan, Program, Reply, SocketKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::time::Timespec;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

/// How to start a process that calls [`crate::helper_main`] with the number that is appended as the last argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HelperCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before the number.
    pub arguments: Vec<OsString>,
}

/// How often the device to the outside is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// How long the helper may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Namespaces, which are there as long as this is.
pub(crate) struct Lab {
    socket: OwnedFd,
    helper: Child,
    /// Programs that were seen to end while another answer was expected.
    exited: Vec<(u32, i32)>,
}

/// What the namespaces give the engine, each of the server and of the client.
pub(crate) struct Ends {
    /// Packet sockets of the relay's interfaces.
    pub(crate) links: [OwnedFd; 2],
    /// For questions about TCP sockets.
    pub(crate) sockets: [Sockets; 2],
    /// Optional parts that could not be set up.
    pub(crate) lacking: Vec<String>,
}

impl Lab {
    /// Starts the helper and has it make the namespaces.
    pub(crate) fn open(command: &HelperCommand, plan: Plan) -> Result<(Self, Ends), Failure> {
        let of = |step: &'static str| move |why: io::Error| Failure::of(step, why);
        let (ours, theirs) = protocol::pair()
            .and_then(|(a, b)| fcntl_setfd(&b, FdFlags::empty()).map(|()| (a, b)))
            .map_err(|why| Failure::of("a socket pair", why))?;
        let helper = Command::new(&command.program)
            .args(&command.arguments)
            .arg(theirs.as_raw_fd().to_string())
            .spawn()
            .map_err(of("starting the helper"))?;
        drop(theirs);
        let mut lab = Self { socket: ours, helper, exited: Vec::new() };
        let (reply, fds) = lab.ask(&Order::Build(plan))?;
        let Reply::Built { lacking } = reply else { return Err(lab.unexpected(&reply)) };
        let ends = lab.ends(lacking, fds)?;
        Ok((lab, ends))
    }

    /// Starts a program, its output to this file if there is one; the number tells it from others.
    pub(crate) fn start(
        &mut self,
        host: Host,
        words: &[OsString],
        output: Option<BorrowedFd<'_>>,
    ) -> Result<u32, Failure> {
        let order = Order::Start { host, words: words.to_vec() };
        match self.ask_with(&order, output.as_slice())? {
            (Reply::Started(number), _) => Ok(number),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Makes a pair of hosts more; the pairs are numbered from 1 on.
    pub(crate) fn pair(&mut self, pair: Pair) -> Result<Ends, Failure> {
        let (reply, fds) = self.ask(&Order::Pair(pair))?;
        let Reply::Built { lacking } = reply else { return Err(self.unexpected(&reply)) };
        self.ends(lacking, fds)
    }

    /// Makes a queue by the kernel: where packets come back, and sockets that send into it.
    pub(crate) fn queue(
        &mut self,
        number: usize,
        words: &[String],
    ) -> Result<(OwnedFd, Vec<OwnedFd>), Failure> {
        match self.ask(&Order::Queue(number, words.to_vec()))? {
            (Reply::Queue, mut fds) if fds.len() > 1 => {
                let back = fds.remove(0);
                Ok((back, fds))
            }
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Starts the way to the outside: the packet socket of its device.
    pub(crate) fn outside(&mut self) -> Result<(Outside, OwnedFd), Failure> {
        let mut outside = Outside::start(self.helper.id())?;
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            match self.ask(&Order::Outside)? {
                (Reply::Outside(true), mut fds) if fds.len() == 1 => {
                    return Ok((outside, fds.remove(0)));
                }
                (Reply::Outside(false), _) => {}
                (other, _) => return Err(self.unexpected(&other)),
            }
            if let Some(failure) = outside.ended() {
                return Err(failure);
            }
            std::thread::sleep(LOOK);
        }
        Err(self.unexpected(&"pasta made no device"))
    }

    fn ends(&mut self, lacking: Vec<String>, fds: Vec<OwnedFd>) -> Result<Ends, Failure> {
        let Ok([server, client, server_tcp, client_tcp]) = <[OwnedFd; 4]>::try_from(fds) else {
            return Err(self.unexpected(&"too few descriptors"));
        };
        let sockets = [Sockets::new(server_tcp), Sockets::new(client_tcp)];
        Ok(Ends { links: [server, client], sockets, lacking })
    }

    /// Starts a program of a flow on a host of a pair, its output to this file; the number tells it from others.
    pub(crate) fn program(
        &mut self,
        pair: usize,
        host: Host,
        program: &Program,
        output: BorrowedFd<'_>,
    ) -> Result<u32, Failure> {
        let of = |why: io::Error| Failure::of("describing a program", why);
        let text = memfd_create("program", MemfdFlags::CLOEXEC).map_err(|why| of(why.into()))?;
        let mut text = File::from(text);
        let bytes = serde_json::to_vec(program).map_err(|why| of(why.into()))?;
        text.write_all(&bytes).map_err(of)?;
        match self.ask_with(&Order::Program(pair, host), &[output, text.as_fd()])? {
            (Reply::Started(number), _) => Ok(number),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Whether a program of a pair's server listens, on this port if there is one.
    pub(crate) fn listens(&mut self, pair: usize, port: Option<u16>) -> Result<bool, Failure> {
        match self.ask(&Order::Listens(pair, port))? {
            (Reply::Listens(listens), _) => Ok(listens),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Asks the programs of a pair to end, or kills them.
    pub(crate) fn end(&mut self, pair: usize, kill: bool) -> Result<(), Failure> {
        match self.ask(&Order::End(pair, kill))? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// A socket of a host.
    pub(crate) fn socket(&mut self, host: Host, kind: SocketKind) -> Result<OwnedFd, Failure> {
        match self.ask(&Order::Socket(host, kind))? {
            (Reply::Socket, mut fds) if fds.len() == 1 => Ok(fds.remove(0)),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    /// Becomes readable when the helper has something to say.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// A program that has ended, if one has: its number, and its exit status or the negative number of the signal that ended it.
    /// Waits for nothing.
    ///
    /// # Errors
    /// The helper is gone.
    pub(crate) fn exited(&mut self) -> Result<Option<(u32, i32)>, Failure> {
        if let Some(exited) = self.exited.pop() {
            return Ok(Some(exited));
        }
        if !self.readable(Duration::ZERO) {
            return Ok(None);
        }
        match self.receive()? {
            (Reply::Exited(number, status), _) => Ok(Some((number, status))),
            (other, _) => Err(self.unexpected(&other)),
        }
    }

    fn ask(&mut self, order: &Order) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        self.ask_with(order, &[])
    }

    fn ask_with(
        &mut self,
        order: &Order,
        attached: &[BorrowedFd<'_>],
    ) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        protocol::send(self.socket.as_fd(), order, attached)
            .map_err(|why| Failure::of("asking the helper", why))?;
        loop {
            if !self.readable(PATIENCE) {
                return Err(self.unexpected(&"no answer"));
            }
            match self.receive()? {
                (Reply::Failed(failure), _) => return Err(failure),
                (Reply::Exited(number, status), _) => self.exited.push((number, status)),
                answer => return Ok(answer),
            }
        }
    }

    fn readable(&self, within: Duration) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        let timeout = Timespec::try_from(within).ok();
        loop {
            match poll(&mut fds, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                found => return found.is_ok_and(|ready| ready > 0),
            }
        }
    }

    fn receive(&mut self) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        let answer = protocol::receive(self.socket.as_fd());
        let answer = answer.map_err(|why| Failure::of("the helper's answer", why))?;
        answer.ok_or_else(|| self.unexpected(&"it has ended"))
    }

    fn unexpected(&mut self, what: &dyn std::fmt::Debug) -> Failure {
        let status = self.helper.try_wait().ok().flatten();
        let ended = status.map_or(String::new(), |status| format!(", {status}"));
        Failure { step: "the helper".to_owned(), why: format!("{what:?}{ended}"), errno: 0 }
    }
}

impl Drop for Lab {
    /// Everything in the namespaces is killed before this returns.
    fn drop(&mut self) {
        // The helper waits for PID 1, which leaves when its socket closes; the kernel waits for all of its PID namespace.
        let closed = protocol::pair().map(|(closed, _)| closed);
        if let Ok(closed) = closed {
            self.socket = closed;
            let _ = self.helper.wait();
        } else {
            let _ = self.helper.kill();
            let _ = self.helper.wait();
        }
    }
}
