//! A wireless LAN at 2.4 GHz: stations that share one channel, half duplex (IEEE 802.11-2016, HT PHY).
//!
//! Its purpose: a link with a capacity that falls although its own rate does not, since others are on the air. Two
//! ports, one each way, contend with each other and with neighbours for the same airtime ([`channel`]: EDCA, one access
//! category); each exchange is an A-MPDU and its BlockAck, as long as the standard says ([`airtime`]); lost frames are
//! sent again and leave the receiver in order, and the rate follows a channel that gets better and worse
//! ([`transmitter`]).
//!
//! Left out: beacons and management, RTS/CTS, hidden stations and capture (all stations hear all, and frames that
//! overlap are all lost), EIFS (after a collision all wait AIFS), slot boundaries of EDCA as distinct from those of
//! DCF, power save, and frames lost on a neighbour's side.

pub mod airtime;
pub mod channel;
pub mod transmitter;

pub use channel::{Air, Channel};
pub use transmitter::Transmitter;
