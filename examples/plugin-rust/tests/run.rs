//! The plugin is loaded as a user's is, and gives the bits of Sojourn's own CoDel.

use sojourn_engine::Engine;
use sojourn_language::{Experiment, MOST_RUNS};
use sojourn_plugin_host::Plugins;
use sojourn_results::{Column, Run};
use sojourn_sim::Sim;
use sojourn_vocabulary::Words;
use std::path::PathBuf;

/// Thirty seconds of two flows through a queue that is changed after ten and replaced after twenty.
const EXPERIMENT: &str = r#"
[experiment]
name = "plugin"
duration = "30s"
plugins = ["libplugin_rust.so"]
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "QDISC ecn"
[[flow]]
name = "marked"
cc = "cubic"
ecn = "rfc3168"
[[flow]]
name = "dropped"
cc = "reno"
ecn = "off"
[[event]]
name = "change"
at = "10s"
hop = "bottleneck"
change = "QDISC limit 4"
[[event]]
name = "replace"
at = "20s"
hop = "bottleneck"
replace = "QDISC ecn ce_threshold 2ms"
"#;

/// The shared library that cargo builds in the folder of this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let name =
        format!("{}plugin_rust{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    test.parent().expect("it is in a folder").join(name)
}

/// The runs of an experiment with the plugin, or what is wrong with it.
fn run(text: &str) -> Result<Vec<Run>, String> {
    let experiment = Experiment::parse("plugin.toml", text).map_err(|e| e.to_string())?;
    let mut plugins = Plugins::new();
    let load = |_: &str| plugins.load(&library()).map_err(|e| (e.message, e.help));
    experiment.plugins(load).map_err(|e| e.to_string())?;
    let (mut qdiscs, mut controls) = (Sim::new().qdiscs().clone(), Sim::new().controls().clone());
    plugins.add_qdiscs(&mut qdiscs).map_err(|e| e.to_string())?;
    plugins.add_controls(&mut controls).map_err(|e| e.to_string())?;
    let words =
        Words::new(qdiscs.clone()).with_controls(controls.clone()).with_plugins(plugins.named());
    let sim = Sim::with_registry(qdiscs).with_controls(controls);
    let plan = experiment.plan(&words, MOST_RUNS).map_err(|e| e.to_string())?;
    plan.scenarios()
        .map(|scenario| sim.run(&scenario.clone().into(), &()).map_err(|e| e.to_string()))
        .collect()
}

fn with(qdisc: &str) -> Run {
    let mut runs = run(&EXPERIMENT.replace("QDISC", qdisc)).expect("it runs");
    runs.remove(0)
}

/// The same with the plugin's control as well.
fn both_of_the_plugin() -> Run {
    let text = EXPERIMENT.replace("QDISC", "my_codel").replace("cc = \"reno\"", "cc = \"my_reno\"");
    run(&text).expect("it runs").remove(0)
}

/// Every value of every table, the plugin's name replaced by that of the built-in.
fn values(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for table in &run.tables {
        for (schema, column, _) in table.columns() {
            let cells: Vec<String> = match column {
                Column::F64(values) => {
                    values.iter().map(|v| format!("{:x}", v.to_bits())).collect()
                }
                Column::U64(values) => values.iter().map(ToString::to_string).collect(),
                Column::Text(text) => (0..text.codes().len())
                    .map(|row| text.get(row).replace("my_codel", "codel"))
                    .collect(),
            };
            lines.push(format!("{} {} {}", table.schema().name, schema.name, cells.join(" ")));
        }
    }
    lines
}

#[test]
fn it_gives_the_bits_of_the_built_in() {
    let (ours, plugin) = (with("codel"), both_of_the_plugin());
    let (ours, plugin) = (values(&ours), values(&plugin));
    assert_eq!(ours.len(), plugin.len());
    for (ours, plugin) in ours.iter().zip(&plugin) {
        // Options come in the order of their table, which is not that of tc.
        if !ours.starts_with("tc text") {
            assert!(ours == plugin, "{}", ours.split(' ').take(2).collect::<Vec<_>>().join(" "));
        }
    }
    assert!(plugin.iter().any(|line| line.contains("control_law") && line.contains("overlimit")));
}

#[test]
fn what_tc_prints_looks_as_for_a_built_in() {
    let run = with("my_codel");
    let tc = run.table("tc").expect("it is recorded");
    let texts: Vec<&str> = (0..tc.len()).map(|row| tc.text("text").get(row)).collect();
    let text = texts.concat();
    for part in [
        "qdisc my_codel limit 1000p target 5ms interval 100ms ecn\n Sent 0 bytes 0 pkt",
        "qdisc my_codel limit 1000p target 5ms interval 100ms ecn ce_threshold 2ms\n Sent ",
        "  count 0 lastcount 0 ldelay 0us\n  maxpacket 0 ecn_mark 0 drop_overlimit 0\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_wrong_word_is_shown_in_the_file_and_the_run_tells_of_its_plugin() {
    for (words, message) in [
        ("my_codel targt 5ms", "my_codel has no option \"targt\""),
        ("my_codl", "did you mean \"my_codel\"?"),
        ("my_codel interval 0ms", "\"interval\": 0ms is out of range"),
        ("my_codel target 200ms", "my_codel: \"target\" is above \"interval\""),
    ] {
        let error = run(&EXPERIMENT
            .replace("QDISC ecn\"", &format!("{words}\""))
            .replace("QDISC", "codel"));
        let error = error.expect_err("it is wrong");
        assert!(error.contains("plugin.toml:10:") && error.contains(message), "{error}");
        assert!(error.contains('^'), "{error}");
    }
    // What a plugin refuses points at the words of its discipline, and at no others.
    let refused = EXPERIMENT.replacen("QDISC ecn", "my_codel target 200ms", 1);
    let error = run(&refused.replace("QDISC", "codel")).expect_err("it is wrong");
    let carets = error.matches('^').count();
    assert_eq!(carets, "my_codel target 200ms".len(), "{error}");
    let run = with("my_codel");
    let [plugin] = &run.scenario.plugins[..] else { panic!("it has one") };
    assert!(plugin.path.ends_with("plugin_rust.so") && plugin.digest.len() == 64);
    let identity = Sim::new().identity(&run.scenario);
    assert!(identity.contains(&plugin.digest) && identity.starts_with("plugin "), "{identity}");
}

#[test]
fn what_a_change_refuses_ends_the_run_with_the_reason() {
    let text = EXPERIMENT.replace("QDISC limit 4", "my_codel target 200ms");
    let error = run(&text.replace("QDISC", "my_codel")).expect_err("it is refused");
    assert!(error.contains("\"target\" is above \"interval\""), "{error}");
}
