//! The relay between two interfaces of the machine, as a router: `sojourn router`.
//!
//! ```text
//! client ── LEFT ══ relay ══ RIGHT ── server
//!                   net::Network
//! ```
//!
//! Every packet that a host sends through this machine passes the queues and leaves by the other interface, to the next hop that
//! the kernel's routes name. The kernel's own forwarding is off meanwhile, by routing rules; it still answers for this machine's
//! addresses, ARP and neighbour discovery.
//!
//! Invariants: a packet is forwarded once; the rules go with the run, whether it has a result or not; frames for this machine
//! are the kernel's.

use crate::clock::Clock;
use crate::engine::is_fast;
use crate::found::Flows;
use crate::next_hop::{OnInterface, Side, Verdict, verdict};
use crate::packet::Packet;
use crate::protocol::{Failure, Host};
use crate::relay::{self, Outcome, Seen, Setting, Traffic, Wish};
use crate::routing::{Interface, Kernel, Mac, Notices, Rules};
use crate::session::{Session, Window};
use crate::shell::Ended;
use crate::sys;
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Watch};
use sojourn_model::{Scenario, nearest};
use sojourn_path::{Elements, Topology};
use sojourn_qdisc::Registry;
use sojourn_record::Recorder;
use sojourn_results::MACHINE;
use sojourn_units::Time;
use sojourn_wire::Frame;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// A request for a router.
#[derive(Clone, Debug)]
pub struct Router {
    /// The interface towards the client, where `down` ends.
    pub left: String,
    /// The interface towards the server, where `down` begins.
    pub right: String,
    /// The path; its flows give way to those that are found.
    pub scenario: Scenario,
    /// Whether packets of one TCP connection leave joined; if none, they do above 200 Mbit/s.
    pub offload: Option<bool>,
    /// Whether the relay never sleeps.
    pub spin: bool,
    /// Where packets go, if they are wanted.
    pub capture: Option<Capture>,
    /// Where the control socket is to be, if one is wanted.
    pub door: Option<PathBuf>,
    /// The TCP port that listens while the router forwards, if one is wanted. Nobody answers its connections.
    pub ready: Option<u16>,
}

/// A request that cannot be met on this machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// What is wrong.
    pub why: String,
    /// What would be right.
    pub help: String,
}

/// Why a router cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RouterError {
    /// It was refused before anything changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A part could not be set up.
    #[error(transparent)]
    SetUp(#[from] Failure),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs it until its scenario's end, or until `window` ends it. `watch` may cancel it, without results.
///
/// # Errors
/// An interface that cannot be used, a permission or a port that this process does not get; whatever ended the run.
pub fn router(router: &Router, watch: &dyn Watch, window: &Window) -> Result<Ended, RouterError> {
    let failed = |why: io::Error| Failure::of("rtnetlink", why);
    let kernel = Kernel::new().map_err(failed)?;
    let all = kernel.interfaces().map_err(failed)?;
    let ends = interfaces(&all, &router.left, &router.right)?;
    let mut links = Vec::new();
    for (end, _) in &ends {
        let step = format!("a packet socket on {}", end.name);
        let link =
            sys::shared_packet_socket(end.index).map_err(|why| refused(Failure::of(step, why)))?;
        links.push(link);
    }
    let Ok(links) = <[OwnedFd; 2]>::try_from(links) else { unreachable!("one for each end") };
    let notices = Notices::new().map_err(failed)?;
    let own = kernel.addresses().map_err(failed)?;
    let mut sides = Vec::new();
    for (end, mac) in &ends {
        sides.push(Side::new(OnInterface(Kernel::new().map_err(failed)?, end.index), *mac));
    }
    let Ok(sides) = <[Side<OnInterface>; 2]>::try_from(sides) else {
        unreachable!("one for each end")
    };
    let (flows, scenario) = Flows::new(&router.scenario);
    let (session, door) = Session::new(&scenario, flows, router.door.as_deref(), window)?;
    let ready = router.ready.map(listen).transpose()?;
    let rules = Rules::new([&router.left, &router.right]).map_err(refused)?;
    let registry = Registry::built_in();
    let elements = Elements::built_in();
    let setting = Setting {
        scenario: &scenario,
        carried: &scenario,
        queues: &[],
        registry: &registry,
        elements: &elements,
        links: vec![links],
        pair_of: Vec::new(),
        offload: router.offload.unwrap_or_else(|| is_fast(&router.scenario)),
        super_packets: true,
        spin: router.spin,
        capture: router.capture.clone(),
        clock: Clock::start(),
    };
    let indices = ends.map(|(end, _)| end.index);
    let (ignored, expired) = (0, 0);
    let mut traffic = Between { session, kernel, notices, own, indices, sides, ignored, expired };
    let outcome = relay::run(&setting, &mut traffic, watch);
    drop((rules, ready, door));
    let Outcome { tables, length, validity } = outcome?;
    let run = traffic.session.run(length, tables);
    Ok(Ended { run, status: None, validity, lacking: Vec::new() })
}

/// The interfaces of the server and of the client, in this order, with their addresses.
fn interfaces<'a>(
    all: &'a [Interface],
    left: &str,
    right: &str,
) -> Result<[(&'a Interface, Mac); 2], Refusal> {
    if left == right {
        return Err(Refusal {
            why: format!("LEFT and RIGHT are the same interface, {left}"),
            help: "a router needs two: sojourn router LEFT RIGHT".to_owned(),
        });
    }
    let one = |name: &str| {
        let names = || all.iter().map(|own| own.name.as_str());
        let Some(found) = all.iter().find(|own| own.name == name) else {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(Refusal { why: format!("there is no interface \"{name}\""), help });
        };
        if !found.is_up {
            let why = format!("the interface {name} is down");
            return Err(Refusal { why, help: format!("as root: ip link set {name} up") });
        }
        let Some(mac) = found.mac else {
            return Err(Refusal {
                why: format!("the interface {name} is no Ethernet: its frames have no MAC address"),
                help: "name a network card, a veth or a bridge".to_owned(),
            });
        };
        Ok((found, mac))
    };
    let client = one(left)?;
    Ok([one(right)?, client])
}

/// A step that failed: refused with what it needs if a permission is missing.
fn refused(failure: Failure) -> RouterError {
    if [libc::EPERM, libc::EACCES].contains(&failure.errno) {
        return Refusal { why: failure.to_string(), help: PERMISSIONS.to_owned() }.into();
    }
    failure.into()
}

/// What a router needs.
const PERMISSIONS: &str = "a router needs CAP_NET_RAW and CAP_NET_ADMIN in its network namespace: run it as root, in a \
                           container with --cap-add NET_ADMIN --cap-add NET_RAW, or in a namespace of your own (unshare -rn)";

/// Listens on a port of all addresses, of IPv4 alone where there is no IPv6.
fn listen(port: u16) -> Result<TcpListener, Refusal> {
    let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    TcpListener::bind(v6).or_else(|_| TcpListener::bind(v4)).map_err(|why| Refusal {
        why: format!("the TCP port {port} cannot be listened on: {why}"),
        help: "choose another one with --ready-port".to_owned(),
    })
}

/// The traffic of other machines.
struct Between<'a> {
    session: Session<'a>,
    kernel: Kernel,
    notices: Notices,
    /// This machine's addresses.
    own: HashSet<IpAddr>,
    /// Of the server's interface and of the client's.
    indices: [u32; 2],
    sides: [Side<OnInterface>; 2],
    /// Frames that are not a router's to forward.
    ignored: u64,
    /// Frames that have been forwarded as often as they may be.
    expired: u64,
}

impl Between<'_> {
    /// Takes over what has changed on the machine.
    fn hear(&mut self, now: Time) {
        let news = self.notices.take();
        if news.addresses || news.lost {
            // The old ones stay where the kernel does not answer.
            if let Ok(own) = self.kernel.addresses() {
                self.own = own;
            }
        }
        for (side, index) in self.sides.iter_mut().zip(self.indices) {
            if news.lost {
                side.forget();
            }
            if news.routes || news.addresses {
                side.forget_routes();
            }
            for found in news.neighbours.iter().filter(|found| found.interface == index) {
                side.hear(now, *found);
            }
        }
    }
}

impl Traffic for Between<'_> {
    fn takes(&mut self, from: Host, frame: &[u8]) -> bool {
        let verdict = verdict(frame, self.sides[from.index()].mac(), &self.own);
        match verdict {
            Verdict::Forward => {}
            Verdict::Expired => self.expired += 1,
            Verdict::Ignore => self.ignored += 1,
        }
        verdict == Verdict::Forward
    }

    fn flow_of(&mut self, now: Time, frame: &Frame, to: Host) -> Option<u32> {
        Some(self.session.flows.of(now, frame, to))
    }

    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.session.flows.delivered(packet);
    }

    fn leave(&mut self, now: Time, to: Host, packets: &mut Vec<(Time, Packet)>) {
        self.sides[to.index()].lead(now, packets);
    }

    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.notices.as_fd(), self.session.as_fd()]
    }

    fn act(&mut self, now: Time, _: &mut Recorder) -> Result<Vec<Wish>, RunError> {
        self.hear(now);
        Ok(self.session.wishes())
    }

    fn sample(&mut self, now: Time, _: &mut Recorder, topology: &Topology<Packet>) {
        self.session.flows.sample(now, None, topology);
    }

    fn status(&mut self, now: Time, of: &Seen<'_>) {
        self.session.show(now, of);
    }

    fn finish(&mut self, end: Time, recorder: &mut Recorder, topology: &Topology<Packet>) {
        self.session.flows.sample(end, None, topology);
        self.session.flows.finish(end, recorder, topology);
        let lost: u64 = self.sides.iter().map(Side::lost).sum();
        recorder.total(MACHINE, "ignored_frames", self.ignored as f64);
        recorder.total(MACHINE, "expired_frames", self.expired as f64);
        recorder.total(MACHINE, "unresolved_packets", lost as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Interface> {
        let of = |index: u32, name: &str, mac, is_up| {
            let name = name.to_owned();
            Interface { index, name, mac, is_up }
        };
        let mac = |last| Some([2, 0, 0, 0, 0, last]);
        vec![
            of(1, "lo", None, true),
            of(2, "eth0", mac(2), true),
            of(3, "eth1", mac(3), true),
            of(4, "eth2", mac(4), false),
        ]
    }

    #[test]
    fn the_left_interface_is_the_client_s() {
        let all = all();
        let [server, client] = interfaces(&all, "eth0", "eth1").unwrap();
        assert_eq!((server.0.index, client.0.index), (3, 2));
        assert_eq!((server.1[5], client.1[5]), (3, 2));
    }

    #[test]
    fn interfaces_that_cannot_be_used_are_named_with_what_would_be_right() {
        let all = all();
        let of = |left, right| {
            let Refusal { why, help } = interfaces(&all, left, right).unwrap_err();
            format!("{why}: {help}")
        };
        assert_eq!(of("etth0", "eth1"), "there is no interface \"etth0\": did you mean eth0?");
        assert!(of("eth0", "wireless").ends_with("there are lo, eth0, eth1, eth2"));
        assert!(of("eth0", "eth0").starts_with("LEFT and RIGHT are the same interface, eth0"));
        assert!(of("eth0", "lo").starts_with("the interface lo is no Ethernet"));
        assert!(of("eth2", "eth0").ends_with("ip link set eth2 up"));
    }

    #[test]
    fn a_missing_permission_is_refused_by_name() {
        let failure = |errno| Failure { step: "a rule".to_owned(), why: "no".to_owned(), errno };
        for errno in [libc::EPERM, libc::EACCES] {
            let RouterError::Refused(refusal) = refused(failure(errno)) else { panic!("refused") };
            assert!(refusal.why == "a rule: no" && refusal.help.contains("CAP_NET_ADMIN"));
        }
        assert!(matches!(refused(failure(libc::ENODEV)), RouterError::SetUp(_)));
    }

    #[test]
    fn a_port_in_use_is_refused() {
        let first = listen(0).unwrap();
        let port = first.local_addr().unwrap().port();
        assert!(listen(port).unwrap_err().why.starts_with(&format!("the TCP port {port} ")));
    }
}
