//! Puts a bottleneck between two channels: messages wait in a queue discipline, in tc's words, for a line of some rate.
//!
//!     two-channels fq_codel 8mbit
//!
//! The thread below is all that a program in real time adds to a network of Sojourn: a clock, and a sleep.

#![allow(clippy::disallowed_methods, reason = "a program in real time has a clock")]

use sojourn_net::{Envelope, Hosts, Network};
use sojourn_path::{Device, Port, Topology};
use sojourn_qdisc::{QdiscQuirks, Registry, TcError};
use sojourn_units::{Random, Rate, Time};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

type Message = Vec<u8>;

struct Out(Sender<Message>);

impl Hosts<Envelope<Message>> for Out {
    fn deliver(&mut self, _: &mut Network<Envelope<Message>>, _: Time, packet: Envelope<Message>) {
        let _ = self.0.send(packet.content); // the receiver may be gone
    }
}

/// Forwards messages from one channel to the other through the queue until the first is closed and the queue is empty.
fn bottleneck(
    words: &str,
    rate: Rate,
    from: &Receiver<Message>,
    to: Sender<Message>,
) -> Result<(), TcError> {
    let mut random = Random::named(1, "bottleneck");
    let qdisc = Registry::built_in().build(words, &QdiscQuirks::default(), &mut random)?;
    let port = Port::new(qdisc, Device::line(rate), random);
    let mut network = Network::new(Topology::of_ports([("bottleneck", port)], &[&[0]]), (), 0);
    let (start, mut out, mut open) = (Instant::now(), Out(to), true);
    let now = || Time::from_nanos(start.elapsed().as_nanos() as u64);
    loop {
        let next = network.advance(now(), &mut out);
        if !open && next.is_never() {
            return Ok(());
        }
        let pause = Duration::from_nanos(next.as_nanos().saturating_sub(now().as_nanos()));
        match from.recv_timeout(pause.min(Duration::from_secs(1))) {
            Ok(message) => {
                let length = message.len() as u32 + 14 + 20 + 8;
                network.send(now(), now(), Envelope::new(message, length, 0, 0));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                open = false;
                thread::sleep(pause);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let qdisc = words.next().unwrap_or_else(|| "fq_codel".to_owned());
    let rate: Rate = words.next().as_deref().unwrap_or("8mbit").parse()?;
    let ((to_queue, from), (to, out)) = (channel(), channel());
    for number in 0..100_u8 {
        to_queue.send(vec![number; 958])?; // 1000 bytes with Ethernet, IP and UDP headers
    }
    drop(to_queue);
    let start = Instant::now();
    let queue = thread::spawn(move || bottleneck(&qdisc, rate, &from, to));
    let bytes: usize = out.iter().map(|message| message.len() + 42).sum();
    queue.join().map_err(|_| "the queue's thread panicked")??;
    println!("{bytes} bytes in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
