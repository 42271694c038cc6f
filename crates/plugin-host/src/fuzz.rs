//! Bytes become the tables of a plugin: whatever these say, they are read or refused, and nothing panics. Their
//! pointers are valid, as the ABI demands; that cannot be checked by anybody.
//!
//! [`tables`] is the fuzz target of `fuzz/`, where libFuzzer looks for bytes that reach new code. Its finds are in
//! `fuzz/corpus`, and the tests replay them, on any toolchain.

#![allow(unsafe_code)]

use crate::library::Plugin;
use crate::{Plugins, tables};
use arbitrary::{Arbitrary, Result, Unstructured};
use core::ffi::{c_char, c_void};
use core::ptr::{NonNull, null, null_mut};
use libloading::Library;
use sojourn_plugin::abi;
use sojourn_qdisc::table::{Kind, OptionSpec};
use sojourn_qdisc::{NoPacket, Qdisc as _, QdiscQuirks, Registry};
use sojourn_transport::cc::Registry as Controls;
use sojourn_units::{Random, Time};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

/// Words that mean something somewhere.
const WORDS: [&str; 14] = [
    "mine",
    "codel",
    "cubic",
    "limit",
    "target",
    "nolimit",
    "5ms",
    "50mbit",
    "10%",
    "17",
    "tail",
    "ecn",
    "",
    "two words",
];

/// Entries of one table at most.
const MOST: u32 = 4;

/// A function, which is missing at times.
macro_rules! mostly {
    ($u:expr, $function:ident) => {
        if mistake($u)? { None } else { Some($function) }
    };
}

/// Keeps what the tables point to.
#[derive(Default)]
struct Kept {
    texts: Vec<CString>,
    options: Vec<Vec<abi::OptionSpec>>,
    counters: Vec<Vec<abi::Counter>>,
    gauges: Vec<Vec<abi::Gauge>>,
    reasons: Vec<Vec<*const c_char>>,
}

impl Kept {
    fn text(&mut self, u: &mut Unstructured<'_>) -> Result<*const c_char> {
        let text = match u.int_in_range(0..=127)? {
            127 => return Ok(null()),
            120..=126 => {
                let length = u.int_in_range(0..=12)?;
                u.bytes(length)?.iter().copied().filter(|&byte| byte != 0).collect()
            }
            _ => u.choose(&WORDS)?.as_bytes().to_vec(),
        };
        self.texts.push(CString::new(text).expect("no byte is 0"));
        Ok(self.texts.last().map_or(null(), |text| text.as_ptr()))
    }

    fn option(&mut self, u: &mut Unstructured<'_>) -> Result<abi::OptionSpec> {
        Ok(abi::OptionSpec {
            name: self.text(u)?,
            kind: abi::SOJOURN_TIME + one_of(u, abi::SOJOURN_FLAG - abi::SOJOURN_TIME)?,
            is_required: mistake(u)?,
            is_fixed: u.arbitrary()?,
            preset: self.text(u)?,
            min: real(u)?,
            max: real(u)?,
            doc: self.text(u)?,
        })
    }

    fn counter(&mut self, u: &mut Unstructured<'_>) -> Result<abi::Counter> {
        Ok(abi::Counter {
            name: self.text(u)?,
            unit: one_of(u, abi::SOJOURN_UNIT_FLAG)?,
            line: one_of(u, 255)?,
            shown: one_of(u, abi::SOJOURN_SHOWN_FLAG)?,
            doc: self.text(u)?,
        })
    }

    fn gauge(&mut self, u: &mut Unstructured<'_>) -> Result<abi::Gauge> {
        Ok(abi::Gauge {
            name: self.text(u)?,
            unit: one_of(u, abi::SOJOURN_UNIT_FLAG)?,
            doc: self.text(u)?,
        })
    }

    fn gauges(&mut self, u: &mut Unstructured<'_>) -> Result<(*const abi::Gauge, u32)> {
        let gauges = some(u, |u| self.gauge(u))?;
        Ok(given(&mut self.gauges, gauges))
    }

    fn aqm(&mut self, u: &mut Unstructured<'_>) -> Result<abi::Aqm> {
        let options = some(u, |u| self.option(u))?;
        let (options, option_count) = given(&mut self.options, options);
        let counters = some(u, |u| self.counter(u))?;
        let (counters, counter_count) = given(&mut self.counters, counters);
        let (gauges, gauge_count) = self.gauges(u)?;
        let reasons = some(u, |u| self.text(u))?;
        let (reasons, reason_count) = given(&mut self.reasons, reasons);
        Ok(abi::Aqm {
            size: size(u, size_of::<abi::Aqm>())?,
            name: self.text(u)?,
            summary: self.text(u)?,
            source: self.text(u)?,
            options,
            option_count,
            counters,
            counter_count,
            gauges,
            gauge_count,
            reasons,
            reason_count,
            create: mostly!(u, create),
            destroy: mostly!(u, destroy),
            clone: mostly!(u, clone),
            change: mostly!(u, change),
            enqueue: mostly!(u, enqueue),
            dequeue: mostly!(u, dequeue),
            next_timer: None,
            on_timer: None,
            start: None,
            flush: mostly!(u, flush),
            read_counters: mostly!(u, read_counters),
            read_gauges: mostly!(u, read_gauges),
        })
    }

    fn control(&mut self, u: &mut Unstructured<'_>) -> Result<abi::CongestionControl> {
        let (gauges, gauge_count) = self.gauges(u)?;
        Ok(abi::CongestionControl {
            size: size(u, size_of::<abi::CongestionControl>())?,
            name: self.text(u)?,
            summary: self.text(u)?,
            source: self.text(u)?,
            gauges,
            gauge_count,
            ecn: abi::EcnRequirements {
                request: one_of(u, abi::SOJOURN_ECN_ACCECN)?,
                ..Default::default()
            },
            send_buffer_windows: u.arbitrary()?,
            has_cong_control: mistake(u)?,
            wants_segment_state: mistake(u)?,
            create: mostly!(u, create_control),
            destroy: mostly!(u, destroy),
            clone: mostly!(u, clone),
            ssthresh: mostly!(u, ssthresh),
            cong_avoid: mostly!(u, cong_avoid),
            init: None,
            cong_control: None,
            in_ack_event: None,
            pkts_acked: None,
            segment_lost: None,
            set_state: None,
            event: None,
            undo_cwnd: None,
            min_tso_segs: None,
            read_gauges: None,
        })
    }
}

/// Some entries of a table.
fn some<T>(
    u: &mut Unstructured<'_>,
    mut entry: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..u.int_in_range(0..=MOST)?).map(|_| entry(u)).collect()
}

/// Keeps a table, and says where it is.
fn given<T>(kept: &mut Vec<Vec<T>>, table: Vec<T>) -> (*const T, u32) {
    kept.push(table);
    kept.last().map_or((null(), 0), |table| (table.as_ptr(), table.len() as u32))
}

/// A limit of a range: an end of something, or anything.
fn real(u: &mut Unstructured<'_>) -> Result<f64> {
    let ends = [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, 4_294_967_296.0, 1e300, 0.5];
    if u.arbitrary()? { f64::arbitrary(u) } else { u.choose(&ends).copied() }
}

/// Whether something is wrong here. Where the bytes have ended nothing is.
fn mistake(u: &mut Unstructured<'_>) -> Result<bool> {
    Ok(u.int_in_range(0..=63)? == 63)
}

/// A code up to this one, or at times another.
fn one_of(u: &mut Unstructured<'_>, last: u32) -> Result<u32> {
    let last = last + u32::from(mistake(u)?);
    u.int_in_range(0..=last)
}

/// The size of a table, which is wrong at times.
fn size(u: &mut Unstructured<'_>, right: usize) -> Result<u32> {
    if mistake(u)? { u.arbitrary() } else { Ok(right as u32) }
}

// What the tables' functions do: nothing that a plugin may not.

unsafe extern "C" fn create(_: *mut abi::Host, _: *const abi::Value) -> *mut c_void {
    NonNull::dangling().as_ptr()
}
unsafe extern "C" fn create_control(_: *mut abi::Host) -> *mut c_void {
    NonNull::dangling().as_ptr()
}
unsafe extern "C" fn destroy(_: *mut c_void, _: *mut abi::Host) {}
unsafe extern "C" fn clone(_: *const c_void, _: *mut abi::Host) -> *mut c_void {
    null_mut()
}
unsafe extern "C" fn change(_: *mut c_void, _: *mut abi::Host, _: u64, _: *const abi::Value) {}
unsafe extern "C" fn enqueue(_: *mut c_void, _: *mut abi::Host, _: u64, _: *const abi::Packet) {}
unsafe extern "C" fn dequeue(_: *mut c_void, _: *mut abi::Host, _: u64, _: *mut u64) -> u32 {
    abi::SOJOURN_EMPTY
}
unsafe extern "C" fn flush(_: *mut c_void, _: *mut abi::Host, _: u64) {}
unsafe extern "C" fn read_counters(_: *const c_void, _: *mut abi::Host, _: *mut f64) {}
unsafe extern "C" fn read_gauges(_: *const c_void, _: *mut abi::Host, _: u64, _: *mut f64) {}
unsafe extern "C" fn ssthresh(
    _: *mut c_void,
    _: *mut abi::Host,
    _: *const abi::View,
    _: *const abi::Control,
) -> u32 {
    2
}
unsafe extern "C" fn cong_avoid(
    _: *mut c_void,
    _: *mut abi::Host,
    _: *const abi::View,
    _: *mut abi::Control,
    _: u32,
) {
}

/// Whether there is a value of this kind at all.
fn has_values(kind: Kind) -> bool {
    match kind {
        Kind::Span { min, max }
        | Kind::Size { min, max }
        | Kind::Count { min, max, .. }
        | Kind::SpanOrPackets { min, max } => min <= max,
        Kind::Real { min, max, .. } => min <= max,
        Kind::Word(words) => !words.is_empty(),
        Kind::Rate | Kind::Percent | Kind::Masked | Kind::Keyword(_) => true,
    }
}

/// Reads tables made of these bytes, adds what they name to the built-in ones, and makes each discipline from words that its
/// options and `WORDS` give. Says how many disciplines were made.
///
/// # Errors
/// The bytes are not enough.
pub fn tables(data: &[u8]) -> Result<u32> {
    let u = &mut Unstructured::new(data);
    let mut kept = Kept::default();
    let aqms = some(u, |u| kept.aqm(u))?;
    let controls = some(u, |u| kept.control(u))?;
    let aqms: Vec<*const abi::Aqm> = aqms.iter().map(core::ptr::from_ref).collect();
    let controls: Vec<*const abi::CongestionControl> =
        controls.iter().map(core::ptr::from_ref).collect();
    let plugin = abi::Plugin {
        abi_version: if mistake(u)? { u.arbitrary()? } else { abi::SOJOURN_ABI_VERSION },
        size: size(u, size_of::<abi::Plugin>())?,
        aqms: aqms.as_ptr(),
        aqm_count: aqms.len() as u32,
        controls: controls.as_ptr(),
        control_count: controls.len() as u32,
    };
    // The functions are this program's own: it stays loaded.
    let library = Arc::new(Library::from(libloading::os::unix::Library::this()));
    let path = Path::new("/fuzzed.so").to_path_buf();
    let Ok((aqms, controls)) = tables::read(&raw const plugin, &library, &path) else {
        return Ok(0);
    };
    let plugins =
        Plugins { loaded: vec![Arc::new(Plugin { path, digest: String::new(), aqms, controls })] };
    let _ = plugins.add_controls(&mut Controls::built_in());
    let mut registry = Registry::<NoPacket>::built_in();
    if plugins.add_qdiscs(&mut registry).is_err() {
        return Ok(0);
    }
    let mut made = 0;
    for info in plugins.disciplines() {
        let options: Vec<&str> = info.options.iter().flat_map(OptionSpec::words).collect();
        let mut words = info.name.to_owned();
        for _ in 0..u.int_in_range(0..=6)? {
            words.push(' ');
            words.push_str(if !options.is_empty() && u.arbitrary()? {
                u.choose(&options)?
            } else {
                u.choose(&WORDS)?
            });
        }
        for value in info.options.iter().flat_map(|option| option.values) {
            assert!(has_values(value.kind), "nothing is {}", value.kind.expected());
        }
        let quirks = u.choose(QdiscQuirks::ALL)?;
        let Ok(qdisc) = registry.build(&words, quirks, &mut Random::named(0, "fuzz")) else {
            continue;
        };
        made += 1;
        let shown = qdisc.describe();
        assert!(!shown.contains('\0'), "\"{words}\" is shown as {shown:?}");
        qdisc.gauges(Time::ZERO, &mut |name, _| {
            assert!(info.gauges.iter().any(|gauge| gauge.name == name));
        });
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_the_fuzzer_found_is_read_or_refused() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/tables");
        let files = fs::read_dir(corpus).expect("the corpus is kept");
        let mut made = 0;
        for file in files {
            let data = fs::read(file.expect("it is a file").path()).expect("it can be read");
            made += tables(&data).unwrap_or(0);
        }
        assert!(made >= 10, "{made} disciplines were made: the corpus has tables that are right");
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused() {
        let mut random = Random::named(1, "tables of plugins");
        let mut made = 0;
        for _ in 0..20_000 {
            let data: Vec<u8> = (0..400).map(|_| random.next_u32() as u8).collect();
            made += tables(&data).unwrap_or(0);
        }
        assert!(made > 0, "some are right");
    }
}
