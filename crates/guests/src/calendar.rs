//! The loop that gives each guest its time.
//!
//! Invariants: see the crate's. Besides: a guest that kicks a card waits for the answer, and gets it when it has
//! acknowledged the new end of its free time, for what it sent may come back before the old one.

use crate::NEVER;
use crate::clock::{Asks, Clock, MESSAGE, Message, Misplaced, Op, State};
use crate::link::Link;
use crate::nic::{BadCard, Done, Nic, RECEIVE, SEND};
use crate::shared::Shared;
use crate::vhost::{BadMessage, CALL_ANSWER, HEADER, Header, Request, call};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Everything around the guests. It has no clock of its own: the calendar passes the time, in nanoseconds from the start of
/// the first guest.
pub trait World {
    /// When it next acts; [`NEVER`] if it does not.
    fn next(&mut self) -> u64;

    /// Does everything that is due at `now`.
    ///
    /// # Errors
    /// What ends the run.
    fn advance(&mut self, now: u64) -> Result<(), String>;

    /// The next frame that is for a card, by the cards' numbers.
    fn arrived(&mut self) -> Option<(usize, Vec<u8>)>;

    /// A card sends a frame.
    ///
    /// # Errors
    /// What ends the run.
    fn sent(&mut self, now: u64, nic: usize, frame: Vec<u8>) -> Result<(), String>;

    /// Whether the run goes on: asked every few thousand messages, each second of virtual time, and ten times a second while no
    /// guest says anything.
    fn goes_on(&mut self, now: u64) -> bool;
}

/// A guest, as its kernel is to be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plugged {
    /// What errors call it.
    pub name: String,
    /// The addresses of its cards. All guests' cards are numbered in this order.
    pub cards: Vec<[u8; 6]>,
    /// The largest packet that its cards carry, bytes; 1500 without it.
    pub mtu: Option<u16>,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A guest broke a protocol.
    #[error("guest {guest} broke the protocol at {at} ns: {what}; its last message was {last}")]
    Guest {
        /// Which guest.
        guest: String,
        /// When.
        at: u64,
        /// What is wrong.
        what: String,
        /// Its last message before.
        last: String,
    },
    /// A guest said nothing for too long.
    #[error("guest {guest} said nothing for {seconds} s at {at} ns; its last message was {last}")]
    Silent {
        /// Which guest.
        guest: String,
        /// When.
        at: u64,
        /// For how long.
        seconds: u64,
        /// Its last message.
        last: String,
    },
    /// Time does not go on.
    #[error(
        "{turns} turns at {at} ns, and time does not go on; the last message of guest {guest} was {last}"
    )]
    Standstill {
        /// When.
        at: u64,
        /// How many.
        turns: u32,
        /// The guest that ran last.
        guest: String,
        /// Its last message.
        last: String,
    },
    /// Nobody wants to act any more.
    #[error("no guest and nothing around them has anything to do from {0} ns on")]
    Idle(u64),
    /// The run was given up.
    #[error("given up at {0} ns")]
    GivenUp(u64),
    /// The world's own.
    #[error("{0}")]
    World(String),
    /// This machine's.
    #[error("{0}: {1}")]
    Host(&'static str, #[source] io::Error),
}

/// How often a silent guest is looked after, in nanoseconds.
const LOOK: i64 = 100_000_000;
/// Messages after which the world says whether the run goes on.
const MESSAGES_BETWEEN_LOOKS: u32 = 4096;
/// How long a guest may run without asking, nanoseconds: one that waits for nothing would go on for ever.
const LONGEST: u64 = 1_000_000_000;
/// Turns at one time after which a run is given up.
const TURNS: u32 = 1 << 22;

/// A guest's clock, its socket, and what it said last.
#[derive(Debug)]
struct Guest {
    name: String,
    clock: Clock,
    link: Option<Link>,
    last: String,
}

/// A card, its sockets, and what waits for them.
#[derive(Debug)]
struct Card {
    guest: usize,
    nic: Nic,
    link: Option<Link>,
    channel: Option<Link>,
    /// The answer to a kick, and the number of the message that the guest acknowledges first.
    owed: Option<(u32, Vec<u8>)>,
    /// Frames for which the guest had no buffer yet.
    backlog: VecDeque<Vec<u8>>,
    /// The guest gets an interrupt for frames that left, or has new buffers for those that wait.
    due: bool,
    /// Whether the guest wants an interrupt for frames that left.
    left: bool,
    /// A call is under way.
    called: bool,
}

/// The clock and the cards of all guests of a run.
#[derive(Debug)]
pub struct Calendar {
    guests: Vec<Guest>,
    cards: Vec<Card>,
    clocks: UnixListener,
    plugs: Vec<UnixListener>,
    /// Who has connected to the clock, and not said who it is.
    unnamed: Vec<Link>,
    now: u64,
    running: Option<usize>,
    shared: Option<Shared>,
    /// Nanoseconds since 1970 at time 0.
    tod: u64,
    patience: u64,
    messages: u64,
}

impl Calendar {
    /// Listens in a folder, under names that [`Calendar::arguments`] gives to kernels; `patience` is after how many seconds of
    /// silence a guest is given up, and `tod` the time of day at the beginning, in nanoseconds since 1970.
    ///
    /// # Errors
    /// If that is not possible there.
    pub fn new(folder: &Path, guests: &[Plugged], tod: u64, patience: u64) -> Result<Self, Error> {
        let listen = |name: &str| {
            let listener = UnixListener::bind(folder.join(name));
            listener.map_err(|e| Error::Host("cannot listen for guests", e))
        };
        let mut cards = Vec::new();
        for (guest, plugged) in guests.iter().enumerate() {
            cards.extend(plugged.cards.iter().map(|&mac| Card {
                guest,
                nic: Nic::new(mac).with_mtu(plugged.mtu),
                link: None,
                channel: None,
                owed: None,
                backlog: VecDeque::new(),
                due: false,
                left: false,
                called: false,
            }));
        }
        let plugs = (0..cards.len()).map(|card| listen(&plug(card))).collect::<Result<_, _>>()?;
        let guests = guests.iter().map(|plugged| Guest {
            name: plugged.name.clone(),
            clock: Clock::default(),
            link: None,
            last: "none".to_owned(),
        });
        Ok(Self {
            guests: guests.collect(),
            cards,
            clocks: listen(CLOCK)?,
            plugs,
            unnamed: Vec::new(),
            now: 0,
            running: None,
            shared: None,
            tod,
            patience,
            messages: 0,
        })
    }

    /// Shares memory with guests that can, which is several times as fast as messages alone and changes no result.
    ///
    /// # Errors
    /// If this machine does not give such memory.
    pub fn sharing(mut self) -> Result<Self, Error> {
        self.shared = Some(Shared::new(self.guests.len()).map_err(SHARED)?);
        Ok(self)
    }

    /// The arguments of a guest's kernel, where the calendar's folder is `folder` (`../`, or nothing): names that are
    /// relative, since a kernel stirs its command line into its randomness.
    pub fn arguments(&self, guest: usize, folder: &str) -> Vec<String> {
        let own = (0..self.cards.len()).filter(|&card| self.cards[card].guest == guest);
        let cards = own
            .enumerate()
            .map(|(number, card)| format!("virtio_uml.device={folder}{}:1:{number}", plug(card)));
        std::iter::once(format!("time-travel=ext:{}:{folder}{CLOCK}", guest + 1))
            .chain(cards)
            .collect()
    }

    /// The time.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Messages that guests have sent.
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// What a guest said last.
    pub fn last(&self, guest: usize) -> &str {
        &self.guests[guest].last
    }

    /// Lets guests and world run until all guests have gone.
    ///
    /// # Errors
    /// Whatever ends it early.
    pub fn run(&mut self, world: &mut impl World) -> Result<(), Error> {
        let is_there = |guest: &Guest| guest.clock.state != State::Absent;
        self.serve(world, |calendar| calendar.guests.iter().all(is_there))?;
        // One after another, by their numbers: the order of their boots is not the host's.
        for guest in 0..self.guests.len() {
            self.begin(guest)?;
            self.until_it_waits(world, guest)?;
        }
        let (mut since, mut turns, mut asked) = (self.now, 0, self.now);
        loop {
            let next = (0..self.guests.len()).map(|g| (self.guests[g].clock.request, g)).min();
            let (request, guest) = next.unwrap_or((NEVER, 0));
            if self.guests.iter().all(|guest| guest.clock.state == State::Gone) {
                return Ok(());
            }
            let due = self.due(world);
            if due.min(request) == NEVER {
                // Unless a guest has just gone.
                if !self.listen()? {
                    return Err(Error::Idle(self.now));
                }
                while self.take_one(world)? {}
                continue;
            }
            self.now = due.min(request).max(self.now);
            turns = if self.now == since { turns + 1 } else { 0 };
            since = self.now;
            if turns > TURNS {
                let Guest { name, last, .. } = &self.guests[guest];
                let (guest, last) = (name.clone(), last.clone());
                return Err(Error::Standstill { at: self.now, turns, guest, last });
            }
            if self.now - asked >= LONGEST {
                asked = self.now;
                if !world.goes_on(self.now) {
                    return Err(Error::GivenUp(self.now));
                }
            }
            if due <= request {
                self.act(world)?;
            } else {
                let others = self.guests.iter().enumerate().filter(|(other, _)| *other != guest);
                let others = others.map(|(_, other)| other.clock.request);
                let free = others.fold(due, u64::min).min(self.now + LONGEST);
                self.runs(Some(guest), free)?;
                let messages = self.guests[guest].clock.run(self.now, free);
                self.tell(guest, &messages)?;
                self.until_it_waits(world, guest)?;
            }
        }
    }

    /// When the world or a card next acts.
    fn due(&self, world: &mut impl World) -> u64 {
        let is_due = |card: &Card| card.due && self.guests[card.guest].clock.state != State::Gone;
        if self.cards.iter().any(is_due) { self.now } else { world.next().max(self.now) }
    }

    fn until_it_waits(&mut self, world: &mut impl World, guest: usize) -> Result<(), Error> {
        self.serve(world, |calendar| {
            matches!(calendar.guests[guest].clock.state, State::Waiting | State::Gone)
        })?;
        self.running = None;
        Ok(())
    }

    /// A guest boots, and nobody else runs. It may not go on without asking.
    fn begin(&mut self, guest: usize) -> Result<(), Error> {
        let Some(answer) = self.guests[guest].clock.begin(self.now, guest as u16 + 1) else {
            return Ok(());
        };
        self.runs(Some(guest), self.now)?;
        let (Some(shared), Some(link)) = (&self.shared, &mut self.guests[guest].link) else {
            return self.tell(guest, &[Some(answer)]);
        };
        // The second is for a log, which kernels close at once.
        let there = link.send_with(&answer.bytes(), [shared.as_fd(), shared.as_fd()]);
        if !there.map_err(|e| Error::Host("cannot speak to a guest", e))? {
            self.leaves(guest);
        }
        Ok(())
    }

    /// A guest runs from now on, or nobody does.
    fn runs(&mut self, guest: Option<usize>, free: u64) -> Result<(), Error> {
        self.running = guest;
        let Some(shared) = &self.shared else { return Ok(()) };
        shared.run(guest, self.now, free).map_err(SHARED)
    }

    /// Looks at the guest's entries in the shared memory since its last message, if it uses that.
    fn look(&mut self, guest: usize) -> Result<(), Error> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let clock = &mut self.guests[guest].clock;
        if !clock.shares {
            clock.shares = shared.is_used_by(guest).map_err(SHARED)?;
        }
        if !clock.shares {
            return Ok(());
        }
        if clock.state == State::Running {
            let now = shared.now().map_err(SHARED)?;
            if let Err(misplaced) = clock.reaches(now, self.now) {
                return Err(self.broke_it(guest, describe(&misplaced)));
            }
            self.now = now;
        } else if let Some(request) = shared.request(guest).map_err(SHARED)? {
            clock.ask(request, self.now);
        }
        Ok(())
    }

    /// World and cards do what is due; nobody runs.
    fn act(&mut self, world: &mut impl World) -> Result<(), Error> {
        self.runs(None, NEVER)?;
        world.advance(self.now).map_err(Error::World)?;
        while let Some((card, frame)) = world.arrived() {
            self.cards[card].backlog.push_back(frame);
            self.cards[card].due = true;
        }
        for number in 0..self.cards.len() {
            if !std::mem::take(&mut self.cards[number].due) {
                continue;
            }
            let has_come = self.hand_over(number).map_err(|e| self.broke(number, &e))?;
            if std::mem::take(&mut self.cards[number].left) {
                self.call(world, number, SEND)?;
            }
            if has_come {
                self.call(world, number, RECEIVE)?;
            }
        }
        Ok(())
    }

    /// Gives a guest the frames that it has buffers for; returns whether it wants an interrupt.
    fn hand_over(&mut self, number: usize) -> Result<bool, BadCard> {
        let card = &mut self.cards[number];
        let mut has_come = false;
        while let Some(frame) = card.backlog.front() {
            if !card.nic.receive(frame)? {
                break;
            }
            card.backlog.pop_front();
            has_come = true;
        }
        Ok(has_come && card.nic.wants_interrupt(RECEIVE)?)
    }

    /// Interrupts a guest, and waits until it has taken note.
    fn call(&mut self, world: &mut impl World, number: usize, ring: u32) -> Result<(), Error> {
        let card = &mut self.cards[number];
        let Some(channel) = &mut card.channel else { return Ok(()) };
        card.called =
            channel.send(&call(ring)).map_err(|e| Error::Host("cannot interrupt a guest", e))?;
        let guest = card.guest;
        self.serve(world, |calendar| {
            !calendar.cards[number].called || calendar.guests[guest].clock.state == State::Gone
        })
    }

    /// Sends messages to a guest's clock, together.
    fn tell(&mut self, guest: usize, messages: &[Option<Message>]) -> Result<(), Error> {
        let bytes: Vec<u8> = messages.iter().flatten().flat_map(Message::bytes).collect();
        let Some(link) = &mut self.guests[guest].link else { return Ok(()) };
        let there = link.send(&bytes).map_err(|e| Error::Host("cannot speak to a guest", e))?;
        if !there {
            self.leaves(guest);
        }
        Ok(())
    }

    /// A guest has gone.
    fn leaves(&mut self, guest: usize) {
        self.guests[guest].clock.leave();
        self.guests[guest].link = None;
        for card in self.cards.iter_mut().filter(|card| card.guest == guest) {
            (card.link, card.channel, card.owed, card.called) = (None, None, None, false);
            card.backlog.clear();
        }
    }

    fn broke_it(&self, guest: usize, what: String) -> Error {
        let Guest { name, last, .. } = &self.guests[guest];
        Error::Guest { guest: name.clone(), at: self.now, what, last: last.clone() }
    }

    fn broke(&self, card: usize, error: &BadCard) -> Error {
        self.broke_it(self.cards[card].guest, format!("card {card}: {error}"))
    }

    /// Takes messages, one at a time, until `is_done`.
    fn serve(
        &mut self,
        world: &mut impl World,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<(), Error> {
        let (mut silent, mut count) = (0, 0_u32);
        while !is_done(self) {
            if self.take_one(world)? {
                (silent, count) = (0, count + 1);
                self.messages += 1;
                if count.is_multiple_of(MESSAGES_BETWEEN_LOOKS) && !world.goes_on(self.now) {
                    return Err(Error::GivenUp(self.now));
                }
            } else if self.listen()? {
                silent = 0;
            } else {
                silent += 1;
                if !world.goes_on(self.now) {
                    return Err(Error::GivenUp(self.now));
                }
                if silent * LOOK >= (self.patience as i64).saturating_mul(1_000_000_000) {
                    return Err(self.silent());
                }
            }
        }
        Ok(())
    }

    fn silent(&self) -> Error {
        let expected = |guest: &Guest| match self.running {
            Some(running) => guest.name == self.guests[running].name,
            None => guest.clock.state != State::Gone,
        };
        let guest = self.guests.iter().find(|guest| expected(guest)).unwrap_or(&self.guests[0]);
        let (name, last) = (guest.name.clone(), guest.last.clone());
        Error::Silent { guest: name, at: self.now, seconds: self.patience, last }
    }

    /// Waits until something comes on any socket, and reads it; false if nothing does.
    fn listen(&mut self) -> Result<bool, Error> {
        let Self { guests, cards, clocks, plugs, unnamed, .. } = self;
        let links = guests.iter().filter_map(|guest| guest.link.as_ref());
        let of_cards = cards.iter().flat_map(|card| [card.link.as_ref(), card.channel.as_ref()]);
        let links = links.chain(of_cards.flatten()).chain(unnamed.iter());
        let mut polled: Vec<PollFd<'_>> =
            links.map(|link| PollFd::new(link, PollFlags::IN)).collect();
        // Sockets to listen on come last, those of cards that wait for their guests.
        let first = polled.len();
        polled.push(PollFd::new(clocks, PollFlags::IN));
        let waiting: Vec<usize> = (0..cards.len()).filter(|&i| cards[i].link.is_none()).collect();
        polled.extend(waiting.iter().map(|&i| PollFd::new(&plugs[i], PollFlags::IN)));
        let limit = Timespec { tv_sec: 0, tv_nsec: LOOK };
        let ready = match poll(&mut polled, Some(&limit)) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(e) => return Err(Error::Host("cannot wait for guests", e.into())),
        };
        if ready == 0 {
            return Ok(false);
        }
        let came: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(polled);
        let failed = |e| Error::Host("cannot read from a guest", e);
        let links = guests.iter_mut().filter_map(|guest| guest.link.as_mut());
        let of_cards =
            cards.iter_mut().flat_map(|card| [card.link.as_mut(), card.channel.as_mut()]);
        let links = links.chain(of_cards.flatten()).chain(unnamed.iter_mut());
        for (link, _) in links.zip(&came).filter(|(_, came)| **came) {
            link.fill().map_err(failed)?;
        }
        let accept = |listener: &UnixListener| {
            listener.accept().map(|(socket, _)| Link::new(OwnedFd::from(socket))).map_err(failed)
        };
        if came[first] {
            unnamed.push(accept(clocks)?);
        }
        for (&card, _) in waiting.iter().zip(&came[first + 1..]).filter(|(_, came)| **came) {
            cards[card].link = Some(accept(&plugs[card])?);
        }
        Ok(true)
    }

    /// Takes one message that is whole; false if there is none.
    fn take_one(&mut self, world: &mut impl World) -> Result<bool, Error> {
        for place in 0..self.unnamed.len() {
            if self.name(place)? {
                return Ok(true);
            }
        }
        for guest in 0..self.guests.len() {
            let Some(link) = &mut self.guests[guest].link else { continue };
            if let Some(bytes) = link.held().first_chunk::<MESSAGE>() {
                let message = Message::read(bytes);
                link.take(MESSAGE);
                self.clock(guest, message)?;
                return Ok(true);
            }
            if link.is_over() {
                self.leaves(guest);
                return Ok(true);
            }
        }
        for card in 0..self.cards.len() {
            if self.request(world, card)? || self.channel(card)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first message of whoever has connected to the clock says who it is.
    fn name(&mut self, place: usize) -> Result<bool, Error> {
        let link = &mut self.unnamed[place];
        if let Some(bytes) = link.held().first_chunk::<MESSAGE>() {
            let message = Message::read(bytes).ok();
            link.take(MESSAGE);
            let link = self.unnamed.remove(place);
            let number = message.and_then(|m| usize::try_from(m.time).ok()?.checked_sub(1));
            let guest = number.filter(|&g| g < self.guests.len() && self.guests[g].link.is_none());
            if let (Some(guest), Some(message)) = (guest, message) {
                self.guests[guest].link = Some(link);
                self.clock(guest, Ok(message))?;
            }
            return Ok(true);
        }
        if link.is_over() {
            self.unnamed.remove(place);
            return Ok(true);
        }
        Ok(false)
    }

    /// A message of a guest's clock.
    fn clock(&mut self, guest: usize, message: Result<Message, u32>) -> Result<(), Error> {
        let message =
            message.map_err(|op| self.broke_it(guest, format!("operation {op} of its clock")))?;
        self.look(guest)?;
        let taken = self.guests[guest].clock.take(&message, self.now, self.tod);
        let (answer, asks) = taken.map_err(|misplaced| {
            self.broke_it(guest, format!("{}: {}", message.op.name(), describe(&misplaced)))
        })?;
        let last = &mut self.guests[guest].last;
        last.clear();
        last.push_str(message.op.name());
        if let Asks::Time(time) = asks {
            self.now = time;
        }
        if answer.is_some() {
            self.tell(guest, &[answer])?;
        }
        if message.op == Op::Wait {
            self.look(guest)?;
        }
        match asks {
            Asks::Requested => {
                let request = self.guests[guest].clock.request;
                if let Some(running) = self.running.filter(|&running| running != guest) {
                    self.shorten(running, request)?;
                }
            }
            Asks::Answered(seq) => {
                let owed = |card: &Card| card.owed.as_ref().is_some_and(|(of, _)| *of == seq);
                let own = (0..self.cards.len()).filter(|&c| self.cards[c].guest == guest);
                let card = own.into_iter().find(|&c| owed(&self.cards[c]));
                if let Some(card) = card
                    && let Some((_, answer)) = self.cards[card].owed.take()
                {
                    self.answer(card, &answer)?;
                }
            }
            Asks::Nothing | Asks::Time(_) => {}
        }
        Ok(())
    }

    /// The guest that runs may go on no further than `end`; returns the number of the message that says so, if one does.
    fn shorten(&mut self, running: usize, end: u64) -> Result<Option<u32>, Error> {
        let clock = &mut self.guests[running].clock;
        if clock.state != State::Running || clock.free.is_some_and(|free| free <= end) {
            return Ok(None);
        }
        let end = end.max(self.now);
        if let (true, Some(shared)) = (clock.shares, &self.shared) {
            clock.free = Some(end);
            shared.set_free(end).map_err(SHARED)?;
            return Ok(None);
        }
        let message = clock.set_free(end);
        self.tell(running, &[Some(message)])?;
        Ok(Some(message.seq))
    }

    fn answer(&mut self, card: usize, bytes: &[u8]) -> Result<(), Error> {
        let Some(link) = &mut self.cards[card].link else { return Ok(()) };
        // If the guest has gone, its clock's socket says so.
        link.send(bytes).map_err(|e| Error::Host("cannot answer a guest", e)).map(drop)
    }

    /// A message of a card's driver.
    fn request(&mut self, world: &mut impl World, number: usize) -> Result<bool, Error> {
        let card = &mut self.cards[number];
        let Some(link) = &mut card.link else { return Ok(false) };
        let Some(head) = link.held().first_chunk::<HEADER>() else {
            if link.is_over() {
                card.link = None;
            }
            return Ok(false);
        };
        let guest = card.guest;
        let bad = |calendar: &Self, e: BadMessage| {
            calendar.broke_it(guest, format!("card {number}: {e}"))
        };
        let header = match Header::read(head) {
            Ok(header) => header,
            Err(e) => return Err(bad(self, e)),
        };
        let whole = HEADER + header.size as usize;
        let Some(payload) = link.held().get(HEADER..whole) else {
            if link.is_over() {
                card.link = None;
            }
            return Ok(false);
        };
        let request = match Request::read(&header, payload) {
            Ok(request) => request,
            Err(e) => return Err(bad(self, e)),
        };
        link.take(whole);
        let files = link.files();
        let last = &mut self.guests[guest].last;
        last.clear();
        last.push_str(request.name());
        let done = card.nic.take(&header, request, files).map_err(|e| self.broke(number, &e))?;
        match done {
            Done::Answer(answer) => self.answer(number, &answer)?,
            Done::Channel(channel, answer) => {
                self.cards[number].channel = Some(Link::new(channel));
                self.answer(number, &answer)?;
            }
            Done::Kicked(ring, answer) => {
                self.look(self.cards[number].guest)?;
                self.kicked(world, number, ring)?;
                let (guest, due) = (self.cards[number].guest, self.due(world));
                let waits_for = if self.running == Some(guest) && due != NEVER {
                    self.shorten(guest, due)?
                } else {
                    None
                };
                match waits_for {
                    Some(seq) => self.cards[number].owed = Some((seq, answer)),
                    None => self.answer(number, &answer)?,
                }
            }
        }
        Ok(true)
    }

    /// A guest has put something into a ring.
    fn kicked(&mut self, world: &mut impl World, number: usize, ring: u32) -> Result<(), Error> {
        if ring == RECEIVE {
            let card = &mut self.cards[number];
            card.due |= !card.backlog.is_empty();
            return Ok(());
        }
        let mut any = false;
        loop {
            let sent = self.cards[number].nic.sent().map_err(|e| self.broke(number, &e))?;
            let Some(frame) = sent else { break };
            any = true;
            world.sent(self.now, number, frame).map_err(Error::World)?;
        }
        let wants = self.cards[number].nic.wants_interrupt(SEND);
        if any && wants.map_err(|e| self.broke(number, &e))? {
            (self.cards[number].left, self.cards[number].due) = (true, true);
        }
        Ok(())
    }

    /// A guest's answer to a call.
    fn channel(&mut self, number: usize) -> Result<bool, Error> {
        let card = &mut self.cards[number];
        let Some(link) = &mut card.channel else { return Ok(false) };
        if link.held().len() >= CALL_ANSWER {
            link.take(CALL_ANSWER);
            let guest = card.guest;
            if !std::mem::take(&mut card.called) {
                return Err(self.broke_it(guest, format!("card {number}: an answer to no call")));
            }
            self.look(guest)?;
            return Ok(true);
        }
        if link.is_over() {
            (card.channel, card.called) = (None, false);
        }
        Ok(false)
    }
}

/// What fails where shared memory does.
const SHARED: fn(io::Error) -> Error = |e| Error::Host("the calendar's shared memory", e);

/// The clock's socket.
const CLOCK: &str = "clock.sock";

/// A card's socket.
fn plug(card: usize) -> String {
    format!("card{card}.sock")
}

fn describe(misplaced: &Misplaced) -> String {
    match misplaced {
        Misplaced::Order(state) => format!("it does not come while the guest is {state:?}"),
        Misplaced::Answer(seq, Some(right)) => {
            format!("it answers message {seq}, and {right} waits")
        }
        Misplaced::Answer(seq, None) => format!("it answers message {seq}, and none waits"),
        Misplaced::Time(time, now) => format!("time {time} ns, where the clock is at {now} ns"),
        Misplaced::Ours => "it is the calendar's own".to_owned(),
    }
}
