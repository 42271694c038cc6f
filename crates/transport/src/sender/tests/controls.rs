//! CUBIC and DCTCP through the whole sender: marks, losses, timeouts and undo, ACK by ACK, with the control's state.
//! Reno's tests are in `tests.rs`.

use super::*;
use crate::stack::PragueVersion;

impl Script {
    /// The control's own number of this name.
    fn own(&self, name: &str) -> f64 {
        let mut found = None;
        self.sender.gauges(&mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    /// State, window and threshold.
    fn snapshot(&self) -> (CaState, u32, u32) {
        (self.state(), self.cwnd(), self.ssthresh())
    }

    /// DCTCP's alpha in 1/1024.
    fn alpha(&self) -> u32 {
        (self.own("alpha") * 1024.0) as u32
    }
}

fn opened(cc: &'static str, stack: TcpQuirks, initial: u32) -> Script {
    let mut t = Setup { cc, stack, initial, ecn: true, ..Setup::default() }.open();
    t.wire.take_line();
    t
}

const TWO_STACKS: [TcpQuirks; 2] = [LINUX_7_3, LINUX_5_10];

/// RFC 9438 §4.6 with 717/1024 for 0.7: 20 become ⌊14.004⌋ = 14, over a round trip by PRR: ⌈14 · delivered / 20⌉ − sent.
/// Then an epoch begins: plateau 20, K = ∛(6 · 1024/410) = 2.4654 s, in 1/1024 of it 2524. An RTT of 20 ms ahead the
/// cubic is 20 − 0.4 · 2.4453³ = 14.15, in integers 20 − ⌊5.85⌋ = 15: one segment for every 14.
#[test]
fn cubic_answers_to_a_mark() {
    for stack in TWO_STACKS {
        let mut t = opened("cubic", stack, 20);
        let steps = [
            ("2 ece", "20! 21", 20), // 18 in flight; ⌈14·2/20⌉ = 2
            ("4 ece", "22", 19),     // 18; ⌈2.8⌉ − 2
            ("6", "23-24", 19),      // 17; ⌈4.2⌉ − 3
            ("8 ece", "25", 18),     // 17; ⌈5.6⌉ − 5
            ("10", "26", 17),        // 16; 7 − 6
            ("12", "27-28", 17),     // 15; ⌈8.4⌉ − 7
            ("14", "29", 16),        // 15; ⌈9.8⌉ − 9
            ("16", "", 14),          // 14, the threshold
            ("18", "30-31", 14),     // 12, two below it
            ("20", "32-33", 14),     // 12; una is not past the recovery point, 20
        ];
        for (ack, sent, cwnd) in steps {
            assert_eq!(t.ack(40, ack), sent, "{ack}");
            assert_eq!(t.snapshot(), (CaState::Cwr, cwnd, 14), "{ack}");
        }
        assert_eq!((t.own("w_max"), t.own("k")), (20.0, 0.0), "no epoch has begun");
        assert_eq!(t.ack(60, "22"), "34-35");
        assert_eq!((t.snapshot(), t.sender.tcb.control.cwnd_count), ((CaState::Open, 14, 14), 2));
        assert_eq!((t.own("k"), t.own("w_est")), (2524.0 / 1024.0, 14.0));
        assert_eq!(t.sender.counters().ece_reductions, 1);
        // Six more ACKs of two: 14, and one segment more.
        for una in [24, 26, 28, 30, 32, 34] {
            assert_eq!(t.cwnd(), 14);
            t.ack(60, &una.to_string());
        }
        assert_eq!((t.cwnd(), t.sender.tcb.control.cwnd_count), (15, 0));
        // The next mark is below the plateau, which gives way (§4.7): 15 · (1024 + 717)/2048 = 12; 15 · 717/1024 = 10.
        t.ack(80, "36 ece");
        assert_eq!((t.state(), t.ssthresh(), t.own("w_max")), (CaState::Cwr, 10, 12.0));
    }
}

/// The same cut for a loss, which PRR starts with one segment, the repair. The ACK of the repair acknowledges 19 that no
/// SACK had: one more than a window of 14 and five over.
#[test]
fn cubic_answers_to_a_loss() {
    for stack in TWO_STACKS {
        let mut t = opened("cubic", stack, 20);
        assert_eq!(t.ack(40, "0 s1"), "20");
        assert_eq!(t.ack(41, "0 s1-2"), "21");
        assert_eq!(t.ack(42, "0 s1-3"), "r0");
        // 22 − 3 − 1 in flight and ⌈14·1/20⌉.
        assert_eq!(t.snapshot(), (CaState::Recovery, 19, 14));
        assert_eq!(t.own("w_max"), 20.0);
        // The flag CWR tells of every reduction, whatever it is for.
        assert_eq!(t.ack(62, "22"), "22! 23-36");
        assert_eq!((t.snapshot(), t.sender.tcb.control.cwnd_count), ((CaState::Open, 15, 14), 5));
        assert_eq!(t.own("k"), 2524.0 / 1024.0);
    }
}

/// A timeout: the threshold as for a loss, 10 · 717/1024 = 7; CUBIC forgets its plateau and its lowest RTT, and HyStart
/// begins again. Slow start leads to 7, and from there on growth is that before any loss, a twentieth.
#[test]
fn cubic_answers_to_a_timeout() {
    let mut t = Setup { cc: "cubic", bytes: Some(40 * u64::from(MSS)), ..Setup::default() }.open();
    t.wire.take_line();
    assert_eq!(t.until(300), "63: 10; 288: r0");
    assert_eq!(t.snapshot(), (CaState::Loss, 1, 7));
    assert_eq!((t.own("w_max"), t.own("k"), t.own("hystart")), (0.0, 0.0, 0.0));
    // F-RTO asks with new data; the SACK of one says that the loss was real.
    assert_eq!(t.ack(308, "1 t288"), "11-12");
    assert_eq!(t.ack(328, "1 s11 t308"), "r1");
    // The window before its time of recovery is slow start's, up to the threshold.
    t.ack(348, "11 s11 t328");
    assert_eq!((t.cwnd(), t.ssthresh()), (7, 7));
}

/// An undo restores the window and the threshold; the plateau, which CUBIC alone knows of, stays. By the duplicate's
/// report, and by the timestamp after a timeout.
#[test]
fn cubics_reductions_are_taken_back() {
    let mut t = Setup { cc: "cubic", ..Setup::default() }.open();
    t.wire.take_line();
    t.ack(40, "0 s1");
    t.ack(40, "0 s1-2");
    assert_eq!(t.ack(40, "0 s1-3"), "r0");
    t.ack(41, "4 t40");
    assert_eq!((t.state(), t.ssthresh()), (CaState::Recovery, 7));
    t.ack(60, "4 d0 t40");
    assert_eq!(t.snapshot(), (CaState::Open, 10, INFINITE_SSTHRESH));
    assert_eq!(t.own("w_max"), 10.0);

    let mut t = Setup { cc: "cubic", ..Setup::default() }.open();
    t.wire.take_line();
    assert_eq!(t.until(300), "63: 10; 288: r0");
    t.ack(308, "1 t20");
    // 10 as before, and slow start's one for what was acknowledged.
    assert_eq!(t.snapshot(), (CaState::Open, 11, INFINITE_SSTHRESH));
    assert_eq!((t.own("w_max"), t.sender.counters().undos), (0.0, 1));
}

/// The other exit from slow start: the ninth sample of a round with a least delay 4 ms above the lowest. 20 leave at 20
/// ms, 40 at 40, when all are acknowledged; of these eight ACKs of two take the window to 56 before the ninth. Where
/// new rounds are detected when the window grows (up to 5.15), the first sample still counts for the round before: one
/// ACK later.
#[test]
fn cubic_leaves_slow_start_by_the_delay() {
    for stack in [LINUX_7_3, LINUX_5_10, LINUX_5_4] {
        let late = if stack.hystart_rounds_by_sample { (9, 56) } else { (10, 58) };
        let stack = TcpQuirks { small_queue_wakes: true, ..stack };
        for (ms, exit) in [(63, None), (70, Some(late))] {
            let mut t =
                Setup { cc: "cubic", stack: stack.clone(), initial: 20, ..Setup::default() };
            t.window = 10_000 * MSS;
            let mut t = t.open();
            for i in 1..=10 {
                t.ack(40, &(2 * i).to_string());
            }
            assert_eq!(t.snapshot(), (CaState::Open, 40, INFINITE_SSTHRESH));
            let mut left = None;
            for i in 1..=12 {
                t.ack(ms, &(20 + 2 * i).to_string());
                if left.is_none() && t.ssthresh() != INFINITE_SSTHRESH {
                    left = Some((i, t.ssthresh()));
                    assert_eq!(t.own("hystart"), 2.0);
                }
            }
            assert_eq!(left, exit, "{ms}");
        }
    }
}

/// RFC 8257 §3.3 from Linux 6.15 on: the ACK that ends a window counts in it. The first does, for the window that ends
/// where nothing had been sent: two delivered, two marked, α = 1024 − 64 + 64; half of it off ten. Then PRR as Reno's.
///
/// Of the eight that the next window delivers none is marked: 1024 − 64; of the third's four none: 960 − 60.
#[test]
fn dctcp_answers_to_a_mark() {
    let mut t = opened("dctcp", LINUX_7_3, 10);
    let steps = [
        ("2 ece", "10!", 9, 1024), // 8 in flight; ⌈5·2/10⌉ = 1
        ("4", "11", 8, 1024),      // 7; 2 − 1
        ("6", "12", 7, 1024),      // 6; 3 − 2
        ("8", "", 5, 1024),        // 5, the threshold
        ("10", "13-14", 5, 960),   // 3, two below it
    ];
    for (ack, sent, cwnd, alpha) in steps {
        assert_eq!(t.ack(40, ack), sent, "{ack}");
        assert_eq!((t.snapshot(), t.alpha()), ((CaState::Cwr, cwnd, 5), alpha), "{ack}");
    }
    assert_eq!(t.ack(60, "12"), "15-16");
    assert_eq!((t.snapshot(), t.alpha()), ((CaState::Open, 5, 5), 960));
    assert_eq!(t.ack(60, "14"), "17-18");
    assert_eq!((t.snapshot(), t.alpha()), ((CaState::Open, 5, 5), 900));
    // One of two marked, at 900: α becomes 900 − 56 + ⌊64·…⌋ only when its window is over, so the cut is 5 · 900/2048 = 2.
    t.ack(60, "16 ece");
    assert_eq!((t.state(), t.ssthresh(), t.alpha()), (CaState::Cwr, 3, 900));
}

/// The same ACKs up to Linux 6.14: alpha does not yet see what the ACK brings that ends its window. So the first cut is
/// by 960, 10 · 960/2048 = 4, and its two marks are the next window's: of eight, 960 − 60 + 64·2/8 = 916; then 916 − 57.
#[test]
fn before_6_15_alpha_lags_an_ack_behind() {
    let mut t = opened("dctcp", LINUX_5_10, 10);
    let steps = [
        ("2 ece", "10! 11", 10, 960), // 8 in flight; ⌈6·2/10⌉ = 2
        ("4", "12", 9, 960),          // 8; 3 − 2
        ("6", "13", 8, 960),          // 7; 4 − 3
        ("8", "", 6, 960),            // 6, the threshold
        ("10", "14-15", 6, 916),      // 4, two below it
    ];
    for (ack, sent, cwnd, alpha) in steps {
        assert_eq!(t.ack(40, ack), sent, "{ack}");
        assert_eq!((t.snapshot(), t.alpha()), ((CaState::Cwr, cwnd, 6), alpha), "{ack}");
    }
    assert_eq!(t.ack(60, "12"), "16-17");
    assert_eq!((t.snapshot(), t.alpha()), ((CaState::Open, 6, 6), 916));
    assert_eq!(t.ack(60, "14"), "18-19");
    assert_eq!((t.snapshot(), t.alpha()), ((CaState::Open, 6, 6), 859));
}

/// A loss halves whatever alpha is: by alpha's 960 it would be 6. So does a timeout (RFC 8257 §3.5).
#[test]
fn dctcp_answers_to_losses_and_timeouts_as_reno() {
    let mut t = opened("dctcp", LINUX_7_3, 10);
    t.ack(40, "0 s1");
    t.ack(41, "0 s1-2");
    assert_eq!(t.ack(42, "0 s1-3"), "r0");
    assert_eq!((t.snapshot(), t.alpha()), ((CaState::Recovery, 9, 5), 960));
    // Nine delivered: a window of five, and four over.
    assert_eq!(t.ack(62, "12"), "12! 13-17");
    assert_eq!((t.snapshot(), t.sender.tcb.control.cwnd_count), ((CaState::Open, 6, 5), 4));

    let mut t = opened("dctcp", LINUX_7_3, 10);
    assert_eq!(t.until(300), "63: 10; 288: r0");
    assert_eq!((t.snapshot(), t.alpha()), ((CaState::Loss, 1, 5), 1024));
    // Spurious by its timestamp: the ten as before and one for the segment.
    t.ack(308, "1 t20");
    assert_eq!(t.snapshot(), (CaState::Open, 11, INFINITE_SSTHRESH));
}

/// A repair that turns out to be a duplicate gives the window of before back (`dctcp_cwnd_undo`); a cut for marks stays.
#[test]
fn dctcps_reductions_for_losses_are_taken_back() {
    let mut t = opened("dctcp", LINUX_7_3, 10);
    t.ack(40, "0 s1");
    t.ack(40, "0 s1-2");
    assert_eq!(t.ack(40, "0 s1-3"), "r0");
    t.ack(41, "4 t40");
    t.ack(60, "4 d0 t40");
    assert_eq!(t.snapshot(), (CaState::Open, 10, INFINITE_SSTHRESH));

    let mut t = opened("dctcp", LINUX_7_3, 10);
    t.ack(40, "0 s1");
    t.ack(40, "0 s1-2");
    assert_eq!(t.ack(40, "0 s1-3 ece"), "r0");
    t.ack(41, "12 t20");
    assert_eq!((t.state(), t.ssthresh()), (CaState::Open, 5));
}

/// A control that owns its window is asked in place of proportional rate reduction, in Recovery too, and the end of Recovery
/// leaves its window alone (`tcp_cong_control`, `tcp_end_cwnd_reduction`). Prague of April 2020 goes on with its slow start
/// there: one segment more for each that is delivered, whatever is lost. PRR would have held the window at what is in
/// flight and one.
#[test]
fn a_control_with_a_window_of_its_own_is_not_held_in_recovery() {
    let stack = TcpQuirks { prague: PragueVersion::April2020, ..LINUX_5_4 };
    let mut t = opened("prague", stack, 10);
    t.ack(40, "0 s1");
    t.ack(40, "0 s1-2");
    t.ack(40, "0 s1-3");
    assert_eq!((t.state(), t.cwnd()), (CaState::Recovery, 13));
    t.ack(41, "0 s1-4");
    t.ack(42, "0 s1-5");
    // 15 and an infinite threshold: a segment leaves each half millisecond, until the window is full.
    t.until(59);
    assert_eq!((t.cwnd(), t.in_flight()), (15, 15));
    // The repair is acknowledged, with the segments 6 to 9.
    t.ack(60, "10");
    assert_eq!(t.snapshot(), (CaState::Open, 20, INFINITE_SSTHRESH));
}
