//! A plugin's discipline as one of ours.
//!
//! The host keeps the common parts: the packets, the counters of tc's first line, the values of the options. It checks
//! a plugin's answers; an impossible answer ends the run ([`Fault`]).

use crate::call::{Call, Packets, Said, unknown};
use crate::instance::Instance;
use crate::slab::Slab;
use crate::tables::{AqmEntry, OptionKind};
use sojourn_engine::Fault;
use sojourn_plugin::abi;
use sojourn_qdisc::table::DefaultValue;
use sojourn_qdisc::{
    AnyQdisc, Backlog, BuildContext, Dequeued, Discipline, DynContext, DynQdisc, OwnedPacket,
    ParsedOption, QdiscCounters, QdiscQuirks, Reason, Stats, TcError, TcTokens, defaults,
    read_change, read_options,
};
use sojourn_units::{Rate, Span, Time};
use std::sync::Arc;

/// One queue under a plugin's discipline.
pub(crate) struct PluginQdisc<P: OwnedPacket> {
    instance: Instance<P>,
    slab: Slab<P>,
    tally: QdiscCounters,
    profile: QdiscQuirks,
    values: Vec<abi::Value>,
}

/// Makes one from the words behind its name.
pub(crate) fn build<P: OwnedPacket>(
    entry: &Arc<AqmEntry>,
    words: &mut TcTokens<'_>,
    cx: &mut BuildContext<'_, P>,
) -> Result<Box<dyn DynQdisc<P>>, TcError> {
    let name = entry.info.name;
    let start = words.position() - name.len();
    let profile = *cx.quirks;
    let mut values = vec![abi::Value::default(); entry.kinds.len()];
    overlay(&mut values, entry, &defaults(entry.info, &profile));
    overlay(&mut values, entry, &read_options(entry.info, words, &profile)?);
    let mut call = Call::<P>::drawing(Some(cx.random));
    let instance = Instance::create(entry, &values, &mut call);
    let silent = || "it made nothing and did not say why".to_owned();
    let said = match (call.done(), instance) {
        (Ok(()), Some(instance)) => {
            let (slab, tally) = (Slab::new(), QdiscCounters::default());
            return Ok(Box::new(PluginQdisc { instance, slab, tally, profile, values }));
        }
        (Ok(()), None) => Said::Failed(silent()),
        (Err(said), _) => said,
    };
    Err(refusal(said, entry, words, start))
}

/// What was wrong with a discipline's words, as the plugin has it.
fn refusal(said: Said, entry: &AqmEntry, words: &TcTokens<'_>, start: usize) -> TcError {
    let (message, help) = match said {
        Said::Refused(why) => (format!("{}: {why}", entry.info.name), None),
        Said::Failed(what) => {
            let fault = fault(entry, &what);
            (fault.why, Some(fault.help))
        }
        Said::Panicked(panic) => std::panic::resume_unwind(panic),
    };
    words.error(start..words.position().max(start), message, help)
}

fn fault(entry: &AqmEntry, what: &str) -> Fault {
    Fault {
        why: format!("the plugin {}, queue discipline \"{}\": {what}", entry.file, entry.info.name),
        help: "this is a mistake in the plugin: fix it, and build it again".to_owned(),
    }
}

/// Takes over what was given.
fn overlay(values: &mut [abi::Value], entry: &AqmEntry, given: &[ParsedOption]) {
    for given in given {
        let integer = |integer| abi::Value { integer, real: 0.0, is_set: true };
        let real = |real| abi::Value { integer: 0, real, is_set: true };
        values[given.place] = match entry.kinds[given.place] {
            OptionKind::Time => integer(given.span().as_nanos()),
            OptionKind::Rate => integer(given.rate().bits_per_sec()),
            OptionKind::Size | OptionKind::Packets => integer(given.number().into()),
            OptionKind::Number => real(given.real()),
            OptionKind::Probability => real(given.probability(0).unwrap_or_default()),
            OptionKind::Flag => integer(given.on.into()),
        };
    }
}

impl<P: OwnedPacket> PluginQdisc<P> {
    fn entry(&self) -> &AqmEntry {
        &self.instance.entry
    }

    /// Ends the run.
    #[cold]
    fn fail(&self, what: &str) -> ! {
        fault(self.entry(), what).raise()
    }

    /// Ends the run unless the call said nothing.
    #[inline]
    fn check(&self, done: Result<(), Said>) {
        if let Err(Said::Failed(what) | Said::Refused(what)) = done {
            self.fail(&what);
        }
    }

    /// Does something of the plugin's with the packets and the context at hand.
    #[inline]
    fn deciding<R>(
        &mut self,
        now: Time,
        cx: &mut DynContext<'_, P>,
        work: impl FnOnce(&mut Instance<P>, &[abi::Value], &mut Call<'_, P>) -> R,
    ) -> (R, Result<(), Said>) {
        let Self { instance, slab, tally, values, .. } = self;
        let reasons = instance.entry.reasons;
        let telemetry = &mut *cx.telemetry;
        let mut call = Call::new(cx.random, Packets { now, slab, tally, reasons, telemetry });
        let result = work(instance, values, &mut call);
        (result, call.done())
    }

    /// Asks the plugin for something that changes nothing.
    fn looking<R>(&self, look: impl FnOnce(&Instance<P>, &mut Call<'_, P>) -> R) -> R {
        let mut call = Call::looking();
        let result = look(&self.instance, &mut call);
        self.check(call.done());
        result
    }
}

impl<P: OwnedPacket> DynQdisc<P> for PluginQdisc<P> {
    fn info(&self) -> &'static Discipline {
        self.entry().info
    }

    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: P, cx: &mut DynContext<'_, P>) {
        packet.set_stamp(now);
        let (source_host, destination_host) = packet.host_keys();
        let mut view = abi::Packet {
            handle: 0,
            stamp: now.as_nanos(),
            flow_key: packet.flow_key(),
            source_host,
            destination_host,
            wire_len: packet.wire_len(),
            l4_len: packet.l4_len(),
            ecn: packet.ecn().bits(),
            dscp: packet.dscp().value(),
        };
        view.handle = self.slab.insert(packet, view.wire_len);
        let ((), done) = self.deciding(now, cx, |plugin, _, call| plugin.enqueue(now, &view, call));
        self.check(done);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, cx: &mut DynContext<'_, P>) -> Dequeued<P> {
        let (answer, done) = self.deciding(now, cx, |plugin, _, call| plugin.dequeue(now, call));
        self.check(done);
        match answer {
            Ok(Dequeued::Packet(handle)) => {
                let Some(packet) = self.slab.take(handle) else {
                    self.fail(&unknown("let leave", handle));
                };
                self.tally.sent(packet.wire_len());
                Dequeued::Packet(packet)
            }
            Ok(Dequeued::Wait(until)) if until > now => Dequeued::Wait(until),
            Ok(Dequeued::Wait(until)) => {
                self.fail(&format!("at {now} it asks to wait until {until}, which is not later"))
            }
            Ok(Dequeued::Empty) => {
                let held = self.slab.backlog().packets;
                if held > 0 {
                    self.fail(&format!("it says that it is empty, and it holds {held} packets"));
                }
                Dequeued::Empty
            }
            Err(answer) => self.fail(&format!(
                "dequeue answered {answer}; SOJOURN_EMPTY, SOJOURN_PACKET and SOJOURN_WAIT are 0, 1 and 2"
            )),
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        if !self.instance.has_timer() {
            return None;
        }
        self.looking(Instance::next_timer)
    }

    fn on_timer(&mut self, now: Time, cx: &mut DynContext<'_, P>) {
        if !self.instance.has_timer() {
            return;
        }
        let ((), done) = self.deciding(now, cx, |plugin, _, call| plugin.on_timer(now, call));
        self.check(done);
        if let Some(next) = self.next_timer().filter(|next| *next <= now) {
            self.fail(&format!("after its timer at {now} it wants the next at {next}"));
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.slab.backlog()
    }

    fn stats(&self) -> Stats {
        let values = self.looking(Instance::read_counters);
        let names = self.entry().info.counters.iter().map(|counter| counter.name);
        self.tally.stats(self.slab.backlog(), names.zip(values).collect())
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        let values = self.looking(|plugin, call| plugin.read_gauges(now, call));
        for (gauge, value) in self.entry().info.gauges.iter().zip(values) {
            out(gauge.name, value);
        }
    }

    fn change(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), TcError> {
        let start = words.position() - self.entry().info.name.len();
        let given = read_change(self.entry().info, words, &self.profile)?;
        let before = self.values.clone();
        overlay(&mut self.values, &self.instance.entry, &given);
        let ((), done) =
            self.deciding(now, cx, |plugin, values, call| plugin.change(now, values, call));
        done.map_err(|said| {
            self.values = before;
            refusal(said, self.entry(), words, start)
        })
    }

    fn start(&mut self, now: Time) {
        let mut call = Call::looking();
        self.instance.start(now, &mut call);
        self.check(call.done());
    }

    fn flush(&mut self, now: Time, cx: &mut DynContext<'_, P>) {
        for packet in self.slab.take_all() {
            let mut telemetry = &mut *cx.telemetry;
            let random = &mut *cx.random;
            let cx = &mut sojourn_qdisc::Context { random, telemetry: &mut telemetry };
            self.tally.drop(now, packet, Reason::Flushed, cx);
        }
        let ((), done) = self.deciding(now, cx, |plugin, _, call| plugin.flush(now, call));
        self.check(done);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let entry = self.entry();
        let options = entry.info.options.iter().zip(&entry.kinds).zip(&self.values);
        let words = options.filter_map(|((option, kind), value)| {
            let name = option.name;
            let &abi::Value { integer, real, is_set } = value;
            if !is_set {
                // A switch without a default is off.
                return None;
            }
            Some(match kind {
                OptionKind::Time => format!("{name} {}", Span::from_nanos(integer)),
                OptionKind::Rate => format!("{name} {}", Rate::from_bits_per_sec(integer)),
                OptionKind::Size => format!("{name} {integer}b"),
                OptionKind::Packets => format!("{name} {integer}p"),
                OptionKind::Number => format!("{name} {real}"),
                // Six digits after the point, without what binary fractions leave behind them.
                OptionKind::Probability => format!("{name} {}%", (real * 1e8).round() / 1e6),
                OptionKind::Flag if integer == 1 => name.to_owned(),
                // Options that are off by default need no word.
                OptionKind::Flag if matches!(option.preset, DefaultValue::Is(on) if on == name) => {
                    option.off.unwrap_or_default().to_owned()
                }
                OptionKind::Flag => return None,
            })
        });
        words.collect::<Vec<_>>().join(" ")
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
        let Self { instance, slab, tally, profile, values } = self;
        let mut call = Call::looking();
        let copy = instance.duplicate(&mut call);
        self.check(call.done());
        let Some(instance) = copy else { self.fail("clone made nothing") };
        let (slab, tally, profile, values) = (slab.clone(), *tally, *profile, values.clone());
        Box::new(Self { instance, slab, tally, profile, values })
    }
}
