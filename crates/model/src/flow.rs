//! Flows: who sends, along which hops, when, and what.

use super::{At, By, Program, TcWords, TrafficKind, Video};
use serde::{Deserialize, Serialize};
use sojourn_units::{Dscp, Ecn, Rate, Span};

/// One flow, or one generator of flows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// Unique among the flows. Members of a counted group are called `group-1`, `group-2`, ….
    pub name: String,
    /// The group that metrics may name as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The stack of its hosts; of the one that sends its data, if [`Flow::receiver_stack`] names another.
    pub stack: String,
    /// The stack of the host that receives its data, where that is not [`Flow::stack`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_stack: Option<String>,
    /// Who carries out its hosts. Without it the engine chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The version of IP of its packets.
    #[serde(default, skip_serializing_if = "Ip::is_v4")]
    pub ip: Ip,
    /// Which way its data goes.
    pub direction: Direction,
    /// Indices of the hops it passes, in the order of the `down` direction whichever way its data goes.
    pub hops: Vec<usize>,
    /// The DSCP of its packets, both ways (as netperf's `-Y` sets it).
    pub dscp: Dscp,
    /// When it starts, before the stack's jitter is added.
    pub start: Start,
    /// When it stops, at the latest (default: the end of the run).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<At>,
    /// Whether the delays of its packets are recorded per flow (default: by the rule in
    /// `sojourn_results::metrics::subjects`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<bool>,
    /// What it sends.
    pub traffic: Traffic,
}

impl Flow {
    /// The stack of the host that receives its data.
    pub fn receiver(&self) -> &str {
        self.receiver_stack.as_deref().unwrap_or(&self.stack)
    }

    /// The stacks of its hosts, the sender's first; one if they have the same.
    pub fn stacks(&self) -> impl Iterator<Item = &str> {
        let other = self.receiver_stack.as_deref().filter(|other| *other != self.stack);
        std::iter::once(&*self.stack).chain(other)
    }
}

/// A version of IP. Lengths are stated for version 4 throughout: a header of version 6 adds [`Ip::more`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ip {
    /// RFC 791.
    #[default]
    V4,
    /// RFC 8200.
    V6,
}

impl Ip {
    /// Bytes by which its header is longer than version 4's 20, without options.
    pub const fn more(self) -> u32 {
        match self {
            Self::V4 => 0,
            Self::V6 => 20,
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    const fn is_v4(&self) -> bool {
        matches!(self, Self::V4)
    }
}

/// Which way a flow's data goes: the ends of every path are a server and a client, as on anybody's line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A download: the server sends data through the `down` side of its hops, the client's ACKs come back through `up`, in
    /// reverse order of hops.
    #[default]
    Down,
    /// An upload: the client sends, the other way round.
    Up,
}

/// When a flow starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// At a point in time.
    At(At),
    /// When an event's action starts it.
    Event,
}

/// What a flow sends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traffic {
    /// One TCP connection that always has data to send, or a stated number of bytes.
    Tcp(Tcp),
    /// Unresponsive UDP at a constant rate.
    Udp(Udp),
    /// ICMP echo.
    Ping(Ping),
    /// One-way and two-way delay probe in UDP, as irtt sends it.
    Irtt(Irtt),
    /// A voice call's stream.
    Voip(Voip),
    /// One direction of a video call.
    Video(Video),
    /// Many short TCP connections, started open-loop.
    ShortFlows(ShortFlows),
    /// Adaptive video streaming over one connection.
    Streaming(Streaming),
    /// A source that is alternately on and off.
    OnOff(OnOff),
    /// One QUIC connection between two real stacks.
    Quic(Quic),
    /// One TCP connection between two real stacks.
    TcpStack(TcpStack),
    /// Programs of the machine.
    Program(Program),
    /// Whatever of an engine's applications these words name.
    App(App),
}

impl Traffic {
    /// Which it is, without its settings.
    pub const fn kind(&self) -> TrafficKind {
        match self {
            Self::Tcp(_) => TrafficKind::Tcp,
            Self::Udp(_) => TrafficKind::Udp,
            Self::Ping(_) => TrafficKind::Ping,
            Self::Irtt(_) => TrafficKind::Irtt,
            Self::Voip(_) => TrafficKind::Voip,
            Self::Video(_) => TrafficKind::Video,
            Self::ShortFlows(_) => TrafficKind::ShortFlows,
            Self::Streaming(_) => TrafficKind::Streaming,
            Self::OnOff(_) => TrafficKind::OnOff,
            Self::Quic(_) => TrafficKind::Quic,
            Self::TcpStack(_) => TrafficKind::TcpStack,
            Self::Program(_) => TrafficKind::Program,
            Self::App(_) => TrafficKind::App,
        }
    }

    /// The word that files and messages use.
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Whether it carries data for its own sake: everything but the probes.
    pub const fn is_load(&self) -> bool {
        !matches!(self, Self::Ping(_) | Self::Irtt(_))
    }

    /// The codepoint of its datagrams, of traffic that is a stream of them one way.
    pub const fn datagrams(&self) -> Option<Ecn> {
        match self {
            Self::Udp(udp) | Self::OnOff(OnOff { over: Pulse::Udp(udp), .. }) => Some(udp.ecn),
            Self::Voip(voip) => Some(voip.ecn),
            Self::Video(video) => Some(video.ecn),
            _ => None,
        }
    }

    /// The TCP settings, of traffic that runs over TCP.
    pub const fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Tcp(tcp)
            | Self::ShortFlows(ShortFlows { tcp, .. })
            | Self::Streaming(Streaming { tcp, .. })
            | Self::OnOff(OnOff { over: Pulse::Tcp(tcp), .. })
            | Self::App(App { tcp, .. }) => Some(tcp),
            _ => None,
        }
    }
}

/// One TCP connection.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tcp {
    /// The congestion control, by Linux's name: `cubic`, `prague`. Behind it may stand options that it has: `bbr3 drain_gain 0.35`.
    pub cc: String,
    /// What is negotiated about ECN.
    pub ecn: EcnMode,
    /// The codepoint of data packets where the congestion control's own choice is not wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codepoint: Option<Ecn>,
    /// The number of bytes to send (default: without end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The socket's maximum pacing rate (`SO_MAX_PACING_RATE`): a flow with one is paced, whatever its
    /// congestion control does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pacing_rate: Option<Rate>,
    /// The rate at which the application writes (default: as fast as it may).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_rate: Option<Rate>,
    /// The initial window in packets (default: the stack's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// The receive window.
    pub receive_window: ReceiveWindow,
    /// The sender's send buffer, in bytes, as the argument of `SO_SNDBUF`: the kernel takes twice as much, and counts
    /// each packet's overhead, too (default: grows with the window up to the stack's largest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<u64>,
    /// Whether groups of segments pass links and queues as one (segmentation offloads); they leave together in any
    /// case.
    pub offload: bool,
    /// The sender's own queue in tc's words (`fq`; default: none, as in the published rigs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_qdisc: Option<TcWords>,
    /// Whether the sender takes no notice of CE (its feedback is given, and ignored).
    pub ignore_ce: bool,
    /// Another slow start than the congestion control's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
    /// The window that an earlier connection used on the path, bytes, to which Careful Resume (RFC 9959) comes back;
    /// goes with [`Tcp::saved_rtt`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_cwnd: Option<u64>,
    /// The minimum RTT of that connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_rtt: Option<Span>,
    /// Whether a window that is not filled grows by draft-ietf-ccwg-ratelimited-increase-10 instead of Linux's rule.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub rate_limited_increase: bool,
    /// How a Prague's growth depends on the RTT (default: as in its version).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_scaling: Option<RttScaling>,
    /// The target RTT of that (default: 25 ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_target: Option<Span>,
}

impl Tcp {
    /// The name of the congestion control, and the options behind it.
    ///
    /// ```
    /// use sojourn_model::{EcnMode, Tcp};
    ///
    /// let tcp = Tcp::plain("bbr3 drain_gain 0.35", EcnMode::Default);
    /// assert_eq!(tcp.control(), ("bbr3", "drain_gain 0.35"));
    /// assert_eq!(Tcp::plain("python:my file.py:Mine", EcnMode::Default).control(), ("python:my file.py:Mine", ""));
    /// ```
    pub fn control(&self) -> (&str, &str) {
        let cc = self.cc.trim();
        // A name with a colon is of something outside, such as a file, and its path may have spaces.
        match cc.split_once(char::is_whitespace) {
            Some((name, options)) if !name.contains(':') => (name, options.trim_start()),
            _ => (cc, ""),
        }
    }

    /// A connection of this congestion control that has no other setting of its own.
    pub fn plain(cc: impl Into<String>, ecn: EcnMode) -> Self {
        Self {
            cc: cc.into(),
            ecn,
            codepoint: None,
            bytes: None,
            max_pacing_rate: None,
            app_rate: None,
            initial_window: None,
            receive_window: ReceiveWindow::default(),
            send_buffer: None,
            offload: false,
            host_qdisc: None,
            ignore_ce: false,
            slow_start: None,
            saved_cwnd: None,
            saved_rtt: None,
            rate_limited_increase: false,
            rtt_scaling: None,
            rtt_target: None,
        }
    }
}

/// How a flow's window grows up to its threshold, and what ends that before a loss or a mark does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SlowStart {
    /// Nothing does (RFC 5681).
    #[serde(rename = "standard")]
    Standard,
    /// A rise of the RTT, after some rounds of slower growth (RFC 9406).
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
    /// Deliveries that do not double any more (draft-chung-ccwg-search, version 3.0).
    #[serde(rename = "search")]
    Search,
    /// Deliveries that stay behind what was sent one RTT before, and then a gradual drain of the queue (SEARCH 4.0).
    #[serde(rename = "search-4")]
    Search4,
    /// As the first, three times a round trip until a queue is built (draft-kazuho-ccwg-rapid-start).
    #[serde(rename = "rapid-start")]
    RapidStart,
}

impl SlowStart {
    /// Its name in an experiment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::HyStartPlusPlus => "hystart++",
            Self::Search => "search",
            Self::Search4 => "search-4",
            Self::RapidStart => "rapid-start",
        }
    }
}

/// How a Prague's growth goes with the RTT (its module parameter `prague_rtt_scaling`, 0 to 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RttScaling {
    /// Not at all: a packet a round trip.
    None,
    /// As fast as with the target RTT.
    Rate,
    /// So that there are marks often enough.
    Scalable,
    /// As with the target and the RTT added up.
    Additive,
}

/// What a connection negotiates about ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnMode {
    /// What the stack and the congestion control do by default.
    #[default]
    Default,
    /// No ECN.
    Off,
    /// RFC 3168: ECE and CWR. The receiver does not echo SCE, whatever its stack.
    Rfc3168,
    /// Accurate ECN (RFC 9768), its ACE field.
    AccEcn,
    /// RFC 3168, and the receiver echoes ECT(1) by ESCE (draft-grimes-tcpm-tcpsce). That is not negotiated: it is the
    /// receiver's setting.
    Sce,
}

/// The receive window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiveWindow {
    /// Grows as the stack's autotuning has it.
    #[default]
    Autotune,
    /// This many bytes, from the first segment on.
    Fixed(u64),
}

/// Unresponsive UDP at a constant rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Udp {
    /// Bits of UDP payload per second.
    pub rate: Rate,
    /// Bytes of payload a packet: 1472 fills a 1514-byte frame.
    pub payload: u32,
    /// The codepoint of every packet.
    pub ecn: Ecn,
}

/// ICMP echo requests and their replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ping {
    /// Between requests; 200 ms in Flent.
    pub interval: Span,
    /// Bytes of the IP packet; 84 by default.
    pub size: u32,
    /// The codepoint; Not-ECT by default.
    pub ecn: Ecn,
}

/// irtt: a UDP packet each interval whatever comes back, answered at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Irtt {
    /// Between packets.
    pub interval: Span,
    /// Bytes of UDP payload each way; 60 by default.
    pub payload: u32,
    /// The codepoint, both ways.
    pub ecn: Ecn,
}

/// A voice call's stream, one way, as Flent's VoIP test sends it (G.711 in RTP).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Voip {
    /// Between packets; 20 ms.
    pub interval: Span,
    /// Bytes of UDP payload; 172.
    pub payload: u32,
    /// The codepoint.
    pub ecn: Ecn,
}

/// Short connections: exponential arrivals, log-normal lengths (the completion-time test, docs/sources/applications.md#short-flows).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShortFlows {
    /// How each connection behaves.
    pub tcp: Tcp,
    /// Mean time between arrivals. The first arrives when the flow starts.
    pub mean_interval: Span,
    /// The number of connections (default: until the flow stops).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The 5th percentile of the lengths in bytes.
    pub length_p5: u64,
    /// The 95th percentile of the lengths in bytes.
    pub length_p95: u64,
    /// Bytes of the request that the receiver of the data sends first, after the handshake.
    pub request: u32,
}

/// An adaptive streaming client and its server (docs/sources/applications.md#adaptive-streaming).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Streaming {
    /// How its connection behaves.
    pub tcp: Tcp,
    /// The ladder of bitrates, ascending.
    pub ladder: Vec<Rate>,
    /// Playing time of a segment.
    pub segment: Span,
    /// The most that is buffered.
    pub buffer: Span,
    /// What must be buffered before playing begins.
    pub start_at: Span,
    /// The buffer that is needed before playing goes on after a stall.
    pub resume_at: Span,
    /// How far behind the source a live stream plays (default: not live).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_delay: Option<Span>,
    /// The share of the estimated throughput that a level may take.
    pub safety: f64,
    /// The half-lives of the two throughput averages.
    pub half_lives: (Span, Span),
    /// The spread of segment sizes: the standard deviation of their logarithm.
    pub size_sigma: f64,
    /// Bytes of a segment's request.
    pub request: u32,
}

/// A source that is alternately on and off.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OnOff {
    /// The traffic that it sends while it is on.
    pub over: Pulse,
    /// The (mean) length of an on period. The first begins when the flow starts.
    pub on: Span,
    /// The (mean) length of an off period.
    pub off: Span,
    /// Whether the lengths are drawn from exponential distributions with these means.
    pub exponential: bool,
}

/// What an on/off source sends while it is on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "lowercase")]
pub enum Pulse {
    /// Data on one TCP connection, as fast as its `app_rate` allows.
    Tcp(Tcp),
    /// UDP at a constant rate.
    Udp(Udp),
}

/// An application that an engine knows by name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct App {
    /// Its name and its options: `tcp_rr request 100b response 10kb`.
    pub words: String,
    /// How the TCP connections behave that it opens.
    pub tcp: Tcp,
}

/// One QUIC connection: both of its ends are an implementation that people use, and not a model of one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quic {
    /// The implementation, by its name: `quinn`, `noq`.
    pub stack: String,
    /// The congestion control, by the implementation's name.
    pub cc: String,
    /// What protects its packets.
    #[serde(default)]
    pub crypto: QuicCrypto,
    /// Whether its hosts can set and read the ECN field. If so, the implementation decides what it sends.
    pub ecn: bool,
    /// The number of bytes to send, over all streams (default: without end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many streams share the connection.
    pub streams: u32,
    /// The initial window in packets of 1200 bytes (default: the implementation's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// After how many packets the receiver is asked to acknowledge, by the extension for the frequency of
    /// acknowledgements (default: not asked).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_every: Option<u32>,
    /// For how long the receiver may hold an acknowledgement back, with `ack_every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_delay: Option<Span>,
    /// How many datagrams the implementation may hand to its host at once (generic segmentation offload).
    pub burst: u32,
    /// The receive window of each stream in bytes (default: the implementation's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<u64>,
    /// The most that is sent in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pacing_rate: Option<Rate>,
    /// The step of the timers of the programs at both ends: a call that is due happens at the next whole step, counted
    /// from the beginning of its program (default: exact).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_granularity: Option<Span>,
}

impl Quic {
    /// Datagrams that an implementation hands over at once on Linux.
    pub const BURST: u32 = 10;

    /// A connection of this implementation and congestion control that has no other setting of its own.
    pub fn plain(stack: impl Into<String>, cc: impl Into<String>) -> Self {
        Self {
            stack: stack.into(),
            cc: cc.into(),
            crypto: QuicCrypto::default(),
            ecn: true,
            bytes: None,
            streams: 1,
            initial_window: None,
            ack_every: None,
            ack_delay: None,
            burst: Self::BURST,
            receive_window: None,
            max_pacing_rate: None,
            timer_granularity: None,
        }
    }
}

/// What protects the packets of a QUIC connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuicCrypto {
    /// Nothing: messages of TLS's lengths, tags of AEAD's length.
    #[default]
    Null,
    /// TLS 1.3.
    Tls,
}

/// One TCP connection: both of its ends are an implementation that people use, and not a model of one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TcpStack {
    /// The implementation, by its name: `smoltcp`.
    pub stack: String,
    /// The congestion control, by the implementation's name.
    pub cc: String,
    /// What is negotiated about ECN.
    pub ecn: EcnMode,
    /// The number of bytes to send (default: without end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The initial window in packets (default: the implementation's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// For how long the receiver may hold an acknowledgement back; zero for not at all (default: the implementation's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_delay: Option<Span>,
    /// The receiver's buffer in bytes, which is the largest window that it offers.
    pub receive_window: u64,
    /// The step of the timers of the programs at both ends, as that of [`Quic::timer_granularity`] (default: exact).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_granularity: Option<Span>,
}

impl TcpStack {
    /// Bytes of a receiver's buffer, of an application that has not chosen: enough for 100 Mbit/s at 100 ms.
    pub const RECEIVE_WINDOW: u64 = 1_310_720;

    /// A connection of this implementation and congestion control that has no other setting of its own.
    pub fn plain(stack: impl Into<String>, cc: impl Into<String>) -> Self {
        Self {
            stack: stack.into(),
            cc: cc.into(),
            ecn: EcnMode::Default,
            bytes: None,
            initial_window: None,
            ack_delay: None,
            receive_window: Self::RECEIVE_WINDOW,
            timer_granularity: None,
        }
    }
}
