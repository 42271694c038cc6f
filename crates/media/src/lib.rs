//! Interactive media without I/O: both ends of a call with a rate that follows the path.
//!
//! An [`Encoder`] makes frames at its target rate. A [`Receiver`] notes every packet that comes and reports it
//! ([`feedback`], RFC 8888). [`Sent`] reads such a report on the sender's side. A [`MediaControl`] is between them: it
//! says when a packet may leave and what rate the encoder is to have. There are [`Scream`] (SCReAMv2), [`Prague`] (UDP
//! Prague) and [`Gcc`] (Google Congestion Control).
//!
//! Nothing here has a clock, a socket or a source of randomness: times and streams of random numbers are arguments. Times in
//! the controls' formulas are seconds in binary floating point, as their texts have them, with the four operations and
//! comparisons alone, which are the same bits everywhere; a logarithm, a root and a power come from `libm`.

mod control;
mod encoder;
pub mod feedback;
mod gcc;
mod prague;
mod receiver;
mod scream;
mod sent;

pub use control::{Measured, MediaControl};
pub use encoder::{Encoder, EncoderSettings, Frame};
pub use gcc::{Gcc, GccOptions};
pub use prague::{Prague, PragueOptions};
pub use receiver::{Receiver, ReportRules};
pub use scream::{Mode, Options, Scream, Switches};
pub use sent::{Arrived, Digest, Sent};
