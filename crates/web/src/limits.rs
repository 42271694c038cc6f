//! How much a page may ask for. A text may come from anybody's address, and the tab is to live.

/// Bytes of an experiment's text.
pub const TEXT: usize = 128 << 10;

/// Runs of an experiment: a page runs one or two of them, and lists them all.
pub const RUNS: u64 = 200;

/// Memory that a run may be foreseen to need, bytes: a quarter of what 32-bit addresses reach.
pub const MEMORY: f64 = 1e9;

/// Data packets that a run may be foreseen to carry: some minutes of work.
pub const PACKETS: f64 = 1e8;

/// Rows of its tables, as foreseen: the number that a page can still draw.
pub const ROWS: f64 = 5e6;
