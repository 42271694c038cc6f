//! noq's BBRv3, from noq-proto's own source, with a seed for what it draws: `build.rs` says why and how.

pub(super) use included::{Bbr3, Bbr3Config, seeded};

#[allow(warnings, clippy::all, clippy::pedantic, clippy::disallowed_methods)]
mod included {
    macro_rules! metrics {
        ($($field:ident: $value:expr),* $(,)?) => {{
            let mut metrics = ControllerMetrics::default();
            $(metrics.$field = $value;)*
            metrics
        }};
    }

    include!(concat!(env!("OUT_DIR"), "/noq_bbr3.rs"));

    /// The bound of an initial window that the crate keeps to itself (RFC 9002 §7.2).
    const BASE_DATAGRAM_SIZE: u64 = 1200;

    /// A packet number space, which the crate keeps to itself.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    enum SpaceKind {
        Initial,
        Handshake,
        Data,
    }

    impl Bbr3 {
        /// The numbers of its model, as `table::BBR3` lists them; NaN where there is none.
        pub(in super::super) fn model(&self) -> [f64; crate::table::BBR3.len()] {
            let state = match self.state {
                BbrState::Startup => 0,
                BbrState::Drain => 1,
                BbrState::ProbeBw(ProbeBwSubstate::Down) => 2,
                BbrState::ProbeBw(ProbeBwSubstate::Cruise) => 3,
                BbrState::ProbeBw(ProbeBwSubstate::Refill) => 4,
                BbrState::ProbeBw(ProbeBwSubstate::Up) => 5,
                BbrState::ProbeRtt => 6,
            };
            let packets = |bytes: u64| match bytes {
                u64::MAX => f64::NAN,
                bytes => bytes as f64 / self.smss as f64,
            };
            let min_rtt = match self.min_rtt.as_secs() {
                u64::MAX => f64::NAN,
                _ => self.min_rtt.as_secs_f64(),
            };
            [
                f64::from(state),
                self.bw * 8.0,
                self.max_bw * 8.0,
                min_rtt,
                self.pacing_gain,
                self.cwnd_gain,
                packets(self.inflight_longterm),
                packets(self.inflight_shortterm),
                packets(self.extra_acked),
                self.round_count as f64,
            ]
        }
    }

    /// Settings with this seed.
    pub(in super::super) fn seeded(seed: [u8; 16]) -> Bbr3Config {
        Bbr3Config { probe_rng_seed: Some(seed), ..Bbr3Config::default() }
    }
}
