//! What smoltcp 0.14.0 does and does not, by hand on a path of 10 ms each way without a queue. The page on these stacks says
//! it; a newer version that does otherwise fails here first.

use super::*;
use sojourn_units::Span;
use std::collections::VecDeque;

const DELAY: Span = Span::from_millis(10);

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn addresses() -> [SocketAddr; 2] {
    ["10.9.9.1:30000", "10.9.9.2:50000"].map(|text| text.parse().expect("an address"))
}

/// A segment of data that left: when, which byte of the stream is its first, how many it has.
type Sent = (Time, u64, u64);

/// What came of a download.
struct Done {
    delivered: u64,
    /// Packets of the receiver's behind its part of the handshake.
    answers: usize,
}

/// Runs a download until this time; `drops` says of the sender's segments with data, by their number from 0, which are lost.
fn download(tcp: &TcpStack, until: Time, drops: &dyn Fn(usize) -> bool) -> (Done, Vec<Sent>) {
    let mut ends = Ends::new(tcp, addresses(), false, 1, "t");
    let mut path: VecDeque<(Time, End, Vec<u8>)> = VecDeque::new();
    let (mut sent, mut isn, mut answers) = (Vec::new(), 0, 0);
    let mut now = Time::ZERO;
    let mut opens = true;
    while now <= until {
        let mut out = Vec::new();
        let mut take = |d: Datagram<'_>| out.push((d.from, d.payload.to_vec()));
        if core::mem::take(&mut opens) {
            ends.open(now, &mut take);
        } else if path.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, to, packet) = path.pop_front().expect("there is one");
            ends.receive(now, to, Ecn::NotEct, &packet, &mut take);
        } else {
            ends.on_timer(now, &mut take);
        }
        for (from, packet) in out {
            let seq = u32::from_be_bytes([packet[24], packet[25], packet[26], packet[27]]);
            let header = 20 + usize::from(packet[32] >> 4) * 4;
            let bytes = (packet.len() - header) as u64;
            let mut is_lost = false;
            if from == End::Sender {
                if packet[33] & 2 != 0 {
                    isn = seq;
                }
                if bytes > 0 {
                    is_lost = drops(sent.len());
                    sent.push((now, u64::from(seq.wrapping_sub(isn)) - 1, bytes));
                }
            } else if !sent.is_empty() {
                answers += 1;
            }
            let to = if from == End::Sender { End::Receiver } else { End::Sender };
            if !is_lost {
                path.push_back((now + DELAY, to, packet));
            }
        }
        let arrival = path.front().map_or(Time::NEVER, |(at, ..)| *at);
        now = arrival.min(ends.next_timer()).max(now);
    }
    (Done { delivered: ends.delivered_bytes(), answers }, sent)
}

/// The server's first data leave when the handshake's last packet comes, at 30 ms: one full segment, since 2048 bytes have no
/// room for a second and Nagle's algorithm holds a part of one. Its acknowledgement waits 10 ms. Then the window is 3508
/// bytes: two segments at 60 ms, which are acknowledged at once, at 80 ms.
#[test]
fn it_begins_with_one_segment() {
    for cc in ["cubic", "reno"] {
        let (_, sent) = download(&TcpStack::plain("smoltcp", cc), ms(79), &|_| false);
        assert_eq!(sent, [(ms(30), 0, 1460), (ms(60), 1460, 1460), (ms(60), 2920, 1460)], "{cc}");
    }
    let (_, sent) = download(&TcpStack::plain("smoltcp", "none"), ms(49), &|_| false);
    // 1.25 MiB, 1,310,720 bytes, are 897 segments and a part of one, which waits.
    assert_eq!(sent.len(), 897, "without a control the receive window is all");
}

/// The first segment is lost: no acknowledgement comes, and the least timeout is a second.
#[test]
fn a_timeout_is_a_second_at_least() {
    let (_, sent) = download(&TcpStack::plain("smoltcp", "reno"), ms(1100), &|n| n == 0);
    assert_eq!(sent[..2], [(ms(30), 0, 1460), (ms(1030), 0, 1460)]);
}

/// A window of 20 segments without congestion control. Of the first flight one is lost: the third duplicate of an
/// acknowledgement repairs it in a round trip. Of two, the second waits for a timeout, a second after the repair of the first
/// was acknowledged: a partial acknowledgement repairs nothing (as NewReno's would, RFC 6582), and neither do SACK blocks.
#[test]
fn a_second_loss_of_a_window_waits_for_a_timeout() {
    let tcp = TcpStack { receive_window: 29_200, ..TcpStack::plain("smoltcp", "none") };
    let again = |lost: &[usize]| {
        let (done, sent) = download(&tcp, ms(3000), &|n| lost.contains(&n));
        assert!(done.delivered > 29_200);
        let mut seen = std::collections::BTreeSet::new();
        sent.into_iter().filter(|(_, first, _)| !seen.insert(*first)).collect::<Vec<_>>()
    };
    assert_eq!(again(&[5]), [(ms(50), 5 * 1460, 1460)]);
    let repairs = again(&[5, 9]);
    assert_eq!(repairs[0], (ms(50), 5 * 1460, 1460));
    assert_eq!(repairs[1], (ms(1070), 9 * 1460, 1460), "{repairs:?}");
}

/// A receiver keeps four islands of data behind a hole, each segment with an acknowledgement at once. What would be a fifth
/// it drops, and says nothing. Of the first flight's 20 segments, which come at 40 ms, the first of every three is lost.
#[test]
fn a_receiver_keeps_four_islands() {
    let tcp = TcpStack { receive_window: 29_200, ..TcpStack::plain("smoltcp", "none") };
    // Behind four holes are 16 segments in four islands; behind five the last seven are the fifth.
    for (holes, expected) in [(4, 16), (5, 8)] {
        let drops = |n: usize| n < 20 && n.is_multiple_of(3) && n / 3 < holes;
        let (done, _) = download(&tcp, ms(45), &drops);
        assert_eq!(done.answers, expected, "{holes} holes");
    }
}

/// The numbers at the beginning are drawn by the flow's seed and name; nothing else is.
#[test]
fn a_seed_draws_the_first_numbers_and_no_times() {
    let tcp = TcpStack::plain("smoltcp", "reno");
    let first = |seed| {
        let mut ends = Ends::new(&tcp, addresses(), true, seed, "t");
        let mut packets = Vec::new();
        ends.open(Time::ZERO, &mut |d| packets.push(d.payload.to_vec()));
        packets
    };
    let [one, again, other] = [first(1), first(1), first(2)];
    assert_eq!((one.len(), &one), (1, &again));
    assert_eq!(one[0][..24], other[0][..24]);
    assert_ne!(one[0][24..28], other[0][24..28]);
}
