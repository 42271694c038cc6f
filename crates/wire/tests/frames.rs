//! Frames against headers that etherparse reads by itself.

use etherparse::{EtherType, Ethernet2Header, NetSlice, SlicedPacket, TcpHeader, TransportSlice};
use proptest::prelude::*;
use sojourn_units::{Dscp, Ecn};
use sojourn_wire::{Addresses, Frame, Ip, Transport};

/// A frame with these headers and payload.
fn frame(is_v6: bool, tcp: Option<TcpHeader>, class: u8, payload: &[u8]) -> Frame {
    let kind = if is_v6 { EtherType::IPV6 } else { EtherType::IPV4 };
    let ethernet = Ethernet2Header { ether_type: kind, ..Ethernet2Header::default() };
    let mut out = ethernet.to_bytes().to_vec();
    let transport = tcp.as_ref().map_or(8, TcpHeader::header_len);
    let (ends, header) = if is_v6 {
        (Addresses::V6([[1; 16], [2; 16]], 7), 40)
    } else {
        (Addresses::V4([[10, 0, 0, 1], [10, 0, 0, 2]]), 20)
    };
    let (ecn, dscp) = (Ecn::from_bits(class), Dscp::from_tos(class));
    let ip = Ip { ends, ecn, dscp, len: header + transport + payload.len(), id: 0xfffe };
    match tcp {
        Some(header) => ip.tcp(header, payload, &mut out),
        None => ip.udp([1000, 2000], payload, &mut out),
    }
    out.extend_from_slice(payload);
    Frame::new(out)
}

fn tcp(seq: u32) -> TcpHeader {
    let mut header = TcpHeader::new(1000, 2000, seq, 500);
    header.acknowledgment_number = 77;
    (header.ack, header.psh, header.fin, header.cwr, header.ece) = (true, true, true, true, true);
    header.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).expect("whole words");
    header
}

/// All checksums of a frame as etherparse computes them: the header's of IPv4, then that of the transport.
fn assert_checksums(frame: &Frame) {
    let packet = SlicedPacket::from_ethernet(frame.bytes()).expect("a whole frame");
    match (packet.net.expect("IP"), packet.transport.expect("a transport")) {
        (NetSlice::Ipv4(ip), transport) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            match transport {
                TransportSlice::Tcp(tcp) => {
                    let sum = tcp.to_header().calc_checksum_ipv4(&header, tcp.payload()).unwrap();
                    assert_eq!(tcp.checksum(), sum);
                }
                TransportSlice::Udp(udp) => {
                    let sum = udp.to_header().calc_checksum_ipv4(&header, udp.payload()).unwrap();
                    assert_eq!(udp.checksum(), sum);
                }
                other => panic!("{other:?}"),
            }
        }
        (NetSlice::Ipv6(ip), TransportSlice::Tcp(tcp)) => {
            let header = ip.header().to_header();
            let sum = tcp.to_header().calc_checksum_ipv6(&header, tcp.payload()).unwrap();
            assert_eq!(tcp.checksum(), sum);
        }
        (NetSlice::Ipv6(ip), TransportSlice::Udp(udp)) => {
            let header = ip.header().to_header();
            let sum = udp.to_header().calc_checksum_ipv6(&header, udp.payload()).unwrap();
            assert_eq!(udp.checksum(), sum);
        }
        other => panic!("{other:?}"),
    }
}

/// RFC 1624, equation 3: the checksum falls by what its word grows, whether it was right or wrong.
#[test]
fn a_checksum_falls_by_what_its_word_grows() {
    let mut bytes = frame(false, None, 0x55, &[0; 20]).into_bytes();
    bytes[14..16].copy_from_slice(&[0x45, 0x55]);
    bytes[24..26].copy_from_slice(&[0xdd, 0x2f]);
    let mut frame = Frame::new(bytes);
    // 0x4555 becomes 0x4556.
    frame.set_ecn(Ecn::Ect0);
    assert_eq!(frame.bytes()[14..16], [0x45, 0x56]);
    assert_eq!(frame.bytes()[24..26], [0xdd, 0x2e]);
}

#[test]
fn the_two_directions_of_a_connection_are_two_flows_between_the_same_hosts() {
    let there = frame(false, Some(tcp(1)), 0, b"x");
    let mut bytes = there.bytes().to_vec();
    let (from, to) = (bytes[26..30].to_vec(), bytes[30..34].to_vec());
    bytes[26..30].copy_from_slice(&to);
    bytes[30..34].copy_from_slice(&from);
    bytes[34..38].copy_from_slice(&[0x07, 0xd0, 0x03, 0xe8]);
    let back = Frame::new(bytes);
    assert_ne!(there.flow_key(), back.flow_key());
    let (a, b) = there.host_keys();
    assert_eq!(back.host_keys(), (b, a));
    assert_eq!(there.flow_key(), frame(false, Some(tcp(2)), 3, b"other").flow_key());
}

#[test]
fn what_is_no_ip_packet_has_no_fields_and_keeps_its_bytes() {
    let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    for bytes in [Vec::new(), vec![1; 13], arp] {
        let mut frame = Frame::new(bytes.clone());
        frame.set_ecn(Ecn::Ce);
        frame.set_dscp(Dscp::from_tos(0xb8));
        frame.strip_tcp_ecn();
        frame.finish();
        assert_eq!((frame.ecn(), frame.tcp(), frame.l4_len()), (Ecn::NotEct, None, 0));
        assert_eq!(frame.segments(10, false), [Frame::new(bytes)]);
    }
}

/// 2500 bytes in segments of 1000: FIN and PSH on the third alone, CWR on the first alone, sequence numbers by bytes,
/// identifications that wrap.
#[test]
fn a_super_packet_is_split_as_linux_does() {
    let payload: Vec<u8> = (0..2500_u32).map(|n| n as u8).collect();
    let whole = frame(false, Some(tcp(u32::MAX - 499)), 1, &payload);
    let parts = whole.clone().segments(1000, false);
    let views: Vec<_> = parts.iter().map(|part| part.tcp().unwrap()).collect();
    assert_eq!(views.iter().map(|v| v.payload).collect::<Vec<_>>(), [1000, 1000, 500]);
    assert_eq!(views.iter().map(|v| v.seq).collect::<Vec<_>>(), [u32::MAX - 499, 500, 1500]);
    // CWR ECE URG ACK PSH RST SYN FIN
    let flags: Vec<u8> = views.iter().map(|v| v.flags).collect();
    assert_eq!(flags, [0b1101_0000, 0b0101_0000, 0b0101_1001]);
    let ids: Vec<[u8; 2]> = parts.iter().map(|p| [p.bytes()[18], p.bytes()[19]]).collect();
    assert_eq!(ids, [[0xff, 0xfe], [0xff, 0xff], [0, 0]]);
    let accecn = whole.segments(1000, true);
    assert!(accecn.iter().all(|part| part.tcp().unwrap().flags & 0x80 != 0));
}

proptest! {
    /// The fields read back as written, and every checksum stays right.
    #[test]
    fn fields_are_set_in_place(
        is_v6: bool, is_tcp: bool, before: u8, ecn in 0_u8..4, dscp in 0_u8..64,
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut frame = frame(is_v6, is_tcp.then(|| tcp(9)), before, &payload);
        prop_assert_eq!((frame.ecn(), frame.dscp()), (Ecn::from_bits(before), Dscp::from_tos(before)));
        let kind = if is_tcp { Transport::Tcp } else { Transport::Udp };
        prop_assert_eq!(frame.transport(), Some(kind));
        prop_assert_eq!(frame.ports(), Some([1000, 2000]));
        prop_assert_eq!(frame.l4_len(), payload.len() + if is_tcp { 32 } else { 8 });
        let key = frame.flow_key();
        let (ecn, dscp) = (Ecn::from_bits(ecn), Dscp::from_tos(dscp << 2));
        frame.set_ecn(ecn);
        frame.set_dscp(dscp);
        prop_assert_eq!((frame.ecn(), frame.dscp()), (ecn, dscp));
        frame.strip_tcp_ecn();
        if let Some(view) = frame.tcp() {
            prop_assert_eq!(view.flags & 0xc0, 0);
            prop_assert!(!view.is_syn() && view.ack == 77 && view.payload == payload.len());
        }
        prop_assert_eq!(frame.flow_key(), key);
        assert_checksums(&frame);
    }

    /// The segments carry the payload, whole and in order, with right checksums, and finishing a frame changes nothing
    /// that was right.
    #[test]
    fn segments_carry_the_payload(
        is_v6: bool, is_tcp: bool, size in 1_usize..1500,
        payload in prop::collection::vec(any::<u8>(), 0..5000),
    ) {
        let whole = frame(is_v6, is_tcp.then(|| tcp(9)), 2, &payload);
        let mut finished = whole.clone();
        finished.finish();
        prop_assert_eq!(&finished, &whole);
        let headers = whole.bytes().len() - payload.len();
        let parts = whole.segments(size, false);
        let carried: Vec<u8> =
            parts.iter().flat_map(|part| part.bytes()[headers..].to_vec()).collect();
        prop_assert_eq!(carried, payload);
        for part in &parts {
            prop_assert!(part.bytes().len() <= headers + size);
            assert_checksums(part);
        }
    }
}

#[test]
fn the_options_of_a_tcp_header_are_what_follows_its_fixed_part() {
    let with = frame(false, Some(tcp(1)), 0, b"abc");
    assert_eq!(with.tcp_options(), Some(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2][..]));
    assert_eq!(frame(true, Some(TcpHeader::new(1, 2, 3, 4)), 0, b"").tcp_options(), Some(&[][..]));
    assert_eq!(frame(false, None, 0, b"abc").tcp_options(), None);
}

/// By hand: an echo request of RFC 792 with identifier 0x1234, over IPv4 without options.
#[test]
fn an_echo_has_an_identifier_unless_it_is_a_later_fragment() {
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([8, 0, 0, 0, 0x12, 0x34, 0, 1]);
    let of = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Frame::new(bytes).echo()
    };
    assert_eq!(of(0, 0), Some(0x1234));
    assert_eq!(of(34, 0), Some(0x1234), "a reply");
    assert_eq!(of(34, 3), None, "an error message");
    assert_eq!(of(21, 1), None, "a later fragment");
    assert_eq!(of(23, 17), None, "UDP");
    assert_eq!(Frame::new(bytes[..41].to_vec()).echo(), None, "cut off");
}

/// What a network card does: it adds up everything from where it begins to count, and writes the complement.
#[test]
fn a_network_card_finishes_what_was_finished_partly() {
    for (is_v6, header) in
        [(false, Some(tcp(7))), (true, Some(tcp(7))), (false, None), (true, None)]
    {
        let mut partly = frame(is_v6, header, 0, b"some payload");
        let mut whole = partly.clone();
        whole.finish();
        let (begin, place) = partly.finish_partly().expect("a transport header");
        let mut bytes = partly.into_bytes();
        let (begin, place) = (usize::from(begin), usize::from(begin + place));
        let sum = etherparse::checksum::Sum16BitWords::new().add_slice(&bytes[begin..]);
        bytes[place..place + 2].copy_from_slice(&sum.ones_complement().to_ne_bytes());
        assert_eq!(bytes, whole.bytes());
    }
}
