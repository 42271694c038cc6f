//! quinn's BBR, from quinn-proto's own source, with a seed for what it draws: `build.rs` says why and how.

pub(super) use included::{BbrConfig, with_seed};

#[allow(warnings, clippy::all, clippy::pedantic, clippy::disallowed_methods)]
mod included {
    macro_rules! metrics {
        ($($field:ident: $value:expr),* $(,)?) => {{
            let mut metrics = ControllerMetrics::default();
            $(metrics.$field = $value;)*
            metrics
        }};
    }

    include!(concat!(env!("OUT_DIR"), "/quinn_bbr.rs"));

    use std::cell::Cell;

    /// The bound of an initial window that the crate keeps to itself (RFC 9002 §7.2).
    const BASE_DATAGRAM_SIZE: u64 = 1200;

    thread_local! {
        /// The seed of the control that is being made: its constructor takes none.
        static SEED: Cell<[u8; 16]> = const { Cell::new([0; 16]) };
    }

    fn next_seed() -> [u8; 16] {
        SEED.get()
    }

    /// Does so while this is the seed of the control that it makes.
    pub(in super::super) fn with_seed<T>(seed: [u8; 16], make: impl FnOnce() -> T) -> T {
        SEED.set(seed);
        make()
    }
}
