use super::fates::{Fate, fates_of};
use super::identity::{Seen, flow_of, identity};
use super::*;
use crate::tests::Scratch;
use crate::{Capture, PcapFile};
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use proptest::prelude::*;
use std::fs::{self, File};
use std::time::Duration;

/// Packets 5 and more go up.
fn seen(at: u64, id: u8, ecn: u8) -> Seen {
    let way = vec![u8::from(id >= 5)];
    Seen { at: Duration::from_millis(at), key: vec![id], flow: way.clone(), source: way, ecn }
}

/// Left: a at 1, b at 2, c at 3, d at 9 ms go in. Right: a comes out at 5 ms, c at 8 ms with CE; b does not, and c
/// behind it did; d may still be there. The other way e goes in at 4 and comes out at 6 ms.
#[test]
fn a_packet_is_known_again_on_the_other_side() {
    let left = [seen(1, 1, 2), seen(2, 2, 2), seen(3, 3, 2), seen(6, 5, 0), seen(9, 4, 2)];
    let right = [seen(4, 5, 0), seen(5, 1, 2), seen(8, 3, 3)];
    let [l, r] = fates_of(&left, &right);
    let passed = |waited, ecn, is_out| {
        Some(Fate::Passed { waited: Duration::from_millis(waited), ecn, is_out })
    };
    assert_eq!(
        l,
        [
            passed(4, [2, 2], false),
            Some(Fate::Dropped),
            passed(5, [2, 3], false),
            passed(2, [0, 0], true),
            Some(Fate::Unseen)
        ]
    );
    assert_eq!(r, [passed(2, [0, 0], false), passed(4, [2, 2], true), passed(5, [2, 3], true)]);
    let hop = || "bottleneck".to_owned();
    let said = |fate: &Option<Fate>, point| fate.as_ref().unwrap().comments(&point);
    assert_eq!(said(&l[1], Point::Left(hop())), ["dropped in bottleneck down"]);
    assert_eq!(said(&l[2], Point::Left(hop())), ["marked in bottleneck down: ECT(0) to CE"]);
    assert_eq!(
        said(&r[2], Point::Right(hop())),
        ["marked in bottleneck down: ECT(0) to CE", "waited 5.000 ms in bottleneck down"]
    );
    assert_eq!(said(&l[3], Point::Left(hop())), ["waited 2.000 ms in bottleneck up"]);
    assert_eq!(said(&l[4], Point::Left(hop())), ["not seen to leave bottleneck down"]);
}

/// A packet that does not wait is seen at both sides at one time: 6 shows that 5 goes up.
#[test]
fn what_does_not_wait_goes_the_way_of_its_senders_others() {
    let left = [seen(1, 5, 0), seen(4, 6, 0)];
    let right = [seen(1, 5, 0), seen(3, 6, 0)];
    let [l, r] = fates_of(&left, &right);
    let fate = |waited, is_out| {
        Some(Fate::Passed { waited: Duration::from_millis(waited), ecn: [0, 0], is_out })
    };
    assert_eq!(l, [fate(0, true), fate(1, true)]);
    assert_eq!(r, [fate(0, false), fate(1, false)]);
}

/// The same bytes twice are paired in their order.
#[test]
fn copies_are_paired_in_their_order() {
    let left = [seen(1, 1, 2), seen(2, 1, 2)];
    let right = [seen(3, 1, 2), seen(7, 1, 2)];
    let [l, _] = fates_of(&left, &right);
    let waits: Vec<_> = l
        .iter()
        .map(|fate| match fate {
            Some(Fate::Passed { waited, .. }) => waited.as_millis(),
            _ => 0,
        })
        .collect();
    assert_eq!(waits, [2, 5]);
}

/// Nothing in a frame that is cut short, or none of ours, is read beyond its end.
#[test]
fn any_bytes_have_an_identity() {
    let scenario = sojourn_model::example::scenario();
    for first in [0x00, 0x45, 0x4f, 0x60, 0xff] {
        for length in 0..80 {
            let mut frame = vec![first; 14 + length];
            frame[..14].fill(0);
            identity(&frame);
            flow_of(&frame, &scenario, 30_000);
        }
    }
}

/// A packet of a random load, and its fate at the queue.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Milliseconds after the packet before it.
    gap: u64,
    goes_up: bool,
    flow: u8,
    is_dropped: bool,
    is_marked: bool,
}

fn load() -> impl Strategy<Value = Vec<Load>> {
    let one = (0_u64..4, any::<bool>(), 0_u8..3, any::<bool>(), any::<bool>());
    let one = one.prop_map(|(gap, goes_up, flow, is_dropped, is_marked)| Load {
        gap,
        goes_up,
        flow,
        is_dropped,
        is_marked,
    });
    prop::collection::vec(one, 0..60)
}

proptest! {
    /// A queue a way, first in first out, that holds each packet for 2 ms at least: its actions follow from its sides.
    #[test]
    fn what_a_queue_did_follows_from_its_sides(load in load()) {
        // Each with its number in the load.
        let mut sides: [Vec<(usize, Seen)>; 2] = [Vec::new(), Vec::new()];
        let (mut now, mut last_out) = (0, [0; 2]);
        for (number, packet) in load.iter().enumerate() {
            now += packet.gap;
            let way = usize::from(packet.goes_up);
            let seen = |at: u64, ecn| Seen {
                at: Duration::from_millis(at),
                key: vec![number as u8],
                flow: vec![way as u8, packet.flow],
                source: vec![way as u8],
                ecn,
            };
            sides[way].push((number, seen(now, 2)));
            if !packet.is_dropped {
                last_out[way] = (now + 2).max(last_out[way] + 1);
                sides[1 - way].push((number, seen(last_out[way], if packet.is_marked { 3 } else { 2 })));
            }
        }
        // A capture is in the order of time; packets that go in at one time precede those that come out then.
        for (side, packets) in sides.iter_mut().enumerate() {
            packets.sort_by_key(|(number, seen)| (seen.at, usize::from(load[*number].goes_up) != side));
        }
        let numbers = sides.each_ref().map(|s| s.iter().map(|(n, _)| *n).collect::<Vec<_>>());
        let [left, right] = sides.map(|side| side.into_iter().map(|(_, seen)| seen).collect::<Vec<_>>());
        let fates = fates_of(&left, &right);
        for (side, numbers) in numbers.iter().enumerate() {
            for (at, number) in numbers.iter().enumerate() {
                let packet = load[*number];
                let same_way = |other: &&Load| other.goes_up == packet.goes_up && !other.is_dropped;
                // The way of an address without any packet that came out is unknown: left is taken for the way in.
                let is_known = load.iter().any(|other| same_way(&other)) || !packet.goes_up;
                let is_overtaken = load[number + 1..]
                    .iter()
                    .any(|other| same_way(&other) && other.flow == packet.flow);
                let fate = &fates[side][at];
                match packet.is_dropped {
                    true if !is_known => prop_assert_eq!(fate, &None),
                    true if is_overtaken => prop_assert_eq!(fate, &Some(Fate::Dropped)),
                    true => prop_assert_eq!(fate, &Some(Fate::Unseen)),
                    false => {
                        let time = |side: &[Seen]| side.iter().find(|s| s.key == [*number as u8]).map(|s| s.at);
                        let (l, r) = (time(&left).unwrap(), time(&right).unwrap());
                        let expected = Fate::Passed {
                            waited: l.abs_diff(r),
                            ecn: [2, if packet.is_marked { 3 } else { 2 }],
                            is_out: (side == 0) == packet.goes_up,
                        };
                        prop_assert_eq!(fate, &Some(expected));
                    }
                }
            }
        }
    }

}

proptest! {
    // Each case writes files, and waits until they are on the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the captures hold: each packet is in the file once, as it was, in the order of time.
    #[test]
    fn the_file_has_every_packet_of_every_capture(
        packets in prop::collection::vec(
            (0_usize..4, 0_u64..50, prop::collection::vec(any::<u8>(), 0..90), 0_u32..2000),
            0..40,
        ),
    ) {
        let scenario = sojourn_model::example::scenario();
        let points = Point::all(&scenario);
        let scratch = Scratch::new("pcapng");
        let mut expected: Vec<(Duration, u32, u32, Vec<u8>)> = Vec::new();
        for (index, point) in points.iter().enumerate() {
            let mut own: Vec<_> = packets.iter().filter(|(at, ..)| at % points.len() == index).collect();
            own.sort_by_key(|(_, at, ..)| *at);
            let capture = Capture { folder: scratch.0.clone(), snap_len: 64 };
            let mut file = PcapFile::create(&capture, point).unwrap();
            for (_, at, frame, more) in own {
                let (at, wire_len) = (Duration::from_millis(*at), frame.len() as u32 + more);
                file.write(at, wire_len, frame).unwrap();
                let kept = frame[..frame.len().min(64)].to_vec();
                expected.push((at, index as u32, wire_len, kept));
            }
            file.finish().unwrap();
        }
        // Stable: packets of one time stay in the order of their capture.
        expected.sort_by_key(|(at, index, ..)| (*at, *index));
        let to = scratch.0.join("all.pcapng");
        let captures = Captures { folder: &scratch.0, scenario: &scenario, senders: 30_000 };
        prop_assert!(captures.annotate(&to, "a test").unwrap());
        let mut reader = PcapNgReader::new(File::open(&to).unwrap()).unwrap();
        let mut found = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap() {
                let frame = packet.data.into_owned();
                found.push((packet.timestamp, packet.interface_id, packet.original_len, frame));
            }
        }
        prop_assert_eq!(found, expected);
    }
}

/// A capture that is cut short is named, and nothing is left of the file.
#[test]
fn a_damaged_capture_is_named_and_leaves_no_file() {
    let scenario = sojourn_model::example::scenario();
    let scratch = Scratch::new("pcapng-damaged");
    let capture = Capture { folder: scratch.0.clone(), snap_len: 64 };
    let mut file = PcapFile::create(&capture, &Point::Client).unwrap();
    file.write(Duration::from_secs(1), 60, &[0; 60]).unwrap();
    file.finish().unwrap();
    let path = scratch.0.join("client.pcap");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    let captures = Captures { folder: &scratch.0, scenario: &scenario, senders: 30_000 };
    let error = captures.annotate(&scratch.0.join("all.pcapng"), "a test").unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("the capture {} cannot be read: ", path.display())),
        "{error}"
    );
    assert_eq!(scratch.files(), ["client.pcap"]);
}
