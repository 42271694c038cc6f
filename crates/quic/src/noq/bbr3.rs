//! noq's BBRv3, from noq-proto's own source, with a seed for what it draws: `build.rs` says why and how.

pub(super) use included::{Bbr3Config, seeded};

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

    /// Settings with this seed.
    pub(in super::super) fn seeded(seed: [u8; 16]) -> Bbr3Config {
        Bbr3Config { probe_rng_seed: Some(seed), ..Bbr3Config::default() }
    }
}
