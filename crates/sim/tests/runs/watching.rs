//! Whoever watches a run hears of it and can stop it.

use sojourn_engine::{Engine, RunError, Watch};
use sojourn_model::Scenario;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::Span;
use std::sync::Mutex;

/// Notes its reports and gives up after `patience` of simulated time.
struct Watcher {
    told: Mutex<Vec<Span>>,
    patience: Span,
}

impl Watcher {
    fn new(patience: Span) -> Self {
        Self { told: Mutex::default(), patience }
    }

    fn told(&self) -> Vec<Span> {
        self.told.lock().expect("nobody panics with it").clone()
    }
}

impl Watch for Watcher {
    fn progress(&self, simulated: Span) {
        self.told.lock().expect("nobody panics with it").push(simulated);
    }

    fn cancelled(&self) -> bool {
        self.told().last().is_some_and(|&t| t >= self.patience)
    }
}

fn ten_seconds(step: Span) -> Scenario {
    let mut s = Dumbbell { duration: Span::from_secs(10), ..Dumbbell::default() }.scenario();
    s.sample_interval = step;
    s
}

/// At least each simulated second, whatever the sample interval; the last is the whole length.
#[test]
fn progress_is_reported_each_second_and_at_the_end() {
    for step in [Span::from_millis(50), Span::from_secs(4)] {
        let watcher = Watcher::new(Span::MAX);
        Sim::new().run(&ten_seconds(step).clone().into(), &watcher).expect("it runs");
        let told = watcher.told();
        assert_eq!(told.last(), Some(&Span::from_secs(10)));
        let mut before = Span::ZERO;
        for t in told {
            assert!(t >= before && t - before <= Span::from_secs(1), "{before}, then {t}");
            before = t;
        }
    }
}

#[test]
fn a_run_is_given_up_within_a_second_of_being_asked_to() {
    for step in [Span::from_millis(50), Span::from_secs(4)] {
        let watcher = Watcher::new(Span::from_secs(3));
        let end = Sim::new().run(&ten_seconds(step).clone().into(), &watcher);
        assert_eq!(end.err(), Some(RunError::Cancelled));
        assert!(*watcher.told().last().expect("it had a report") <= Span::from_secs(4));
    }
}
