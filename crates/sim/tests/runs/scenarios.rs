//! Random scenarios: whatever the simulator says it can run, within reason.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::Union;
use sojourn_model::{
    Action, Adaptation, At, Direction, EcnMode, Edge, Element, Event, Flow, FlowDelay, Gauge, Hop,
    Ip, Irtt, Kind, Netem, OnOff, Order, Origin, Ping, Profile, Pulse, Queue, ReceiveWindow,
    Reference, Scenario, Shaper, ShortFlows, Start, Streaming, Tcp, Traffic, Udp, Video, Voip,
    When,
};
use sojourn_qdisc::{Discipline, QdiscQuirks, disciplines};
use sojourn_stacks::STACKS;
use sojourn_units::{Dscp, Ecn, Rate, Span};

/// Words for a discipline, out of its own table: options that every stack has, at values that someone might write;
/// with `changing`, none of those that only go at creation.
fn words_of(info: &'static Discipline, changing: bool) -> BoxedStrategy<String> {
    let kernels: Vec<&QdiscQuirks> = STACKS.iter().map(|stack| &stack.qdisc).collect();
    vec(any::<Index>(), PICKS)
        .prop_map(move |picks| {
            let mut picks = picks.into_iter();
            let mut pick = |n: usize| picks.next().map_or(0, |pick| pick.index(n));
            info.drawn(&kernels, changing, disciplines(), &mut pick)
        })
        .boxed()
}

/// Choices enough for every option of a discipline and of its child.
const PICKS: usize = 64;

fn delay_words() -> BoxedStrategy<String> {
    let jitter = option::of((0_u64..5000, option::of(0_u64..=100)));
    (0_u64..30_000, jitter)
        .prop_map(|(us, jitter)| match jitter {
            None => format!("{us}us"),
            Some((jitter, None)) => format!("{us}us {jitter}us"),
            Some((jitter, Some(rho))) => format!("{us}us {jitter}us {rho}%"),
        })
        .boxed()
}

/// The disciplines that go under a shaper, and are the same before and after a change.
fn families() -> Vec<&'static Discipline> {
    disciplines().iter().copied().filter(|info| !info.classful).collect()
}

/// A shaper of its own.
fn classful() -> BoxedStrategy<String> {
    let all = disciplines().iter().filter(|info| info.classful);
    Union::new(all.map(|info| words_of(info, false))).boxed()
}

/// Words of every family, so that whichever is there can be changed.
type Words = Vec<String>;

fn words(changing: bool) -> BoxedStrategy<Words> {
    families().into_iter().map(|f| words_of(f, changing)).collect::<Vec<_>>().boxed()
}

fn rate() -> BoxedStrategy<Rate> {
    let kbit = prop_oneof![1_000_u64..20_000, 1_000_u64..200_000];
    kbit.prop_map(|k| Rate::from_bits_per_sec(k * 1000)).boxed()
}

fn shaper() -> BoxedStrategy<Shaper> {
    prop_oneof![
        5 => (rate(), option::weighted(0.2, rate()), option::weighted(0.2, 1600_u64..60_000))
            .prop_map(|(rate, ceil, burst)| Shaper::Htb { rate, ceil, burst }),
        3 => rate().prop_map(|rate| Shaper::Line { rate }),
    ]
    .boxed()
}

#[derive(Clone, Debug)]
struct HopDraw {
    one_way: Span,
    /// The words of the delay behind its time.
    more: &'static str,
    /// Whether the queue stands alone, without a delay before it.
    bare: bool,
    shapers: [Shaper; 2],
    family: Index,
    words: [Words; 2],
    own_htb: Option<String>,
    own_delays: Vec<Option<u64>>,
    stack: Index,
}

fn hop() -> BoxedStrategy<HopDraw> {
    let more = select(
        &[
            "limit 100000",
            "limit 100000",
            "limit 100000",
            "1ms limit 1000",
            "loss 1%",
            "2ms 25% distribution pareto limit 1000",
            "rate 30mbit 20 limit 500",
            "loss state 2% 40% 10% 50% 1%",
            "slot 1ms 3ms packets 20 limit 1000",
            "duplicate 1% reorder 2% limit 1000",
        ][..],
    );
    (
        50_u64..150_000,
        more,
        proptest::bool::weighted(0.15),
        [shaper(), shaper()],
        any::<Index>(),
        [words(false), words(false)],
        option::weighted(0.1, classful()),
        vec(option::weighted(0.3, 50_u64..150_000), 6),
        any::<Index>(),
    )
        .prop_map(|(us, more, bare, shapers, family, words, own_htb, own_delays, stack)| HopDraw {
            one_way: Span::from_micros(us),
            more,
            bare,
            shapers,
            family,
            words,
            own_htb,
            own_delays,
            stack,
        })
        .boxed()
}

fn tcp() -> BoxedStrategy<Traffic> {
    (
        select(&["cubic", "reno"][..]),
        select(&[EcnMode::Default, EcnMode::Off, EcnMode::Rfc3168][..]),
        option::weighted(0.4, 1_u64..2_000_000),
        option::weighted(0.1, (1_u64..50).prop_map(Rate::from_mbit)),
        option::weighted(0.2, 1_u32..100),
        option::weighted(0.2, (3_000_u64..1_000_000).prop_map(ReceiveWindow::Fixed)),
        proptest::bool::weighted(0.2),
        option::weighted(0.2, 50_u64..30_000),
    )
        .prop_map(|(cc, ecn, bytes, max_pacing_rate, initial_window, window, fq, kbit)| {
            Traffic::Tcp(Tcp {
                bytes,
                max_pacing_rate,
                app_rate: kbit.map(|k| Rate::from_bits_per_sec(k * 1000)),
                initial_window,
                receive_window: window.unwrap_or_default(),
                host_qdisc: fq.then(|| "fq".into()),
                ..Tcp::plain(cc, ecn)
            })
        })
        .boxed()
}

/// Applications: probes both ways, calls, short flows, adaptive streams, sources that are alternately on and off.
fn application() -> BoxedStrategy<Traffic> {
    let ecn = || select(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][..]);
    let span = |ms: std::ops::Range<u64>| ms.prop_map(Span::from_millis);
    let settings = || {
        tcp().prop_map(|traffic| {
            let tcp = traffic.tcp().expect("a TCP flow");
            Tcp { bytes: None, ..tcp.clone() }
        })
    };
    let video = (any::<bool>(), ecn(), any::<bool>()).prop_map(|(down, ecn, adapts)| {
        let profile = if down { Profile::CallDown } else { Profile::CallUp };
        let kbit = |n: u64| Rate::from_bits_per_sec(n * 1000);
        let (min, max) = (kbit(300), kbit(2500));
        let adaptation = Adaptation { loss: 0.02, decrease: 0.85, increase: 1.05, min, max };
        let adaptation = adapts.then_some(adaptation);
        Traffic::Video(Video { adaptation, ..Video::captured(profile, ecn) })
    });
    let short =
        (settings(), span(20..500), option::weighted(0.5, 1_u64..8), 200_u64..40_000, 1_u32..3000);
    let streaming = (settings(), span(200..900), 1_u64..5, proptest::bool::weighted(0.4));
    prop_oneof![
        (span(5..300), 1_u32..1400, ecn())
            .prop_map(|(interval, payload, ecn)| Traffic::Irtt(Irtt { interval, payload, ecn })),
        (span(10..40), ecn()).prop_map(|(interval, ecn)| Traffic::Voip(Voip {
            interval,
            payload: 172,
            ecn
        })),
        video,
        short.prop_map(|(tcp, mean_interval, count, length_p5, request)| {
            let length_p95 = 3 * length_p5;
            Traffic::ShortFlows(ShortFlows {
                tcp,
                mean_interval,
                count,
                length_p5,
                length_p95,
                request,
            })
        }),
        streaming.prop_map(|(tcp, segment, segments, live)| {
            let ladder = [200, 600, 1800, 6000].map(|k| Rate::from_bits_per_sec(k * 1000)).to_vec();
            let buffer = segment * segments;
            Traffic::Streaming(Streaming {
                tcp,
                ladder,
                segment,
                buffer,
                start_at: segment,
                resume_at: segment * 2,
                live_delay: live.then_some(buffer),
                safety: 0.8,
                half_lives: (Span::from_secs(3), Span::from_secs(8)),
                size_sigma: 0.2,
                request: 300,
            })
        }),
        (
            settings(),
            span(5..600),
            span(5..600),
            any::<bool>(),
            option::weighted(0.5, 100_u64..5000)
        )
            .prop_map(|(tcp, on, off, exponential, kbit)| {
                let over = match kbit {
                    Some(kbit) => Pulse::Udp(Udp {
                        rate: Rate::from_bits_per_sec(kbit * 1000),
                        payload: 800,
                        ecn: Ecn::Ect0,
                    }),
                    None => Pulse::Tcp(tcp),
                };
                Traffic::OnOff(OnOff { over, on, off, exponential })
            }),
    ]
    .boxed()
}

fn traffic() -> BoxedStrategy<Traffic> {
    let ecn = || select(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][..]);
    prop_oneof![
        6 => tcp(),
        3 => application(),
        1 => (100_u64..30_000, 18_u32..1472, ecn()).prop_map(|(kbit, payload, ecn)| {
            Traffic::Udp(Udp { rate: Rate::from_bits_per_sec(kbit * 1000), payload, ecn })
        }),
        1 => (5_u64..300, 28_u32..1500, ecn()).prop_map(|(ms, size, ecn)| {
            Traffic::Ping(Ping { interval: Span::from_millis(ms), size, ecn })
        }),
    ]
    .boxed()
}

#[derive(Clone, Debug)]
struct FlowDraw {
    traffic: Traffic,
    up: bool,
    path: Index,
    stack: Index,
    start_ms: u64,
    stop_ms: Option<u64>,
    waits: bool,
}

fn flow() -> BoxedStrategy<FlowDraw> {
    (
        traffic(),
        proptest::bool::weighted(0.3),
        any::<Index>(),
        any::<Index>(),
        prop_oneof![2 => Just(0), 1 => 0_u64..1500],
        option::weighted(0.3, 0_u64..3000),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(traffic, up, path, stack, start_ms, stop_ms, waits)| FlowDraw {
            traffic,
            up,
            path,
            stack,
            start_ms,
            stop_ms,
            waits,
        })
        .boxed()
}

#[derive(Clone, Debug)]
enum What {
    Rate(Rate),
    Change(Words),
    Replace(Words, Index, Option<Shaper>),
    Delay(u64),
    Netem(String),
    Start(Index),
    Stop(Index),
}

#[derive(Clone, Debug)]
struct EventDraw {
    ms: u64,
    when: u8,
    hop: Index,
    up: bool,
    what: What,
}

fn event() -> BoxedStrategy<EventDraw> {
    let what = prop_oneof![
        3 => rate().prop_map(What::Rate),
        2 => words(true).prop_map(What::Change),
        2 => (words(false), any::<Index>(), option::weighted(0.4, shaper()))
            .prop_map(|(words, family, shaper)| What::Replace(words, family, shaper)),
        2 => (50_u64..100_000).prop_map(What::Delay),
        1 => delay_words().prop_map(|d| What::Netem(format!("delay {d} limit 5000"))),
        1 => any::<Index>().prop_map(What::Start),
        1 => any::<Index>().prop_map(What::Stop),
    ];
    (1_u64..2500, 0_u8..6, any::<Index>(), any::<bool>(), what)
        .prop_map(|(ms, when, hop, up, what)| EventDraw { ms, when, hop, up, what })
        .boxed()
}

/// A scenario that prints on one line.
#[derive(Clone)]
pub(crate) struct Drawn(pub(crate) Scenario);

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Any scenario.
pub(crate) fn scenario() -> BoxedStrategy<Drawn> {
    (
        vec(hop(), 1..=2),
        vec(flow(), 1..=6),
        vec(event(), 0..=3),
        any::<u64>(),
        1_u64..=4,
        select(&[7_u64, 50, 130][..]),
        select(&[0_u64, 0, 310][..]),
    )
        .prop_map(|(hops, flows, events, seed, seconds, interval, warmup)| {
            let length = Span::from_secs(seconds).min(affordable(&hops));
            let spans = [length, Span::from_millis(interval), Span::from_millis(warmup)];
            Drawn(build(&hops, &flows, events, seed, spans))
        })
        .boxed()
}

/// Fast links run for a shorter time: some twenty thousand packets each way at most.
fn affordable(hops: &[HopDraw]) -> Span {
    let fastest = hops.iter().flat_map(|h| h.shapers).map(capacity).max().expect("a hop");
    fastest.time_for(20_000 * 1514).max(Span::from_millis(1300))
}

fn capacity(shaper: Shaper) -> Rate {
    match shaper {
        Shaper::Htb { rate, ceil, .. } => ceil.map_or(rate, |c| c.min(rate)),
        Shaper::Line { rate } | Shaper::Trace { rate, .. } | Shaper::Link { rate, .. } => rate,
        Shaper::Own { .. } => Rate::from_mbit(200),
    }
}

const SIDES: [&str; 2] = ["down", "up"];

fn build(
    hops: &[HopDraw],
    flows: &[FlowDraw],
    mut events: Vec<EventDraw>,
    seed: u64,
    [duration, sample_interval, warmup]: [Span; 3],
) -> Scenario {
    let families = families();
    let stack = |i: &Index| i.get(STACKS).name.to_owned();
    let flows: Vec<Flow> = flows
        .iter()
        .enumerate()
        .map(|(i, f)| {
            let mut paths = vec![vec![0]];
            if hops.len() == 2 {
                paths.extend([vec![0, 1], vec![0, 1], vec![1]]);
            }
            Flow {
                name: format!("flow-{i}"),
                group: None,
                stack: stack(&f.stack),
                // A TCP connection's other end may be of another stack: here, of the flow before.
                receiver_stack: (i > 0 && f.traffic.tcp().is_some())
                    .then(|| stack(&flows[i - 1].stack)),
                ip: if i % 3 == 1 { Ip::V6 } else { Ip::V4 },
                direction: if f.up { Direction::Up } else { Direction::Down },
                hops: f.path.get(&paths).clone(),
                dscp: Dscp::BEST_EFFORT,
                start: if f.waits {
                    Start::Event
                } else {
                    Start::At(At::from_millis(f.start_ms as i64))
                },
                stop: f.stop_ms.map(|ms| At::from_millis(ms as i64)),
                delays: None,
                by: None,
                traffic: f.traffic.clone(),
            }
        })
        .collect();

    // The discipline of each queue, as events change it: the place of its family.
    let mut standing: Vec<[usize; 2]> = Vec::new();
    let hops: Vec<Hop> = hops
        .iter()
        .enumerate()
        .map(|(n, h)| {
            let family = h.family.index(families.len());
            standing.push([family; 2]);
            let side = |side: usize| {
                let element =
                    |name: &str, kind| Element { name: name.to_owned(), enabled: true, kind };
                let own = flows.iter().zip(&h.own_delays);
                let per_flow = own
                    .filter_map(|(flow, us)| {
                        let delay = Span::from_micros((*us)?);
                        Some(FlowDelay { flow: flow.name.clone(), delay })
                    })
                    .collect();
                let chain = vec![format!("delay {} {}", h.one_way, h.more)];
                let mut elements = vec![element("netem", Kind::Netem(Netem { chain, per_flow }))];
                if h.bare {
                    elements.clear();
                }
                let queue = match &h.own_htb {
                    Some(words) => {
                        Queue { shaper: Shaper::Own { rate: None }, qdisc: words.clone().into() }
                    }
                    None => Queue {
                        shaper: h.shapers[side],
                        qdisc: h.words[side][family].clone().into(),
                    },
                };
                elements.push(element("qdisc", Kind::Queue(queue)));
                elements
            };
            Hop {
                name: format!("hop-{n}"),
                stack: stack(&h.stack),
                by: None,
                host_nic: false,
                down: side(0),
                up: side(1),
            }
        })
        .collect();

    events.sort_by_key(|e| e.ms);
    let events = events
        .into_iter()
        .enumerate()
        .filter_map(|(n, e)| {
            let hop = e.hop.index(hops.len());
            let side = usize::from(e.up);
            let path = |element: &str| format!("hop-{hop}.{}.{element}", SIDES[side]);
            let has_netem = hops[hop].down.len() == 2;
            let is_own = matches!(
                &hops[hop].down.last().expect("a queue").kind,
                Kind::Queue(Queue { shaper: Shaper::Own { .. }, .. })
            );
            let mut timed = false;
            let action = match e.what {
                What::Rate(rate) => Action::Rate { element: path("qdisc"), rate },
                What::Change(_) | What::Replace(..) if is_own => return None,
                What::Change(words) => {
                    timed = true;
                    let qdisc = words[standing[hop][side]].clone();
                    Action::ChangeQdisc { element: path("qdisc"), qdisc: qdisc.into() }
                }
                What::Replace(words, family, shaper) => {
                    timed = true;
                    standing[hop][side] = family.index(families.len());
                    let qdisc = words[standing[hop][side]].clone();
                    Action::ReplaceQdisc { element: path("qdisc"), qdisc: qdisc.into(), shaper }
                }
                What::Delay(_) | What::Netem(_) if !has_netem => return None,
                What::Delay(us) => Action::Delay {
                    element: path("netem"),
                    flow: None,
                    delay: Span::from_micros(us),
                },
                What::Netem(words) => {
                    Action::ChangeNetem { element: path("netem"), chain: vec![words] }
                }
                What::Start(i) => Action::StartFlow { flow: i.get(&flows).name.clone() },
                What::Stop(i) => Action::StopFlow { flow: i.get(&flows).name.clone() },
            };
            let delay = Span::from_millis(e.ms / 10);
            let flow = flows[0].name.clone();
            let queue = path("qdisc");
            let when = match e.when {
                // Families are followed by time, so what changes them must come at a time.
                _ if timed => When::At(At::from_millis(e.ms as i64)),
                0 => When::After { reference: Reference::Workload, edge: Edge::End, delay },
                1 => When::After { reference: Reference::Flow(flow), edge: Edge::Start, delay },
                2 => When::State {
                    gauge: Gauge::Queue { queue, name: "backlog_packets".to_owned() },
                    order: Order::Above,
                    value: 5.0,
                    delay,
                },
                _ => When::At(At::from_millis(e.ms as i64)),
            };
            Some(Event { name: format!("event-{n}"), when, actions: vec![action] })
        })
        .collect();

    Scenario {
        experiment: "random".to_owned(),
        source: String::new(),
        cell: Vec::new(),
        seed,
        origin: Origin::FirstFlow,
        duration,
        warmup,
        sample_interval,
        stack: STACKS[0].name.to_owned(),
        hops,
        flows,
        events,
        phases: Vec::new(),
        windows: Vec::new(),
        checks: Vec::new(),
        traces: Vec::new(),
        links: vec![],
        plugins: Vec::new(),
    }
}
