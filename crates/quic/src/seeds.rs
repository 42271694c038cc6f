//! What an implementation would draw from the operating system.

use sojourn_units::{Random, random};

/// The streams of one end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Seeds {
    seed: u64,
    name: String,
}

impl Seeds {
    /// Those of this end, `quic/client`, of the flow of this name.
    pub(crate) fn new(seed: u64, flow: &str, end: &str) -> Self {
        Self { seed, name: format!("flow/{flow}/{end}") }
    }

    /// A stream for this purpose.
    pub(crate) fn stream(&self, what: &str) -> Random {
        Random::named(self.seed, &format!("{}/{what}", self.name))
    }

    /// `N` bytes for this purpose.
    pub(crate) fn bytes<const N: usize>(&self, what: &str) -> [u8; N] {
        let mut stream = self.stream(what);
        core::array::from_fn(|_| stream.next_u32() as u8)
    }
}

/// A connection ID's bytes.
pub(crate) fn id<const N: usize>(stream: &mut Random) -> [u8; N] {
    core::array::from_fn(|_| stream.next_u32() as u8)
}

/// A keyed digest of bytes, for the tokens of stateless resets: nobody attacks, and none may come twice.
pub(crate) fn digest(key: u64, data: &[u8], out: &mut [u8]) {
    let mut state = key;
    for byte in data {
        state = random::mix(state ^ u64::from(*byte));
    }
    for chunk in out.chunks_mut(8) {
        state = random::mix(state);
        chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
    }
}
