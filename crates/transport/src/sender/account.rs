//! A socket's account of its packets inside its own host; the small queue uses it ([`super::small_queue`]).

use crate::segment::Seq;
use sojourn_units::Time;

/// The device of the sender's own host, where packets wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostNic {
    /// It may hold a 2^nth of a second at the pacing rate (`sk_pacing_shift`).
    pub pacing_shift: u32,
}

impl HostNic {
    /// A wired one: a 2^10th of a second, about a millisecond.
    pub const WIRED: Self = Self { pacing_shift: 10 };
    /// A WiFi one: a 2^7th, about 8 ms, so that there is enough to aggregate (`hw.tx_sk_pacing_shift`, set in
    /// `ieee80211_alloc_hw_nm` of `net/mac80211/main.c`: 7 unless the driver says otherwise, in all the kernels here. It
    /// began with 4.16, "mac80211: Adjust TSQ pacing shift"; before, a WiFi device was like any).
    pub const WIFI: Self = Self { pacing_shift: 7 };
}

/// What a packet costs on top of its payload: head of 704 bytes, `sk_buff` of 256, `skb_shared_info` of 320
/// (`MAX_TCP_HEADER` of 272 or more, to which the allocator gives 1024). Cut into segments, each has one.
pub(super) const OVERHEAD: u64 = 1280;

/// A socket's account of its packets inside its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallQueue {
    /// Bytes on it (`sk_wmem_alloc`, less the one that an idle socket has).
    pub(super) held: u64,
    pub(super) kind: Kind,
}

/// Who takes packets off the account.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// The host's NIC, as packets leave it.
    Device {
        /// Whether the sender was stopped (`TSQ_THROTTLED`).
        stopped: bool,
        /// First segment of the buffer sent last.
        burst: Seq,
    },
    /// A netem, within microseconds and without telling.
    Unwoken(Unwoken),
}

/// The packets that an attempt to send has put on their way.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Unwoken {
    /// When.
    pub(super) at: Time,
    /// Whether it is the application that sends.
    pub(super) in_process: bool,
}

impl SmallQueue {
    /// The account of a sender before its NIC, or else on a host that wakes it or not; none where there is nothing
    /// to keep.
    pub(super) fn new(device: Option<HostNic>, wakes: bool) -> Option<Self> {
        let kind = match device {
            Some(_) => Kind::Device { stopped: false, burst: 0 },
            None if wakes => return None,
            None => Kind::Unwoken(Unwoken::default()),
        };
        Some(Self { held: 0, kind })
    }

    /// Whether the sender is not woken.
    pub(super) fn is_unwoken(&self) -> bool {
        matches!(self.kind, Kind::Unwoken(_))
    }

    /// The application begins or ends to send: the packets on the account have passed through the host.
    pub(super) fn set_in_process(&mut self, in_process: bool) {
        if let Kind::Unwoken(unwoken) = &mut self.kind {
            unwoken.in_process = in_process;
            self.held = 0;
        }
    }
}
