//! A hop's queue by this machine's kernel (`by = "kernel"`), as one of the relay's disciplines.
//!
//! The relay's namespace has a pair of virtual Ethernet interfaces for each such queue, with tc's words on the first:
//!
//! ```text
//! port ── enqueue ──► packet socket ─ [kernel's shaper and discipline] ─ veth ═ veth ─ packet socket ──► dequeue ── port
//! ```
//!
//! [`KernelQueue`] keeps each packet and sends its frame through the kernel. The frame that comes back says when the packet left
//! and with which ECN field. To the port, the tables and the captures it is a discipline like any other.
//!
//! Invariants: the kernel decides which packets leave, when, and with which ECN field, and nothing else does; every packet that
//! entered has left, was dropped, or is held.
//!
//! The trick: the frame's source MAC address has the packet's number, at which no discipline looks. The kernel does not say
//! which packets it drops. A packet that it refuses is known by the error of the call; one that it drops later is known when a
//! later packet of the same connection and ECN field comes back, for the kernel's disciplines keep that order; and when the
//! kernel holds nothing any more, everything that did not come back was dropped.

use crate::clock::Clock;
use crate::packet::Packet;
use crate::sys;
use rustix::net::{SendFlags, send};
use sojourn_engine::tc;
use sojourn_model::{By, Element, Kind, Queue, Scenario, Shaper, Side};
use sojourn_qdisc::{
    AnyQdisc, Backlog, Context, Dequeued, Discipline, DynContext, DynQdisc, Packet as _,
    QdiscCounters, QdiscQuirks, Reason, Registry, RegistryError, Stats, TcError, TcTokens,
};
use sojourn_units::{Ecn, Rate, Span, Time};
use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the discipline in the relay's own words; the number of the queue follows.
const NAME: &str = "kernel";
/// What drops and marks are counted under: the kernel does not say why.
const BY_KERNEL: Reason = Reason::Custom("kernel");
/// How often an idle queue is asked whether the kernel holds anything.
const LOOK: Span = Span::from_millis(100);
/// Where a frame's source address is, and what it begins with: locally administered.
const SOURCE: core::ops::Range<usize> = 6..12;
const LOCAL: [u8; 2] = [2, 0x53];

static INFO: Discipline = Discipline {
    name: NAME,
    summary: "a queue by this machine's kernel",
    source: "net/sched of the running kernel",
    ..Discipline::BASE
};

/// A queue that the kernel is to carry out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    /// `bottleneck.down.qdisc`.
    pub(crate) path: String,
    pub(crate) queue: Queue,
    /// tc's words, for this device.
    pub(crate) words: Vec<String>,
}

impl Wanted {
    /// The queues by the kernel of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Vec<Self> {
        let mut wanted = Vec::new();
        for hop in scenario.hops.iter().filter(|hop| hop.by == Some(By::Kernel)) {
            for side in [Side::Down, Side::Up] {
                for Element { name, kind, .. } in hop.side(side) {
                    let Kind::Queue(queue) = kind else { continue };
                    let device = Self::device(wanted.len());
                    wanted.push(Self {
                        path: format!("{}.{side}.{name}", hop.name),
                        queue: queue.clone(),
                        words: tc::first_words(&device, &queue.shaper, &queue.qdisc),
                    });
                }
            }
        }
        wanted
    }

    /// The interface with the queue of this number.
    pub(crate) fn device(number: usize) -> String {
        format!("q{number}")
    }
}

/// The scenario as the relay carries it out: queues by the kernel are disciplines of the relay's, without a shaper.
pub(crate) fn carried(scenario: &Scenario) -> Scenario {
    let mut carried = scenario.clone();
    let mut number = 0;
    for hop in carried.hops.iter_mut().filter(|hop| hop.by == Some(By::Kernel)) {
        for side in [&mut hop.down, &mut hop.up] {
            for element in side.iter_mut() {
                if let Kind::Queue(queue) = &mut element.kind {
                    let rate = queue.capacity();
                    *queue = Queue {
                        shaper: Shaper::Own { rate },
                        qdisc: format!("{NAME} {number}").into(),
                    };
                    number += 1;
                }
            }
        }
    }
    carried
}

/// The relay's end of a queue by the kernel.
#[derive(Debug)]
pub(crate) struct KernelLink {
    /// The queue's path in the scenario.
    pub(crate) path: String,
    /// Where its packets come back.
    pub(crate) back: OwnedFd,
    pub(crate) gate: Gate,
}

/// What a queue and the relay share.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    /// Packet sockets of the queue's interface. One alone has room for some 180 packets where the user is not root.
    out: Vec<OwnedFd>,
    clock: Clock,
    /// tc's words of shaper and discipline.
    words: String,
    /// What has come back: numbers and ECN fields.
    ready: VecDeque<(u32, Ecn)>,
    /// How late packets entered the kernel, since the relay last asked.
    late: Vec<Span>,
    /// Packets for which no socket had room, and frames of no packet, likewise.
    unsent: u64,
    unknown: u64,
}

/// What the relay's counters take over from a queue.
pub(crate) struct Noted {
    /// How late packets entered the kernel.
    pub(crate) late: Vec<Span>,
    /// Packets for which no socket had room.
    pub(crate) unsent: u64,
    /// Frames that were of no packet.
    pub(crate) unknown: u64,
}

impl Gate {
    pub(crate) fn new(out: Vec<OwnedFd>, clock: Clock, words: String) -> Self {
        let (ready, late) = (VecDeque::new(), Vec::new());
        Self(Arc::new(Mutex::new(Inside { out, clock, words, ready, late, unsent: 0, unknown: 0 })))
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame has come back: true if it has a packet's number.
    pub(crate) fn returned(&self, frame: &[u8]) -> bool {
        let Some(number) = number_of(frame) else { return false };
        let ecn = sojourn_wire::Frame::new(frame.to_vec()).ecn();
        self.inside().ready.push_back((number, ecn));
        true
    }

    /// What has been noted since this was last asked for.
    pub(crate) fn noted(&self) -> Noted {
        let mut inside = self.inside();
        let (unsent, unknown) = (inside.unsent, inside.unknown);
        (inside.unsent, inside.unknown) = (0, 0);
        Noted { late: std::mem::take(&mut inside.late), unsent, unknown }
    }
}

/// The packet's number that a frame's source address has, if it has one.
fn number_of(frame: &[u8]) -> Option<u32> {
    let number = frame.get(SOURCE)?.strip_prefix(&LOCAL)?;
    number.try_into().ok().map(u32::from_be_bytes)
}

/// Adds the discipline of these queues, by their numbers.
pub(crate) fn add(
    registry: &mut Registry<Packet>,
    links: &[KernelLink],
) -> Result<(), RegistryError> {
    let gates: Vec<Gate> = links.iter().map(|link| link.gate.clone()).collect();
    registry.add_entry(&INFO, move |words, cx| {
        let (number, word) = words.count(NAME, "the number of a queue")?;
        let gate = gates.get(number as usize).cloned().ok_or_else(|| {
            words.error(word.at.clone(), format!("there is no queue {number} by the kernel"), None)
        })?;
        Ok(Box::new(KernelQueue {
            gate,
            quirks: *cx.quirks,
            held: HashMap::new(),
            order: HashMap::new(),
            next: 0,
            bytes: 0,
            tally: QdiscCounters::default(),
            look: Time::ZERO + LOOK,
            is_idle: true,
        }))
    })
}

/// What keeps its order in the kernel: a connection's packets of one ECN field.
type Key = (u64, Ecn);

/// The discipline.
#[derive(Clone)]
struct KernelQueue {
    gate: Gate,
    quirks: QdiscQuirks,
    /// Packets in the kernel, by their numbers.
    held: HashMap<u32, (Key, Packet)>,
    /// Their numbers in the order in which they entered.
    order: HashMap<Key, VecDeque<u32>>,
    next: u32,
    bytes: u64,
    tally: QdiscCounters,
    /// When the kernel is next asked what it holds.
    look: Time,
    /// Whether nothing has entered or left since it was last asked.
    is_idle: bool,
}

/// How a frame's way into the kernel ended.
enum Sent {
    Taken,
    /// The discipline refused it.
    Dropped,
    /// No socket had room.
    NoRoom,
}

impl KernelQueue {
    /// Sends a frame into the kernel's queue.
    fn send(&self, now: Time, frame: &[u8]) -> Sent {
        let mut inside = self.gate.inside();
        let late = inside.clock.now().since(now);
        inside.late.push(late);
        for socket in &inside.out {
            match send(socket, frame, SendFlags::DONTWAIT) {
                Ok(_) => return Sent::Taken,
                // The kernel's `net_xmit_errno`.
                Err(rustix::io::Errno::NOBUFS) => return Sent::Dropped,
                Err(_) => {}
            }
        }
        inside.unsent += 1;
        Sent::NoRoom
    }

    fn take(&mut self, number: u32) -> Option<Packet> {
        let (_, packet) = self.held.remove(&number)?;
        self.bytes -= u64::from(packet.wire_len());
        Some(packet)
    }

    fn drop_packet(&mut self, now: Time, packet: Packet, cx: &mut DynContext<'_, Packet>) {
        let mut telemetry = &mut *cx.telemetry;
        let cx = &mut Context { random: &mut *cx.random, telemetry: &mut telemetry };
        self.tally.drop(now, packet, BY_KERNEL, cx);
    }

    /// Everything that is still held will not come back.
    fn drop_all(&mut self, now: Time, cx: &mut DynContext<'_, Packet>) {
        let mut numbers: Vec<u32> = self.held.keys().copied().collect();
        numbers.sort_unstable();
        self.order.clear();
        for number in numbers {
            if let Some(packet) = self.take(number) {
                self.drop_packet(now, packet, cx);
            }
        }
    }
}

impl DynQdisc<Packet> for KernelQueue {
    fn info(&self) -> &'static Discipline {
        &INFO
    }

    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut DynContext<'_, Packet>) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let mut frame = packet.frame().bytes().to_vec();
        if let Some(source) = frame.get_mut(SOURCE) {
            let (local, own) = source.split_at_mut(LOCAL.len());
            local.copy_from_slice(&LOCAL);
            own.copy_from_slice(&number.to_be_bytes());
        }
        match self.send(now, &frame) {
            Sent::Taken => {
                let key = (packet.flow_key(), packet.ecn());
                self.bytes += u64::from(packet.wire_len());
                self.order.entry(key).or_default().push_back(number);
                self.held.insert(number, (key, packet));
            }
            Sent::Dropped | Sent::NoRoom => self.drop_packet(now, packet, cx),
        }
        self.is_idle = false;
    }

    fn dequeue(&mut self, now: Time, cx: &mut DynContext<'_, Packet>) -> Dequeued<Packet> {
        loop {
            let back = self.gate.inside().ready.pop_front();
            let Some((number, ecn)) = back else { return Dequeued::Empty };
            self.is_idle = false;
            let Some((key, _)) = self.held.get(&number) else {
                self.gate.inside().unknown += 1;
                continue;
            };
            let key = *key;
            // What entered before it and has not come back was dropped.
            let mut order = self.order.remove(&key).unwrap_or_default();
            while let Some(earlier) = order.pop_front().filter(|earlier| *earlier != number) {
                if let Some(packet) = self.take(earlier) {
                    self.drop_packet(now, packet, cx);
                }
            }
            if !order.is_empty() {
                self.order.insert(key, order);
            }
            let Some(mut packet) = self.take(number) else { continue };
            if ecn != packet.ecn() {
                packet.set_ecn(ecn);
                if ecn == Ecn::Ce {
                    cx.telemetry.marked(now, &packet, BY_KERNEL);
                }
            }
            self.tally.sent(packet.wire_len());
            return Dequeued::Packet(packet);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.look)
    }

    fn on_timer(&mut self, now: Time, cx: &mut DynContext<'_, Packet>) {
        if now < self.look {
            return;
        }
        if self.is_idle {
            let inside = self.gate.inside();
            let is_empty = inside.ready.is_empty()
                && inside.out.iter().all(|out| sys::unsent(out.as_fd()).is_ok_and(|n| n == 0));
            drop(inside);
            if is_empty {
                self.drop_all(now, cx);
            }
        }
        self.is_idle = true;
        self.look = now + LOOK;
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.held.len() as u32, bytes: self.bytes }
    }

    fn stats(&self) -> Stats {
        self.tally.stats(self.backlog(), Vec::new())
    }

    fn gauges(&self, _: Time, _: &mut dyn FnMut(&'static str, f64)) {}

    fn change(
        &mut self,
        _: Time,
        words: &mut TcTokens<'_>,
        _: &mut DynContext<'_, Packet>,
    ) -> Result<(), TcError> {
        let at = words.position()..words.text().len();
        Err(words.error(at, "a queue by the kernel does not change in a run".to_owned(), None))
    }

    fn start(&mut self, _: Time) {}

    fn flush(&mut self, now: Time, cx: &mut DynContext<'_, Packet>) {
        self.drop_all(now, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.quirks
    }

    fn describe(&self) -> String {
        self.gate.inside().words.clone()
    }

    fn child(&self) -> Option<&AnyQdisc<Packet>> {
        None
    }

    fn child_mut(&mut self) -> Option<&mut AnyQdisc<Packet>> {
        None
    }

    fn replace_child(
        &mut self,
        _: Time,
        child: AnyQdisc<Packet>,
        _: &mut DynContext<'_, Packet>,
    ) -> Option<AnyQdisc<Packet>> {
        Some(child)
    }

    fn set_rate(&mut self, _: Time, _: Rate) -> bool {
        false
    }

    fn clone_box(&self) -> Box<dyn DynQdisc<Packet>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Host;
    use sojourn_qdisc::Telemetry;
    use sojourn_units::Random;
    use sojourn_wire::Frame;
    use std::os::unix::net::UnixDatagram;

    /// The ports of the packets that were dropped and marked.
    #[derive(Default)]
    struct Heard {
        dropped: Vec<u16>,
        marked: Vec<u16>,
    }

    fn port(packet: &Packet) -> u16 {
        packet.frame().ports().expect("it is TCP")[0]
    }

    impl Telemetry<Packet> for Heard {
        fn dropped(&mut self, _: Time, packet: Packet, _: Reason) {
            self.dropped.push(port(&packet));
        }

        fn marked(&mut self, _: Time, packet: &Packet, _: Reason) {
            self.marked.push(port(packet));
        }
    }

    /// A packet of ECT(0) from this port: of a connection of its own.
    fn packet(from: u16) -> Packet {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        bytes.extend([0x45, 2, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 9, 9, 2, 10, 9, 9, 1]);
        bytes.extend(from.to_be_bytes());
        bytes.extend([0x9c, 0x41, 0, 0, 0, 1, 0, 0, 1, 0, 0x50, 0x10, 0, 1, 0, 0, 0, 0]);
        Packet::new(Frame::new(bytes), Time::ZERO, Host::Client, 0, 0)
    }

    struct Bench {
        queue: Box<dyn DynQdisc<Packet>>,
        gate: Gate,
        kernel: UnixDatagram,
        random: Random,
        heard: Heard,
    }

    impl Bench {
        /// A queue in front of a kernel that is this test.
        fn new() -> Self {
            let (ours, kernel) = UnixDatagram::pair().expect("a pair");
            kernel.set_nonblocking(true).expect("a socket");
            let gate = Gate::new(vec![ours.into()], Clock::start(), "codel ecn".to_owned());
            let (back, _) = UnixDatagram::pair().expect("a pair");
            let link = KernelLink {
                path: "h.down.qdisc".to_owned(),
                back: back.into(),
                gate: gate.clone(),
            };
            let mut registry = Registry::built_in();
            add(&mut registry, &[link]).expect("a free name");
            let mut random = Random::named(1, "queue");
            let built = registry.build("kernel 0", &QdiscQuirks::LINUX_7_3, &mut random);
            let AnyQdisc::Custom(queue) = built.expect("a queue") else { panic!("no such queue") };
            Self { queue, gate, kernel, random, heard: Heard::default() }
        }

        fn enqueue(&mut self, from: u16) {
            let mut cx = Context { random: &mut self.random, telemetry: &mut self.heard };
            self.queue.enqueue(Time::ZERO, packet(from), &mut cx.as_dyn());
        }

        /// What the kernel has been sent.
        fn taken(&self) -> Vec<Vec<u8>> {
            let mut buffer = [0; 2048];
            let mut frames = Vec::new();
            while let Ok(length) = self.kernel.recv(&mut buffer) {
                frames.push(buffer[..length].to_vec());
            }
            frames
        }

        /// The ports and ECN fields of what leaves.
        fn leave(&mut self) -> Vec<(u16, Ecn)> {
            let mut left = Vec::new();
            loop {
                let mut cx = Context { random: &mut self.random, telemetry: &mut self.heard };
                match self.queue.dequeue(Time::ZERO, &mut cx.as_dyn()) {
                    Dequeued::Packet(packet) => left.push((port(&packet), packet.ecn())),
                    _ => return left,
                }
            }
        }

        fn timer(&mut self, millis: u64) {
            let mut cx = Context { random: &mut self.random, telemetry: &mut self.heard };
            self.queue.on_timer(Time::from_millis(millis), &mut cx.as_dyn());
        }
    }

    /// Of three packets of one connection the second is dropped, and the third comes back marked; a packet of another
    /// connection passes them. The queue counts a frame that comes back twice, and one without a packet.
    #[test]
    fn what_comes_back_says_what_the_kernel_did() {
        let mut bench = Bench::new();
        for from in [7, 7, 7, 8] {
            bench.enqueue(from);
        }
        let frames = bench.taken();
        assert_eq!(frames.len(), 4);
        let addresses: Vec<Option<u32>> = frames.iter().map(|frame| number_of(frame)).collect();
        assert_eq!(addresses, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(bench.queue.backlog().packets, 4);
        let mut marked = Frame::new(frames[2].clone());
        marked.set_ecn(Ecn::Ce);
        assert!(bench.gate.returned(&frames[3]) && bench.gate.returned(&frames[0]));
        assert_eq!(bench.leave(), [(8, Ecn::Ect0), (7, Ecn::Ect0)]);
        assert!(bench.heard.dropped.is_empty());
        assert!(bench.gate.returned(marked.bytes()) && bench.gate.returned(&frames[0]));
        assert_eq!(bench.leave(), [(7, Ecn::Ce)]);
        assert_eq!((bench.heard.dropped, bench.heard.marked), (vec![7], vec![7]));
        assert_eq!((bench.queue.backlog(), bench.gate.noted().unknown), (Backlog::default(), 1));
        let stats = bench.queue.stats();
        assert_eq!((stats.packets, stats.dropped, stats.bytes), (3, 1, 3 * 54));
        assert!(!bench.gate.returned(&[0; 60]), "no number");
    }

    /// The last packet of a connection is dropped: nothing behind it says so. An idle kernel that holds nothing does.
    #[test]
    fn what_an_idle_kernel_does_not_hold_was_dropped() {
        let mut bench = Bench::new();
        bench.enqueue(7);
        bench.timer(100);
        assert!(bench.heard.dropped.is_empty(), "something has entered since");
        bench.timer(200);
        assert!(bench.heard.dropped.is_empty(), "the kernel holds it");
        let _ = bench.taken();
        bench.timer(250);
        assert!(bench.heard.dropped.is_empty(), "too early");
        bench.timer(300);
        assert_eq!(bench.heard.dropped, [7]);
        assert_eq!(bench.queue.backlog(), Backlog::default());
    }

    /// The words of an experiment, and what the relay has instead.
    #[test]
    fn a_hop_by_the_kernel_is_carried_by_numbers() {
        let text = "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\nrate = \"8mbit\"\n\
                    rtt = \"1ms\"\nqdisc = \"codel\"\nby = \"kernel\"\n[[hop]]\nname = \"g\"\nrate = \"8mbit\"\n\
                    rtt = \"1ms\"\nqdisc = \"pfifo limit 9\"\n[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";
        let experiment = sojourn_language::Experiment::parse("t.toml", text).unwrap();
        let plan = experiment.plan(&sojourn_language::AnyWords, 10).unwrap();
        let scenario = plan.into_scenarios().remove(0);
        let wanted = Wanted::of(&scenario);
        let paths: Vec<&str> = wanted.iter().map(|wanted| wanted.path.as_str()).collect();
        assert_eq!(paths, ["h.down.qdisc", "h.up.qdisc"]);
        assert_eq!(
            wanted[1].words,
            [
                "qdisc add dev q1 root handle 1: htb default 1",
                "class add dev q1 parent 1: classid 1:1 htb rate 8000000bit ceil 8000000bit",
                "qdisc add dev q1 parent 1:1 handle 10: codel",
            ]
        );
        let carried = carried(&scenario);
        let words: Vec<String> =
            carried.disciplines().map(|(path, queue)| format!("{path} {}", queue.qdisc)).collect();
        assert_eq!(
            words,
            [
                "h.down.qdisc kernel 0",
                "h.up.qdisc kernel 1",
                "g.down.qdisc pfifo limit 9",
                "g.up.qdisc pfifo limit 9",
            ]
        );
    }
}
