//! What the simulator adds to [`sojourn_path::topology`]: its stacks and its hosts.
//!
//! Every host has an interface in which packets wait for its jitter, so that what a host sends never arrives within the
//! call that sent it.

use crate::packet::PacketBox;
use sojourn_model::{Flow, Scenario, TcWords, Traffic};
use sojourn_path::Elements;
use sojourn_path::topology::{Basis, HostSide, NicKind, Unbuildable};
use sojourn_qdisc::{QdiscQuirks, Registry};
use sojourn_stacks::{DEFAULT, Stack};
use sojourn_transport::HostNic;

pub(crate) use sojourn_path::topology::Role;

/// Ports, middleboxes and routes of the simulator's packets.
pub(crate) type Topology = sojourn_path::Topology<PacketBox>;

/// What the words of a path may name: disciplines, and elements that hold no packets.
pub(crate) type PathWords<'a> = (&'a Registry<PacketBox>, &'a Elements);

/// The input for the ports of a scenario.
pub(crate) fn basis<'a>(
    scenario: &'a Scenario,
    (registry, elements): PathWords<'a>,
) -> Basis<'a, PacketBox> {
    Basis { scenario, registry, elements, profiles: &profile }
}

/// Ports and routes of a scenario.
pub(crate) fn build(scenario: &Scenario, words: PathWords<'_>) -> Result<Topology, Unbuildable> {
    Topology::build(&basis(scenario, words), |flow| HostSide {
        nic: true,
        queue: host_queue(flow).map(TcWords::as_str),
        control: is_netperfs(flow, stack(&flow.stack)),
    })
}

/// The stack of this name, which has been checked.
pub(crate) fn stack(name: &str) -> &'static Stack {
    Stack::named(name).or_else(|| Stack::named(DEFAULT)).expect("the default stack exists")
}

fn profile(stack_name: &str) -> QdiscQuirks {
    stack(stack_name).qdisc
}

/// Whether netperf makes the flow, so that there is a control connection, too.
pub(crate) fn is_netperfs(flow: &Flow, stack: &Stack) -> bool {
    stack.tcp.netperf && matches!(flow.traffic, Traffic::Tcp(_))
}

/// The words of the queue on the device of a flow's sender. `fq` is none here: it only paces the flow.
pub(crate) fn host_queue(flow: &Flow) -> Option<&TcWords> {
    flow.traffic.tcp()?.host_qdisc.as_ref().filter(|words| words.trim() != "fq")
}

/// What TCP knows of a device in which its own packets wait.
pub(crate) const fn host_nic(device: NicKind) -> HostNic {
    match device {
        NicKind::Wired => HostNic::WIRED,
        NicKind::Wireless => HostNic::WIFI,
    }
}
