//! Many short connections, opened at their times whatever became of the earlier ones (traffic.md §4). Each takes a
//! handshake, a request and the transfer of its length; its completion time is from before the handshake until the last
//! byte has been read. The HTTP framing of the original (some 120 bytes, and 10 for each 32 KiB) is left out.

use super::Wires;
use super::connection::{Connection, Template};
use crate::host::HostStack;
use crate::packet::{Owner, Packet};
use sojourn_model::ShortFlows as Settings;
use sojourn_transport::OwnDevice;
use sojourn_units::{Ecn, Random, Time};
use sojourn_workload::{Act, Arrivals, Source, random_name};

/// One connection of the flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// When it was opened.
    pub(crate) started: Time,
    /// Its length.
    pub(crate) bytes: u64,
    /// When its last byte was read; never if it has not been.
    pub(crate) ended: Time,
}

/// Counts over all connections.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) bytes: u64,
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) lost: u64,
    pub(crate) delivered: u64,
    pub(crate) ce: u64,
    pub(crate) ece: u64,
    pub(crate) in_flight: u64,
}

impl Counts {
    fn add(&mut self, connection: &Connection) {
        let (tcb, counters) = (connection.sends.tcb(), connection.sends.counters());
        self.bytes += connection.taken();
        self.sent += counters.sent;
        self.retransmits += counters.retransmits;
        self.timeouts += counters.timeouts;
        self.lost += u64::from(tcb.view.lost);
        self.delivered += u64::from(tcb.view.delivered);
        self.ce += connection.takes.ce_packets();
        self.ece += counters.ece_acks;
        self.in_flight += u64::from(tcb.view.in_flight());
    }
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
    arrivals: Option<Arrivals>,
    random: Random,
    live: Vec<Live>,
    /// Every connection that was opened, by number.
    pub(crate) completions: Vec<Completion>,
    completed: u64,
    gone: Counts,
}

impl ShortFlows {
    /// A generator at rest.
    pub(crate) fn new(
        settings: &Settings,
        host: HostStack<'_>,
        device: Option<OwnDevice>,
        seed: u64,
        name: &str,
    ) -> Self {
        Self {
            settings: settings.clone(),
            template: Template::new(&settings.tcp, host, device, seed, name),
            arrivals: None,
            random: Random::named(seed, &random_name(name)),
            live: Vec::new(),
            completions: Vec::new(),
            completed: 0,
            gone: Counts::default(),
        }
    }

    /// The first connection is opened.
    pub(crate) fn start(&mut self, now: Time) {
        self.arrivals = Some(Arrivals::new(now, self.settings.clone()));
    }

    /// No more are opened; those that are there go on.
    pub(crate) fn stop(&mut self) {
        self.arrivals = None;
    }

    /// Whether there is a last connection, and all have been completed.
    pub(crate) fn is_finished(&self) -> bool {
        self.settings.count == Some(self.completed)
    }

    /// Counts up to now.
    pub(crate) fn counts(&self) -> Counts {
        let mut all = self.gone;
        for live in &self.live {
            all.add(&live.connection);
        }
        all
    }

    /// When there is something to do.
    pub(crate) fn next(&self) -> Time {
        let arrival = self.arrivals.as_ref().and_then(Source::next).unwrap_or(Time::NEVER);
        self.live.iter().fold(arrival, |at, live| at.min(live.due))
    }

    /// Does what is due; the numbers that are drawn depend on nothing that happens to the connections.
    pub(crate) fn on_timer(&mut self, wires: &mut Wires<'_>) {
        for live in &mut self.live {
            if live.due <= wires.now {
                live.connection.on_timer(wires);
                live.due = live.connection.next();
            }
        }
        while let Some(arrivals) = &mut self.arrivals
            && arrivals.next().is_some_and(|at| at <= wires.now)
        {
            if let Act::Connection { bytes, .. } = arrivals.act(&mut self.random) {
                self.open(wires, bytes);
            }
        }
    }

    fn open(&mut self, wires: &mut Wires<'_>, bytes: u64) {
        let number = self.completions.len() as u32;
        self.completions.push(Completion { started: wires.now, bytes, ended: Time::NEVER });
        let owner: Owner = wires.nic.owner;
        let connection = self.template.connection(owner, number, &mut wires.nic.random);
        let mut live =
            Live { number, due: Time::NEVER, answered: false, connection: Box::new(connection) };
        live.connection.open(wires);
        live.connection.ask(wires, u64::from(self.settings.request));
        live.due = live.connection.next();
        self.live.push(live);
    }

    /// The server's device has sent what counts so much on the account of the connection of this key.
    pub(crate) fn on_sent_off(&mut self, wires: &mut Wires<'_>, key: u32, bytes: u64) {
        let number = wires.nic.owner.number(key);
        if let Some(live) = self.live.iter_mut().find(|live| live.number == number) {
            live.connection.on_sent_off(wires, bytes);
            live.due = live.connection.next();
        }
    }

    /// A packet has reached either end of one of them; returns a round-trip time if it tells one.
    pub(crate) fn on_packet(
        &mut self,
        wires: &mut Wires<'_>,
        packet: &Packet,
        ecn: Ecn,
    ) -> Option<u32> {
        let number = wires.nic.owner.number(packet.key);
        // A late copy may come for one that is gone.
        let place = self.live.iter().position(|live| live.number == number)?;
        let live = &mut self.live[place];
        live.connection.on_packet(wires, packet, ecn);
        let completion = &mut self.completions[number as usize];
        if !live.answered && live.connection.heard() >= u64::from(self.settings.request) {
            live.answered = true;
            live.connection.answer(wires, completion.bytes);
        }
        if completion.ended.is_never() && live.connection.taken() >= completion.bytes {
            completion.ended = wires.now;
            self.completed += 1;
        }
        live.due = live.connection.next();
        let rtt = live.connection.new_rtt();
        if !completion.ended.is_never() && live.connection.is_quiet() {
            self.gone.add(&live.connection);
            self.live.swap_remove(place);
        }
        rtt
    }
}
