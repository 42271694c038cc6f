//! The parts that several tests with kernels share: scenarios of one hop, numbers of a run, trials that a missing kernel ignores.

#![allow(dead_code, reason = "each file of tests uses a part")]

use libtest_mimic::Trial;
use sojourn_language::{AnyWords, Experiment};
use sojourn_model::Scenario;
use sojourn_results::Run;

/// The stack of the kernel that the tests run on.
pub(crate) const STACK: &str = "linux-7.3";
/// A hop by the simulator.
pub(crate) const HOP: &str =
    "by = \"sojourn\"\nrate = \"50mbit\"\nrtt = \"10ms\"\nqdisc = \"pfifo limit 200\"\n";
pub(crate) const CUBIC: &str = "[[flow]]\nname = \"cubic\"\ncc = \"cubic\"\n";
pub(crate) const RENO: &str = "[[flow]]\nname = \"reno\"\ncc = \"reno\"\n";

/// An experiment's scenario: the settings of its hop, and what follows them.
pub(crate) fn scenario(hop: &str, rest: &str, secs: u32) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"{secs}s\"\nwarmup = \"0s\"\nstack = \"{STACK}\"\n\
         [[hop]]\nname = \"bottleneck\"\n{hop}\n{rest}"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap();
    experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0)
}

/// A column's values of one flow or queue from a time on.
pub(crate) fn column(
    run: &Run,
    table: &str,
    key: &str,
    name: &str,
    column: &str,
    from: f64,
) -> Vec<f64> {
    let table = run.table(table).expect("the table");
    let (names, times, values) = (table.text(key), table.f64("t_s"), table.f64(column));
    (0..table.len())
        .filter(|&i| names.get(i) == name && times[i] > from && values[i].is_finite())
        .map(|i| values[i])
        .collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A flow's mean goodput from 5 s on.
pub(crate) fn goodput(run: &Run, flow: &str) -> f64 {
    mean(&column(run, "flows", "flow", flow, "goodput_bps", 5.0))
}

/// A total of a flow, a queue or an element.
pub(crate) fn total(run: &Run, subject: &str, name: &str) -> f64 {
    let table = run.table("totals").expect("the table");
    let is_it =
        |&i: &usize| table.text("subject").get(i) == subject && table.text("name").get(i) == name;
    let row = (0..table.len()).find(is_it).unwrap_or_else(|| panic!("no {name} of {subject}"));
    table.f64("value")[row]
}

/// Every table, bit by bit.
pub(crate) fn bits(run: &Run) -> Vec<(&'static str, String)> {
    run.tables.iter().map(|table| (table.schema().name, table.digest())).collect()
}

/// The tests as trials, which are ignored if what they need is not there.
pub(crate) fn trials(
    tests: impl IntoIterator<Item = (&'static str, fn())>,
    there: bool,
) -> Vec<Trial> {
    let trial = |(name, test): (&'static str, fn())| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(!there)
    };
    tests.into_iter().map(trial).collect()
}
