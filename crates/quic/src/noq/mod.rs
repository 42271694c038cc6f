//! noq: the crate `noq-proto`, which began as quinn's.

use noq_proto as proto;

mod bbr3;
mod control;
mod crypto;
mod own;

#[path = "../ends.rs"]
mod ends;

pub(crate) use ends::Ends;
