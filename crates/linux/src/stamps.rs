//! Packets as they were seen on both sides of every queue, and the results from that.
//!
//! The agent writes a stamp of 32 bytes for every packet at every tap. A packet that leaves a queue is found
//! among those that entered it; earlier packets of its flow with the same ECN field that have not left were dropped,
//! for no discipline here changes their order (DualPI2 has two queues, by that field). Programs of the machine may have
//! several connections, each in order by itself. From the pairs come sojourn times, marks and drops; from data at the
//! first queue and acknowledgements behind the last, the RTT samples that the sender's kernel took.
//!
//! Invariants: a packet's entry precedes its exit in the file, for the agent empties the taps of entries first; an RTT
//! sample is taken of the oldest segment that an acknowledgement newly covers, and of none that was sent twice (Karn
//! and Partridge 1987), as `tcp_clean_rtx_queue` does.

use sojourn_workload::Missing;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Read};

/// Bytes of a stamp.
pub const STAMP: usize = 32;
/// The tap number of a datagram's arrival at its receiver; `seq` is its one-way delay in nanoseconds, and `ack` its
/// number.
pub const ARRIVAL: u16 = 0xffff;
const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// A packet at a tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Nanoseconds of the run's clock.
    pub at: u64,
    /// TCP's sequence number, a datagram's or a probe's number.
    pub seq: u32,
    /// TCP's acknowledgement number.
    pub ack: u32,
    /// The tap.
    pub tap: u16,
    /// The flow.
    pub flow: u16,
    /// The IP identification.
    pub id: u16,
    /// Bytes of payload of TCP and of programs' UDP, of the whole IP packet otherwise.
    pub length: u16,
    /// DSCP and ECN field.
    pub tos: u8,
    /// TCP's flags.
    pub flags: u8,
    /// IP's protocol.
    pub protocol: u8,
    /// 0 for data, 1 for what comes back.
    pub way: u8,
    /// Of a flow of programs its connection: the ports of server and client. 0 for other flows, which have but one.
    pub connection: u32,
}

impl Stamp {
    /// From the agent's bytes.
    pub fn read(b: &[u8; STAMP]) -> Self {
        let u16_at = |at: usize| u16::from_ne_bytes([b[at], b[at + 1]]);
        let u32_at = |at: usize| u32::from_ne_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        Self {
            at: u64::from_ne_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            seq: u32_at(8),
            ack: u32_at(12),
            tap: u16_at(16),
            flow: u16_at(18),
            id: u16_at(20),
            length: u16_at(22),
            tos: b[24],
            flags: b[25],
            protocol: b[26],
            way: b[27],
            connection: u32_at(28),
        }
    }

    fn ecn(&self) -> u8 {
        self.tos & 3
    }

    fn key(&self) -> Key {
        (self.id, self.seq, self.ack)
    }
}

/// A packet in a queue: when it came, and with which ECN field.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: u64,
    ecn: u8,
    /// The queue was off: it goes past it.
    past: bool,
}

/// A packet's time in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stayed {
    /// When it left.
    pub at: u64,
    /// How long it had been there, nanoseconds.
    pub nanos: u64,
    /// Its flow.
    pub flow: u16,
    /// Its ECN field when it came.
    pub ecn: u8,
}

/// What left a queue in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Left {
    /// How many.
    pub count: u64,
    /// Least time in the queue.
    pub min: u64,
    /// Greatest.
    pub max: u64,
    /// Sum.
    pub sum: u64,
    /// Packets marked, up to the end of the step.
    pub marks: u64,
}

/// What tells a packet from others of its flow and way.
type Key = (u16, u32, u32);

/// One flow's packets that are on their way through something, by the ECN field that they came with: of each the order is
/// kept, of different ones DualPI2 does not keep it.
#[derive(Debug)]
struct InOrder<T> {
    by_ecn: [VecDeque<(Key, T)>; 4],
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { by_ecn: std::array::from_fn(|_| VecDeque::new()) }
    }
}

impl<T> InOrder<T> {
    fn put(&mut self, stamp: &Stamp, value: T) {
        self.by_ecn[usize::from(stamp.ecn())].push_back((stamp.key(), value));
    }

    /// Takes a packet, and those that it overtook, which were dropped: how many they are.
    fn take(&mut self, stamp: &Stamp) -> Option<(T, u64)> {
        let place =
            |them: &VecDeque<(Key, T)>| them.iter().position(|(key, _)| *key == stamp.key());
        let (them, place) =
            self.by_ecn.iter_mut().find_map(|them| place(them).map(|at| (them, at)))?;
        them.drain(..place);
        them.pop_front().map(|(_, value)| (value, place as u64))
    }
}

/// Counts of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowCounts {
    /// Data packets with CE that reached the receiver.
    pub ce: u64,
    /// Acknowledgements with ECE that reached the sender.
    pub ece: u64,
    /// The latest RTT sample in nanoseconds, if there was one.
    pub rtt: Option<u64>,
    /// Packets that left their last queue, both ways.
    pub arrived: u64,
    /// Of programs: bytes of payload that left the last queue, of TCP those in order.
    pub bytes: u64,
}

/// A flow as its stamps tell it.
#[derive(Debug, Default)]
pub struct FlowTrace {
    /// Counts at the end of each step.
    pub steps: Vec<FlowCounts>,
    now: FlowCounts,
    /// Packets that entered their first queue, both ways.
    pub sent: u64,
    /// Packets that left their last queue, both ways.
    pub arrived: u64,
    /// Packets that queues dropped, both ways.
    pub dropped: u64,
    /// RTT samples, or one-way delays of datagrams: (when, how long), in nanoseconds.
    pub delays: Vec<(u64, u64)>,
    /// One-way delays of TCP's data from the sender to behind the last queue, where the constant part before the first
    /// is known; as above.
    pub ways: Vec<(u64, u64)>,
    /// Datagrams that the receiver held for lost at the end of each step: those that had not come while 64 later ones
    /// had, as in the simulator.
    pub lost: Vec<u64>,
    /// The number of each datagram of `delays`.
    pub numbers: Vec<u32>,
    missing: Missing,
}

/// One connection of a flow.
#[derive(Debug, Default)]
struct Connection {
    /// Data on its way, and when it was sent.
    on_its_way: InOrder<u64>,
    segments: VecDeque<Segment>,
    highest: Option<u32>,
    received: Received,
}

/// The parts of a byte stream that have come.
#[derive(Debug, Default)]
struct Received {
    /// Everything before it has come; nothing has before the first segment.
    edge: Option<u64>,
    /// What came beyond the edge: from, to.
    beyond: BTreeMap<u64, u64>,
}

impl Received {
    /// Takes a segment; returns by how many bytes the stream has grown in order.
    fn take(&mut self, seq: u32, length: u16, syn: bool) -> u64 {
        let Some(edge) = self.edge else {
            // The sequence space is 2³²; the edge counts on.
            let first = seq.wrapping_add(u32::from(syn));
            self.edge = Some((1 << 32) + u64::from(first) + u64::from(length));
            return length.into();
        };
        let ahead = i64::from(seq.wrapping_sub(edge as u32).cast_signed());
        let from = edge.saturating_add_signed(ahead);
        let to = from + u64::from(length);
        if to <= edge {
            return 0;
        }
        let longest = self.beyond.entry(from).or_insert(to);
        *longest = to.max(*longest);
        let mut now = edge;
        while let Some(next) = self.beyond.first_entry().filter(|e| *e.key() <= now) {
            now = now.max(next.remove());
        }
        self.edge = Some(now);
        now - edge
    }
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    end: u32,
    /// `None` if nobody knows.
    sent: Option<u64>,
    again: bool,
}

/// A queue as its stamps show it.
#[derive(Debug, Default)]
pub struct QueueTrace {
    /// What left in each step.
    pub steps: Vec<Left>,
    /// Times in the queue, with the end of each and the packet's flow.
    pub sojourns: Vec<Stayed>,
    /// Packets that entered.
    pub entered: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets marked although they were not ECN-capable.
    pub false_marks: u64,
    /// By connection and way.
    lanes: Vec<[InOrder<Waiting>; 2]>,
}

/// What a tap's stamps mean to one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Role {
    /// Data enters its first queue here, this long after it was sent, until [`Later`] says otherwise; `None` inside if that
    /// varies.
    pub first: Option<Option<u64>>,
    /// Data leaves its last queue here.
    pub last: bool,
    /// Acknowledgements leave their last queue here.
    pub back: bool,
    /// What comes back enters its first queue here.
    pub back_first: bool,
}

/// From a time on the data of a flow that is sent enters its first queue after another delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Later {
    /// The tap of the queue.
    pub tap: usize,
    /// The flow.
    pub flow: usize,
    /// Since when, nanoseconds.
    pub from: u64,
    /// How long after it was sent, nanoseconds; `None` if that varies.
    pub delay: Option<u64>,
}

/// Where the taps are.
#[derive(Clone, Debug)]
pub struct Layout {
    /// For each tap: its queue, and whether packets enter there.
    pub taps: Vec<(usize, bool)>,
    /// For each tap and flow: its role for that flow.
    pub roles: Vec<Vec<Role>>,
    /// The delays that events bring, of each tap and flow in the order of time.
    pub later: Vec<Later>,
    /// How many queues there are.
    pub queues: usize,
    /// How many flows.
    pub flows: usize,
    /// The sample interval in nanoseconds.
    pub step: u64,
    /// Times from and to which each queue was off; where both are the same, it was replaced. Packets that it held at
    /// the beginning of each were dropped, and packets that come before its end go past it.
    pub off: Vec<Vec<(u64, u64)>>,
}

impl Layout {
    /// When a packet was sent that enters its flow's first queue, if only one of the delays there can have held it until then.
    fn sent(&self, tap: usize, flow: usize, at_first: Option<u64>, at: u64) -> Option<u64> {
        let own = self.later.iter().filter(|later| (later.tap, later.flow) == (tap, flow));
        let (mut from, mut delay, mut sent, mut candidates) = (0, at_first, None, 0);
        let ends = own.map(|later| (later.from, later.delay)).chain([(u64::MAX, None)]);
        for (until, next) in ends {
            // Of a delay that varies nobody knows when its last packet comes.
            let then = delay.map_or(at, |delay| at.saturating_sub(delay));
            if (from..until).contains(&then) {
                candidates += 1;
                sent = delay.map(|_| then);
            }
            (from, delay) = (until, next);
        }
        sent.filter(|_| candidates == 1)
    }
}

/// Everything that the stamps tell.
#[derive(Debug, Default)]
pub struct Trace {
    /// By queue.
    pub queues: Vec<QueueTrace>,
    /// By flow.
    pub flows: Vec<FlowTrace>,
    /// The first have the numbers of their flows; those of programs follow as they are met.
    connections: Vec<Connection>,
    numbers: HashMap<(u16, u32), usize>,
    step: u64,
}

/// Grows `steps` so that it holds the step that ends at or after `at`, and returns it.
fn step_of<T: Clone>(
    steps: &mut Vec<T>,
    at: u64,
    step: u64,
    fill: impl Fn(Option<&T>) -> T,
) -> &mut T {
    // An event at the very end of a step belongs to it.
    let index = (at.saturating_sub(1) / step) as usize;
    while steps.len() <= index {
        let next = fill(steps.last());
        steps.push(next);
    }
    &mut steps[index]
}

impl Trace {
    /// Of no stamps.
    pub fn new(layout: &Layout) -> Self {
        let mut trace = Self {
            queues: (0..layout.queues).map(|_| QueueTrace::default()).collect(),
            flows: (0..layout.flows).map(|_| FlowTrace::default()).collect(),
            step: layout.step,
            ..Self::default()
        };
        for _ in 0..layout.flows {
            trace.connect();
        }
        trace
    }

    /// Reads a file of stamps.
    pub fn read(mut from: impl Read, layout: &Layout) -> io::Result<Self> {
        let mut trace = Self::new(layout);
        let mut bytes = vec![0; STAMP * 8192];
        let mut held = 0;
        loop {
            let read = from.read(&mut bytes[held..])?;
            if read == 0 {
                trace.finish(layout);
                return Ok(trace);
            }
            held += read;
            let whole = held / STAMP * STAMP;
            for chunk in bytes[..whole].as_chunks::<STAMP>().0 {
                trace.take(&Stamp::read(chunk), layout);
            }
            bytes.copy_within(whole..held, 0);
            held -= whole;
        }
    }

    /// No stamp follows: counts what was in a queue when it went, and has been overtaken by nothing.
    pub fn finish(&mut self, layout: &Layout) {
        let mut flow_of: Vec<usize> = (0..self.connections.len()).collect();
        for (&(flow, _), &number) in &self.numbers {
            flow_of[number] = flow.into();
        }
        for (queue, off) in self.queues.iter().zip(&layout.off) {
            let Some(&(gone, _)) = off.last() else { continue };
            for (lanes, &flow) in queue.lanes.iter().zip(&flow_of) {
                let them = lanes.iter().flat_map(|lane| &lane.by_ecn).flatten();
                let held = them.filter(|(_, waiting)| waiting.at < gone).count();
                self.flows[flow].dropped += held as u64;
            }
        }
    }

    /// One connection more.
    fn connect(&mut self) -> usize {
        self.connections.push(Connection::default());
        for queue in &mut self.queues {
            queue.lanes.push(Default::default());
        }
        self.connections.len() - 1
    }

    /// The number of a packet's connection.
    fn connection(&mut self, stamp: &Stamp) -> usize {
        if stamp.connection == 0 {
            return stamp.flow.into();
        }
        let of = (stamp.flow, stamp.connection);
        if let Some(&number) = self.numbers.get(&of) {
            return number;
        }
        let number = self.connect();
        self.numbers.insert(of, number);
        number
    }

    /// The next stamp.
    pub fn take(&mut self, stamp: &Stamp, layout: &Layout) {
        let flow = usize::from(stamp.flow);
        if flow >= self.flows.len() {
            return;
        }
        if stamp.tap == ARRIVAL {
            self.flows[flow].datagram(stamp, self.step);
            return;
        }
        let tap = usize::from(stamp.tap);
        let Some(&(queue, enters)) = layout.taps.get(tap) else { return };
        let role = layout.roles[tap][flow];
        if enters {
            self.enter(stamp, (tap, queue), flow, role, layout);
        } else {
            self.leave(stamp, queue, flow, role);
        }
    }

    fn enter(
        &mut self,
        stamp: &Stamp,
        (tap, queue): (usize, usize),
        flow: usize,
        role: Role,
        layout: &Layout,
    ) {
        let number = self.connection(stamp);
        let q = &mut self.queues[queue];
        let past = layout.off[queue].iter().any(|&(from, to)| (from..to).contains(&stamp.at));
        q.entered += u64::from(!past);
        let waiting = Waiting { at: stamp.at, ecn: stamp.ecn(), past };
        q.lanes[number][usize::from(stamp.way & 1)].put(stamp, waiting);
        let (f, connection) = (&mut self.flows[flow], &mut self.connections[number]);
        match (stamp.way, role.first) {
            (0, Some(delay)) => {
                f.sent += 1;
                if stamp.protocol == TCP || stamp.connection != 0 {
                    let sent = layout.sent(tap, flow, delay, stamp.at);
                    if stamp.protocol == TCP {
                        connection.data(stamp, sent);
                    }
                    if let Some(sent) = sent.filter(|_| stamp.length > 0) {
                        connection.on_its_way.put(stamp, sent);
                    }
                }
            }
            (1, _) if role.back_first => f.sent += 1,
            _ => {}
        }
    }

    fn leave(&mut self, stamp: &Stamp, queue: usize, flow: usize, role: Role) {
        let number = self.connection(stamp);
        let (q, f) = (&mut self.queues[queue], &mut self.flows[flow]);
        let connection = &mut self.connections[number];
        let lane = &mut q.lanes[number][usize::from(stamp.way & 1)];
        if let Some((entry, overtaken)) = lane.take(stamp) {
            f.dropped += overtaken;
            if !entry.past {
                q.left(stamp, entry, self.step);
            }
        }
        if stamp.way == 0 && role.last {
            f.arrived += 1;
            f.now.ce += u64::from(stamp.ecn() == 3);
            if let Some((sent, _)) = connection.on_its_way.take(stamp) {
                f.ways.push((stamp.at, stamp.at.saturating_sub(sent)));
            }
            if stamp.connection != 0 {
                let syn = stamp.flags & SYN != 0;
                f.now.bytes += match stamp.protocol {
                    TCP => connection.received.take(stamp.seq, stamp.length, syn),
                    _ => stamp.length.into(),
                };
            }
        } else if stamp.way == 1 && role.back {
            f.arrived += 1;
            f.acknowledged(connection, stamp);
        } else {
            return;
        }
        f.now.arrived = f.arrived;
        let now = f.now;
        *step_of(&mut f.steps, stamp.at, self.step, |before| before.copied().unwrap_or_default()) =
            now;
    }
}

impl QueueTrace {
    /// A packet has left that came as `entry`.
    fn left(&mut self, stamp: &Stamp, entry: Waiting, step: u64) {
        let stayed = stamp.at.saturating_sub(entry.at);
        let (at, flow, ecn) = (stamp.at, stamp.flow, entry.ecn);
        self.sojourns.push(Stayed { at, nanos: stayed, flow, ecn });
        let marked = entry.ecn != 3 && stamp.ecn() == 3;
        self.marked += u64::from(marked);
        self.false_marks += u64::from(marked && entry.ecn == 0);
        let carry = |before: Option<&Left>| Left {
            marks: before.map_or(0, |b| b.marks),
            ..Left::default()
        };
        let left = step_of(&mut self.steps, stamp.at, step, carry);
        left.min = if left.count == 0 { stayed } else { left.min.min(stayed) };
        left.max = left.max.max(stayed);
        left.count += 1;
        left.sum += stayed;
        left.marks = self.marked;
    }
}

/// Whether `a` comes before `b` in sequence space.
fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

impl FlowTrace {
    /// A datagram has reached its receiver.
    fn datagram(&mut self, stamp: &Stamp, step: u64) {
        self.delays.push((stamp.at, u64::from(stamp.seq)));
        self.numbers.push(stamp.ack);
        self.missing.arrived(stamp.ack);
        let lost = self.missing.lost();
        *step_of(&mut self.lost, stamp.at, step, |before| before.copied().unwrap_or(0)) = lost;
    }

    /// An acknowledgement reached the sender.
    fn acknowledged(&mut self, connection: &mut Connection, stamp: &Stamp) {
        // The SYN of a client that data come to acknowledges nothing.
        if stamp.protocol != TCP || stamp.flags & RST != 0 || stamp.flags & ACK == 0 {
            return;
        }
        self.now.ece += u64::from(stamp.flags & ECE != 0 && stamp.flags & SYN == 0);
        if let Some(segment) = connection.acknowledged(stamp) {
            self.now.rtt = segment.sent.map(|sent| stamp.at.saturating_sub(sent));
            self.delays.extend(self.now.rtt.map(|rtt| (stamp.at, rtt)));
        }
    }
}

impl Connection {
    /// A segment was sent; `None` if nobody knows when.
    fn data(&mut self, stamp: &Stamp, sent: Option<u64>) {
        if stamp.flags & RST != 0 {
            return;
        }
        let counts = u32::from(stamp.flags & SYN != 0) + u32::from(stamp.flags & FIN != 0);
        let length = u32::from(stamp.length) + counts;
        if length == 0 {
            return;
        }
        let end = stamp.seq.wrapping_add(length);
        if self.highest.is_some_and(|h| before(stamp.seq, h)) {
            for s in
                self.segments.iter_mut().filter(|s| before(stamp.seq, s.end) && !before(end, s.end))
            {
                s.again = true;
            }
            return;
        }
        self.highest = Some(end);
        self.segments.push_back(Segment { end, sent, again: false });
    }

    /// Takes what an acknowledgement covers; returns the oldest of it that was sent once.
    fn acknowledged(&mut self, stamp: &Stamp) -> Option<Segment> {
        let mut first = None;
        while let Some(&s) = self.segments.front() {
            if before(stamp.ack, s.end) {
                break;
            }
            if !s.again && first.is_none() {
                first = Some(s);
            }
            self.segments.pop_front();
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// One queue for data and one for what comes back: taps 0 and 1 entries, 2 and 3 exits.
    fn layout() -> Layout {
        let none = Role::default();
        let first = Role { first: Some(Some(10 * MS)), ..none };
        let roles = [
            first,
            Role { back_first: true, ..none },
            Role { last: true, ..none },
            Role { back: true, ..none },
        ];
        Layout {
            taps: vec![(0, true), (1, true), (0, false), (1, false)],
            roles: roles.iter().map(|&r| vec![r]).collect(),
            later: vec![],
            queues: 2,
            flows: 1,
            step: 50 * MS,
            off: vec![vec![], vec![]],
        }
    }

    fn data(at: u64, tap: u16, id: u16, seq: u32, ecn: u8) -> Stamp {
        let length = 1000;
        Stamp {
            at,
            seq,
            ack: 1,
            tap,
            flow: 0,
            id,
            length,
            tos: ecn,
            flags: 0x10,
            protocol: 6,
            way: 0,
            connection: 0,
        }
    }

    fn ack(at: u64, tap: u16, id: u16, ack: u32, flags: u8) -> Stamp {
        Stamp {
            at,
            seq: 1,
            ack,
            tap,
            flow: 0,
            id,
            length: 0,
            tos: 0,
            flags,
            protocol: 6,
            way: 1,
            connection: 0,
        }
    }

    /// The trace that these stamps give.
    fn traced(layout: &Layout, stamps: &[Stamp]) -> Trace {
        let mut trace = Trace::read(&[][..], layout).unwrap();
        for stamp in stamps {
            trace.take(stamp, layout);
        }
        trace
    }

    /// Datagrams each 10 ms, 20 ms on their way; 3 of them never come. Number 3 is given up when 67 comes, at 690 ms: in
    /// the step of 50 ms that ends at 700 ms, the fourteenth. 5 and 6 follow with 69 and 70, in the next.
    #[test]
    fn datagrams_that_do_not_come_are_lost() {
        let layout = layout();
        let mut trace = Trace::read(&[][..], &layout).unwrap();
        let sent = 0..=80_u32;
        for number in sent.filter(|n| ![3, 5, 6].contains(n)) {
            let at = u64::from(number) * 10 * MS + 20 * MS;
            let (seq, ack) = (20_000_000, number);
            let arrival = Stamp { seq, ack, tap: ARRIVAL, protocol: 17, ..data(at, 0, 0, 0, 0) };
            trace.take(&arrival, &layout);
        }
        let flow = &trace.flows[0];
        assert_eq!(flow.lost[..13], [0; 13]);
        assert_eq!(flow.lost[13..], [1, 3, 3, 3]);
        assert_eq!((flow.numbers[3], flow.delays[3]), (4, (60 * MS, 20 * MS)));
    }

    #[test]
    fn what_is_overtaken_was_dropped() {
        let stamps = [
            data(10 * MS, 0, 1, 0, 2),
            data(11 * MS, 0, 2, 1000, 2),
            data(12 * MS, 0, 3, 2000, 2),
            data(15 * MS, 2, 1, 0, 3),
            data(50 * MS, 2, 3, 2000, 2),
        ];
        let trace = traced(&layout(), &stamps);
        let q = &trace.queues[0];
        let stayed = |at, nanos| Stayed { at: at * MS, nanos: nanos * MS, flow: 0, ecn: 2 };
        assert_eq!(q.sojourns, [stayed(15, 5), stayed(50, 38)]);
        assert_eq!((q.marked, q.false_marks, q.entered), (1, 0, 3));
        // The second leaves at the very end of the first step.
        assert_eq!(q.steps.len(), 1);
        let whole = Left { count: 2, min: 5 * MS, max: 38 * MS, sum: 43 * MS, marks: 1 };
        assert_eq!(q.steps[0], whole);
        let f = &trace.flows[0];
        assert_eq!((f.sent, f.arrived, f.dropped, f.steps[0].ce), (3, 2, 1, 1));
        // Sent 10 ms before they were seen at the queue.
        assert_eq!(f.ways, [(15 * MS, 15 * MS), (50 * MS, 48 * MS)]);
    }

    /// The queue holds two packets when it goes at 20 ms, is off till 40, is replaced at 60 and holds one. Packets that
    /// pass meanwhile have no time in it, and those that it held were dropped, including the last, which nothing
    /// overtakes.
    #[test]
    fn a_queue_that_is_off_is_passed_by() {
        let off = vec![vec![(20 * MS, 40 * MS), (60 * MS, 60 * MS)], vec![]];
        let layout = Layout { off, ..layout() };
        let mut stamps = vec![
            data(10 * MS, 0, 1, 0, 2),
            data(11 * MS, 0, 2, 1000, 2),
            data(12 * MS, 0, 3, 2000, 2),
            data(20 * MS, 0, 4, 3000, 2),
            data(40 * MS, 0, 5, 4000, 2),
            data(59 * MS, 0, 6, 5000, 2),
            data(18 * MS, 2, 1, 0, 2),
            data(20 * MS, 2, 4, 3000, 2),
            data(45 * MS, 2, 5, 4000, 2),
        ];
        let file = |stamps: &[Stamp]| stamps.iter().flat_map(bytes_of).collect::<Vec<u8>>();
        let trace = Trace::read(file(&stamps).as_slice(), &layout).unwrap();
        let (q, f) = (&trace.queues[0], &trace.flows[0]);
        assert_eq!((q.entered, q.steps[0].count), (5, 2));
        assert_eq!(q.sojourns.iter().map(|s| s.nanos / MS).collect::<Vec<_>>(), [8, 5]);
        assert_eq!((f.sent, f.arrived, f.dropped), (6, 3, 3));
        // A packet that came after the replacement is held at the end, and not dropped.
        stamps.push(data(61 * MS, 0, 7, 6000, 2));
        let trace = Trace::read(file(&stamps).as_slice(), &layout).unwrap();
        assert_eq!((trace.flows[0].sent, trace.flows[0].dropped), (7, 3));
    }

    /// As the agent writes it.
    fn bytes_of(s: &Stamp) -> Vec<u8> {
        let mut bytes = s.at.to_ne_bytes().to_vec();
        bytes.extend([s.seq, s.ack].iter().flat_map(|n| n.to_ne_bytes()));
        bytes.extend([s.tap, s.flow, s.id, s.length].iter().flat_map(|n| n.to_ne_bytes()));
        bytes.extend([s.tos, s.flags, s.protocol, s.way]);
        bytes.extend(s.connection.to_ne_bytes());
        bytes
    }

    /// A flow in both queues of DualPI2: the packets with ECT(1) overtake the one without ECN, and it leaves later; the
    /// second of them never does.
    #[test]
    fn what_came_with_another_ecn_field_is_not_overtaken() {
        let stamps = [
            data(10 * MS, 0, 1, 0, 0),
            data(11 * MS, 0, 2, 1000, 1),
            data(12 * MS, 0, 3, 2000, 1),
            data(13 * MS, 0, 4, 3000, 1),
            data(14 * MS, 2, 2, 1000, 3),
            data(15 * MS, 2, 4, 3000, 1),
            data(30 * MS, 2, 1, 0, 0),
        ];
        let trace = traced(&layout(), &stamps);
        let stayed = |at, nanos, ecn| Stayed { at: at * MS, nanos: nanos * MS, flow: 0, ecn };
        let q = &trace.queues[0];
        assert_eq!(q.sojourns, [stayed(14, 3, 1), stayed(15, 2, 1), stayed(30, 20, 0)]);
        let f = &trace.flows[0];
        assert_eq!((f.sent, f.arrived, f.dropped), (4, 3, 1));
        assert_eq!(f.ways.iter().map(|w| w.1 / MS).collect::<Vec<_>>(), [13, 12, 30]);
    }

    /// A step's entries precede its exits, so the answer to a SYN is known before the SYN has left its queue. Its field
    /// for an acknowledgement is 0, which is behind half of all sequence numbers.
    #[test]
    fn a_syn_acknowledges_nothing() {
        let answer = Stamp { flags: SYN | ACK, length: 0, ..data(40 * MS, 0, 1, 3 << 30, 0) };
        let stamps = [
            answer,
            ack(20 * MS, 1, 1, 0, SYN),
            Stamp { tap: 2, at: 41 * MS, ..answer },
            ack(20 * MS, 3, 1, 0, SYN),
            ack(60 * MS, 1, 2, (3 << 30) + 1, ACK),
            ack(60 * MS, 3, 2, (3 << 30) + 1, ACK),
        ];
        assert_eq!(traced(&layout(), &stamps).flows[0].delays, [(60 * MS, 30 * MS)]);
    }

    /// Two connections of one program through fq_codel: the second one's packet overtakes the first one's, and nothing was
    /// dropped. The segment at 1000 comes twice and the one at 2000 before it.
    #[test]
    fn a_programs_connections_have_an_order_each() {
        let of = |connection, stamp| Stamp { connection, ..stamp };
        let stamps = [
            of(7, data(10 * MS, 0, 1, 0, 0)),
            of(9, data(11 * MS, 0, 1, 0, 0)),
            of(9, data(12 * MS, 2, 1, 0, 0)),
            of(7, data(20 * MS, 2, 1, 0, 0)),
            of(7, data(21 * MS, 2, 3, 2000, 0)),
            of(7, data(22 * MS, 2, 2, 1000, 0)),
            of(7, data(23 * MS, 2, 4, 1000, 0)),
        ];
        let trace = traced(&layout(), &stamps);
        let (q, f) = (&trace.queues[0], &trace.flows[0]);
        assert_eq!(q.sojourns.iter().map(|s| s.nanos / MS).collect::<Vec<_>>(), [1, 10]);
        assert_eq!((f.dropped, f.steps[0].bytes), (0, 4000));
    }

    /// The edge goes on over the end of the sequence space.
    #[test]
    fn a_stream_grows_in_order() {
        let mut stream = Received::default();
        assert_eq!(stream.take(u32::MAX - 999, 0, true), 0);
        assert_eq!(stream.take(u32::MAX - 998, 500, false), 500);
        assert_eq!(stream.take(501, 100, false), 0);
        assert_eq!(stream.take(u32::MAX - 498, 1000, false), 1100);
        assert_eq!(stream.take(u32::MAX - 498, 1000, false), 0);
    }

    #[test]
    fn rtt_is_taken_of_the_oldest_segment_sent_once() {
        let stamps = [
            data(10 * MS, 0, 1, 0, 2),
            data(11 * MS, 0, 2, 1000, 2),
            data(12 * MS, 0, 3, 2000, 2),
            ack(30 * MS, 1, 1, 2000, 0x50),
            ack(30 * MS, 3, 1, 2000, 0x50),
            // The third is sent again: no sample.
            data(40 * MS, 0, 4, 2000, 2),
            ack(60 * MS, 3, 2, 3000, 0x10),
        ];
        let trace = traced(&layout(), &stamps);
        // Sent 10 ms before it was seen at the queue.
        assert_eq!(trace.flows[0].delays, [(30 * MS, 30 * MS)]);
        let steps = &trace.flows[0].steps;
        assert_eq!(
            steps[0],
            FlowCounts { ce: 0, ece: 1, rtt: Some(30 * MS), arrived: 1, bytes: 0 }
        );
        assert_eq!(steps[1], FlowCounts { arrived: 2, ..steps[0] });
    }

    #[test]
    fn stamps_are_read_in_the_machines_order() {
        let mut bytes = Vec::new();
        bytes.extend(7_000_000_123_u64.to_ne_bytes());
        bytes.extend(5_u32.to_ne_bytes());
        bytes.extend(6_u32.to_ne_bytes());
        for n in [1_u16, 2, 3, 4] {
            bytes.extend(n.to_ne_bytes());
        }
        bytes.extend([0xb8, 0x10, 6, 1]);
        bytes.extend(8_u32.to_ne_bytes());
        let s = Stamp::read(bytes.as_slice().try_into().unwrap());
        assert_eq!((s.at, s.seq, s.ack, s.tap, s.flow), (7_000_000_123, 5, 6, 1, 2));
        assert_eq!((s.id, s.length, s.tos, s.way), (3, 4, 0xb8, 1));
        assert_eq!(s.connection, 8);
    }

    #[test]
    fn a_delay_that_changed_is_taken_where_no_other_is_possible() {
        let later = |from: u64, delay: Option<u64>| Later {
            tap: 0,
            flow: 0,
            from: from * MS,
            delay: delay.map(|d| d * MS),
        };
        // 10 ms; 40 from 1 s on; 5 from 2 s on; something that varies from 3 s on; 20 from 4 s on.
        let later = vec![
            later(1000, Some(40)),
            later(2000, Some(5)),
            later(3000, None),
            later(4000, Some(20)),
            Later { tap: 1, ..later(500, Some(1)) },
        ];
        let layout = Layout { later, ..layout() };
        for (at, sent) in [
            (4, Some(0)),
            (600, Some(590)),
            (1009, Some(999)),
            // Nothing comes between the last that was held for 10 ms and the first for 40.
            (1020, None),
            (1040, Some(1000)),
            // Held for 40 ms or for 5: nobody knows.
            (2004, Some(1964)),
            (2005, None),
            (2039, None),
            (2040, Some(2035)),
            (3003, None),
            (4010, None),
            (4020, Some(4000)),
        ] {
            let found = layout.sent(0, 0, Some(10 * MS), at * MS);
            assert_eq!(found, sent.map(|ms| ms * MS), "{at}");
        }
    }
}
