//! Adaptive streaming over one persistent connection: the client's decisions are [`Player`]'s; here its requests travel
//! to the server, and the segments back.
//!
//! The server writes a whole segment at once; between segments it is idle, so that its window restarts where the pause
//! was longer than a timeout. A segment that is given up for a lower level is cut off where the server is when it hears
//! of it, as HTTP/2's RST_STREAM does: data already sent still arrives.

use super::connection::{Connection, Template};
use super::half::HalfPath;
use super::interface::App;
use super::report::{FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_model::{Streaming as Settings, Traffic};
use sojourn_path::SkbCharge;
use sojourn_transport::LimitedTimes;
use sojourn_units::Time;
use sojourn_workload::{Player, Wish};
use std::collections::VecDeque;

/// A stream: its client, its server and the connection.
#[derive(Debug)]
pub(crate) struct Streaming {
    settings: Settings,
    seed: u64,
    name: String,
    connection: Connection,
    /// The client, once it has started.
    player: Option<Player>,
    /// Wishes on their way, each with the bytes of requests after which the server has heard it.
    wishes: VecDeque<(u64, Wish)>,
    asked: u64,
    written: u64,
    /// Where the present segment begins and ends among the bytes of answers.
    segment: Option<(u64, u64)>,
}

impl FromFlow for Streaming {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let flow = setup.flow;
        let Traffic::Streaming(settings) = &flow.traffic else { return None };
        let (host, device, seed, owner) = (setup.host, setup.device, setup.seed, setup.owner);
        let template = Template::new(&settings.tcp, host, device, seed, &flow.name);
        let path = HalfPath { owner, routes: setup.routes, dscp: flow.dscp, turned: false };
        Some(Self {
            settings: settings.clone(),
            seed,
            name: flow.name.clone(),
            connection: template.connection(path, false, 0, setup.random),
            player: None,
            wishes: VecDeque::new(),
            asked: 0,
            written: 0,
            segment: None,
        })
    }
}

impl Streaming {
    /// The server hears a wish.
    fn serve(&mut self, tx: &mut HostTx<'_>, wish: Wish) {
        let bytes = match wish {
            Wish::Segment(bytes) => bytes,
            Wish::Instead(bytes) => {
                self.written -= self.connection.answers.sender.discard_unsent();
                bytes
            }
        };
        self.segment = Some((self.written, self.written + bytes));
        self.written += bytes;
        self.connection.answer(tx, bytes);
    }

    /// The client sees what has come, and acts.
    fn go_on(&mut self, tx: &mut HostTx<'_>) {
        let Some(player) = &mut self.player else { return };
        let taken = self.connection.taken();
        // While a wish is on its way, arriving data is of a segment that the client no longer waits for.
        let awaited = self.segment.filter(|_| self.wishes.is_empty());
        let mut received = awaited.map_or(0, |(begin, _)| taken.saturating_sub(begin));
        if awaited.is_some_and(|(_, end)| taken >= end) {
            self.segment = None;
            received = 0;
            player.on_segment(tx.now());
        }
        while player.next() <= tx.now() {
            if let Some(wish) = player.act(tx.now(), received) {
                self.asked += u64::from(self.settings.request);
                self.wishes.push_back((self.asked, wish));
                self.connection.ask(tx, u64::from(self.settings.request));
                received = 0;
            }
        }
    }
}

impl App for Streaming {
    /// The viewer begins.
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.player = Some(Player::new(tx.now(), self.settings.clone(), self.seed, &self.name));
        self.connection.open(tx);
        self.go_on(tx);
    }

    /// The viewer ends: nothing more is asked for, and unsent data is discarded.
    fn stop(&mut self, now: Time) {
        if let Some(player) = &mut self.player {
            player.end(now);
        }
        self.connection.answers.sender.stop(now);
        self.wishes.clear();
        self.segment = None;
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        if matches!(packet.body, Body::Data(_)) && !packet.is_turned() {
            tx.note_delivery(packet);
        }
        self.connection.on_packet(tx, packet);
        while let Some(&(at, wish)) = self.wishes.front()
            && self.connection.heard() >= at
        {
            self.wishes.pop_front();
            self.serve(tx, wish);
        }
        self.go_on(tx);
        self.connection.note_rtt(tx);
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        if self.connection.next_timer() <= tx.now() {
            self.connection.on_timer(tx);
        }
        self.go_on(tx);
    }

    fn next_timer(&self) -> Time {
        let player = self.player.as_ref().map_or(Time::NEVER, Player::next);
        player.min(self.connection.next_timer())
    }

    fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        self.connection.tx_completion(tx, done);
    }

    fn delivered_bytes(&self) -> u64 {
        self.connection.taken()
    }

    fn record(&self) -> Record {
        Record::Connection(self.connection.record())
    }

    fn limited_times(&self, now: Time) -> Option<LimitedTimes> {
        Some(self.connection.limited_times(now))
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.connection.gauges(out);
    }

    fn report(&self, _end: Time) -> FlowReport {
        let half = &self.connection.answers;
        let counters = half.sender.counters();
        let totals = vec![
            ("segments_sent", counters.sent as f64),
            ("retransmits", counters.retransmits as f64),
            ("timeouts", counters.timeouts as f64),
            ("ce_packets", half.receiver.ce_packets() as f64),
            ("delivered_bytes", self.connection.taken() as f64),
        ];
        let mut report = FlowReport { totals, ..FlowReport::default() };
        if let Some(player) = &self.player {
            report.segments = player.arrived().to_vec();
            report.playback = player.changes().to_vec();
        }
        report
    }
}
