//! Any bytes from a guest: random ones, and random ones behind what is right.

mod check;

use check::any_bytes;
use proptest::prelude::*;

proptest! {
    #[test]
    fn bytes(kind in 0_u8..3, rest in prop::collection::vec(any::<u8>(), 0..600)) {
        any_bytes(&[vec![kind], rest].concat());
    }

    /// Words as small as operations, rings and places are.
    #[test]
    fn small_words(kind in 0_u8..3, words in prop::collection::vec(0_u32..40, 0..150)) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        any_bytes(&std::iter::once(kind).chain(bytes).collect::<Vec<u8>>());
    }

    /// Requests with right headers.
    #[test]
    fn requests(all in prop::collection::vec((0_u32..40, prop::collection::vec(0_u8..5, 0..45)), 0..30)) {
        let mut bytes = vec![1];
        for (request, payload) in all {
            for word in [request, 1 | 8, payload.len() as u32] {
                bytes.extend_from_slice(&word.to_ne_bytes());
            }
            bytes.extend(payload);
        }
        any_bytes(&bytes);
    }
}
