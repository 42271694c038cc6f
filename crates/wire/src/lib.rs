//! Packets as bytes: captures write them ([`Ip`]), engines with real hosts read and change them ([`Frame`]).
//!
//! Formats are those of RFC 791 (IPv4), RFC 8200 (IPv6), RFC 9293 (TCP), RFC 768 (UDP), RFC 3168 (the ECN field) and RFC
//! 2474 (DSCP). Checksums after a change in place follow RFC 1624; segmentation follows Linux's GSO
//! (`inet_gso_segment`, `tcp_gso_segment`, `__udp_gso_segment`, 7.3).
//!
//! Invariants:
//! - Any bytes may arrive. A frame that is cut off, malformed or not IP is still a frame: it has no flow, no ECN field
//!   and no transport header, and nothing changes its bytes.
//! - Setting a field changes that field and the checksums that cover it. A checksum that was wrong stays wrong by the
//!   same amount.

mod forward;
mod frame;
mod join;
mod segments;
mod write;

pub use frame::{Frame, TcpView, Transport};
pub use join::{ChecksumAt, Joined};
pub use write::{Addresses, Ip, TTL, ZEROS, length};
