//! A run with a time that stands still ends, by name.

use crate::around_codel::around_codel;
use crate::bench::QUEUE;
use sojourn_engine::{Engine as _, RunError};
use sojourn_qdisc::codel::Codel;
use sojourn_qdisc::{Context, Dequeued, Packet, Qdisc, Telemetry};
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Span, Time};

around_codel! {
    /// Always says "ask me again at once" and never lets a packet go.
    Stuck, StuckFamily, "stuck", ask_again
}

fn ask_again<P: Packet, T: Telemetry<P>>(
    codel: &mut Codel<P>,
    now: Time,
    _: &mut Context<'_, T>,
) -> Dequeued<P> {
    if codel.backlog().packets == 0 { Dequeued::Empty } else { Dequeued::Wait(now) }
}

#[test]
fn a_run_that_stands_still_is_ended_with_the_names_of_who_is_at_work() {
    let sim = Sim::new().with_qdisc::<StuckFamily>().expect("a new name");
    let mut scenario =
        Dumbbell { qdisc: "stuck".to_owned(), duration: Span::from_secs(1), ..Dumbbell::default() }
            .scenario();
    crate::bench::over_a_line(&mut scenario, sojourn_units::Rate::from_mbit(10));
    match sim.run(&scenario.clone().into(), &()) {
        Err(RunError::Failed(why)) => {
            assert!(why.contains("stands still at ") && why.contains(QUEUE), "{why}");
        }
        other => panic!("it was to stand still: {other:?}"),
    }
}
