//! What limits a sender, transition by transition, as in `TCP_INFO`.

use super::*;

/// Milliseconds for each limit of the sender.
#[derive(PartialEq, Eq, Default, Debug)]
struct Millis {
    busy: u64,
    rwnd: u64,
    sndbuf: u64,
    cwnd: u64,
    pacing: u64,
    app: u64,
    host: u64,
}

impl Script {
    fn limited(&self, ms: u64) -> Millis {
        let t = self.sender.limited_times(at(ms));
        let millis = |span: Span| {
            assert_eq!(span.as_nanos() % 1_000_000, 0, "{t:?}");
            span.as_nanos() / 1_000_000
        };
        Millis {
            busy: millis(t.busy),
            rwnd: millis(t.receive_window),
            sndbuf: millis(t.send_buffer),
            cwnd: millis(t.congestion_window),
            pacing: millis(t.pacing),
            app: millis(t.application),
            host: millis(t.host),
        }
    }
}

/// Nothing counts before the connection is established, at 20 ms.
#[test]
fn a_connection_that_is_not_there_is_not_limited() {
    let mut sender = Setup::default().sender();
    sender.open(at(0), &mut Wire::default());
    assert_eq!(sender.limited_times(at(15)), LimitedTimes::default());
}

/// Four segments of ten are admitted by the peer (`tcp_snd_wnd_test`). At 50 ms it offers twenty: the rest of the
/// congestion window leaves, and limits from then on.
#[test]
fn the_peers_window_limits_until_an_attempt_that_it_does_not_stop() {
    let mut t = Setup { window: 4 * MSS, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-3");
    assert_eq!(t.ack(40, "2"), "4-5");
    assert_eq!(t.limited(50), Millis { busy: 30, rwnd: 30, ..Millis::default() });
    assert_eq!(t.ack(50, &format!("4 w{}", 20 * MSS)), "6-13");
    assert_eq!(t.limited(62), Millis { busy: 42, rwnd: 30, cwnd: 12, ..Millis::default() });
}

/// A window that opens by one segment is waited with, as a burst has two (`tcp_tso_should_defer`): it is still the
/// peer's.
#[test]
fn a_burst_that_waits_for_the_peers_window_is_limited_by_it() {
    let mut t = Setup { window: 10 * MSS, initial: 20, bursts: true, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-9");
    assert_eq!(t.ack(40, "1"), "10");
    assert_eq!(t.ack(40, "2"), "");
    assert_eq!(t.limited(55), Millis { busy: 35, rwnd: 35, ..Millis::default() });
}

/// Idle from 20 to 30 ms. One segment of a window of four is out from 30 on: the application. Four are from 35 on: the
/// window. Three of five are from 50 on: the application. None is from 60 on: idle. Busy from 30 to 60.
#[test]
fn the_application_limits_while_the_window_has_room() {
    let mut t = Setup { bytes: Some(0), initial: 4, ..Setup::default() }.open();
    t.sender.supply(at(30), u64::from(MSS), &mut t.wire);
    t.sender.supply(at(35), 3 * u64::from(MSS), &mut t.wire);
    t.ack(50, "1");
    assert_eq!((t.cwnd(), t.in_flight()), (5, 3));
    t.ack(60, "4");
    assert_eq!(t.limited(100), Millis { busy: 30, cwnd: 15, app: 65, ..Millis::default() });
}

/// An application that takes back its data limits from then on.
#[test]
fn who_stops_is_limited_by_the_application() {
    let mut t = Setup { window: 4 * MSS, ..Setup::default() }.open();
    t.sender.stop(at(33));
    assert_eq!(t.limited(40), Millis { busy: 20, rwnd: 13, app: 7, ..Millis::default() });
    // Before there is a connection nothing begins.
    let mut sender = Setup::default().sender();
    sender.open(at(0), &mut Wire::default());
    sender.stop(at(5));
    assert_eq!(sender.limited_times(at(15)), LimitedTimes::default());
}

/// The tenth segment is the first that is paced: 1448 B at twice 10 · 1448 B in 20 ms take a millisecond. Then the
/// window is found to be full.
#[test]
fn pacing_limits_while_its_gate_is_closed() {
    let mut t = Setup { paced: true, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-9");
    assert_eq!(t.until(30), "");
    assert_eq!(t.limited(40), Millis { busy: 20, pacing: 1, cwnd: 19, ..Millis::default() });
}

/// With a congestion window of 2000 the send buffer, 4 MiB at most, is full and the application asleep, but the window
/// limits. It becomes 5000: the written data leaves, as much for each ACK as the host's queue takes, and the
/// application still sleeps. When all of it is out the buffer limits (`tcp_cwnd_validate`). At 100 ms more than a third
/// is free: the application writes the rest of its 5 MB and has no more, so that the buffer no longer limits.
#[test]
fn the_send_buffer_limits_a_sleeping_application() {
    let stack = LINUX_5_4;
    let mut t = Setup { stack, bytes: Some(5_000_000), bursts: true, ..Setup::default() }.open();
    t.wire.take_line();
    let widen = |t: &mut Script, cwnd: u32| {
        (t.sender.tcb.control.cwnd, t.sender.tcb.control.ssthresh) = (cwnd, cwnd);
    };
    widen(&mut t, 2000);
    t.ack(40, "2");
    assert_eq!(t.in_flight(), 2000);
    assert!(t.sender.is_ready() && t.sender.data.send_buffer.as_ref().unwrap().is_asleep());
    widen(&mut t, 5000);
    let mut drained = 50;
    while t.sender.is_ready() {
        t.ack(drained, &(drained - 47).to_string());
        drained += 1;
    }
    drained -= 1;
    assert!((51..90).contains(&drained) && t.sender.unsent_bytes() > 0, "{drained}");
    let until = |host, sndbuf| Millis {
        busy: 30 + host + sndbuf,
        cwnd: 30,
        host,
        sndbuf,
        ..Millis::default()
    };
    assert_eq!(t.limited(95), until(drained - 50, 95 - drained));
    // An ACK that frees less than a third does not wake it.
    assert_eq!(t.ack(96, "200"), "");
    assert_eq!(t.limited(99), until(drained - 50, 99 - drained));
    t.ack(100, "1500");
    assert_eq!(t.sender.unsent_bytes(), 0);
    let then = Millis { app: 5, busy: 85, ..until(drained - 50, 100 - drained) };
    assert_eq!(t.limited(105), then);
}

/// Two bursts of two, 9216 B on the account, are as much as may wait in the host: until its device has sent them twice, at
/// 25 and 32 ms, the small queue limits. Then the window of ten is full.
#[test]
fn the_hosts_queue_limits_until_its_device_has_sent() {
    let device = Some(HostNic::WIRED);
    let mut t = Setup { device, bursts: true, ..Setup::default() }.open();
    assert_eq!(t.wire.take_line(), "0-3");
    assert_eq!(t.sent_off(25, 9216), "4-7");
    assert_eq!(t.sent_off(32, 9216), "8-9");
    assert_eq!(t.limited(40), Millis { busy: 20, host: 12, cwnd: 8, ..Millis::default() });
}

/// A timeout sends again and finds no more to send: what limited before still does.
#[test]
fn what_is_sent_again_does_not_change_what_limits() {
    let mut t = reno();
    t.until(500);
    assert!(t.sender.counters().timeouts > 0);
    assert_eq!(t.limited(500), Millis { busy: 480, cwnd: 480, ..Millis::default() });
}
