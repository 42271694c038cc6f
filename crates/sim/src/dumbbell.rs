//! The simplest scenario worth running: flows that share one bottleneck. For tests and benchmarks; experiments
//! are written in the language of `sojourn_language`.

use sojourn_model::{
    At, Direction, EcnMode, Element, Flow, FlowDelay, Hop, Ip, Kind, Netem, Origin, Ping, Queue,
    Scenario, Shaper, Start, Tcp, Traffic,
};
use sojourn_units::{Dscp, Ecn, Rate, Span};

/// A bottleneck, alike in both directions, behind a delay.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Base RTT, half of it each way.
    pub rtt: Span,
    /// The discipline in tc's words.
    pub qdisc: String,
    /// Congestion control of each flow.
    pub ccs: Vec<String>,
    /// Whether the flows ask for ECN.
    pub ecn: bool,
    /// How long it runs.
    pub duration: Span,
    /// The seed.
    pub seed: u64,
    /// The stack of everything.
    pub stack: String,
    /// Whether a ping runs, too.
    pub ping: bool,
}

impl Default for Dumbbell {
    fn default() -> Self {
        Self {
            rate: Rate::from_mbit(50),
            rtt: Span::from_millis(20),
            qdisc: "fq_codel".to_owned(),
            ccs: vec!["cubic".to_owned(), "cubic".to_owned()],
            ecn: true,
            duration: Span::from_secs(60),
            seed: 1,
            stack: sojourn_stacks::DEFAULT.to_owned(),
            ping: true,
        }
    }
}

impl Dumbbell {
    /// The settings of a flow as the defaults have them, with this control.
    pub fn tcp(&self, cc: &str) -> Tcp {
        Tcp::plain(cc, if self.ecn { EcnMode::Rfc3168 } else { EcnMode::Off })
    }

    /// A flow through the bottleneck from the beginning on.
    pub fn flow(&self, name: &str, traffic: Traffic) -> Flow {
        Flow {
            name: name.to_owned(),
            group: None,
            stack: self.stack.clone(),
            ip: Ip::V4,
            direction: Direction::Down,
            hops: vec![0],
            dscp: Dscp::BEST_EFFORT,
            start: Start::At(At::ORIGIN),
            stop: None,
            delays: None,
            receiver_stack: None,
            by: None,
            traffic,
        }
    }

    /// The scenario.
    pub fn scenario(&self) -> Scenario {
        let side = || {
            let chain = vec![format!("delay {} limit 1000000", self.rtt / 2)];
            let netem = Kind::Netem(Netem { chain, per_flow: Vec::<FlowDelay>::new() });
            let shaper = Shaper::Htb { rate: self.rate, ceil: None, burst: None };
            let queue = Kind::Queue(Queue { shaper, qdisc: self.qdisc.as_str().into() });
            let element = |name: &str, kind| Element { name: name.to_owned(), enabled: true, kind };
            vec![element("netem", netem), element("qdisc", queue)]
        };
        let mut flows = Vec::with_capacity(self.ccs.len() + usize::from(self.ping));
        flows.extend(
            self.ccs
                .iter()
                .enumerate()
                .map(|(i, cc)| self.flow(&format!("{cc}-{}", i + 1), Traffic::Tcp(self.tcp(cc)))),
        );
        if self.ping {
            let interval = Span::from_millis(200);
            let ping = Ping { interval, size: 84, ecn: Ecn::NotEct };
            flows.push(self.flow("ping", Traffic::Ping(ping)));
        }
        Scenario {
            experiment: "dumbbell".to_owned(),
            source: String::new(),
            cell: Vec::new(),
            seed: self.seed,
            origin: Origin::FirstFlow,
            duration: self.duration,
            warmup: Span::ZERO,
            sample_interval: Span::from_millis(50),
            stack: self.stack.clone(),
            hops: vec![Hop {
                name: "bottleneck".to_owned(),
                stack: self.stack.clone(),
                by: None,
                host_nic: false,
                down: side(),
                up: side(),
            }],
            flows,
            events: Vec::new(),
            phases: Vec::new(),
            windows: Vec::new(),
            checks: Vec::new(),
            traces: Vec::new(),
            links: Vec::new(),
            plugins: Vec::new(),
        }
    }
}
