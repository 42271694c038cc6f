//! Kernels round the simulator's queues. Without a kernel that can have cards these are ignored, and counted as that.

use libtest_mimic::{Arguments, Trial};
use sojourn_engine::Engine as _;
use sojourn_language::{AnyWords, Experiment};
use sojourn_linux::Linux;
use sojourn_model::Scenario;
use sojourn_results::Run;
use std::sync::Arc;

/// The stack of the kernel that the tests run on.
const STACK: &str = "linux-7.3";

fn scenario(hop: &str, flows: &str, secs: u32) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"{secs}s\"\nwarmup = \"0s\"\nstack = \"{STACK}\"\n\
         [[hop]]\nname = \"bottleneck\"\n{hop}\n{flows}"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap();
    experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0)
}

fn run(scenario: &Scenario) -> Run {
    let linux = Linux::new();
    let refusals = linux.refuse(scenario);
    assert!(refusals.is_empty(), "{refusals:?}");
    linux.run(&Arc::new(scenario.clone()), &()).unwrap()
}

/// A column's values of one flow or queue from a time on.
fn column(run: &Run, table: &str, key: &str, name: &str, column: &str, from: f64) -> Vec<f64> {
    let table = run.table(table).expect("the table");
    let (names, times, values) = (table.text(key), table.f64("t_s"), table.f64(column));
    (0..table.len())
        .filter(|&i| names.get(i) == name && times[i] > from && values[i].is_finite())
        .map(|i| values[i])
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

const HOP: &str =
    "by = \"sojourn\"\nrate = \"50mbit\"\nrtt = \"10ms\"\nqdisc = \"pfifo limit 200\"\n";
const CUBIC: &str = "[[flow]]\nname = \"cubic\"\ncc = \"cubic\"\n";

fn one_flow_fills_the_link() {
    let run = run(&scenario(HOP, CUBIC, 10));
    let goodput = mean(&column(&run, "flows", "flow", "cubic", "goodput_bps", 1.0));
    let queue =
        mean(&column(&run, "queues", "queue", "bottleneck.down.qdisc", "sojourn_mean_s", 1.0));
    assert!(goodput > 47.0e6 && goodput < 48.0e6, "{goodput}");
    assert!(queue > 0.01, "{queue}");
}

fn main() {
    let arguments = Arguments::from_args();
    let there = Linux::new().kernel(STACK).is_some_and(|kernel| kernel.cards);
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
        .with_ignored_flag(!there)
    };
    let trials =
        vec![trial("one_flow_fills_the_link", one_flow_fills_the_link), trial("dump", dump)];
    libtest_mimic::run(&arguments, trials).exit();
}
#[allow(dead_code)]
fn dump() {
    let flows = "[[flow]]\nname = \"cubic\"\ncc = \"cubic\"\n[[flow]]\nname = \"reno\"\ncc = \"reno\"\n[[flow]]\nname = \"up\"\ncc = \"cubic\"\ndirection = \"up\"\nstart = \"3s\"\nbytes = \"3MB\"\n";
    for q in ["pfifo limit 200", "fq_codel", "cobalt", "dualpi2"] {
        for engine in ["sim", "within", "around"] {
            let by = match engine {
                "sim" => "",
                "within" => "by = \"kernel\"\n",
                _ => "by = \"sojourn\"\n",
            };
            let hop = format!("{by}rate = \"50mbit\"\nrtt = \"20ms\"\nqdisc = \"{q}\"\n");
            let s = scenario(&hop, flows, 20);
            let run = if engine == "sim" {
                sojourn_sim::Sim::new().run(&Arc::new(s.clone()), &()).unwrap()
            } else {
                let linux = Linux::new();
                let r = linux.refuse(&s);
                if !r.is_empty() {
                    eprintln!("{q} {engine}: {}", r[0]);
                    continue;
                }
                linux.run(&Arc::new(s.clone()), &()).unwrap()
            };
            let g = |f: &str| mean(&column(&run, "flows", "flow", f, "goodput_bps", 2.0)) / 1e6;
            let c = |f: &str, c: &str| mean(&column(&run, "flows", "flow", f, c, 2.0));
            eprintln!(
                "{q:16} {engine:7} cubic {:.3} reno {:.3} up {:.2} srtt {:.2} rtt {:.2} queue {:.4} ms",
                g("cubic"),
                g("reno"),
                g("up"),
                c("cubic", "srtt_s") * 1e3,
                c("cubic", "rtt_s") * 1e3,
                1e3 * mean(&column(
                    &run,
                    "queues",
                    "queue",
                    "bottleneck.down.qdisc",
                    "sojourn_mean_s",
                    2.0
                ))
            );
            let e = run.table("events").unwrap();
            for i in 0..e.len() {
                eprintln!(
                    "   {} {} {} {}",
                    e.f64("t_s")[i],
                    e.text("what").get(i),
                    e.text("subject").get(i),
                    e.text("detail").get(i)
                );
            }
            for t in &run.tables {
                eprint!(" {}={}", t.schema().name, t.len());
            }
            eprintln!();
        }
    }
}
