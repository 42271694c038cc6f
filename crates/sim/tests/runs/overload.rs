//! Every discipline under an unresponsive load: a table that people read, and that must not change unseen.

use crate::bench::{QUEUE, buckets, digests, mean_of, quantile_of, queue_mut, total};
use crate::golden::{compare, markdown, scenarios_of};
use sojourn_engine::run_many;
use sojourn_model::{Scenario, Shaper, Side, Traffic, Udp};
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Ecn, Rate, Span};
use std::sync::Mutex;

/// What shapes to 100 Mbit/s.
#[derive(Clone, Copy)]
enum By {
    /// An htb class above the discipline.
    Htb,
    /// The discipline.
    Itself,
}

/// Every discipline that can be a bottleneck's, htb (which is above most of them) and netem aside.
const QDISCS: [(&str, By); 22] = [
    ("pfifo limit 1000", By::Htb),
    ("bfifo limit 1514000", By::Htb),
    ("tbf rate 100mbit burst 5000 limit 1514000", By::Itself),
    ("codel", By::Htb),
    ("codel ecn", By::Htb),
    ("fq_codel", By::Htb),
    ("fq_codel flows 1", By::Htb),
    ("cobalt", By::Htb),
    ("pie", By::Htb),
    ("pie ecn", By::Htb),
    ("red limit 400000 avpkt 1000 adaptive bandwidth 100mbit ecn", By::Htb),
    ("pi2", By::Htb),
    ("dualpi2", By::Htb),
    ("dualpi2 overflow", By::Htb),
    ("fq", By::Htb),
    ("cake bandwidth 100mbit", By::Itself),
    ("cake bandwidth 100mbit sce", By::Itself),
    ("cnq_codel_af bandwidth 100mbit", By::Itself),
    ("cnq_codel_af bandwidth 100mbit sce-thresh 4", By::Itself),
    ("twin_codel_af bandwidth 100mbit", By::Itself),
    ("lfq_cobalt bandwidth 100mbit", By::Itself),
    ("lfq_cobalt bandwidth 100mbit sce-thresh 8", By::Itself),
];
const LOADS: [u64; 3] = [50, 100, 200];
const ECNS: [(Ecn, &str); 3] =
    [(Ecn::Ect0, "ECT(0)"), (Ecn::Ect1, "ECT(1)"), (Ecn::NotEct, "Not-ECT")];
const SECONDS: u64 = 5;

const COMMAND: &str =
    "UPDATE_GOLDEN=1 cargo test -p sojourn-sim --profile checked --test runs unresponsive_loads";

fn scenario((qdisc, by): (&str, By), load: u64, ecn: Ecn) -> Scenario {
    let dumbbell = Dumbbell {
        rate: Rate::from_mbit(100),
        qdisc: qdisc.to_owned(),
        ccs: Vec::new(),
        duration: Span::from_secs(SECONDS),
        ping: false,
        ..Dumbbell::default()
    };
    let mut s = dumbbell.scenario();
    if matches!(by, By::Itself) {
        queue_mut(&mut s, Side::Down).shaper = Shaper::Own { rate: Some(Rate::from_mbit(100)) };
    }
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
    scenarios_of("overload", &scenarios);
    let rows = Mutex::new(vec![(Vec::new(), String::new()); cells.len()]);
    run_many(&Sim::new(), &scenarios, 2, &(), &|i, run| {
        let run = run.expect("the simulator runs all of these");
        let ((qdisc, _), load, _, name) = cells[i];
        let sojourns = buckets(&run, QUEUE, "sojourn");
        let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
        let whole = |name: &str| format!("{:.0}", total(&run, QUEUE, name));
        let row = vec![
            qdisc.to_owned(),
            format!("{load} %"),
            name.to_owned(),
            ms(mean_of(&sojourns)),
            ms(quantile_of(&sojourns, 0.99)),
            whole("marked"),
            whole("sce_marked"),
            whole("dropped"),
        ];
        let line = format!("{qdisc}, {load} %, {name} |{}\n", digests(&run));
        rows.lock().expect("nobody panics with it")[i] = (row, line);
    });
    let rows = rows.into_inner().expect("nobody panics with it");
    let (rows, lines): (Vec<_>, Vec<String>) = rows.into_iter().unzip();
    compare("overload.digests.txt", &lines.concat(), COMMAND);
    let head = ["qdisc", "load", "ECN", "delay mean ms", "delay p99 ms", "marks", "SCE", "drops"];
    compare(
        "overload.md",
        &format!(
            "# Every discipline under unresponsive UDP\n\n\
             One bottleneck of 100 mbit, under HTB where the discipline has no shaper of its own, one UDP flow of full packets for {SECONDS} s from the start on, \
             stack {stack}, seed 1. Delay is of every packet that left the queue.\n\n\
             What to expect of 200 %, 8257 packets a second too many: a FIFO stays at its limit; CoDel's law alone is \
             far too slow (a count of n after 0.2 √n s), so that `codel` is a FIFO; `fq_codel` drops from \
             the head, so that packets that leave have waited its limit over the arrival rate, 620 ms; RED marks all ECT at or above max and stays at its limit, and drops Not-ECT at \
             max; PIE and (Dual)PI2 find their probability (a half; p' = 71 %) after an overshoot, and drop ECT too \
             above 10 % and 25 %; with `overflow` p' stops at a half, and the limit has to act; BLUE (COBALT) needs \
             128 steps of 1/256, one each 5 ms while the buffer is full or the sojourn time above 400 ms, and as it \
             does not come down before the queue is empty, how long that takes is luck.\n\n\
             Written by `{COMMAND}`.\n\n{table}",
            stack = sojourn_stacks::DEFAULT,
            table = markdown(&head, &rows, 3),
        ),
        COMMAND,
    );
}
