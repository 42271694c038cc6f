//! Disciplines that shape themselves and mark SCE, in whole runs.

use crate::bench::{QUEUE, queue_mut, run, table, total};
use sojourn_scenario::model::{Scenario, Shaper, Side};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Rate, Span};

/// The dumbbell with `qdisc` at the root both ways.
fn root(qdisc: &str, ccs: &[&str], seconds: u64) -> Scenario {
    let mut s = Dumbbell {
        ccs: ccs.iter().map(|&cc| cc.to_owned()).collect(),
        duration: Span::from_secs(seconds),
        ..Dumbbell::default()
    }
    .scenario();
    for side in [Side::Down, Side::Up] {
        let queue = queue_mut(&mut s, side);
        queue.shaper = Shaper::Own { rate: Some(Rate::from_mbit(50)) };
        qdisc.clone_into(&mut queue.qdisc);
    }
    s
}

/// A sender that knows nothing of SCE takes ECT(1) for ECT: it fills the link and is held by CE; the recorder has
/// every SCE mark, by its reason.
#[test]
fn sce_marks_are_in_the_books() {
    for (qdisc, why) in [
        ("twin_codel_af bandwidth 50mbit sce-thresh 4", "control_law"),
        ("lfq_cobalt bandwidth 50mbit sce-thresh 8", "control_law"),
        ("cake bandwidth 50mbit besteffort sce-thresh 8", "ramp"),
    ] {
        let run = run(&root(qdisc, &["cubic"], 15));
        let of = |name| total(&run, QUEUE, name);
        assert!(of("sce_marked") > 0.0 && of("marked") > 0.0, "{qdisc}");
        assert_eq!((of("false_marks"), of("dropped")), (0.0, 0.0), "{qdisc}");
        let signals = table(&run, "queue_signals");
        let (queues, kinds) = (signals.text("queue"), signals.text("kind"));
        let whys = signals.text("why");
        let told: Vec<&str> = (0..signals.len())
            .filter(|&i| queues.get(i) == QUEUE && kinds.get(i) == "sce")
            .map(|i| whys.get(i))
            .collect();
        assert!(!told.is_empty() && told.iter().all(|w| *w == why), "{qdisc}: {told:?}");
    }
}

/// L4ST-6 at equal RTTs: approximate fairness makes two flows equal in one FIFO. Jain's index of what each delivered.
#[test]
fn approximate_fairness_is_fair() {
    let run = run(&root("cnq_codel_af bandwidth 50mbit", &["cubic", "cubic"], 60));
    let flow = |name| total(&run, name, "packets_arrived");
    let (a, b) = (flow("cubic-1"), flow("cubic-2"));
    let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
    assert!(jain > 0.95, "{a} {b}");
    let sent = total(&run, QUEUE, "left");
    assert!(sent * 1514.0 * 8.0 > 0.9 * 50e6 * 60.0, "{sent}");
    assert_eq!(total(&run, QUEUE, "sce_marked"), 0.0, "SCE is off by default");
}
