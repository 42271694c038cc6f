//! Every key of the language: name, type, default, meaning.

use super::keys::{Key, Section, Ty};
use sojourn_model::limits::{self, Counts, Times};
use sojourn_model::{By, ElementKind, RuleKind, TrafficKind, TunnelProtocol};

const fn key(name: &'static str, ty: Ty, doc: &'static str) -> Key {
    Key { name, ty, default: None, required: false, doc }
}

const fn required(name: &'static str, ty: Ty, doc: &'static str) -> Key {
    Key { name, ty, default: None, required: true, doc }
}

const fn default(name: &'static str, ty: Ty, value: &'static str, doc: &'static str) -> Key {
    Key { name, ty, default: Some(value), required: false, doc }
}

const fn span(range: Times) -> Ty {
    Ty::Span(range.least, range.most)
}

const fn count(range: Counts) -> Ty {
    Ty::Count(range.least, range.most)
}

/// A delay of a path, one way or round trip.
const DELAY: Ty = Ty::Span("0s", "60s");
const IP: Ty = Ty::Count(4, 6);
/// A time in a run.
const LENGTH: Ty = span(limits::LENGTH);
/// The interval of a periodic source.
const INTERVAL: Ty = span(limits::INTERVAL);
/// A rate of a line or a source.
const RATE: Ty = Ty::Rate("8bit", "10tbit");
/// The payload of a datagram.
const PAYLOAD: Ty = count(limits::PAYLOAD);
/// A token bucket.
/// The maximum amount of data of a flow.
pub(crate) const MOST_BYTES: u64 = 1 << 50;
/// The largest receive window.
pub(crate) const MOST_WINDOW: u64 = 1 << 30;
/// The kernel's limit: it doubles the requested size.
pub(crate) const MOST_SEND_BUFFER: u64 = (1 << 30) - 1;
const BUCKET: Ty = Ty::Buffer(limits::BUCKET.least, limits::BUCKET.most);
const PING_SIZE: Ty = count(limits::PING_SIZE);
const NAMES: Ty = Ty::List(&Ty::Name);
const PACKETS: Ty = Ty::Count(1, 4_294_967_295);

pub(crate) static ROOT: Section = Section {
    name: "the file",
    doc: "One experiment: the common settings, the axes (`[axis.…]`), and the checks.",
    keys: &[
        required("experiment", Ty::Table(&EXPERIMENT), "The settings common to every run."),
        key(
            "let",
            Ty::Free,
            "Values for `${name}` in any string of the file. An axis may set them: `let.buffer = 200`.",
        ),
        key(
            "axis",
            Ty::Free,
            "`[axis.NAME]` with one entry a label, each a table of settings by their paths. \
             There is a run for every combination of labels; later axes override earlier ones.",
        ),
        key(
            "exclude",
            Ty::FreeTables,
            "Combinations to leave out: `axis = \"label\"` or a list of labels; all axes named must match.",
        ),
        key("include", Ty::FreeTables, "Additional combinations: one label for each axis."),
        key(
            "search",
            Ty::Free,
            "What `sojourn search` may vary: settings by their paths, each a range (`\"5mbit..200mbit log\"`, \
             `\"0s..10s\"`, `\"1..8 step 1\"`) or a list of choices; `minimise` or `maximise`: a metric; \
             `[search.behaviour]`: metrics by which what is found is kept apart, with their steps. \
             Nothing else reads it.",
        ),
        key("ping", Ty::Table(&PING), "The ping that runs in addition to the flows, as in Flent."),
        required("hop", Ty::Tables(&HOP), "The hops, in order from the server to the client."),
        key("tunnel", Ty::Tables(&TUNNEL), "Tunnels over some of the hops."),
        required("flow", Ty::Tables(&FLOW), "The flows."),
        key("event", Ty::Tables(&EVENT), "Changes during the run."),
        key("phase", Ty::Tables(&PHASE), "Named intervals, for metrics and events to refer to."),
        key(
            "window",
            Ty::Tables(&WINDOW),
            "Named measuring windows; the one called `steady` is the metrics' default.",
        ),
        key("check", Ty::Tables(&CHECK), "Conditions on the results."),
    ],
};

pub(crate) static EXPERIMENT: Section = Section {
    name: "[experiment]",
    doc: "The settings common to every run.",
    keys: &[
        required(
            "name",
            Ty::Text,
            "The experiment's name: letters, digits, `-`, `_`, `.` and `/`.",
        ),
        default("source", Ty::Text, "", "Its source, such as a publication."),
        default("about", Ty::Text, "", "A short description, for lists of suites."),
        default(
            "keep",
            Ty::Choice(&["summary", "series", "all"]),
            "all",
            "How much of each run a results folder keeps: the answers, counters and distributions; or also the tables over \
             time, without those of controllers (`state.NAME`); or all tables.",
        ),
        key(
            "plugins",
            Ty::List(&Ty::Text),
            "Shared libraries with queue disciplines or congestion controls of one's own, seen from this file: `./libmine.so`. \
             They are native code, which runs with your rights.",
        ),
        default(
            "stack",
            Ty::Stack,
            "linux-7.3",
            "The default stack of hosts and hops: one of `sojourn stacks`; or `host`, this machine's kernel, on the live engine alone (its queues are those of the default).",
        ),
        default("ip", IP, "4", "The default version of IP for flows: 4 or 6."),
        required("duration", LENGTH, "How long the run lasts after time 0."),
        default(
            "origin",
            Ty::Choice(&["first-flow", "flent"]),
            "first-flow",
            "The meaning of time 0: the nominal start of the first flow, or Flent's T0 (flows then start at 5 s).",
        ),
        key(
            "warmup",
            span(limits::WARMUP),
            "How long the run lasts before time 0: 5 s with a ping and first-flow, otherwise 0 s.",
        ),
        default(
            "sample_interval",
            span(limits::SAMPLE_INTERVAL),
            "50ms",
            "The time between two rows of a flow or a queue in the tables over time.",
        ),
        default("seeds", Ty::Seeds, "1", "The number of seeds (1, 2, …), or a list of seeds."),
        default(
            "ping",
            Ty::Bool,
            "true",
            "Whether a ping runs in addition to the flows, from the beginning of the warmup.",
        ),
    ],
};

pub(crate) static PING: Section = Section {
    name: "[ping]",
    doc: "The ping that runs in addition to the flows.",
    keys: &[
        default("interval", INTERVAL, "200ms", "Between requests."),
        default(
            "size",
            PING_SIZE,
            "84",
            "Bytes of the packet with IP version 4; 20 more with version 6.",
        ),
        default("ecn", Ty::Ecn, "not-ect", "Its codepoint."),
        default("dscp", Ty::Dscp, "0", "Its DSCP."),
        key("rtt", DELAY, "Its own base RTT (default: that of the hop)."),
        key("hops", NAMES, "The hops that it passes (default: all)."),
        key("stack", Ty::Stack, "The stack of its hosts (default: the experiment's)."),
        key(
            "by",
            Ty::Choice(By::NAMES),
            "Who carries out its hosts: `kernel`, a real kernel, or `sojourn`, a model. Without it the engine chooses. With the engine linux both can share queues that are by sojourn.",
        ),
        key("ip", IP, "Its version of IP (default: the experiment's)."),
        key(
            "delays",
            Ty::Bool,
            "Whether the delays of its packets are recorded per flow (default: as for a flow).",
        ),
    ],
};

pub(crate) static HOP: Section = Section {
    name: "[[hop]]",
    doc: "A hop: a delay, then a queue, in each direction: `down`, to the client, and `up`, to the server. A setting \
          stands for both directions when it is given here, for one when it is given under `down` or `up`; what `up` does \
          not say is as in `down`.",
    keys: &[
        required("name", Ty::Name, "Its name."),
        key("stack", Ty::Stack, "The stack of its disciplines (default: the experiment's)."),
        key(
            "by",
            Ty::Choice(By::NAMES),
            "Who carries out its queues and links: `sojourn`, this program, or `kernel`. Without it the engine chooses. The engine linux has both, all hops of a run by the same.",
        ),
        key("rtt", DELAY, "Base RTT."),
        default(
            "delay_on",
            Ty::Choice(&["both", "down", "up"]),
            "both",
            "Where the base RTT is: half in each direction, or all in one.",
        ),
        key("rate", RATE, "Rate of the shaper."),
        key("qdisc", Ty::Qdisc, "The discipline, in tc's words."),
        key(
            "shaper",
            SHAPER,
            "What limits the rate: `htb` above the discipline, a bare `line`, or the discipline's `own` words.",
        ),
        key(
            "trace",
            Ty::Text,
            "Instead of a rate, when the link can send: a file as Mahimahi has it, seen from this file (a millisecond a line, each a \
             chance for 1504 bytes; it repeats after the last), or a made-up one: `cellular max 11mbit seed 3`. A down side and an up side have their own.",
        ),
        key(
            "link",
            Ty::Text,
            "Instead of a shaper, a link by its name and options, at the hop's rate: `slotted every 5ms open 1ms`. `sojourn links` lists \
             them.",
        ),
        key("ceil", RATE, "htb's ceil (default: the rate)."),
        key("burst", BUCKET, "htb's bucket (default: computed as by tc)."),
        key(
            "netem",
            Ty::List(&Ty::Netem),
            "Further netems behind the delay, in tc's words: jitter, slots, loss.",
        ),
        default(
            "netem_limit",
            PACKETS,
            "1000000",
            "The limit of the delay's netem (tc's own default is 1000).",
        ),
        default(
            "host_nic",
            Ty::Bool,
            "false",
            "Whether the queue or radio that packets meet first here is the sending host's own network device, so that \
             TCP's small queues see what waits in it. This is for flows with this hop as their first. Their delay \
             must be another hop's.",
        ),
        key(
            "down",
            Ty::Table(&SIDE),
            "Settings of the way to the client: of downloads' data and uploads' ACKs.",
        ),
        key(
            "up",
            Ty::Table(&SIDE),
            "Settings of the way to the server: of uploads' data and downloads' ACKs.",
        ),
        key("element", Ty::Tables(&ELEMENT), "Further elements that packets pass here."),
    ],
};

const SHAPER: Ty = Ty::Choice(&["htb", "line", "own"]);

pub(crate) static SIDE: Section = Section {
    name: "down and up of [[hop]]",
    doc: "One direction of a hop: `down` is the way from the server to the client, `up` the way back.",
    keys: &[
        default(
            "queue",
            Ty::Bool,
            "true",
            "Whether there is a queue at all: no for an ACK path that only delays.",
        ),
        key(
            "rate",
            RATE,
            "Rate of the shaper; with `shaper = \"own\"` what the discipline's words amount to.",
        ),
        key("qdisc", Ty::Qdisc, "The discipline, in tc's words."),
        key("shaper", SHAPER, "`htb` (the default), `line` or `own`."),
        key("trace", Ty::Text, "Instead of a rate, when the link can send."),
        key("link", Ty::Text, "Instead of a shaper, a link by its name and options."),
        key("ceil", RATE, "htb's ceil."),
        key("burst", BUCKET, "htb's bucket."),
        key("delay", DELAY, "The delay of this direction alone."),
        key("netem", Ty::List(&Ty::Netem), "Further netems behind the delay."),
        key("netem_limit", PACKETS, "The limit of the delay's netem."),
    ],
};

pub(crate) static ELEMENT: Section = Section {
    name: "[[hop.element]]",
    doc: "Something that packets pass besides the delay (`netem`) and the queue (`qdisc`): exactly one of `rewrite`, `policer`, `aggregating_link`, `wifi`, `netem` and `middlebox`.",
    keys: &[
        required("name", Ty::Name, "Its name, unique in its side of the hop."),
        default(
            "side",
            Ty::Choice(&["down", "up", "both"]),
            "down",
            "In which direction: to the client, to the server, or both.",
        ),
        key(
            "before",
            Ty::Name,
            "The element that follows it (default: `qdisc`, unless `after` is given).",
        ),
        key("after", Ty::Name, "The element that precedes it."),
        default("enabled", Ty::Bool, "true", "Whether it acts from the beginning."),
        key(ElementKind::Rewrite.name(), Ty::Table(&REWRITE), "Changes header bits."),
        key(
            ElementKind::Policer.name(),
            Ty::Table(&POLICER),
            "Drops or marks what exceeds a rate, without a queue.",
        ),
        key(
            ElementKind::AggregatingLink.name(),
            Ty::Table(&AGGREGATING_LINK),
            "A link that sends frames in bursts.",
        ),
        key(
            ElementKind::Wifi.name(),
            Ty::Table(&WIFI),
            "A link of a wireless LAN (IEEE 802.11n); with `side = \"both\"` the two directions share its channel.",
        ),
        key(
            ElementKind::Netem.name(),
            Ty::List(&Ty::Netem),
            "A netem of its own, in tc's words, a chain if several.",
        ),
        key(
            ElementKind::Middlebox.name(),
            Ty::Table(&MIDDLEBOX),
            "A path element that the engine knows by name; it holds no packets.",
        ),
    ],
};

pub(crate) static REWRITE: Section = Section {
    name: "rewrite of [[hop.element]]",
    doc: "Changes header bits, by the harness's names.",
    keys: &[
        required("rule", Ty::Choice(RuleKind::NAMES), "What is done."),
        key("dscp", Ty::Dscp, "Only to packets with this DSCP at that place."),
        key("flows", NAMES, "Only to packets of these flows or groups."),
        key(
            "syn",
            Ty::Bool,
            "Whether to SYN segments too: yes for `bleach_ecn`, `dscp_to_notect` and `dscp_to_notect_ect1`, no for the others.",
        ),
        default("keep_dscp", Ty::Bool, "false", "For `bleach_ecn`: leaves the DSCP."),
        key("ecn", Ty::Ecn, "For `ce_to_ect` and `classify_by_length`: the codepoint that is set."),
        key("to", Ty::Dscp, "For `set_dscp` and `classify_by_length`: the DSCP that is set."),
        key(
            "longer_than",
            Ty::Count(0, 65_535),
            "For `classify_by_length`: bytes of transport header and payload.",
        ),
    ],
};

pub(crate) static POLICER: Section = Section {
    name: "policer of [[hop.element]]",
    doc: "A token bucket without a queue.",
    keys: &[
        required("rate", RATE, "What passes in the long run."),
        required("burst", BUCKET, "The bucket."),
        default(
            "exceed",
            Ty::Choice(&["drop", "mark"]),
            "drop",
            "What happens to the excess; `mark` drops what is not ECN-capable.",
        ),
    ],
};

pub(crate) static MIDDLEBOX: Section = Section {
    name: "middlebox of [[hop.element]]",
    doc: "A path element that the engine knows by name: those of `sojourn elements`, and those that a program of one's own adds to the simulator.",
    keys: &[
        required("words", Ty::Text, "Its name and its options: `periodic_loss every 100`."),
        key("dscp", Ty::Dscp, "Only packets with this DSCP."),
        key("flows", NAMES, "Only packets of these flows, both directions of each."),
    ],
};

pub(crate) static AGGREGATING_LINK: Section = Section {
    name: "aggregating_link of [[hop.element]]",
    doc: "A link that collects frames into bursts (frame aggregation), at a rate that wanders. Stations do not contend and no frame is lost: for that, see `wifi`.",
    keys: &[
        default(
            "rates",
            Ty::List(&RATE),
            "26mbit, 39mbit, 52mbit, 58mbit, 65mbit, 78mbit",
            "The ladder of rates, ascending.",
        ),
        default("dwell", LENGTH, "1s", "Mean time at one rate, exponential."),
        default("opportunity_min", INTERVAL, "500us", "Least time between opportunities to send."),
        default("opportunity_max", INTERVAL, "4ms", "Largest time between opportunities to send."),
        default("frames", PACKETS, "64", "Frames a burst at most."),
        default("airtime", INTERVAL, "4ms", "Airtime a burst at most."),
        default("line", RATE, "1gbit", "The rate at which a burst reaches the next element."),
        default("limit", PACKETS, "1000", "Packets that the device holds."),
    ],
};

pub(crate) static WIFI: Section = Section {
    name: "wifi of [[hop.element]]",
    doc: "A link of a wireless LAN at 2.4 GHz (IEEE 802.11n): stations contend for the channel, frames that are lost are sent again, the rate follows the channel.",
    keys: &[
        default(
            "rates",
            Ty::List(&RATE),
            "26mbit, 39mbit, 52mbit, 58500kbit, 65mbit, 78mbit",
            "The ladder of rates, ascending. The best that the channel carries wanders on it.",
        ),
        default("dwell", LENGTH, "1s", "Mean time at one place of the ladder, exponential."),
        default("frames", PACKETS, "64", "Frames an exchange at most."),
        default("airtime", INTERVAL, "4ms", "Airtime of an exchange's data at most."),
        default(
            "frame_errors",
            Ty::Number(0.0, 0.99),
            "0.1",
            "The share of frames that are lost at rates which the channel carries; half of them a step above, all beyond.",
        ),
        default(
            "retries",
            Ty::Count(0, 255),
            "7",
            "How often a frame is sent again before it is given up.",
        ),
        default("line", RATE, "1gbit", "The rate at which received frames reach the next element."),
        default("limit", PACKETS, "1000", "Packets that the device holds."),
        default(
            "neighbour_load",
            Ty::Number(0.0, 0.95),
            "0",
            "The share of the time that other stations' transfers need.",
        ),
        default(
            "neighbour_transfer",
            INTERVAL,
            "300ms",
            "Mean airtime of such a transfer, exponential; each is a station of its own.",
        ),
    ],
};

pub(crate) static TUNNEL: Section = Section {
    name: "[[tunnel]]",
    doc: "A tunnel: packets get an outer header before the first of its hops and lose it behind the last, in both directions.",
    keys: &[
        required("name", Ty::Name, "Its name; the far end is called NAME-exit."),
        required("kind", Ty::Choice(TunnelProtocol::NAMES), "Which."),
        default("enabled", Ty::Bool, "true", "Whether it exists: an axis may leave a tunnel out."),
        default(
            "by",
            Ty::Choice(By::NAMES),
            "sojourn",
            "Who carries it out: `sojourn`, this program, or `kernel`, the kernel of the hosts of the flows inside (engine linux, hops by sojourn).",
        ),
        key("hops", NAMES, "The hops that it spans (default: all)."),
        key("flows", NAMES, "The flows or groups inside (default: all)."),
        key(
            "overhead",
            Ty::Count(0, 1_000),
            "Bytes added to a packet (default: wireguard 60, fou 28, esp 54). Not with `by = \"kernel\"`: the kernel adds what it adds.",
        ),
        key(
            "replay_window",
            Ty::Count(0, 65_536),
            "The far end's replay window in packets, 0 for none (default: wireguard 8192, fou 0, esp 32).",
        ),
        default(
            "auto_source_port",
            Ty::Bool,
            "false",
            "For fou: an outer source port for each inner flow (`encap-sport auto`).",
        ),
    ],
};

pub(crate) static FLOW: Section = Section {
    name: "[[flow]]",
    doc: "A flow: one TCP connection unless it has one of the tables `udp`, `ping`, `irtt`, `voip`, `video`, `short_flows`, `streaming`, `on_off`, `quic`, `tcp`, `program`, or an `app`.",
    keys: &[
        required("name", Ty::Name, "Its name."),
        default(
            "count",
            Ty::Count(1, 1_000_000),
            "1",
            "How many such flows: NAME-1, NAME-2, … in the group NAME.",
        ),
        key("group", Ty::Name, "The group that metrics may name as one."),
        default("enabled", Ty::Bool, "true", "Whether it exists: an axis may leave a flow out."),
        key("stack", Ty::Stack, "The stack of its hosts (default: the experiment's)."),
        key(
            "receiver_stack",
            Ty::Stack,
            "The stack of the host that receives its data, for a TCP connection or a ping (default: `stack`). With the engine linux and hops by sojourn, its two ends are two kernels.",
        ),
        key(
            "by",
            Ty::Choice(By::NAMES),
            "Who carries out its hosts: `kernel`, a real kernel, or `sojourn`, a model. Without it the engine chooses. With the engine linux both can share queues that are by sojourn.",
        ),
        key(
            "ip",
            IP,
            "Its version of IP, 4 or 6 (default: the experiment's). With 6 a packet's header has 20 bytes more: TCP segments carry 1428 bytes instead of 1448, and datagrams are longer.",
        ),
        default(
            "direction",
            Ty::Choice(&["down", "up"]),
            "down",
            "Which way its data goes: `down` is a download, which the server sends to the client; `up` is an upload.",
        ),
        key("hops", NAMES, "The hops that it passes, in the file's order of hops (default: all)."),
        key(
            "rtt",
            DELAY,
            "Its own base RTT, instead of that of the first of its hops that has one.",
        ),
        default("dscp", Ty::Dscp, "0", "The DSCP of its packets, both ways."),
        key("start", Ty::Moment, "Start time (default: 0 s, or 5 s with Flent's origin)."),
        key("stop", Ty::Moment, "Stop time (default: the end of the run)."),
        key(
            "delays",
            Ty::Bool,
            "Whether the delays of its packets are recorded per flow, for the metrics `sojourn` of a flow, `packet_owd` and `pdv` (table `delays`). Default: in runs of up to 64 flows, and in larger ones if a check asks for its delays.",
        ),
        key(
            "bleach",
            Ty::Name,
            "The hop that clears its TOS byte before its queue (rule `bleach_ecn`): an ECN flow that queues can only drop.",
        ),
        key(
            "cc",
            Ty::Cc,
            "Congestion control (default: cubic). Options follow its name, as in `bbr3 drain_gain 0.35`; `sojourn ccs NAME` \
             lists them. `python:FILE:CLASS` is a class in a Python file of one's own, seen from \
             this file, which runs with your rights.",
        ),
        key(
            "ecn",
            Ty::Choice(&["default", "off", "rfc3168", "accecn", "sce"]),
            "The ECN negotiation (default: the stack's). `sce` negotiates RFC 3168, and the receiver echoes ECT(1) by ESCE; with `rfc3168` it never does, on any stack.",
        ),
        key(
            "codepoint",
            Ty::Ecn,
            "The codepoint of data packets (default: the congestion control's choice).",
        ),
        key("bytes", Ty::Buffer(1, MOST_BYTES), "How much to send (default: without end)."),
        key("max_pacing_rate", RATE, "The socket's maximum pacing rate."),
        key("app_rate", RATE, "The rate at which the application writes."),
        key(
            "initial_window",
            Ty::Count(1, 10_000),
            "Initial window in packets (default: the stack's).",
        ),
        key(
            "receive_window",
            Ty::Buffer(1, MOST_WINDOW),
            "A fixed receive window (default: autotuning).",
        ),
        key(
            "send_buffer",
            Ty::Buffer(1, MOST_SEND_BUFFER),
            "A fixed send buffer, as set by SO_SNDBUF: the kernel doubles the value and counts each packet's overhead. Default: it grows with the window up to the stack's tcp_wmem (4 MB).",
        ),
        key(
            "offload",
            Ty::Bool,
            "Whether groups of segments pass links and queues as one (segmentation offloads; default: no). They leave together in any case.",
        ),
        key(
            "host_qdisc",
            Ty::Qdisc,
            "The queue on the device of the sender's own host, one for all its flows with the same words: TCP's small queues see its backlog. From `fq` the simulator takes only the pacing. Default: none.",
        ),
        key("ignore_ce", Ty::Bool, "Whether the sender ignores CE (default: no)."),
        key(
            "slow_start",
            Ty::Choice(&["standard", "hystart++", "search", "search-4", "rapid-start"]),
            "Another slow start than the congestion control's own: `standard` ends by a loss or a mark alone (RFC 5681), `hystart++` by a rise of the RTT after five rounds of slower growth (RFC 9406), `search` when deliveries do not double any more (draft-chung-ccwg-search, version 3.0), `search-4` when they stay behind what was sent one RTT before, and then drains the queue gradually (the authors' Linux module 4.0; the drain of draft-chung-ccwg-search-10). `rapid-start` triples the window a round trip until a queue is built, and converges in the first reduction by what the path delivers (draft-kazuho-ccwg-rapid-start, the text behind -02, without its pacing). Not with BBR and Prague, which set their windows themselves.",
        ),
        key(
            "saved_cwnd",
            Ty::Buffer(1, MOST_WINDOW),
            "Careful Resume (RFC 9959): the window that an earlier connection used on this path. Once the initial window is acknowledged, the flow jumps to half of it, paced over an RTT, and retreats at congestion. Together with `saved_rtt`; not with BBR and Prague, which set their windows themselves. Each connection of the flow resumes.",
        ),
        key(
            "saved_rtt",
            DELAY,
            "The minimum RTT of that connection: the flow resumes only if its own is above a half and at most ten times it.",
        ),
        key(
            "rate_limited_increase",
            Ty::Bool,
            "Whether a window that is not filled grows by draft-ietf-ccwg-ratelimited-increase-10: up to a round trip's growth from the most that was in flight. Default: Linux's rule, the same in slow start and no growth beyond.",
        ),
        key(
            "rtt_scaling",
            Ty::Choice(&["none", "rate", "scalable", "additive"]),
            "How the growth of a Prague up to 2021 depends on the RTT (its module parameter 0 to 3; default: its version's).",
        ),
        key("rtt_target", DELAY, "The target RTT of `rtt_scaling` (default: 25 ms)."),
        key("udp", Ty::Table(&UDP), "Unresponsive UDP at a constant rate."),
        key("ping", Ty::Table(&FLOW_PING), "ICMP echo."),
        key("irtt", Ty::Table(&IRTT), "Delay probe in UDP."),
        key("voip", Ty::Table(&VOIP), "A voice call's stream."),
        key("video", Ty::Table(&VIDEO), "One direction of a video call."),
        key("short_flows", Ty::Table(&SHORT_FLOWS), "Short TCP connections."),
        key(
            "streaming",
            Ty::Table(&STREAMING),
            "Adaptive video streaming over one TCP connection.",
        ),
        key(
            "on_off",
            Ty::Table(&ON_OFF),
            "A source that alternates between on and off: TCP, or UDP if `udp` is given, too.",
        ),
        key("quic", Ty::Table(&QUIC), "One QUIC connection between two real implementations."),
        key(
            traffic_key(TrafficKind::TcpStack),
            Ty::Table(&TCP_STACK),
            "One TCP connection between two real implementations.",
        ),
        key(
            "program",
            Ty::Table(&PROGRAM),
            "Programs of the machine, on the Linux and the live engine.",
        ),
        key(
            TrafficKind::App.name(),
            Ty::Text,
            "An application that the engine knows by name, and its options: `tcp_rr response 10kb`. There are those of `sojourn apps`, and those that a program of one's own adds to the simulator. The TCP connections that it opens are as the flow's own keys have them.",
        ),
    ],
};

/// The keys of [`FLOW`] that only TCP has.
pub(crate) const TCP_KEYS: &[&str] = &[
    "cc",
    "ecn",
    "codepoint",
    "bytes",
    "max_pacing_rate",
    "app_rate",
    "initial_window",
    "receive_window",
    "send_buffer",
    "offload",
    "host_qdisc",
    "ignore_ce",
    "slow_start",
    "saved_cwnd",
    "saved_rtt",
    "rate_limited_increase",
    "rtt_scaling",
    "rtt_target",
];

/// The tables of [`FLOW`] that say what it sends.
pub(crate) const TRAFFIC_KEYS: &[TrafficKind] = &[
    TrafficKind::Udp,
    TrafficKind::Ping,
    TrafficKind::Irtt,
    TrafficKind::Voip,
    TrafficKind::Video,
    TrafficKind::ShortFlows,
    TrafficKind::Streaming,
    TrafficKind::OnOff,
    TrafficKind::Quic,
    TrafficKind::TcpStack,
    TrafficKind::Program,
    TrafficKind::App,
];

/// The key of [`FLOW`] that says a flow is of this kind: the kind's name, but for a TCP implementation, since a flow
/// without any such key is `tcp`.
pub(crate) const fn traffic_key(kind: TrafficKind) -> &'static str {
    match kind {
        TrafficKind::TcpStack => "tcp",
        kind => kind.name(),
    }
}

pub(crate) static UDP: Section = Section {
    name: "udp of [[flow]]",
    doc: "Unresponsive UDP at a constant rate.",
    keys: &[
        required("rate", RATE, "Bits of payload per second."),
        default(
            "payload",
            PAYLOAD,
            "1472",
            "Bytes of payload a packet: 1472 fills a 1514-byte frame.",
        ),
        default("ecn", Ty::Ecn, "not-ect", "The codepoint."),
    ],
};

pub(crate) static FLOW_PING: Section = Section {
    name: "ping of [[flow]]",
    doc: "ICMP echo.",
    keys: &[
        default("interval", INTERVAL, "200ms", "Between requests."),
        default("size", PING_SIZE, "84", "Bytes of the IP packet."),
        default("ecn", Ty::Ecn, "not-ect", "The codepoint."),
    ],
};

pub(crate) static IRTT: Section = Section {
    name: "irtt of [[flow]]",
    doc: "A UDP packet each interval, answered at once.",
    keys: &[
        default("interval", INTERVAL, "1s", "Between packets."),
        default("payload", PAYLOAD, "60", "Bytes of payload each way."),
        default("ecn", Ty::Ecn, "not-ect", "The codepoint, both ways."),
    ],
};

pub(crate) static VOIP: Section = Section {
    name: "voip of [[flow]]",
    doc: "A voice call's stream, as Flent's VoIP test sends it.",
    keys: &[
        default("interval", INTERVAL, "20ms", "Between packets."),
        default("payload", PAYLOAD, "172", "Bytes of payload: G.711 in RTP."),
        default("ecn", Ty::Ecn, "not-ect", "The codepoint."),
    ],
};

pub(crate) static VIDEO: Section = Section {
    name: "video of [[flow]]",
    doc: "One direction of a video call: frames that leave as bursts, and audio.",
    keys: &[
        default(
            "profile",
            Ty::Choice(&["call-down", "call-up", "frames"]),
            "call-down",
            "`call-down` and `call-up` have the statistics of the captured call; `frames` has 30 log-normal frames a second with key frames.",
        ),
        key(
            "rate",
            RATE,
            "The mean rate that frame sizes are scaled to, audio included (default: the profile's; `frames`: 2.3mbit).",
        ),
        default("ecn", Ty::Ecn, "not-ect", "The codepoint."),
        default("adapt", Ty::Bool, "false", "Whether it adapts its rate to loss."),
        default("min_rate", RATE, "300kbit", "With `adapt`: the lowest rate."),
        default("max_rate", RATE, "2500kbit", "With `adapt`: the highest rate."),
    ],
};

pub(crate) static SHORT_FLOWS: Section = Section {
    name: "short_flows of [[flow]]",
    doc: "Short TCP connections with exponential arrivals and log-normal lengths; the flow's TCP keys say how each behaves.",
    keys: &[
        default("mean_interval", INTERVAL, "200ms", "Mean time between arrivals."),
        key("count", count(limits::SHORT_FLOWS), "How many (default: until the flow stops)."),
        default("length_p5", Ty::Size(1, 1 << 40), "64k", "5th percentile of the lengths."),
        default("length_p95", Ty::Size(1, 1 << 40), "2mb", "95th percentile of the lengths."),
        default("request", Ty::Count(0, 65_535), "150", "Bytes of the request."),
    ],
};

pub(crate) static STREAMING: Section = Section {
    name: "streaming of [[flow]]",
    doc: "An adaptive streaming client and its server; the flow's TCP keys say how its connection behaves.",
    keys: &[
        default(
            "profile",
            Ty::Choice(&["vod-4k", "live-hd", "live-sd"]),
            "vod-4k",
            "Where what is not given here comes from.",
        ),
        key("ladder", Ty::List(&RATE), "Bitrates, ascending."),
        key("segment", LENGTH, "Playing time of a segment."),
        key("buffer", LENGTH, "The most that is buffered."),
        key("start_at", LENGTH, "What must be buffered before playing begins."),
        key("resume_at", LENGTH, "What must be buffered before playing goes on after a stall."),
        key("live_delay", LENGTH, "How far behind the source a live stream plays."),
        default(
            "safety",
            Ty::Number(0.01, 1.0),
            "0.8",
            "The share of the estimated throughput that a level may take.",
        ),
        default(
            "size_sigma",
            Ty::Number(0.0, 2.0),
            "0.2",
            "Spread of segment sizes: standard deviation of their logarithm.",
        ),
        default("request", Ty::Count(0, 65_535), "300", "Bytes of a segment's request."),
    ],
};

pub(crate) static PROGRAM: Section = Section {
    name: "program of [[flow]]",
    doc: "Programs of this machine, unmodified, on the Linux engine in virtual time or on the live engine: a server, and a client that it serves. All packets between them are the flow's, which ends with the client. They run in a folder of their own (`/tmp`), find each other by the names `server` and `client`, and write what nobody keeps but their standard output and error (table `output`).",
    keys: &[
        required("client", Ty::List(&Ty::Text), "The client's command and its arguments."),
        key(
            "server",
            Ty::List(&Ty::Text),
            "The server's command and its arguments (default: none).",
        ),
        default(
            "ready",
            Ty::Text,
            "listens",
            "When the client is started: `listens`, when the server listens on some port of TCP or UDP; `port 443`, when on this one; `output TEXT`, when it has written that; `2s`, so long after its own start.",
        ),
        key("files", Ty::Free, "Files that both find in their folder, by name: their text."),
        key(
            "environment",
            Ty::Free,
            "Variables of their environment, by name: their text. They see no others of this machine's.",
        ),
        key(
            "reads",
            Ty::List(&Ty::Text),
            "Files and folders that they may read, besides the system's and those of their commands; `~` is your home.",
        ),
        default(
            "exit",
            Ty::Count(0, 255),
            "0",
            "The exit status of the client that is no failure.",
        ),
        key(
            "within",
            LENGTH,
            "How long the client may run; longer is a failure. Default: until the flow stops.",
        ),
        default(
            "cpu_limit",
            Ty::Span(limits::CPU.least, limits::CPU.most),
            "60s",
            "How much of this machine's CPU time the run may take while its clock goes a second on: a program that computes without end is stopped.",
        ),
    ],
};

pub(crate) static ON_OFF: Section = Section {
    name: "on_off of [[flow]]",
    doc: "A source that alternates between on and off, on first.",
    keys: &[
        required("on", LENGTH, "Length of an on period."),
        required("off", LENGTH, "Length of an off period."),
        default(
            "exponential",
            Ty::Bool,
            "false",
            "Whether the lengths are means of exponential distributions.",
        ),
    ],
};

pub(crate) static QUIC: Section = Section {
    name: "quic of [[flow]]",
    doc: "One QUIC connection: both ends are an implementation that people use. A download's client asks by opening streams, \
          and the server answers on them.",
    keys: &[
        default("stack", Ty::Text, "noq", "The implementation; `sojourn ccs` lists them."),
        key("cc", Ty::Text, "Its congestion control (default: the implementation's)."),
        default(
            "crypto",
            Ty::Choice(&["null", "tls"]),
            "null",
            "What protects packets: `tls` is TLS 1.3; `null` is nothing, in messages and packets of the same lengths, which costs less time.",
        ),
        default(
            "ecn",
            Ty::Choice(&["default", "off"]),
            "default",
            "Whether its hosts can set and read the ECN field: by `default` the implementation sends ECT(0), echoes CE and answers to it.",
        ),
        key(
            "bytes",
            Ty::Size(1, 1 << 50),
            "How much to send, over all streams (default: without end).",
        ),
        default(
            "streams",
            count(limits::QUIC_STREAMS),
            "1",
            "How many streams share the connection.",
        ),
        key(
            "initial_window",
            Ty::Count(1, 10_000),
            "Initial window in packets of 1200 bytes (default: the implementation's).",
        ),
        key(
            "ack_every",
            Ty::Count(1, 10_000),
            "Ask the receiver to acknowledge after this many packets (draft-ietf-quic-ack-frequency). Default: it acknowledges every second packet, unasked.",
        ),
        key(
            "ack_delay",
            span(limits::INTERVAL),
            "With `ack_every`: for how long an acknowledgement may be held back.",
        ),
        default(
            "burst",
            count(limits::QUIC_BURST),
            "10",
            "How many datagrams the implementation may hand to its host at once, as with generic segmentation offload; they are packets of their own on the path.",
        ),
        key(
            "receive_window",
            Ty::Size(1200, 1 << 30),
            "The receive window of each stream (default: the implementation's 1.25 MB, enough for 100 Mbit/s at 100 ms).",
        ),
        key(
            "max_pacing_rate",
            RATE,
            "The most that is sent in a second; only where the implementation has a limit.",
        ),
        key(
            "timer_granularity",
            span(limits::TIMER_GRANULARITY),
            "The resolution of both programs' timers: a timer fires at the next whole step. Default: exact; tokio's is 1 ms.",
        ),
    ],
};

pub(crate) static TCP_STACK: Section = Section {
    name: "tcp of [[flow]]",
    doc: "One TCP connection: both ends are an implementation that people use. The client connects; the end that sends the data \
          writes as much as its buffer takes, and the other reads at once.",
    keys: &[
        required(
            "stack",
            Ty::Text,
            "The implementation: `smoltcp`; `sojourn ccs` lists its controls.",
        ),
        key("cc", Ty::Text, "Its congestion control (default: the implementation's)."),
        default(
            "ecn",
            Ty::Choice(&["default", "off", "rfc3168", "accecn"]),
            "default",
            "The ECN negotiation; only where the implementation has one. By `default` it does what it does, which may be none.",
        ),
        key("bytes", Ty::Size(1, MOST_BYTES), "How much to send (default: without end)."),
        key(
            "initial_window",
            Ty::Count(1, 10_000),
            "Initial window in packets; only where the implementation has a setting (default: the implementation's).",
        ),
        key(
            "ack_delay",
            span(limits::ACK_DELAY),
            "For how long the receiver may hold an acknowledgement back; `0s` for not at all (default: the implementation's).",
        ),
        default(
            "receive_window",
            Ty::Size(limits::STACK_WINDOW.least, limits::STACK_WINDOW.most),
            "1.25mb",
            "The receiver's buffer, and its largest window. The sender's buffer is twice as large.",
        ),
        key(
            "timer_granularity",
            span(limits::TIMER_GRANULARITY),
            "The resolution of both programs' timers: a timer fires at the next whole step. Default: exact.",
        ),
    ],
};

pub(crate) static EVENT: Section = Section {
    name: "[[event]]",
    doc: "Something that happens once, or again and again. Settings of a hop need `hop`; they change in both directions unless `side` says otherwise.",
    keys: &[
        required("name", Ty::Name, "Its name."),
        required(
            "at",
            Ty::Moment,
            "When: `24.7s`, `flow a ends + 5s`, `event b + 20s`, `phase c starts`, `workload ends`, \
             `queue bottleneck.down.qdisc prob > 0.25`, `flow a alpha < 0.1`.",
        ),
        key(
            "every",
            span(limits::INTERVAL),
            "With `times`: the time from one to the next. They are called NAME, NAME-2, NAME-3, …",
        ),
        key("times", Ty::Count(2, 100_000), "With `every`: how often it happens."),
        key("hop", Ty::Name, "Which hop changes."),
        default(
            "side",
            Ty::Choice(&["both", "down", "up"]),
            "both",
            "In which direction: both, to the client, or to the server.",
        ),
        key("rate", RATE, "The queue's new rate; queued packets stay, except with `replace`."),
        key(
            "change",
            Ty::Qdisc,
            "New options of the discipline; queued packets stay (`tc qdisc change`).",
        ),
        key(
            "replace",
            Ty::Qdisc,
            "A new discipline; queued packets are lost (`tc qdisc replace`).",
        ),
        key("shaper", SHAPER, "With `replace`: the new shaper."),
        key("rtt", DELAY, "The new base RTT, half on each side that changes."),
        key("flow", Ty::Name, "With `rtt`: the flow that gets the new RTT."),
        key("netem", Ty::List(&Ty::Netem), "The new words of the hop's whole chain of netems."),
        key("enable", NAMES, "Elements of the hop that begin to act."),
        key("disable", NAMES, "Elements of the hop that cease to act."),
        key("start", NAMES, "Flows or groups that start."),
        key("stop", NAMES, "Flows or groups that stop."),
    ],
};

pub(crate) static PHASE: Section = Section {
    name: "[[phase]]",
    doc: "A named interval of the run.",
    keys: &[
        required("name", Ty::Name, "Its name."),
        required("from", Ty::Moment, "Its start."),
        required("to", Ty::Moment, "Its end, which does not belong to it."),
    ],
};

pub(crate) static WINDOW: Section = Section {
    name: "[[window]]",
    doc: "A named measuring window: `from` and `to`, or `last`.",
    keys: &[
        required("name", Ty::Name, "Its name; `steady` is the metrics' default."),
        key("from", Ty::Moment, "Its start, a plain time."),
        key("to", Ty::Moment, "Its end, a plain time."),
        key("last", LENGTH, "Its length, up to the end of each flow."),
        default(
            "before_end",
            Ty::Span("0s", "1000s"),
            "1s",
            "With `last`: how long before the flow's last sample it ends.",
        ),
    ],
};

pub(crate) static CHECK: Section = Section {
    name: "[[check]]",
    doc: "Conditions on the results.",
    keys: &[
        key("name", Ty::Name, "Its name, for reports."),
        required(
            "that",
            Ty::Expression,
            "The expression, such as `ratio(delivery_rate, prague, rival) >= 10`.",
        ),
        key("only", Ty::Free, "Where it is asked: `axis = \"label\"` or a list of labels."),
    ],
};
