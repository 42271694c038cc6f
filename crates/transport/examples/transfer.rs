//! One transfer over one link with a short queue: a sender, a receiver, and forty lines of network between them.
//!
//! ```text
//! cargo run -p sojourn-transport --example transfer -- cubic
//! ```

#![expect(clippy::print_stdout, reason = "it prints its result")]
#![expect(clippy::print_stderr, reason = "and what is wrong")]

use sojourn_transport::cc::{CongestionControl as _, Registry};
use sojourn_transport::ecn::Request;
use sojourn_transport::segment::{Ack, Data, Handshake, Output};
use sojourn_transport::stack::TcpQuirks;
use sojourn_transport::{Config, Receiver, Sender, WindowPolicy};
use sojourn_units::{ETHERNET_HEADER, Ecn, Rate, Serializer, Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;

const BYTES: u64 = 10_000_000;
const RATE: Rate = Rate::from_mbit(50);
const ONE_WAY: Span = Span::from_millis(10);
/// Packets that the queue holds; one more is dropped.
const QUEUE: usize = 60;

enum Packet {
    Syn(Handshake),
    SynAck(Handshake),
    Data(Data, Ecn),
    Ack(Ack),
}

/// What the sender puts packets into. Data waits in a queue for the link; all else only takes its time.
struct Link {
    now: Time,
    line: Serializer,
    /// When each packet of the queue will have left it.
    leaving: VecDeque<Time>,
    arriving: BTreeMap<(Time, u64), Packet>,
    count: u64,
    dropped: u64,
}

impl Link {
    fn travel(&mut self, from: Time, packet: Packet) {
        self.count += 1;
        self.arriving.insert((from + ONE_WAY, self.count), packet);
    }
}

impl Output for Link {
    fn syn(&mut self, syn: Handshake, _ecn: Ecn) {
        self.travel(self.now, Packet::Syn(syn));
    }

    fn data(&mut self, data: Data, ecn: Ecn) {
        while self.leaving.front().is_some_and(|&at| at <= self.now) {
            self.leaving.pop_front();
        }
        if self.leaving.len() >= QUEUE {
            self.dropped += 1;
            return;
        }
        let from = self.leaving.back().map_or(self.now, |&at| at);
        let left = self.line.finish(from, u64::from(data.ip_len() + ETHERNET_HEADER));
        self.leaving.push_back(left);
        self.travel(left, Packet::Data(data, ecn));
    }
}

fn main() -> ExitCode {
    let cc = std::env::args().nth(1).unwrap_or_else(|| "cubic".to_owned());
    match transfer(&cc) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn transfer(cc: &str) -> Result<String, String> {
    let quirks = TcpQuirks::LINUX_7_3;
    let control = Registry::built_in().build(cc, &quirks).map_err(|e| e.to_string())?;
    let needs = control.ecn();
    let config = Config { bytes: Some(BYTES), ..Config::default() };
    let mut receiver = Receiver::new(config.mss, WindowPolicy::Autotuned, &quirks, 0).facing(
        &needs,
        Request::Off,
        None,
    );
    let mut sender = Sender::new(&config, quirks, control);
    let mut link = Link {
        now: Time::ZERO,
        line: Serializer::new(RATE),
        leaving: VecDeque::new(),
        arriving: BTreeMap::new(),
        count: 0,
        dropped: 0,
    };
    sender.open(Time::ZERO, &mut link);
    while !sender.is_finished() {
        // Whoever is first acts: a packet that arrives, or a timer of one of the two.
        let arrival = link.arriving.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let first = arrival.min(sender.next_timer()).min(receiver.next_timer());
        let now = first.max(link.now);
        link.now = now;
        if arrival == first {
            match link.arriving.pop_first() {
                Some((_, Packet::Syn(syn))) => {
                    let answer = receiver.on_syn(now, &syn, Ecn::NotEct);
                    link.travel(now, Packet::SynAck(answer));
                }
                Some((_, Packet::SynAck(answer))) => sender.on_syn_ack(now, &answer, &mut link),
                Some((_, Packet::Data(data, ecn))) => {
                    if let Some(ack) = receiver.on_data(now, &data, ecn) {
                        if let Some(earlier) = receiver.take_earlier() {
                            link.travel(now, Packet::Ack(earlier));
                        }
                        link.travel(now, Packet::Ack(ack));
                    }
                }
                Some((_, Packet::Ack(ack))) => sender.on_ack(now, &ack, &mut link),
                None => return Err("nobody will ever do anything".to_owned()),
            }
        } else if receiver.next_timer() == first {
            if let Some(ack) = receiver.on_timer(now) {
                link.travel(now, Packet::Ack(ack));
            }
        } else {
            sender.on_timer(now, &mut link);
        }
    }
    let took = link.now.since(Time::ZERO);
    let counters = sender.counters();
    Ok(format!(
        "{cc}: {} bytes in {took}, {:.1} Mbit/s\n  {} segments sent, {} dropped, {} sent again\n  \
         {} recoveries, {} timeouts, cwnd {} at the end",
        receiver.delivered_bytes(),
        receiver.delivered_bytes() as f64 * 8e-6 / took.as_secs_f64(),
        counters.sent,
        link.dropped,
        counters.retransmits,
        counters.recoveries,
        counters.timeouts,
        sender.tcb().control.cwnd,
    ))
}
