//! Both ends of a connection, whichever implementation they are: quinn-proto and noq-proto have one ancestor and nearly one
//! interface. This file is a module of each; `super::proto` is the crate, and `super::own` what differs.

use super::own;
use super::proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event,
    StreamEvent, StreamId, VarInt,
};
use crate::clock::Clock;
use crate::connection::{self, Datagram, End, Measured, Out, Reduced};
use crate::seeds::Seeds;
use crate::steps::Steps;
use crate::watch::Watch;
use bytes::{Bytes, BytesMut};
use core::fmt;
use sojourn_model::Quic;
use sojourn_units::{Ecn, Span, Time};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// The implementations distinguish addresses, and do not send them.
pub(super) const CLIENT: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 40_000);
pub(super) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);

/// What the sending application writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A connection.
#[derive(Debug)]
pub(crate) struct Ends {
    clock: Clock,
    /// Datagrams that an end may hand over at once.
    burst: usize,
    /// Whether the hosts can set and read the ECN field.
    ecn: bool,
    sender: Side,
    receiver: Side,
    application: Application,
    watch: Arc<Watch>,
    /// Packets that the sender held for lost, and after how many words of it that was asked.
    lost: (u64, u64),
    stops: bool,
}

/// One end.
struct Side {
    end: End,
    is_client: bool,
    own: own::End,
    /// Boxed, since it is some kilobytes that every call would move.
    connection: Option<Box<(ConnectionHandle, Connection)>>,
    timer: Time,
    /// The steps of its timers, if they are not exact.
    steps: Option<Steps>,
    is_over: bool,
    /// What is being sent.
    buffer: Vec<u8>,
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { end, is_client, timer, is_over, .. } = self;
        write!(f, "Side {{ {end:?}, client: {is_client}, timer: {timer:?}, over: {is_over} }}")
    }
}

/// What runs above the connection: data on streams, one way. The client asks by opening a stream; where the client sends,
/// it writes to streams of its own.
#[derive(Debug)]
struct Application {
    upload: bool,
    /// The bytes that each stream has to carry.
    plan: Vec<u64>,
    /// Streams with what they still have to carry.
    streams: Vec<(StreamId, u64)>,
    /// Streams with everything acknowledged.
    finished: usize,
    is_open: bool,
    received: u64,
    /// Why the connection was lost, at the end that knew it first.
    failure: Option<String>,
}

impl Application {
    fn new(quic: &Quic, upload: bool) -> Self {
        let streams = u64::from(quic.streams);
        let share = |number: u64| match quic.bytes {
            Some(bytes) => bytes / streams + u64::from(number < bytes % streams),
            None => u64::MAX,
        };
        Self {
            upload,
            plan: (0..streams).map(share).collect(),
            streams: Vec::new(),
            finished: 0,
            is_open: false,
            received: 0,
            failure: None,
        }
    }

    /// Something happened at this end; whether the connection is over by it.
    fn on_event(&mut self, end: End, connection: &mut Connection, event: Event) -> bool {
        match (end, event) {
            (end, Event::ConnectionLost { reason }) => {
                // The other end hears of a close, which is then no news here. A closed one had nothing more to say.
                let is_news = !matches!(
                    reason,
                    ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed
                );
                if is_news && self.failure.is_none() {
                    let whose = if end == End::Sender { "sender" } else { "receiver" };
                    self.failure = Some(format!("connection lost at the {whose}: {reason}"));
                }
                return true;
            }
            (End::Sender, Event::Connected) => {
                self.is_open = true;
                if self.upload {
                    for _ in 0..self.plan.len() {
                        if let Some(id) = connection.streams().open(Dir::Uni) {
                            self.begin(connection, id);
                        }
                    }
                }
            }
            (End::Receiver, Event::Connected) if !self.upload => {
                for _ in 0..self.plan.len() {
                    if let Some(id) = connection.streams().open(Dir::Bi) {
                        // The request is an empty stream; that it can be finished was never in doubt.
                        let _ = connection.send_stream(id).finish();
                    }
                }
            }
            (End::Sender, Event::Stream(StreamEvent::Opened { dir: Dir::Bi })) => {
                while let Some(id) = connection.streams().accept(Dir::Bi) {
                    self.begin(connection, id);
                }
            }
            (End::Receiver, Event::Stream(StreamEvent::Opened { dir: Dir::Uni })) => {
                while let Some(id) = connection.streams().accept(Dir::Uni) {
                    self.read(connection, id);
                }
            }
            (End::Sender, Event::Stream(StreamEvent::Writable { id })) => {
                self.write(connection, id);
            }
            (End::Receiver, Event::Stream(StreamEvent::Readable { id })) => {
                self.read(connection, id);
            }
            (End::Sender, Event::Stream(StreamEvent::Finished { .. })) => self.finished += 1,
            _ => {}
        }
        false
    }

    /// A stream of the sender's is there.
    fn begin(&mut self, connection: &mut Connection, id: StreamId) {
        if let Some(bytes) = self.plan.get(self.streams.len()).copied() {
            self.streams.push((id, bytes));
            self.write(connection, id);
        }
    }

    /// Writes as much as the connection takes.
    fn write(&mut self, connection: &mut Connection, id: StreamId) {
        let Some((_, left)) = self.streams.iter_mut().find(|(stream, _)| *stream == id) else {
            return;
        };
        let mut stream = connection.send_stream(id);
        while *left > 0 {
            let next = (*left).min(ZEROS.len() as u64);
            let chunk = Bytes::from_static(&ZEROS[..next as usize]);
            match own::write(&mut stream, chunk) {
                Some(bytes) if *left != u64::MAX => *left -= bytes as u64,
                Some(_) => {}
                None => return,
            }
        }
        // It is finished once: a second time the stream says so, and nothing is lost by that.
        let _ = stream.finish();
    }

    /// Reads what has come.
    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.received += chunk.bytes.len() as u64;
        }
        // Asking the connection for its datagrams shows whether credit is due to the peer.
        let _ = chunks.finalize();
    }
}

impl Side {
    fn new(end: End, is_client: bool, own: own::End, steps: Option<Steps>) -> Self {
        Self {
            end,
            is_client,
            own,
            connection: None,
            timer: Time::NEVER,
            steps,
            is_over: false,
            buffer: Vec::with_capacity(1 << 16),
        }
    }

    /// Sends what the buffer holds: one datagram, or several of one length, the last perhaps shorter.
    fn send(&mut self, size: usize, segment: Option<usize>, ecn: Ecn, out: Out<'_>) {
        let from = self.end;
        for payload in self.buffer[..size].chunks(segment.unwrap_or(size).max(1)) {
            out(Datagram { from, ecn, payload });
        }
    }
}

/// The codepoint, of hosts that can set and read it.
fn codepoint(can: bool, ecn: Option<EcnCodepoint>) -> Ecn {
    ecn.filter(|_| can).map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8))
}

impl Ends {
    /// A connection, closed.
    pub(crate) fn new(quic: &Quic, upload: bool, seed: u64, flow: &str) -> Self {
        let watch = Arc::new(Watch::default());
        let side = |end: End, is_client: bool| {
            let name = if is_client { "client" } else { "server" };
            let watched = (end == End::Sender).then(|| Arc::clone(&watch));
            let seeds = Seeds::new(seed, flow, &format!("quic/{name}"));
            let steps = quic.timer_granularity.map(|step| Steps::new(step, &seeds));
            Side::new(end, is_client, own::endpoint(quic, is_client, &seeds, watched), steps)
        };
        Self {
            clock: Clock::new(),
            burst: quic.burst as usize,
            ecn: quic.ecn,
            sender: side(End::Sender, upload),
            receiver: side(End::Receiver, !upload),
            application: Application::new(quic, upload),
            watch,
            lost: (0, 0),
            stops: false,
        }
    }

    fn side(&mut self, end: End) -> &mut Side {
        match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        }
    }

    /// Lets an end do all that it can do now.
    fn drive(&mut self, end: End, now: Instant, out: Out<'_>) {
        let (can, burst, clock) = (self.ecn, self.burst, self.clock);
        let side = match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        };
        let Some(mut boxed) = side.connection.take() else { return };
        let (handle, connection) = &mut *boxed;
        let mut is_first = true;
        loop {
            let mut has_news = core::mem::take(&mut is_first);
            while let Some(event) = connection.poll_endpoint_events() {
                has_news = true;
                if let Some(answer) = side.own.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            }
            while let Some(event) = connection.poll() {
                has_news = true;
                side.is_over |= self.application.on_event(end, connection, event);
            }
            // It had nothing more to send when it was asked last, and nothing has happened since.
            if !has_news {
                break;
            }
            loop {
                side.buffer.clear();
                let sent = own::transmit(connection, now, burst, &mut side.buffer);
                let Some(transmit) = sent else { break };
                let ecn = codepoint(can, transmit.ecn);
                side.send(transmit.size, transmit.segment_size, ecn, out);
            }
        }
        // A timer that is overdue is due now: a program's event loop would fire it at once, and time does not run back.
        let due = connection.poll_timeout().map_or(Time::NEVER, |at| clock.time(at.max(now)));
        side.timer = side.steps.map_or(due, |steps| steps.wake(clock.time(now), due));
        if end == End::Sender && self.watch.touched.get() != self.lost.1 {
            self.lost = (own::lost(connection), self.watch.touched.get());
        }
        side.connection = Some(boxed);
    }
}

impl connection::Connection for Ends {
    fn open(&mut self, now: Time, out: Out<'_>) {
        let now = self.clock.at(now);
        let end = if self.sender.is_client { End::Sender } else { End::Receiver };
        let side = self.side(end);
        side.connection = own::connect(&mut side.own, now).map(Box::new);
        self.drive(end, now, out);
    }

    fn stop(&mut self, now: Time) {
        self.stops = true;
        self.sender.timer = now;
    }

    fn receive(&mut self, now: Time, at: End, ecn: Ecn, payload: &[u8], out: Out<'_>) {
        let now = self.clock.at(now);
        let can = self.ecn;
        let ecn = EcnCodepoint::from_bits(ecn.bits()).filter(|_| can);
        let side = self.side(at);
        let from = if side.is_client { SERVER } else { CLIENT };
        side.buffer.clear();
        let data = BytesMut::from(payload);
        match own::handle(&mut side.own, now, from, ecn, data, &mut side.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = side.connection.as_deref_mut() {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if side.connection.is_none() => {
                match side.own.endpoint.accept(incoming, now, &mut side.buffer, None) {
                    Ok(accepted) => side.connection = Some(Box::new(accepted)),
                    Err(_) => side.is_over = true,
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => side.own.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(transmit)) => {
                let ecn = codepoint(can, transmit.ecn);
                side.send(transmit.size, transmit.segment_size, ecn, out);
            }
            None => {}
        }
        self.drive(at, now, out);
    }

    fn next_timer(&self) -> Time {
        self.sender.timer.min(self.receiver.timer)
    }

    fn on_timer(&mut self, now: Time, out: Out<'_>) {
        let instant = self.clock.at(now);
        for end in [End::Receiver, End::Sender] {
            let stops = end == End::Sender && core::mem::take(&mut self.stops);
            let side = self.side(end);
            if side.timer > now {
                continue;
            }
            side.timer = Time::NEVER;
            if let Some((_, connection)) = side.connection.as_deref_mut() {
                if stops {
                    connection.close(instant, VarInt::from_u32(0), Bytes::new());
                    side.is_over = true;
                } else {
                    connection.handle_timeout(instant);
                }
            }
            self.drive(end, instant, out);
        }
    }

    fn is_finished(&self) -> bool {
        self.application.finished == self.application.plan.len()
    }

    fn failure(&self) -> Option<&str> {
        self.application.failure.as_deref()
    }

    fn delivered_bytes(&self) -> u64 {
        self.application.received
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.watch.model.each(out);
    }

    fn measured(&self) -> Measured {
        let (w, connection) = (&self.watch, self.sender.connection.as_deref());
        let samples = w.samples.get();
        let some = |value: u64| (value > 0).then_some(value);
        let span = |rtt| Span::from_nanos(rtt);
        Measured {
            rtt: (samples > 0).then(|| span(w.rtt.get())),
            samples,
            srtt: connection.filter(|_| samples > 0).and_then(|(_, c)| {
                own::srtt(c).map(|srtt| span(u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX)))
            }),
            packet: connection.map_or(1200, |(_, c)| u64::from(c.current_mtu())),
            window: Some(w.window.get()),
            ssthresh: Some(w.ssthresh.get()).filter(|bytes| *bytes != u64::MAX),
            in_flight: w.in_flight.get(),
            pacing: some(w.pacing.get()),
            delivery_rate: some(w.rate.get()),
            acked: w.acked.get(),
            lost: self.lost.0,
            repeated: self.lost.0,
            loss_events: w.losses.get(),
            ecn_events: w.marks.get(),
            persistent: w.persistent.get(),
            reduced: match w.recovering.get() {
                0 => None,
                1 => Some(Reduced::ByEcn),
                _ => Some(Reduced::ByLoss),
            },
            is_open: self.application.is_open,
            is_over: self.sender.is_over,
        }
    }
}
