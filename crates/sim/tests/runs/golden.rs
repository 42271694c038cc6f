//! A grid of runs as a table that people read. The simulator is deterministic, so any difference is a change of
//! behaviour, and a change of behaviour is a difference in the diff.

use crate::bench::{QUEUE, buckets, digests, mean_between, mean_of, quantile_of, series, total};
use sojourn_engine::run_many;
use sojourn_model::{At, Scenario, Start};
use sojourn_results::Run;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::Span;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

const QDISCS: [&str; 5] =
    ["pfifo limit 1000", "codel ecn", "fq_codel", "fq_codel flows 1", "pie ecn"];
const CCS: [&str; 3] = ["cubic", "reno", "cubic+reno"];
const RTTS: [u64; 2] = [20, 80];
/// Seconds before the origin, which rates and distributions leave out.
const WARMUP: u64 = 5;
const DURATION: u64 = 25;

const COMMAND: &str =
    "UPDATE_GOLDEN=1 cargo test -p sojourn-sim --profile checked --test runs golden";

/// A cell of the grid.
struct Cell {
    rtt: u64,
    qdisc: &'static str,
    cc: &'static str,
}

impl Cell {
    fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for rtt in RTTS {
            for qdisc in QDISCS {
                cells.extend(CCS.map(|cc| Self { rtt, qdisc, cc }));
            }
        }
        cells
    }

    fn scenario(&self) -> Scenario {
        let mut s = Dumbbell {
            qdisc: self.qdisc.to_owned(),
            rtt: Span::from_millis(self.rtt),
            ccs: self.cc.split('+').map(str::to_owned).collect(),
            duration: Span::from_secs(DURATION),
            ..Dumbbell::default()
        }
        .scenario();
        s.warmup = Span::from_secs(WARMUP);
        for flow in &mut s.flows {
            flow.start = Start::At(At::from_secs(-(WARMUP as i64)));
        }
        s
    }

    /// The labels in front of every row.
    fn labels(&self) -> [String; 3] {
        [format!("{} ms", self.rtt), self.qdisc.to_owned(), self.cc.to_owned()]
    }
}

/// A table in Markdown with aligned columns; those from `numbers` on to the right.
pub(crate) fn markdown(head: &[&str], rows: &[Vec<String>], numbers: usize) -> String {
    let width =
        |i: usize| rows.iter().map(|r| r[i].len()).chain([head[i].len()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut text = String::new();
        for (i, (cell, w)) in cells.iter().zip(&widths).enumerate() {
            let _ = if i < numbers {
                write!(text, "| {cell:<w$} ")
            } else {
                write!(text, "| {cell:>w$} ")
            };
        }
        text + "|\n"
    };
    let head: Vec<String> = head.iter().map(|&h| h.to_owned()).collect();
    let rule: String = widths
        .iter()
        .enumerate()
        .map(|(i, w)| {
            if i < numbers {
                format!("|{}", "-".repeat(w + 2))
            } else {
                format!("|{}:", "-".repeat(w + 1))
            }
        })
        .collect();
    let mut text = line(&head) + &rule + "|\n";
    for row in rows {
        text += &line(row);
    }
    text
}

fn ms(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}

fn whole(count: f64) -> String {
    format!("{count:.0}")
}

fn flow_rows(cell: &Cell, run: &Run) -> Vec<Vec<String>> {
    let flows: Vec<&str> = run
        .scenario
        .flows
        .iter()
        .filter(|f| f.traffic.tcp().is_some())
        .map(|f| f.name.as_str())
        .collect();
    let goodput =
        |flow: &str| mean_between(&series(run, "flows", "goodput_bps", flow), 0.0, DURATION as f64);
    let sum: f64 = flows.iter().map(|flow| goodput(flow)).sum();
    flows
        .iter()
        .map(|flow| {
            let rtts = buckets(run, flow, "rtt");
            let mut row = Vec::from(cell.labels());
            row.extend([
                (*flow).to_owned(),
                format!("{:.2}", goodput(flow) / 1e6),
                format!("{:.1}", goodput(flow) / sum * 100.0),
                ms(mean_of(&rtts)),
                ms(quantile_of(&rtts, 0.99)),
                whole(total(run, flow, "retransmits")),
                whole(total(run, flow, "ce_packets")),
            ]);
            row
        })
        .collect()
}

fn queue_row(cell: &Cell, run: &Run) -> Vec<String> {
    let sojourns = buckets(run, QUEUE, "sojourn");
    let pings = series(run, "pings", "rtt_s", "ping");
    let base = cell.rtt as f64 / 1e3;
    let answered: Vec<(f64, f64)> =
        pings.into_iter().filter(|row| !row.1.is_nan()).map(|(t, rtt)| (t, rtt - base)).collect();
    let mut row = Vec::from(cell.labels());
    row.extend([
        ms(mean_of(&sojourns)),
        ms(quantile_of(&sojourns, 0.5)),
        ms(quantile_of(&sojourns, 0.99)),
        ms(mean_between(&answered, 0.0, DURATION as f64)),
        whole(total(run, QUEUE, "marked")),
        whole(total(run, QUEUE, "dropped")),
    ]);
    row
}

/// The table, and a line of digests for each cell.
fn grid() -> (String, String) {
    let cells = Cell::all();
    let scenarios: Vec<Scenario> = cells.iter().map(Cell::scenario).collect();
    scenarios_of("grid", &scenarios);
    let rows = Mutex::new(vec![None; cells.len()]);
    run_many(&Sim::new(), &scenarios, 2, &(), &|i, run| {
        let run = run.expect("the simulator runs all of these");
        let line = format!("{} |{}\n", cells[i].labels().join(", "), digests(&run));
        let of_run = ((flow_rows(&cells[i], &run), queue_row(&cells[i], &run)), line);
        rows.lock().expect("nobody panics with it")[i] = Some(of_run);
    });
    let rows = rows.into_inner().expect("nobody panics with it");
    let (tables, lines): (Vec<_>, Vec<String>) = rows.into_iter().flatten().unzip();
    let (flows, queues): (Vec<_>, Vec<_>) = tables.into_iter().unzip();
    let flow_head = [
        "base RTT",
        "qdisc",
        "cc",
        "flow",
        "Mbit/s",
        "share %",
        "RTT mean ms",
        "RTT p99 ms",
        "retransmits",
        "CE",
    ];
    let queue_head = [
        "base RTT",
        "qdisc",
        "cc",
        "delay mean ms",
        "delay p50 ms",
        "delay p99 ms",
        "ping mean ms",
        "marks",
        "drops",
    ];
    let text = format!(
        "# qdisc × congestion control × RTT\n\n\
         One bottleneck of 50 mbit under HTB, ECN on, stack {stack}, seed 1, {all} s. Rates, RTTs and delays \
         leave the first {WARMUP} s out; counts are of the whole run. Goodput is payload that came \
         in order: a full link is 47.82, a hair more where a gap was open before. \
         RTT is of every sample that TCP took, delay of every packet that left the queue, ping what a probe \
         found above the base RTT.\n\n\
         Written by `{COMMAND}`.\n\n\
         ## Flows\n\n{}\n## The queue\n\n{}",
        markdown(&flow_head, &flows.concat(), 4),
        markdown(&queue_head, &queues, 3),
        stack = sojourn_stacks::DEFAULT,
        all = WARMUP + DURATION,
    );
    (text, lines.concat())
}

/// Compares with a table in `tests/golden`; with `UPDATE_GOLDEN` it is written again.
pub(crate) fn compare(file: &str, now: &str, command: &str) {
    let folder = [env!("CARGO_MANIFEST_DIR"), "../../tests/golden", file];
    let path: PathBuf = folder.iter().collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, now).expect("the folder of golden tables is there");
        return;
    }
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    if was == now {
        return;
    }
    let mut text = String::new();
    for (was, now) in was.lines().zip(now.lines()).filter(|(a, b)| a != b) {
        let _ = write!(text, "- {was}\n+ {now}\n");
    }
    panic!(
        "tests/golden/{file} is not what the simulator gives now:\n{text}\n\
         If this was meant, write it again and look at its diff:\n  {command}"
    );
}

/// Writes what `NAME.digests.txt` is of, a line each as there, into the folder `GOLDEN_SCENARIOS` if it is set: for whoever
/// asks another build for the same bits.
pub(crate) fn scenarios_of(name: &str, scenarios: &[Scenario]) {
    let Some(folder) = std::env::var_os("GOLDEN_SCENARIOS") else { return };
    let line = |own| serde_json::to_string(own).expect("a scenario can be written") + "\n";
    let text: String = scenarios.iter().map(line).collect();
    let path = PathBuf::from(folder).join(format!("{name}.jsonl"));
    std::fs::write(path, text).expect("the folder is there");
}

#[test]
fn the_grid_is_as_it_was() {
    let (table, digests) = grid();
    compare("grid.md", &table, COMMAND);
    compare("grid.digests.txt", &digests, COMMAND);
}
