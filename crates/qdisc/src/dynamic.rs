//! A discipline behind a pointer: the form in which a queue holds one that this crate does not know.
//!
//! Built-in disciplines are variants of [`crate::AnyQdisc`] and are compiled for the telemetry that they report to. One from outside
//! is a [`DynQdisc`] in [`crate::AnyQdisc::Custom`]: its methods are called through a table of pointers, and so are
//! those of the telemetry that it receives. Authors of disciplines need not know: every type that implements
//! [`crate::Qdisc`] and [`TcConfigurable`] (and can be cloned and sent to another thread) has this form too. A
//! discipline that cannot be generic over the telemetry, such as one loaded at run time, implements [`DynQdisc`] itself.
//!
//! Invariant: both forms of a discipline make the same decisions; the object form forwards and does nothing else.

use crate::configured::TcConfigurable;
use crate::words::{TcError, TcTokens};
use crate::{
    AnyQdisc, Backlog, Context, Dequeued, Discipline, Packet, Qdisc, QdiscQuirks, Stats, Telemetry,
};
use core::fmt;
use sojourn_units::{Rate, Time};

/// A packet that a discipline from outside may hold: it can be cloned and sent to another thread, and borrows nothing.
/// Every packet that can has it.
pub trait OwnedPacket: Packet + Clone + Send + 'static {}

impl<P: Packet + Clone + Send + 'static> OwnedPacket for P {}

/// [`Context`] with telemetry of any kind.
pub type DynContext<'a, P> = Context<'a, dyn Telemetry<P> + 'a>;

impl<T> Context<'_, T> {
    /// The same for a [`DynQdisc`].
    pub const fn as_dyn<P>(&mut self) -> DynContext<'_, P>
    where
        T: Telemetry<P>,
    {
        Context { random: self.random, telemetry: self.telemetry }
    }
}

/// The object form of [`Qdisc`] and [`TcConfigurable`], method by method, where each is explained. Nothing has a default
/// here, so that nothing can be forgotten.
#[expect(missing_docs, reason = "each method is that of Qdisc or Configured with its name")]
pub trait DynQdisc<P>: Send {
    fn info(&self) -> &'static Discipline;
    fn enqueue(&mut self, now: Time, packet: P, cx: &mut DynContext<'_, P>);
    fn dequeue(&mut self, now: Time, cx: &mut DynContext<'_, P>) -> Dequeued<P>;
    fn next_timer(&self) -> Option<Time>;
    fn on_timer(&mut self, now: Time, cx: &mut DynContext<'_, P>);
    fn backlog(&self) -> Backlog;
    fn stats(&self) -> Stats;
    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64));
    fn change(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), TcError>;
    fn start(&mut self, now: Time);
    fn flush(&mut self, now: Time, cx: &mut DynContext<'_, P>);
    fn quirks(&self) -> &QdiscQuirks;
    fn describe(&self) -> String;
    fn child(&self) -> Option<&AnyQdisc<P>>;
    fn child_mut(&mut self) -> Option<&mut AnyQdisc<P>>;
    fn replace_child(
        &mut self,
        now: Time,
        child: AnyQdisc<P>,
        cx: &mut DynContext<'_, P>,
    ) -> Option<AnyQdisc<P>>;
    fn set_rate(&mut self, now: Time, rate: Rate) -> bool;
    /// The discipline once more, with the packets that it holds.
    fn clone_box(&self) -> Box<dyn DynQdisc<P>>;
}

/// Hands a `dyn Telemetry` to a method that wants a type: the reference to it is one.
macro_rules! with_reference {
    ($cx:ident, $call:expr) => {{
        let mut telemetry = &mut *$cx.telemetry;
        let $cx = &mut Context { random: &mut *$cx.random, telemetry: &mut telemetry };
        $call
    }};
}

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl<P: OwnedPacket, Q: TcConfigurable<P> + Clone + Send + 'static> DynQdisc<P> for Q {
    fn info(&self) -> &'static Discipline {
        Q::INFO
    }

    fn enqueue(&mut self, now: Time, packet: P, cx: &mut DynContext<'_, P>) {
        with_reference!(cx, Qdisc::enqueue(self, now, packet, cx));
    }

    fn dequeue(&mut self, now: Time, cx: &mut DynContext<'_, P>) -> Dequeued<P> {
        with_reference!(cx, Qdisc::dequeue(self, now, cx))
    }

    fn next_timer(&self) -> Option<Time> {
        Qdisc::next_timer(self)
    }

    fn on_timer(&mut self, now: Time, cx: &mut DynContext<'_, P>) {
        with_reference!(cx, Qdisc::on_timer(self, now, cx));
    }

    fn backlog(&self) -> Backlog {
        Qdisc::backlog(self)
    }

    fn stats(&self) -> Stats {
        Qdisc::stats(self)
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        Qdisc::gauges(self, now, out);
    }

    fn change(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut DynContext<'_, P>,
    ) -> Result<(), TcError> {
        with_reference!(cx, TcConfigurable::change(self, now, words, cx))
    }

    fn start(&mut self, now: Time) {
        TcConfigurable::start(self, now);
    }

    fn flush(&mut self, now: Time, cx: &mut DynContext<'_, P>) {
        with_reference!(cx, TcConfigurable::flush(self, now, cx));
    }

    fn quirks(&self) -> &QdiscQuirks {
        TcConfigurable::quirks(self)
    }

    fn describe(&self) -> String {
        TcConfigurable::describe(self)
    }

    fn child(&self) -> Option<&AnyQdisc<P>> {
        TcConfigurable::child(self)
    }

    fn child_mut(&mut self) -> Option<&mut AnyQdisc<P>> {
        TcConfigurable::child_mut(self)
    }

    fn replace_child(
        &mut self,
        now: Time,
        child: AnyQdisc<P>,
        cx: &mut DynContext<'_, P>,
    ) -> Option<AnyQdisc<P>> {
        with_reference!(cx, TcConfigurable::replace_child(self, now, child, cx))
    }

    fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        TcConfigurable::set_rate(self, now, rate)
    }

    fn clone_box(&self) -> Box<dyn DynQdisc<P>> {
        Box::new(self.clone())
    }
}

impl<P> Clone for Box<dyn DynQdisc<P>> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

impl<P> fmt::Debug for dyn DynQdisc<P> {
    /// Its name and its options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.info().name, self.describe())
    }
}
