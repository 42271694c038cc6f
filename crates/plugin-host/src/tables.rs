//! Reads C's tables into ours, once, when a plugin is loaded; nothing of them is trusted.
//!
//! Names and texts are copied and leaked: result tables refer to them for as long as the process runs, and a plugin is loaded
//! once.

#![allow(unsafe_code)]

use crate::mirror;
use core::ffi::{CStr, c_char};
use libloading::Library;
use sojourn_plugin::abi;
use sojourn_qdisc::table::{
    self, Counter, DefaultValue, Gauge, Kind, OptionSpec, Shown, Unit, ValueSpec,
};
use sojourn_qdisc::{Discipline, Reason};
use sojourn_transport::cc::Info;
use sojourn_transport::ecn::EcnRequirements;
use std::path::Path;
use std::sync::Arc;

/// What is wrong with a library, and what would be right; the file is known to the caller.
pub(crate) type Wrong = (String, String);

/// A discipline of a plugin.
#[derive(Debug)]
pub(crate) struct AqmEntry {
    /// Its functions, all of them there that must be.
    pub(crate) table: abi::Aqm,
    /// Its table as ours.
    pub(crate) info: &'static Discipline,
    /// The kind of each of its options.
    pub(crate) kinds: Vec<OptionKind>,
    /// Its reasons.
    pub(crate) reasons: &'static [Reason],
    /// The plugin's file, for messages.
    pub(crate) file: String,
    /// Keeps the functions where they are.
    _library: Arc<Library>,
}

/// A congestion control of a plugin.
#[derive(Debug)]
pub(crate) struct ControlEntry {
    /// Its functions, all of them there that must be.
    pub(crate) table: abi::CongestionControl,
    /// Its description as ours.
    pub(crate) info: Info,
    /// What it needs of ECN.
    pub(crate) ecn: EcnRequirements,
    /// The plugin's file, for messages.
    pub(crate) file: String,
    /// Keeps the functions where they are.
    _library: Arc<Library>,
}

/// The disciplines and the controls of a plugin.
pub(crate) type Entries = (Vec<Arc<AqmEntry>>, Vec<Arc<ControlEntry>>);

/// How the value of an option is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OptionKind {
    Time,
    Rate,
    Size,
    Packets,
    Number,
    Probability,
    Flag,
}

/// The header that a plugin was built with is another than ours.
fn of_another_version(found: u32) -> Wrong {
    let (ours, sojourn) = (abi::SOJOURN_ABI_VERSION, env!("CARGO_PKG_VERSION"));
    (
        format!("it is of version {found} of the plugin ABI; Sojourn {sojourn} has version {ours}"),
        format!(
            "build it with this Sojourn's sojourn.h, or its crate sojourn-plugin, of version {ours}"
        ),
    )
}

fn wrong(message: impl Into<String>, help: impl Into<String>) -> Wrong {
    (message.into(), help.into())
}

/// The size that a table states must be that of ours: a field that one side does not know would be lost in silence.
fn check_size(what: &str, found: u32, ours: usize) -> Result<(), Wrong> {
    if found as usize == ours {
        return Ok(());
    }
    Err(wrong(
        format!("{what} says that it is {found} bytes long, and it is {ours} in this version"),
        "write sizeof of its type as its size, and build it with this Sojourn's sojourn.h",
    ))
}

/// Reads the table of a plugin. `table` is the address of the symbol in `library`, which is not null.
pub(crate) fn read(
    table: *const abi::Plugin,
    library: &Arc<Library>,
    path: &Path,
) -> Result<Entries, Wrong> {
    // SAFETY: the library exports a table of this name; of its beginning, which every version has, only the version is
    // read before it is known to be ours. Alignment is not taken for granted.
    let version = unsafe { (&raw const (*table).abi_version).read_unaligned() };
    if version != abi::SOJOURN_ABI_VERSION {
        return Err(of_another_version(version));
    }
    // SAFETY: as before; the size comes second in this version.
    let size = unsafe { (&raw const (*table).size).read_unaligned() };
    check_size("sojourn_plugin", size, size_of::<abi::Plugin>())?;
    // SAFETY: version and size are ours.
    let plugin = unsafe { table.read_unaligned() };
    // SAFETY: the plugin says that there are as many.
    let aqms = unsafe { array(plugin.aqms, plugin.aqm_count, "sojourn_plugin.aqms")? };
    // SAFETY: as above.
    let controls =
        unsafe { array(plugin.controls, plugin.control_count, "sojourn_plugin.controls")? };
    if aqms.is_empty() && controls.is_empty() {
        return Err(wrong(
            "its table \"sojourn_plugin\" names nothing",
            "put a queue discipline or a congestion control into it",
        ));
    }
    let aqms = aqms.iter().map(|&aqm| aqm_entry(aqm, library, path).map(Arc::new));
    let aqms = aqms.collect::<Result<_, _>>()?;
    let controls = controls.iter().map(|&cc| control_entry(cc, library, path).map(Arc::new));
    Ok((aqms, controls.collect::<Result<_, _>>()?))
}

fn control_entry(
    control: *const abi::CongestionControl,
    library: &Arc<Library>,
    path: &Path,
) -> Result<ControlEntry, Wrong> {
    if control.is_null() {
        return Err(null("an entry of sojourn_plugin.controls"));
    }
    // SAFETY: the plugin says that a table is there; its size comes first.
    let size = unsafe { (&raw const (*control).size).read_unaligned() };
    check_size("a table of sojourn_plugin.controls", size, size_of::<abi::CongestionControl>())?;
    // SAFETY: its size is ours.
    let table = unsafe { control.read_unaligned() };
    let name = text(table.name, "the name of a congestion control")?;
    let of = |what: &str| format!("\"{name}\": {what}");
    // SAFETY: the plugin says that there are as many.
    let gauges = unsafe { array(table.gauges, table.gauge_count, &of("gauges"))? };
    let gauge = |gauge: &abi::Gauge| {
        let Gauge { name, unit, doc } = read_gauge(name, gauge)?;
        Ok((name, in_words(unit), doc))
    };
    let gauges = gauges.iter().map(gauge).collect::<Result<Vec<_>, Wrong>>()?;
    let missing = [
        ("create", table.create.is_none()),
        ("destroy", table.destroy.is_none()),
        ("clone", table.clone.is_none()),
        ("ssthresh", table.ssthresh.is_none()),
        ("cong_avoid", table.cong_avoid.is_none()),
        ("cong_control", table.has_cong_control && table.cong_control.is_none()),
        ("segment_lost", table.wants_segment_state && table.segment_lost.is_none()),
        ("read_gauges", table.gauge_count > 0 && table.read_gauges.is_none()),
    ];
    if let Some((function, _)) = missing.iter().find(|(_, is_missing)| *is_missing) {
        return Err(null(&of(function)));
    }
    let ecn = mirror::ecn(&table.ecn).ok_or_else(|| {
        wrong(
            format!("{} is {}", of("ecn.request"), table.ecn.request),
            "write SOJOURN_ECN_OFF, SOJOURN_ECN_RFC3168 or SOJOURN_ECN_ACCECN",
        )
    })?;
    let info = Info {
        name,
        summary: text(table.summary, &of("summary"))?,
        source: text(table.source, &of("source"))?,
        gauges: gauges.leak(),
        options: &[],
    };
    let (file, library) = (path.display().to_string(), Arc::clone(library));
    Ok(ControlEntry { table, info, ecn, file, _library: library })
}

/// A unit as the lists of controls write it.
const fn in_words(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Seconds => "s",
        Unit::Probability => "probability",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Flag => "0 or 1",
        Unit::Count | Unit::Ticks => "",
    }
}

fn aqm_entry(aqm: *const abi::Aqm, library: &Arc<Library>, path: &Path) -> Result<AqmEntry, Wrong> {
    if aqm.is_null() {
        return Err(null("an entry of sojourn_plugin.aqms"));
    }
    // SAFETY: the plugin says that a table is there; its size comes first.
    let size = unsafe { (&raw const (*aqm).size).read_unaligned() };
    check_size("a table of sojourn_plugin.aqms", size, size_of::<abi::Aqm>())?;
    // SAFETY: its size is ours.
    let table = unsafe { aqm.read_unaligned() };
    let name = text(table.name, "the name of a queue discipline")?;
    let of = |what: &str| format!("\"{name}\": {what}");
    // SAFETY: the plugin says that there are as many, of these and of the others.
    let options = unsafe { array(table.options, table.option_count, &of("options"))? };
    // SAFETY: as above.
    let counters = unsafe { array(table.counters, table.counter_count, &of("counters"))? };
    // SAFETY: as above.
    let gauges = unsafe { array(table.gauges, table.gauge_count, &of("gauges"))? };
    // SAFETY: as above.
    let reasons = unsafe { array(table.reasons, table.reason_count, &of("reasons"))? };
    let read: Vec<(OptionKind, OptionSpec)> =
        options.iter().map(|option| read_option(name, option)).collect::<Result<_, _>>()?;
    let counters = counters.iter().map(|c| read_counter(name, c)).collect::<Result<Vec<_>, _>>()?;
    let gauges = gauges.iter().map(|g| read_gauge(name, g)).collect::<Result<Vec<_>, _>>()?;
    let reasons =
        reasons.iter().map(|&reason| read_reason(name, reason)).collect::<Result<Vec<_>, _>>()?;
    check_functions(name, &table)?;
    let (kinds, options): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let info = Box::leak(Box::new(Discipline {
        name,
        summary: text(table.summary, &of("summary"))?,
        source: text(table.source, &of("source"))?,
        options: options.leak(),
        counters: counters.leak(),
        gauges: gauges.leak(),
        ..Discipline::BASE
    }));
    let (file, library) = (path.display().to_string(), Arc::clone(library));
    let reasons = reasons.leak();
    Ok(AqmEntry { table, info, kinds, reasons, file, _library: library })
}

fn check_functions(name: &str, table: &abi::Aqm) -> Result<(), Wrong> {
    let missing = [
        ("create", table.create.is_none()),
        ("destroy", table.destroy.is_none()),
        ("clone", table.clone.is_none()),
        ("change", table.change.is_none()),
        ("enqueue", table.enqueue.is_none()),
        ("dequeue", table.dequeue.is_none()),
        ("flush", table.flush.is_none()),
        ("on_timer", table.next_timer.is_some() && table.on_timer.is_none()),
        ("read_counters", table.counter_count > 0 && table.read_counters.is_none()),
        ("read_gauges", table.gauge_count > 0 && table.read_gauges.is_none()),
    ];
    match missing.iter().find(|(_, is_missing)| *is_missing) {
        None => Ok(()),
        Some((function, _)) => Err(null(&format!("\"{name}\": {function}"))),
    }
}

fn null(what: &str) -> Wrong {
    wrong(format!("{what} is a null pointer"), "only what sojourn.h says may be null may be")
}

/// The `count` values at `first`.
///
/// # Safety
/// Unless it is null or `count` is 0, there are as many at `first`, and they stay as they are while the library is loaded.
unsafe fn array<'a, T>(first: *const T, count: u32, what: &str) -> Result<&'a [T], Wrong> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(null(&format!("{what} ({count} of them)")));
    }
    if !first.is_aligned() {
        return Err(wrong(
            format!("{what} has an address that is not aligned"),
            "declare it with its type in sojourn.h",
        ));
    }
    // SAFETY: as above.
    Ok(unsafe { core::slice::from_raw_parts(first, count as usize) })
}

/// A copy of a text, which stays.
fn text(text: *const c_char, what: &str) -> Result<&'static str, Wrong> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: the plugin says that a text with a zero byte at its end is there.
    match unsafe { CStr::from_ptr(text) }.to_str() {
        Ok(text) => Ok(text.to_owned().leak()),
        Err(_) => Err(wrong(format!("{what} is not UTF-8"), "write it in UTF-8")),
    }
}

/// The values of an option of this kind.
fn values(kind: Kind, name: &'static str) -> &'static [ValueSpec] {
    vec![ValueSpec { name, kind, optional: false }].leak()
}

fn read_option(of: &str, option: &abi::OptionSpec) -> Result<(OptionKind, OptionSpec), Wrong> {
    let name = text(option.name, &format!("\"{of}\": the name of an option"))?;
    let what = |part: &str| format!("\"{of}\": {part} of the option \"{name}\"");
    let (min, max) = (option.min, option.max);
    let has_range = min != 0.0 || max != 0.0;
    // A range that is no range would refuse every value.
    let is_sane = min.is_finite() && max.is_finite() && min <= max;
    if !is_sane || (has_range && option.kind != abi::SOJOURN_NUMBER && min < 0.0) {
        return Err(wrong(
            format!("{} is from {min} to {max}", what("the range")),
            "let the least value come first; nothing but a number may be below 0",
        ));
    }
    // What tc can hand over: 32 bits of microseconds, bytes or packets.
    let all = u64::from(u32::MAX);
    let within = |least: u64, greatest: u64| {
        if !has_range {
            return Ok((least, greatest));
        }
        if min > greatest as f64 {
            return Err(wrong(
                format!("{} is from {min} to {max}", what("the range")),
                format!("tc hands over {greatest} at most: let it begin below"),
            ));
        }
        Ok((min as u64, (max as u64).min(greatest)))
    };
    let (kind, values) = match option.kind {
        abi::SOJOURN_TIME => {
            let (min, max) = within(0, all * 1_000)?;
            (OptionKind::Time, values(Kind::Span { min, max }, "TIME"))
        }
        abi::SOJOURN_RATE => (OptionKind::Rate, table::RATE),
        abi::SOJOURN_SIZE => {
            let (min, max) = within(1, all)?;
            (OptionKind::Size, values(Kind::Size { min, max }, "BYTES"))
        }
        abi::SOJOURN_PACKETS => {
            let (min, max) = within(1, all)?;
            let kind = Kind::Count { unit: "packets", min, max };
            (OptionKind::Packets, values(kind, "PACKETS"))
        }
        abi::SOJOURN_NUMBER if has_range => {
            (OptionKind::Number, values(Kind::Real { what: "a number", min, max }, "NUMBER"))
        }
        abi::SOJOURN_NUMBER => {
            return Err(wrong(
                format!("{} is missing", what("the range")),
                "write min and max: a number needs them",
            ));
        }
        abi::SOJOURN_PROBABILITY => (OptionKind::Probability, values(Kind::Percent, "PERCENT")),
        abi::SOJOURN_FLAG => (OptionKind::Flag, &[][..]),
        other => {
            return Err(wrong(
                format!("{} is {other}", what("the kind")),
                "write SOJOURN_TIME, SOJOURN_RATE, SOJOURN_SIZE, SOJOURN_PACKETS, SOJOURN_NUMBER, SOJOURN_PROBABILITY \
                 or SOJOURN_FLAG",
            ));
        }
    };
    let preset = if option.is_required {
        DefaultValue::Required
    } else if option.preset.is_null() {
        DefaultValue::Unset("")
    } else {
        DefaultValue::Is(text(option.preset, &what("the default"))?)
    };
    let off = (kind == OptionKind::Flag).then(|| &*format!("no{name}").leak());
    let doc = text(option.doc, &what("the description"))?;
    let spec =
        OptionSpec { name, values, preset, doc, off, fixed: option.is_fixed, ..OptionSpec::BASE };
    Ok((kind, spec))
}

fn unit(code: u32, what: &str) -> Result<Unit, Wrong> {
    Ok(match code {
        abi::SOJOURN_UNIT_COUNT => Unit::Count,
        abi::SOJOURN_UNIT_BYTES => Unit::Bytes,
        abi::SOJOURN_UNIT_SECONDS => Unit::Seconds,
        abi::SOJOURN_UNIT_PROBABILITY => Unit::Probability,
        abi::SOJOURN_UNIT_BYTES_PER_SECOND => Unit::BytesPerSecond,
        abi::SOJOURN_UNIT_FLAG => Unit::Flag,
        other => {
            return Err(wrong(
                format!("the unit of {what} is {other}"),
                "write SOJOURN_UNIT_COUNT or another of sojourn.h",
            ));
        }
    })
}

fn read_counter(of: &str, counter: &abi::Counter) -> Result<Counter, Wrong> {
    let name = text(counter.name, &format!("\"{of}\": the name of a counter"))?;
    let what = format!("\"{of}\": the counter \"{name}\"");
    let shown = match counter.shown {
        abi::SOJOURN_SHOWN_ALWAYS => Shown::Always,
        abi::SOJOURN_SHOWN_NONZERO => Shown::NonZero,
        abi::SOJOURN_SHOWN_FLAG => Shown::Flag,
        other => {
            return Err(wrong(
                format!("{what} is shown {other}"),
                "write SOJOURN_SHOWN_ALWAYS, SOJOURN_SHOWN_NONZERO or SOJOURN_SHOWN_FLAG",
            ));
        }
    };
    let line = u8::try_from(counter.line)
        .map_err(|_| wrong(format!("{what} is on line {}", counter.line), "write 0 to 255"))?;
    let doc = text(counter.doc, &format!("{what}: its description"))?;
    Ok(Counter { name, unit: unit(counter.unit, &what)?, line, shown, doc })
}

fn read_gauge(of: &str, gauge: &abi::Gauge) -> Result<Gauge, Wrong> {
    let name = text(gauge.name, &format!("\"{of}\": the name of a gauge"))?;
    let what = format!("\"{of}\": the gauge \"{name}\"");
    let doc = text(gauge.doc, &format!("{what}: its description"))?;
    Ok(Gauge { name, unit: unit(gauge.unit, &what)?, doc })
}

fn read_reason(of: &str, reason: *const c_char) -> Result<Reason, Wrong> {
    let name = text(reason, &format!("\"{of}\": a reason"))?;
    let ours = Reason::BUILT_IN.iter().find(|why| why.name() == name);
    Ok(ours.copied().unwrap_or(Reason::Custom(name)))
}
