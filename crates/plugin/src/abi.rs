//! The tables and functions that cross the boundary, as C has them; `include/sojourn.h` is generated from this file.
//!
//! A plugin is a shared library with one exported symbol, `sojourn_plugin`: a table that leads to all others. It is data, so
//! that its version can be read before anything of the plugin is called.
//!
//! Invariants: a value that a plugin writes is never an enum of Rust's; text ends with a zero byte and is UTF-8; tables stay
//! where they are and as they are while the library is loaded; a field is only ever added at a table's end.

/// What threads may share.
macro_rules! tables {
    ($($table:ident),*) => {$(
        // SAFETY: a table is never written once it is there, and neither is anything that it points to.
        #[allow(unsafe_code)]
        unsafe impl Sync for $table {}
        // SAFETY: as above.
        #[allow(unsafe_code)]
        unsafe impl Send for $table {}
    )*};
}

mod control;
mod plugin;

pub use control::*;
pub use plugin::Plugin;

use core::ffi::{c_char, c_void};

/// The version of this ABI. A host takes plugins of its own version and no others.
pub const SOJOURN_ABI_VERSION: u32 = 1;

/// The time that never comes, ns.
pub const SOJOURN_NEVER: u64 = u64::MAX;

/// A time: `integer` is in ns. A bare number in the user's words is in microseconds, as in tc.
pub const SOJOURN_TIME: u32 = 1;
/// A rate: `integer` is in bits per second.
pub const SOJOURN_RATE: u32 = 2;
/// A size: `integer` is in bytes.
pub const SOJOURN_SIZE: u32 = 3;
/// A number of packets, in `integer`.
pub const SOJOURN_PACKETS: u32 = 4;
/// A number with decimals, in `real`; its option has to give a range.
pub const SOJOURN_NUMBER: u32 = 5;
/// A probability, 0 to 1 in `real`; the user writes per cent.
pub const SOJOURN_PROBABILITY: u32 = 6;
/// A switch: the user writes its name, or its name with `no` before it. 1 or 0 in `integer`.
pub const SOJOURN_FLAG: u32 = 7;

/// A count of something.
pub const SOJOURN_UNIT_COUNT: u32 = 0;
/// Bytes.
pub const SOJOURN_UNIT_BYTES: u32 = 1;
/// Seconds.
pub const SOJOURN_UNIT_SECONDS: u32 = 2;
/// A probability, 0 to 1.
pub const SOJOURN_UNIT_PROBABILITY: u32 = 3;
/// Bytes per second.
pub const SOJOURN_UNIT_BYTES_PER_SECOND: u32 = 4;
/// 0 or 1.
pub const SOJOURN_UNIT_FLAG: u32 = 5;

/// `tc -s` prints the counter always.
pub const SOJOURN_SHOWN_ALWAYS: u32 = 0;
/// `tc -s` prints it when it is not zero.
pub const SOJOURN_SHOWN_NONZERO: u32 = 1;
/// `tc -s` prints its name alone, when it is not zero.
pub const SOJOURN_SHOWN_FLAG: u32 = 2;

/// Not ECN-capable.
pub const SOJOURN_NOT_ECT: u8 = 0;
/// ECN-capable, ECT(1).
pub const SOJOURN_ECT_1: u8 = 1;
/// ECN-capable, ECT(0).
pub const SOJOURN_ECT_0: u8 = 2;
/// Congestion experienced.
pub const SOJOURN_CE: u8 = 3;

/// Nothing is held.
pub const SOJOURN_EMPTY: u32 = 0;
/// This packet leaves: its handle has been written.
pub const SOJOURN_PACKET: u32 = 1;
/// Packets are held, and none may leave before the time that has been written.
pub const SOJOURN_WAIT: u32 = 2;

/// A packet as a discipline sees it when it arrives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// What the host calls it. Each packet has another, and the host holds the packet until the discipline drops it or lets
    /// it leave.
    pub handle: u64,
    /// When it arrived, ns.
    pub stamp: u64,
    /// Equal for packets of one flow and direction, different for others. Not spread: mix it before it picks a slot.
    pub flow_key: u64,
    /// Identity of the source host.
    pub source_host: u32,
    /// Identity of the destination host.
    pub destination_host: u32,
    /// Length of the IP packet and its Ethernet header, bytes.
    pub wire_len: u32,
    /// Length of the transport header and payload, bytes.
    pub l4_len: u32,
    /// The ECN field: `SOJOURN_NOT_ECT` and so on.
    pub ecn: u8,
    /// The DSCP.
    pub dscp: u8,
}

/// The value of an option.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Value {
    /// Of a time (ns), rate (bit/s), size (bytes), number of packets or switch (0, 1).
    pub integer: u64,
    /// Of a number or a probability.
    pub real: f64,
    /// Whether it has a value: false if the user gave none and there is no default.
    pub is_set: bool,
}

/// An option, in tc's words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Its word.
    pub name: *const c_char,
    /// `SOJOURN_TIME` and so on.
    pub kind: u32,
    /// Whether it has to be given.
    pub is_required: bool,
    /// Whether it can only be given when the queue is made.
    pub is_fixed: bool,
    /// Its default, as the user would write it, for a switch the word itself; null if it has none.
    pub preset: *const c_char,
    /// Least value, in the unit of its kind.
    pub min: f64,
    /// Greatest value. With both 0 the range is the kind's own.
    pub max: f64,
    /// What it does, in one sentence.
    pub doc: *const c_char,
}

/// A statistic, as `tc -s` prints it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name.
    pub name: *const c_char,
    /// `SOJOURN_UNIT_COUNT` and so on.
    pub unit: u32,
    /// On which line below `backlog` it is printed, from 0.
    pub line: u32,
    /// `SOJOURN_SHOWN_ALWAYS` and so on.
    pub shown: u32,
    /// What it counts.
    pub doc: *const c_char,
}

/// A number of the controller's state, for the recorder.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// Its name.
    pub name: *const c_char,
    /// `SOJOURN_UNIT_COUNT` and so on.
    pub unit: u32,
    /// What it is.
    pub doc: *const c_char,
}

/// A queue discipline.
///
/// Every function is given the discipline that `create` made and a host, which is good for that one call. One discipline is
/// only ever used by one thread at a time, different ones by several at once: share nothing between them. A function
/// with a pointer that may be null says so.
#[repr(C)]
#[derive(Debug)]
pub struct Aqm {
    /// `sizeof(SojournAqm)`.
    pub size: u32,
    /// tc's name for it: one word.
    pub name: *const c_char,
    /// What it is, in one sentence.
    pub summary: *const c_char,
    /// Where it is described.
    pub source: *const c_char,
    /// Its options.
    pub options: *const OptionSpec,
    /// How many there are.
    pub option_count: u32,
    /// Its statistics.
    pub counters: *const Counter,
    /// How many there are.
    pub counter_count: u32,
    /// The numbers that the recorder samples.
    pub gauges: *const Gauge,
    /// How many there are.
    pub gauge_count: u32,
    /// The reasons for its drops and marks, by the names that result columns have. A name of Sojourn's own (`tail`,
    /// `control_law`, `early`, `ramp`, ...) is that reason.
    pub reasons: *const *const c_char,
    /// How many there are.
    pub reason_count: u32,
    /// Makes one. `values` has one value for each option. Null if they do not go together, after `refuse`.
    pub create: Option<unsafe extern "C" fn(host: *mut Host, values: *const Value) -> *mut c_void>,
    /// Ends one. It holds no packet any more, as far as the host is concerned.
    pub destroy: Option<unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host)>,
    /// One more like it, with the same packets by the same handles.
    pub clone: Option<unsafe extern "C" fn(aqm: *const c_void, host: *mut Host) -> *mut c_void>,
    /// `tc qdisc change`: the values that hold from now on. After `refuse` the old ones do.
    pub change: Option<
        unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host, now: u64, values: *const Value),
    >,
    /// Takes a packet. The view is good for this call: copy what is needed later.
    pub enqueue: Option<
        unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host, now: u64, packet: *const Packet),
    >,
    /// Which packet leaves now: `SOJOURN_PACKET` with its handle in `out`, `SOJOURN_WAIT` with a time in `out`, or
    /// `SOJOURN_EMPTY`.
    pub dequeue: Option<
        unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host, now: u64, out: *mut u64) -> u32,
    >,
    /// When `on_timer` wants to be called next, ns, or `SOJOURN_NEVER`. May be null: never.
    pub next_timer: Option<unsafe extern "C" fn(aqm: *const c_void, host: *mut Host) -> u64>,
    /// The timer. May be null.
    pub on_timer: Option<unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host, now: u64)>,
    /// It begins its work at `now`, not when it was made. May be null.
    pub start: Option<unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host, now: u64)>,
    /// Forgets all packets; the host has dropped them.
    pub flush: Option<unsafe extern "C" fn(aqm: *mut c_void, host: *mut Host, now: u64)>,
    /// Writes its statistics, in their table's order. May be null if there are none.
    pub read_counters:
        Option<unsafe extern "C" fn(aqm: *const c_void, host: *mut Host, out: *mut f64)>,
    /// Writes its state's numbers, in their table's order. May be null if there are none.
    pub read_gauges:
        Option<unsafe extern "C" fn(aqm: *const c_void, host: *mut Host, now: u64, out: *mut f64)>,
}

/// What a function of a plugin may ask of its host.
#[repr(C)]
#[derive(Debug)]
pub struct Host {
    /// The functions; each is given this host.
    pub calls: *const HostCalls,
}

/// The functions of a host.
#[repr(C)]
#[derive(Debug)]
pub struct HostCalls {
    /// `sizeof(SojournHostCalls)`.
    pub size: u32,
    /// Drops a packet that is held; `reason` is a place in the table of reasons.
    pub drop: unsafe extern "C" fn(host: *mut Host, packet: u64, reason: u32),
    /// Sets CE if the packet is ECN-capable, and says whether it is CE now.
    pub mark: unsafe extern "C" fn(host: *mut Host, packet: u64, reason: u32) -> bool,
    /// Makes ECT(0) ECT(1), which says "some congestion" (SCE), and whether it did.
    pub mark_sce: unsafe extern "C" fn(host: *mut Host, packet: u64, reason: u32) -> bool,
    /// The next 32 random bits of the queue's own stream. Draw from nothing else, or results will not repeat.
    pub random_u32: unsafe extern "C" fn(host: *mut Host) -> u32,
    /// The next 64 random bits.
    pub random_u64: unsafe extern "C" fn(host: *mut Host) -> u64,
    /// The values do not go together, and why: shown with the words that the user wrote. For `create` and `change`.
    pub refuse: unsafe extern "C" fn(host: *mut Host, why: *const c_char),
    /// Something is wrong with the plugin itself, and what: ends the run.
    pub fail: unsafe extern "C" fn(host: *mut Host, what: *const c_char),
}

tables!(Aqm, OptionSpec, Counter, Gauge, HostCalls);
