//! Many short connections, opened at their times whatever became of the earlier ones (docs/sources/applications.md#short-flows). Each takes a
//! handshake, a request and the transfer of its length; its completion time is from before the handshake until the last
//! byte has been read. The HTTP framing of the original (some 120 bytes, and 10 for each 32 KiB) is left out.

use super::connection::{Connection, Template};
use super::half::HalfPath;
use super::interface::App;
use super::report::{Counts, FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_model::{ShortFlows as Settings, Traffic};
use sojourn_path::SkbCharge;
use sojourn_record::Completion;
use sojourn_units::{Random, Time};
use sojourn_workload::{Act, Arrivals, Source};

/// Adds those of one connection.
fn add(counts: &mut Counts, connection: &Connection) {
    let one = connection.counts();
    counts.bytes += one.bytes;
    counts.sent += one.sent;
    counts.retransmits += one.retransmits;
    counts.timeouts += one.timeouts;
    counts.lost += one.lost;
    counts.delivered += one.delivered;
    counts.ce += one.ce;
    counts.ece += one.ece;
    counts.in_flight += one.in_flight;
}

#[derive(Debug)]
struct Live {
    number: u32,
    due: Time,
    answered: bool,
    connection: Box<Connection>,
}

/// The connections of one generator.
#[derive(Debug)]
pub(crate) struct ShortFlows {
    settings: Settings,
    template: Template,
    path: HalfPath,
    arrivals: Option<Arrivals>,
    random: Random,
    live: Vec<Live>,
    /// Every connection that was opened, by number.
    completions: Vec<Completion>,
    completed: u64,
    gone: Counts,
}

impl FromFlow for ShortFlows {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let flow = setup.flow;
        let Traffic::ShortFlows(settings) = &flow.traffic else { return None };
        let (host, device, owner) = (setup.host, setup.device, setup.owner);
        Some(Self {
            settings: settings.clone(),
            template: Template::new(&settings.tcp, host, device, setup.seed, &flow.name),
            path: HalfPath { owner, routes: setup.routes, dscp: flow.dscp, turned: false },
            arrivals: None,
            random: setup.own_random(),
            live: Vec::new(),
            completions: Vec::new(),
            completed: 0,
            gone: Counts::default(),
        })
    }
}

impl ShortFlows {
    /// Counts up to now.
    fn counts(&self) -> Counts {
        let mut all = self.gone;
        for live in &self.live {
            add(&mut all, &live.connection);
        }
        all
    }

    fn open(&mut self, tx: &mut HostTx<'_>, bytes: u64) {
        let number = self.completions.len() as u32;
        self.completions.push(Completion { started: tx.now(), bytes, ended: Time::NEVER });
        let connection = self.template.connection(self.path, false, number, tx.random());
        let mut live =
            Live { number, due: Time::NEVER, answered: false, connection: Box::new(connection) };
        live.connection.open(tx);
        live.connection.ask(tx, u64::from(self.settings.request));
        live.due = live.connection.next_timer();
        self.live.push(live);
    }
}

impl App for ShortFlows {
    fn has_many_connections(&self) -> bool {
        true
    }

    /// The first connection is opened.
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.arrivals = Some(Arrivals::new(tx.now(), self.settings.clone()));
    }

    /// No more are opened; those that are there go on.
    fn stop(&mut self, _now: Time) {
        self.arrivals = None;
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        if matches!(packet.body, Body::Data(_)) && !packet.is_turned() {
            tx.note_delivery(packet);
        }
        let number = self.path.owner.number(packet.key);
        // A late copy may come for one that is gone.
        let Some(place) = self.live.iter().position(|live| live.number == number) else { return };
        let live = &mut self.live[place];
        live.connection.on_packet(tx, packet);
        let completion = &mut self.completions[number as usize];
        if !live.answered && live.connection.heard() >= u64::from(self.settings.request) {
            live.answered = true;
            live.connection.answer(tx, completion.bytes);
        }
        if completion.ended.is_never() && live.connection.taken() >= completion.bytes {
            completion.ended = tx.now();
            self.completed += 1;
        }
        live.due = live.connection.next_timer();
        live.connection.note_rtt(tx);
        if !completion.ended.is_never() && live.connection.is_quiet() {
            add(&mut self.gone, &live.connection);
            self.live.swap_remove(place);
        }
    }

    /// The numbers that are drawn depend on nothing that happens to the connections.
    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        for live in &mut self.live {
            if live.due <= tx.now() {
                live.connection.on_timer(tx);
                live.due = live.connection.next_timer();
            }
        }
        while let Some(arrivals) = &mut self.arrivals
            && arrivals.next().is_some_and(|at| at <= tx.now())
        {
            if let Act::Connection { bytes, .. } = arrivals.act(&mut self.random) {
                self.open(tx, bytes);
            }
        }
    }

    fn next_timer(&self) -> Time {
        let arrival = self.arrivals.as_ref().and_then(Source::next).unwrap_or(Time::NEVER);
        self.live.iter().fold(arrival, |at, live| at.min(live.due))
    }

    fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        let number = self.path.owner.number(done.key);
        if let Some(live) = self.live.iter_mut().find(|live| live.number == number) {
            live.connection.tx_completion(tx, done);
            live.due = live.connection.next_timer();
        }
    }

    fn is_finite(&self) -> bool {
        self.settings.count.is_some()
    }

    /// Whether there is a last connection, and all have been completed.
    fn is_finished(&self) -> bool {
        self.settings.count == Some(self.completed)
    }

    fn delivered_bytes(&self) -> u64 {
        self.counts().bytes
    }

    fn record(&self) -> Record {
        Record::Counts(self.counts())
    }

    fn report(&self, _end: Time) -> FlowReport {
        let c = self.counts();
        let completed = self.completions.iter().filter(|c| !c.ended.is_never()).count();
        let totals = vec![
            ("connections", self.completions.len() as f64),
            ("completed", completed as f64),
            ("segments_sent", c.sent as f64),
            ("retransmits", c.retransmits as f64),
            ("timeouts", c.timeouts as f64),
            ("ce_packets", c.ce as f64),
            ("delivered_bytes", c.bytes as f64),
        ];
        FlowReport { completions: self.completions.clone(), totals, ..FlowReport::default() }
    }
}
