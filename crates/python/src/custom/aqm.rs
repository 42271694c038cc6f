//! A queue discipline in Python as one of ours.
//!
//! The host keeps the packets, the class keeps their handles. A call's actions on them are noted, and done when the
//! call has come back.

use super::class::AqmClass;
use super::fault::Wrong;
use super::queue::{Action, Packet, QueueView};
use core::mem;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use sojourn_engine::Fault;
use sojourn_qdisc::{
    AnyQdisc, Backlog, BuildContext, Context, Dequeued, Discipline, DynContext, DynQdisc,
    OwnedPacket, QdiscCounters, QdiscQuirks, Reason, Stats, TcError, TcTokens, mark,
};
use sojourn_units::{Random, Rate, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The reason of a drop or mark that gives none.
const UNSAID: Reason = Reason::Custom("python");

/// Answers in a row that nothing may leave yet, after which none of them is believed: a class that answers with a time that
/// is only ever a little later than now would hold the run up for ever, and each of its calls comes back.
const MOST_WAITS: u32 = 1_000_000;

/// The longest value that an error shows, characters.
const SHOWN: usize = 80;

/// One queue under a class of the user's.
pub struct PythonQdisc<P> {
    class: Arc<AqmClass>,
    object: Py<PyAny>,
    view: Py<QueueView>,
    /// The packets that it holds, by number of arrival.
    held: BTreeMap<u64, P>,
    arrivals: u64,
    bytes: u64,
    tally: QdiscCounters,
    profile: QdiscQuirks,
    /// The words behind its name.
    words: Vec<String>,
    /// Answers that nothing may leave yet since the last packet left.
    waits: u32,
}

/// Makes one from the words behind its name.
pub fn build<P: OwnedPacket>(
    class: &Arc<AqmClass>,
    words: &mut TcTokens<'_>,
    cx: &mut BuildContext<'_, P>,
) -> Result<Box<dyn DynQdisc<P>>, TcError> {
    let start = words.position() - class.info.name.len();
    let mut given = Vec::new();
    while let Some(word) = words.take() {
        given.push(word.text.to_owned());
    }
    match PythonQdisc::new(class, given, *cx.quirks) {
        Ok(made) => Ok(Box::new(made)),
        Err(wrong) => {
            let wrong = wrong.within(&class.file.path);
            Err(words.error(start..words.position(), wrong.message, Some(wrong.help)))
        }
    }
}

impl<P: OwnedPacket> PythonQdisc<P> {
    fn new(class: &Arc<AqmClass>, words: Vec<String>, profile: QdiscQuirks) -> Result<Self, Wrong> {
        let (object, view) = make(class, &words)?;
        Ok(Self {
            class: Arc::clone(class),
            object,
            view,
            held: BTreeMap::new(),
            arrivals: 0,
            bytes: 0,
            tally: QdiscCounters::default(),
            profile,
            words,
            waits: 0,
        })
    }

    fn wrong(&self, py: Python<'_>, error: PyErr) -> Fault {
        self.class.fault(Wrong::of(py, error, &self.class.file.path))
    }

    /// The error for a forbidden action of the class.
    fn fault(&self, py: Python<'_>, method: &str, what: &str, help: &str) -> Fault {
        let place = || -> PyResult<String> {
            let written = self.class.class.bind(py).getattr(method)?;
            let name: String = written.getattr("__qualname__")?.extract()?;
            let place: String =
                py.import("sojourn.custom.faults")?.call_method1("place", (written,))?.extract()?;
            Ok(format!("{place}{name}"))
        };
        let place = place().unwrap_or_else(|_| method.to_owned());
        self.class.fault(Wrong { message: format!("{place} {what}"), help: help.to_owned() })
    }

    /// Shows the queue as it is now.
    fn show(&self, py: Python<'_>, now: Time, random: &Random) {
        let mut view = self.view.borrow_mut(py);
        view.now_ns = now.as_nanos();
        view.packets = self.backlog().packets;
        view.bytes = self.bytes;
        view.random = random.clone();
    }

    /// Does what the call has done to packets.
    fn settle(
        &mut self,
        py: Python<'_>,
        method: &str,
        now: Time,
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), Fault> {
        let actions = {
            let mut view = self.view.borrow_mut(py);
            *cx.random = view.random.clone();
            mem::take(&mut view.actions)
        };
        for (id, action, why) in actions {
            let reason = match why {
                None => UNSAID,
                Some(why) => self.reason(&why).ok_or_else(|| {
                    let what = format!("gave the reason \"{why}\", which is not known");
                    let own = r#"add it to the class's reasons: reasons = ("too_late",)"#;
                    self.fault(py, method, &what, own)
                })?,
            };
            let mut telemetry = &mut *cx.telemetry;
            let cx = &mut Context { random: &mut *cx.random, telemetry: &mut telemetry };
            match action {
                Action::Mark => {
                    if let Some(packet) = self.held.get_mut(&id) {
                        mark(now, packet, reason, cx);
                    }
                }
                Action::Drop => {
                    if let Some(packet) = self.held.remove(&id) {
                        self.bytes -= u64::from(packet.wire_len());
                        self.tally.drop(now, packet, reason, cx);
                    }
                }
            }
        }
        Ok(())
    }

    fn reason(&self, name: &str) -> Option<Reason> {
        let all = Reason::BUILT_IN.iter().chain(&self.class.reasons);
        all.copied().find(|reason| reason.name() == name)
    }

    fn take_in(
        &mut self,
        now: Time,
        mut packet: P,
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), Fault> {
        packet.set_stamp(now);
        let id = self.arrivals;
        self.arrivals += 1;
        self.bytes += u64::from(packet.wire_len());
        Python::attach(|py| {
            let handle = Packet::new(id, &packet, self.view.clone_ref(py));
            self.held.insert(id, packet);
            self.show(py, now, cx.random);
            let returned = self.object.bind(py).call_method1("enqueue", (handle, &self.view));
            let returned = returned.map_err(|error| self.wrong(py, error))?;
            if !returned.is_none() {
                let what = format!("returned {}", shown(&returned));
                let help = "return nothing: keep the packet, or drop it by packet.drop()";
                return Err(self.fault(py, "enqueue", &what, help));
            }
            self.settle(py, "enqueue", now, cx)
        })
    }

    fn let_out(&mut self, now: Time, cx: &mut DynContext<'_, P>) -> Result<Dequeued<P>, Fault> {
        const HELP: &str = "return a packet that was enqueued and not dropped, a later time in nanoseconds, or None";
        Python::attach(|py| {
            self.show(py, now, cx.random);
            let returned = self.object.bind(py).call_method1("dequeue", (&self.view,));
            let returned = returned.map_err(|error| self.wrong(py, error))?;
            self.settle(py, "dequeue", now, cx)?;
            if returned.is_none() {
                self.waits = 0;
                if self.held.is_empty() {
                    return Ok(Dequeued::Empty);
                }
                let what = format!("returned None, and holds {} packets", self.held.len());
                return Err(self.fault(py, "dequeue", &what, HELP));
            }
            if let Ok(handle) = returned.cast::<Packet>() {
                let id = handle.borrow().id;
                let Some(packet) = self.held.remove(&id) else {
                    let what =
                        format!("returned {}, which the queue does not hold", shown(&returned));
                    return Err(self.fault(py, "dequeue", &what, HELP));
                };
                handle.borrow_mut().leave();
                self.bytes -= u64::from(packet.wire_len());
                self.tally.sent(packet.wire_len());
                self.waits = 0;
                return Ok(Dequeued::Packet(packet));
            }
            self.waits += 1;
            if self.waits > MOST_WAITS {
                let what = format!(
                    "returned {} at {} ns: a later time, {MOST_WAITS} times in a row, and no packet left",
                    shown(&returned),
                    now.as_nanos()
                );
                let help = "return the time from which on a packet may leave, not one at which to ask again";
                return Err(self.fault(py, "dequeue", &what, help));
            }
            let until = returned.extract::<u64>().map(Time::from_nanos).ok();
            let is_later = |until: &Time| *until > now && !returned.is_instance_of::<PyBool>();
            until.filter(is_later).map(Dequeued::Wait).ok_or_else(|| {
                let what = format!("returned {} at {} ns", shown(&returned), now.as_nanos());
                self.fault(py, "dequeue", &what, HELP)
            })
        })
    }

    /// Hands the object the options that these words give.
    fn change_to(
        &mut self,
        now: Time,
        words: &[String],
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), Fault> {
        Python::attach(|py| {
            self.show(py, now, cx.random);
            let changed = || -> PyResult<Vec<String>> {
                let loading = py.import("sojourn.custom.loading")?;
                let given = (&self.object, &self.view, self.words.clone(), words.to_vec());
                loading.call_method1("change_aqm", given)?.extract()
            };
            let now_standing = changed().map_err(|error| self.wrong(py, error))?;
            self.settle(py, "change", now, cx)?;
            // An object that takes this one's place after a flush has the options of now.
            self.words = now_standing;
            Ok(())
        })
    }

    fn copy(&self) -> Result<Self, Fault> {
        Python::attach(|py| {
            let copied = || -> PyResult<(Py<PyAny>, Py<QueueView>)> {
                let view = new_view(py)?;
                let memo = PyDict::new(py);
                memo.set_item(self.view.as_ptr() as usize, &view)?;
                let object = py.import("copy")?.call_method1("deepcopy", (&self.object, memo))?;
                Ok((object.unbind(), view))
            };
            let (object, view) = copied().map_err(|error| self.wrong(py, error))?;
            Ok(Self {
                class: Arc::clone(&self.class),
                object,
                view,
                held: self.held.clone(),
                arrivals: self.arrivals,
                bytes: self.bytes,
                tally: self.tally,
                profile: self.profile,
                words: self.words.clone(),
                waits: self.waits,
            })
        })
    }
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn new_view(py: Python<'_>) -> PyResult<Py<QueueView>> {
    // Filled before each call; no number is drawn from this stream.
    let random = Random::named(0, "nobody");
    Py::new(py, QueueView { now_ns: 0, packets: 0, bytes: 0, random, actions: Vec::new() })
}

/// An object of the class, and the queue that it is shown.
fn make(class: &AqmClass, words: &[String]) -> Result<(Py<PyAny>, Py<QueueView>), Wrong> {
    Python::attach(|py| {
        let made = || -> PyResult<(Py<PyAny>, Py<QueueView>)> {
            let loading = py.import("sojourn.custom.loading")?;
            let object = loading
                .call_method1("make_aqm", (&class.class, words.to_vec(), &class.file.path))?;
            Ok((object.unbind(), new_view(py)?))
        };
        made().map_err(|error| Wrong::of(py, error, &class.file.path))
    })
}

fn or_raise<T>(result: Result<T, Fault>) -> T {
    result.unwrap_or_else(|fault| fault.raise())
}

impl<P: OwnedPacket> DynQdisc<P> for PythonQdisc<P> {
    fn info(&self) -> &'static Discipline {
        self.class.info
    }

    fn enqueue(&mut self, now: Time, packet: P, cx: &mut DynContext<'_, P>) {
        or_raise(self.take_in(now, packet, cx));
    }

    fn dequeue(&mut self, now: Time, cx: &mut DynContext<'_, P>) -> Dequeued<P> {
        or_raise(self.let_out(now, cx))
    }

    fn next_timer(&self) -> Option<Time> {
        None
    }

    fn on_timer(&mut self, _now: Time, _cx: &mut DynContext<'_, P>) {}

    fn backlog(&self) -> Backlog {
        Backlog { packets: u32::try_from(self.held.len()).unwrap_or(u32::MAX), bytes: self.bytes }
    }

    fn stats(&self) -> Stats {
        self.tally.stats(self.backlog(), Vec::new())
    }

    fn gauges(&self, _now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        if self.class.gauges.is_empty() {
            return;
        }
        let read: Result<Vec<f64>, Wrong> = Python::attach(|py| {
            self.class.gauges.iter().map(|gauge| gauge.read(self.object.bind(py))).collect()
        });
        let values = or_raise(read.map_err(|wrong| self.class.fault(wrong)));
        for (gauge, value) in self.class.gauges.iter().zip(values) {
            out(gauge.name, value);
        }
    }

    fn change(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), TcError> {
        let start = words.position();
        let mut given = Vec::new();
        while let Some(word) = words.take() {
            given.push(word.text.to_owned());
        }
        if !self.class.changes {
            let Wrong { message, help } = unchangeable(self.class.info.name);
            return Err(words.error(start..words.position(), message, Some(help)));
        }
        or_raise(self.change_to(now, &given, cx));
        Ok(())
    }

    fn start(&mut self, _now: Time) {}

    fn flush(&mut self, now: Time, cx: &mut DynContext<'_, P>) {
        for packet in mem::take(&mut self.held).into_values() {
            let mut telemetry = &mut *cx.telemetry;
            let cx = &mut Context { random: &mut *cx.random, telemetry: &mut telemetry };
            self.tally.drop(now, packet, Reason::Flushed, cx);
        }
        self.bytes = 0;
        // The object still knows the packets that are gone: another takes its place.
        let made = make(&self.class, &self.words).map_err(|wrong| self.class.fault(wrong));
        (self.object, self.view) = or_raise(made);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        self.words.join(" ")
    }

    fn child(&self) -> Option<&AnyQdisc<P>> {
        None
    }

    fn child_mut(&mut self) -> Option<&mut AnyQdisc<P>> {
        None
    }

    fn replace_child(
        &mut self,
        _now: Time,
        child: AnyQdisc<P>,
        _cx: &mut DynContext<'_, P>,
    ) -> Option<AnyQdisc<P>> {
        Some(child)
    }

    fn set_rate(&mut self, _now: Time, _rate: Rate) -> bool {
        false
    }

    fn clone_box(&self) -> Box<dyn DynQdisc<P>> {
        Box::new(or_raise(self.copy()))
    }
}

/// The error for a change of a class that has no method for it, and the help.
pub fn unchangeable(name: &str) -> Wrong {
    Wrong {
        message: format!(
            "{name} cannot be changed while it runs: its class has no method \"change\""
        ),
        help:
            "write change(self, options, queue) there, or replace = \"…\": another takes its place"
                .to_owned(),
    }
}
