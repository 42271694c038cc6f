//! Whichever discipline tc's words ask for: an enum, so that a packet's way through a queue is a jump and not
//! a call through a table of pointers.
//!
//! To add a discipline: one file with its table and its type, and one line in `disciplines!` below.

use crate::configured::Configured;
use crate::show::show;
use crate::words::{TcError, Words, nearest};
use crate::{
    Backlog, Context, Dequeued, Discipline, Htb, Packet, Profile, Qdisc, Stats, Telemetry,
};
use sojourn_units::{Random, Rate, Time};

macro_rules! disciplines {
    ($($variant:ident($type:ty) $info:path;)*) => {
        /// A discipline of any kind.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each variant is the discipline of its name")]
        pub enum Any<P> { $(
            $variant($type),
        )* }

        /// Does the same with whichever discipline it is.
        macro_rules! each {
            ($any:expr, $qdisc:ident => $what:expr) => {
                match $any { $(Any::$variant($qdisc) => $what,)* }
            };
        }

        /// Every discipline there is, in alphabetical order.
        pub const fn disciplines() -> &'static [&'static Discipline] {
            &[$(&$info,)*]
        }

        impl<P: Packet> Any<P> {
            /// The discipline called `name` from the words behind it; `None` if there is no such.
            fn named(
                name: &str,
                words: &mut Words<'_>,
                profile: &Profile,
                random: &mut Random,
            ) -> Option<Result<Self, TcError>> {
                $(if name == $info.name {
                    return Some(Configured::build(words, profile, random).map(Self::$variant));
                })*
                None
            }

            /// Its table.
            pub const fn info(&self) -> &'static Discipline {
                match self { $(Self::$variant(_) => &$info,)* }
            }
        }
    };
}

disciplines! {
    Bfifo(crate::fifo::Bfifo<P>) crate::fifo::BFIFO;
    Cake(crate::cake::Cake<P>) crate::cake::INFO;
    CnqCodelAf(crate::codel_af::CnqCodelAf<P>) crate::codel_af::CNQ;
    Cobalt(crate::cobalt::Cobalt<P>) crate::cobalt::INFO;
    Codel(crate::codel::Codel<P>) crate::codel::INFO;
    DualPi2(crate::dualpi2::DualPi2<P>) crate::dualpi2::INFO;
    Fq(crate::fq::Fq<P>) crate::fq::INFO;
    FqCodel(crate::fq_codel::FqCodel<P>) crate::fq_codel::INFO;
    Htb(Htb<P>) crate::htb::INFO;
    LfqCobalt(crate::lfq_cobalt::LfqCobalt<P>) crate::lfq_cobalt::INFO;
    Netem(crate::Netem<P>) crate::netem::INFO;
    Pfifo(crate::fifo::Pfifo<P>) crate::fifo::PFIFO;
    Pi2(crate::pi2::Pi2<P>) crate::pi2::INFO;
    Pie(crate::pie::Pie<P>) crate::pie::INFO;
    Red(crate::red::Red<P>) crate::red::INFO;
    Tbf(crate::tbf::Tbf<P>) crate::tbf::INFO;
    TwinCodelAf(crate::codel_af::TwinCodelAf<P>) crate::codel_af::TWIN;
}

impl<P: Packet> Any<P> {
    /// The discipline that `words` describe, as the kernel of `profile` has it: `fq_codel flows 1 target 1ms`,
    /// `htb rate 50mbit pie ecn`. Keys are drawn from `random`. It begins its work at time zero; one that is
    /// built later goes in by [`Any::replace`] or is told by [`Any::start`].
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn build(words: &str, profile: &Profile, random: &mut Random) -> Result<Self, TcError> {
        let mut words = Words::new(words);
        let any = Self::read(&mut words, profile, random)?;
        debug_assert!(words.peek().is_none(), "a discipline reads its words to the end");
        Ok(any)
    }

    /// `child` under an htb class of `rate`: the bottleneck of the published test beds.
    pub fn shaped(rate: Rate, child: Self) -> Self {
        Self::Htb(Htb::over(rate, child))
    }

    /// From the cursor: the discipline's name, its options, its child.
    pub(crate) fn read(
        words: &mut Words<'_>,
        profile: &Profile,
        random: &mut Random,
    ) -> Result<Self, TcError> {
        let Some(name) = words.take() else {
            let end = words.text().len();
            let help = format!("write one of {}", names());
            return Err(words.error(
                end..end,
                "no queue discipline is named".to_owned(),
                Some(help),
            ));
        };
        if !words.descend() {
            let message = "disciplines are nested too deeply".to_owned();
            return Err(words.error(name.at, message, None));
        }
        Self::named(name.text, words, profile, random).unwrap_or_else(|| {
            let help = match nearest(name.text, disciplines().iter().map(|d| d.name)) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("there are {}", names()),
            };
            let message = format!("unknown queue discipline \"{}\"", name.text);
            Err(words.error(name.at, message, Some(help)))
        })
    }

    /// `tc qdisc change`: the same discipline with other options; those not written stay as they are or go back
    /// to the default, as tc has it for each. Queue and state are kept; packets above a lowered limit may be
    /// dropped.
    ///
    /// # Errors
    /// Whatever is wrong with the words, another discipline's name among it; nothing has changed then.
    pub fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &str,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.change_from(now, &mut Words::new(words), cx)
    }

    pub(crate) fn change_from<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut Words<'_>,
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
        each!(self, qdisc => qdisc.change(now, words, cx))
    }

    /// `tc qdisc replace`: `with` takes the place of this one and begins its work at `now`; packets that are
    /// held are dropped as [`crate::Why::Flushed`]. Returns what was replaced, empty, with its statistics.
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

    /// Drops everything that is held, as [`crate::Why::Flushed`].
    pub fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        each!(self, qdisc => qdisc.flush(now, cx));
    }

    /// The kernel that it behaves as.
    pub fn profile(&self) -> &Profile {
        each!(self, qdisc => qdisc.profile())
    }

    /// The discipline that it hands packets to, if it is a shaper.
    pub fn child(&self) -> Option<&Self> {
        each!(self, qdisc => Configured::child(qdisc))
    }

    /// As [`Any::child`], to be changed or replaced.
    pub fn child_mut(&mut self) -> Option<&mut Self> {
        each!(self, qdisc => Configured::child_mut(qdisc))
    }

    /// Its options as they are now, as `tc qdisc show` prints them.
    pub fn describe(&self) -> String {
        each!(self, qdisc => qdisc.describe())
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

fn names() -> String {
    disciplines().iter().map(|d| d.name).collect::<Vec<_>>().join(", ")
}

impl<P: Packet> Qdisc<P> for Any<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        each!(self, qdisc => qdisc.enqueue(now, packet, cx));
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        each!(self, qdisc => qdisc.dequeue(now, cx))
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        each!(self, qdisc => qdisc.next_timer())
    }

    #[inline]
    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        each!(self, qdisc => qdisc.on_timer(now, cx));
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
