//! To run a scenario and to read its tables.

use sojourn_engine::{Engine, RunError};
use sojourn_model::{
    Action, At, Event, Kind, Neighbours, Netem, Ping, Queue, Scenario, Shaper, Side, Tcp, Traffic,
    Udp, When, Wifi,
};
use sojourn_results::{Column, Run, Table};
use sojourn_sim::Sim;
use sojourn_units::{Ecn, Rate, Span};

/// A wireless LAN's link without errors, at these rates in Mbit/s.
pub(crate) fn wifi(rates: &[u64], neighbours: Option<Neighbours>) -> Wifi {
    Wifi {
        rates: rates.iter().map(|&r| Rate::from_mbit(r)).collect(),
        dwell: Span::from_secs(1),
        frames: 64,
        airtime: Span::from_millis(4),
        frame_errors: 0.0,
        retries: 7,
        line: Rate::from_mbit(1000),
        limit: 200,
        neighbours,
    }
}

/// The queue that data passes in a [`sojourn_sim::dumbbell`].
pub(crate) const QUEUE: &str = "bottleneck.down.qdisc";
/// The delay before it.
pub(crate) const NETEM: &str = "bottleneck.down.netem";
/// Payload of a full segment over the bytes that a queue counts for it.
pub(crate) const PAYLOAD: f64 = 1448.0 / 1514.0;
/// The most that two hosts' jitter adds to a round trip: 6 µs at each.
pub(crate) const JITTER: f64 = 12e-6;

/// Runs it as an experiment would: checked, not refused.
pub(crate) fn try_run(scenario: &Scenario) -> Result<Run, RunError> {
    scenario.check()?;
    let refusals = Sim::new().refuse(scenario);
    if refusals.is_empty() {
        Sim::new().run(&scenario.clone().into(), &())
    } else {
        Err(RunError::Refused(refusals))
    }
}

/// As [`try_run`], of a scenario that can be run.
pub(crate) fn run(scenario: &Scenario) -> Run {
    try_run(scenario).expect("the scenario can be run")
}

/// A table that every run of the simulator has.
pub(crate) fn table<'a>(run: &'a Run, name: &str) -> &'a Table {
    run.table(name).expect("the simulator records it")
}

/// A counter at the end; `None` if there is none of this name.
pub(crate) fn try_total(run: &Run, subject: &str, name: &str) -> Option<f64> {
    let t = table(run, "totals");
    let (subjects, names) = (t.text("subject"), t.text("name"));
    (0..t.len())
        .find(|&i| subjects.get(i) == subject && names.get(i) == name)
        .map(|i| t.f64("value")[i])
}

/// A counter at the end.
pub(crate) fn total(run: &Run, subject: &str, name: &str) -> f64 {
    try_total(run, subject, name).unwrap_or_else(|| panic!("{subject} counts {name}"))
}

/// Rows of a table that are about one subject, named in its second column.
pub(crate) fn rows_of<'a>(table: &'a Table, subject: &'a str) -> impl Iterator<Item = usize> + 'a {
    let subjects = table.text(table.schema().columns[1].name);
    let code = subjects.code(subject);
    (0..table.len()).filter(move |&i| Some(subjects.codes()[i]) == code)
}

/// Times and values of a column of numbers, for one subject.
pub(crate) fn series(run: &Run, name: &str, column: &str, subject: &str) -> Vec<(f64, f64)> {
    let t = table(run, name);
    let (times, values) = (t.f64("t_s"), t.f64(column));
    rows_of(t, subject).map(|i| (times[i], values[i])).collect()
}

/// Times and values of a column of counts, for one subject.
pub(crate) fn counts(run: &Run, name: &str, column: &str, subject: &str) -> Vec<(f64, u64)> {
    let t = table(run, name);
    let (times, values) = (t.f64("t_s"), t.u64(column));
    rows_of(t, subject).map(|i| (times[i], values[i])).collect()
}

/// The last count at or before a time; zero before the first row.
pub(crate) fn count_at(series: &[(f64, u64)], t: f64) -> u64 {
    series[..series.partition_point(|row| row.0 <= t + 1e-10)].last().map_or(0, |row| row.1)
}

/// Mean of the values in `(from, to]`.
pub(crate) fn mean_between(series: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let inside = series.iter().filter(|row| row.0 > from + 1e-9 && row.0 <= to + 1e-9);
    let values: Vec<f64> = inside.map(|row| row.1).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// A distribution's buckets: lower edge, upper edge, count.
pub(crate) fn buckets(run: &Run, subject: &str, quantity: &str) -> Vec<(f64, f64, u64)> {
    let t = table(run, "histograms");
    let (subjects, quantities) = (t.text("subject"), t.text("quantity"));
    (0..t.len())
        .filter(|&i| subjects.get(i) == subject && quantities.get(i) == quantity)
        .map(|i| (t.f64("lo_s")[i], t.f64("hi_s")[i], t.u64("count")[i]))
        .collect()
}

/// The mean of a distribution, each bucket standing for its middle.
pub(crate) fn mean_of(buckets: &[(f64, f64, u64)]) -> f64 {
    let n: u64 = buckets.iter().map(|b| b.2).sum();
    buckets.iter().map(|b| f64::midpoint(b.0, b.1) * b.2 as f64).sum::<f64>() / n as f64
}

/// The upper edge of the bucket in which the `p`-quantile of a distribution lies.
pub(crate) fn quantile_of(buckets: &[(f64, f64, u64)], p: f64) -> f64 {
    let n: u64 = buckets.iter().map(|b| b.2).sum();
    let mut seen = 0;
    for b in buckets {
        seen += b.2;
        if seen as f64 >= p * n as f64 {
            return b.1;
        }
    }
    f64::NAN
}

/// One number for all tables, names and bits of the values: FNV-1a, 64 bits.
pub(crate) fn fingerprint(tables: &[Table]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for &b in bytes {
            hash = (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for table in tables {
        eat(table.schema().name.as_bytes());
        for (schema, column, _) in table.columns() {
            eat(schema.name.as_bytes());
            match column {
                Column::F64(v) => v.iter().for_each(|x| eat(&x.to_bits().to_le_bytes())),
                Column::U64(v) => v.iter().for_each(|x| eat(&x.to_le_bytes())),
                Column::Text(t) => (0..table.len()).for_each(|i| eat(t.get(i).as_bytes())),
            }
        }
    }
    hash
}

/// A run's tables by name, with the beginnings of their digests.
pub(crate) fn digests(run: &Run) -> String {
    let mut tables: Vec<(&str, String)> =
        run.tables.iter().map(|t| (t.schema().name, t.digest())).collect();
    tables.sort_unstable();
    tables
        .iter()
        .fold(String::new(), |all, (name, digest)| all + &format!(" {name}={}", &digest[..8]))
}

/// The queue of the first hop, `down` or `up`.
pub(crate) fn queue_mut(scenario: &mut Scenario, side: Side) -> &mut Queue {
    let hop = &mut scenario.hops[0];
    let elements = match side {
        Side::Down => &mut hop.down,
        Side::Up => &mut hop.up,
    };
    elements
        .iter_mut()
        .find_map(|e| if let Kind::Queue(q) = &mut e.kind { Some(q) } else { None })
        .expect("a dumbbell has a queue each way")
}

/// Puts a line instead of the first hop's shapers.
pub(crate) fn over_a_line(scenario: &mut Scenario, rate: Rate) {
    for side in [Side::Down, Side::Up] {
        queue_mut(scenario, side).shaper = Shaper::Line { rate };
    }
}

/// Something that happens at a time.
pub(crate) fn event(name: &str, at: Span, actions: Vec<Action>) -> Event {
    Event { name: name.to_owned(), when: When::At(At::after_origin(at)), actions }
}

/// An unresponsive load of full frames.
pub(crate) fn udp(rate: Rate) -> Traffic {
    Traffic::Udp(Udp { rate, payload: 1472, ecn: Ecn::NotEct })
}

/// A probe.
pub(crate) fn ping(interval: Span) -> Traffic {
    Traffic::Ping(Ping { interval, size: 84, ecn: Ecn::NotEct })
}

/// The settings of a TCP flow, to be changed.
pub(crate) fn tcp_mut(traffic: &mut Traffic) -> &mut Tcp {
    match traffic {
        Traffic::Tcp(tcp) => tcp,
        other => panic!("{} is not TCP", other.name()),
    }
}

/// The delay of the first hop on the way down.
pub(crate) fn netem_mut(scenario: &mut Scenario) -> &mut Netem {
    let elements = &mut scenario.hops[0].down;
    elements
        .iter_mut()
        .find_map(|e| if let Kind::Netem(n) = &mut e.kind { Some(n) } else { None })
        .expect("a dumbbell has a delay")
}
