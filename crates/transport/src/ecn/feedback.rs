//! The sender's side: what an ACK says about marks, and CWR.

use super::accurate::Decoder;
use super::{Agreed, Flags};

/// The marks that the sender has read, and its debt to the peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcnFeedback {
    decoder: Decoder,
    /// The next new segment tells the peer that the window was reduced (RFC 3168 §6.1.2).
    cwr_pending: bool,
}

/// What an ACK is known to be before its marks are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckInfo {
    /// Packets that it delivers.
    pub(crate) delivered: u32,
    /// Marked packets known so far.
    pub(crate) counted: u32,
    /// Whether it acknowledges, or is newer than what came before: an overtaken one would look like a wrap.
    pub(crate) is_news: bool,
}

impl EcnFeedback {
    /// For a decoder that takes the least number always, or only where that is safe.
    pub(crate) fn new(takes_least: bool) -> Self {
        Self { decoder: Decoder::new(takes_least), cwr_pending: false }
    }

    /// Newly marked packets; none when the ACK says that nothing was. RFC 3168's ECE stands for all that the ACK
    /// delivers, and may stand for none.
    #[inline]
    pub(crate) fn read(&mut self, agreed: Agreed, flags: Flags, clues: AckInfo) -> Option<u32> {
        match agreed {
            Agreed::Off => None,
            Agreed::Rfc3168 => flags.ece.then_some(clues.delivered),
            Agreed::AccEcn if !clues.is_news => None,
            Agreed::AccEcn => {
                let n = self.decoder.newly_marked(flags.ace(), clues.counted, clues.delivered);
                (n > 0).then_some(n)
            }
        }
    }

    /// Whether the ACK echoes SCE (`tcp_ecn_rcv_sce_echo`).
    #[inline]
    pub(crate) fn echoes_sce(agreed: Agreed, flags: Flags) -> bool {
        agreed == Agreed::Rfc3168 && flags.ae
    }

    /// The window has been reduced: the peer may stop to echo.
    pub(crate) fn reduced(&mut self, agreed: Agreed) {
        self.cwr_pending = agreed == Agreed::Rfc3168;
    }

    /// The reduction is taken back.
    pub(crate) fn restored(&mut self) {
        self.cwr_pending = false;
    }

    /// Whether the new segment that leaves now says CWR.
    #[inline]
    pub(crate) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.cwr_pending)
    }
}
