//! One direction of a call with a rate that follows the path: an encoder, a sender under congestion control, a receiver
//! that reports.
//!
//! Sources: the control's (`sojourn_media::{Scream, Prague, Gcc}`); the encoder's (RFC 8593 §5); reports as RTCP
//! packets by RFC 8888, which travel back with their bytes. A packet is RTP over UDP: 12 bytes of RTP header count as
//! payload of UDP, as of the target.
//!
//! Frames wait at the sender, cut into packets, until pacing and window let them go. If they wait for longer than the
//! flow says they are thrown away, all that wait, and the next is a key frame: the sender's choice by §3.3 of the
//! control's text.
//!
//! Two kinds of delay are kept: of packets, as of any flow (`packet_owd`), and of whole frames, from the encoder to
//! the last of their packets at the receiver. A frame is a row in the table `completions`, without an end if a packet
//! of it was lost or it was thrown away; the same times are the flow's own delays (the histogram `owd`).

use super::interface::App;
use super::named::{AppSetup, NamedApp};
use super::report::{DelayKind, FlowReport, Record};
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_media::{
    Encoder, EncoderSettings, Gcc, GccOptions, MediaControl, Mode, Options as ScreamOptions,
    Prague, PragueOptions, Receiver, ReportRules, Scream, Switches, feedback,
};
use sojourn_qdisc::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_record::{Completion, FlowSample};
use sojourn_transport::cc::INFINITE_SSTHRESH;
use sojourn_units::{Ecn, Random, Rate, Span, Time};
use std::collections::VecDeque;

/// Bytes of an RTP header without extensions (RFC 3550 §5.1).
const RTP_HEADER: u64 = 12;

/// Its table.
pub(crate) const INFO: Discipline = Discipline {
    name: "media",
    summary: "one direction of a call: an encoder that follows its congestion control, RTP, and reports by RFC 8888",
    source: "draft-ietf-ccwg-rfc8298bis-screamv2 (October 2026), L4STeam/udp_prague (2024), draft-ietf-rmcat-gcc-02 with libwebrtc's goog_cc, RFC 8888, RFC 8593 §5",
    options: options_of!(Options),
    examples: &[
        "media",
        "media control scream ecn l4s min 150kbit max 20mbit fps 25",
        "media control prague max 20mbit report_every 1",
        "media control gcc min 300kbit max 5mbit",
        "media ecn off max 1500kbit key_every 2s key_size 4 discard 300ms",
        "media reduce_jitter clock_drift loss_threshold undershoot competing",
    ],
    ..Discipline::BASE
};

/// The controls.
const CONTROLS: &[&str] = &["scream", "prague", "gcc"];
/// What packets say of ECN.
const ECN: &[&str] = &["l4s", "classic", "off"];

/// A control of [`CONTROLS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Scream,
    Prague,
    Gcc,
}

/// The options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    control: Which,
    budget: f64,
    ecn: Mode,
    min: Rate,
    max: Rate,
    packet: u32,
    encoder: EncoderSettings,
    discard: Option<Span>,
    report: ReportRules,
    switches: Switches,
}

/// A word out of a list.
const fn word(name: &'static str, words: &'static [&'static str]) -> ValueSpec {
    ValueSpec { name, kind: Kind::Word(words), optional: false }
}

/// A number with decimals.
const fn real(name: &'static str, what: &'static str, min: f64, max: f64) -> ValueSpec {
    ValueSpec { name, kind: Kind::Real { what, min, max }, optional: false }
}

/// A number of packets.
const fn packets(max: u64) -> ValueSpec {
    let kind = Kind::Count { unit: "packets", min: 1, max };
    ValueSpec { name: "PACKETS", kind, optional: false }
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "control",
            values: &[word("CONTROL", CONTROLS)],
            preset: DefaultValue::Is("scream"),
            doc: "the congestion control of the sender: SCReAMv2, UDP Prague, or Google Congestion Control",
            tried: &["control scream", "control prague", "control gcc"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| {
            options.control = match () {
                () if given.has("prague") => Which::Prague,
                () if given.has("gcc") => Which::Gcc,
                () => Which::Scream,
            };
        }),
        OptionSpec {
            name: "ecn",
            values: &[word("ECN", ECN)],
            preset: DefaultValue::Is("l4s"),
            doc: "what packets say of ECN and what marks mean: ECT(1) and the share of marks, ECT(0) and a fixed part, or nothing; prague takes marks for those of L4S, and gcc sends Not-ECT",
            tried: &["ecn l4s", "ecn classic", "ecn off"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| {
            options.ecn = match () {
                () if given.has("l4s") => Mode::L4s,
                () if given.has("classic") => Mode::Classic,
                () => Mode::NoEcn,
            };
        }),
        OptionSpec {
            name: "min",
            values: table::RATE,
            preset: DefaultValue::Is("150kbit"),
            doc: "the least target, RTP headers included, and the first one",
            tried: &["min 64kbit", "min 300kbit"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.min = given.rate()),
        OptionSpec {
            name: "max",
            values: table::RATE,
            preset: DefaultValue::Is("1500kbit"),
            doc: "the highest target; as much as `min` where that is higher",
            tried: &["max 600kbit", "max 20mbit"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.max = given.rate()),
        OptionSpec {
            name: "fps",
            values: &[real("FRAMES", "frames a second", 1.0, 1_000.0)],
            preset: DefaultValue::Is("30"),
            doc: "frames a second",
            tried: &["fps 10", "fps 25", "fps 60"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.encoder.fps = given.real()),
        OptionSpec {
            name: "packet",
            values: &[ValueSpec {
                name: "BYTES",
                kind: Kind::Size { min: 100, max: 1_472 },
                optional: false,
            }],
            preset: DefaultValue::Is("1000b"),
            doc: "the largest packet with its RTP header (the text's MSS)",
            tried: &["packet 500b", "packet 1200b"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.packet = given.number()),
        OptionSpec {
            name: "size_noise",
            values: &[real("SCALE", "a share of the mean", 0.0, 10.0)],
            preset: DefaultValue::Is("0.15"),
            doc: "how frames' sizes vary: the scale of a Laplace distribution in parts of the mean (RFC 8593's SCALE_B)",
            tried: &["size_noise 0", "size_noise 0.5"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.encoder.size_noise = given.real()),
        OptionSpec {
            name: "interval_noise",
            values: &[real("SCALE", "a share of the mean", 0.0, 10.0)],
            preset: DefaultValue::Is("0.15"),
            doc: "how the time from frame to frame varies, likewise (SCALE_t)",
            tried: &["interval_noise 0"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.encoder.interval_noise = given.real()),
        OptionSpec {
            name: "reaction",
            values: table::TIME,
            preset: DefaultValue::Is("200ms"),
            doc: "the least time between changes of the encoder's rate (τ_v)",
            tried: &["reaction 0s", "reaction 1s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.encoder.reaction = given.span()),
        OptionSpec {
            name: "key_every",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Unset("no key frames but those after a discard"),
            doc: "time between key frames; the others are smaller, so that the mean is kept",
            tried: &["key_every 1s", "key_every 10s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.encoder.key_every = Some(given.span())),
        OptionSpec {
            name: "key_size",
            values: &[real("TIMES", "a number of times the mean", 0.1, 100.0)],
            preset: DefaultValue::Is("3"),
            doc: "how large a key frame is",
            tried: &["key_size 1", "key_size 6"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.encoder.key_size = given.real()),
        OptionSpec {
            name: "discard",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Unset("every frame is sent"),
            doc: "frames that wait for so long at the sender are thrown away, and a key frame follows",
            tried: &["discard 100ms", "discard 1s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.discard = Some(given.span())),
        OptionSpec {
            name: "report_every",
            values: &[packets(1_000)],
            preset: DefaultValue::Is("16"),
            doc: "packets after which the receiver reports",
            tried: &["report_every 1", "report_every 64"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.report.every = given.number()),
        OptionSpec {
            name: "report_interval",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("40ms"),
            doc: "time after which it reports, if packets have come",
            tried: &["report_interval 5ms", "report_interval 100ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.report.interval = given.span()),
        OptionSpec {
            name: "report_frames",
            off: Some("noreport_frames"),
            preset: DefaultValue::Is("report_frames"),
            doc: "it reports the last packet of each frame, too",
            tried: &["noreport_frames"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.report.frames = given.on),
        OptionSpec {
            name: "report_span",
            values: &[packets(16_384)],
            preset: DefaultValue::Is("32"),
            doc: "newest packets that each report tells of at least, so that a report that is lost is made good",
            tried: &["report_span 1", "report_span 200"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.report.span = given.number()),
        OptionSpec {
            name: "reduce_jitter",
            doc: "SCReAM: slower growth while the delay varies (REDUCE_JITTER, §4.2.1.4)",
            tried: &["reduce_jitter"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.switches.reduce_jitter = given.on),
        OptionSpec {
            name: "clock_drift",
            doc: "SCReAM: the base delay is forgotten when the queue seems never to be empty (§4.5.1)",
            tried: &["clock_drift"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.switches.clock_drift = given.on),
        OptionSpec {
            name: "loss_threshold",
            doc: "SCReAM: losses of up to 1 % without a delay call for no reaction (§4.5.2)",
            tried: &["loss_threshold"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.switches.loss_threshold = given.on),
        OptionSpec {
            name: "undershoot",
            doc: "SCReAM: smaller reductions while the target is below what arrives (§4.5.3)",
            tried: &["undershoot"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.switches.undershoot = given.on),
        OptionSpec {
            name: "competing",
            doc: "SCReAM: a larger delay is admitted against flows that fill the queue (§4.5.4)",
            tried: &["competing"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.switches.competing = given.on),
        OptionSpec {
            name: "budget",
            values: &[ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false }],
            preset: DefaultValue::Is("80%"),
            doc: "UDP Prague: the share of the time from frame to frame that a frame may take at the rate",
            tried: &["budget 50%", "budget 100%"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.budget = given.probability(0).unwrap_or(1.0)),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        let encoder = EncoderSettings {
            fps: 0.0,
            size_noise: 0.0,
            interval_noise: 0.0,
            reaction: Span::ZERO,
            key_every: None,
            key_size: 0.0,
        };
        Self {
            control: Which::Scream,
            budget: 0.0,
            ecn: Mode::L4s,
            min: Rate::ZERO,
            max: Rate::ZERO,
            packet: 0,
            encoder,
            discard: None,
            report: ReportRules::SCREAM,
            switches: Switches::default(),
        }
    }
}

/// A packet that waits at the sender.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// With its RTP header.
    bytes: u32,
    /// The number of its frame.
    frame: u32,
    /// How many packets of its frame follow.
    behind: u32,
}

/// What the RTP header of a packet that was sent says, which the receiver reads.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// The number of its frame.
    frame: u32,
    /// Whether it is the frame's last (the marker bit).
    marker: bool,
    /// Whether it has come: a copy is none of the frame's packets.
    came: bool,
}

/// A frame, and how many of its packets have not come.
#[derive(Clone, Copy, Debug)]
struct Frame {
    row: Completion,
    missing: u32,
}

/// The two ends.
#[derive(Debug)]
pub(crate) struct Media {
    options: Options,
    ecn: Ecn,
    random: Random,
    encoder: Option<Encoder>,
    control: Box<dyn MediaControl>,
    queue: VecDeque<Waiting>,
    /// Of each packet that was sent, by its number.
    headers: Vec<Header>,
    /// Every frame, by its number.
    frames: Vec<Frame>,
    receiver: Receiver,
    /// The receiver has seen the end: nothing more is reported.
    stopped: bool,
    received: u64,
    received_bytes: u64,
    ce: u64,
    reports_sent: u32,
    report_bytes: u64,
    frames_discarded: u64,
    frames_complete: u64,
    encoded_bytes: u64,
    sent_bytes: u64,
}

impl NamedApp for Media {
    type Options = Options;

    fn new(options: Options, setup: AppSetup) -> Self {
        let min = options.min.bits_per_sec() as f64;
        let max = (options.max.bits_per_sec() as f64).max(min);
        let frame_period = 1.0 / options.encoder.fps;
        let max_packet = options.packet;
        let control: Box<dyn MediaControl> = match options.control {
            Which::Gcc => Box::new(Gcc::new(GccOptions { min, max, max_packet })),
            Which::Prague => {
                let budget = options.budget;
                Box::new(Prague::new(PragueOptions { min, max, max_packet, frame_period, budget }))
            }
            Which::Scream => {
                let (mode, mss, switches) = (options.ecn, max_packet, options.switches);
                Box::new(Scream::new(ScreamOptions { mode, min, max, mss, frame_period, switches }))
            }
        };
        let ecn = match options.ecn {
            _ if options.control == Which::Gcc => Ecn::NotEct,
            Mode::NoEcn => Ecn::NotEct,
            Mode::Classic => Ecn::Ect0,
            Mode::L4s => Ecn::Ect1,
        };
        Self {
            ecn,
            random: setup.random,
            encoder: None,
            control,
            queue: VecDeque::new(),
            headers: Vec::new(),
            frames: Vec::new(),
            receiver: Receiver::new(options.report),
            stopped: false,
            received: 0,
            received_bytes: 0,
            ce: 0,
            reports_sent: 0,
            report_bytes: 0,
            frames_discarded: 0,
            frames_complete: 0,
            encoded_bytes: 0,
            sent_bytes: 0,
            options,
        }
    }
}

impl Media {
    /// When the packet that waits longest may leave.
    fn next_packet(&self) -> Time {
        self.queue.front().map_or(Time::NEVER, |packet| self.control.may_send(packet.bytes))
    }

    /// For how long the packet that waits longest has waited.
    fn waited(&self, now: Time) -> Span {
        let made = |packet: &Waiting| self.frames[packet.frame as usize].row.started;
        self.queue.front().map_or(Span::ZERO, |packet| now.since(made(packet)))
    }

    /// The encoder makes the frame that is due.
    fn encode(&mut self, now: Time) {
        let waited = self.waited(now);
        let Some(encoder) = &mut self.encoder else { return };
        if self.options.discard.is_some_and(|longest| waited > longest) {
            encoder.request_key();
            // A frame that has begun to leave goes on: it can still arrive whole.
            let is_begun = self.headers.last().is_some_and(|header| !header.marker);
            let rest = self.queue.front().map_or(0, |packet| packet.behind as usize + 1);
            let keep = if is_begun { rest } else { 0 };
            let gone = self.queue.iter().skip(keep).filter(|packet| packet.behind == 0).count();
            self.frames_discarded += gone as u64;
            self.queue.truncate(keep);
        }
        let frame = encoder.frame(self.control.target_bitrate(), &mut self.random);
        self.encoded_bytes += frame.bytes;
        self.control.on_frame(waited, frame.bytes);
        // The target is of packets with their RTP headers, and so is a frame's size.
        let bytes = frame.bytes.max(RTP_HEADER + 1);
        let count = bytes.div_ceil(self.control.packet_size().into());
        let number = self.frames.len() as u32;
        let row = Completion { started: now, bytes: frame.bytes, ended: Time::NEVER };
        self.frames.push(Frame { row, missing: count as u32 });
        for place in 0..count {
            let bytes = (bytes * (place + 1) / count - bytes * place / count) as u32;
            self.queue.push_back(Waiting {
                bytes,
                frame: number,
                behind: (count - 1 - place) as u32,
            });
        }
    }

    /// What may leave does. Nothing that is due stays behind: each packet moves the time of the next beyond now.
    fn send(&mut self, tx: &mut HostTx<'_>) {
        while self.next_packet() <= tx.now()
            && let Some(packet) = self.queue.pop_front()
        {
            self.send_packet(tx, packet);
        }
    }

    fn send_packet(&mut self, tx: &mut HostTx<'_>, packet: Waiting) {
        let number = self.headers.len() as u32;
        self.headers.push(Header { frame: packet.frame, marker: packet.behind == 0, came: false });
        self.sent_bytes += u64::from(packet.bytes);
        self.control.on_sent(tx.now(), packet.bytes);
        let ecn = if self.control.gives_up_ecn() { Ecn::NotEct } else { self.ecn };
        tx.send_datagram(number, packet.bytes, ecn, false);
    }

    /// A packet has come to the receiver.
    fn receive(&mut self, tx: &mut HostTx<'_>, number: u32, packet: &Packet) {
        tx.note_delivery(packet);
        let (now, ecn) = (tx.now(), packet.ecn_field());
        let Some(header) = self.headers.get_mut(number as usize) else { return };
        self.received += 1;
        self.received_bytes += u64::from(packet.udp_payload());
        self.ce += u64::from(ecn == Ecn::Ce);
        let frame = &mut self.frames[header.frame as usize];
        frame.missing -= u32::from(!header.came);
        if frame.missing == 0 && frame.row.ended.is_never() {
            frame.row.ended = now;
            self.frames_complete += 1;
            tx.note_delay(now - frame.row.started);
        }
        header.came = true;
        let marker = header.marker;
        if let Some(report) = self.receiver.on_packet(now, number, ecn, marker) {
            self.report(tx, &report);
        }
    }

    /// The receiver sends a report.
    fn report(&mut self, tx: &mut HostTx<'_>, report: &[u8]) {
        self.report_bytes += report.len() as u64;
        tx.send_payload(self.reports_sent, report, Ecn::NotEct, true);
        self.reports_sent += 1;
    }
}

impl App for Media {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.encoder = Some(Encoder::new(tx.now(), self.options.encoder));
    }

    /// Waiting packets are not sent any more.
    fn stop(&mut self, _now: Time) {
        self.encoder = None;
        self.queue.clear();
        self.stopped = true;
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let Body::Datagram { number, .. } = packet.body else { return };
        if !packet.is_from_receiver() {
            return self.receive(tx, number, packet);
        }
        if let Some(report) = packet.payload().and_then(feedback::read) {
            self.control.on_report(tx.now(), &report);
            self.send(tx);
        }
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        while self.encoder.as_ref().is_some_and(|encoder| encoder.next() <= now) {
            self.encode(now);
        }
        if !self.stopped && self.receiver.next_report() <= now {
            let report = self.receiver.report(now);
            self.report(tx, &report);
        }
        self.send(tx);
    }

    fn next_timer(&self) -> Time {
        let frame = self.encoder.as_ref().map_or(Time::NEVER, Encoder::next);
        let report = if self.stopped { Time::NEVER } else { self.receiver.next_report() };
        frame.min(report).min(self.next_packet())
    }

    fn delivered_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// The columns of a connection, so far as they have a meaning: the window over the largest packet; no threshold.
    fn record(&self) -> Record {
        let m = self.control.measured();
        Record::Connection(FlowSample {
            rtt_s: m.rtt.map_or(f64::NAN, Span::as_secs_f64),
            srtt_s: m.srtt.unwrap_or(f64::NAN),
            cwnd: (m.window / f64::from(self.options.packet)) as u64,
            ssthresh: u64::from(INFINITE_SSTHRESH),
            in_flight: m.in_flight,
            lost: m.lost,
            delivered: m.received,
            ce: self.ce,
            ece: m.marked,
            pacing_bps: m.pacing,
            ..FlowSample::UNKNOWN
        })
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.control.gauges(out);
        out("encoder_bitrate", self.encoder.as_ref().map_or(0.0, Encoder::rate));
        out("media_queue", self.queue.iter().map(|packet| f64::from(packet.bytes)).sum());
        out("frames_encoded", self.frames.len() as f64);
        out("frames_complete", self.frames_complete as f64);
        out("frames_discarded", self.frames_discarded as f64);
    }

    fn report(&self, _end: Time) -> FlowReport {
        let lost = self.control.measured().lost;
        let totals = vec![
            ("datagrams_sent", self.headers.len() as f64),
            ("datagrams_received", self.received as f64),
            ("ce_packets", self.ce as f64),
            ("packets_lost", lost as f64),
            ("frames_encoded", self.frames.len() as f64),
            ("frames_complete", self.frames_complete as f64),
            ("frames_discarded", self.frames_discarded as f64),
            ("encoded_bytes", self.encoded_bytes as f64),
            ("sent_bytes", self.sent_bytes as f64),
            ("delivered_bytes", self.received_bytes as f64),
            ("reports_sent", f64::from(self.reports_sent)),
            ("report_bytes", self.report_bytes as f64),
        ];
        let completions = self.frames.iter().map(|frame| frame.row).collect();
        FlowReport { delays: DelayKind::OneWay, completions, totals, ..FlowReport::default() }
    }
}
