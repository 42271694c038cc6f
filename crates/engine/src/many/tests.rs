use super::*;
use crate::{Capabilities, Clock, Facts};
use sojourn_model::example::scenario;
use sojourn_model::{ElementKind, HOST_STACK, RuleKind, TrafficKind};
use sojourn_results::{EngineId, Provenance, Rows, rows};
use sojourn_units::Random;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Draws from the run's stream; refuses seed 3, panics at seed 5 and has a fault at seed 7.
struct Dice;

impl Engine for Dice {
    fn name(&self) -> &'static str {
        "dice"
    }
    fn version(&self) -> &'static str {
        "1"
    }
    fn facts(&self) -> Facts {
        Facts::new("the dice", Clock::Simulated, 1)
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let refusal = || Unsupported {
            what: Feature::Limit("three".into()),
            place: Place::Experiment,
            why: "no".into(),
            help: "four".into(),
        };
        if scenario.seed == 3 { vec![refusal()] } else { vec![] }
    }
    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError> {
        assert!(scenario.seed != 5, "five");
        if scenario.seed == 7 {
            Fault { why: "seven".into(), help: "eight".into() }.raise();
        }
        watch.progress(scenario.length());
        let mut random = Random::named(scenario.seed, "dice");
        let mut pings = Rows::<rows::Pings>::new(Provenance::Exact);
        for _ in 0..100 {
            pings.push(rows::Ping {
                t_s: random.unit(),
                flow: "ping".into(),
                rtt_s: random.unit(),
                sequence: 0,
                owd_s: 0.0,
                owd_back_s: 0.0,
                lost: "".into(),
            });
        }
        let engine = EngineId {
            name: self.name().into(),
            version: self.version().into(),
            detail: String::new(),
        };
        Ok(Run {
            scenario: Arc::clone(scenario),
            engine,
            tables: vec![pings.into_table()],
            unrecorded: vec![],
        })
    }
}

fn scenarios() -> Vec<Arc<Scenario>> {
    (0..12).map(|seed| Arc::new(Scenario { seed, ..scenario() })).collect()
}

fn all(threads: usize) -> Vec<Result<Run, RunError>> {
    let done = Mutex::new(vec![None; 12]);
    run_many(&Dice, &scenarios(), threads, &(), &|i, result| {
        let before = done.lock().unwrap()[i].replace(result);
        assert!(before.is_none(), "run {i} was done twice");
    });
    done.into_inner().unwrap().into_iter().map(Option::unwrap).collect()
}

#[test]
fn results_do_not_depend_on_the_threads() {
    let one = all(1);
    assert_eq!(one, all(2));
    assert_eq!(one, all(7));
    assert!(one[0].is_ok());
    assert_ne!(one[0].as_ref().unwrap().tables, one[1].as_ref().unwrap().tables);
}

#[test]
fn one_runs_trouble_is_its_own() {
    let results = all(3);
    assert_eq!(results[3].as_ref().unwrap_err().to_string(), "experiment: three: no (four)");
    assert_eq!(results[5].as_ref().unwrap_err(), &RunError::Panicked("five".into()),);
    let fault = RunError::Environment { why: "seven".into(), help: "eight".into() };
    assert_eq!(results[7], Err(fault));
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 9);
}

#[test]
fn a_cancelled_set_of_runs_begins_nothing_more() {
    struct Stop(AtomicBool);
    impl WatchMany for Stop {
        fn progress(&self, run: usize, _simulated: Span) {
            if run == 2 {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        fn cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }
    let cancelled = AtomicUsize::new(0);
    run_many(&Dice, &scenarios(), 1, &Stop(AtomicBool::new(false)), &|_, result| {
        if result == Err(RunError::Cancelled) {
            cancelled.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(cancelled.into_inner(), 9);
}

#[test]
fn what_an_engine_lacks_is_named_with_its_place() {
    use ElementKind::{Encapsulate, Netem, Queue, Rewrite};
    let mut able: Capabilities =
        [Netem, Queue, Rewrite, Encapsulate].map(Feature::Element).into_iter().collect();
    able.extend([
        Feature::Rewrite(RuleKind::CeToEct),
        Feature::Stack("linux-7.3".into()),
        Feature::Qdisc("fq_codel".into()),
        Feature::Traffic(TrafficKind::Tcp),
    ]);
    let refusals: Vec<String> = able.refuse(&scenario()).iter().map(ToString::to_string).collect();
    assert_eq!(
        refusals,
        [
            "first.down.wg: tunnel fou: this engine does not have it",
            "second.down.wg: tunnel fou: this engine does not have it",
            "flow a: congestion control cubic: this engine does not have it",
            "flow b: traffic video: this engine does not have it",
            "event step: events by another event: this engine does not have it",
            "event step: qdisc pie: this engine does not have it",
        ]
    );
}

/// An engine without this machine's kernel says which has it, once for the experiment and once for a flow that differs.
#[test]
fn the_host_s_kernel_is_refused_with_the_engine_that_has_it() {
    let mut scenario = scenario();
    let able = Capabilities::from_iter([Feature::Stack(scenario.stack.clone())]);
    let of_stacks = |scenario: &Scenario| -> Vec<String> {
        let refusals = able.refuse(scenario).into_iter();
        refusals.filter(|u| matches!(u.what, Feature::Stack(_))).map(|u| u.to_string()).collect()
    };
    assert_eq!(of_stacks(&scenario), [""; 0]);
    let why = "stack host: its hosts are not this machine's kernel (the live engine has them: --engine live; or name a stack of \
               sojourn stacks)";
    scenario.flows[0].stack = HOST_STACK.to_owned();
    assert_eq!(of_stacks(&scenario), [format!("flow a: {why}")]);
    scenario.stack = HOST_STACK.to_owned();
    for hop in &mut scenario.hops {
        hop.stack = HOST_STACK.to_owned();
    }
    assert_eq!(of_stacks(&scenario), [format!("experiment: {why}")]);
}

/// Notes how many of its runs are under way at the same time; its clock is the machine's.
#[derive(Default)]
struct Alone {
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Engine for Alone {
    fn name(&self) -> &'static str {
        "alone"
    }
    fn version(&self) -> &'static str {
        "1"
    }
    fn facts(&self) -> Facts {
        Facts::new("alone", Clock::Wall, 1)
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    fn refuse(&self, _scenario: &Scenario) -> Vec<Unsupported> {
        vec![]
    }
    fn run(&self, _scenario: &Arc<Scenario>, _watch: &dyn Watch) -> Result<Run, RunError> {
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        std::thread::yield_now();
        self.running.fetch_sub(1, Ordering::SeqCst);
        Err(RunError::Cancelled)
    }
}

#[test]
fn runs_on_a_wall_clock_never_overlap() {
    let engine = Alone::default();
    let scenarios: Vec<Scenario> = (0..200).map(|seed| Scenario { seed, ..scenario() }).collect();
    run_many(&engine, &scenarios, 8, &(), &|_, _| {});
    assert_eq!(engine.most.load(Ordering::SeqCst), 1);
}
