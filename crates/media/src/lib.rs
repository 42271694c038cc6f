//! Interactive media without I/O: what runs on the two ends of a call whose rate follows the path.
//!
//! An [`Encoder`] makes frames at the rate that it is told. A [`Receiver`] notes every packet that comes and reports it
//! ([`feedback`], RFC 8888). [`Sent`] reads such a report on the sender's side. [`Scream`] is the congestion control between
//! them: SCReAMv2 says when a packet may leave and what rate the encoder is to have.
//!
//! Nothing here has a clock, a socket or a source of randomness: times and streams of random numbers are arguments. Times in
//! the controls' formulas are seconds in binary floating point, as their texts have them, with the four operations and
//! comparisons alone, which are the same bits everywhere; a logarithm and a root come from `libm`.

mod encoder;
pub mod feedback;
mod receiver;
mod scream;
mod sent;

pub use encoder::{Encoder, EncoderSettings, Frame};
pub use receiver::{Receiver, ReportRules};
pub use scream::{Mode, Options, Scream, Switches};
pub use sent::{Digest, Sent};
