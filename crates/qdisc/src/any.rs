//! Whichever discipline tc's words ask for: an enum, so that a packet's way through a queue is a jump and not
//! a call through a table of pointers. One variant is such a table: that of disciplines from outside.
//!
//! To add a discipline to this crate: one file with its table and its type, its `mod` line and an entry of
//! `disciplines!` (`lib.rs`). To
//! add one without changing this crate: [`crate::Registry::add`].

use crate::configured::{BuildContext, TcConfigurable};
use crate::dynamic::DynQdisc;
use crate::show::show;
use crate::words::{TcError, TcTokens};
use crate::{
    Backlog, Context, Dequeued, Discipline, Htb, Packet, Qdisc, QdiscQuirks, Stats, Telemetry,
};
use sojourn_units::{Rate, Time};

/// How one of this crate's is made from the words behind its name.
type Build<P> = fn(&mut TcTokens<'_>, &mut BuildContext<'_, P>) -> Result<AnyQdisc<P>, TcError>;

macro_rules! any_qdisc {
    ($($file:ident: $($variant:ident $info:ident),+;)*) => {
        /// A discipline of any kind.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each variant is the discipline of its name")]
        pub enum AnyQdisc<P> {
            $($($variant(crate::$file::$variant<P>),)+)*
            /// One from outside.
            Custom(Box<dyn DynQdisc<P>>),
        }

        /// Does the same with whichever discipline it is. With a context, that of one from outside is `dyn`.
        macro_rules! each {
            ($any:expr, $qdisc:ident => $what:expr) => {
                match $any {
                    $($(AnyQdisc::$variant($qdisc) => $what,)+)*
                    AnyQdisc::Custom($qdisc) => $what,
                }
            };
            ($any:expr, $qdisc:ident, $cx:ident => $what:expr) => {
                match $any {
                    $($(AnyQdisc::$variant($qdisc) => $what,)+)*
                    AnyQdisc::Custom($qdisc) => {
                        let $cx = &mut $cx.as_dyn();
                        $what
                    }
                }
            };
        }

        /// Every discipline of this crate, in alphabetical order. Whoever reads words asks a [`crate::Registry`], which
        /// may have more.
        pub const fn disciplines() -> &'static [&'static Discipline] {
            const SORTED: &[&Discipline] =
                &crate::table::sorted([$($(&crate::$file::$info,)+)*]);
            SORTED
        }

        /// How each of this crate's is built.
        pub(crate) fn built_in<P: Packet>() -> impl Iterator<Item = (&'static Discipline, Build<P>)> {
            let builds: Vec<(&'static Discipline, Build<P>)> = vec![$($((
                &crate::$file::$info,
                |words, cx| TcConfigurable::build(words, cx).map(AnyQdisc::$variant),
            ),)+)*];
            builds.into_iter()
        }

        impl<P: Packet> AnyQdisc<P> {
            /// Its table.
            pub fn info(&self) -> &'static Discipline {
                match self {
                    $($(Self::$variant(_) => &crate::$file::$info,)+)*
                    Self::Custom(custom) => custom.info(),
                }
            }
        }
    };
}

disciplines!(any_qdisc);

impl<P: Packet> AnyQdisc<P> {
    /// `child` under an htb class of `rate`: the bottleneck of the published testbeds.
    pub fn shaped(rate: Rate, child: Self) -> Self {
        Self::Htb(Htb::over(rate, child))
    }

    /// `tc qdisc change`: the same discipline with other options; those not written stay as they are or go back
    /// to the default, as tc has it for each. Queue and state are kept; packets above a lowered limit may be
    /// dropped. `words` come from [`crate::Registry::words`], so that a child's name is known.
    ///
    /// # Errors
    /// Whatever is wrong with the words, another discipline's name among it; nothing has changed then.
    pub fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        let own = self.info().name;
        if !words.keyword(own) {
            let end = words.text().len();
            let (at, found) = words
                .peek()
                .map_or((end..end, "nothing".to_owned()), |w| (w.at, format!("\"{}\"", w.text)));
            let message = format!("{found} cannot change the {own} that is there");
            let help = format!("write \"{own}\" and its options, or replace it");
            return Err(words.error(at, message, Some(help)));
        }
        each!(self, qdisc, cx => qdisc.change(now, words, cx))
    }

    /// `tc qdisc replace`: `with` takes the place of this one and begins its work at `now`; packets that are
    /// held are dropped as [`crate::Reason::Flushed`]. Returns what was replaced, empty, with its statistics.
    pub fn replace<T: Telemetry<P>>(
        &mut self,
        now: Time,
        mut with: Self,
        cx: &mut Context<'_, T>,
    ) -> Self {
        self.flush(now, cx);
        with.start(now);
        core::mem::replace(self, with)
    }

    /// Tells that it begins its work at `now` (timers, and a shaper's tokens).
    pub fn start(&mut self, now: Time) {
        each!(self, qdisc => qdisc.start(now));
    }

    /// Drops everything that is held, as [`crate::Reason::Flushed`].
    pub fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        each!(self, qdisc, cx => qdisc.flush(now, cx));
    }

    /// The kernel that it behaves as.
    pub fn quirks(&self) -> &QdiscQuirks {
        each!(self, qdisc => qdisc.quirks())
    }

    /// The discipline that it hands packets to, if it is a shaper.
    pub fn child(&self) -> Option<&Self> {
        each!(self, qdisc => qdisc.child())
    }

    /// As [`AnyQdisc::child`], to be changed or replaced.
    pub fn child_mut(&mut self) -> Option<&mut Self> {
        each!(self, qdisc => qdisc.child_mut())
    }

    /// Replaces its child by `child`, which begins its work at `now`; packets of the old child are dropped as
    /// [`crate::Reason::Flushed`]. Returns `child` if the discipline takes no child.
    #[must_use = "the caller still owns a child that the discipline did not take"]
    pub fn replace_child<T: Telemetry<P>>(
        &mut self,
        now: Time,
        child: Self,
        cx: &mut Context<'_, T>,
    ) -> Option<Self> {
        each!(self, qdisc, cx => qdisc.replace_child(now, child, cx))
    }

    /// Sets the rate of its shaper; packets already queued stay. False when it has none.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        each!(self, qdisc => qdisc.set_rate(now, rate))
    }

    /// Its options as they are now, as `tc qdisc show` prints them.
    pub fn describe(&self) -> String {
        each!(self, qdisc => qdisc.describe())
    }

    /// [`Qdisc::enqueue`] of whichever it is.
    #[inline(never)]
    fn enqueue_any<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        each!(self, qdisc, cx => qdisc.enqueue(now, packet, cx));
    }

    /// [`Qdisc::dequeue`] of whichever it is, as a call: a shaper that asks its child has this code in line already.
    #[inline(never)]
    pub(crate) fn dequeue_any<T: Telemetry<P>>(
        &mut self,
        now: Time,
        cx: &mut Context<'_, T>,
    ) -> Dequeued<P> {
        each!(self, qdisc, cx => qdisc.dequeue(now, cx))
    }

    /// What `tc -s -d qdisc show` would print of it and its child.
    pub fn show(&self) -> String {
        let mut text = show(self.info(), &self.describe(), &self.stats());
        if let Some(child) = self.child() {
            text.push_str(&child.show());
        }
        text
    }
}

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl<P: Packet> Qdisc<P> for AnyQdisc<P> {
    /// Every path begins with a netem, and its part is small enough to inline.
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        match self {
            Self::Netem(netem) => netem.enqueue(now, packet, cx),
            _ => self.enqueue_any(now, packet, cx),
        }
    }

    /// A delay and a shaper are asked most often when nothing may leave yet: that is answered in line.
    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        match self {
            Self::Netem(netem) => netem.dequeue(now, cx),
            Self::Htb(htb) => htb.dequeue(now, cx),
            _ => self.dequeue_any(now, cx),
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        each!(self, qdisc => qdisc.next_timer())
    }

    #[inline]
    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        each!(self, qdisc, cx => qdisc.on_timer(now, cx));
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        each!(self, qdisc => qdisc.backlog())
    }

    fn stats(&self) -> Stats {
        each!(self, qdisc => qdisc.stats())
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        each!(self, qdisc => qdisc.gauges(now, out));
    }
}
