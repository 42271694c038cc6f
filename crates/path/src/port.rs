//! A queue discipline and the device that it feeds.
//!
//! Six kinds of device: one that takes no time (a veth of the published testbeds: whatever the discipline lets
//! go has gone), a line that holds a packet for as long as its bits take, a link that sends when its trace has a chance, a radio
//! link that sends bursts, and an end of a wireless LAN; a call to poll it has the channel as an argument, since others
//! send there too.

use crate::delivery::Delivery;
use crate::link::{OnLink, Queue};
use crate::packet::{PathPacket, SkbCharge, Sojourn};
use crate::wifi::Air;
use crate::wifi::transmitter::{Served, Transmitter};
use crate::{PortStats, Radio, Sojourns};
use sojourn_qdisc::{
    AnyQdisc, Backlog, Context, Dequeued, Qdisc, Reason, Registry, TcError, Telemetry,
};
use sojourn_units::{Random, Rate, Serializer, Time};

/// What takes packets from a discipline.
#[derive(Clone, Debug)]
pub enum Device<P> {
    /// Takes each at once.
    Instant,
    /// Sends one after the other.
    Line {
        /// The line.
        line: Serializer,
        /// When the last bit of the packet being sent will have left, how it waited, and the packet.
        sending: Option<(Time, Sojourn, P)>,
    },
    /// Sends when its trace has a chance.
    Trace(Box<Delivery<P>>),
    /// Sends when a link that words name takes a packet.
    Link(Box<OnLink<P>>),
    /// Sends bursts when it has a chance to.
    Radio(Box<Radio<P>>),
    /// Sends when it is its turn on the channel of this number.
    Wifi(usize, Box<Transmitter<P>>),
}

impl<P> Device<P> {
    /// A line of this rate, idle.
    pub fn line(rate: Rate) -> Self {
        Self::Line { line: Serializer::new(rate), sending: None }
    }
}

/// What polling at a port gives.
#[derive(Debug)]
pub enum Poll<P> {
    /// A packet has left, after this sojourn in the discipline.
    Packet(P, Sojourn),
    /// Nothing more now; poll again at this time ([`Time::NEVER`]: after the next packet has come).
    Later(Time),
}

/// A discipline, its device and its counts.
#[derive(Clone, Debug)]
pub struct Port<P> {
    discipline: AnyQdisc<P>,
    /// Whether the discipline is a shaper that stands for the link, and words are about what is under it.
    shaped: bool,
    device: Device<P>,
    random: Random,
    stats: PortStats,
    sojourns: Sojourns,
    /// Packets are not taken before this: what keeps hosts' jitter from changing the order.
    admitted: Time,
    /// Whether it was taken away ([`Port::clear`]).
    absent: bool,
}

impl<P: PathPacket> Port<P> {
    /// A port at rest; `random` is the discipline's stream.
    pub fn new(discipline: AnyQdisc<P>, device: Device<P>, random: Random) -> Self {
        Self {
            discipline,
            shaped: false,
            device,
            random,
            stats: PortStats::default(),
            sojourns: Sojourns::default(),
            admitted: Time::ZERO,
            absent: false,
        }
    }

    /// The same port with a discipline that is the link's shaper: changes and replacements go to the discipline under it.
    #[must_use]
    pub fn under_shaper(self) -> Self {
        Self { shaped: true, ..self }
    }

    /// Whether its device is on the air.
    pub const fn is_wireless(&self) -> bool {
        matches!(self.device, Device::Radio(_) | Device::Wifi(..))
    }

    /// Whether its device looks at each packet that comes, though others are on their way.
    pub const fn looks_at_arrivals(&self) -> bool {
        self.is_wireless() || matches!(self.device, Device::Link(_))
    }

    /// From now on it is a device of the host that sends: completed packets go back to the sockets
    /// ([`Port::take_completion`]).
    pub fn report_completions(&mut self) {
        self.stats.report_completions();
    }

    /// What goes back to a socket by now: packets that left, were acknowledged on the air, or were dropped.
    pub fn take_completion(&mut self, now: Time) -> Option<SkbCharge> {
        self.stats.take_completion(now)
    }

    /// When something goes back next.
    pub fn next_completion(&self) -> Time {
        self.stats.next_completion()
    }

    /// Takes a packet. It may be refused, which the statistics then show.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, mut packet: P) {
        packet.set_entered(now);
        self.stats.count_entered(packet.wire_len());
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        self.discipline.enqueue(now, packet, &mut cx);
    }

    /// Takes a packet that will come at `at`, or when the last one admitted so has come, whichever is later. For
    /// packets straight from a host, since its jitter must not change their order.
    #[inline]
    pub fn admit(&mut self, at: Time, packet: P) {
        self.admitted = self.admitted.max(at);
        self.accept(self.admitted, packet);
    }

    /// Asks for the packet that leaves now; `air` has the run's wireless channels.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, air: &mut Air) -> Poll<P> {
        match &mut self.device {
            Device::Instant => match self.dequeue(now) {
                Dequeued::Packet(p) => {
                    let sojourn = self.end_sojourn(now, &p);
                    self.note_left(now, &p);
                    Poll::Packet(p, sojourn)
                }
                Dequeued::Wait(at) => Poll::Later(at),
                Dequeued::Empty => Poll::Later(Time::NEVER),
            },
            Device::Line { sending, .. } => {
                if let Some((done, ..)) = sending {
                    if now < *done {
                        return Poll::Later(*done);
                    }
                    if let Some((_, sojourn, p)) = sending.take() {
                        self.note_left(now, &p);
                        return Poll::Packet(p, sojourn);
                    }
                }
                match self.dequeue(now) {
                    Dequeued::Packet(p) => {
                        let sojourn = self.end_sojourn(now, &p);
                        let Device::Line { line, sending } = &mut self.device else {
                            unreachable!()
                        };
                        let done = line.finish(now, u64::from(p.wire_len()));
                        *sending = Some((done, sojourn, p));
                        Poll::Later(done)
                    }
                    Dequeued::Wait(at) => Poll::Later(at),
                    Dequeued::Empty => Poll::Later(Time::NEVER),
                }
            }
            // Together, so that comparisons suffice for the few cases, without a jump table.
            Device::Trace(_) | Device::Link(_) | Device::Radio(_) | Device::Wifi(..) => {
                self.poll_wireless(now, air)
            }
        }
    }

    #[inline(never)]
    fn poll_wireless(&mut self, now: Time, air: &mut Air) -> Poll<P> {
        match &self.device {
            Device::Wifi(..) => self.poll_wifi(now, air),
            Device::Trace(_) => self.poll_trace(now),
            Device::Link(_) => self.poll_link(now),
            _ => self.poll_radio(now),
        }
    }

    fn poll_wifi(&mut self, now: Time, air: &mut Air) -> Poll<P> {
        let Device::Wifi(channel, transmitter) = &mut self.device else { unreachable!() };
        loop {
            let queued = self.discipline.backlog().packets;
            let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
            let next = || take(&mut self.discipline, now, &mut cx, &mut self.sojourns);
            let served = transmitter.serve(now, &mut air[*channel], queued, next);
            for (at, charge) in transmitter.take_settled() {
                self.stats.done_with(at, charge);
            }
            match served {
                Served::Packet(packet, sojourn) => {
                    self.count_left(&packet);
                    return Poll::Packet(packet, sojourn);
                }
                Served::GivenUp(packet) => self.stats.dropped(now, packet, Reason::Retries),
                Served::Later(at) => return Poll::Later(at),
            }
        }
    }

    fn poll_trace(&mut self, now: Time) -> Poll<P> {
        let Device::Trace(link) = &mut self.device else { unreachable!() };
        if link.is_ready(now) {
            let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
            match self.discipline.dequeue(now, &mut cx) {
                Dequeued::Packet(packet) => {
                    let waited = now.since(packet.entered());
                    self.sojourns.add(waited);
                    let sojourn = Sojourn { waited, class: self.stats.take_class() };
                    let bytes = packet.wire_len();
                    link.take(packet, sojourn, bytes);
                }
                Dequeued::Wait(at) => return Poll::Later(at),
                Dequeued::Empty => return Poll::Later(Time::NEVER),
            }
        }
        if let Some((packet, sojourn)) = link.leave(now) {
            self.note_left(now, &packet);
            return Poll::Packet(packet, sojourn);
        }
        // It holds a packet, or a chance has to come before one can be taken.
        if link.held().is_some() || self.discipline.backlog().packets > 0 {
            return Poll::Later(link.next_chance());
        }
        Poll::Later(Time::NEVER)
    }

    fn poll_link(&mut self, now: Time) -> Poll<P> {
        let Self { device: Device::Link(link), discipline, random, stats, sojourns, .. } = self
        else {
            unreachable!()
        };
        let poll = link.serve(now, &mut BeforeLink { discipline, random, stats, sojourns });
        if let Poll::Packet(packet, _) = &poll {
            self.note_left(now, packet);
        }
        poll
    }

    fn poll_radio(&mut self, now: Time) -> Poll<P> {
        let Device::Radio(radio) = &mut self.device else { unreachable!() };
        if let Some((packet, sojourn)) = radio.passed_on(now) {
            // Without replies: done with it when it is passed on, behind the burst by the line's time.
            self.note_left(now, &packet);
            return Poll::Packet(packet, sojourn);
        }
        let mut wake = Time::NEVER;
        if radio.has_waiting() || self.discipline.backlog().packets > 0 {
            let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
            let frame = || take(&mut self.discipline, now, &mut cx, &mut self.sojourns);
            let chance = radio.serve(now, frame, P::wire_len);
            if radio.has_waiting() || self.discipline.backlog().packets > 0 {
                wake = chance;
            }
        }
        Poll::Later(wake.min(radio.next_arrival()))
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Dequeued<P> {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        self.discipline.dequeue(now, &mut cx)
    }

    /// The sojourn of a packet that the discipline has just let go.
    #[inline]
    fn end_sojourn(&mut self, now: Time, packet: &P) -> Sojourn {
        let waited = now.since(packet.entered());
        self.sojourns.add(waited);
        Sojourn { waited, class: self.stats.take_class() }
    }

    /// A packet has left, and the device is done with it.
    #[inline]
    fn note_left(&mut self, now: Time, packet: &P) {
        if self.stats.reports_completions() {
            self.stats.done_with(now, packet.charge());
        }
        self.count_left(packet);
    }

    #[inline]
    fn count_left(&mut self, packet: &P) {
        self.stats.left += 1;
        self.stats.left_bytes += u64::from(packet.wire_len());
    }

    /// When the discipline's timer wants to be called, if it has one.
    pub fn next_timer(&self) -> Time {
        self.discipline.next_timer().unwrap_or(Time::NEVER)
    }

    /// Calls the discipline's timer.
    pub fn on_timer(&mut self, now: Time) {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        self.discipline.on_timer(now, &mut cx);
    }

    /// Counts since the beginning.
    pub fn stats(&self) -> &PortStats {
        &self.stats
    }

    /// Times spent in it since they were last taken.
    pub fn take_sojourns(&mut self) -> Sojourns {
        self.sojourns.take()
    }

    /// What it holds, what is on the line or on the air included.
    pub fn backlog(&self) -> Backlog {
        let mut held = self.discipline.backlog();
        let mut add = |p: &P| {
            held.packets += 1;
            held.bytes += u64::from(p.wire_len());
        };
        match &self.device {
            Device::Line { sending: Some((.., p)), .. } => add(p),
            Device::Trace(link) => link.held().into_iter().for_each(add),
            Device::Link(link) => link.held().for_each(add),
            Device::Radio(radio) => radio.held().for_each(add),
            Device::Wifi(_, transmitter) => transmitter.held().for_each(add),
            Device::Line { .. } | Device::Instant => {}
        }
        held
    }

    /// That nothing is lost and nothing made: every packet that entered has left, was dropped, or is held, in packets
    /// and in bytes. Where assertions are off it is not looked at.
    #[inline]
    pub fn check_books(&self) {
        #[cfg(debug_assertions)]
        {
            let held = self.backlog();
            let stats = &self.stats;
            assert!(stats.balance(held), "the books do not balance: {held:?} held, {stats:?}");
        }
    }

    /// The discipline, to be asked for its numbers.
    pub fn discipline(&self) -> &AnyQdisc<P> {
        &self.discipline
    }

    /// Sets the rate of the shaper or the device; packets in the queue stay. False when there is none to set. A radio
    /// link's rate no longer wanders.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        match &mut self.device {
            Device::Line { line, .. } => {
                *line = Serializer::new(rate);
                return true;
            }
            Device::Radio(radio) => {
                radio.set_rate(rate);
                return true;
            }
            Device::Wifi(_, transmitter) => {
                transmitter.set_rate(rate);
                return true;
            }
            Device::Trace(_) => return false,
            Device::Link(link) => return link.set_rate(rate),
            Device::Instant => {}
        }
        self.discipline.set_rate(now, rate)
    }

    /// `tc qdisc change` of the discipline, or of the one under the link's shaper. `registry` has the disciplines that
    /// the words may name.
    ///
    /// # Errors
    /// What is wrong with the words; nothing has changed then.
    pub fn change(
        &mut self,
        now: Time,
        words: &str,
        registry: &Registry<P>,
    ) -> Result<(), TcError> {
        let words = &mut registry.words(words);
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        match self.discipline.child_mut() {
            Some(child) if self.shaped => child.change(now, words, &mut cx),
            _ => self.discipline.change(now, words, &mut cx),
        }
    }

    /// `tc qdisc replace` of the discipline, or of the one under the link's shaper: it drops its packets. `registry` has
    /// the disciplines that the words may name.
    ///
    /// # Errors
    /// What is wrong with the words; nothing has changed then.
    pub fn replace(
        &mut self,
        now: Time,
        words: &str,
        registry: &Registry<P>,
    ) -> Result<(), TcError> {
        let profile = *self.discipline.quirks();
        let with = registry.build(words, &profile, &mut self.random)?;
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        let with = if self.shaped {
            self.discipline.replace_child(now, with, &mut cx)
        } else {
            Some(with)
        };
        if let Some(with) = with {
            self.discipline.replace(now, with, &mut cx);
        }
        Ok(())
    }

    /// `tc qdisc del`: it drops its packets. A packet on the line or on the air goes on. Nothing is to come before
    /// [`Port::restart`].
    pub fn clear(&mut self, now: Time) {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        self.discipline.flush(now, &mut cx);
        self.absent = true;
    }

    /// `tc qdisc add` of what [`Port::clear`] took away, with the options that it had. One that is there stays as it is.
    pub fn restart(&mut self, now: Time) {
        if core::mem::take(&mut self.absent) {
            self.discipline.start(now);
        }
    }

    /// Replaces shaper, device and discipline together: the old one drops its packets. A packet on the line goes on
    /// if there still is a line; else it is cut off, as are packets on the air. Counts and random stream stay.
    pub fn replace_all(&mut self, now: Time, with: Self) {
        let Self { discipline, shaped, device, .. } = with;
        self.shaped = shaped;
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.stats };
        self.discipline.replace(now, discipline, &mut cx);
        let before = core::mem::replace(&mut self.device, device);
        match (&mut self.device, before) {
            (Device::Line { sending, .. }, Device::Line { sending: on_line, .. }) => {
                *sending = on_line;
            }
            (Device::Trace(link), Device::Trace(before)) => *link = before,
            (_, Device::Trace(link)) => {
                if let Some(packet) = link.into_held() {
                    self.stats.dropped(now, packet, Reason::Flushed);
                }
            }
            (_, Device::Link(link)) => {
                for packet in link.into_held() {
                    self.stats.dropped(now, packet, Reason::Flushed);
                }
            }
            (_, Device::Line { sending: Some((.., packet)), .. }) => {
                self.stats.dropped(now, packet, Reason::Flushed);
            }
            (_, Device::Radio(radio)) => {
                for packet in radio.into_held() {
                    self.stats.dropped(now, packet, Reason::Flushed);
                }
            }
            (_, Device::Wifi(_, transmitter)) => {
                for packet in transmitter.into_held() {
                    self.stats.dropped(now, packet, Reason::Flushed);
                }
            }
            _ => {}
        }
    }
}

/// A port without its device: the queue in front of a link.
struct BeforeLink<'a, P> {
    discipline: &'a mut AnyQdisc<P>,
    random: &'a mut Random,
    stats: &'a mut PortStats,
    sojourns: &'a mut Sojourns,
}

impl<P: PathPacket> Queue<P> for BeforeLink<'_, P> {
    fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    fn dequeue(&mut self, now: Time) -> Dequeued<(P, Sojourn)> {
        let mut cx = Context { random: &mut *self.random, telemetry: &mut *self.stats };
        match self.discipline.dequeue(now, &mut cx) {
            Dequeued::Packet(packet) => {
                let waited = now.since(packet.entered());
                self.sojourns.add(waited);
                let sojourn = Sojourn { waited, class: self.stats.take_class() };
                Dequeued::Packet((packet, sojourn))
            }
            Dequeued::Wait(at) => Dequeued::Wait(at),
            Dequeued::Empty => Dequeued::Empty,
        }
    }

    fn lost(&mut self, now: Time, packet: P, reason: Reason) {
        self.stats.dropped(now, packet, reason);
    }
}

/// Takes the next packet of a discipline, for devices that are ready for one.
fn take<P: PathPacket>(
    discipline: &mut AnyQdisc<P>,
    now: Time,
    cx: &mut Context<'_, PortStats>,
    sojourns: &mut Sojourns,
) -> Option<(P, Sojourn)> {
    let Dequeued::Packet(packet) = discipline.dequeue(now, cx) else { return None };
    let sojourn = Sojourn { waited: now.since(packet.entered()), class: cx.telemetry.take_class() };
    sojourns.add(sojourn.waited);
    Some((packet, sojourn))
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
