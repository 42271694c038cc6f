//! Which implementations there are, and what each has: the one place that says so.

use sojourn_model::{EcnMode, Quic, TcpStack, TrafficKind, WordError};

/// An implementation.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its name in experiments; no two have one name.
    pub name: &'static str,
    /// The flows that it is for: [`TrafficKind::Quic`], or [`TrafficKind::TcpStack`].
    pub kind: TrafficKind,
    /// The crate that it is, with its version.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its congestion controls, the default first.
    pub controls: &'static [Control],
    /// Settings of a flow that it does not have, each with the reason.
    pub lacks: &'static [(&'static str, &'static str)],
}

/// A congestion control of an implementation.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its name in experiments.
    pub name: &'static str,
    /// What it is, in a line.
    pub says: &'static str,
    /// The numbers that it tells of itself: name, unit, meaning.
    pub gauges: &'static [Gauge],
}

/// A number that a control tells of itself: name, unit, meaning.
pub type Gauge = (&'static str, &'static str, &'static str);

const fn control(name: &'static str, says: &'static str) -> Control {
    Control { name, says, gauges: &[] }
}

/// What noq's BBRv3 tells, by the names of this project's own.
pub(crate) const BBR3: [Gauge; 10] = [
    ("state", "", "0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT"),
    ("bw", "bit/s", "rate that is used, of packets"),
    ("max_bw", "bit/s", "highest rate of the last two ProbeBW cycles, of packets"),
    ("mrtt", "s", "lowest RTT of the last ten seconds; missing before the first"),
    ("pacing_gain", "", "pacing rate over `bw`"),
    ("cwnd_gain", "", "window over the bandwidth-delay product"),
    ("inflight_longterm", "packets", "long-term bound; missing while there is none"),
    ("inflight_shortterm", "packets", "short-term bound; missing while there is none"),
    ("extra_acked", "packets", "what the window has more for ACKs that come in heaps"),
    ("round", "", "round trips, counted by packets"),
];

/// Every implementation.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "quinn",
        kind: TrafficKind::Quic,
        package: "quinn-proto",
        version: "0.11.19",
        controls: &[
            control("cubic", "CUBIC (RFC 8312), quinn's default"),
            control("newreno", "NewReno (RFC 9002)"),
            control("bbr", "BBR of 2017, which quinn calls experimental"),
        ],
        lacks: &[("max_pacing_rate", "its pacer has no limit that an application can set")],
    },
    Stack {
        name: "noq",
        kind: TrafficKind::Quic,
        package: "noq-proto",
        version: "1.4.0",
        controls: &[
            control("cubic", "CUBIC (RFC 9438), noq's default"),
            control("newreno", "NewReno (RFC 9002)"),
            Control { gauges: &BBR3, ..control("bbr3", "BBRv3 (draft-ietf-ccwg-bbr)") },
        ],
        lacks: &[],
    },
    Stack {
        name: "smoltcp",
        kind: TrafficKind::TcpStack,
        package: "smoltcp",
        version: "0.14.0",
        controls: &[
            control("cubic", "CUBIC (RFC 9438) with RFC 5681's fast recovery, smoltcp's default"),
            control("reno", "Reno (RFC 5681): the first new acknowledgement ends fast recovery"),
            control("none", "no congestion control: the receive window alone"),
        ],
        lacks: &[
            ("ecn", "it sends Not-ECT, and neither echoes CE nor answers to an echo"),
            ("initial_window", "its controls begin with 2048 bytes, and have no setting"),
        ],
    },
];

impl Stack {
    /// The implementation of this name for flows of this kind.
    ///
    /// # Errors
    /// There is none; the message has the nearest name.
    pub fn named(kind: TrafficKind, name: &str) -> Result<&'static Self, WordError> {
        let those = || STACKS.iter().filter(move |stack| stack.kind == kind);
        let protocol = if kind == TrafficKind::Quic { "QUIC" } else { "TCP" };
        those().find(|stack| stack.name == name).ok_or_else(|| {
            let names: Vec<&'static str> = those().map(|stack| stack.name).collect();
            unknown(&format!("{protocol} stack"), name, names.into_iter())
        })
    }

    /// The implementation of this name, if there is one, whatever it is for.
    pub fn known(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.name == name)
    }

    /// The key of a flow that has its settings: `quic`, or `tcp`.
    pub fn key(&self) -> &'static str {
        if self.kind == TrafficKind::Quic { "quic" } else { "tcp" }
    }

    /// Its congestion control of this name.
    ///
    /// # Errors
    /// It has none; the message has the nearest name, or the implementation of the same protocol that has it.
    pub fn control(&self, name: &str) -> Result<&'static Control, WordError> {
        if let Some(control) = self.controls.iter().find(|control| control.name == name) {
            return Ok(control);
        }
        let what = format!("congestion control of {}", self.name);
        let mut error = unknown(&what, name, self.controls.iter().map(|control| control.name));
        let has = |stack: &&Self| {
            stack.kind == self.kind && stack.controls.iter().any(|control| control.name == name)
        };
        if let Some(other) = STACKS.iter().find(has) {
            error.help = format!("{}, or stack = \"{}\", which has it", error.help, other.name);
        }
        Err(error)
    }

    /// Why it does not have this setting, if it does not.
    pub fn lacks(&self, setting: &str) -> Option<&'static str> {
        self.lacks.iter().find(|(lacked, _)| *lacked == setting).map(|(_, why)| *why)
    }

    /// What of these settings it does not have: the first such name, and the reason.
    pub fn refuse(&self, quic: &Quic) -> Option<(&'static str, &'static str)> {
        self.refused(&[("max_pacing_rate", quic.max_pacing_rate.is_some())])
    }

    /// The same of the settings of a TCP flow.
    pub fn refuse_tcp(&self, tcp: &TcpStack) -> Option<(&'static str, &'static str)> {
        self.refused(&[
            ("ecn", !matches!(tcp.ecn, EcnMode::Default | EcnMode::Off)),
            ("initial_window", tcp.initial_window.is_some()),
        ])
    }

    /// The first of these settings that is asked for and that it does not have.
    fn refused(&self, asked: &[(&'static str, bool)]) -> Option<(&'static str, &'static str)> {
        let mut asked = asked.iter().filter(|(_, is_asked)| *is_asked);
        asked.find_map(|(setting, _)| Some((*setting, self.lacks(setting)?)))
    }
}

fn unknown(what: &str, name: &str, names: impl Iterator<Item = &'static str> + Clone) -> WordError {
    let near = names
        .clone()
        .map(|n| (strsim::damerau_levenshtein(name, n), n))
        .min()
        .filter(|(distance, n)| distance * 2 <= n.len());
    let help = match near {
        Some((_, near)) => format!("did you mean \"{near}\"?"),
        None => format!("there is {}", names.collect::<Vec<_>>().join(", ")),
    };
    WordError { at: 0..name.len(), message: format!("there is no {what} \"{name}\""), help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_has_its_nearest_or_who_has_it() {
        let named = |name| Stack::named(TrafficKind::Quic, name);
        let error = named("quin").unwrap_err();
        assert_eq!(error.message, "there is no QUIC stack \"quin\"");
        assert_eq!(error.help, "did you mean \"quinn\"?");
        let quinn = named("quinn").unwrap();
        let error = quinn.control("bbr3").unwrap_err();
        assert_eq!(error.message, "there is no congestion control of quinn \"bbr3\"");
        assert_eq!(error.help, "did you mean \"bbr\"?, or stack = \"noq\", which has it");
        assert!(named("noq").unwrap().control("bbr3").is_ok());
        assert!(quinn.control("prague").unwrap_err().help.starts_with("there is cubic, newreno"));
    }

    /// A stack of TCP is none of QUIC's, and a control of QUIC's is no reason to leave it.
    #[test]
    fn each_protocol_has_its_own() {
        let error = Stack::named(TrafficKind::Quic, "smoltcp").unwrap_err();
        assert_eq!(
            (&*error.message, &*error.help),
            ("there is no QUIC stack \"smoltcp\"", "there is quinn, noq")
        );
        let error = Stack::named(TrafficKind::TcpStack, "smoltpc").unwrap_err();
        assert_eq!(error.message, "there is no TCP stack \"smoltpc\"");
        assert_eq!(error.help, "did you mean \"smoltcp\"?");
        let smoltcp = Stack::named(TrafficKind::TcpStack, "smoltcp").unwrap();
        assert_eq!(smoltcp.control("bbr3").unwrap_err().help, "there is cubic, reno, none");
        let plain = TcpStack::plain("smoltcp", "reno");
        assert_eq!(smoltcp.refuse_tcp(&plain), None);
        let off = TcpStack { ecn: EcnMode::Off, ..plain.clone() };
        assert_eq!(smoltcp.refuse_tcp(&off), None, "it has no ECN in any case");
        let marked = TcpStack { ecn: EcnMode::Rfc3168, ..plain.clone() };
        assert_eq!(smoltcp.refuse_tcp(&marked).map(|(setting, _)| setting), Some("ecn"));
        let large = TcpStack { initial_window: Some(10), ..plain };
        assert_eq!(smoltcp.refuse_tcp(&large).map(|(setting, _)| setting), Some("initial_window"));
    }

    #[test]
    fn no_two_have_one_name() {
        let names: std::collections::BTreeSet<_> = STACKS.iter().map(|stack| stack.name).collect();
        assert_eq!(names.len(), STACKS.len());
    }

    /// The table says the versions that the workspace pins.
    #[test]
    fn versions_are_those_that_are_built() {
        let lock = include_str!("../../../Cargo.lock");
        for stack in STACKS {
            let entry = format!("name = \"{}\"\nversion = \"{}\"\n", stack.package, stack.version);
            assert!(lock.contains(&entry), "{entry}");
        }
    }
}
