//! Tables of RFC 3168 and RFC 9768, and the counter's wraps by hand.

use super::accurate::{Decoder, field, least, most};
use super::*;
use proptest::prelude::*;
use sojourn_units::Ecn::{Ce, Ect0, Ect1, NotEct};

/// Who asks for what of whom, and what becomes of it on a clean path.
#[test]
fn what_is_agreed() {
    for (request, has_accecn, agreed) in [
        (Request::Off, true, Agreed::Off),
        (Request::Rfc3168, true, Agreed::Rfc3168),
        (Request::Rfc3168, false, Agreed::Rfc3168),
        (Request::AccEcn, true, Agreed::AccEcn),
        (Request::AccEcn, false, Agreed::Rfc3168),
    ] {
        let (theirs, answer) = accept(ask(request, 0, true), NotEct, has_accecn);
        assert_eq!((theirs, conclude(request, answer)), (agreed, agreed), "{request:?}");
        // A SYN that is repeated asks for nothing.
        let (theirs, answer) = accept(ask(request, 1, false), NotEct, has_accecn);
        assert_eq!((theirs, conclude(request, answer)), (Agreed::Off, Agreed::Off));
    }
}

/// RFC 9768 §3.1.4.1, and Linux 7.3's SYNs (docs/linux-notes/repeated-syn.md): AccECN is asked for twice and then not at
/// all, RFC 3168's ECN once. Kernels before asked for neither twice.
#[test]
fn what_repeated_syns_ask_for() {
    let asked = |request, twice| [0, 1, 2, 9].map(|repeats| ask(request, repeats, twice).ace());
    assert_eq!(asked(Request::AccEcn, true), [0b111, 0b111, 0, 0]);
    assert_eq!(asked(Request::AccEcn, false), [0b111, 0, 0, 0]);
    assert_eq!(asked(Request::Rfc3168, true), [0b011, 0, 0, 0]);
    assert_eq!(asked(Request::Off, true), [0; 4]);
}

/// RFC 9768 table 2: the SYN/ACK says how the SYN arrived; the client understands each.
#[test]
fn the_answer_tells_of_the_syn() {
    for (ecn, ace) in [(NotEct, 0b010), (Ect1, 0b011), (Ect0, 0b100), (Ce, 0b110)] {
        let (_, answer) = accept(Flags::from_ace(0b111), ecn, true);
        assert_eq!(answer.ace(), ace);
        assert_eq!(conclude(Request::AccEcn, answer), Agreed::AccEcn);
    }
    // Reflected flags, an empty answer, and the nonce's.
    for (ace, agreed) in [(0b111, Agreed::Off), (0b000, Agreed::Off), (0b101, Agreed::Rfc3168)] {
        assert_eq!(conclude(Request::AccEcn, Flags::from_ace(ace)), agreed);
    }
}

/// `--ecn-tcp-remove` on the way of the SYN: RFC 3168 is not agreed. AccECN is: the tool leaves AE, and RFC 9768
/// §3.1.3 takes AE alone for a request.
#[test]
fn what_a_stripping_middlebox_does() {
    let (agreed, _) = accept(ask(Request::Rfc3168, 0, true).without_ece_and_cwr(), NotEct, true);
    assert_eq!(agreed, Agreed::Off);
    let (agreed, answer) =
        accept(ask(Request::AccEcn, 0, true).without_ece_and_cwr(), NotEct, true);
    assert_eq!((agreed, answer.ace()), (Agreed::AccEcn, 0b010));
    let (agreed, _) = accept(ask(Request::AccEcn, 0, true).without_ece_and_cwr(), NotEct, false);
    assert_eq!(agreed, Agreed::Off);
    // On the way of the answer it leaves nothing that a client knows but "arrived ECT(0)".
    assert_eq!(
        conclude(Request::AccEcn, Flags::from_ace(0b010).without_ece_and_cwr()),
        Agreed::Off
    );
}

#[test]
fn which_packets_are_capable() {
    let plain = EctPolicy::new(&EcnRequirements::NONE, None);
    let l4s =
        EcnRequirements { codepoint: Ect1, on_all: true, on_syn: true, ..EcnRequirements::NONE };
    let (l4s, gamed) =
        (EctPolicy::new(&l4s, None), EctPolicy::new(&EcnRequirements::NONE, Some(Ect1)));
    for (agreed, marking, data, other) in [
        (Agreed::Off, plain, NotEct, NotEct),
        (Agreed::Off, l4s, NotEct, NotEct),
        (Agreed::Rfc3168, plain, Ect0, NotEct),
        (Agreed::Rfc3168, l4s, Ect1, Ect1),
        (Agreed::Rfc3168, gamed, Ect1, NotEct),
        (Agreed::AccEcn, plain, Ect0, Ect0),
        (Agreed::AccEcn, l4s, Ect1, Ect1),
    ] {
        assert_eq!((marking.data(agreed), marking.other(agreed)), (data, other), "{agreed:?}");
    }
    assert_eq!((plain.syn(Request::AccEcn), l4s.syn(Request::AccEcn)), (NotEct, Ect1));
    assert_eq!(l4s.syn(Request::Off), NotEct);
}

/// The field begins at five, and wraps from seven to zero: 5, 6, 7, 0, 1.
#[test]
fn the_field_wraps() {
    assert_eq!([0, 1, 2, 3, 4, 8].map(field), [5, 6, 7, 0, 1, 5]);
    // Three known, the field says 1 (four), 0 (three), 7: seven more, not one less.
    assert_eq!([1, 0, 7].map(|f| least(f, 3)), [1, 0, 7]);
}

/// The decoding table: least number by the field, packets delivered, and what is taken.
#[test]
fn large_acks_take_the_safe_choice() {
    for (least, delivered, taken) in [
        // Up to seven packets the counter cannot have wrapped.
        (0, 7, 0),
        (3, 2, 3),
        // Eight packets and nothing new may be eight marks.
        (0, 8, 8),
        (1, 8, 1),
        (3, 20, 19),
        (4, 20, 20),
        (5, 20, 13),
    ] {
        // The average is at two: ACKs are not thinned.
        let mut d = Decoder::default();
        d.newly_marked(5, 0, 2);
        let f = ((5 + least) & 7) as u8;
        assert_eq!(d.newly_marked(f, 0, delivered), taken, "{least} of {delivered}");
    }
}

/// Where every ACK stands for twenty packets, the least number is taken.
#[test]
fn thinned_acks_take_the_least() {
    let mut d = Decoder::default();
    assert_eq!(d.newly_marked(6, 0, 20), 1);
    // One large ACK among small ones does not move the average above four.
    let mut d = Decoder::default();
    for _ in 0..100 {
        d.newly_marked(5, 0, 2);
    }
    assert_eq!(d.newly_marked(6, 0, 20), 17);
}

/// The decoders of 2020 took the least number always: nothing of twenty is nothing.
#[test]
fn early_decoders_take_the_least() {
    let mut d = Decoder::new(true);
    for (field, delivered, taken) in [(5, 20, 0), (6, 20, 1), (4, 8, 7)] {
        assert_eq!(d.newly_marked(field, 0, delivered), taken);
    }
}

/// DCTCP's receiver: ECE is the latest packet's mark, and a change lets what came before be acknowledged as it was.
#[test]
fn the_exact_echo_turns_with_the_mark() {
    let mut echo = Echo::new(true, false, false);
    (echo.agreed, echo.exact) = (Agreed::Rfc3168, true);
    let mut turn = |ecn| (echo.turn(ecn, true), echo.flags().ece);
    let now = |ace| Some(Turn { before: Flags::from_ace(ace), then: AckUrgency::Now });
    assert_eq!(turn(Ect0), (None, false));
    assert_eq!(turn(Ce), (now(0), true));
    assert_eq!(turn(Ce), (None, true));
    assert_eq!(echo.take(Ce), AckUrgency::Nothing);
    // CWR ends the echo of RFC 3168, but a marked packet is a marked packet.
    assert!(echo.heard_cwr());
    let mut turn = |ecn| (echo.turn(ecn, true), echo.flags().ece);
    assert_eq!(turn(Ce), (None, true));
    assert_eq!(turn(Ect0), (now(1), false));
}

/// SCE's receiver, packet by packet with an ACK waiting before each: the flags of the ACK for earlier packets, and of
/// the ACK that leaves next. ESCE is sent once; CE and Not-ECT leave it as it is; ECE goes its own way.
#[test]
fn the_echo_of_sce_turns_with_the_codepoint() {
    let mut echo = Echo::new(true, true, false);
    echo.agreed = Agreed::Rfc3168;
    let split = |ace| Some(Turn { before: Flags::from_ace(ace), then: AckUrgency::Quicken(1) });
    // Nothing, SCE, SCE again: the first is split from what came before it.
    assert_eq!(echo.turn(Ect0, true), None);
    assert_eq!(echo.turn(Ect1, true), split(0b000));
    assert_eq!(echo.turn(Ect1, true), None);
    assert_eq!((echo.flags().ace(), echo.flags().ace()), (0b100, 0b000), "once");
    // After an ACK with ESCE, the turn back has nothing to report; before one, it has.
    assert_eq!(echo.turn(Ect0, true), split(0b000));
    echo.turn(Ect1, false);
    assert_eq!(echo.turn(Ect0, true), split(0b100));
    assert_eq!(echo.flags().ace(), 0b000);
    // Without an ACK waiting there is nothing to split.
    assert_eq!((echo.turn(Ect1, false), echo.flags().ace()), (None, 0b100));
    // CE is RFC 3168's, and ESCE stays set with it.
    assert_eq!(echo.turn(Ect1, false), None);
    assert_eq!((echo.turn(Ce, true), echo.take(Ce)), (None, AckUrgency::Quicken(2)));
    assert_eq!(echo.turn(NotEct, true), None);
    assert_eq!((echo.flags().ace(), echo.flags().ace()), (0b101, 0b001));
    // Still SCE's turn: CE was none.
    assert_eq!(echo.turn(Ect0, true), split(0b001));
}

/// ECT(1) is ECT to a receiver without SCE, and AccECN's bit is AccECN's.
#[test]
fn sce_is_echoed_with_rfc_3168_alone() {
    for (sce, agreed) in [(false, Agreed::Rfc3168), (true, Agreed::AccEcn), (true, Agreed::Off)] {
        let mut echo = Echo::new(true, sce, false);
        echo.agreed = agreed;
        let before = echo.flags();
        echo.turn(Ect0, true);
        assert_eq!((echo.turn(Ect1, true), echo.flags()), (None, before), "{sce} {agreed:?}");
    }
    for (agreed, echoes) in [(Agreed::Off, false), (Agreed::Rfc3168, true), (Agreed::AccEcn, false)]
    {
        assert_eq!(EcnFeedback::echoes_sce(agreed, Flags::from_ace(0b100)), echoes);
    }
}

/// AccECN counts every marked packet, and hurries at a change of the codepoint where the stack does.
#[test]
fn the_accurate_echo_counts() {
    for hurries in [true, false] {
        let mut echo = Echo::new(hurries, false, false);
        echo.agreed = Agreed::AccEcn;
        echo.count(Ect1);
        let urges: Vec<bool> =
            [Ect1, Ce, Ce, Ect1, Ect1].iter().map(|&e| echo.count(e) == AckUrgency::Now).collect();
        assert_eq!(urges, [false, hurries, false, hurries, false]);
        assert_eq!(echo.flags().ace(), 7);
        assert!(!echo.heard_cwr());
    }
}

proptest! {
    /// The decoder reads the receiver's count, as long as no ACK covers more than seven packets or more marks than
    /// that.
    #[test]
    fn small_acks_are_read_exactly(acks in proptest::collection::vec((1_u32..8, 0_u32..8), 1..300)) {
        let (mut d, mut received, mut known) = (Decoder::default(), 0_u32, 0_u32);
        for (delivered, marked) in acks {
            received += marked.min(delivered);
            known += d.newly_marked(field(received), known, delivered);
            prop_assert_eq!(known, received);
        }
    }

    /// The safe choice is the largest number that fits: congruent, at most what was delivered, within eight of it.
    #[test]
    fn the_safe_choice_is_the_largest(delivered in 8_u32..1000, l in 0_u32..8) {
        let n = most(delivered, l);
        prop_assert!(n <= delivered && delivered - n < 8 && n % 8 == l);
    }
}
