//! The cost of a discrete-event simulator before it has TCP, queues with a law, or records: the same packets over the
//! same hops with fixed windows and a binary heap of events. Its packets per CPU-second, measured together with the
//! benchmark on the same machine, say how fast the machine is at that time; the benchmark is given as a ratio to it.
//!
//! The packets are those of the benchmark: full data packets one way, an acknowledgement for every second one the other
//! way, each in a box of its own from a pool, each through a delay and a line with a FIFO in front of it. The window
//! is the path's pipe and half of it again as a standing queue, shared equally. Times are whole nanoseconds; events at
//! one time come in the order in which they were made.

use sojourn_units::{Rate, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of a full packet and of an acknowledgement, with their Ethernet headers.
const DATA: u64 = 1514;
const ACK: u64 = 66;

/// A packet with the fields of the simulator's, in two cache lines.
struct Packet {
    flow: u32,
    number: u32,
    wire_len: u64,
    sent: u64,
    entered: u64,
    left: u64,
    _rest: [u64; 11],
}

/// A line with a FIFO in front of it.
#[derive(Default)]
struct Line {
    queue: VecDeque<Box<Packet>>,
    sending: Option<Box<Packet>>,
}

/// What happens.
enum What {
    /// A packet has been delayed and comes to the line of its way.
    Arrives(Box<Packet>),
    /// The packet on the line of this way has left it.
    Left(usize),
}

/// An event: time and number, which decide the order, and what happens.
struct Event(u64, u64, What);

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// A loop under way.
struct Loop {
    heap: BinaryHeap<Reverse<Event>>,
    made: u64,
    delay: u64,
    bits_per_sec: u64,
    lines: [Line; 2],
    #[allow(clippy::vec_box, reason = "the pool keeps the boxes themselves")]
    pool: Vec<Box<Packet>>,
}

impl Loop {
    fn at(&mut self, time: u64, what: What) {
        self.made += 1;
        self.heap.push(Reverse(Event(time, self.made, what)));
    }

    /// A host sends a packet into its delay.
    fn send(&mut self, now: u64, flow: u32, number: u32, wire_len: u64) {
        let fresh =
            Packet { flow, number, wire_len, sent: now, entered: 0, left: 0, _rest: [0; 11] };
        let packet = match self.pool.pop() {
            Some(mut used) => {
                *used = fresh;
                used
            }
            None => Box::new(fresh),
        };
        self.at(now + self.delay, What::Arrives(packet));
    }

    /// The next packet of a way goes onto its line.
    fn serve(&mut self, now: u64, way: usize) {
        let next = self.lines[way].queue.pop_front();
        if let Some(packet) = &next {
            let done = now + packet.wire_len * 8 * 1_000_000_000 / self.bits_per_sec;
            self.at(done, What::Left(way));
        }
        self.lines[way].sending = next;
    }
}

/// Data packets that such a dumbbell carries in a time, and the sum of their delays, which keeps the work from being left
/// out.
pub(crate) fn packets(rate: Rate, rtt: Span, flows: usize, duration: Span) -> (u64, u64) {
    let bits_per_sec = rate.bits_per_sec();
    let pipe = rtt.as_nanos() * bits_per_sec / (DATA * 8 * 1_000_000_000) + 1;
    let window = (pipe * 3 / 2 / flows as u64).max(2);
    let mut run = Loop {
        heap: BinaryHeap::new(),
        made: 0,
        delay: rtt.as_nanos() / 2,
        bits_per_sec,
        lines: [Line::default(), Line::default()],
        pool: Vec::new(),
    };
    let (mut next, mut waiting) = (vec![0_u32; flows], vec![0_u32; flows]);
    for (flow, next) in (0..).zip(&mut next) {
        for _ in 0..window {
            run.send(0, flow, *next, DATA);
            *next += 1;
        }
    }
    let (mut carried, mut delays) = (0, 0);
    while let Some(Reverse(Event(now, _, what))) = run.heap.pop() {
        if now > duration.as_nanos() {
            break;
        }
        match what {
            What::Arrives(mut packet) => {
                let way = usize::from(packet.wire_len == ACK);
                packet.entered = now;
                run.lines[way].queue.push_back(packet);
                if run.lines[way].sending.is_none() {
                    run.serve(now, way);
                }
            }
            What::Left(way) => {
                let Some(mut packet) = run.lines[way].sending.take() else { continue };
                packet.left = now;
                run.serve(now, way);
                let flow = packet.flow as usize;
                if way == 0 {
                    carried += 1;
                    delays += packet.left - packet.sent.max(packet.entered);
                    waiting[flow] += 1;
                    if waiting[flow] == 2 {
                        waiting[flow] = 0;
                        run.send(now, packet.flow, packet.number, ACK);
                    }
                } else {
                    for _ in 0..2 {
                        run.send(now, packet.flow, next[flow], DATA);
                        next[flow] += 1;
                    }
                }
                run.pool.push(packet);
            }
        }
    }
    (carried, delays)
}
