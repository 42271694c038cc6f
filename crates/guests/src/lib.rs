//! The clock and the network cards of User-Mode Linux guests.
//!
//! A kernel that is started with `time-travel=ext:ID:SOCKET` asks another process for its time, and one with
//! `virtio_uml.device=SOCKET:1` gets a network card from it. [`Calendar`] is both: it lets the guest with the earliest request
//! run, never beyond the next event of the [`World`], and moves frames between the guests' cards and that world. Sources:
//! Linux 7.3, `include/uapi/linux/um_timetravel.h`, `arch/um/kernel/time.c`, `arch/um/drivers/virtio_uml.c`; the vhost-user
//! protocol of QEMU (`docs/interop/vhost-user.rst`); virtio 1.2 §2.7 (split rings) and §5.1 (network devices).
//!
//! Invariants:
//! - One guest runs at a time; the world acts while none does.
//! - At one time the world acts first, then guests in the order of their numbers. The order in which messages reach this
//!   process from different guests decides nothing.
//! - A guest's reply to a message is never awaited while the guest itself waits for one of ours.
//! - Any bytes may come from a guest. A message that breaks a protocol ends the run with an error that names the guest and the
//!   message; so does a guest that ends in the middle of one. Nothing is read outside of the memory that a guest shares.
//!
//! The trick: all access to a guest's memory goes through reads and writes of the file that it shares, so that no pointer
//! into it exists and a guest that shrinks its file causes an error and no fault.

mod calendar;
pub mod clock;
mod link;
mod memory;
pub mod nic;
pub mod ring;
mod shared;
pub mod vhost;

pub use calendar::{Calendar, Error, Plugged, World};
pub use memory::{Memory, OutOfBounds};

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;
