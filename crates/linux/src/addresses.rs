//! The addresses of the server's and the client's hosts, and which of them a flow has.
//!
//! An initial window is a route's (`ip route … initcwnd`), and a route leads to an address. Where the flows of one direction
//! do not all have the same, the host that receives their data has one address more for each of the windows, and the sender's
//! host a route of its own to each.

use sojourn_model::{Direction, Flow, Ip, Scenario, Traffic};

/// The first of the further addresses' last numbers.
const FURTHER: usize = 10;

/// The most different initial windows that the flows of one direction can have: the last number of an address is one
/// byte.
pub(crate) const MOST_WINDOWS: usize = 200;

/// A host's own address.
pub(crate) fn of_server(ip: Ip) -> String {
    with_end(ip, 1)
}

/// A host's own address.
pub(crate) fn of_client(ip: Ip) -> String {
    with_end(ip, 2)
}

fn with_end(ip: Ip, end: usize) -> String {
    match ip {
        Ip::V4 => format!("10.9.9.{end}"),
        Ip::V6 => format!("fd09::{end}"),
    }
}

/// Bits of the network that both hosts are in.
pub(crate) const fn prefix(ip: Ip) -> u8 {
    match ip {
        Ip::V4 => 24,
        Ip::V6 => 64,
    }
}

/// A flow of the agent's own, and not of a program.
fn is_own(flow: &Flow) -> bool {
    !matches!(flow.traffic, Traffic::Program(_))
}

/// The versions that the agent's own flows have; version 4 always.
pub(crate) fn versions(scenario: &Scenario) -> Vec<Ip> {
    let sixth = scenario.flows.iter().any(|flow| is_own(flow) && flow.ip == Ip::V6);
    if sixth { vec![Ip::V4, Ip::V6] } else { vec![Ip::V4] }
}

/// The initial windows of a direction's senders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Windows {
    /// All have this one, or the stack's.
    Same(Option<u32>),
    /// These, and perhaps the stack's, too.
    Several(Vec<u32>),
}

/// Those of a direction.
pub(crate) fn windows(scenario: &Scenario, direction: Direction) -> Windows {
    let own = scenario.flows.iter().filter(|flow| flow.direction == direction);
    let stated: Vec<Option<u32>> =
        own.filter_map(|flow| flow.traffic.tcp()).map(|tcp| tcp.initial_window).collect();
    if stated.iter().all(|window| *window == stated[0]) {
        return Windows::Same(stated.first().copied().flatten());
    }
    let mut several: Vec<u32> = stated.into_iter().flatten().collect();
    several.sort_unstable();
    several.dedup();
    Windows::Several(several)
}

/// The address of the receiver of this direction's data for the senders with an initial window of these several.
pub(crate) fn for_window(place: usize, ip: Ip) -> String {
    with_end(ip, FURTHER + place)
}

/// The addresses of a flow's sender and receiver.
pub(crate) fn of_flow(scenario: &Scenario, flow: &Flow) -> (String, String) {
    let (server, client) = (of_server(flow.ip), of_client(flow.ip));
    let (sender, mut receiver) = match flow.direction {
        Direction::Down => (server, client),
        Direction::Up => (client, server),
    };
    if let Some(window) = flow.traffic.tcp().and_then(|tcp| tcp.initial_window)
        && let Windows::Several(windows) = windows(scenario, flow.direction)
        && let Ok(place) = windows.binary_search(&window)
    {
        receiver = for_window(place, flow.ip);
    }
    (sender, receiver)
}
