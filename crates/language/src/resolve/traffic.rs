//! What a flow sends.

use super::super::decode::Fields;
use super::super::keys::Section;
use super::super::sections::{
    MOST_BYTES, MOST_SEND_BUFFER, MOST_WINDOW, QUIC, TCP_KEYS, TCP_STACK, TRAFFIC_KEYS, traffic_key,
};
use super::super::source::DiagnosticKind;
use super::{Resolver, named};
use sojourn_model::{
    Adaptation, App, EcnMode, FrameSize, Irtt, OnOff, Ping, Profile, Pulse, Quic, QuicCrypto,
    ReceiveWindow, RttScaling, ShortFlows, SlowStart, Streaming, Tcp, TcpStack, Traffic,
    TrafficKind, Udp, Video, Voip,
};
use sojourn_units::{Ecn, Rate, Span};

/// Whether a section has a key of this name.
fn has(section: &Section, key: &str) -> bool {
    section.keys.iter().any(|k| k.name == key)
}

impl Resolver<'_> {
    /// The traffic of a flow on a path with this BDP, bytes, if it is known.
    pub(super) fn traffic(
        &mut self,
        table: &Fields,
        stack: &str,
        bdp: Option<f64>,
    ) -> Option<Traffic> {
        use TrafficKind as Is;
        let keys = TRAFFIC_KEYS.iter().copied();
        let given: Vec<TrafficKind> =
            keys.filter(|k| table.given(traffic_key(*k)).is_some()).collect();
        let kind = match given[..] {
            [] => Is::Tcp,
            [one] => one,
            // What an on/off source sends may be UDP.
            [Is::Udp, Is::OnOff] => Is::OnOff,
            [_, second, ..] => {
                let place = table.place_of(traffic_key(second));
                let names: Vec<&str> = given.iter().map(|k| traffic_key(*k)).collect();
                let message = format!("a flow is one thing, not {}", names.join(" and "));
                self.says(&place, DiagnosticKind::Key, message);
                return None;
            }
        };
        let over_udp = given.contains(&Is::Udp);
        let is_tcp = matches!(kind, Is::Tcp | Is::ShortFlows | Is::Streaming | Is::App)
            || (kind == Is::OnOff && !over_udp);
        if !is_tcp && let Some(key) = TCP_KEYS.iter().find(|k| table.given(k).is_some()) {
            let place = table.place_of(key);
            let (message, own) = match kind {
                Is::TcpStack => (
                    format!("{key} is of this project's TCP, and this flow is an implementation"),
                    has(&TCP_STACK, key),
                ),
                _ => (
                    format!("{key} is TCP's, and this flow is {kind}"),
                    *key == "ecn" || (kind == Is::Quic && has(&QUIC, key)),
                ),
            };
            self.diagnostics.push(place.says(DiagnosticKind::Key, message).help(if own {
                format!("write {} = {{ {key} = … }}", traffic_key(kind))
            } else {
                format!("leave {key} out")
            }));
            return None;
        }
        if kind != Is::Tcp && is_tcp && table.given("bytes").is_some() {
            let place = table.place_of("bytes");
            self.says(&place, DiagnosticKind::Key, format!("a {kind} source has its own lengths"));
        }
        let ecn = |t: &Fields| t.ecn("ecn").unwrap_or(Ecn::NotEct);
        match kind {
            Is::Udp => Some(Traffic::Udp(udp(table.table("udp")?)?)),
            Is::Ping => {
                let t = table.table("ping")?;
                let size = t.count("size")? as u32;
                Some(Traffic::Ping(Ping { interval: t.span("interval")?, size, ecn: ecn(t) }))
            }
            Is::Irtt => {
                let t = table.table("irtt")?;
                let payload = t.count("payload")? as u32;
                Some(Traffic::Irtt(Irtt { interval: t.span("interval")?, payload, ecn: ecn(t) }))
            }
            Is::Voip => {
                let t = table.table("voip")?;
                let payload = t.count("payload")? as u32;
                Some(Traffic::Voip(Voip { interval: t.span("interval")?, payload, ecn: ecn(t) }))
            }
            Is::Video => self.video(table.table("video")?).map(Traffic::Video),
            Is::ShortFlows => {
                let tcp = self.tcp(table, stack, bdp);
                self.short_flows(tcp, table.table("short_flows")?).map(Traffic::ShortFlows)
            }
            Is::Streaming => {
                let tcp = self.tcp(table, stack, bdp);
                self.streaming(tcp, table.table("streaming")?).map(Traffic::Streaming)
            }
            Is::OnOff => {
                let over = match table.table("udp") {
                    Some(t) => Pulse::Udp(udp(t)?),
                    None => Pulse::Tcp(self.tcp(table, stack, bdp)),
                };
                let t = table.table("on_off")?;
                Some(Traffic::OnOff(OnOff {
                    over,
                    on: t.span("on")?,
                    off: t.span("off")?,
                    exponential: t.bool("exponential")?,
                }))
            }
            Is::Program => self.program(table.table("program")?).map(Traffic::Program),
            Is::Tcp => Some(Traffic::Tcp(self.tcp(table, stack, bdp))),
            Is::Quic => self.quic(table.table("quic")?).map(Traffic::Quic),
            Is::TcpStack => self.tcp_stack(table.table(traffic_key(kind))?).map(Traffic::TcpStack),
            Is::App => {
                let words = self.own_words(table.item(kind.name())?, |v, words| v.app(words));
                Some(Traffic::App(App { words, tcp: self.tcp(table, stack, bdp) }))
            }
        }
    }

    fn quic(&mut self, t: &Fields) -> Option<Quic> {
        let (stack, cc) = self.implementation(t, TrafficKind::Quic)?;
        for key in QUIC.keys.iter().filter(|key| t.given(key.name).is_some()) {
            self.lacks(t, &stack, key.name, "leave it out, or use another stack");
        }
        if t.given("ack_delay").is_some() && t.given("ack_every").is_none() {
            self.says(
                &t.place_of("ack_delay"),
                DiagnosticKind::Key,
                "ack_delay goes with ack_every",
            );
        }
        Some(Quic {
            stack,
            cc,
            crypto: match t.text("crypto") {
                Some("tls") => QuicCrypto::Tls,
                _ => QuicCrypto::Null,
            },
            ecn: t.text("ecn") != Some("off"),
            bytes: t.count("bytes"),
            streams: t.count("streams")? as u32,
            initial_window: t.count("initial_window").map(|n| n as u32),
            ack_every: t.count("ack_every").map(|n| n as u32),
            ack_delay: t.span("ack_delay"),
            burst: t.count("burst")? as u32,
            receive_window: t.count("receive_window"),
            max_pacing_rate: t.rate("max_pacing_rate"),
            timer_granularity: t.span("timer_granularity"),
        })
    }

    fn tcp_stack(&mut self, t: &Fields) -> Option<TcpStack> {
        let (stack, cc) = self.implementation(t, TrafficKind::TcpStack)?;
        let ecn = match t.text("ecn") {
            Some("off") => EcnMode::Off,
            Some("rfc3168") => EcnMode::Rfc3168,
            Some("accecn") => EcnMode::AccEcn,
            _ => EcnMode::Default,
        };
        // An implementation without ECN does by default the same as with `off`.
        if !matches!(ecn, EcnMode::Default | EcnMode::Off) {
            self.lacks(t, &stack, "ecn", "ecn = \"off\", or leave it out");
        }
        let others = TCP_STACK.keys.iter().filter(|key| key.name != "ecn");
        for key in others.filter(|key| t.given(key.name).is_some()) {
            self.lacks(t, &stack, key.name, "leave it out");
        }
        Some(TcpStack {
            stack,
            cc,
            ecn,
            bytes: t.count("bytes"),
            initial_window: t.count("initial_window").map(|n| n as u32),
            ack_delay: t.span("ack_delay"),
            receive_window: t.count("receive_window")?,
            timer_granularity: t.span("timer_granularity"),
        })
    }

    /// The implementation that a table names, and its congestion control.
    fn implementation(&mut self, t: &Fields, kind: TrafficKind) -> Option<(String, String)> {
        let item = t.item("stack")?;
        let (stack, known) = named(item.text(), |name| self.vocabulary.implementation(kind, name));
        if let Err(error) = known {
            self.word_error(item, error);
            return None;
        }
        let cc = match t.item("cc") {
            Some(item) => {
                let (name, known) =
                    named(item.text(), |name| self.vocabulary.implementation_cc(name, &stack));
                if let Err(error) = known {
                    self.word_error(item, error);
                }
                name
            }
            None => self.vocabulary.implementation_default(&stack).to_owned(),
        };
        Some((stack, cc))
    }

    /// Refuses a setting that an implementation does not have.
    fn lacks(&mut self, t: &Fields, stack: &str, setting: &str, help: &str) {
        if let Some(why) = self.vocabulary.implementation_lacks(stack, setting) {
            let message = format!("{stack} has no {setting}: {why}");
            let said = t.place_of(setting).says(DiagnosticKind::Key, message);
            self.diagnostics.push(said.help(help));
        }
    }

    fn tcp(&mut self, table: &Fields, stack: &str, bdp: Option<f64>) -> Tcp {
        let cc = match table.item("cc") {
            Some(item) => {
                let (name, known) = named(item.text(), |name| self.vocabulary.cc(name, stack));
                if let Err(error) = known {
                    self.word_error(item, error);
                }
                name
            }
            None => "cubic".to_owned(),
        };
        let ecn = match table.text("ecn") {
            Some("off") => EcnMode::Off,
            Some("rfc3168") => EcnMode::Rfc3168,
            Some("accecn") => EcnMode::AccEcn,
            Some("sce") => EcnMode::Sce,
            _ => EcnMode::Default,
        };
        if table.given("rtt_target").is_some() && table.given("rtt_scaling").is_none() {
            let place = table.place_of("rtt_target");
            self.says(&place, DiagnosticKind::Key, "rtt_target goes with rtt_scaling");
        }
        for (one, other) in [("saved_cwnd", "saved_rtt"), ("saved_rtt", "saved_cwnd")] {
            if table.given(one).is_some() && table.given(other).is_none() {
                let place = table.place_of(one);
                self.says(&place, DiagnosticKind::Key, format!("{one} goes with {other}"));
            }
        }
        let saved_cwnd = self.of_flow(table, "saved_cwnd", bdp, MOST_WINDOW);
        let bytes = self.of_flow(table, "bytes", bdp, MOST_BYTES);
        let window = self.of_flow(table, "receive_window", bdp, MOST_WINDOW);
        let send_buffer = self.of_flow(table, "send_buffer", bdp, MOST_SEND_BUFFER);
        let host_qdisc = table.item("host_qdisc").map(|item| self.qdisc(item, stack, None));
        Tcp {
            cc,
            ecn,
            codepoint: table.ecn("codepoint"),
            bytes,
            max_pacing_rate: table.rate("max_pacing_rate"),
            app_rate: table.rate("app_rate"),
            initial_window: table.count("initial_window").map(|n| n as u32),
            receive_window: window.map_or(ReceiveWindow::Autotune, ReceiveWindow::Fixed),
            send_buffer,
            offload: table.bool("offload").unwrap_or(false),
            host_qdisc,
            ignore_ce: table.bool("ignore_ce").unwrap_or(false),
            slow_start: table.text("slow_start").map(|kind| match kind {
                "hystart++" => SlowStart::HyStartPlusPlus,
                "search" => SlowStart::Search,
                "search-4" => SlowStart::Search4,
                "rapid-start" => SlowStart::RapidStart,
                _ => SlowStart::Standard,
            }),
            saved_cwnd,
            saved_rtt: table.span("saved_rtt"),
            rate_limited_increase: table.bool("rate_limited_increase").unwrap_or(false),
            rtt_scaling: table.text("rtt_scaling").map(|mode| match mode {
                "rate" => RttScaling::Rate,
                "scalable" => RttScaling::Scalable,
                "additive" => RttScaling::Additive,
                _ => RttScaling::None,
            }),
            rtt_target: table.span("rtt_target"),
        }
    }

    fn video(&mut self, t: &Fields) -> Option<Video> {
        let ecn = t.ecn("ecn")?;
        let mut video = match t.text("profile")? {
            "call-up" => Video::captured(Profile::CallUp, ecn),
            "frames" => frames(ecn),
            _ => Video::captured(Profile::CallDown, ecn),
        };
        if let Some(rate) = t.rate("rate") {
            let audio = f64::from(video.audio_payload) * 8.0 / video.audio_interval.as_secs_f64();
            let (wanted, now) = (
                rate.bits_per_sec() as f64 - audio,
                video.mean_rate().bits_per_sec() as f64 - audio,
            );
            if wanted <= 0.0 {
                let place = t.place_of("rate");
                self.says(
                    &place,
                    DiagnosticKind::Value,
                    format!("{rate} is less than the audio alone"),
                );
                return None;
            }
            for size in &mut video.frame_sizes {
                *size = scaled(*size, wanted / now);
            }
        }
        if t.bool("adapt")? {
            let (min, max) = (t.rate("min_rate")?, t.rate("max_rate")?);
            if min > max {
                let place = t.place_of("min_rate");
                self.says(
                    &place,
                    DiagnosticKind::Value,
                    format!("min_rate {min} is above max_rate {max}"),
                );
            }
            video.adaptation =
                Some(Adaptation { loss: 0.02, decrease: 0.85, increase: 1.05, min, max });
        }
        Some(video)
    }

    fn short_flows(&mut self, tcp: Tcp, t: &Fields) -> Option<ShortFlows> {
        let (length_p5, length_p95) = (t.count("length_p5")?, t.count("length_p95")?);
        if length_p5 > length_p95 {
            let place = t.place_of("length_p5");
            self.says(&place, DiagnosticKind::Value, "length_p5 is larger than length_p95");
        }
        Some(ShortFlows {
            tcp,
            mean_interval: t.span("mean_interval")?,
            count: t.count("count"),
            length_p5,
            length_p95,
            request: t.count("request")? as u32,
        })
    }

    fn streaming(&mut self, tcp: Tcp, t: &Fields) -> Option<Streaming> {
        let profile = profile(t.text("profile")?);
        let ladder: Vec<Rate> = match t.given("ladder") {
            Some(_) => {
                t.list("ladder").iter().filter_map(super::super::decode::Item::rate).collect()
            }
            None => {
                profile.ladder.iter().map(|&kbit| Rate::from_bits_per_sec(kbit * 1000)).collect()
            }
        };
        if ladder.is_empty() || ladder.windows(2).any(|w| w[0] >= w[1]) {
            let place = t.place_of("ladder");
            self.says(&place, DiagnosticKind::Value, "the ladder of bitrates ascends");
        }
        let time = |key: &str, default: u64| t.span(key).unwrap_or(Span::from_secs(default));
        let segment = time("segment", profile.segment);
        let buffer = time("buffer", profile.buffer);
        if buffer < segment {
            let place = t.place_of("buffer");
            self.says(
                &place,
                DiagnosticKind::Value,
                format!("the buffer holds less than a segment of {segment}"),
            );
        }
        Some(Streaming {
            tcp,
            ladder,
            segment,
            buffer,
            start_at: time("start_at", profile.start_at),
            resume_at: time("resume_at", profile.resume_at),
            live_delay: t.span("live_delay").or(profile.live_delay.map(Span::from_secs)),
            safety: t.number("safety")?,
            half_lives: (Span::from_secs(3), Span::from_secs(8)),
            size_sigma: t.number("size_sigma")?,
            request: t.count("request")? as u32,
        })
    }
}

fn udp(t: &Fields) -> Option<Udp> {
    Some(Udp { rate: t.rate("rate")?, payload: t.count("payload")? as u32, ecn: t.ecn("ecn")? })
}

/// Thirty log-normal frames a second with a key frame every 10 s, 2.3 Mbit/s in all (docs/sources/applications.md#video-with-key-frames).
fn frames(ecn: Ecn) -> Video {
    Video {
        frame_intervals: vec![Span::from_nanos(33_333_333)],
        frame_sizes: vec![FrameSize::LogNormal { mean: 9_380.0, sigma: 0.25 }],
        packet_payload: 1_200,
        burst_rate: Rate::from_mbit(1_000),
        key_frame_every: Some(Span::from_secs(10)),
        key_frame_factor: 4.0,
        audio_interval: Span::from_millis(20),
        audio_payload: 122,
        ecn,
        adaptation: None,
    }
}

fn scaled(size: FrameSize, factor: f64) -> FrameSize {
    let times = |n: u32| ((f64::from(n) * factor + 0.5) as u32).max(1);
    match size {
        FrameSize::Uniform { low, high } => {
            FrameSize::Uniform { low: times(low), high: times(high) }
        }
        FrameSize::Measured(sizes) => FrameSize::Measured(sizes.map(times)),
        FrameSize::LogNormal { mean, sigma } => FrameSize::LogNormal { mean: mean * factor, sigma },
    }
}

/// A streaming service (docs/sources/applications.md#adaptive-streaming). Times in seconds, bitrates in kbit/s.
struct Service {
    ladder: &'static [u64],
    segment: u64,
    buffer: u64,
    start_at: u64,
    resume_at: u64,
    live_delay: Option<u64>,
}

fn profile(name: &str) -> Service {
    match name {
        "live-hd" => Service {
            ladder: &[600, 1_200, 2_500, 4_000, 6_000],
            segment: 4,
            buffer: 12,
            start_at: 8,
            resume_at: 4,
            live_delay: Some(12),
        },
        "live-sd" => Service {
            ladder: &[400, 800, 1_300, 2_000],
            segment: 4,
            buffer: 8,
            start_at: 8,
            resume_at: 4,
            live_delay: Some(8),
        },
        _ => Service {
            ladder: &[150, 300, 600, 1_200, 2_500, 5_000, 10_000, 18_000],
            segment: 5,
            buffer: 60,
            start_at: 5,
            resume_at: 5,
            live_delay: None,
        },
    }
}
