//! What limits flows in whole runs, and what the table `limits` must add up to in every one.

use crate::bench::{run, series, table};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Rate, Span};

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).expect("it is one");
    expression.evaluate(&Frame::new(run)).expect("it is there").value.number
}

/// The run of `flows` CUBIC flows at a bottleneck with a buffer of `limit` packets.
fn cubics(flows: usize, mbit: u64, rtt_ms: u64, limit: u64, seconds: u64) -> Run {
    let bed = Dumbbell {
        ccs: vec!["cubic".to_owned(); flows],
        qdisc: format!("pfifo limit {limit}"),
        rate: Rate::from_mbit(mbit),
        rtt: Span::from_millis(rtt_ms),
        duration: Span::from_secs(seconds),
        ping: false,
        ..Dumbbell::default()
    };
    run(&bed.scenario())
}

/// At 1 Gbit/s and 200 ms a flow alone needs 25 MB in flight, four need 6.25 each; the receiver's window grows to some 3 MB
/// (half of `tcp_rmem`'s 6), and the send buffer of 4 MB holds no more. Four flows share alike and leave a part of the link
/// empty: their send buffers limit them.
#[test]
fn equal_shares_of_a_link_that_is_not_full_are_the_send_buffers_doing() {
    let r = cubics(4, 1000, 200, 20_000, 60);
    let names: Vec<String> = r.scenario.flows.iter().map(|f| f.name.clone()).collect();
    let used = value(&r, "utilisation(bottleneck.down.qdisc)");
    assert!(used < 0.7, "{used}");
    for name in &names {
        let share = value(&r, &format!("share(goodput, {name})"));
        assert!((share - 0.25).abs() < 0.0005, "{name}: {share}");
        let limited = value(&r, &format!("sndbuf_limited({name})"));
        assert!(limited > 0.95, "{name}: {limited}");
    }
}

/// At 160 ms and 100 Mbit/s with a buffer of four times the product no packet is dropped, for two flows have some 3 MB out
/// each and 10 MB fit into path and buffer: it is not their congestion controls that share alike. Linux 7.3.4 tells 97.5 % of
/// the time for either flow here (`tcpi_sndbuf_limited`).
#[test]
fn a_buffer_that_never_fills_is_the_send_buffers_doing() {
    let bdp = 100_000_000 / 8 * 160 / 1000 / 1514;
    let r = cubics(2, 100, 160, 4 * bdp, 60);
    assert_eq!(value(&r, "drops(bottleneck.down.qdisc) over all"), 0.0);
    assert!(value(&r, "jain(goodput)") > 0.99);
    for flow in &r.scenario.flows {
        let limited = value(&r, &format!("sndbuf_limited({})", flow.name));
        assert!(limited > 0.95, "{}: {limited}", flow.name);
    }
}

/// With a buffer of one product at 20 ms losses keep the window small, so it limits.
#[test]
fn a_congestion_window_that_losses_keep_small_limits() {
    let r = cubics(2, 50, 20, 83, 20);
    for flow in &r.scenario.flows {
        assert_eq!(value(&r, &format!("rwnd_limited({})", flow.name)), 0.0);
        assert!(value(&r, &format!("cwnd_limited({})", flow.name)) > 0.99);
    }
}

/// At every row the times of the limits add up to the connection's age, which grows as time does, and busy is no more.
#[test]
fn the_times_of_all_limits_are_the_connections_age() {
    for cc in ["cubic", "bbr"] {
        let bed = Dumbbell {
            ccs: vec![cc.to_owned(), cc.to_owned()],
            duration: Span::from_secs(5),
            ..Dumbbell::default()
        };
        let r = run(&bed.scenario());
        let mut rows = 0;
        for flow in r.scenario.flows.iter().filter(|f| f.traffic.is_load()) {
            let of = |column: &str| series(&r, "limits", column, &flow.name);
            let parts = ["rwnd", "sndbuf", "cwnd", "pacing", "app", "host"]
                .map(|part| of(&format!("{part}_limited_s")));
            let busy = of("busy_s");
            let mut before: Option<(f64, f64)> = None;
            for (i, &(t, busy)) in busy.iter().enumerate() {
                let age: f64 = parts.iter().map(|part| part[i].1).sum();
                assert!(busy <= age + 1e-9, "{cc} at {t}: {busy} of {age}");
                if let Some((then, old)) = before.filter(|b| b.1 > 0.0) {
                    assert!((age - old - (t - then)).abs() < 1e-9, "{cc} at {t}: {old} to {age}");
                }
                before = Some((t, age));
                rows += 1;
            }
            let last = busy.last().expect("rows").1;
            assert!(last > 4.9, "{cc}: busy {last}");
        }
        assert_eq!(rows, table(&r, "limits").len());
        let pacing = value(&r, "pacing_limited(cubic-1)".replace("cubic", cc).as_str());
        assert_eq!(pacing > 0.0, cc == "bbr", "{cc}: {pacing}");
    }
}
