//! A congestion control from outside: only what this crate gives to everyone.

use sojourn_transport::cc::{
    AckSample, AddError, AnyCongestionControl, CaState, CongestionControl, Control, ControlSample,
    Event, Info, LostSegment, MIN_CWND, Registry, Reno, SegmentState, View,
};
use sojourn_transport::segment::{Ack, Block, Data, Handshake, Output};
use sojourn_transport::stack::{TcpQuirks, TsoBursts};
use sojourn_transport::{Config, Sender};
use sojourn_units::{Ecn, Time};
use std::sync::{Arc, Mutex};

const MSS: u32 = 1448;
const WINDOW: u32 = 10_000 * MSS;

/// Reno, written again without a look at how this crate calls its own.
#[derive(Clone, Debug)]
struct Copied;

impl CongestionControl for Copied {
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd / 2).max(MIN_CWND)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !control.is_cwnd_limited(view) {
            return;
        }
        let left = if control.in_slow_start() { control.slow_start(acked) } else { acked };
        if left > 0 {
            control.additive_increase(control.cwnd, left);
        }
    }
}

const COPIED: Info = Info { name: "copied", ..Reno::INFO };

fn with_copied() -> Registry {
    let mut controls = Registry::built_in();
    controls.add(COPIED, |_| AnyCongestionControl::custom(Copied)).expect("the name is free");
    controls
}

/// What left, each with its time.
#[derive(Default)]
struct Wire {
    now: Time,
    sent: Vec<(Time, Data)>,
}

impl Output for Wire {
    fn syn(&mut self, _syn: Handshake, _ecn: Ecn) {}

    fn data(&mut self, data: Data, _ecn: Ecn) {
        self.sent.push((self.now, data));
    }
}

impl Wire {
    /// The numbers of what has left since the last time, retransmissions with an `r`.
    fn line(&mut self) -> String {
        let name = |d: &Data| format!("{}{}", if d.retransmission { "r" } else { "" }, d.seq);
        let line = self.sent.iter().map(|(_, d)| name(d)).collect::<Vec<_>>().join(" ");
        self.sent.clear();
        line
    }
}

/// A sender that sends its first window at 20 ms, segment by segment.
fn established(control: AnyCongestionControl) -> (Sender, Wire) {
    let config = Config { initial_window: Some(10), ..Config::default() };
    assert_eq!(config.mss, MSS);
    let quirks = TcpQuirks { tso_bursts: TsoBursts::Singly, hz: 1000, ..TcpQuirks::LINUX_7_3 };
    let mut sender = Sender::new(&config, quirks, control);
    let mut wire = Wire::default();
    sender.open(Time::ZERO, &mut wire);
    let answer = Handshake { tsval: 10, window: WINDOW, ..Handshake::default() };
    wire.now = Time::from_millis(20);
    sender.on_syn_ack(wire.now, &answer, &mut wire);
    (sender, wire)
}

fn ack(sender: &mut Sender, wire: &mut Wire, ms: u64, una: u32, sacked: &[(u32, u32)]) {
    let mut ack = Ack {
        ack: una,
        window: WINDOW,
        tsval: ms as u32,
        tsecr: ms as u32 - 20,
        blocks: sacked.len() as u8,
        ..Ack::default()
    };
    for (block, &(first, last)) in ack.sack.iter_mut().zip(sacked) {
        *block = Block { start: first, end: last + 1 };
    }
    wire.now = Time::from_millis(ms);
    sender.on_ack(wire.now, &ack, wire);
}

fn timers_until(sender: &mut Sender, wire: &mut Wire, ms: u64) {
    while sender.next_timer() <= Time::from_millis(ms) {
        wire.now = sender.next_timer();
        sender.on_timer(wire.now, wire);
    }
}

/// Slow start, a loss with its recovery, avoidance, a timeout, and a long tail: the copy from outside does at every event
/// what the built-in does.
#[test]
fn a_copy_of_reno_from_outside_gives_the_same_trace() {
    let controls = with_copied();
    let run = |name: &str| {
        let control = controls.build(name, &TcpQuirks::LINUX_7_3).expect("it is there");
        let (mut sender, mut wire) = established(control);
        let mut trace = Vec::new();
        let mut step = |sender: &mut Sender, wire: &mut Wire| {
            let (view, control) = (&sender.tcb().view, &sender.tcb().control);
            trace.push((
                (view.una, view.nxt, view.in_flight(), view.lost, view.ca_state),
                (control.cwnd, control.cwnd_count, control.ssthresh, control.pacing_rate),
            ));
            std::mem::take(&mut wire.sent)
        };
        let mut sent = step(&mut sender, &mut wire);
        for una in (2..=20).step_by(2) {
            ack(&mut sender, &mut wire, 40 + u64::from(una), una, &[]);
            sent.extend(step(&mut sender, &mut wire));
        }
        // 20 is lost.
        for last in 21..40 {
            ack(&mut sender, &mut wire, 60 + u64::from(last), 20, &[(21, last)]);
            sent.extend(step(&mut sender, &mut wire));
        }
        for (ms, una) in [(110, 41), (111, 43), (130, 47), (131, 49), (150, 53), (170, 60)] {
            let una = una.min(sender.tcb().view.nxt);
            ack(&mut sender, &mut wire, ms, una, &[]);
            sent.extend(step(&mut sender, &mut wire));
        }
        // Nothing comes back for two seconds; then something does.
        timers_until(&mut sender, &mut wire, 2_000);
        sent.extend(step(&mut sender, &mut wire));
        let nxt = sender.tcb().view.nxt;
        ack(&mut sender, &mut wire, 2_010, nxt - 1, &[]);
        sent.extend(step(&mut sender, &mut wire));
        (trace, sent, *sender.counters())
    };
    let (builtin, copied) = (run("reno"), run("copied"));
    assert_eq!(builtin, copied);
    let (trace, _, counters) = builtin;
    assert!(counters.recoveries == 1 && counters.timeouts >= 2, "{counters:?}");
    assert!(trace.iter().any(|(_, control)| control.2 < 1000), "the threshold was set");
}

/// A sender can be copied whatever its control is; the copies go their own ways.
#[test]
fn a_boxed_control_is_copied_with_its_sender() {
    let control = with_copied().build("copied", &TcpQuirks::LINUX_7_3).expect("it is there");
    let (mut one, mut wire) = established(control);
    let mut other = one.clone();
    ack(&mut one, &mut wire, 40, 4, &[]);
    ack(&mut other, &mut wire, 40, 2, &[]);
    assert_eq!((one.tcb().control.cwnd, other.tcb().control.cwnd), (14, 12));
}

#[test]
fn a_name_is_given_once() {
    let mut controls = with_copied();
    let again = controls.add(COPIED, |_| AnyCongestionControl::custom(Copied));
    assert_eq!(again, Err(AddError::Duplicate("copied")));
    let taken = Info { name: "cubic", ..COPIED };
    let error = controls.add(taken, |quirks| Reno::new(quirks).into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is a congestion control \"cubic\" already: give yours another name"
    );
    for name in ["", "two words"] {
        let nameless = Info { name, ..COPIED };
        let error = controls.add(nameless, |quirks| Reno::new(quirks).into());
        assert_eq!(error, Err(AddError::NoName(name)));
    }
    // A refused control is not in the list; each name occurs once.
    let names: Vec<&str> = controls.names().collect();
    assert_eq!(names.len(), Registry::built_in().names().count() + 1);
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len());
    // Adding to a copy leaves the original alone.
    assert!(Registry::built_in().info("copied").is_err());
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let controls = with_copied();
    let error =
        |name: &str| controls.build(name, &TcpQuirks::LINUX_7_3).map(drop).unwrap_err().to_string();
    assert_eq!(error("cubik"), "there is no congestion control \"cubik\"; did you mean \"cubic\"?");
    assert_eq!(
        error("Copie"),
        "there is no congestion control \"Copie\"; did you mean \"copied\"?"
    );
    let names: Vec<_> = controls.names().collect();
    assert!(names.starts_with(&["cubic", "reno"]) && names.ends_with(&["copied"]));
    assert_eq!(
        error("quux"),
        format!("there is no congestion control \"quux\"; there are: {}", names.join(", "))
    );
}

/// The calls of a control, in order.
#[derive(Clone, PartialEq, Debug)]
enum Told {
    Lost(LostSegment),
    Sample { lost: u32, sent: Option<SegmentState>, acks_probe: bool },
    State(CaState),
    Event(Event),
}

/// A control with a window of its own, of 10, that writes down its calls.
#[derive(Clone, Debug)]
struct Listener {
    asks: bool,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Listener {
    fn note(&self, told: Told) {
        self.told.lock().expect("one thread").push(told);
    }
}

impl CongestionControl for Listener {
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn wants_segment_state(&self) -> bool {
        self.asks
    }

    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _sample: AckSample) {}

    fn cong_control(&mut self, _view: &View, control: &mut Control, sample: &ControlSample) {
        control.cwnd = 10;
        let &ControlSample { lost, sent, acks_probe, .. } = sample;
        self.note(Told::Sample { lost, sent, acks_probe });
    }

    fn segment_lost(&mut self, _view: &View, _control: &mut Control, lost: &LostSegment) {
        self.note(Told::Lost(*lost));
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, state: CaState) {
        self.note(Told::State(state));
    }

    fn event(&mut self, _view: &View, _control: &mut Control, event: Event) {
        if !matches!(event, Event::TxStart { .. }) {
            self.note(Told::Event(event));
        }
    }
}

struct Heard {
    sender: Sender,
    wire: Wire,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Heard {
    fn new(asks: bool) -> Self {
        let told = Arc::default();
        let listener = Listener { asks, told: Arc::clone(&told) };
        let (sender, mut wire) = established(AnyCongestionControl::custom(listener));
        assert_eq!(wire.line(), "0 1 2 3 4 5 6 7 8 9");
        Self { sender, wire, told }
    }

    /// The segments that an ACK releases, and the control's calls with it.
    fn ack(&mut self, ms: u64, una: u32, sacked: &[(u32, u32)]) -> (String, Vec<Told>) {
        ack(&mut self.sender, &mut self.wire, ms, una, sacked);
        (self.wire.line(), self.take())
    }

    fn take(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told.lock().expect("one thread"))
    }
}

/// A segment left as the `in_flight`th, when `lost` had been lost; there are no marks.
fn left(in_flight: u32, lost: u32) -> SegmentState {
    SegmentState { in_flight, lost, delivered_ce: 0 }
}

fn sample(lost: u32, sent: SegmentState) -> Told {
    Told::Sample { lost, sent: Some(sent), acks_probe: false }
}

fn lost(seq: u32, sent: SegmentState, lost: u32) -> Told {
    Told::Lost(LostSegment { seq, sent, app_limited: false, lost })
}

/// Ten leave, the n-th as the (n + 1)-th in flight. 0 and 1 are lost, which the SACK of 2 to 4 proves; their
/// repairs leave as the 6th and 7th in flight (10 − 3 SACKed − 2 lost = 5), when two had been lost. Then three new ones fill the window
/// of ten. A SACK of what left after the repair of 0 but not of that says that it is lost again.
#[test]
fn what_is_kept_with_each_segment_comes_back() {
    let mut t = Heard::new(true);
    // The third SACK of what followed proves both losses, each reported with its own count, before the sample.
    let (sent, told) = t.ack(40, 0, &[(2, 4)]);
    assert_eq!(sent, "r0 r1 10 11 12");
    assert_eq!(
        told,
        [
            lost(0, left(1, 0), 1),
            lost(1, left(2, 0), 2),
            Told::State(CaState::Recovery),
            // The newest delivered is 4, which left as the fifth.
            sample(2, left(5, 0)),
        ]
    );
    // 1's repair and 10 arrive, 0's repair does not: it is lost again, as the sixth in flight, the third loss.
    let (sent, told) = t.ack(61, 0, &[(1, 10)]);
    assert_eq!(
        told,
        [
            lost(0, left(6, 2), 3),
            // The newest delivered is 10: two repairs were out before it, and it is the eighth in flight.
            sample(1, left(8, 2)),
        ]
    );
    // In flight are 11 and 12.
    assert_eq!(sent, "r0 13 14 15 16 17 18 19");
    // The second repair left as the third in flight, with three lost; with it everything is acknowledged.
    let (_, told) = t.ack(81, 13, &[]);
    assert_eq!(told, [Told::State(CaState::Open), sample(0, left(3, 3))]);
}

/// A control that does not ask hears of no segment, and of everything else the same.
#[test]
fn nothing_is_kept_for_a_control_that_does_not_ask() {
    let (mut asks, mut silent) = (Heard::new(true), Heard::new(false));
    for (ms, una, sacked) in [(40, 0, &[(2, 4)][..]), (61, 0, &[(1, 10)][..]), (81, 13, &[][..])] {
        let (sent, told) = asks.ack(ms, una, sacked);
        let mut without = told;
        without.retain(|t| !matches!(t, Told::Lost(_)));
        for t in &mut without {
            if let Told::Sample { sent, .. } = t {
                *sent = None;
            }
        }
        assert_eq!(silent.ack(ms, una, sacked), (sent, without));
    }
}

/// A timeout: all ten are lost, in order, before the threshold is asked for and the state changes.
#[test]
fn a_timeout_tells_each_segment() {
    let mut t = Heard::new(true);
    timers_until(&mut t.sender, &mut t.wire, 300);
    let told = t.take();
    // The probe of 63 ms is the eleventh in flight; the timeout finds it lost, too.
    let mut expected: Vec<Told> = (0..11).map(|i| lost(i, left(i + 1, 0), i + 1)).collect();
    expected.extend([Told::Event(Event::Loss), Told::State(CaState::Loss)]);
    assert_eq!(told, expected);
}

/// Eight of ten arrive; there is no new data. A probe repeats the last, 9, and the ACK says that it has arrived with
/// all before: whether the original or the repeat has arrived is open until a duplicate is reported or the data that
/// follows is acknowledged without one.
#[test]
fn a_probe_that_repaired_a_loss_is_reported() {
    let mut t = Heard::new(true);
    t.sender.stop(Time::from_millis(30));
    let (sent, _) = t.ack(40, 9, &[]);
    assert_eq!(sent, "");
    timers_until(&mut t.sender, &mut t.wire, 300);
    let line = t.wire.line();
    assert!(line.starts_with("r9"), "{line}");
    assert_eq!(t.sender.counters().probes, 1);
    let before = t.take();
    assert!(before.is_empty(), "{before:?}");
    // Reaches the probe.
    let (_, told) = t.ack(310, 10, &[]);
    assert!(matches!(told[..], [Told::Sample { acks_probe: true, lost: 0, .. }]), "{told:?}");
    // New data, acknowledged without a report of a duplicate: the probe had repaired a loss.
    t.wire.now = Time::from_millis(320);
    t.sender.supply(t.wire.now, u64::from(MSS), &mut t.wire);
    assert_eq!(t.wire.line(), "10");
    let (_, told) = t.ack(340, 11, &[]);
    assert_eq!(
        told[..3],
        [
            Told::State(CaState::Cwr),
            Told::State(CaState::Open),
            Told::Event(Event::TlpRecovery { app_limited: false }),
        ]
    );
    assert!(matches!(told[3..], [Told::Sample { acks_probe: true, .. }]), "{told:?}");
}
