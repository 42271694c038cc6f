//! Congestion controls that are added from outside.

use sojourn_engine::Engine;
use sojourn_model::Traffic;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_transport::cc::{
    AnyCongestionControl, CongestionControl, Control, Info, MIN_CWND, Reno, View,
};
use sojourn_units::Span;

/// Reno, written again.
#[derive(Clone, Debug)]
struct Copied;

impl CongestionControl for Copied {
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd / 2).max(MIN_CWND)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !control.is_cwnd_limited(view) {
            return;
        }
        let left = if control.in_slow_start() { control.slow_start(acked) } else { acked };
        if left > 0 {
            control.additive_increase(control.cwnd, left);
        }
    }
}

fn with_copied() -> Sim {
    let info = Info { name: "copied", ..Reno::INFO };
    Sim::new()
        .with_control(info, |_| AnyCongestionControl::custom(Copied))
        .expect("the name is free")
}

/// Two flows, one of them CUBIC, for five seconds: windows, retransmissions and deliveries at each step.
fn rows(cc: &str) -> Vec<u64> {
    let ccs = vec!["reno".to_owned(), "cubic".to_owned()];
    let dumbbell = Dumbbell { ccs, duration: Span::from_secs(5), ..Dumbbell::default() };
    let mut scenario = dumbbell.scenario();
    // The flow keeps its name, after which its random streams are named.
    if let Traffic::Tcp(tcp) = &mut scenario.flows[0].traffic {
        cc.clone_into(&mut tcp.cc);
    }
    let run = with_copied().run(&scenario.clone().into(), &()).expect("it runs");
    let flows = run.table("flows").expect("it is recorded");
    [flows.u64("cwnd"), flows.u64("retransmits"), flows.u64("delivered")].concat()
}

/// The copy behaves as the built-in does; another control does not.
#[test]
fn a_control_from_outside_runs_as_the_one_that_it_copies() {
    assert_eq!(rows("copied"), rows("reno"));
    assert_ne!(rows("copied"), rows("dctcp"));
}

/// An engine that does not know it refuses to run it; an engine that does lists it.
#[test]
fn who_does_not_know_a_control_refuses_it() {
    let ccs = vec!["copied".to_owned()];
    let scenario = Dumbbell { ccs, ..Dumbbell::default() }.scenario();
    assert_eq!(Sim::new().refuse(&scenario).len(), 1);
    assert!(with_copied().refuse(&scenario).is_empty());
    assert!(with_copied().controls().names().any(|name| name == "copied"));
}
