//! The traffic of a flow if nothing were in its way.

use super::ways::FRAME;
use sojourn_model::{
    Flow, Pulse, Quic, ReceiveWindow, ShortFlows, TcWords, Tcp, TcpStack, Traffic, Udp,
};
use sojourn_stacks::Stack;
use sojourn_units::sample::log_normal_by_percentiles;
use sojourn_units::{Rate, parse_rate};

/// Payload of a full segment of TCP with timestamps, bytes.
const SEGMENT: f64 = 1448.0;
/// Payload of a full segment without timestamps, bytes.
const STACK_SEGMENT: f64 = 1460.0;
/// Ethernet, IPv4 and UDP or ICMP in front of a datagram's payload, bytes.
const HEADERS: f64 = 42.0;
/// UDP payload of a full QUIC packet, bytes: the result of the implementations' search for the path's MTU.
const QUIC_DATAGRAM: f64 = 1452.0;
/// The part of it that is a stream's, bytes.
const QUIC_PAYLOAD: f64 = 1418.0;
/// The receive window of a stream by the implementations' defaults, bytes.
const QUIC_WINDOW: f64 = 1_250_000.0;
/// Round trips are not shorter than what the hosts take, s.
const LEAST_RTT: f64 = 1e-4;

/// The traffic of a flow while it is on, as if nobody else were there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Offered {
    /// Data packets a second.
    pub(super) rate: f64,
    /// The length of one on the wire, bytes.
    pub(super) length: f64,
    /// How many there are at most.
    pub(super) most: f64,
    /// The packets that a greedy flow may have out at once; none for other flows.
    pub(super) window: Option<f64>,
    /// The share that goes the way of the data: of a probe, requests.
    pub(super) there: f64,
    /// Rows of results for each of its packets.
    pub(super) rows: f64,
}

impl Offered {
    /// Of a flow on a way of this round trip, s, that loses this share of its packets.
    pub(super) fn by(flow: &Flow, stack: &Stack, rtt: f64, loss: f64) -> Self {
        let greedy = |tcp: &Tcp| greedy(tcp, stack, rtt.max(LEAST_RTT), loss);
        let steady = |rate: f64, payload: f64| Self {
            rate,
            length: payload + HEADERS,
            most: f64::INFINITY,
            window: None,
            there: 1.0,
            rows: 0.0,
        };
        let every = |interval: f64| 1.0 / interval;
        match &flow.traffic {
            Traffic::Tcp(tcp) => greedy(tcp),
            Traffic::Udp(udp) => of_udp(udp, steady),
            Traffic::Ping(ping) => Self {
                there: 0.5,
                rows: 0.5,
                ..steady(
                    2.0 * every(ping.interval.as_secs_f64()),
                    f64::from(ping.size) + 14.0 - HEADERS,
                )
            },
            Traffic::Irtt(irtt) => Self {
                there: 0.5,
                rows: 0.5,
                ..steady(2.0 * every(irtt.interval.as_secs_f64()), f64::from(irtt.payload))
            },
            Traffic::Voip(voip) => Self {
                rows: 1.0,
                ..steady(every(voip.interval.as_secs_f64()), f64::from(voip.payload))
            },
            Traffic::Video(video) => {
                let payload = f64::from(video.packet_payload);
                steady(video.mean_rate().bits_per_sec() as f64 / 8.0 / payload, payload)
            }
            Traffic::ShortFlows(short) => of_short_flows(short),
            Traffic::Streaming(streaming) => {
                let highest = streaming.ladder.last().map_or(0.0, |r| r.bits_per_sec() as f64);
                let full = greedy(&streaming.tcp);
                Self { rate: full.rate.min(highest / 8.0 / SEGMENT), ..full }
            }
            Traffic::OnOff(on_off) => {
                let (on, off) = (on_off.on.as_secs_f64(), on_off.off.as_secs_f64());
                let full = match &on_off.over {
                    Pulse::Tcp(tcp) => greedy(tcp),
                    Pulse::Udp(udp) => of_udp(udp, steady),
                };
                Self { rate: full.rate * on / (on + off), ..full }
            }
            // How much it has to say, only it knows: no more than its path carries.
            Traffic::App(app) => greedy(&app.tcp),
            Traffic::Quic(quic) => of_quic(quic, rtt.max(LEAST_RTT), loss),
            Traffic::TcpStack(tcp) => of_tcp_stack(tcp, rtt.max(LEAST_RTT), loss),
            // The simulator refuses them: no packet of theirs is here.
            Traffic::Program(_) => steady(0.0, SEGMENT),
        }
    }
}

/// One QUIC connection: its streams' receive windows a round trip, unless losses keep it smaller or it is paced.
fn of_quic(quic: &Quic, rtt: f64, loss: f64) -> Offered {
    let stream = quic.receive_window.map_or(QUIC_WINDOW, |bytes| bytes as f64);
    let window =
        (stream * f64::from(quic.streams) / QUIC_PAYLOAD).min(window_by_loss(&quic.cc, rtt, loss));
    let length = QUIC_DATAGRAM + HEADERS;
    let paced = quic.max_pacing_rate.map(|rate| rate.bits_per_sec() as f64 / 8.0 / length);
    Offered {
        rate: paced.into_iter().fold(window / rtt, f64::min),
        length,
        most: quic.bytes.map_or(f64::INFINITY, |bytes| (bytes as f64 / QUIC_PAYLOAD).ceil()),
        window: Some(window),
        there: 1.0,
        rows: 0.0,
    }
}

/// One TCP connection of an implementation: its receiver's buffer a round trip, unless losses keep its window smaller.
fn of_tcp_stack(tcp: &TcpStack, rtt: f64, loss: f64) -> Offered {
    let window =
        (tcp.receive_window as f64 / STACK_SEGMENT).min(window_by_loss(&tcp.cc, rtt, loss));
    Offered {
        rate: window / rtt,
        length: FRAME,
        most: tcp.bytes.map_or(f64::INFINITY, |bytes| (bytes as f64 / STACK_SEGMENT).ceil()),
        window: Some(window),
        there: 1.0,
        rows: 0.0,
    }
}

fn of_udp(udp: &Udp, steady: impl Fn(f64, f64) -> Offered) -> Offered {
    let payload = f64::from(udp.payload);
    steady(udp.rate.bits_per_sec() as f64 / 8.0 / payload, payload)
}

/// One connection: a window a round trip, unless losses keep it smaller, it is paced, its host's queue has a rate, or its
/// application writes slower.
fn greedy(tcp: &Tcp, stack: &Stack, rtt: f64, loss: f64) -> Offered {
    let bytes = match tcp.receive_window {
        ReceiveWindow::Fixed(bytes) => bytes as f64,
        ReceiveWindow::Autotune => {
            f64::from(stack.tcp.receive_buffer.1) * f64::from(stack.tcp.window_share) / 256.0
        }
    };
    // The kernel takes twice what is asked for, and counts in what a segment costs.
    let held = tcp.send_buffer.map_or(f64::INFINITY, |asked| {
        asked as f64 * 2.0 / (SEGMENT + f64::from(stack.tcp.skb_overhead))
    });
    let window = (bytes / SEGMENT).min(held).min(window_by_loss(tcp.control().0, rtt, loss));
    let seconds = |rate: Rate, bytes: f64| rate.bits_per_sec() as f64 / 8.0 / bytes;
    let paced = tcp.max_pacing_rate.map(|rate| seconds(rate, FRAME));
    let written = tcp.app_rate.map(|rate| seconds(rate, SEGMENT));
    let shaped = tcp.host_qdisc.as_ref().and_then(rate_of).map(|rate| seconds(rate, FRAME));
    let limits = [paced, written, shaped].into_iter().flatten();
    Offered {
        rate: limits.fold(window / rtt, f64::min),
        length: FRAME,
        most: tcp.bytes.map_or(f64::INFINITY, |bytes| (bytes as f64 / SEGMENT).ceil()),
        window: Some(window),
        there: 1.0,
        rows: 0.0,
    }
}

/// The mean window of a control that losses govern, packets: Reno's `√(3/2p)` (Mathis and others 1997), CUBIC's
/// `1.054 (RTT/p)^¾` where that is larger (RFC 9438, equation 6 with C = 0.4 and β = 0.7). A BBR's is not limited by
/// single losses.
fn window_by_loss(cc: &str, rtt: f64, loss: f64) -> f64 {
    if loss <= 0.0 || cc.starts_with("bbr") || cc == "none" {
        return f64::INFINITY;
    }
    let reno = (1.5 / loss).sqrt();
    if cc.starts_with("cubic") { reno.max(1.054 * libm::pow(rtt / loss, 0.75)) } else { reno }
}

/// The rate in a discipline's words: `tbf rate 2mbit burst 1540`.
fn rate_of(words: &TcWords) -> Option<Rate> {
    parse_rate(words.after("rate")?).ok()
}

/// The packets of connections with the mean of the log-normal lengths, `exp(μ + σ²/2)`.
fn of_short_flows(short: &ShortFlows) -> Offered {
    let (mu, sigma) = log_normal_by_percentiles(short.length_p5 as f64, short.length_p95 as f64);
    let packets = (libm::exp(mu + sigma * sigma / 2.0) / SEGMENT).max(1.0);
    Offered {
        rate: packets / short.mean_interval.as_secs_f64(),
        length: FRAME,
        most: short.count.map_or(f64::INFINITY, |n| n as f64 * packets),
        window: None,
        there: 1.0,
        rows: 1.0 / packets,
    }
}
