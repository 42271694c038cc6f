//! Who may send when: EDCA with one access category (IEEE 802.11-2016, 10.22.2), between the two ends of a link and
//! neighbours.
//!
//! A station with frames counts a backoff down in idle slots, after AIFS of silence; it stands still while another
//! sends; at zero it sends. Stations that reach zero in one slot collide. After each exchange a new backoff is drawn, from
//! a window that doubles when there was no answer, up to the limit of retries. A station that has had nothing for longer than its backoff, on an
//! idle channel, sends at once.
//!
//! Neighbours' transfers come as a Poisson process. Each is a station of its own, which contends until it has sent
//! exponentially distributed airtime, the BlockAcks counted in, in exchanges as long as they may be.
//!
//! Invariant: a station asks again at the time of the last answer. So time passes in order, and the neighbours'
//! transfers in between are worked out when a station asks: [`Channel::turn`] first carries out all those that begin
//! earlier.

use super::airtime::{AIFS, CW_MAX, CW_MIN, REPLY, RETRY_LIMIT, SLOT};
use sojourn_model::Neighbours;
use sojourn_units::{Random, Span, Time, sample};

/// The channels of a run. A port knows the number of its own.
pub type Air = Vec<Channel>;

/// One station's countdown.
#[derive(Clone, Copy, Debug)]
struct Contender {
    /// Whether it has anything to send.
    wants: bool,
    /// Slots that are left, counted from `from`.
    slots: u32,
    from: Time,
    window: u32,
    /// Exchanges in a row without an answer.
    failures: u32,
}

impl Contender {
    const fn new() -> Self {
        Self { wants: false, slots: 0, from: Time::ZERO, window: CW_MIN, failures: 0 }
    }

    /// When it sends if nobody does before.
    fn at(&self) -> Time {
        self.from + SLOT * u64::from(self.slots)
    }

    /// Has something from now on.
    fn request(&mut self, now: Time, random: &mut Random) {
        if self.wants {
            return;
        }
        self.wants = true;
        if self.at() > now && self.slots > 0 {
            return;
        }
        // The countdown after the last exchange is over.
        self.slots = 0;
        if now < self.from {
            self.draw(random);
        } else {
            self.from = now;
        }
    }

    fn draw(&mut self, random: &mut Random) {
        self.slots = random.below(u64::from(self.window) + 1) as u32;
    }

    /// Its exchange has ended this way.
    fn sent(&mut self, answered: bool, random: &mut Random) {
        self.failures = if answered { 0 } else { self.failures + 1 };
        // At the limit of retries the window is the least again (10.22.2.2).
        self.failures %= RETRY_LIMIT;
        self.window = match self.failures {
            0 => CW_MIN,
            _ => (2 * self.window + 1).min(CW_MAX),
        };
        self.draw(random);
    }

    /// The channel is taken from `start` on and idle again at `end`.
    fn stand_still(&mut self, start: Time, end: Time) {
        let passed = start.since(self.from).as_nanos() / SLOT.as_nanos();
        self.slots = self.slots.saturating_sub(passed.min(u64::from(u32::MAX)) as u32);
        self.from = end + AIFS;
    }
}

/// A neighbour's transfer.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    contender: Contender,
    /// Airtime that it has yet to take.
    left: Span,
}

/// The answer to a station that asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Not yet; ask again at this time.
    Wait(Time),
    /// It sends now; another does too if so.
    Send {
        /// Whether what it sends is lost.
        collides: bool,
    },
}

/// The channel and those who use it.
#[derive(Clone, Debug)]
pub struct Channel {
    stations: Vec<Contender>,
    /// Stations that send in the slot that began at this time because another's exchange began there too.
    tied: Vec<bool>,
    tie: Time,
    idle_from: Time,
    neighbours: Option<Neighbours>,
    transfers: Vec<Transfer>,
    next_transfer: Time,
    /// The longest exchange of a neighbour, data.
    longest: Span,
    arrivals: Random,
    backoffs: Random,
    /// Airtime that neighbours have taken without a collision, reply included.
    foreign: Span,
}

impl Channel {
    /// An idle channel that nobody has joined; streams for what neighbours have to send, and for backoffs. `longest` is
    /// how much data a neighbour's exchange has at most.
    pub fn new(
        neighbours: Option<Neighbours>,
        longest: Span,
        arrivals: Random,
        backoffs: Random,
    ) -> Self {
        let mut channel = Self {
            stations: Vec::new(),
            tied: Vec::new(),
            tie: Time::NEVER,
            idle_from: Time::ZERO,
            neighbours,
            transfers: Vec::new(),
            next_transfer: Time::NEVER,
            longest,
            arrivals,
            backoffs,
            foreign: Span::ZERO,
        };
        channel.next_transfer = channel.transfer_after(Time::ZERO);
        channel
    }

    /// Another station; its number.
    pub fn join(&mut self) -> usize {
        self.stations.push(Contender::new());
        self.tied.push(false);
        self.stations.len() - 1
    }

    /// Airtime that neighbours have had.
    pub const fn foreign(&self) -> Span {
        self.foreign
    }

    fn transfer_after(&mut self, now: Time) -> Time {
        let Some(n) = &self.neighbours else { return Time::NEVER };
        if n.load <= 0.0 {
            return Time::NEVER;
        }
        let between = Span::from_secs_f64(n.transfer.as_secs_f64() / n.load);
        now + sample::exponential(between, &mut self.arrivals).max(Span::from_nanos(1))
    }

    /// Lets everything happen that neighbours begin before `now`.
    fn pass(&mut self, now: Time) {
        loop {
            let first = self.transfers.iter().map(|t| t.contender.at()).min();
            let at = first.unwrap_or(Time::NEVER);
            if at.min(self.next_transfer) >= now {
                return;
            }
            if self.next_transfer <= at {
                self.begin_transfer();
            } else {
                let senders = self.transfers.iter().filter(|t| t.contender.at() == at).count();
                self.neighbours_send(at, senders > 1);
            }
        }
    }

    fn begin_transfer(&mut self) {
        let Some(n) = self.neighbours else { return };
        let at = self.next_transfer;
        let left = sample::exponential(n.transfer, &mut self.arrivals).max(REPLY * 2);
        let mut contender = Contender { from: self.idle_from + AIFS, ..Contender::new() };
        contender.request(at, &mut self.backoffs);
        self.transfers.push(Transfer { contender, left });
        self.next_transfer = self.transfer_after(at);
    }

    /// Neighbours with their turn at `at` send.
    fn neighbours_send(&mut self, at: Time, collide: bool) {
        let mut longest = Span::ZERO;
        let mut senders = Vec::new();
        for (i, transfer) in self.transfers.iter_mut().enumerate() {
            if transfer.contender.at() == at {
                let airtime = transfer.left.min(self.longest + REPLY);
                longest = longest.max(airtime);
                senders.push(i);
                if !collide {
                    transfer.left -= airtime;
                    self.foreign += airtime;
                }
            }
        }
        self.take(at, at + longest);
        for &i in &senders {
            self.transfers[i].contender.sent(!collide, &mut self.backoffs);
        }
        self.transfers.retain(|t| !t.left.is_zero());
    }

    /// The channel is taken, at least until `end`.
    fn take(&mut self, start: Time, end: Time) {
        self.idle_from = self.idle_from.max(end);
        let transfers = self.transfers.iter_mut().map(|t| &mut t.contender);
        for contender in self.stations.iter_mut().chain(transfers) {
            contender.stand_still(start, self.idle_from);
        }
    }

    /// Station `id` has something to send: may it? With [`Turn::Send`] as the answer it sends, and calls
    /// [`Channel::send`].
    pub fn turn(&mut self, now: Time, id: usize) -> Turn {
        if self.tie == now && core::mem::take(&mut self.tied[id]) {
            return Turn::Send { collides: true };
        }
        self.pass(now);
        self.stations[id].request(now, &mut self.backoffs);
        let at = self.stations[id].at();
        if at > now {
            return Turn::Wait(at);
        }
        let mut collides = self.transfers.iter().any(|t| t.contender.at() == now);
        self.tie = now;
        for (other, contender) in self.stations.iter().enumerate() {
            self.tied[other] = other != id && contender.wants && contender.at() == now;
            collides |= self.tied[other];
        }
        if collides && self.transfers.iter().any(|t| t.contender.at() == now) {
            self.neighbours_send(now, true);
        }
        Turn::Send { collides }
    }

    /// Station `id`, at its turn, sends for `data`, and waits for the reply. `answered` says whether that comes, `more`
    /// whether the station has more. Returns when the channel is idle again, as far as is known.
    pub fn send(&mut self, now: Time, id: usize, data: Span, answered: bool, more: bool) -> Time {
        self.take(now, now + data + REPLY);
        let station = &mut self.stations[id];
        station.sent(answered, &mut self.backoffs);
        station.wants = more;
        self.idle_from
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
