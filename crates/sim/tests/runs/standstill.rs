//! A run whose time does not go on is ended, by name.

use crate::bench::QUEUE;
use sojourn_engine::{Engine as _, RunError};
use sojourn_qdisc::codel::{self, Codel};
use sojourn_qdisc::{
    Backlog, BuildContext, Context, Dequeued, Discipline, Family, OwnedPacket, Packet, Qdisc,
    QdiscQuirks, Stats, TcConfigurable, TcError, TcTokens, Telemetry,
};
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Span, Time};

/// A discipline that always says "ask me again at once" and never lets a packet go.
#[derive(Clone, Debug)]
struct Stuck<P>(Codel<P>);

struct StuckFamily;

impl Family for StuckFamily {
    type Of<P: OwnedPacket> = Stuck<P>;
}

impl<P: Packet> Qdisc<P> for Stuck<P> {
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        self.0.enqueue(now, packet, cx);
    }
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, _: &mut Context<'_, T>) -> Dequeued<P> {
        if self.0.backlog().packets == 0 { Dequeued::Empty } else { Dequeued::Wait(now) }
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn stats(&self) -> Stats {
        self.0.stats()
    }
    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.gauges(now, out);
    }
}

impl<P: Packet> TcConfigurable<P> for Stuck<P> {
    const INFO: &'static Discipline = &Discipline { name: "stuck", ..codel::INFO };

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        Codel::build(words, cx).map(Self)
    }
    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.0.change(now, words, cx)
    }
    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.0.flush(now, cx);
    }
    fn quirks(&self) -> &QdiscQuirks {
        self.0.quirks()
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

#[test]
fn a_run_that_stands_still_is_ended_with_the_names_of_who_is_at_work() {
    let sim = Sim::new().with_qdisc::<StuckFamily>().expect("a new name");
    let mut scenario =
        Dumbbell { qdisc: "stuck".to_owned(), duration: Span::from_secs(1), ..Dumbbell::default() }
            .scenario();
    crate::bench::over_a_line(&mut scenario, sojourn_units::Rate::from_mbit(10));
    match sim.run(&scenario, &()) {
        Err(RunError::Failed(why)) => {
            assert!(why.contains("stands still at ") && why.contains(QUEUE), "{why}");
        }
        other => panic!("it was to stand still: {other:?}"),
    }
}
