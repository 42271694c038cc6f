//! A link that sends when its trace has a chance: Mahimahi's `mm-link`, with recordings of cellular networks as traces.
//!
//! At each chance the link takes waiting packets, one after the other, until 1504 bytes are used; a packet that does
//! not fit goes on with the next chance, and has left when its last byte has. The rest of a chance is lost when no
//! packet waits, and so is a chance without any packet. A packet counts by its IP packet and four bytes
//! (`link_queue.cc` of Mahimahi).
//!
//! Invariant: a link with waiting packets is called at each chance; so a past chance found no packet.

use crate::Sojourn;
use sojourn_model::{CHANCE, DeliveryTrace, TUNNEL_HEADER};
use sojourn_units::Time;

/// The Ethernet header, which queues count and the link does not.
const ETHERNET: u32 = 14;

/// The link, and the packet that is on it.
#[derive(Clone, Debug)]
pub struct Delivery<P> {
    trace: DeliveryTrace,
    /// The next chance: its place in the trace, and how often the trace has started over.
    place: usize,
    rounds: u64,
    /// Bytes left of the chances of one moment.
    left: u64,
    /// That moment.
    moment: Time,
    /// The packet on the link, how it waited, and how many of its bytes are still to be sent.
    sending: Option<(P, Sojourn, u64)>,
}

impl<P> Delivery<P> {
    /// An idle link at time zero.
    pub fn new(trace: DeliveryTrace) -> Self {
        Self { trace, place: 0, rounds: 0, left: 0, moment: Time::ZERO, sending: None }
    }

    /// When the next chance comes.
    pub fn next_chance(&self) -> Time {
        let within = self.trace.chances().get(self.place).copied().unwrap_or(0);
        let before = self.rounds.saturating_mul(self.trace.period_ms().into());
        Time::from_millis(before.saturating_add(within.into()))
    }

    /// Takes all chances until now: those before it found no packet.
    fn take_chances(&mut self, now: Time) {
        if self.moment < now {
            (self.moment, self.left) = (now, 0);
        }
        loop {
            let chance = self.next_chance();
            if chance > now {
                return;
            }
            if chance == now {
                self.left += u64::from(CHANCE);
            }
            self.place += 1;
            if self.place == self.trace.chances().len() {
                (self.place, self.rounds) = (0, self.rounds + 1);
            }
        }
    }

    /// Whether it could take a packet now.
    pub fn is_ready(&mut self, now: Time) -> bool {
        self.take_chances(now);
        self.sending.is_none() && self.left > 0
    }

    /// Takes a packet of `wire_len` bytes, as queues count them.
    pub fn take(&mut self, packet: P, sojourn: Sojourn, wire_len: u32) {
        debug_assert!(self.sending.is_none(), "one packet at a time");
        let bytes = wire_len.saturating_sub(ETHERNET) + TUNNEL_HEADER;
        self.sending = Some((packet, sojourn, bytes.into()));
    }

    /// The packet that has its last byte leave now.
    pub fn leave(&mut self, now: Time) -> Option<(P, Sojourn)> {
        self.take_chances(now);
        let (.., to_send) = self.sending.as_mut()?;
        let now_sent = self.left.min(*to_send);
        self.left -= now_sent;
        *to_send -= now_sent;
        if *to_send > 0 {
            return None;
        }
        self.sending.take().map(|(packet, sojourn, _)| (packet, sojourn))
    }

    /// What is on the link.
    pub fn held(&self) -> Option<&P> {
        self.sending.as_ref().map(|(packet, ..)| packet)
    }

    /// The same, when the link is gone.
    pub fn into_held(self) -> Option<P> {
        self.sending.map(|(packet, ..)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Span;

    fn delivery(chances: &[u32]) -> Delivery<u32> {
        Delivery::new(DeliveryTrace::new(chances.to_vec()).unwrap())
    }

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    fn waited() -> Sojourn {
        Sojourn { waited: Span::ZERO, class: None }
    }

    /// What leaves in a run of this trace, when packets of these lengths (as queues count them) wait from the beginning.
    fn departures(chances: &[u32], lengths: &[u32], calls: u64) -> Vec<(u64, u32)> {
        let mut link = delivery(chances);
        let mut waiting = lengths.iter();
        let mut left = Vec::new();
        for _ in 0..calls {
            let now = link.next_chance();
            loop {
                if let Some((length, _)) = link.leave(now) {
                    left.push((now.as_nanos() / 1_000_000, length));
                }
                if !link.is_ready(now) {
                    break;
                }
                let Some(&length) = waiting.next() else { break };
                link.take(length, waited(), length);
            }
        }
        left
    }

    /// A full packet takes one chance; two chances in one millisecond send two; after the last one the trace starts
    /// over.
    #[test]
    fn full_packets_take_a_chance_each() {
        let left = departures(&[1, 3, 3, 10], &[1514; 7], 5);
        let at: Vec<u64> = left.iter().map(|(at, _)| *at).collect();
        // By hand: 1, 3, 3, 10; then 11, 13, 13.
        assert_eq!(at, [1, 3, 3, 10, 11, 13, 13]);
    }

    /// By hand: acknowledgements of 52 bytes of IP count 56. A chance of 1504 bytes takes 26 of them and 48 bytes of the next, which goes
    /// on with eight bytes of the second chance.
    #[test]
    fn small_packets_share_a_chance_and_one_goes_on() {
        let left = departures(&[5, 9], &[66; 30], 2);
        let first = left.iter().filter(|(at, _)| *at == 5).count();
        assert_eq!((first, left.len()), (26, 30));
        assert!(left[26..].iter().all(|(at, _)| *at == 9));
    }

    /// A chance without a packet is gone, and so is the rest of one when no packet waits.
    #[test]
    fn nothing_is_saved_for_later() {
        let mut link = delivery(&[1, 2, 3]);
        assert!(link.is_ready(ms(2)));
        link.take(7, waited(), 66);
        assert_eq!(link.leave(ms(2)).map(|(packet, _)| packet), Some(7));
        // 1448 bytes are left of this chance, but not in the next moment.
        let later = ms(2) + Span::from_micros(1);
        assert!(!link.is_ready(later));
        assert_eq!(link.next_chance(), ms(3));
        link.take(8, waited(), 1514);
        assert_eq!(link.leave(later), None);
        assert_eq!(link.leave(ms(3)).map(|(packet, _)| packet), Some(8));
        assert_eq!(link.next_chance(), ms(4));
    }

    /// Mahimahi's loop, written from its words alone: every chance in its order, on a queue that always has packets.
    #[test]
    fn a_backlog_leaves_as_by_the_naive_loop() {
        let mut draws = sojourn_units::Random::named(3, "delivery");
        for _ in 0..200 {
            let mut at = 0;
            let chances: Vec<u32> = (0..=draws.below(30))
                .map(|_| {
                    at += draws.below(4) as u32;
                    at
                })
                .collect();
            if at == 0 {
                continue;
            }
            let lengths: Vec<u32> = (0..60).map(|_| 60 + draws.below(1455) as u32).collect();
            let mut naive = Vec::new();
            let (mut next, mut gone) = (0, 0_u32);
            'rounds: for round in 0.. {
                for &chance in &chances {
                    let mut bytes = CHANCE;
                    while bytes > 0 {
                        let Some(&length) = lengths.get(next) else { break 'rounds };
                        let take = bytes.min(length - 10 - gone);
                        (bytes, gone) = (bytes - take, gone + take);
                        if gone == length - 10 {
                            naive.push((round * u64::from(at) + u64::from(chance), length));
                            (next, gone) = (next + 1, 0);
                        }
                    }
                }
            }
            let ours = departures(&chances, &lengths, 500);
            assert_eq!(ours, naive, "{chances:?}");
        }
    }
}
