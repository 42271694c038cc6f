//! A sender and a receiver over a link that loses, repeats, delays, reorders and marks as it likes: what must hold
//! after every event, and that all data arrives in the end.
//!
//! `PROPTEST_CASES` sets how many links are tried; the default is for every build. 300 000 of each were run once.

use crate::cc::{CongestionControl, Registry};
use crate::ecn;
use crate::receiver::{Receiver, WindowPolicy};
use crate::segment::{Ack, Data, HEADERS, Handshake, Output, Seq};
use crate::sender::{Config, Sender};
use crate::stack::examples::{LINUX_5_4, LINUX_5_10, LINUX_7_3};
use crate::stack::{PragueVersion as Version, SceSenders, TcpQuirks};
use proptest::prelude::*;
use sojourn_units::{Ecn, Random, Rate, Serializer, Span, Time};
use std::collections::BTreeMap;

const MSS: u32 = 1448;

fn april(prague: Version) -> TcpQuirks {
    TcpQuirks { prague, ..LINUX_5_4 }
}

fn march(sce: SceSenders) -> TcpQuirks {
    TcpQuirks { sce, echoes_sce: true, ..LINUX_5_4 }
}

fn cases(by_default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(by_default), ..ProptestConfig::default() }
}

/// What a link does to packets; chances in 1/1000.
#[derive(Clone, Debug)]
struct Link {
    one_way: Span,
    mbit: u64,
    queue: usize,
    loss: u64,
    ack_loss: u64,
    twice: u64,
    mark: u64,
    /// Chance that ECT(0) becomes ECT(1).
    sce: u64,
    /// Chance of a further delay, and the longest.
    late: u64,
    late_by: Span,
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    link: Link,
    stack: usize,
    hz: u32,
    cc: &'static str,
    bytes: u64,
    ecn: ecn::Request,
    paced: bool,
    /// A fixed window in segments.
    window: Option<u32>,
}

impl Case {
    fn quirks(&self) -> TcpQuirks {
        TcpQuirks {
            hz: self.hz,
            ..[
                LINUX_7_3,
                LINUX_5_10,
                LINUX_5_4,
                april(Version::April2020),
                april(Version::April2020Fixed),
                march(SceSenders::Published),
                march(SceSenders::Corrected),
            ][self.stack]
                .clone()
        }
    }
}

prop_compose! {
    fn any_link()(
        us in 100_u64..100_000,
        mbit in 1_u64..200,
        queue in 3_usize..200,
        loss in prop_oneof![Just(0), 1_u64..50, 50_u64..400],
        ack_loss in prop_oneof![Just(0), 1_u64..50, 50_u64..400],
        twice in prop_oneof![3 => Just(0), 1 => 1_u64..200],
        mark in prop_oneof![Just(0), 1_u64..300],
        sce in prop_oneof![Just(0), 1_u64..600],
        late in prop_oneof![2 => Just(0), 1 => 1_u64..500],
        late_us in 1_u64..300_000,
    ) -> Link {
        let (one_way, late_by) = (Span::from_micros(us), Span::from_micros(late_us));
        Link { one_way, mbit, queue, loss, ack_loss, twice, mark, sce, late, late_by }
    }
}

prop_compose! {
    fn any_case()(
        seed: u64,
        link in any_link(),
        stack in 0_usize..7,
        hz in prop_oneof![Just(250), Just(1000)],
        cc in proptest::sample::select(Registry::built_in().names().collect::<Vec<_>>()),
        bytes in 1_u64..400_000,
        ecn in prop_oneof![Just(ecn::Request::Off), Just(ecn::Request::Rfc3168), Just(ecn::Request::AccEcn)],
        paced in proptest::bool::weighted(0.2),
        window in proptest::option::weighted(0.3, 1_u32..100),
    ) -> Case {
        Case { seed, link, stack, hz, cc, bytes, ecn, paced, window }
    }
}

#[derive(Clone, Debug)]
enum Packet {
    Syn(Handshake),
    SynAck(Handshake),
    Data(Data, Ecn),
    Ack(Ack),
}

/// The link, both ways. Data goes through a queue; ACKs only take their time.
struct Network {
    link: Link,
    random: Random,
    line: Serializer,
    free_at: Time,
    queued: Vec<Time>,
    /// On their way, by arrival and then by departure.
    arriving: BTreeMap<(Time, u64), Packet>,
    count: u64,
    now: Time,
    /// Where each segment that was sent ends, in bytes.
    ends: Vec<u64>,
    /// Highest byte that the receiver has admitted.
    admitted: u64,
}

impl Network {
    fn happens(&mut self, chance: u64) -> bool {
        chance > 0 && self.random.below(1000) < chance
    }

    fn travel(&mut self, from: Time, loss: u64, packet: &Packet) {
        let copies = 1 + u32::from(self.happens(self.link.twice));
        for _ in 0..copies {
            if self.happens(loss) {
                continue;
            }
            let mut at = from + self.link.one_way;
            if self.happens(self.link.late) {
                at += Span::from_nanos(self.random.below(self.link.late_by.as_nanos()));
            }
            self.count += 1;
            self.arriving.insert((at, self.count), packet.clone());
        }
    }
}

impl Output for Network {
    fn syn(&mut self, syn: Handshake, _ecn: Ecn) {
        self.travel(self.now, self.link.loss, &Packet::Syn(syn));
    }

    fn data(&mut self, data: Data, ecn: Ecn) {
        let (start, len) = (self.byte(data.seq), u64::from(data.len));
        if data.retransmission {
            assert_eq!(start + len, self.byte(data.seq + 1), "{} has another size", data.seq);
        } else {
            assert_eq!(self.ends.len(), data.seq as usize, "new ones are sent once, in order");
            self.ends.push(start + len);
        }
        let (end, admitted) = (start + len, self.admitted);
        assert!(end <= admitted, "{end} beyond what was admitted, {admitted}");
        let now = self.now;
        self.queued.retain(|&t| t > now);
        if self.queued.len() >= self.link.queue {
            return;
        }
        self.free_at = self.line.finish(self.free_at.max(now), 1514);
        self.queued.push(self.free_at);
        let mark = ecn.is_capable() && self.happens(self.link.mark);
        let ecn = if mark { Ecn::Ce } else { ecn };
        let some = ecn == Ecn::Ect0 && self.happens(self.link.sce);
        let ecn = if some { Ecn::Ect1 } else { ecn };
        self.travel(self.free_at, self.link.loss, &Packet::Data(data, ecn));
    }
}

/// Runs the flow to its end and returns the two, still consistent, and how many segments it took.
fn run(case: &Case) -> (Sender, Receiver, u32) {
    let quirks = case.quirks();
    let config = Config {
        mss: MSS,
        headers: HEADERS,
        ecn: case.ecn,
        codepoint: None,
        ignores_ce: false,
        max_pacing_rate: None,
        paced: case.paced,
        device: None,
        rate_limited_increase: false,
        initial_window: None,
        send_buffer: None,
        bytes: Some(case.bytes),
        clock_offset_ms: 1000,
    };
    let policy = case.window.map_or(WindowPolicy::Autotuned, |n| WindowPolicy::Fixed(n * MSS));
    let control = Registry::built_in().build(case.cc, &quirks).expect("it exists");
    let needs = control.ecn();
    let mut sender = Sender::new(&config, quirks.clone(), control);
    let mut receiver = Receiver::new(MSS, policy, &quirks, 5000).facing(&needs, case.ecn, None);
    let mut wires = Network {
        random: Random::named(case.seed, "link"),
        line: Serializer::new(Rate::from_mbit(case.link.mbit)),
        free_at: Time::ZERO,
        queued: Vec::new(),
        arriving: BTreeMap::new(),
        count: 0,
        now: Time::ZERO,
        ends: Vec::new(),
        admitted: 0,
        link: case.link.clone(),
    };
    sender.open(Time::ZERO, &mut wires);
    let mut events = 0_u32;
    while !sender.is_finished() {
        events += 1;
        assert!(events < 3_000_000, "no end in sight: {:?}", sender.tcb());
        let arrival = wires.arriving.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
        let (sending, receiving) = (sender.next_timer(), receiver.next_timer());
        let next = arrival.min(sending).min(receiving);
        assert!(!next.is_never(), "nobody will ever do anything: {:?}", sender.tcb());
        // A timer that is over already is served now.
        let now = next.max(wires.now);
        wires.now = now;
        let before = (sender.tcb().view.una, sender.tcb().view.delivered);
        let acks_lost = wires.link.ack_loss;
        if arrival == next {
            let (_, packet) = wires.arriving.pop_first().expect("it is the first");
            match packet {
                Packet::Syn(syn) => {
                    let answer = receiver.on_syn(now, &syn, Ecn::NotEct);
                    wires.admitted = wires.admitted.max(u64::from(answer.window));
                    wires.travel(now, acks_lost, &Packet::SynAck(answer));
                }
                Packet::SynAck(answer) => sender.on_syn_ack(now, &answer, &mut wires),
                Packet::Data(data, ecn) => {
                    if let Some(ack) = receiver.on_data(now, &data, ecn) {
                        if let Some(earlier) = receiver.take_earlier() {
                            wires.acknowledge(&earlier);
                        }
                        wires.acknowledge(&ack);
                    }
                }
                Packet::Ack(ack) => sender.on_ack(now, &ack, &mut wires),
            }
        } else if receiving == next {
            if let Some(ack) = receiver.on_timer(now) {
                wires.acknowledge(&ack);
            }
        } else {
            sender.on_timer(now, &mut wires);
        }
        sender.check();
        let tcb = sender.tcb();
        assert!(
            tcb.view.una >= before.0 && tcb.view.delivered >= before.1,
            "progress is not taken back"
        );
        assert!(tcb.view.una <= receiver.next(), "acknowledged before it came");
    }
    (sender, receiver, wires.ends.len() as u32)
}

impl Network {
    /// The byte that a segment begins with.
    fn byte(&self, seq: Seq) -> u64 {
        seq.checked_sub(1).map_or(0, |last| self.ends[last as usize])
    }

    fn acknowledge(&mut self, ack: &Ack) {
        let edge = self.byte(ack.ack) + u64::from(ack.window);
        self.admitted = self.admitted.max(edge);
        self.travel(self.now, self.link.ack_loss, &Packet::Ack(*ack));
    }
}

proptest! {
    #![proptest_config(cases(3000))]

    /// Whatever the link does, the stream arrives whole and once, and the counts hold on the way.
    #[test]
    fn all_data_arrives(case in any_case()) {
        let (sender, receiver, segments) = run(&case);
        prop_assert_eq!(receiver.delivered_bytes(), case.bytes);
        prop_assert_eq!(receiver.next(), segments);
        let t = sender.tcb();
        let least = case.bytes.div_ceil(u64::from(MSS - t.view.options)) as u32;
        prop_assert!(segments == least || case.cc == "prague" && segments > least);
        prop_assert_eq!((t.view.packets_out, t.view.sacked_out, t.view.lost_out, t.view.retrans_out), (0, 0, 0, 0));
        prop_assert!(sender.next_timer().is_never());
        // Each segment was delivered once; more only as duplicates of what was sent again.
        let again = u64::from(t.view.delivered) - u64::from(segments);
        prop_assert!(again <= sender.counters().retransmits);
    }

    /// A link that only takes its time needs no repairs, and no reduction unless it marks.
    #[test]
    fn a_clean_link_needs_no_repair(case in any_case(), mbit in 50_u64..200) {
        let link = Link {
            mbit, queue: 100_000, loss: 0, ack_loss: 0, twice: 0, late: 0, ..case.link.clone()
        };
        let (sender, ..) = run(&Case { link, ..case });
        let c = sender.counters();
        // A tail-loss probe may repeat what a delayed ACK holds.
        prop_assert_eq!((c.recoveries, c.timeouts, c.retransmits), (0, 0, c.probes.min(c.retransmits)));
    }

    /// Prague of 0.7 where most packets are marked: its segments change their size again and again, and yet every byte
    /// arrives once, no segment is sent in two sizes, and the peer's window holds in bytes.
    #[test]
    fn all_data_arrives_in_segments_of_many_sizes(case in any_case(), mark in 300_u64..950) {
        let loss = case.link.loss.min(20);
        let link = Link { mbit: 1 + case.link.mbit % 3, mark, loss, ..case.link.clone() };
        let bytes = case.bytes % 100_000 + 30_000;
        let ecn = ecn::Request::AccEcn;
        let (sender, receiver, segments) =
            run(&Case { link, bytes, ecn, stack: 0, cc: "prague", ..case });
        prop_assert_eq!(receiver.delivered_bytes(), bytes);
        prop_assert_eq!((receiver.next(), sender.tcb().view.una), (segments, segments));
    }

    /// Nothing but the case decides what happens.
    #[test]
    fn the_same_seed_gives_the_same_run(case in any_case()) {
        let (a, ..) = run(&case);
        let (b, ..) = run(&case);
        prop_assert_eq!(a.counters(), b.counters());
        prop_assert_eq!(format!("{:?}", a.tcb()), format!("{:?}", b.tcb()));
    }
}

/// Nine marks of ten packets at 1 Mbit/s bring Prague of 0.7 down to packets that are not full.
#[test]
fn segments_of_many_sizes_do_occur() {
    let one_way = Span::from_millis(5);
    let link = Link {
        one_way,
        mbit: 1,
        queue: 100,
        loss: 0,
        ack_loss: 0,
        twice: 0,
        mark: 900,
        sce: 0,
        late: 0,
        late_by: Span::ZERO,
    };
    let ecn = ecn::Request::AccEcn;
    let (bytes, cc) = (200_000, "prague");
    let case =
        Case { seed: 1, link, stack: 0, hz: 250, cc, bytes, ecn, paced: false, window: None };
    let (_, receiver, segments) = run(&case);
    assert_eq!(receiver.delivered_bytes(), bytes);
    assert!(u64::from(segments) > 2 * case.bytes / u64::from(MSS), "{segments}");
}
