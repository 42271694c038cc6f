//! Both ends of a connection by smoltcp. Each host has one interface, with one socket.
//!
//! The client connects, the sender's application writes as much as its socket takes, the receiver's reads at once. smoltcp
//! has a clock of microseconds: the caller's time is rounded down to it, and a timer is never early.
//!
//! smoltcp shows an application nothing that it measures. The numbers of [`Connection::measured`] come from the packets
//! that pass the sender ([`Passing`]); none of them says what the congestion window is.

mod device;
mod passing;
#[cfg(test)]
mod tests;

use crate::connection::{Connection, Datagram, End, Measured, Out};
use crate::seeds::Seeds;
use crate::steps::Steps;
use core::fmt;
use device::Device;
use passing::Passing;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpCidr};
use sojourn_model::TcpStack;
use sojourn_units::{Ecn, Time};
use std::net::SocketAddr;

/// Bytes of a buffer that no data go through.
const IDLE_BUFFER: usize = 2048;

/// A connection.
#[derive(Debug)]
pub(crate) struct Ends {
    sender: Side,
    receiver: Side,
    application: Application,
    passing: Passing,
    stops: bool,
}

/// One end.
struct Side {
    end: End,
    is_client: bool,
    local: SocketAddr,
    remote: SocketAddr,
    interface: Interface,
    device: Device,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    timer: Time,
    /// The steps of its timers, if they are not exact.
    steps: Option<Steps>,
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { end, is_client, timer, .. } = self;
        write!(f, "Side {{ {end:?}, client: {is_client}, timer: {timer:?} }}")
    }
}

/// What runs above the connection.
#[derive(Debug)]
struct Application {
    /// The bytes that are still to be written; none without end.
    left: Option<u64>,
    received: u64,
    /// Whether the sender knows that the handshake is complete.
    is_open: bool,
    /// Whether everything was written and acknowledged.
    is_finished: bool,
    failure: Option<String>,
}

/// This time by smoltcp's clock.
fn instant(time: Time) -> Instant {
    Instant::from_micros(i64::try_from(time.as_nanos() / 1000).unwrap_or(i64::MAX))
}

impl Side {
    fn new(
        tcp: &TcpStack,
        end: End,
        is_client: bool,
        [local, remote]: [SocketAddr; 2],
        seeds: &Seeds,
    ) -> Self {
        let mut device = Device::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seeds.stream("interface").next_u64();
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        // Both hosts are in one network, so that no route is needed.
        let prefix = if local.is_ipv4() { 24 } else { 64 };
        interface.update_ip_addrs(|addresses| {
            let fits = addresses.push(IpCidr::new(local.ip().into(), prefix));
            fits.expect("an interface has room for an address");
        });
        let window = usize::try_from(tcp.receive_window).unwrap_or(usize::MAX);
        let (read, written) = match end {
            // A sender never waits for its application's next write.
            End::Sender => (IDLE_BUFFER, window.saturating_mul(2)),
            End::Receiver => (window, IDLE_BUFFER),
        };
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(buffer(read), buffer(written));
        socket.set_congestion_control(match tcp.cc.as_str() {
            "reno" => CongestionControl::Reno,
            "none" => CongestionControl::None,
            _ => CongestionControl::Cubic,
        });
        if let Some(delay) = tcp.ack_delay {
            let delay = Duration::from_micros(delay.as_nanos() / 1000);
            socket.set_ack_delay((delay > Duration::ZERO).then_some(delay));
        }
        if !is_client {
            socket.listen(local).expect("a socket that is closed may listen at a port");
        }
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(socket);
        let steps = tcp.timer_granularity.map(|step| Steps::new(step, seeds));
        let timer = Time::NEVER;
        Self { end, is_client, local, remote, interface, device, sockets, socket, timer, steps }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }
}

impl Application {
    /// Does what the sockets let an application do now.
    fn act(&mut self, end: End, socket: &mut Socket<'static>) {
        match end {
            End::Sender => self.write(socket),
            End::Receiver => self.read(socket),
        }
    }

    fn write(&mut self, socket: &mut Socket<'static>) {
        self.is_open |= socket.may_send();
        while socket.can_send() && self.left != Some(0) {
            let most =
                self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
            // The buffer was made of zeros, and nothing else is ever written to it.
            let took = socket.send(|room| (room.len().min(most), room.len().min(most)));
            let Ok(bytes) = took else { break };
            self.left = self.left.map(|left| left - bytes as u64);
        }
        if self.left == Some(0) {
            socket.close();
            self.is_finished |= self.is_open && socket.send_queue() == 0;
        }
    }

    fn read(&mut self, socket: &mut Socket<'static>) {
        while socket.can_recv() {
            let Ok(bytes) = socket.recv(|data| (data.len(), data.len())) else { break };
            self.received += bytes as u64;
        }
        if socket.state() == State::CloseWait {
            socket.close();
        }
    }
}

impl Ends {
    /// A connection, closed, between these addresses of the sender and of the receiver.
    pub(crate) fn new(
        tcp: &TcpStack,
        [sender, receiver]: [SocketAddr; 2],
        upload: bool,
        seed: u64,
        flow: &str,
    ) -> Self {
        let side = |end: End, is_client: bool, addresses: [SocketAddr; 2]| {
            let name = if is_client { "tcp/client" } else { "tcp/server" };
            Side::new(tcp, end, is_client, addresses, &Seeds::new(seed, flow, name))
        };
        Self {
            sender: side(End::Sender, upload, [sender, receiver]),
            receiver: side(End::Receiver, !upload, [receiver, sender]),
            application: Application {
                left: tcp.bytes,
                received: 0,
                is_open: false,
                is_finished: false,
                failure: None,
            },
            passing: Passing::default(),
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
    fn drive(&mut self, end: End, now: Time, out: Out<'_>) {
        let at = instant(now);
        let side = match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        };
        loop {
            // An answer takes the device's only place, so the next call may have to wait for it.
            let took = side.device.incoming.is_some();
            if took {
                side.interface.poll_ingress_single(at, &mut side.device, &mut side.sockets);
            }
            self.application.act(end, side.sockets.get_mut(side.socket));
            if side.device.outgoing.is_empty() {
                side.interface.poll_egress(at, &mut side.device, &mut side.sockets);
            }
            if side.device.outgoing.is_empty() {
                if took {
                    continue;
                }
                break;
            }
            if end == End::Sender {
                self.passing.sent(now, &side.device.outgoing);
            }
            out(Datagram { from: end, ecn: Ecn::NotEct, payload: &side.device.outgoing });
            side.device.outgoing.clear();
        }
        let due = side.interface.poll_at(at, &side.sockets).map_or(Time::NEVER, |due| {
            // It would act now, and has been asked: the next time that its clock can tell from now.
            let due = due.total_micros().max(at.total_micros() + 1);
            Time::from_micros(u64::try_from(due).unwrap_or(0))
        });
        side.timer = side.steps.map_or(due, |steps| steps.wake(now, due));
        let is_gone = self.application.is_open && side.socket().state() == State::Closed;
        if is_gone && !self.application.is_finished && !self.stops {
            let side = if end == End::Sender { "sender" } else { "receiver" };
            let failure = format!("connection lost at the {side}: the peer reset it");
            self.application.failure.get_or_insert(failure);
        }
    }
}

impl Connection for Ends {
    fn open(&mut self, now: Time, out: Out<'_>) {
        let end = if self.sender.is_client { End::Sender } else { End::Receiver };
        let side = self.side(end);
        let Side { interface, sockets, socket, local, remote, .. } = side;
        let socket: &mut Socket<'static> = sockets.get_mut(*socket);
        let connected = socket.connect(interface.context(), *remote, *local);
        connected.expect("a socket that is closed may connect to an address");
        self.drive(end, now, out);
    }

    fn stop(&mut self, now: Time) {
        self.stops = true;
        self.sender.socket().abort();
        self.sender.timer = now;
    }

    fn receive(&mut self, now: Time, at: End, _ecn: Ecn, payload: &[u8], out: Out<'_>) {
        if at == End::Sender {
            self.passing.received(now, payload);
        }
        let incoming = &mut self.side(at).device.incoming;
        *incoming = Some(payload.to_vec());
        self.drive(at, now, out);
    }

    fn next_timer(&self) -> Time {
        self.sender.timer.min(self.receiver.timer)
    }

    fn on_timer(&mut self, now: Time, out: Out<'_>) {
        for end in [End::Receiver, End::Sender] {
            if self.side(end).timer <= now {
                self.drive(end, now, out);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.application.is_finished
    }

    fn failure(&self) -> Option<&str> {
        self.application.failure.as_deref()
    }

    fn delivered_bytes(&self) -> u64 {
        self.application.received
    }

    fn measured(&self) -> Measured {
        let own = &self.passing;
        Measured {
            rtt: own.rtt,
            samples: own.samples,
            packet: own.packet,
            in_flight: own.in_flight(),
            acked: own.acked,
            repeated: own.repeated,
            is_open: self.application.is_open,
            is_over: self.stops || self.application.failure.is_some(),
            ..Measured::default()
        }
    }

    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
