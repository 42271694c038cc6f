//! Any bytes are a frame: at random here, and by `make fuzz` in `fuzz/fuzz_targets/frame.rs`.

mod check;

use proptest::prelude::*;

/// Ethernet with IPv4, IPv6, IPv4 with options, and a VLAN tag; then a protocol where IPv4 has it.
const HEADS: [&[u8]; 4] =
    [&[8, 0, 0x45], &[0x86, 0xdd, 0x60], &[8, 0, 0x4f], &[0x81, 0, 0, 1, 8, 0, 0x46]];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn nothing_fails(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::option::of(0_usize..4), protocol in prop::option::of(prop::bool::ANY),
    ) {
        if let Some(head) = start.map(|start| HEADS[start]).filter(|_| bytes.len() > 60) {
            bytes[12..12 + head.len()].copy_from_slice(head);
            if let Some(is_tcp) = protocol {
                let protocol = if is_tcp { 6 } else { 17 };
                (bytes[23], bytes[20], bytes[20 + 1]) = (protocol, 0, 0);
            }
        }
        check::any_bytes(&bytes);
    }
}
