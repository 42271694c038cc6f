//! What a receiver answers, worked out by hand: segments go in, ACKs come out as lines.
//!
//! The handshake takes 20 ms. Unless a test says otherwise the stack is recent, its tick a millisecond and the
//! window fixed, so that no quick ACKs come from its growth.

use super::*;
use crate::ecn::Flags;
use crate::stack::examples::{LINUX_5_4, LINUX_5_10, LINUX_7_3};
use core::fmt::Write;

const MSS: u32 = 1448;

struct Script {
    receiver: Receiver,
}

fn micros(us: u64) -> Time {
    Time::from_micros(us)
}

/// `3`, then the SACK blocks, `s5-7`, a duplicate as `d2`, and `ece`.
fn line(ack: &Ack) -> String {
    let mut text = ack.ack.to_string();
    for (i, b) in ack.sacked().iter().enumerate() {
        let kind = if i == 0 && ack.dsack { 'd' } else { 's' };
        let last = b.end - 1;
        if b.start == last {
            write!(text, " {kind}{last}").unwrap();
        } else {
            write!(text, " {kind}{}-{last}", b.start).unwrap();
        }
    }
    if ack.ecn.ece {
        text += " ece";
    }
    text
}

fn data(seq: Seq, ms: u64) -> Data {
    Data {
        seq,
        len: MSS as u16,
        cwr: false,
        push: false,
        retransmission: false,
        gso_segment: true,
        accecn: false,
        tsval: ms as u32,
        tsecr: 10,
    }
}

impl Script {
    fn new(policy: WindowPolicy, stack: &TcpQuirks, ecn: bool) -> Self {
        let mut receiver = Receiver::new(MSS, policy, stack, 0);
        let syn = Handshake {
            ecn: Flags::from_ace(if ecn { 3 } else { 0 }),
            tsval: 1,
            window: 65_535,
            ..Handshake::default()
        };
        let answer = receiver.on_syn(Time::from_millis(10), &syn, Ecn::NotEct);
        assert_eq!((answer.ecn.ace(), answer.tsecr), (u8::from(ecn), 1));
        Self { receiver }
    }

    /// A fixed window, and the quick ACKs of the beginning used up: segments 0-15 were acknowledged one by one.
    fn settled(stack: &TcpQuirks, ecn: bool) -> Self {
        let mut script = Self::new(WindowPolicy::Fixed(1000 * MSS), stack, ecn);
        for seq in 0..16 {
            assert_eq!(script.at(30_000, seq), (seq + 1).to_string(), "quick ACKs at the start");
        }
        script
    }

    /// A segment arrives at `us`, sent 10 ms before.
    fn at(&mut self, us: u64, seq: Seq) -> String {
        self.take(us, &data(seq, us / 1000 - 10), Ecn::Ect0)
    }

    fn take(&mut self, us: u64, data: &Data, ecn: Ecn) -> String {
        self.receiver.on_data(micros(us), data, ecn).map_or(String::new(), |a| line(&a))
    }

    /// Time passes to `us`: returns the ACKs sent meanwhile, with their times.
    fn until(&mut self, us: u64) -> String {
        let mut lines = Vec::new();
        while self.receiver.next_timer() <= micros(us) {
            let now = self.receiver.next_timer();
            if let Some(ack) = self.receiver.on_timer(now) {
                lines.push(format!("{}: {}", now.as_micros(), line(&ack)));
            }
        }
        lines.join("; ")
    }
}

/// Sixteen at once, then every second one (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
#[test]
fn every_second_segment_is_acknowledged_after_the_quick_ones() {
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.at(31_000, 16), "");
    assert_eq!(t.at(31_100, 17), "18");
    assert_eq!(t.at(31_200, 18), "");
    assert_eq!(t.at(31_300, 19), "20");
}

/// A full segment with PSH is acknowledged at once from 6.6 on, whatever its place in the pair.
#[test]
fn a_pushed_segment_is_acknowledged_at_once() {
    for (stack, answers) in [(&LINUX_7_3, ["17", "", "19"]), (&LINUX_5_10, ["", "18", ""])] {
        let mut t = Script::settled(stack, false);
        let mut take =
            |us, seq, push| t.take(us, &Data { push, ..data(seq, us / 1000 - 10) }, Ecn::Ect0);
        assert_eq!(
            [take(31_000, 16, true), take(31_100, 17, false), take(31_200, 18, false)],
            answers
        );
    }
}

/// While arrivals widen the window, each is acknowledged (`tcp_grow_window` sets the lowest bit of the quick count):
/// sixteen at first, and then as long as it grows.
#[test]
fn a_growing_window_is_announced_at_once() {
    let mut t = Script::new(WindowPolicy::Autotuned, &LINUX_5_10, false);
    let mut last = t.receiver.window.initial();
    assert_eq!(last, 45 * MSS, "65160, as every trace of the time begins with");
    // The buffer of 131072 halves to 65536: 376 bytes are left to earn, and that takes one segment.
    assert_eq!(t.at(30_000, 0), "1");
    let grown = t.receiver.offered_window();
    assert!(grown > last - MSS);
    for seq in 1..17 {
        assert_eq!(t.at(30_000, seq), (seq + 1).to_string());
    }
    assert_eq!(t.at(30_000, 17), "");
    assert_eq!(t.at(30_000, 18), "19");
    // A round trip later the application has read more than in the first: the buffer grows, and the window with it.
    last = t.receiver.offered_window();
    assert_eq!(t.at(51_000, 19), "");
    assert_eq!(t.at(51_100, 20), "21", "the window grew: {last}");
    assert_eq!(t.at(51_200, 21), "22");
    assert_eq!(t.at(51_300, 22), "23");
    assert!(t.receiver.offered_window() > last);
}

/// A lone segment waits 40 ms, counted in ticks from the one that is going on, and one tick more (`CoarseClock`); a wait that
/// ran out doubles the next, which the handshake's round trip then bounds.
#[test]
fn a_lone_segment_waits_40_ms() {
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.at(50_700, 16), "");
    assert_eq!(t.until(200_000), "91000: 17");
    // 80 ms now, but the handshake took 20 ms, so no more than max(20, 40).
    assert_eq!(t.at(200_000, 17), "");
    assert_eq!(t.until(400_000), "241000: 18");
    // At 250 ticks a second: 50.7 is in the tick of 48 ms.
    let mut t = Script::settled(&TcpQuirks { hz: 250, ..LINUX_7_3 }, false);
    assert_eq!(t.at(50_700, 16), "");
    assert_eq!(t.until(200_000), "92000: 17");
}

/// After a pause longer than its own timeout (20 + 200 ms) the receiver assumes that the sender starts again.
#[test]
fn a_long_pause_brings_quick_acks_back() {
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.at(31_000, 16), "");
    assert_eq!(t.at(31_000, 17), "18");
    for seq in 18..34 {
        assert_eq!(t.at(260_000, seq), (seq + 1).to_string());
    }
    assert_eq!(t.at(260_000, 34), "");
}

/// The first three duplicates go at once (`TCP_FASTRETRANS_THRESH`), the next are held back: 5 % of the round trip of
/// 20 ms is 1 ms, which is also the bound.
#[test]
fn duplicates_are_acknowledged_at_once_three_times_then_held_back() {
    let mut t = Script::settled(&LINUX_5_10, false);
    assert_eq!(t.at(31_000, 17), "16 s17");
    assert_eq!(t.at(31_100, 18), "16 s17-18");
    assert_eq!(t.at(31_200, 19), "16 s17-19");
    assert_eq!(t.at(31_300, 20), "");
    assert_eq!(t.at(31_400, 21), "");
    assert_eq!(t.until(40_000), "32300: 16 s17-21");
    // The gap is filled: at once, and counting starts again.
    assert_eq!(t.at(51_000, 16), "22");
    assert_eq!(t.at(51_100, 23), "22 s23");
}

/// With a handshake of 4 ms, 5 % are 200 µs; 33 % would be above the bound of 1 ms.
#[test]
fn how_long_sacks_are_held_back_depends_on_the_stack() {
    for (stack, wait) in [(LINUX_5_10, 200), (LINUX_7_3, 1000)] {
        let mut t = Script::new(WindowPolicy::Fixed(1000 * MSS), &stack, false);
        for seq in 0..16 {
            t.at(14_000, seq);
        }
        for seq in 17..20 {
            assert_ne!(t.at(15_000, seq), "");
        }
        assert_eq!(t.at(15_000, 20), "");
        assert_eq!(t.until(20_000), format!("{}: 16 s17-20", 15_000 + wait));
    }
}

/// No more than 44 are held back (`net.ipv4.tcp_comp_sack_nr`): the 45th goes at once.
#[test]
fn no_more_than_44_are_held_back() {
    let mut t = Script::settled(&LINUX_7_3, false);
    let sent: Vec<u32> = (17..=70).filter(|&s| !t.at(31_000, s).is_empty()).collect();
    assert_eq!(sent, [17, 18, 19, 64]);
}

/// RFC 2018 §4: the block with the latest arrival first, then those reported before; three fit.
#[test]
fn sack_blocks_are_in_the_order_of_arrival() {
    let mut t = Script::settled(&LINUX_5_4, false);
    assert_eq!(t.at(31_000, 18), "16 s18");
    assert_eq!(t.at(31_100, 20), "16 s20 s18");
    assert_eq!(t.at(31_200, 22), "16 s22 s20 s18");
    // Held back from here on.
    assert_eq!(t.at(31_300, 24), "");
    assert_eq!(t.at(31_400, 19), "");
    assert_eq!(t.until(40_000), "32300: 16 s18-20 s24 s22");
    // 16 and 17 fill the gap up to 20; the ACK reports the rest.
    assert_eq!(t.at(41_000, 16), "17 s18-20 s24 s22");
    assert_eq!(t.at(41_100, 17), "21 s24 s22");
}

/// From Linux 5.8 on a held-back ACK is let go before a third block pushes others out of sight; it tells the state
/// before the new segment.
#[test]
fn a_third_block_lets_the_held_back_ack_go() {
    let mut t = Script::settled(&LINUX_7_3, false);
    t.at(31_000, 18);
    t.at(31_000, 19);
    t.at(31_000, 20);
    assert_eq!(t.at(31_100, 22), "");
    assert_eq!(t.at(31_200, 24), "16 s22 s18-20");
    assert_eq!(t.until(40_000), "32200: 16 s24 s22 s18-20");
}

/// RFC 2883: the ACK reports a duplicate first, with the block that holds it behind; below the cumulative
/// acknowledgement it is alone. The ACK reports either at once.
#[test]
fn duplicates_are_reported() {
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.at(31_000, 3), "16 d3");
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.at(31_000, 18), "16 s18");
    assert_eq!(t.at(31_100, 20), "16 s20 s18");
    assert_eq!(t.at(31_200, 18), "16 d18 s18 s20");
    // Reported once.
    assert_eq!(t.at(32_000, 16), "17 s18 s20");
}

/// A copy that a retransmission has overtaken is old by its timestamp (PAWS): not taken, but answered.
#[test]
fn old_timestamps_are_refused() {
    let mut t = Script::settled(&LINUX_7_3, false);
    // Segment 16 again, sent at 60 ms; then its first copy, sent at 20.
    t.take(70_000, &data(16, 60), Ecn::NotEct);
    t.until(200_000);
    assert_eq!(t.take(210_000, &data(16, 20), Ecn::Ect0), "17 d16");
    assert_eq!(t.take(210_100, &data(18, 20), Ecn::Ect0), "17");
    assert_eq!(t.receiver.next(), 17);
}

/// RFC 3168 §6.1.3: ECE on every ACK from the first mark until CWR, the first two at once. A segment that says CWR
/// and is marked again starts again.
#[test]
fn ece_is_latched_until_cwr() {
    let mut t = Script::settled(&LINUX_7_3, true);
    assert_eq!(t.take(31_000, &data(16, 21), Ecn::Ce), "17 ece");
    assert_eq!(t.at(31_100, 17), "18 ece");
    assert_eq!(t.at(31_200, 18), "");
    assert_eq!(t.at(31_300, 19), "20 ece");
    // A further mark is no news.
    assert_eq!(t.take(31_400, &data(20, 21), Ecn::Ce), "");
    assert_eq!(t.at(31_500, 21), "22 ece");
    // CWR is acknowledged at once, and clean.
    assert_eq!(t.take(31_600, &Data { cwr: true, ..data(22, 21) }, Ecn::Ect0), "23");
    assert_eq!(t.take(31_700, &Data { cwr: true, ..data(23, 21) }, Ecn::Ce), "24 ece");
    assert_eq!(t.receiver.ce_packets(), 3);
}

/// A segment that is not ECN-capable, where others were, is probably a repair by a sender with a small window: two
/// quick ACKs.
#[test]
fn a_segment_that_is_not_capable_among_others_quickens() {
    let mut t = Script::settled(&LINUX_7_3, true);
    assert_eq!(t.take(31_000, &data(16, 21), Ecn::NotEct), "17");
    assert_eq!(t.at(31_100, 17), "18");
    assert_eq!(t.at(31_200, 18), "");
}

/// Where ECN was not agreed, marks mean nothing.
#[test]
fn marks_without_agreement_are_not_echoed() {
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.take(31_000, &data(16, 21), Ecn::Ce), "");
    assert_eq!(t.take(31_000, &data(17, 21), Ecn::Ce), "18");
}

/// A repeated SYN asks without ECN; the agreement with the first stands.
#[test]
fn a_repeated_syn_changes_nothing() {
    let mut r = Receiver::new(MSS, WindowPolicy::Autotuned, &LINUX_7_3, 0);
    let syn =
        Handshake { ecn: Flags::from_ace(3), tsval: 1, window: 65_535, ..Handshake::default() };
    assert!(r.on_syn(Time::from_millis(10), &syn, Ecn::NotEct).ecn.ece);
    let again = Handshake { ecn: Flags::default(), tsval: 1001, ..syn };
    let answer = r.on_syn(Time::from_millis(1010), &again, Ecn::NotEct);
    assert_eq!((answer.ecn.ece, answer.tsecr), (true, 1001));
}

/// The echo is of the oldest segment that an ACK covers (RFC 7323 §4.3): it holds the wait.
#[test]
fn the_echo_is_of_the_oldest_segment_not_acknowledged() {
    let mut t = Script::settled(&LINUX_7_3, false);
    t.take(50_000, &data(16, 40), Ecn::Ect0);
    let ack = t.receiver.on_data(micros(60_000), &data(17, 50), Ecn::Ect0).unwrap();
    assert_eq!((ack.ack, ack.tsecr), (18, 40));
    // Out of order: still of the last one in order.
    let ack = t.receiver.on_data(micros(61_000), &data(19, 51), Ecn::Ect0).unwrap();
    assert_eq!(ack.tsecr, 40);
    // The one that fills the gap.
    let ack = t.receiver.on_data(micros(90_000), &data(18, 80), Ecn::Ect0).unwrap();
    assert_eq!((ack.ack, ack.tsecr), (20, 80));
}

/// A segment wholly below the last acknowledgement is refused before its timestamp is looked at (RFC 7323 §5.3, R2 and
/// R3; `tcp_sequence` before `tcp_replace_ts_recent`): a sender that lost an ACK reads the whole time since the copy
/// that arrived first as its round trip. The segment that the acknowledgement ends with touches it, and is within.
#[test]
fn the_echo_is_never_of_a_copy_below_the_acknowledgement() {
    let mut t = Script::settled(&LINUX_7_3, false);
    t.take(50_000, &data(16, 40), Ecn::Ect0);
    let ack = t.receiver.on_data(micros(51_000), &data(17, 41), Ecn::Ect0).unwrap();
    assert_eq!((ack.ack, ack.tsecr), (18, 40));
    let ack = t.receiver.on_data(micros(300_000), &data(16, 290), Ecn::Ect0).unwrap();
    assert_eq!((line(&ack).as_str(), ack.tsecr), ("18 d16", 40));
    let ack = t.receiver.on_data(micros(310_000), &data(17, 300), Ecn::Ect0).unwrap();
    assert_eq!((line(&ack).as_str(), ack.tsecr), ("18 d17", 300));
}

/// The last segment is short: it is acknowledged at once, and counted as long as it is, also if it came before its
/// turn.
#[test]
fn the_short_end_of_a_stream() {
    let mut t = Script::settled(&LINUX_7_3, false);
    assert_eq!(t.take(31_000, &Data { len: 100, ..data(16, 21) }, Ecn::Ect0), "17");
    assert_eq!(t.receiver.delivered_bytes(), 16 * u64::from(MSS) + 100);
    let mut t = Script::settled(&LINUX_7_3, false);
    t.take(31_000, &Data { len: 100, ..data(18, 21) }, Ecn::Ect0);
    t.at(31_100, 17);
    assert_eq!(t.at(31_200, 16), "19");
    assert_eq!(t.receiver.delivered_bytes(), 18 * u64::from(MSS) + 100);
}

/// Dynamic right-sizing by hand (5.x): 101 segments are read in a round trip where 10 were expected. Twice that and
/// 16 more are 218; as reading grew by 9.1 times what it was, 218·(1 + 2·9.1) ≈ 4185 are to fit, each with 2944 bytes
/// of memory: 12.3 MB, above the largest buffer of 6 MB, and half of that is offered.
#[test]
fn the_window_follows_what_is_read_in_a_round_trip() {
    let mut t = Script::new(WindowPolicy::Autotuned, &LINUX_5_10, false);
    for seq in 0..100 {
        t.at(30_000 + u64::from(seq), seq);
    }
    let before = t.receiver.offered_window();
    assert!(before <= 65_536 + 128, "{before}");
    t.at(51_000, 100);
    assert_eq!(t.receiver.window.buffer(), 6_291_456);
    // And each segment earns twice its length.
    for seq in 101..201 {
        t.at(51_000, seq);
    }
    let after = t.receiver.offered_window();
    assert!(after > before + 150 * MSS && after <= 3_145_728, "{after}");
    // Less read in the next round trip changes nothing.
    t.at(80_000, 201);
    assert_eq!(t.receiver.window.buffer(), 6_291_456);
}

/// The same in 7.3: 20 segments are read in a round trip where 10 were expected, which is 40 and, as that has doubled, 80 more:
/// 120 · 1448 · 256/160 = 278016 bytes of memory. Then 30 in the next: 60 and 60 · 2 · 10/20 = 60 more, as much. Data
/// out of order is added to twice what was read last: 60 and 90 ahead, 347520.
#[test]
fn the_window_follows_more_closely_in_7_3() {
    let mut t = Script::new(WindowPolicy::Autotuned, &LINUX_7_3, false);
    for seq in 0..19 {
        t.at(30_000 + u64::from(seq), seq);
    }
    assert_eq!(t.receiver.window.buffer(), 131_072);
    t.at(51_000, 19);
    assert_eq!(t.receiver.window.buffer(), 278_016);
    for seq in 20..49 {
        t.at(51_000 + u64::from(seq), seq);
    }
    t.at(72_000, 49);
    assert_eq!(t.receiver.window.buffer(), 278_016);
    t.at(72_100, 139);
    assert_eq!(t.receiver.window.buffer(), 347_520);
}

/// From 6.7 on the first full segment decides what share of the buffer is offered: 1448 of 2304 bytes where it was cut from a
/// group (160/256 of 131072 are 81920), 1448 of 2280 where it came by itself (162/256: 82944). Before, the share is a half.
#[test]
fn the_first_full_segment_decides_the_share_of_the_buffer() {
    let offered = |stack: &TcpQuirks, first_is_of_a_group: bool| {
        let mut t = Script::new(WindowPolicy::Autotuned, stack, false);
        for seq in 0..12 {
            let gso_segment = (seq == 0) == first_is_of_a_group;
            t.take(30_000, &Data { gso_segment, ..data(seq, 20) }, Ecn::NotEct);
        }
        t.receiver.offered_window()
    };
    assert_eq!([offered(&LINUX_7_3, true), offered(&LINUX_7_3, false)], [81_920, 82_944]);
    assert_eq!(offered(&LINUX_5_10, true), offered(&LINUX_5_10, false));
}

/// With 162/256 a segment cut from a group takes 2304 · 162/256 = 1458 of the window for its 1448, so that it enlarges the window
/// no further once that is above half of the largest, 6291456 · 162/256 / 2 = 1990656 (Linux 7.3.4: 1991808, 1993984, 1996800).
/// One that came by itself takes 1442; with 160/256 one of a group takes 1440: these enlarge it to the end.
#[test]
fn segments_of_a_group_after_a_lone_one_stop_at_half() {
    let most = |first: bool, later: bool| {
        let mut t = Script::new(WindowPolicy::Autotuned, &LINUX_7_3, false);
        t.receiver.window.enlarge(6_291_456);
        let offers = (0..3000).filter_map(|seq| {
            let gso_segment = if seq == 0 { first } else { later };
            let data = Data { gso_segment, ..data(seq, 20) };
            t.receiver.on_data(micros(30_000), &data, Ecn::NotEct).map(|ack| ack.window)
        });
        offers.max().expect("data are acknowledged")
    };
    let half = most(false, true);
    assert!((1_990_656..1_990_656 + 2 * MSS + 128).contains(&half), "{half}");
    assert_eq!([most(true, true), most(true, false)], [3_932_160; 2]);
    assert_eq!(most(false, false), 3_981_312);
}

/// An offer is never taken back, whatever waits out of order.
#[test]
fn an_offer_is_kept() {
    let mut t = Script::new(WindowPolicy::Autotuned, &LINUX_7_3, false);
    let mut edge = 0;
    for seq in (0..10).chain(11..40) {
        let data = data(seq, 20);
        if let Some(ack) = t.receiver.on_data(micros(30_000), &data, Ecn::NotEct) {
            let right = u64::from(ack.ack) * u64::from(MSS) + u64::from(ack.window);
            assert!(right >= edge, "{right} after {edge}");
            edge = right;
        }
    }
}

/// Linux 7.3 puts AccECN's option on the SYN/ACK (20 bytes of options become 32) and on every ACK: 64 bytes instead of 52,
/// and with one SACK block 76. With two there is no room for ECT(0)'s counter, nor then for the option: 72.
#[test]
fn accecn_takes_room_on_acks() {
    for (stack, lengths) in [
        (LINUX_7_3, [72, 64, 64, 76, 72]),
        (TcpQuirks { accecn_option: false, ..LINUX_7_3 }, [60, 52, 52, 64, 72]),
    ] {
        let stack = TcpQuirks { ecn: ecn::Request::AccEcn, ..stack };
        let mut receiver = Receiver::new(MSS, WindowPolicy::Fixed(1 << 20), &stack, 0);
        let syn = Handshake { ecn: Flags::from_ace(7), tsval: 1, ..Handshake::default() };
        let answer = receiver.on_syn(Time::from_millis(10), &syn, Ecn::NotEct);
        let mut took = vec![answer.ip_len()];
        for seq in [0, 1, 3, 5] {
            let now = Time::from_millis(20 + u64::from(seq));
            let ack = receiver.on_data(now, &data(seq, 10 + u64::from(seq)), Ecn::Ect0);
            took.push(ack.expect("all are acknowledged at once").ip_len());
        }
        assert_eq!(took, lengths);
    }
}

/// The arrivals since the last option decide which fields the next one needs: with three blocks to tell of, ECT(1) and
/// CE take the place of the third, ECT(0) has none; and where nothing is new the option is in SACK's padding.
#[test]
fn accecn_takes_a_sack_block() {
    for (ecn, blocks, length) in [(Ecn::Ect1, 2, 80), (Ecn::Ce, 2, 80), (Ecn::Ect0, 3, 80)] {
        let stack = TcpQuirks { ecn: ecn::Request::AccEcn, ..LINUX_7_3 };
        let mut receiver = Receiver::new(MSS, WindowPolicy::Fixed(1 << 20), &stack, 0);
        let syn = Handshake { ecn: Flags::from_ace(7), tsval: 1, ..Handshake::default() };
        receiver.on_syn(Time::from_millis(10), &syn, Ecn::NotEct);
        let mut last = None;
        for seq in [0, 2, 4, 6] {
            let now = Time::from_millis(20 + u64::from(seq));
            last = receiver.on_data(now, &data(seq, 10 + u64::from(seq)), ecn);
        }
        let last = last.expect("acknowledged at once");
        assert_eq!((last.blocks, last.ip_len()), (blocks, length), "{ecn:?}");
        assert_eq!(last.accecn, (ecn != Ecn::Ect0).then_some(2));
    }
}
