//! Real hosts around Sojourn's queues on the machine's clock: the live engine and `sojourn shell`, without root, and `sojourn
//! router` between interfaces of the machine.
//!
//! Programs and kernel TCP run in network namespaces of their own, on an unmodified kernel. Between them stands a relay in user
//! space that carries every frame through [`sojourn_net::Network`]: the same disciplines, delays and middleboxes as in the
//! simulator. `docs/live.md` says how it works, what it measures of itself, and when a run is not valid.
//!
//! Invariants: the host's own interfaces, routes and settings stay untouched; nothing outlives the process that runs the
//! relay, however that ends; programs cannot reach the relay's namespace; the model's clock is the machine's, but a packet's
//! time in a queue depends on its arrival and the queue alone. A router is the exception to the first two: it adds routing rules,
//! which only SIGKILL leaves behind.

pub mod advice;
mod clock;
mod control;
mod conversation;
mod engine;
mod found;
mod furnish;
mod helper;
mod hosts;
mod info;
mod kernel_queue;
mod lab;
mod load;
mod netlink;
mod next_hop;
mod observe;
mod outside;
mod packet;
mod programs;
mod protocol;
mod relay;
mod router;
mod routing;
mod session;
mod shell;
mod sys;
mod validity;

pub use engine::Live;
pub use helper::main as helper_main;
pub use lab::HelperCommand;
pub use packet::Packet;
pub use protocol::Failure;
pub use router::{Refusal, Router, RouterError, router};
pub use session::Window;
pub use shell::{Ended, Shell, ShellError, shell};
pub use validity::{MOST_BUSY, MOST_LATE_S, MOST_STOPPED, Validity};

/// The engine's name.
pub const NAME: &str = "live";

/// The kernel of this machine, as results name it.
fn machine() -> String {
    let name = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    format!("{} {} {}", part(name.sysname()), part(name.release()), part(name.machine()))
}
