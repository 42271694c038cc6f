//! tc's output before and after a run agrees with the counters.

use crate::bench::{run, table, total};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::Span;

#[test]
fn set_up_and_teardown() {
    let s = Dumbbell {
        qdisc: "fq_codel limit 30".to_owned(),
        duration: Span::from_secs(3),
        ..Dumbbell::default()
    }
    .scenario();
    let run = run(&s);
    let t = table(&run, "tc");
    let text = |when: &str, subject: &str| -> Vec<String> {
        (0..t.len())
            .filter(|&i| t.text("when").get(i) == when && t.text("subject").get(i) == subject)
            .map(|i| t.text("text").get(i).to_owned())
            .collect()
    };
    for side in ["down", "up"] {
        assert!(text("setup", &format!("bottleneck.{side}.netem"))[0].starts_with("qdisc netem "));
        let queue = format!("bottleneck.{side}.qdisc");
        let [before, after] = ["setup", "teardown"].map(|when| text(when, &queue).concat());
        assert!(before.starts_with("qdisc htb "), "{before}");
        assert!(before.contains("qdisc fq_codel limit 30p flows 1024 quantum 1514 "), "{before}");
        assert!(before.contains(" Sent 0 bytes 0 pkt (dropped 0, "), "{before}");
        let (left, dropped) = (total(&run, &queue, "left"), total(&run, &queue, "dropped"));
        let line = format!(" {left} pkt (dropped {dropped}, overlimits ");
        assert_eq!(after.matches(&line).count(), 2, "shaper and discipline: {after}");
    }
    assert!(total(&run, "bottleneck.down.qdisc", "dropped") > 0.0);
}
