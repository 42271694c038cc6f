//! Where metrics look: what must hold of a link that never rests wherever a window lies.

use crate::bench::{QUEUE, run};
use sojourn_model::{Element, Kind, Queue, Scenario, Shaper};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Random, Rate, Span};

/// Two CUBIC flows and a buffer that never runs empty after slow start, behind this shaper.
fn saturated(seed: u64, shaper: Shaper, sample: Span) -> Scenario {
    let bed = Dumbbell {
        rate: Rate::from_mbit(10),
        qdisc: "pfifo limit 200".to_owned(),
        duration: Span::from_secs(20),
        seed,
        ..Dumbbell::default()
    };
    let mut scenario = bed.scenario();
    scenario.sample_interval = sample;
    for Element { kind, .. } in &mut scenario.hops[0].down {
        if let Kind::Queue(Queue { shaper: own, .. }) = kind {
            *own = shaper;
        }
    }
    scenario
}

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).expect("it is one");
    expression.evaluate(&Frame::new(run)).expect("it is there").value.number
}

/// In whatever window, between samples or at them, no more leaves than the rate carries, and hardly less: where a window
/// is of many packets. With a line each packet takes its time; htb gives out credit.
#[test]
fn a_link_that_never_rests_is_used_by_one_and_no_more() {
    let rate = Rate::from_mbit(10);
    let mut random = Random::named(7, "windows");
    for shaper in [Shaper::Line { rate }, Shaper::Htb { rate, ceil: None, burst: None }] {
        for (seed, sample_ms) in [(1, 50), (2, 37), (3, 200)] {
            let scenario = saturated(seed, shaper, Span::from_millis(sample_ms));
            let r = run(&scenario);
            for _ in 0..400 {
                let mut ms = |low: u64, high: u64| low + random.below(high - low);
                let from = ms(5_000, 19_000);
                let to = from + ms(2 * sample_ms, 20_000 - from);
                let text = format!("utilisation({QUEUE}) from {from}ms to {to}ms");
                let used = value(&r, &text);
                assert!(used <= 1.0, "{shaper:?}, samples of {sample_ms} ms, {text}: {used}");
                // Two packets of 1.2 ms at the edges.
                let least = 1.0 - 2.5 / sample_ms as f64;
                assert!(used >= least, "{shaper:?}, samples of {sample_ms} ms, {text}: {used}");
            }
        }
    }
}
