//! TCP small queues (`tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write` in `net/ipv4/tcp_output.c`): how much of a
//! socket may wait in its own host.
//!
//! A socket has no more on its way through its host than two of the buffers that it would send next, or what its pacing
//! rate gives in a millisecond (eight where the device is a WiFi one: [`super::HostNic`]); it is woken when that has left.
//!
//! Where the bottleneck is another machine, a host's queue never holds anything back for longer than microseconds, and
//! there is nothing to model. Two cases are left.
//!
//! **Packets wait for the host's NIC** ([`Config::device`]). The device gives back what it has sent
//! ([`Sender::on_tx_completed`]), and a sender that was stopped goes on. Data held back then waits in the socket, in
//! nobody's round-trip time. A socket with nothing out is never stopped; from Linux 6.7 on, neither is one with a
//! single buffer out ("tcp: tsq: relax tcp_small_queue_check() when rtx queue contains a single skb", October 2023).
//!
//! **A netem on the sender's own machine before Linux 5.12** (see [`TcpQuirks::small_queue_wakes`]). It takes a packet over
//! within microseconds. It took it off the socket's account, but did not wake the socket. So one attempt to send by an
//! ACK sends about two bursts, since their packets stay with the host until the ACK is processed, and the rest of the
//! window waits for the next attempt.
//!
//! Mostly an ACK admits no more than that. But of a window of three, two segments leave, one by one (a burst is no larger
//! than half of the window): their account is just above what would let the third go. The window was not used up, so
//! it does not grow. A flow that marks have brought down to two or three segments stays there.
//!
//! A lone segment counts with 1280 bytes and its payload. A burst is cut into segments before it leaves, and there each
//! of those counts with what the allocator gives to one: [`PER_GSO_SEGMENT`].
//!
//! The other attempts are the application's (see [`super::send_buffer`]). It runs as a process: the host passes each
//! packet on before TCP makes the next, and nothing is held back.
//!
//! Left out: that a segment which the device still holds is not sent again (`skb_still_in_host_queue`), which the kernel
//! sees of bursts of one segment alone; and that a device which drops tells the sender (`NET_XMIT_DROP`).
//!
//! [`Config::device`]: super::Config::device
//! [`TcpQuirks::small_queue_wakes`]: crate::stack::TcpQuirks::small_queue_wakes

use super::Sender;
use super::account::{Kind, OVERHEAD, SmallQueue};
use super::output::Push;
use crate::segment::{Data, Output, Seq, before};
use sojourn_units::Time;

/// The count of a segment that was cut from a burst, which copies it (`skb_segment`, scatter and gather off like all
/// offloads): 2048 bytes from the allocator, for payload, room for headers and `skb_shared_info`, and `sk_buff`.
///
/// That it is not 4096 says that the kernel gives headers no more than 280 (`MAX_TCP_HEADER`: 272 where it knows wireless
/// networks without meshes and tunnels, as x86's default configuration does; 304 with meshes, as distributions have them).
/// It is inferred from slow start: with 4096 one burst would leave for each ACK, and CUBIC's mean window in its second
/// second at 80 ms would be 173 in `fq_codel flows 1 target 1ms interval 20ms` and 198 in `red limit 400000`, where
/// `ect1_timeseries.csv` has 135 and 156; with 2048 it is 135 and 154. In Linux 7.3 (User-Mode Linux) it is the same: two
/// CUBIC flows behind their host's queue of 50 Mbit/s at 20 ms have 35.9 and 12.0 Mbit/s there and with 2304 here, and 18.6
/// and 29.3 with 2728. Those kernels' tick of a millisecond is the default
/// configuration's, too.
const PER_GSO_SEGMENT: u64 = 2048 + 256;
/// Buffers on the way: two.
const BUFFERS: u64 = 2;
/// Never more than this of what is not paced (`net.ipv4.tcp_limit_output_bytes`).
const MOST: u64 = 1 << 20;

impl Sender {
    /// The bytes that a segment counts on its socket's account when it leaves its host (`truesize`).
    pub fn account_of(data: &Data) -> u64 {
        if data.gso_segment { PER_GSO_SEGMENT } else { OVERHEAD + u64::from(data.len) }
    }

    /// Whether the small queue keeps back a burst of `burst` segments. The limit is shifted for retransmissions, which
    /// may have twice as much.
    pub(super) fn small_queue_holds(&mut self, burst: u32, factor: u64) -> bool {
        let passes_single = self.quirks.small_queue_passes_single;
        let (now, una, nxt) = (self.tcb.view.now, self.tcb.view.una, self.tcb.view.nxt);
        let next = OVERHEAD + u64::from(burst * self.tcb.view.mss);
        let share =
            self.tcb.control.effective_pacing_rate(&self.tcb.view) >> self.tcb.view.pacing_shift;
        let mut limit = (BUFFERS * next).max(share);
        if !self.tcb.control.paced {
            limit = limit.min(MOST);
        }
        let Some(queue) = &mut self.tsq else { return false };
        let full = 1 + queue.held > limit * factor;
        match &mut queue.kind {
            Kind::Device { stopped, burst } => {
                let single = passes_single && !before(una, *burst);
                let holds = full && una != nxt && !single;
                *stopped |= holds;
                holds
            }
            Kind::Unwoken(unwoken) => full && unwoken.at == now,
        }
    }

    /// A burst of this payload leaves, with `first` as its first segment; or one segment again.
    pub(super) fn fill_small_queue(&mut self, first: Option<Seq>, segments: u32, payload: u32) {
        let now = self.tcb.view.now;
        let Some(queue) = &mut self.tsq else { return };
        let mut account = if segments > 1 {
            u64::from(segments) * PER_GSO_SEGMENT
        } else {
            OVERHEAD + u64::from(payload)
        };
        match &mut queue.kind {
            Kind::Device { burst, .. } => *burst = first.unwrap_or(*burst),
            Kind::Unwoken(unwoken) => {
                if unwoken.at != now {
                    (unwoken.at, queue.held) = (now, 0);
                }
                if unwoken.in_process {
                    account = 0;
                }
            }
        }
        queue.held += account;
    }

    /// The host's NIC has sent, or dropped, packets that count `bytes` on the account ([`Sender::account_of`], summed);
    /// data held back may leave now (`tcp_wfree`, `tcp_tsq_write`).
    pub fn on_tx_completed(&mut self, now: Time, bytes: u64, out: &mut impl Output) {
        let Some(SmallQueue { held, kind: Kind::Device { stopped, .. } }) = &mut self.tsq else {
            return;
        };
        *held = held.saturating_sub(bytes);
        if core::mem::take(stopped) {
            self.tcb.view.now = now;
            self.retransmit_lost(out);
            self.write(Push::Normal, out);
        }
    }
}
