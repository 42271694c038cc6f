//! Adaptive streaming over one persistent connection: the client's decisions are [`Player`]'s; here its requests travel
//! to the server, and the segments back.
//!
//! The server writes a whole segment at once; between segments it is idle, so that its window restarts where the pause
//! was longer than a timeout. A segment that is given up for a lower level is cut off where the server is when it hears
//! of it, as HTTP/2's RST_STREAM does: what has left still comes.

use super::Wires;
use super::connection::{Connection, Template};
use crate::host::HostStack;
use crate::packet::{Owner, Packet};
use sojourn_model::Streaming as Settings;
use sojourn_transport::OwnDevice;
use sojourn_units::{Ecn, Random, Time};
use sojourn_workload::{Player, Wish};
use std::collections::VecDeque;

/// A stream: its client, its server and the connection.
#[derive(Debug)]
pub(crate) struct Streaming {
    settings: Settings,
    seed: u64,
    name: String,
    pub(crate) connection: Connection,
    /// The client, once it has started.
    pub(crate) player: Option<Player>,
    /// Wishes on their way, each with the bytes of requests after which the server has heard it.
    wishes: VecDeque<(u64, Wish)>,
    asked: u64,
    written: u64,
    /// Where the present segment begins and ends among the bytes of answers.
    segment: Option<(u64, u64)>,
}

impl Streaming {
    /// A stream at rest.
    pub(crate) fn new(
        settings: &Settings,
        (host, device): (HostStack<'_>, Option<OwnDevice>),
        seed: u64,
        name: &str,
        owner: Owner,
        random: &mut Random,
    ) -> Self {
        let template = Template::new(&settings.tcp, host, device, seed, name);
        Self {
            settings: settings.clone(),
            seed,
            name: name.to_owned(),
            connection: template.connection(owner, 0, random),
            player: None,
            wishes: VecDeque::new(),
            asked: 0,
            written: 0,
            segment: None,
        }
    }

    /// The viewer begins.
    pub(crate) fn start(&mut self, wires: &mut Wires<'_>) {
        self.player = Some(Player::new(wires.now, self.settings.clone(), self.seed, &self.name));
        self.connection.open(wires);
        self.go_on(wires);
    }

    /// The viewer ends: nothing more is asked for, and what has not left is not sent.
    pub(crate) fn stop(&mut self, now: Time) {
        if let Some(player) = &mut self.player {
            player.end(now);
        }
        self.connection.sends.stop(now);
        self.wishes.clear();
        self.segment = None;
    }

    /// When there is something to do.
    pub(crate) fn next(&self) -> Time {
        self.player.as_ref().map_or(Time::NEVER, Player::next).min(self.connection.next())
    }

    /// Does what is due.
    pub(crate) fn on_timer(&mut self, wires: &mut Wires<'_>) {
        if self.connection.next() <= wires.now {
            self.connection.on_timer(wires);
        }
        self.go_on(wires);
    }

    /// A packet has reached either end; returns a round-trip time if it tells one.
    pub(crate) fn on_packet(
        &mut self,
        wires: &mut Wires<'_>,
        packet: &Packet,
        ecn: Ecn,
    ) -> Option<u32> {
        self.connection.on_packet(wires, packet, ecn);
        while let Some(&(at, wish)) = self.wishes.front()
            && self.connection.heard() >= at
        {
            self.wishes.pop_front();
            self.serve(wires, wish);
        }
        self.go_on(wires);
        self.connection.new_rtt()
    }

    /// The server hears a wish.
    fn serve(&mut self, wires: &mut Wires<'_>, wish: Wish) {
        let bytes = match wish {
            Wish::Segment(bytes) => bytes,
            Wish::Instead(bytes) => {
                self.written -= self.connection.sends.discard_unsent();
                bytes
            }
        };
        self.segment = Some((self.written, self.written + bytes));
        self.written += bytes;
        self.connection.answer(wires, bytes);
    }

    /// The client sees what has come, and acts.
    fn go_on(&mut self, wires: &mut Wires<'_>) {
        let Some(player) = &mut self.player else { return };
        let taken = self.connection.taken();
        // While a wish is on its way, what comes is of a segment that the client no longer waits for.
        let awaited = self.segment.filter(|_| self.wishes.is_empty());
        let mut received = awaited.map_or(0, |(begin, _)| taken.saturating_sub(begin));
        if awaited.is_some_and(|(_, end)| taken >= end) {
            self.segment = None;
            received = 0;
            player.on_segment(wires.now);
        }
        while player.next() <= wires.now {
            if let Some(wish) = player.act(wires.now, received) {
                self.asked += u64::from(self.settings.request);
                self.wishes.push_back((self.asked, wish));
                self.connection.ask(wires, u64::from(self.settings.request));
                received = 0;
            }
        }
    }
}
