//! What a plugin costs in a whole run: 20 seconds of two flows through the discipline that is named, to be counted by a
//! profiler that counts instructions.
//!
//! `valgrind --tool=callgrind target/checked/examples/cost my_codel target/checked/libplugin_rust.so`, and once more with
//! `codel`.

use sojourn_engine::Engine;
use sojourn_plugin_host::Plugins;
use sojourn_sim::Sim;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::Span;
use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let qdisc = arguments.next().expect("the discipline's words are given");
    let mut plugins = Plugins::new();
    for path in arguments {
        plugins.load(Path::new(&path)).expect("it is a plugin");
    }
    let mut qdiscs = Sim::new().qdiscs().clone();
    plugins.add_qdiscs(&mut qdiscs).expect("the names are free");
    let ccs = vec!["cubic".to_owned(), "cubic".to_owned()];
    let duration = Span::from_secs(20);
    let scenario = Dumbbell { qdisc, ccs, duration, ..Dumbbell::default() }.scenario();
    let run = Sim::with_registry(qdiscs).run(&scenario.clone().into(), &()).expect("it runs");
    assert!(!run.tables.is_empty());
}
