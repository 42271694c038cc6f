//! Remarks: facts that a reader must know before trusting the numbers of a run.
//!
//! A flow that a buffer or its application limits says nothing about the queue; a rate that swings more slowly than the
//! window depends on where the window lies; a window in slow start measures the start. Each remark names its flows, states
//! the fact with its numbers, and says what helps.

use serde::{Deserialize, Serialize};
use sojourn_model::{Direction, Flow, Kind, Netem, Queue, Scenario, Side, Tcp, Traffic};
use sojourn_qdisc::QdiscQuirks;
use sojourn_qdisc::netem::Parameters;
use sojourn_results::metrics::{Bounds, Expression, Frame, Swing, WindowSpec, swing};
use sojourn_results::{MACHINE, Table, schema};
use std::collections::BTreeSet;

/// From this share of the window on a flow counts as limited.
pub const LIMITED: f64 = 0.1;
/// A congestion window of this multiple of the path's bandwidth-delay product is more than an AQM should allow.
pub const OVERGROWN: f64 = 10.0;
/// Smaller windows get no such remark, in packets.
const LEAST_PACKETS: u64 = 100;
/// Bytes of a full frame.
const FRAME: f64 = 1514.0;
/// Flows that a message names; others are counted.
const NAMED: usize = 4;
/// The slow-start threshold of a flow that has none yet (`TCP_INFINITE_SSTHRESH`).
const INFINITE: u64 = 0x7FFF_FFFF;
/// For this number of base RTTs after slow start the queue that it built may still stand.
const SETTLED: f64 = 10.0;
/// A congestion window that grows by this factor within the measuring window still grows as in slow start.
const GROWN: f64 = 1.5;
/// A window of this number of periods is long enough.
const ENOUGH: f64 = 10.0;

/// A remark.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Remark {
    /// Its subject: `machine` (which disturbed the run), `cwnd` (a window of many times the path), `slow start`, `window` (too few periods), or the setting that
    /// limits: `receive_window`, `send_buffer`, `app_rate`, `max_pacing_rate`.
    pub about: String,
    /// The flows that it is about.
    pub flows: Vec<String>,
    /// The fact.
    pub message: String,
    /// What helps.
    pub help: String,
    /// Of `window`: the length that would do, s.
    #[serde(default)]
    pub enough: Option<f64>,
}

/// The remarks on a run.
pub fn remarks(frame: &Frame<'_>) -> Vec<Remark> {
    let overgrown = overgrown(frame);
    let large: BTreeSet<String> =
        overgrown.iter().flat_map(|remark| remark.flows.iter().cloned()).collect();
    let mut limited = limited(frame);
    // A window of many times the path fills any buffer; a larger buffer would not help.
    limited.retain(|remark| {
        !matches!(remark.about.as_str(), "receive_window" | "send_buffer")
            || remark.flows.iter().any(|flow| !large.contains(flow))
    });
    let held = limited.iter().flat_map(|remark| remark.flows.iter().cloned());
    let starting = starting(frame, &large.iter().cloned().chain(held).collect());
    let machine = disturbed(frame).into_iter();
    machine.chain(overgrown).chain(starting).chain(limited).chain(swinging(frame)).collect()
}

/// The machine disturbed a run on a wall clock: the numbers that have limits (docs/live.md).
fn disturbed(frame: &Frame<'_>) -> Option<Remark> {
    let run = frame.run();
    if run.is_valid() {
        return None;
    }
    let totals = run.table(schema::TOTALS.name)?;
    let (subjects, names) = (totals.text("subject"), totals.text("name"));
    let of = |name: &str| {
        let is = |row: &usize| subjects.get(*row) == MACHINE && names.get(*row) == name;
        (0..totals.len()).find(is).map_or(f64::NAN, |row| totals.f64("value")[row])
    };
    Some(Remark {
        about: "machine".to_owned(),
        flows: Vec::new(),
        message: format!(
            "the run is not valid: 99 % of the packets left within {:.2} ms of their time, {:.0} were lost outside of the \
             queues, and the relay was busy for {:.0}% of the run and stopped for {:.1}%",
            of("lateness_p99_s") * 1e3,
            of("socket_drops") + of("unsent_packets"),
            of("relay_cpu_share") * 100.0,
            // A run of an earlier version does not know.
            Some(of("relay_stopped_share")).filter(|share| share.is_finite()).unwrap_or(0.0)
                * 100.0,
        ),
        help: "run it on an idle machine; docs/live.md has the limits".to_owned(),
        enough: None,
    })
}

/// A window in words: `39 s to 59 s`.
fn span(bounds: Bounds) -> String {
    format!("{} s to {} s", general(bounds.from, 4), general(bounds.to, 4))
}

/// A number with this number of significant digits, as C's `%g` writes it.
fn general(value: f64, digits: usize) -> String {
    let scientific = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let plain = |text: &str| {
        let text = if text.contains('.') { text.trim_end_matches('0') } else { text };
        text.trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", plain(mantissa), exponent.abs());
    }
    plain(&format!("{:.*}", (digits as i32 - 1 - exponent).max(0) as usize, value))
}

/// A count with a comma behind each group of three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        _ if names.len() > NAMED => {
            format!("{} and {} more", names[..NAMED].join(", "), names.len() - NAMED)
        }
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// The rows of a flow in the table `flows`.
struct Rows<'a> {
    table: &'a Table,
    rows: Vec<usize>,
}

impl<'a> Rows<'a> {
    fn of(frame: &Frame<'a>, flow: &str) -> Option<Self> {
        let table = frame.run().table(schema::FLOWS.name)?;
        let rows = match table.text("flow").code(flow) {
            Some(code) => {
                let codes = table.text("flow").codes();
                (0..table.len()).filter(|&row| codes[row] == code).collect()
            }
            None => Vec::new(),
        };
        Some(Self { table, rows })
    }
}

fn lasting(scenario: &Scenario) -> impl Iterator<Item = (&Flow, &Tcp)> {
    scenario.flows.iter().filter_map(|flow| match &flow.traffic {
        Traffic::Tcp(tcp) => Some((flow, tcp)),
        _ => None,
    })
}

/// The slowest queue that a flow's data pass, with its rate in bit/s.
fn slowest<'a>(scenario: &'a Scenario, flow: &'a Flow) -> Option<(&'a Queue, f64)> {
    let side = match flow.direction {
        Direction::Down => Side::Down,
        Direction::Up => Side::Up,
    };
    let hops = scenario.hops.iter().enumerate().filter(|(index, _)| flow.hops.contains(index));
    let queues =
        hops.flat_map(|(_, hop)| hop.side(side)).filter_map(|element| match &element.kind {
            Kind::Queue(queue) => Some((queue, queue.capacity()?.bits_per_sec() as f64)),
            _ => None,
        });
    queues.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The base RTT of a flow, s: the least delay of the netems on its way there and back.
fn base_rtt(scenario: &Scenario, flow: &Flow) -> f64 {
    let chain = |netem: &Netem| -> f64 {
        let own = netem.per_flow.iter().find(|own| own.flow == flow.name);
        netem
            .chain
            .iter()
            .enumerate()
            .map(|(place, words)| match own {
                Some(own) if place == 0 => own.delay.as_secs_f64(),
                _ => Parameters::parse(words, &QdiscQuirks::default())
                    .map_or(0.0, |netem| netem.delay().as_secs_f64()),
            })
            .sum()
    };
    let elements = scenario
        .hops
        .iter()
        .enumerate()
        .filter(|(index, _)| flow.hops.contains(index))
        .flat_map(|(_, hop)| hop.elements());
    let delays = elements.map(|(_, element)| match &element.kind {
        Kind::Netem(netem) => chain(netem),
        _ => 0.0,
    });
    delays.sum()
}

/// The bandwidth-delay product of a flow's path in bytes, and what its buffer holds: as much again where the words of the
/// queue do not state it.
fn needs(scenario: &Scenario, flow: &Flow) -> Option<(f64, f64)> {
    let (queue, rate) = slowest(scenario, flow)?;
    let bdp = rate / 8.0 * base_rtt(scenario, flow);
    let words: Vec<&str> = queue.qdisc.words().collect();
    let packets = match words.as_slice() {
        ["pfifo", "limit", packets] => packets.parse::<f64>().ok(),
        _ => None,
    };
    Some((bdp, packets.map_or(bdp, |packets| packets * FRAME)))
}

fn overgrown(frame: &Frame<'_>) -> Vec<Remark> {
    let scenario = &*frame.run().scenario;
    let mut found: Vec<(String, u64, f64)> = Vec::new();
    let Some(window) = default_window(frame) else { return Vec::new() };
    for (flow, _) in lasting(scenario) {
        let Some((bdp, _)) = needs(scenario, flow).filter(|(bdp, _)| *bdp > 0.0) else { continue };
        let name = slowest(scenario, flow).map_or("", |(queue, _)| queue.qdisc.name());
        if matches!(name, "pfifo" | "bfifo" | "pfifo_fast") {
            continue;
        }
        let Some(own) = Rows::of(frame, &flow.name) else { continue };
        let (times, windows) = (own.table.f64("t_s"), own.table.u64("cwnd"));
        let inside =
            own.rows.iter().filter(|&&row| times[row] >= window.from && times[row] <= window.to);
        let most = inside.map(|&row| windows[row]).max().unwrap_or(0);
        let times_bdp = most as f64 * FRAME / bdp;
        if most >= LEAST_PACKETS && times_bdp >= OVERGROWN {
            found.push((flow.name.clone(), most, times_bdp));
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let flows: Vec<String> = found.iter().map(|(flow, ..)| flow.clone()).collect();
    let windows: Vec<String> =
        found.iter().map(|(_, most, times)| format!("{most} packets, {times:.0} times")).collect();
    vec![Remark {
        about: "cwnd".to_owned(),
        message: format!(
            "the congestion window of {} reaches {} the bandwidth-delay product of the path, in the measuring window of \
             {}: the queue does not hold this sender, and delays and rates are those of its overshoot",
            listed(&flows),
            windows.join(" and "),
            span(window)
        ),
        flows,
        help: "look at its window and its marks over time: sojourn plot DIR timeseries".to_owned(),
        enough: None,
    }]
}

/// The default window of the run as a whole.
fn default_window(frame: &Frame<'_>) -> Option<Bounds> {
    frame.bounds(&WindowSpec::Default, "")
}

/// Flows that were in slow start when the measuring window began, or had left it less than [`SETTLED`] base RTTs before.
///
/// Only lasting TCP flows can be, if their control has a threshold, so not BBR's. A flow that never had a threshold was never
/// marked and lost nothing; it counts only while its window grows. A flow that something else limits waits in slow start
/// and builds no queue.
fn starting(frame: &Frame<'_>, limited: &BTreeSet<String>) -> Vec<Remark> {
    let scenario = &*frame.run().scenario;
    let Some(window) = default_window(frame) else { return Vec::new() };
    let mut ended: Vec<(String, Option<f64>)> = Vec::new();
    for (flow, tcp) in lasting(scenario) {
        if tcp.bytes.is_some() || tcp.cc.starts_with("bbr") || limited.contains(&flow.name) {
            continue;
        }
        let Some(own) = Rows::of(frame, &flow.name) else { continue };
        let times = own.table.f64("t_s");
        let (thresholds, windows) = (own.table.u64("ssthresh"), own.table.u64("cwnd"));
        let out = own.rows.iter().find(|&&row| thresholds[row] < INFINITE).map(|&row| times[row]);
        match out {
            Some(at) if at + SETTLED * base_rtt(scenario, flow) > window.from => {
                ended.push((flow.name.clone(), Some(at)));
            }
            Some(_) => {}
            None => {
                let inside: Vec<u64> = own
                    .rows
                    .iter()
                    .filter(|&&row| times[row] > window.from && times[row] <= window.to)
                    .map(|&row| windows[row])
                    .collect();
                if let [first, .., last] = inside[..]
                    && last as f64 > GROWN * first as f64
                {
                    ended.push((flow.name.clone(), None));
                }
            }
        }
    }
    if ended.is_empty() {
        return Vec::new();
    }
    let lasts = if ended.iter().all(|(_, at)| at.is_some()) {
        let last = ended.iter().filter_map(|(_, at)| *at).fold(0.0, f64::max);
        format!("lasts until {} s", general(last, 3))
    } else {
        "has not ended".to_owned()
    };
    let flows: Vec<String> = ended.into_iter().map(|(flow, _)| flow).collect();
    vec![Remark {
        about: "slow start".to_owned(),
        message: format!(
            "slow start of {} {lasts}, and the measuring window is {}: rates and delays are those of the start, with the \
             queue that it builds",
            listed(&flows),
            span(window)
        ),
        flows,
        help: "let the run last longer, or begin the window later".to_owned(),
        enough: None,
    }]
}

/// A limit that a TCP flow may have: the setting, and its words for one flow and for several.
const LIMITS: [(&str, &str, &str); 4] = [
    ("receive_window", "its receive window", "their receive windows"),
    ("send_buffer", "its send buffer", "their send buffers"),
    (
        "app_rate",
        "its application, which writes at its app_rate",
        "their applications, which write at their app_rate",
    ),
    ("max_pacing_rate", "its max_pacing_rate", "their max_pacing_rate"),
];

/// Flows that something limited for [`LIMITED`] of the window or more.
///
/// An adaptive stream or an on/off source has nothing to send at times by design, so only TCP connections that last count. A
/// pacing rate is a limit only if it is the one that the experiment set.
fn limited(frame: &Frame<'_>) -> Vec<Remark> {
    let scenario = &*frame.run().scenario;
    if frame.run().table(schema::LIMITS.name).is_none() {
        return Vec::new();
    }
    let mut found: [Vec<(&Flow, &Tcp, f64)>; 4] = Default::default();
    let value = |metric: &str, flow: &Flow| {
        let text = format!("{metric}{})", flow.name);
        let expression = Expression::parse(&text).ok()?;
        Some(expression.evaluate(frame).ok()?.value.number)
    };
    for (flow, tcp) in lasting(scenario) {
        let paced = tcp.max_pacing_rate.filter(|own| {
            value("max(pacing_rate, ", flow)
                .is_some_and(|rate| rate >= 0.99 * own.bits_per_sec() as f64)
        });
        let shares = [
            value("rwnd_limited(", flow),
            value("sndbuf_limited(", flow),
            tcp.app_rate.and_then(|_| value("app_limited(", flow)),
            paced.and_then(|_| value("pacing_limited(", flow)),
        ];
        for (own, share) in found.iter_mut().zip(shares) {
            if let Some(share) = share.filter(|share| *share >= LIMITED) {
                own.push((flow, tcp, share));
            }
        }
    }
    let limits = LIMITS.iter().zip(&found).filter(|(_, own)| !own.is_empty());
    limits.map(|((about, one, several), own)| of_limit(frame, about, one, several, own)).collect()
}

fn of_limit(
    frame: &Frame<'_>,
    about: &str,
    one: &str,
    several: &str,
    own: &[(&Flow, &Tcp, f64)],
) -> Remark {
    let shares = own.iter().map(|(_, _, share)| 100.0 * share);
    let least = format!("{:.0}", shares.clone().fold(f64::INFINITY, f64::min));
    let most = format!("{:.0}", shares.fold(0.0, f64::max));
    let flows: Vec<String> = own.iter().map(|(flow, ..)| flow.name.clone()).collect();
    let when = frame.bounds(&WindowSpec::Default, &flows[0]);
    let (are, by) = if flows.len() == 1 { ("is", one) } else { ("are", several) };
    let message = format!(
        "{} {are} limited by {by} for {} % of the time{}: rates and shares then say nothing about the queue or the \
         congestion control",
        listed(&flows),
        if least == most { least.clone() } else { format!("{least} to {most}") },
        when.map_or(String::new(), |window| format!(" from {}", span(window))),
    );
    let help = remedy(&frame.run().scenario, about, own);
    Remark { about: about.to_owned(), flows, message, help, enough: None }
}

/// A setting that would not limit: a value that fills the path and the buffer before it.
fn remedy(scenario: &Scenario, about: &str, own: &[(&Flow, &Tcp, f64)]) -> String {
    let needed = own.iter().filter_map(|(flow, ..)| needs(scenario, flow));
    let needed = needed.max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    match about {
        "receive_window" => needed.map_or_else(
            || "give the flow a larger receive_window".to_owned(),
            |needed| large_enough(needed, about, 1.0),
        ),
        "send_buffer" => {
            // The application is woken when two thirds of twice the buffer are left; a packet takes up to 2728 bytes.
            let larger = needed.map_or_else(
                || "give the flow a larger send_buffer".to_owned(),
                |needed| large_enough(needed, about, 1.5),
            );
            if own.iter().any(|(_, tcp, _)| tcp.send_buffer.is_some()) {
                larger
            } else {
                format!("{larger}; without one it ends at the stack's tcp_wmem")
            }
        }
        _ => {
            let rates = own.iter().filter_map(|(flow, ..)| slowest(scenario, flow));
            let most = rates.map(|(_, rate)| rate).reduce(f64::max);
            let more = most.map_or(String::new(), |rate| {
                format!(", or set it above the bottleneck's {}mbit", general(rate / 1e6, 6))
            });
            format!("leave {about} out{more}")
        }
    }
}

/// A size of a window or buffer that fills the path and the queue, in words.
fn large_enough((bdp, buffer): (f64, f64), about: &str, times: f64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let holds = if buffer == bdp {
        "the same again for the buffer".to_owned()
    } else {
        format!("{} that the buffer holds", grouped(buffer))
    };
    let enough = (bdp + buffer) * times;
    let size = if enough > MIB {
        format!("{}mb", (enough / MIB).ceil())
    } else {
        format!("{}k", (enough / 1024.0).ceil())
    };
    let over = if times == 1.0 {
        String::new()
    } else {
        format!(
            ", {} times over for the memory that packets take besides their payload",
            general(times, 6)
        )
    };
    format!(
        "{about} = \"{size}\" would do: the path's BDP of {} bytes and {holds}{over}",
        grouped(bdp)
    )
}

fn swinging(frame: &Frame<'_>) -> Option<Remark> {
    swing(frame).map(of_swing)
}

fn of_swing(found: Swing) -> Remark {
    let names = listed(&found.flows);
    let does = if found.alternate {
        format!("{names} alternate")
    } else if found.flows.len() == 1 {
        format!("the rate of {names} goes up and down")
    } else {
        format!("the rates of {names} go up and down")
    };
    let enough = ENOUGH * found.period;
    Remark {
        about: "window".to_owned(),
        message: format!(
            "{does} with a period of about {} s: the measuring window from {} holds {:.1} of them, and rates, shares and \
             Jain's index depend on where it lies",
            rounded(found.period),
            span(found.window),
            found.held(),
        ),
        flows: found.flows,
        help: format!("let the run last longer and measure over {} s or more", rounded(enough)),
        enough: Some(enough),
    }
}

/// A time to two digits, as people write it: 180, 4.5, 0.12.
fn rounded(seconds: f64) -> String {
    let text = format!("{seconds:.1e}");
    general(text.parse().unwrap_or(seconds), 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_people_write_them() {
        assert_eq!(general(39.0, 4), "39");
        assert_eq!(general(5.666_666_7, 4), "5.667");
        assert_eq!(general(0.000_01, 3), "1e-05");
        assert_eq!(general(123_456.0, 4), "1.235e+05");
        assert_eq!(general(0.0, 4), "0");
        assert_eq!(
            ["178.7", "1787.0", "4.53", "0.123"].map(|x| rounded(x.parse().unwrap())),
            ["180", "1800", "4.5", "0.12"]
        );
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(999.0), "999");
    }

    #[test]
    fn a_swing_names_the_window_that_holds_enough_periods() {
        let window = Bounds { from: 19.0, to: 36.0 };
        let flows = vec!["a".to_owned(), "b".to_owned()];
        let remark = of_swing(Swing { flows, alternate: true, period: 14.0, window });
        assert_eq!(
            remark.message,
            "a and b alternate with a period of about 14 s: the measuring window from 19 s to 36 s holds 1.2 of them, and \
             rates, shares and Jain's index depend on where it lies"
        );
        assert_eq!(remark.help, "let the run last longer and measure over 140 s or more");
    }

    #[test]
    fn names_are_listed_up_to_four() {
        let names = |n: usize| (0..n).map(|i| format!("f{i}")).collect::<Vec<_>>();
        assert_eq!(listed(&names(2)), "f0 and f1");
        assert_eq!(listed(&names(3)), "f0, f1 and f2");
        assert_eq!(listed(&names(6)), "f0, f1, f2, f3 and 2 more");
    }
}
