//! How much room AccECN's option takes (RFC 9768 §3.2.3; `tcp_options_fit_accecn` in `net/ipv4/tcp_output.c` of Linux 7.3),
//! where a stack puts it on every packet of an AccECN connection (`net.ipv4.tcp_ecn_option` 2).
//!
//! The option counts bytes in up to three fields of three bytes: ECT(1), CE and ECT(0), in this order. Next to SACK blocks
//! there is room for fewer, and for none of what has changed it is left out, or the last of three blocks is.

use sojourn_units::Ecn;

/// Bytes of the option with all of its fields, padded: its part of a SYN/ACK and of a data segment.
pub const WHOLE: u32 = 12;
/// Fields of the whole option.
const FIELDS: u8 = 3;
/// Bytes of options that a TCP header has room for, less the timestamps'.
const ROOM: u32 = 28;

/// Bytes that the option with this number of fields adds to a header. A part that does not fill a word replaces padding of the SACK option.
#[inline]
pub const fn bytes(fields: u8) -> u32 {
    match fields {
        3 => WHOLE,
        fields => 4 * fields as u32,
    }
}

/// Bytes of a SACK option: two of padding, two of kind and length, eight a block.
#[inline]
pub const fn sack_bytes(blocks: u8) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u32 }
}

/// Fields that it takes to tell of a packet with this codepoint.
#[inline]
pub(crate) const fn fields_for(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ce => 2,
        Ecn::Ect0 => 3,
    }
}

/// The fields of an ACK that has to report this number of SACK blocks and at least `least` fields, if the option is on
/// it, and the SACK blocks that are.
#[inline]
pub(crate) fn fit(blocks: u8, least: u8) -> (Option<u8>, u8) {
    let most = |blocks| {
        let room = ROOM - sack_bytes(blocks);
        (least..=FIELDS).rev().find(|&fields| bytes(fields) <= room)
    };
    if let Some(fields) = most(blocks) {
        return (Some(fields), blocks);
    }
    match (blocks > 2 && least > 0).then(|| most(blocks - 1)).flatten() {
        Some(fields) => (Some(fields), blocks - 1),
        None => (None, blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 28 bytes next to timestamps. Without blocks, and next to one (12), the whole option (11 and a byte of padding) fits;
    /// next to two (20) two fields do, eight bytes; next to three (28) only the option's two bytes of kind and length, instead
    /// of SACK's padding. A necessary report takes the third block's eight bytes, if two fields are enough for it.
    #[test]
    fn every_case_by_hand() {
        for least in 0..=3 {
            assert_eq!((fit(0, least), fit(1, least)), ((Some(3), 0), (Some(3), 1)));
        }
        assert_eq!(
            [0, 1, 2, 3].map(|least| fit(2, least)),
            [(Some(2), 2), (Some(2), 2), (Some(2), 2), (None, 2)]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|least| fit(3, least)),
            [(Some(0), 3), (Some(2), 2), (Some(2), 2), (None, 3)]
        );
        for blocks in 0..=3 {
            for least in 0..=3 {
                let (fields, blocks) = fit(blocks, least);
                assert!(fields.map_or(0, bytes) + sack_bytes(blocks) <= ROOM);
            }
        }
    }
}
