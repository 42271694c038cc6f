//! A link that words name, as whoever writes one sees it: when it takes the next packet of its queue, and when that packet is at
//! the other end.
//!
//! A link holds no packets: the port keeps those on the way ([`OnLink`]). The port asks [`Link::ready`] while packets wait and
//! hands each one over by [`Link::take`]; packets arrive in the order in which they were taken. An experiment names the link next
//! to the hop's rate: `link = "slotted every 5ms open 1ms"`. It comes in by [`Elements::add_link`](crate::Elements::add_link), in
//! this crate by its `mod` line and an entry of `links!` (`lib.rs`).
//!
//! Invariants: a link draws from its own stream alone; `ready` and `take` are called in the order of time, and `ready` may be
//! asked twice about the same packet.

use crate::{Poll, Sojourn};
use core::fmt::Debug;
use sojourn_qdisc::{Backlog, Dequeued, Packet, QdiscQuirks, Reason, Settings, TcError, TcTokens};
use sojourn_units::{Random, Rate, Time};
use std::collections::VecDeque;

/// The fate of a packet that the link has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is at the other end at this time, or when the packet before it is, whichever is later.
    Arrives(Time),
    /// It is lost on the way.
    Lost(Reason),
    /// Only its first bytes have left. The link takes the rest, before any other packet, when it is ready again ([`Link::resume`]).
    Cut,
}

/// When a link sends.
pub trait Link: CloneLink + Debug + Send {
    /// When it takes the next packet, or the rest of one: `now`, or later. `waiting` counts the packets of the discipline, at least one
    /// unless the link has cut a packet.
    fn ready(&mut self, now: Time, waiting: Backlog) -> Time;

    /// Takes a packet of `bytes`, Ethernet header included; `left` counts the packets that the discipline still holds.
    fn take(&mut self, now: Time, bytes: u32, left: Backlog) -> Fate;

    /// Takes the rest of the packet that it has cut.
    fn resume(&mut self, now: Time) -> Fate {
        Fate::Arrives(now)
    }

    /// Sets its rate, for an event that sets one; false if it has none.
    fn set_rate(&mut self, _rate: Rate) -> bool {
        false
    }
}

/// Copies a boxed link: every link that is `Clone` has it.
pub trait CloneLink {
    /// A copy in a box of its own.
    fn clone_box(&self) -> Box<dyn Link>;
}

impl<L: Link + Clone + 'static> CloneLink for L {
    fn clone_box(&self) -> Box<dyn Link> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Link> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A [`Link`] that words name.
pub trait NamedLink: Link + Sized + 'static {
    /// Its options. Their table ([`Settings::INFO`]) has its name.
    type Options: Settings;

    /// The options behind its name, read to the end of the words.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    fn options(words: &mut TcTokens<'_>) -> Result<Self::Options, TcError> {
        Self::Options::read(words, &QdiscQuirks::default())
    }

    /// One with these options and the hop's rate that has seen no packet yet.
    fn new(options: Self::Options, rate: Rate, random: Random) -> Self;
}

/// A link and the packets on it.
#[derive(Clone, Debug)]
pub struct OnLink<P> {
    link: Box<dyn Link>,
    /// A packet that the link has cut, and how it waited.
    cut: Option<(Sojourn, P)>,
    /// When each is at the other end, and how it waited.
    on_way: VecDeque<(Time, Sojourn, P)>,
}

/// The queue in front of a link.
pub(crate) trait Queue<P> {
    /// The packets that it holds.
    fn backlog(&self) -> Backlog;
    /// Its next packet, with the time that it waited.
    fn dequeue(&mut self, now: Time) -> Dequeued<(P, Sojourn)>;
    /// The link has lost a packet.
    fn lost(&mut self, now: Time, packet: P, reason: Reason);
}

impl<P: Packet> OnLink<P> {
    /// The link without packets.
    pub fn new(link: Box<dyn Link>) -> Self {
        Self { link, cut: None, on_way: VecDeque::new() }
    }

    /// The packet that arrives now.
    fn arrived(&mut self, now: Time) -> Option<(P, Sojourn)> {
        if self.on_way.front()?.0 > now {
            return None;
        }
        self.on_way.pop_front().map(|(_, sojourn, packet)| (packet, sojourn))
    }

    /// Moves packets from the queue to the link while it takes them. Returns an arrival, or the time of the next poll.
    pub(crate) fn serve(&mut self, now: Time, queue: &mut impl Queue<P>) -> Poll<P> {
        let mut wake = Time::NEVER;
        loop {
            let waiting = queue.backlog();
            if waiting.packets == 0 && self.cut.is_none() {
                break;
            }
            let at = self.link.ready(now, waiting);
            if at > now {
                wake = at;
                break;
            }
            if let Some((sojourn, packet)) = self.cut.take() {
                let fate = self.link.resume(now);
                self.put(now, packet, sojourn, fate, queue);
                continue;
            }
            match queue.dequeue(now) {
                Dequeued::Packet((packet, sojourn)) => {
                    let fate = self.link.take(now, packet.wire_len(), queue.backlog());
                    self.put(now, packet, sojourn, fate, queue);
                }
                Dequeued::Wait(at) => {
                    wake = at;
                    break;
                }
                Dequeued::Empty => break,
            }
        }
        match self.arrived(now) {
            Some((packet, sojourn)) => Poll::Packet(packet, sojourn),
            None => Poll::Later(wake.min(self.on_way.front().map_or(Time::NEVER, |first| first.0))),
        }
    }

    /// Puts a packet where the link says.
    fn put(
        &mut self,
        now: Time,
        packet: P,
        sojourn: Sojourn,
        fate: Fate,
        queue: &mut impl Queue<P>,
    ) {
        match fate {
            Fate::Arrives(at) => {
                let at = at.max(self.on_way.back().map_or(now, |last| last.0));
                self.on_way.push_back((at, sojourn, packet));
            }
            Fate::Lost(reason) => queue.lost(now, packet, reason),
            Fate::Cut => self.cut = Some((sojourn, packet)),
        }
    }

    pub(crate) fn set_rate(&mut self, rate: Rate) -> bool {
        self.link.set_rate(rate)
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &P> {
        self.on_way
            .iter()
            .map(|(.., packet)| packet)
            .chain(self.cut.iter().map(|(_, packet)| packet))
    }

    pub(crate) fn into_held(self) -> impl Iterator<Item = P> {
        let cut = self.cut.into_iter().map(|(_, packet)| packet);
        self.on_way.into_iter().map(|(.., packet)| packet).chain(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Walker;
    use sojourn_units::Span;

    /// Takes a packet each millisecond; cuts each in two and loses the third.
    #[derive(Clone, Debug, Default)]
    struct Halves {
        taken: u32,
        next: Time,
    }

    impl Link for Halves {
        fn ready(&mut self, now: Time, _waiting: Backlog) -> Time {
            now.max(self.next)
        }

        fn take(&mut self, now: Time, _bytes: u32, _left: Backlog) -> Fate {
            self.taken += 1;
            self.next = now + Span::from_millis(1);
            if self.taken == 3 { Fate::Lost(Reason::Policer) } else { Fate::Cut }
        }

        fn resume(&mut self, now: Time) -> Fate {
            self.next = now + Span::from_millis(1);
            Fate::Arrives(now + Span::from_millis(1))
        }
    }

    #[derive(Default)]
    struct Waiting {
        packets: VecDeque<Walker>,
        lost: Vec<usize>,
    }

    impl Queue<Walker> for Waiting {
        fn backlog(&self) -> Backlog {
            let packets = self.packets.len() as u32;
            Backlog { packets, bytes: u64::from(packets) * 1514 }
        }

        fn dequeue(&mut self, _now: Time) -> Dequeued<(Walker, Sojourn)> {
            let next = self.packets.pop_front();
            next.map_or(Dequeued::Empty, |packet| {
                Dequeued::Packet((packet, Sojourn { waited: Span::ZERO, class: None }))
            })
        }

        fn lost(&mut self, _now: Time, packet: Walker, _reason: Reason) {
            self.lost.push(packet.flow);
        }
    }

    #[test]
    fn the_rest_of_a_packet_goes_before_any_other_even_if_none_waits() {
        let mut queue = Waiting::default();
        queue.packets.extend((0..4).map(|flow| Walker { flow, ..Walker::default() }));
        let mut link = OnLink::new(Box::new(Halves::default()));
        let (mut now, mut arrived, mut held) = (Time::ZERO, Vec::new(), Vec::new());
        while now < Time::NEVER {
            held.push(link.held().count());
            match link.serve(now, &mut queue) {
                Poll::Packet(packet, _) => arrived.push((packet.flow, now.as_nanos() / 1_000_000)),
                Poll::Later(at) => now = at,
            }
        }
        // Each takes two milliseconds and arrives one after its second half; the third is lost at once.
        assert_eq!(arrived, [(0, 2), (1, 4), (3, 7)]);
        assert_eq!(queue.lost, [2]);
        assert!(held.iter().all(|packets| *packets <= 2), "{held:?}");
        assert_eq!(link.into_held().count(), 0);
    }
}
