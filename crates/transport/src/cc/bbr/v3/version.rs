//! Which texts of BBRv3 there are.

use super::rules::Rules;
use super::settings;
use crate::cc::Info;
use crate::ecn::EcnRequirements;
use sojourn_units::Ecn;

/// Which text it follows.
pub trait Version: Clone + core::fmt::Debug + Send + 'static {
    /// What it is.
    const INFO: Info;
    /// What it needs of ECN.
    const ECN: EcnRequirements;
    /// What it does.
    const RULES: Rules;
}

/// The draft.
#[derive(Clone, Debug)]
pub struct Draft;

/// Google's kernel branch.
#[derive(Clone, Debug)]
pub struct Google;

/// The same on a route with `ecn_low`.
#[derive(Clone, Debug)]
pub struct GoogleEcn;

type Gauge = (&'static str, &'static str, &'static str);

/// What all of them report.
const GAUGES: [Gauge; 10] = [
    ("state", "", "0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT"),
    ("bw", "bit/s", "rate that is used, of payload"),
    ("max_bw", "bit/s", "highest rate of the last two ProbeBW cycles, of payload"),
    ("mrtt", "s", "lowest RTT of the last `min_rtt_window`"),
    ("pacing_gain", "", "pacing rate over `bw`"),
    ("cwnd_gain", "", "window over the bandwidth-delay product"),
    (
        "inflight_longterm",
        "segments",
        "long-term bound (`inflight_hi`); missing while there is none",
    ),
    (
        "inflight_shortterm",
        "segments",
        "short-term bound (`inflight_lo`); missing while there is none",
    ),
    ("extra_acked", "segments", "what the window has more for ACKs that come in heaps"),
    ("round", "", "round trips, counted by packets"),
];

impl Version for Draft {
    const INFO: Info = Info {
        name: "bbr3",
        summary: "version 3 as the IETF's draft has it: paces at the path's rate, bounds what is in flight by loss; Not-ECT",
        source: "draft-ietf-ccwg-bbr, text of 3 August 2026",
        gauges: &GAUGES,
        options: &settings::DRAFT,
    };
    const ECN: EcnRequirements =
        EcnRequirements { codepoint: Ecn::NotEct, ..EcnRequirements::NONE };
    const RULES: Rules = Rules::DRAFT;
}

impl Version for Google {
    const INFO: Info = Info {
        name: "bbr3-google",
        summary: "version 3 as Google's kernel branch has it, without ecn_low: marks are ignored",
        source: "google/bbr branch v3 (November 2023), net/ipv4/tcp_bbr.c",
        gauges: &GAUGES,
        options: &settings::GOOGLE,
    };
    const ECN: EcnRequirements = EcnRequirements::NONE;
    const RULES: Rules = Rules::GOOGLE;
}

impl Version for GoogleEcn {
    const INFO: Info = Info {
        name: "bbr3-google-ecn",
        summary: "bbr3-google on a route with ecn_low: answers to marks as well, if the lowest RTT is 5 ms or less",
        source: "google/bbr branch v3 (November 2023), net/ipv4/tcp_bbr.c",
        gauges: &[
            GAUGES[0],
            GAUGES[1],
            GAUGES[2],
            GAUGES[3],
            GAUGES[4],
            GAUGES[5],
            GAUGES[6],
            GAUGES[7],
            GAUGES[8],
            GAUGES[9],
            ("alpha", "", "smoothed share of marked packets, 0 to 1"),
        ],
        options: &settings::GOOGLE,
    };
    const ECN: EcnRequirements = EcnRequirements {
        request: crate::ecn::Request::Rfc3168,
        on_all: true,
        exact_echo: true,
        ..EcnRequirements::NONE
    };
    const RULES: Rules = Rules::GOOGLE_ECN;
}
