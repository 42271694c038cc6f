//! quinn: the crate `quinn-proto`.

use quinn_proto as proto;

mod bbr;
mod control;
mod crypto;
mod own;

#[path = "../ends.rs"]
mod ends;

pub(crate) use ends::Ends;
