//! The way out of a shell: `pasta` (passt.top) carries what leaves the relay's namespace by sockets of the host's.
//!
//! ```text
//! client ══ veth ══ relay ══ tap ══ pasta ── sockets ── the machine's network
//! ```
//!
//! pasta needs no privilege. It makes a tap device in the relay's namespace and ends TCP and UDP of the client there: it answers
//! for each peer and opens a socket on the host for it. So the queue carries the client's connection with pasta, and the machine's
//! network a second one. The client's congestion control sends uploads; pasta sends downloads, within the window of the host's
//! own socket.
//!
//! Invariants: nobody reaches a port of the machine's loopback address by it (`--no-map-gw`), nor the client from outside; it ends
//! with this process, however that ends, and with [`Outside`].

use crate::protocol::Failure;
use crate::sys;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::process::{Child, Command, Stdio};

/// The tap device.
pub(crate) const DEVICE: &str = "outside";
/// Where the client asks for names; pasta passes it on to the machine's own resolver.
pub(crate) const RESOLVER: &str = "10.9.9.53";
/// Its process's name in errors.
const STEP: &str = "starting pasta";

/// A running pasta.
#[derive(Debug)]
pub(crate) struct Outside {
    child: Child,
    /// What it writes.
    said: File,
}

impl Outside {
    /// Starts it for the network namespace of this process.
    pub(crate) fn start(process: u32) -> Result<Self, Failure> {
        let of = |why: io::Error| Failure::of(STEP, why);
        let memory = rustix::fs::memfd_create("pasta", rustix::fs::MemfdFlags::CLOEXEC);
        let said = File::from(memory.map_err(|why| of(why.into()))?);
        let mut command = Command::new("pasta");
        let (mtu, process) = (crate::helper::MTU.to_string(), process.to_string());
        command.args(["--foreground", "--ipv4-only", "--mtu", &mtu, "--ns-ifname", DEVICE]);
        command.args(["--no-map-gw", "--no-dhcp", "--dns-forward", RESOLVER]);
        for ports in ["--tcp-ports", "--udp-ports", "--tcp-ns", "--udp-ns"] {
            command.args([ports, "none"]);
        }
        if rustix::process::geteuid().is_root() {
            // As another user it could not enter the namespace.
            command.args(["--runas", "0:0"]);
        }
        command.arg(&process).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(said.try_clone().map_err(of)?);
        sys::before(&mut command, || {
            Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
        });
        let child = command.spawn().map_err(of)?;
        Ok(Self { child, said })
    }

    /// Why it has ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<Failure> {
        let status = self.child.try_wait().ok().flatten()?;
        let mut text = String::new();
        let read = self.said.rewind().and_then(|()| self.said.read_to_string(&mut text));
        Some(Failure {
            step: STEP.to_owned(),
            why: why(read.map_or("", |_| &text), &status.to_string()),
            errno: 0,
        })
    }
}

/// The last thing that it said besides its trouble with the machine's log; its status if it said nothing.
fn why(text: &str, status: &str) -> String {
    let said = text.lines().map(str::trim).rev();
    let mut said = said.filter(|line| !line.is_empty() && !line.contains("to syslog"));
    said.next().unwrap_or(status).to_owned()
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_last_word_is_the_reason() {
        let text = "Failed to send 47 bytes to syslog\nCouldn't open user namespace: Permission denied\n\
                    Failed to send 9 bytes to syslog\n";
        assert_eq!(why(text, "exit status: 1"), "Couldn't open user namespace: Permission denied");
        assert_eq!(why("", "exit status: 1"), "exit status: 1");
    }
}
