//! Hops and their elements, in the order in which packets pass.

use super::TcWords;
use super::kind::{By, ElementKind, RuleKind, TunnelProtocol};
use core::fmt;
use serde::{Deserialize, Serialize};
use sojourn_units::{Dscp, Ecn, Rate, Span};

/// One hop: the elements that packets pass on their way, and those for the packets the other way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hop {
    /// Unique among the hops.
    pub name: String,
    /// The stack that decides the versions of the disciplines here.
    pub stack: String,
    /// Who carries out its elements. Without it the engine chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Whether the queue or radio that packets meet first here is the NIC of the host that sends them: TCP's small queues
    /// see what waits in it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub host_nic: bool,
    /// What packets to the client pass, in their order.
    pub down: Vec<Element>,
    /// What packets to the server pass, in their order.
    pub up: Vec<Element>,
}

/// A direction through a hop. `down` is the way from the server to the client, which a download's data goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// From the server to the client: data of downloads, and the ACKs of uploads.
    Down,
    /// From the client to the server: data of uploads, and the ACKs of downloads.
    Up,
}

impl Side {
    /// `down` or `up`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }

    /// From its name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "down" => Some(Self::Down),
            "up" => Some(Self::Up),
            _ => None,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Hop {
    /// The elements of one direction, in path order.
    pub fn side(&self, side: Side) -> &[Element] {
        match side {
            Side::Down => &self.down,
            Side::Up => &self.up,
        }
    }

    /// Every element with its path, `down` first, each direction in path order: `bottleneck.down.qdisc`.
    pub fn elements(&self) -> impl Iterator<Item = (String, &Element)> {
        [Side::Down, Side::Up].into_iter().flat_map(move |side| {
            self.side(side).iter().map(move |e| (format!("{}.{side}.{}", self.name, e.name), e))
        })
    }
}

/// Something that packets pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Element {
    /// Unique in its side of its hop. The delay of the hop is called `netem`, its queue `qdisc`.
    pub name: String,
    /// Whether it acts at the beginning of the run; an event may change it. A queue is always enabled.
    pub enabled: bool,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What an element is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Delay, jitter, bursts and loss of a path.
    Netem(Netem),
    /// A bottleneck's queue with its shaper.
    Queue(Queue),
    /// Changes header bits.
    Rewrite(Rewrite),
    /// Puts packets into a tunnel.
    Encapsulate(Tunnel),
    /// Takes packets out of the tunnel of this name and checks for replays.
    Decapsulate {
        /// The name of the tunnel, as its [`Kind::Encapsulate`] has it.
        tunnel: String,
    },
    /// Drops or remarks what exceeds a rate, without a queue.
    Policer(Policer),
    /// A link that aggregates frames and changes its rate.
    AggregatingLink(AggregatingLink),
    /// A wireless LAN's link: a channel that both directions and neighbours share.
    Wifi(Wifi),
    /// Whatever of an engine's path elements these words name.
    Middlebox(Middlebox),
}

impl Kind {
    /// Whether packets wait in it, in a queue with recorded statistics.
    pub const fn holds_a_queue(&self) -> bool {
        matches!(self, Self::Queue(_) | Self::AggregatingLink(_) | Self::Wifi(_))
    }

    /// Which it is, without its settings.
    pub const fn kind(&self) -> ElementKind {
        match self {
            Self::Netem(_) => ElementKind::Netem,
            Self::Queue(_) => ElementKind::Queue,
            Self::Rewrite(_) => ElementKind::Rewrite,
            Self::Encapsulate(_) => ElementKind::Encapsulate,
            Self::Decapsulate { .. } => ElementKind::Decapsulate,
            Self::Policer(_) => ElementKind::Policer,
            Self::AggregatingLink(_) => ElementKind::AggregatingLink,
            Self::Wifi(_) => ElementKind::Wifi,
            Self::Middlebox(_) => ElementKind::Middlebox,
        }
    }

    /// The word that files and messages use.
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }
}

/// A path's delay in netem's words.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Netem {
    /// The options of each netem in tc's words without the word `netem` (`delay 10ms limit 10000`), in the order
    /// in which packets pass them: the second is the child of the first, as the harness's `root-tree` builds it.
    pub chain: Vec<String>,
    /// Flows with a delay of their own. Each passes a chain of its own (with its own limits, as behind the
    /// harness's `rttfair` classes), in which this delay replaces the first netem's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_flow: Vec<FlowDelay>,
}

/// The one-way delay of one flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlowDelay {
    /// The flow's name.
    pub flow: String,
    /// One way.
    pub delay: Span,
}

/// A queue and what shapes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Queue {
    /// What limits the rate.
    #[serde(flatten)]
    pub shaper: Shaper,
    /// The discipline in tc's words: `fq_codel flows 1 target 1ms`.
    pub qdisc: TcWords,
}

impl Queue {
    /// The rate that utilisation is computed against at the beginning of the run, if known.
    pub const fn capacity(&self) -> Option<Rate> {
        match self.shaper {
            Shaper::Htb { rate, .. }
            | Shaper::Line { rate }
            | Shaper::Trace { rate, .. }
            | Shaper::Link { rate, .. } => Some(rate),
            Shaper::Own { rate } => rate,
        }
    }
}

/// What limits a queue's rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "shaper", rename_all = "lowercase")]
pub enum Shaper {
    /// One class of a hierarchical token bucket above the discipline, as the published rigs have it.
    Htb {
        /// The class's rate.
        rate: Rate,
        /// Its ceiling (default: the rate itself).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceil: Option<Rate>,
        /// The bucket in bytes (default: as tc computes it).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst: Option<u64>,
    },
    /// A line that sends one packet after the other, as hardware does.
    Line {
        /// The line's rate.
        rate: Rate,
    },
    /// A link that sends when its trace has a chance.
    Trace {
        /// Which of [`Scenario::traces`](crate::Scenario::traces).
        trace: u32,
        /// What it delivers in the mean.
        rate: Rate,
    },
    /// A link that words name.
    Link {
        /// Which of [`Scenario::links`](crate::Scenario::links).
        link: u32,
        /// The rate at which it sends.
        rate: Rate,
    },
    /// The discipline shapes itself (`cake bandwidth`, `cnq_codel_af bandwidth`, `tbf`), or nothing does.
    Own {
        /// What its own words amount to, for utilisation; unknown if not stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Rate>,
    },
}

/// A rule that changes header bits of the packets that it selects.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rewrite {
    /// What is done.
    #[serde(flatten)]
    pub rule: Rule,
    /// To which packets.
    pub select: Selector,
    /// Whether to SYN segments too (the harness's mangle rules mostly leave them out).
    pub syn: bool,
}

/// What a rewriter does, by the harness's names (docs/sources/harness.md#rewriters) and the fast-lane experiments'.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Rule {
    /// ECN field to Not-ECT; the DSCP goes too unless kept. Negotiation is not touched: the flow still believes
    /// in ECN, queues can only drop.
    BleachEcn {
        /// Leaves the DSCP. The harness's rule sets the whole byte to zero.
        keep_dscp: bool,
    },
    /// CE to Not-ECT (the whole byte to zero, as the harness does).
    BleachCe,
    /// ECN field to ECT(1).
    DscpToEct1,
    /// Removes ECN from the TCP header (ECE, CWR; hence no negotiation).
    DscpToNotect,
    /// Both: removes ECN from the TCP header and sets ECT(1): the sender cannot hear of a mark.
    DscpToNotectEct1,
    /// ECT(0) to ECT(1).
    Ect0ToEct1,
    /// ECT(1) to ECT(0): erases SCE's signal.
    Ect1ToEct0,
    /// CE back to an ECT codepoint: makes a flow unresponsive to marks.
    CeToEct {
        /// Which: ECT(0) or ECT(1).
        ecn: Ecn,
    },
    /// Sets the DSCP, leaves the ECN field.
    SetDscp {
        /// To this.
        to: Dscp,
    },
    /// Sets the ECN field, and the DSCP where given, of packets with a transport header and payload longer than a
    /// bound: the classifier bug of the video-call experiments.
    ClassifyByLength {
        /// Bytes of transport header and payload; longer ones are rewritten.
        longer_than: u32,
        /// The ECN field they get.
        ecn: Ecn,
        /// The DSCP they get.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Dscp>,
    },
}

impl Rule {
    /// Which it is, without its settings.
    pub const fn kind(&self) -> RuleKind {
        match self {
            Self::BleachEcn { .. } => RuleKind::BleachEcn,
            Self::BleachCe => RuleKind::BleachCe,
            Self::DscpToEct1 => RuleKind::DscpToEct1,
            Self::DscpToNotect => RuleKind::DscpToNotect,
            Self::DscpToNotectEct1 => RuleKind::DscpToNotectEct1,
            Self::Ect0ToEct1 => RuleKind::Ect0ToEct1,
            Self::Ect1ToEct0 => RuleKind::Ect1ToEct0,
            Self::CeToEct { .. } => RuleKind::CeToEct,
            Self::SetDscp { .. } => RuleKind::SetDscp,
            Self::ClassifyByLength { .. } => RuleKind::ClassifyByLength,
        }
    }

    /// The word that files and messages use.
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }
}

/// Which packets a rule is for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selector {
    /// Every packet.
    All,
    /// Those with this DSCP at that place.
    Dscp(Dscp),
    /// Those of these flows, both directions of each.
    Flows(Vec<String>),
}

/// A tunnel: packets get an outer header and, for the queues between its ends, one outer identity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tunnel {
    /// Which kind.
    #[serde(flatten)]
    pub kind: TunnelKind,
    /// The packets that go in; the others pass by.
    pub select: Selector,
    /// Bytes that encapsulation adds to a packet, padding left out.
    pub overhead: u32,
    /// The far end's replay window in packets; 0 switches the check off.
    pub replay_window: u32,
    /// Who carries it out: this program without it, or the kernel of the hosts of the flows inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
}

/// Kinds of tunnel. The ECN field is copied in and out by RFC 6040 in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "tunnel", rename_all = "snake_case")]
pub enum TunnelKind {
    /// WireGuard: one outer 5-tuple, window 8192 (2048 before May 2020), payload padded to 16 bytes.
    Wireguard,
    /// IP in UDP (foo-over-UDP).
    Fou {
        /// `encap-sport auto`: an outer source port per inner flow, which gives a fair queue its flows back.
        auto_source_port: bool,
    },
    /// IPsec ESP in tunnel mode.
    Esp,
}

impl TunnelKind {
    /// Which it is, without its settings.
    pub const fn protocol(self) -> TunnelProtocol {
        match self {
            Self::Wireguard => TunnelProtocol::Wireguard,
            Self::Fou { .. } => TunnelProtocol::Fou,
            Self::Esp => TunnelProtocol::Esp,
        }
    }

    /// The word that files and messages use.
    pub const fn name(self) -> &'static str {
        self.protocol().name()
    }
}

/// A path element that an engine knows by name: one that holds no packets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Middlebox {
    /// Its name and its options: `periodic_loss every 100`.
    pub words: String,
    /// The packets that it meets; the others pass by.
    pub select: Selector,
}

/// A token bucket without a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Policer {
    /// What passes in the long run.
    pub rate: Rate,
    /// The bucket in bytes.
    pub burst: u64,
    /// What happens to the excess.
    pub exceed: PoliceAction,
}

/// What a policer does to packets in excess.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoliceAction {
    /// Drops them.
    Drop,
    /// Marks those that are ECN-capable and drops the others.
    Mark,
}

/// A link that aggregates: frames are collected and sent as bursts at service opportunities, at a rate that wanders
/// (docs/sources/applications.md#radio-links).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AggregatingLink {
    /// The ladder of physical rates, ascending. The rate moves to a neighbour or stays, each equally likely.
    pub rates: Vec<Rate>,
    /// Mean of the exponential time spent at one rate.
    pub dwell: Span,
    /// Opportunities are this far apart, uniformly drawn: at least.
    pub opportunity_min: Span,
    /// And at most.
    pub opportunity_max: Span,
    /// At most this many frames a burst.
    pub frames: u32,
    /// At most this much airtime a burst.
    pub airtime: Span,
    /// The rate at which a burst reaches the next hop.
    pub line: Rate,
    /// Packets that the device holds; later ones are dropped.
    pub limit: u32,
}

/// A link of a wireless LAN at 2.4 GHz (IEEE 802.11-2016, HT): if it is on both sides of its hop, the two directions
/// share the channel, with each other and with neighbours.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wifi {
    /// The ladder of physical rates, ascending. The best that the channel carries moves to a neighbour or stays, each
    /// equally likely; the sender follows by automatic rate fallback.
    pub rates: Vec<Rate>,
    /// Mean of the exponential time at one place of the ladder.
    pub dwell: Span,
    /// At most this many frames an exchange.
    pub frames: u32,
    /// At most this much airtime of data an exchange.
    pub airtime: Span,
    /// The share of frames that are lost at rates which the channel carries.
    pub frame_errors: f64,
    /// How often a frame is sent again before it is given up.
    pub retries: u32,
    /// The rate at which received frames reach the next hop.
    pub line: Rate,
    /// Packets that the device holds; later ones are dropped.
    pub limit: u32,
    /// Others on the channel (default: none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
}

/// What others send on the channel: transfers that come as a Poisson process, each by a station of its own, which
/// contends until it has had its airtime.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Neighbours {
    /// The share of the time that they would need.
    pub load: f64,
    /// The mean airtime of a transfer, exponential.
    pub transfer: Span,
}
