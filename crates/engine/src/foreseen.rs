//! What a run will need, said before it begins.

use core::ops::AddAssign;

/// About what a run will need. Every number is an estimate: for plans, and to refuse what cannot fit.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Foreseen {
    /// Packets that carry a flow's data, or a probe's; acknowledgements are not counted.
    pub packets: f64,
    /// Rows of its tables.
    pub rows: f64,
    /// How long it keeps one core busy, s.
    pub cpu_s: f64,
    /// Its share of the memory while it runs.
    pub memory: Memory,
    /// Bytes that a results folder keeps of it.
    pub disk: Disk,
}

/// What a results folder keeps of a run, bytes, by how much of the run it keeps.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Disk {
    /// Answers, counters and distributions.
    pub summary: f64,
    /// Also tables over time, without the numbers of controllers.
    pub series: f64,
    /// All tables.
    pub all: f64,
}

/// Where a run's memory goes, bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Memory {
    /// Packets on their way and in queues, and what their senders keep of them.
    pub packets: f64,
    /// The state of flows.
    pub flows: f64,
    /// Rows of result tables.
    pub rows: f64,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.packets + self.flows + self.rows
    }
}

impl AddAssign for Memory {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.flows += other.flows;
        self.rows += other.rows;
    }
}
