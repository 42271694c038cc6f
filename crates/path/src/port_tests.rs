use super::*;
use crate::testing::Walker;
use crate::wifi::Channel;
use proptest::prelude::*;
use proptest::sample::Index;
use sojourn_model::{AggregatingLink, Wifi};
use sojourn_qdisc::{QdiscQuirks, disciplines};
use sojourn_units::{Ecn, Span};

fn port(words: &str, rate: Rate) -> Port<Walker> {
    let mut random = Random::named(1, "port");
    let built = Registry::built_in().build(words, &QdiscQuirks::LINUX_7_3, &mut random);
    let discipline = built.expect("a discipline");
    Port::new(discipline, Device::line(rate), random)
}

/// At 12.112 Mbit/s a full frame takes a millisecond. Of four frames at once one is on the line, one waits, two are
/// dropped. Sockets get back the dropped ones at once, the others as they leave; from a port that is nobody's device
/// they get nothing.
#[test]
fn a_device_gives_back_what_it_drops_and_what_has_left() {
    for own in [true, false] {
        let mut port = port("pfifo limit 1", Rate::from_bits_per_sec(12_112_000));
        if own {
            port.report_completions();
        }
        let mut air = Air::new();
        for flow in 0..4 {
            port.accept(Time::ZERO, Walker { flow, ..Walker::default() });
            let polled = port.poll_transmit(Time::ZERO, &mut air);
            assert!(matches!(polled, Poll::Later(at) if at == Time::from_millis(1)));
        }
        let mut back = |port: &mut Port<Walker>, ms| {
            let now = Time::from_millis(ms);
            while let Poll::Packet(..) = port.poll_transmit(now, &mut air) {}
            let mut flows = Vec::new();
            while let Some(charge) = port.take_completion(now) {
                flows.push(charge.flow);
            }
            flows
        };
        let expected = if own { [vec![2, 3], vec![0], vec![1]] } else { Default::default() };
        assert_eq!([0, 1, 2].map(|ms| back(&mut port, ms)), expected);
        assert!(port.next_completion().is_never());
    }
}

/// Every kind of device, slow enough that a queue builds up, and the air that the last of them sends on.
fn devices() -> (Vec<Device<Walker>>, Air) {
    let stream = |what| Random::named(5, what);
    let link = AggregatingLink {
        rates: vec![Rate::from_mbit(10), Rate::from_mbit(40)],
        dwell: Span::from_millis(20),
        opportunity_min: Span::from_millis(1),
        opportunity_max: Span::from_millis(4),
        frames: 4,
        airtime: Span::from_millis(3),
        line: Rate::from_mbit(1000),
        limit: 1,
    };
    let wifi = Wifi {
        rates: link.rates.clone(),
        dwell: link.dwell,
        frames: 4,
        airtime: link.airtime,
        frame_errors: 0.5,
        retries: 1,
        line: link.line,
        limit: 1,
        neighbours: None,
    };
    let mut channel = Channel::new(None, wifi.airtime, stream("arrivals"), stream("backoff"));
    let number = channel.join();
    let transmitter = Transmitter::new(number, &wifi, stream("quality"), stream("losses"));
    let radio = Radio::new(&link, stream("chances"), stream("changes"));
    let devices = vec![
        Device::Instant,
        Device::line(Rate::from_mbit(10)),
        Device::Radio(Box::new(radio)),
        Device::Wifi(0, Box::new(transmitter)),
    ];
    (devices, vec![channel])
}

/// What happens to a port.
#[derive(Clone, Debug)]
enum Step {
    /// A packet of this length comes.
    Accept(u32, Ecn),
    /// Time passes, and the port is polled whenever it wants to be.
    Pass(Span),
    /// `tc qdisc change` by one of the discipline's own texts.
    Change(Index),
    /// `tc qdisc replace` by a FIFO.
    Replace,
    /// Shaper, device and discipline go, and others come.
    ReplaceAll(Index),
    /// `tc qdisc del` and `add`.
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (prop_oneof![60_u32..1600, Just(1514)], 0_u8..4)
            .prop_map(|(len, ecn)| Step::Accept(len, Ecn::from_bits(ecn))),
        4 => (0_u64..4_000_000).prop_map(|n| Step::Pass(Span::from_nanos(n))),
        1 => (0_u64..900_000_000).prop_map(|n| Step::Pass(Span::from_nanos(n))),
        1 => any::<Index>().prop_map(Step::Change),
        1 => Just(Step::Replace),
        1 => any::<Index>().prop_map(Step::ReplaceAll),
        1 => Just(Step::Clear),
    ]
}

/// A port and what has gone in and out of it. Each packet is a flow of its own, so that the port's counts by flow are counts
/// by packet.
struct Books {
    port: Port<Walker>,
    air: Air,
    now: Time,
    lengths: Vec<u32>,
    left_bytes: u64,
}

impl Books {
    fn accept(&mut self, wire_len: u32, ecn: Ecn) {
        let flow = self.lengths.len();
        self.lengths.push(wire_len);
        self.port.accept(self.now, Walker { flow, wire_len, ecn, ..Walker::default() });
    }

    fn poll(&mut self) -> Time {
        loop {
            match self.port.poll_transmit(self.now, &mut self.air) {
                Poll::Packet(packet, _) => {
                    assert_eq!(packet.wire_len, self.lengths[packet.flow]);
                    self.left_bytes += u64::from(packet.wire_len);
                }
                Poll::Later(at) => return at,
            }
        }
    }

    fn pass(&mut self, until: Time) {
        loop {
            let next = self.poll().min(self.port.next_timer());
            self.check();
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            self.port.on_timer(next);
        }
    }

    /// Bytes that came, copies made in the port included, are those that left, those dropped, and those held.
    fn check(&self) {
        let stats = self.port.stats();
        let sum = |times: &dyn Fn(usize) -> u64| -> u64 {
            self.lengths.iter().enumerate().map(|(id, &len)| u64::from(len) * times(id)).sum()
        };
        let came = sum(&|id| 1 + stats.copies_of(id));
        let dropped = sum(&|id| stats.drops_of(id));
        let held = self.port.backlog();
        assert_eq!(stats.left_bytes, self.left_bytes);
        assert_eq!(came, self.left_bytes + dropped + held.bytes, "at {}", self.now);
        let packets = stats.left + stats.all_drops() + u64::from(held.packets);
        assert_eq!(stats.entered, packets, "at {}", self.now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the discipline, the device, and what is done to them while packets are held or on their way.
    #[test]
    fn bytes_are_conserved(
        steps in prop::collection::vec(step(), 1..80),
        picks in prop::collection::vec(any::<Index>(), 0..40),
    ) {
        let registry = Registry::built_in();
        let profile = &QdiscQuirks::LINUX_7_3;
        for info in disciplines() {
            for device in 0..devices().0.len() {
                let mut picks = picks.iter();
                let mut pick = |n| picks.next().map_or(0, |pick| pick.index(n));
                let words = info.drawn(&[profile], false, disciplines(), &mut pick);
                let mut random = Random::named(1, "port");
                let new = |words: &str, device, random: &mut Random| {
                    let discipline = registry.build(words, profile, random).expect(words);
                    Port::new(discipline, device, random.clone())
                };
                let (mut all, air) = devices();
                let port = new(&words, all.swap_remove(device), &mut random);
                let lengths = Vec::new();
                let mut books = Books { port, air, now: Time::ZERO, lengths, left_bytes: 0 };
                let mut is_there = true;
                for step in &steps {
                    match step {
                        Step::Accept(len, ecn) => books.accept(*len, *ecn),
                        Step::Pass(span) => books.pass(books.now + *span),
                        Step::Change(which) if is_there => {
                            let words = info.changes[which.index(info.changes.len())];
                            books.port.change(books.now, words, &registry).expect(words);
                        }
                        Step::Change(_) => {}
                        Step::Replace => {
                            books.port.replace(books.now, "pfifo limit 5", &registry).unwrap();
                            is_there = false;
                        }
                        Step::ReplaceAll(which) => {
                            // The station on the channel is one, and stays where it is.
                            let mut all = devices().0;
                            let device = all.swap_remove(which.index(3));
                            books.port.replace_all(books.now, new(&words, device, &mut random));
                            is_there = true;
                        }
                        Step::Clear => {
                            books.port.clear(books.now);
                            books.port.restart(books.now);
                        }
                    }
                    books.check();
                }
            }
        }
    }
}
