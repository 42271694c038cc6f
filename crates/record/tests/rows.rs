//! Rows by hand: what an engine hands over, and what the tables then hold.

use sojourn_model::{Scenario, example};
use sojourn_record::{
    Completion, Delays, Distribution, FlowSample, PingSample, Provenances, QueueSample, Recorder,
    SignalKind,
};
use sojourn_results::{Provenance, Rows, Table};
use sojourn_units::{Span, Time};

/// The warm-up takes a second.
fn scenario() -> Scenario {
    Scenario { warmup: Span::from_secs(1), ..example::scenario() }
}

const QUEUE: &str = "bottleneck.down.qdisc";

fn recorder() -> Recorder {
    let exact = Provenance::Exact;
    let known = Provenances {
        flows: Rows::new(exact),
        queues: Rows::new(exact),
        completions: Rows::new(exact),
        counters: exact,
        distributions: exact,
    };
    Recorder::new(&scenario(), [QUEUE, "policer"], known)
}

fn finished(recorder: Recorder) -> Vec<Table> {
    let delays = Delays::new(&scenario(), [Some(QUEUE)], |_| Span::ZERO);
    recorder.finish(delays.finish(Time::from_secs(1)).0, |_| true)
}

fn table(tables: &[Table], name: &str) -> Table {
    tables.iter().find(|table| table.schema().name == name).expect("the table is there").clone()
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    (0..table.len()).map(|row| table.text(column).get(row).to_owned()).collect()
}

/// One megabyte in two seconds is 4 Mbit/s; times count from the end of the warm-up; an interval without length has no row;
/// unknown numbers are NaN; the state has its name.
#[test]
fn a_flows_goodput_is_of_its_interval() {
    let mut recorder = recorder();
    recorder.flow_started(Time::from_secs(2), 0);
    let sample = FlowSample { cwnd: 10, ..FlowSample::UNKNOWN };
    assert!(recorder.flow(Time::from_secs(4), 0, 1_000_000, Some(&sample)));
    assert!(!recorder.flow(Time::from_secs(4), 0, 1_000_000, Some(&sample)));
    // Without a row its bytes count all the same.
    assert!(recorder.flow(Time::from_secs(5), 0, 9_000_000, None));
    assert!(recorder.flow(Time::from_secs(6), 0, 9_000_125, Some(&sample)));
    let tables = finished(recorder);
    let flows = table(&tables, "flows");
    assert_eq!(flows.f64("t_s"), [3.0, 5.0]);
    assert_eq!(flows.f64("goodput_bps"), [4e6, 1e3]);
    assert_eq!(flows.u64("cwnd"), [10, 10]);
    assert!(flows.f64("srtt_s").iter().all(|srtt| srtt.is_nan()));
    assert_eq!(texts(&flows, "state"), ["Open", "Open"]);
}

#[test]
fn a_signal_has_a_row_when_it_changes() {
    use SignalKind::{Drop, Mark};
    let mut recorder = recorder();
    let counts =
        [(0, Mark, 0), (0, Mark, 2), (0, Drop, 2), (0, Mark, 2), (1, Drop, 1), (0, Mark, 5)];
    for (element, kind, count) in counts {
        recorder.signal(Time::from_secs(1), element, ("control_law", kind), count);
    }
    let signals = table(&finished(recorder), "queue_signals");
    assert_eq!(texts(&signals, "kind"), ["mark", "drop", "drop", "mark"]);
    assert_eq!(texts(&signals, "queue"), [QUEUE, QUEUE, "policer", QUEUE]);
    assert_eq!(signals.u64("count"), [2, 2, 1, 5]);
}

#[test]
fn a_queues_sojourn_is_unknown_where_nothing_left() {
    let mut recorder = recorder();
    let sample = QueueSample {
        packets: 1,
        bytes: 1514,
        sojourn: (1_000, 9_000, 5_000, 3),
        sent_packets: 3,
        sent_bytes: 4542,
        marks: 0,
        drops: 0,
    };
    recorder.queue(Time::from_secs(1), 0, &sample);
    recorder.queue(Time::from_secs(2), 0, &QueueSample { sojourn: (0, 0, 0, 0), ..sample });
    let queues = table(&finished(recorder), "queues");
    let firsts = ["sojourn_min_s", "sojourn_mean_s", "sojourn_max_s"].map(|c| queues.f64(c)[0]);
    assert_eq!(firsts, [1e-6, 3e-6, 5e-6]);
    assert!(queues.f64("sojourn_mean_s")[1].is_nan());
}

#[test]
fn gauges_keep_their_names_when_their_order_changes() {
    let mut recorder = recorder();
    for names in [["alpha", "bw"], ["bw", "alpha"]] {
        recorder.flow_gauges(Time::from_secs(1), 0, |out| names.iter().for_each(|n| out(n, 1.0)));
    }
    let state = table(&finished(recorder), "flow_state");
    assert_eq!(texts(&state, "name"), ["alpha", "bw", "bw", "alpha"]);
}

/// Sent at 1 s, there at 1.2 s, back at 1.5 s; another never came back.
#[test]
fn delays_are_between_times_that_came() {
    let mut recorder = recorder();
    let at = |ms| Time::from_millis(ms);
    let answered = PingSample {
        at: at(1500),
        number: 1,
        sent: at(1000),
        there: at(1200),
        back: at(1500),
        lost: "",
    };
    recorder.ping("ping", &answered);
    recorder.ping("ping", &PingSample { back: Time::NEVER, lost: "back", ..answered });
    let web = Completion { started: at(1000), bytes: 7, ended: at(1250) };
    recorder.completion("web", &web);
    recorder.completion("web", &Completion { ended: Time::NEVER, ..web });
    let tables = finished(recorder);
    let pings = table(&tables, "pings");
    assert_eq!(pings.f64("owd_s"), [0.2, 0.2]);
    assert_eq!((pings.f64("rtt_s")[0], pings.f64("owd_back_s")[0]), (0.5, 0.3));
    assert!(pings.f64("rtt_s")[1].is_nan() && pings.f64("owd_back_s")[1].is_nan());
    let completions = table(&tables, "completions");
    assert_eq!(completions.f64("duration_s")[0], 0.25);
    assert!(completions.f64("duration_s")[1].is_nan());
}

/// Of a run without this kind of flow the engine leaves the table out.
#[test]
fn a_table_that_the_run_lacks_is_not_there() {
    let mut recorder = recorder();
    let mut times = Distribution::new();
    times.add(Span::from_nanos(100));
    recorder.histogram(QUEUE, "sojourn", &times);
    let delays = Delays::new(&scenario(), [Some(QUEUE)], |_| Span::ZERO);
    let delays = delays.finish(Time::from_secs(1)).0;
    let names: Vec<_> = recorder
        .finish(delays, |name| name != "tc")
        .iter()
        .map(|table| table.schema().name)
        .collect();
    assert_eq!(names.len(), 15);
    assert!(names.contains(&"histograms") && !names.contains(&"tc"));
}
