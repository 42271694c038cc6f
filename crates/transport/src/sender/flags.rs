//! The findings about an ACK.

/// The findings about an ACK (`FLAG_*`).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flags {
    pub(super) una_advanced: bool,
    /// It reports marks.
    pub(super) ece: bool,
    /// Packets newly known to be marked.
    pub(super) ce: u32,
    pub(super) data_sacked: bool,
    pub(super) dsack_tlp: bool,
    pub(super) original_delivered: bool,
    pub(super) retransmission_acked: bool,
    pub(super) lost_retransmission: bool,
    /// Nothing new at all: neither data acknowledged nor a window update nor a duplicate reported.
    pub(super) is_duplicate: bool,
    /// As that, and nothing SACKed either; a reported duplicate does not matter.
    pub(super) is_pure_duplicate: bool,
    /// The retransmission timer is to start again.
    pub(super) set_timer: bool,
}
