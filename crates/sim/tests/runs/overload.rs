//! Every discipline under an unresponsive load: a table that people read, and that must not change unseen.

use crate::bench::{QUEUE, buckets, mean_of, quantile_of, total};
use crate::golden::{compare, markdown};
use sojourn_scenario::engine::run_many;
use sojourn_scenario::model::{Scenario, Traffic, Udp};
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Ecn, Rate, Span};
use std::sync::Mutex;

const QDISCS: [&str; 11] = [
    "pfifo limit 1000",
    "bfifo limit 1514000",
    "codel",
    "codel ecn",
    "fq_codel",
    "pie",
    "pie ecn",
    "red limit 400000 avpkt 1000 adaptive bandwidth 100mbit ecn",
    "pi2",
    "dualpi2",
    "fq",
];
const LOADS: [u64; 3] = [50, 100, 200];
const ECNS: [(Ecn, &str); 3] =
    [(Ecn::Ect0, "ECT(0)"), (Ecn::Ect1, "ECT(1)"), (Ecn::NotEct, "Not-ECT")];
const SECONDS: u64 = 5;

const COMMAND: &str =
    "UPDATE_GOLDEN=1 cargo test -p sojourn-sim --profile checked --test runs unresponsive_loads";

fn scenario(qdisc: &str, load: u64, ecn: Ecn) -> Scenario {
    let dumbbell = Dumbbell {
        rate: Rate::from_mbit(100),
        qdisc: qdisc.to_owned(),
        ccs: Vec::new(),
        duration: Span::from_secs(SECONDS),
        ping: false,
        ..Dumbbell::default()
    };
    let mut s = dumbbell.scenario();
    // A payload of 1472 bytes is a packet of 1514 to the queue; the load is of what the queue counts.
    let rate = Rate::from_bits_per_sec(load * 1_000_000 * 1472 / 1514);
    s.flows.push(dumbbell.flow("udp", Traffic::Udp(Udp { rate, payload: 1472, ecn })));
    s
}

#[test]
fn unresponsive_loads_are_as_they_were() {
    let mut cells = Vec::new();
    for qdisc in QDISCS {
        for load in LOADS {
            cells.extend(ECNS.map(|(ecn, name)| (qdisc, load, ecn, name)));
        }
    }
    let scenarios: Vec<Scenario> =
        cells.iter().map(|&(qdisc, load, ecn, _)| scenario(qdisc, load, ecn)).collect();
    let rows = Mutex::new(vec![Vec::new(); cells.len()]);
    run_many(&Sim, &scenarios, 2, &(), &|i, run| {
        let run = run.expect("the simulator runs all of these");
        let (qdisc, load, _, name) = cells[i];
        let sojourns = buckets(&run, QUEUE, "sojourn");
        let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
        let whole = |name: &str| format!("{:.0}", total(&run, QUEUE, name));
        rows.lock().expect("nobody panics with it")[i] = vec![
            qdisc.to_owned(),
            format!("{load} %"),
            name.to_owned(),
            ms(mean_of(&sojourns)),
            ms(quantile_of(&sojourns, 0.99)),
            whole("marked"),
            whole("dropped"),
        ];
    });
    let rows = rows.into_inner().expect("nobody panics with it");
    let head = ["qdisc", "load", "ECN", "delay mean ms", "delay p99 ms", "marks", "drops"];
    compare(
        "overload.md",
        &format!(
            "# Every discipline under unresponsive UDP\n\n\
             One bottleneck of 100 mbit under HTB, one UDP flow of full packets for {SECONDS} s from the start on, \
             stack {stack}, seed 1. Delay is of every packet that left the queue.\n\n\
             Written by `{COMMAND}`.\n\n{table}",
            stack = sojourn_sim::stacks::DEFAULT,
            table = markdown(&head, &rows, 3),
        ),
        COMMAND,
    );
}
