//! A plugin in Rust that panics: at the packet that its option says, or when it is made.

use sojourn_plugin::{Aqm, AqmInfo, Dequeued, Host, OptionSpec, Packet, Value, sojourn_plugin};
use std::collections::VecDeque;

#[derive(Clone)]
struct Panics {
    left: u64,
    queue: VecDeque<Packet>,
}

impl Aqm for Panics {
    const INFO: AqmInfo = AqmInfo {
        name: c"panics",
        summary: c"one queue, up to a packet",
        source: c"a test",
        options: &[OptionSpec::packets(c"after", c"at which packet it panics").required()],
        counters: &[],
        gauges: &[],
        reasons: &[],
    };

    fn create(values: &[Value], _host: &mut Host<'_>) -> Result<Self, String> {
        assert!(values[0].integer != 13, "thirteen is too much");
        Ok(Self { left: values[0].integer, queue: VecDeque::new() })
    }

    fn change(&mut self, _now: u64, _: &[Value], _host: &mut Host<'_>) -> Result<(), String> {
        Ok(())
    }

    fn enqueue(&mut self, _now: u64, packet: Packet, _host: &mut Host<'_>) {
        self.left -= 1;
        assert!(self.left > 0, "that was the last straw");
        self.queue.push_back(packet);
    }

    fn dequeue(&mut self, _now: u64, _host: &mut Host<'_>) -> Dequeued {
        self.queue.pop_front().map_or(Dequeued::Empty, Dequeued::Packet)
    }

    fn flush(&mut self, _now: u64) {
        self.queue.clear();
    }
}

sojourn_plugin! { aqms: [Panics] }
