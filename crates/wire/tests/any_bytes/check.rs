//! What must hold of a frame of any bytes.

use sojourn_units::{Dscp, Ecn};
use sojourn_wire::{Frame, Joined};

/// Nothing that is asked of a frame or done to it fails or changes its length, and an IP packet takes the mark.
pub(crate) fn any_bytes(bytes: &[u8]) {
    let mut frame = Frame::new(bytes.to_vec());
    let _ = (frame.tcp(), frame.ports(), frame.flow_key(), frame.host_keys(), frame.l4_len());
    let _ = (frame.tcp_options(), frame.echo());
    frame.set_ecn(Ecn::Ce);
    frame.set_dscp(Dscp::from_tos(0xb8));
    frame.strip_tcp_ecn();
    assert!(!frame.is_ip() || (frame.ecn(), frame.dscp().value()) == (Ecn::Ce, 0xb8 >> 2));
    assert_eq!(frame.bytes().len(), bytes.len());
    frame.clone().finish();
    let _ = frame.clone().finish_partly();
    if let Some(mut joined) = Joined::begin(&frame) {
        joined.add(&frame);
        joined.add(&Frame::new(bytes.get(1..).unwrap_or_default().to_vec()));
        assert!(joined.finish().0.bytes().len() >= bytes.len());
    }
    for size in [0, 7, 1448] {
        assert!(!frame.clone().segments(size, false).is_empty());
        assert!(!frame.clone().unfinished_segments(size, true).is_empty());
    }
}
