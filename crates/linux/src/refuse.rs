//! What this engine cannot run, by name and with what would provide it.

use crate::addresses::{self, MOST_WINDOWS, Windows};
use crate::cache::Kernel;
use crate::lists::{List, PAYLOADS};
use crate::netems::{constant_delay, netem_of};
use crate::tunnels::{self, Tunnel};
use crate::{around, host_queues, middleboxes, programs, queues, schedule, tools};
use sojourn_engine::{Capabilities, tc};
use sojourn_model::{
    Action, By, EcnMode, Element, ElementKind, Feature, Flow, HOST_STACK, Ip, Kind, OnOff, Place,
    Program, Pulse, Scenario, Shaper, Side, TcWords, Traffic, TrafficKind, TunnelKind, Unsupported,
    When,
};
use sojourn_qdisc::needs_transmit_queues;
use sojourn_units::Dscp;
use std::borrow::Cow;
use std::path::Path;

struct Refusals(Vec<Unsupported>);

impl Refusals {
    fn add(&mut self, what: Feature, place: &Place, why: &str, help: &str) {
        let (why, help) = (why.to_owned(), help.to_owned());
        let new = Unsupported { what, place: place.clone(), why, help };
        if !self.0.contains(&new) {
            self.0.push(new);
        }
    }

    /// What this engine alone draws a line at.
    fn limit(&mut self, what: impl Into<Cow<'static, str>>, place: &Place, why: &str, help: &str) {
        self.add(Feature::Limit(what.into()), place, why, help);
    }
}

/// The kernels and limits to run with.
pub(crate) struct Here<'a> {
    /// The engine's name.
    pub(crate) engine: &'static str,
    /// The kernels that have been built.
    pub(crate) kernels: &'a [Kernel],
    /// The one that was chosen among them, if one was.
    pub(crate) chosen: Option<&'a Kernel>,
    /// The one that runs the scenario, if one can.
    pub(crate) kernel: Option<&'a Kernel>,
    /// The folder of the kernels and programs, or why it is unknown.
    pub(crate) cache: Result<&'a Path, &'a str>,
    /// What the engine can run with that.
    pub(crate) able: &'a Capabilities,
}

/// Everything that stands against running a scenario on Linux here.
pub(crate) fn refuse(here: &Here<'_>, scenario: &Scenario) -> Vec<Unsupported> {
    let mut refusals = Refusals(Vec::new());
    let kernel = kernel(&mut refusals, here, scenario);
    for missing in here.able.refuse(scenario) {
        // Below, with how a run can have several.
        if matches!(missing.what, Feature::Stack(_)) && missing.place != Place::Experiment {
            continue;
        }
        let is_host = missing.what == Feature::Stack(HOST_STACK.to_owned());
        if kernel.is_some() || is_host || !is_of_a_kernel(&missing.what) {
            refusals.0.push(explained(here, missing));
        }
    }
    for (path, queue) in scenario.disciplines() {
        let place = Place::Element(path);
        unlike(&mut refusals, &queue.shaper, &place);
        pacing(&mut refusals, &queue.qdisc, &place);
    }
    for (name, place) in disciplines(scenario) {
        if let Some((why, help)) = needs_transmit_queues(&name) {
            refusals.add(Feature::Qdisc(name), &place, &why, help);
        }
    }
    for hop in &scenario.hops {
        if hop.stack != scenario.stack {
            another_stack(&mut refusals, &hop.stack, &Place::Hop(hop.name.clone()));
        }
        for side in [Side::Down, Side::Up] {
            elements(&mut refusals, hop.side(side), &Place::Side(hop.name.clone(), side));
        }
    }
    for flow in &scenario.flows {
        // In a guest's part of a scenario, a flow by Sojourn is not the guest's.
        if flow.by == Some(By::Sojourn) && scenario.hops.is_empty() {
            continue;
        }
        if flow.by == Some(By::Sojourn) {
            refusals.add(
                Feature::HostsBy(By::Sojourn),
                &Place::Flow(flow.name.clone()),
                "its packets pass hops that are by the kernel",
                "write by = \"sojourn\" for the hops, too",
            );
        }
        of_flow(&mut refusals, kernel, scenario, flow);
    }
    if scenario.flows.len() > 4096 {
        refusals.limit("more than 4096 flows", &Place::Flows, "the agent has room for no more", "");
    }
    for event in 0..scenario.events.len() {
        of_event(&mut refusals, scenario, event);
    }
    for phase in &scenario.phases {
        for when in [&phase.from, &phase.to] {
            unknown_time(&mut refusals, scenario, when, &Place::Phase(phase.name.clone()));
        }
    }
    if let (Some(_), Ok(cache)) = (kernel, here.cache) {
        commands(&mut refusals, here.engine, cache, scenario);
    }
    refusals.0
}

/// Everything that stands against how a scenario is divided among kernels and the simulator.
pub(crate) fn divided(decided: &Scenario) -> Vec<Unsupported> {
    let mut refusals = Refusals(Vec::new());
    for hop in decided.hops.iter().filter(|hop| hop.by != Some(By::Sojourn)) {
        refusals.add(
            Feature::HopsBy(By::Kernel),
            &Place::Hop(hop.name.clone()),
            "other hops are by sojourn, and all hops of a run are by the same",
            "write by = \"sojourn\", or leave it out everywhere",
        );
    }
    if !decided.flows.iter().any(|flow| flow.by == Some(By::Kernel)) {
        refusals.add(
            Feature::HostsBy(By::Sojourn),
            &Place::Flows,
            "no flow's hosts are by a kernel",
            "run it on the simulator: --engine sim",
        );
    }
    for flow in decided.flows.iter().filter(|flow| flow.by == Some(By::Kernel)) {
        if flow.stacks().count() > 1 && !around::is_divisible(&flow.traffic) {
            refusals.limit(
                "two kernels for one flow of this kind",
                &Place::Flow(flow.name.clone()),
                "one agent carries out both of its ends, and one end waits for the other",
                "leave receiver_stack out; a TCP transfer, on_off and a ping can have it",
            );
        }
        if let Some(device) = decided.device_of(flow) {
            refusals.add(
                Feature::HostNic,
                &Place::Flow(flow.name.clone()),
                &format!("a kernel does not see what waits in {device}"),
                "leave host_nic out, or run it on the simulator: --engine sim",
            );
        }
    }
    in_tunnels(&mut refusals, decided);
    for (path, queue) in decided.disciplines() {
        if queue.qdisc.words().any(|word| word.starts_with("ack-filter")) {
            refusals.limit(
                "ack-filter round kernels",
                &Place::Element(path),
                "it does not read a kernel's acknowledgements",
                "leave it out, or write by = \"kernel\"",
            );
        }
    }
    refusals.0
}

/// Everything that stands against running a guest's part of a scenario round the simulator's hops.
pub(crate) fn of_guest(here: &Here<'_>, own: &Scenario, tunnels: &[Tunnel]) -> Vec<Unsupported> {
    let mut refusals = Refusals(Vec::new());
    if let Some(kernel) = here.kernel.filter(|kernel| !kernel.cards) {
        refusals.add(
            Feature::HopsBy(By::Sojourn),
            &Place::Experiment,
            &format!(
                "kernel {} was built without network cards that lead out of it",
                kernel.label()
            ),
            "build it again: sojourn linux build",
        );
    }
    for tunnel in tunnels {
        of_tunnel(&mut refusals, here, tunnel);
    }
    refusals.0.extend(refuse(here, own));
    refusals.0
}

/// What this machine or its kernel lacks for a tunnel.
fn of_tunnel(refusals: &mut Refusals, here: &Here<'_>, tunnel: &Tunnel) {
    let protocol = tunnel.kind.protocol();
    let place = Place::Element(tunnel.entrance.clone());
    let can = |kernel: &Kernel| kernel.tunnels.contains(&protocol);
    if let Some(kernel) = here.kernel.filter(|kernel| !can(kernel)) {
        let others: Vec<String> = here
            .kernels
            .iter()
            .filter(|other| can(other) && other.is_of(&kernel.stack()))
            .map(Kernel::label)
            .collect();
        let help = match &others[..] {
            [] => format!(
                "build one that does: sojourn linux build --version {} --name tunnels --config tunnels",
                kernel.series()
            ),
            [one, ..] => format!("{} can: --kernel {one}", others.join(" and ")),
        };
        let why = format!("kernel {} cannot be an end of {protocol}", kernel.label());
        refusals.add(Feature::TunnelBy(By::Kernel), &place, &why, &help);
    }
    if tunnel.kind == TunnelKind::Wireguard
        && tools::Programs::find().is_ok_and(|programs| programs.wg.is_none())
    {
        let why = "the program wg, which sets the tunnel's keys, is missing";
        refusals.add(Feature::TunnelBy(By::Kernel), &place, why, "install wireguard-tools");
    }
}

/// The settings that a tunnel by a kernel cannot have: its ends are the hosts of one kernel.
fn in_tunnels(refusals: &mut Refusals, decided: &Scenario) {
    let tunnels = tunnels::of(decided);
    let all = decided.hops.len();
    for tunnel in &tunnels {
        let place = Place::Element(tunnel.entrance.clone());
        let mut cannot = |what: &'static str, why: &str, help: &str| {
            refusals.limit(what, &place, why, help);
        };
        if !tunnel.spans_all {
            cannot(
                "a tunnel by the kernel over some of the hops",
                "its ends are the hosts",
                "leave its hops out, or write by = \"sojourn\"",
            );
        }
        let window = tunnel.replay_window;
        match tunnel.kind {
            TunnelKind::Esp if window > tunnels::MOST_ESP_WINDOW => cannot(
                "a replay window of more than 4096 packets by the kernel",
                "Linux refuses a larger one (XFRMA_REPLAY_ESN_MAX)",
                "use 0 to 4096, or write by = \"sojourn\"",
            ),
            TunnelKind::Wireguard if window != tunnels::WIREGUARD_WINDOW => cannot(
                "another replay window of the kernel's WireGuard than 8192",
                "its source has this one",
                "leave replay_window out, or write by = \"sojourn\"",
            ),
            TunnelKind::Wireguard if tunnel.flows.len() != 1 => cannot(
                "several flows in the kernel's WireGuard",
                "it encrypts what tells them apart",
                "name one: flows = [\"NAME\"]; or use kind = \"esp\" or \"fou\", or write by = \"sojourn\"",
            ),
            _ => {}
        }
    }
    for (number, flow) in decided.flows.iter().enumerate() {
        let inside = tunnels.iter().filter(|tunnel| tunnel.flows.contains(&number)).count();
        if inside > 0 {
            inside_of_tunnel(refusals, flow, (inside, all));
        }
        if !tunnels.is_empty()
            && matches!(flow.traffic, Traffic::Program(_))
            && flow.by == Some(By::Kernel)
        {
            refusals.limit(
                "programs and a tunnel by the kernel",
                &Place::Flow(flow.name.clone()),
                "programs have hosts of their own, behind a bridge that takes no longer packets",
                "write by = \"sojourn\" for the tunnel",
            );
        }
    }
    let stacks: std::collections::BTreeSet<&str> = tunnels
        .iter()
        .flat_map(|tunnel| &tunnel.flows)
        .flat_map(|flow| decided.flows[*flow].stacks())
        .collect();
    if stacks.len() > 1 {
        refusals.limit(
            "tunnels between the hosts of several kernels",
            &Place::Flows,
            "both ends of a tunnel, and all flows inside, are of one kernel",
            "state one stack for them, or write by = \"sojourn\" for the tunnel",
        );
    }
}

/// The settings that a flow in a tunnel by a kernel cannot have, with the number of its tunnels and of all hops.
fn inside_of_tunnel(refusals: &mut Refusals, flow: &Flow, (inside, all): (usize, usize)) {
    let place = Place::Flow(flow.name.clone());
    let alternative = "name the flows of the tunnel, without this one: flows = [\"NAME\"]; or write by = \"sojourn\" for it";
    let mut cannot = |what: &'static str, why: &str| refusals.limit(what, &place, why, alternative);
    if flow.by != Some(By::Kernel) {
        cannot("a model in a tunnel by the kernel", "its hosts are no kernel's");
    }
    if inside > 1 {
        cannot("tunnels by the kernel in one another", "a flow's packets go into one of them");
    }
    if flow.ip == Ip::V6 {
        cannot("version 6 of IP in a tunnel by the kernel", "its networks are of version 4");
    }
    if flow.hops.len() != all {
        cannot("a flow that skips a hop in a tunnel by the kernel", "its ends are the hosts");
    }
    let Some(tcp) = flow.traffic.tcp() else { return };
    if tcp.initial_window.is_some() {
        cannot(
            "an initial window in a tunnel by the kernel",
            "the engine sets it for other routes",
        );
    }
    if tcp.host_qdisc.is_some() || tcp.codepoint.is_some() {
        cannot(
            "host_qdisc or codepoint in a tunnel by the kernel",
            "the host's card sees the outer headers",
        );
    }
}

/// The kernel that the scenario runs on. Without one there is a refusal for that, and further ones for everything that
/// no kernel could run: nobody is to build one for nothing.
fn kernel<'a>(refusals: &mut Refusals, here: &Here<'a>, scenario: &Scenario) -> Option<&'a Kernel> {
    let engine = || Feature::Engine(here.engine.to_owned());
    if let Err(why) = here.cache {
        let help = "set SOJOURN_CACHE, or HOME, to a folder of yours";
        refusals.add(engine(), &Place::Experiment, why, help);
        return None;
    }
    if here.kernels.is_empty() {
        let help = "build one, about ten minutes: sojourn linux build";
        refusals.add(engine(), &Place::Experiment, "no kernel has been built for it", help);
        return None;
    }
    if here.kernel.is_none() && scenario.stack != HOST_STACK {
        let known: Vec<String> = here.kernels.iter().map(Kernel::stack).collect();
        let (why, help) = match (here.chosen, scenario.stack.strip_prefix("linux-")) {
            (Some(chosen), _) => (
                format!("kernel {} stands for {}", chosen.label(), chosen.stack()),
                format!("choose another kernel, or say --set experiment.stack={}", chosen.stack()),
            ),
            (None, Some(series)) => (
                "no kernel that stands for it has been built".to_owned(),
                format!("sojourn linux build --version {series}; there is {}", known.join(", ")),
            ),
            (None, None) => (
                "no kernel that stands for it has been built".to_owned(),
                format!("use a stack that a kernel stands for: {}", known.join(", ")),
            ),
        };
        refusals.add(Feature::Stack(scenario.stack.clone()), &Place::Experiment, &why, &help);
    }
    here.kernel
}

/// Whether it depends on the kernel if this is there. Nothing written in Python does.
fn is_of_a_kernel(what: &Feature) -> bool {
    match what {
        Feature::CongestionControl(name) | Feature::Qdisc(name) => !name.starts_with("python:"),
        Feature::Stack(_) => true,
        _ => false,
    }
}

/// Says more than that it is not there, where there is more to say.
fn explained(here: &Here<'_>, missing: Unsupported) -> Unsupported {
    let (why, help) = match missing.what {
        Feature::Tunnel(_)
        | Feature::TunnelBy(_)
        | Feature::Element(ElementKind::Encapsulate | ElementKind::Decapsulate) => (
            "namespaces of one kernel carry the inner flow's hash across a tunnel, so the queue would separate its flows",
            "give the hops by = \"sojourn\": the simulator's tunnel, or with by = \"kernel\" the kernel's, then carries the packets; or --engine sim",
        ),
        Feature::CongestionControl(ref name) | Feature::Qdisc(ref name)
            if name.starts_with("python:") =>
        {
            ("a kernel runs no Python", "run it on the simulator: --engine sim")
        }
        Feature::CongestionControl(ref name) => {
            return of_another(here, &missing, |kernel| &kernel.ccs, name);
        }
        Feature::Qdisc(ref name) => {
            if let Some((why, help)) = needs_transmit_queues(name) {
                return Unsupported { why, help: help.to_owned(), ..missing };
            }
            return of_another(here, &missing, |kernel| &kernel.qdiscs, name);
        }
        Feature::ControlOptions => (
            "the numbers of a kernel's congestion controls are built in",
            "leave them out, or run it on the simulator: --engine sim",
        ),
        Feature::StateEvents => ("the kernel's controllers cannot be waited for", ""),
        _ => return missing,
    };
    Unsupported { why: why.to_owned(), help: help.to_owned(), ..missing }
}

/// Says of what the kernel lacks which of the others has it, or how to get one.
fn of_another(
    here: &Here<'_>,
    missing: &Unsupported,
    names: fn(&Kernel) -> &Vec<String>,
    name: &String,
) -> Unsupported {
    let why = match here.kernel {
        Some(kernel) => format!("kernel {} does not have it", kernel.label()),
        None => "no kernel here has it".to_owned(),
    };
    let others: Vec<String> = here
        .kernels
        .iter()
        .filter(|kernel| names(kernel).contains(name))
        .map(Kernel::label)
        .collect();
    let help = match &others[..] {
        [] => "build a tree that has it: sojourn linux build --source DIR".to_owned(),
        [one] => format!("{one} has it: --kernel {one}"),
        [first, ..] => format!("{} have it: --kernel {first}", others.join(" and ")),
    };
    Unsupported { why, help, ..missing.clone() }
}

fn another_stack(refusals: &mut Refusals, stack: &str, place: &Place) {
    refusals.add(
        Feature::Stack(stack.to_owned()),
        place,
        "with hops by the kernel, all hosts and hops of a run share one kernel",
        "state one stack for the experiment, or write by = \"sojourn\" for its hops",
    );
}

/// Shapers that no kernel has.
fn unlike(refusals: &mut Refusals, shaper: &Shaper, place: &Place) {
    if let Some((what, why, help)) = tc::unlike(shaper) {
        refusals.limit(what, place, why, help);
    }
}

/// An `fq` at a hop that is to pace.
fn pacing(refusals: &mut Refusals, words: &TcWords, place: &Place) {
    if tc::paces(words) {
        refusals.limit(
            "fq with pacing at a hop",
            place,
            "packets keep their sockets from namespace to namespace, so that it would pace the senders, too",
            "leave pacing and maxrate out, or run it on the simulator: --engine sim",
        );
    }
}

/// The order of elements that namespaces give: at most one netem, then at most one queue.
fn elements(refusals: &mut Refusals, elements: &[Element], place: &Place) {
    let of = |want: fn(&Kind) -> bool| -> Vec<usize> {
        (0..elements.len()).filter(|&i| want(&elements[i].kind)).collect()
    };
    let netems = of(|k| matches!(k, Kind::Netem(_)));
    let queues = of(|k| matches!(k, Kind::Queue(_)));
    if netems.len() > 1 || queues.len() > 1 {
        refusals.limit(
            "several delays or queues",
            place,
            "one side of a hop is one delay and one queue",
            "put the others into a hop of their own",
        );
    }
    if let (Some(netem), Some(queue)) = (netems.first(), queues.first())
        && netem > queue
    {
        refusals.limit(
            "a delay behind the queue",
            place,
            "packets are delayed where they come in",
            "",
        );
    }
    let last_middlebox = of(middleboxes::is_one).last().copied();
    if let (Some(middlebox), Some(queue)) = (last_middlebox, queues.first())
        && middlebox > *queue
    {
        refusals.limit(
            "a rewriter or policer behind the queue",
            place,
            "headers are rewritten, and packets dropped, where packets come in",
            "",
        );
    }
    let policers = of(|k| matches!(k, Kind::Policer(_)));
    if let (Some(policer), Some((_, netem))) = (policers.last(), netem_of(elements))
        && *policer > netems[0]
        && (!netem.per_flow.is_empty()
            || !netem.chain.iter().all(|words| constant_delay(words).is_some()))
    {
        refusals.limit(
            "a policer behind a delay that varies",
            place,
            "packets are dropped where they come in, before they are delayed",
            "put the policer in front",
        );
    }
}

fn of_flow(refusals: &mut Refusals, kernel: Option<&Kernel>, scenario: &Scenario, flow: &Flow) {
    let place = Place::Flow(flow.name.clone());
    for stack in flow.stacks().filter(|stack| *stack != scenario.stack) {
        another_stack(refusals, stack, &place);
    }
    if !flow.hops.is_sorted_by(|one, next| one < next) {
        refusals.limit(
            "hops in an order of its own",
            &place,
            "the hops form a chain, which flows pass in its order",
            "name them in the experiment's order, each once, or run it on the simulator",
        );
    }
    if let Traffic::Ping(ping) = &flow.traffic
        && ping.size < 36
    {
        refusals.limit(
            "a ping of less than 36 bytes",
            &place,
            "it has no room for its send time",
            "",
        );
    }
    if let Some(payload) = unfit_payload(scenario, flow) {
        refusals.limit(
            format!("datagrams of {payload} bytes"),
            &place,
            "they must have room for their send time and fit a packet",
            &format!("use {} to {}", PAYLOADS.start(), PAYLOADS.end() - flow.ip.more()),
        );
    }
    if let Traffic::Program(program) = &flow.traffic {
        of_program(refusals, kernel, flow, program);
    }
    let Some(tcp) = flow.traffic.tcp() else { return };
    let mut cannot = |what: &'static str, why: &str| refusals.limit(what, &place, why, "");
    match tcp.ecn {
        EcnMode::Sce => cannot("ECN mode sce", "no mainline kernel has it"),
        EcnMode::AccEcn => {
            if let Some(kernel) = kernel.filter(|kernel| !kernel.has_accecn()) {
                cannot("ECN mode accecn", &format!("kernel {} does not have it", kernel.label()));
            }
        }
        _ => {}
    }
    if tcp.ignore_ce {
        cannot("ignore_ce", "a kernel has no setting to ignore CE");
    }
    if tcp.slow_start.is_some() {
        cannot("slow_start", "a kernel's congestion controls have the slow start that they have");
    }
    if tcp.saved_cwnd.is_some() {
        cannot("saved_cwnd", "no kernel has Careful Resume");
    }
    if tcp.rate_limited_increase {
        cannot("rate_limited_increase", "the kernel has a rule of its own");
    }
    if tcp.rtt_scaling.is_some() {
        cannot("rtt_scaling", "the engine sets no parameters of a kernel's Prague");
    }
    if let Windows::Several(windows) = addresses::windows(scenario, flow.direction)
        && windows.len() > MOST_WINDOWS
    {
        cannot("more than 200 initial windows", "each is a route's, to an address of its own");
    }
    if tcp.host_qdisc.is_some()
        && host_queues::different(scenario, flow.direction).len() > host_queues::MOST
    {
        cannot(
            "more than 15 different host qdiscs",
            "each has a band of prio, and others the last",
        );
    }
}

fn of_program(refusals: &mut Refusals, kernel: Option<&Kernel>, flow: &Flow, program: &Program) {
    let place = Place::Flow(flow.name.clone());
    if kernel.is_some_and(|kernel| !kernel.programs) {
        refusals.add(
            Feature::Traffic(TrafficKind::Program),
            &place,
            "the kernel was built without the features that bound programs",
            "build it again: sojourn linux build",
        );
    }
    for (end, word) in programs::missing(program) {
        refusals.limit(
            format!("the {end} {word}"),
            &place,
            "this machine has no such program, or none that a guest sees (it has a /tmp of its own)",
            "install it, write the whole path where it is, or put it into files and write ./NAME",
        );
    }
    if flow.dscp != Dscp::BEST_EFFORT {
        let why = "a program chooses the DSCP of its packets";
        refusals.limit("a DSCP", &place, why, "tell the program, or use a rewriter");
    }
}

/// The first payload of a stream of datagrams that the agent cannot send.
fn unfit_payload(scenario: &Scenario, flow: &Flow) -> Option<u32> {
    let most = PAYLOADS.end() - flow.ip.more();
    let unfit = |payload: &u32| !(*PAYLOADS.start()..=most).contains(payload);
    match &flow.traffic {
        Traffic::Udp(udp) | Traffic::OnOff(OnOff { over: Pulse::Udp(udp), .. }) => {
            Some(udp.payload).filter(unfit)
        }
        Traffic::Voip(voip) => Some(voip.payload).filter(unfit),
        Traffic::Irtt(irtt) => Some(irtt.payload).filter(unfit),
        // Its packets are no longer than this; of one that adapts nobody knows more beforehand.
        Traffic::Video(video) if video.adaptation.is_some() => {
            Some(video.packet_payload).filter(unfit)
        }
        Traffic::Video(_) => {
            let list = List::of(scenario, flow)?;
            list.entries.into_iter().map(|(_, payload)| payload as u32).find(unfit)
        }
        _ => None,
    }
}

fn of_event(refusals: &mut Refusals, scenario: &Scenario, event: usize) {
    let spec = &scenario.events[event];
    let place = &Place::Event(spec.name.clone());
    unknown_time(refusals, scenario, &spec.when, place);
    for (number, action) in spec.actions.iter().enumerate() {
        if let Action::ChangeQdisc { qdisc, .. } | Action::ReplaceQdisc { qdisc, .. } = action {
            pacing(refusals, qdisc, place);
        }
        match action {
            Action::ReplaceQdisc { shaper: Some(shaper), .. } => unlike(refusals, shaper, place),
            Action::Rate { element, .. } => {
                // A policer's neither; a queue's shaper may have been replaced by then.
                let state = queues::before(scenario, element, event, number);
                if !state.is_some_and(|state| matches!(state.shaper, Shaper::Htb { .. })) {
                    refusals.limit("a rate", place, "only htb's can be changed here yet", element);
                }
            }
            _ => {}
        }
    }
}

fn unknown_time(refusals: &mut Refusals, scenario: &Scenario, when: &When, place: &Place) {
    if matches!(when, When::After { .. }) && schedule::time_of(scenario, when).is_none() {
        refusals.limit(
            "an event without a known time before the run",
            place,
            "the guest acts at points in time",
            "give it one, or let it follow something that has one",
        );
    }
}

/// What this machine lacks.
fn commands(refusals: &mut Refusals, engine: &str, cache: &Path, scenario: &Scenario) {
    let mut named = disciplines(scenario);
    named.retain(|(name, _)| needs_transmit_queues(name).is_none());
    let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
    let lacking = match tools::Programs::knowing(cache, &names) {
        Ok((_, lacking)) => lacking,
        Err(why) => {
            let engine = Feature::Engine(engine.to_owned());
            return refusals.add(engine, &Place::Experiment, &why, "apt install iproute2");
        }
    };
    for (name, place) in named {
        if lacking.contains(&name) {
            refusals.add(
                Feature::Qdisc(name),
                &place,
                "this machine's tc does not know it",
                "build a newer one, a minute: sojourn linux tc",
            );
        }
    }
}

/// The disciplines that tc will be asked for, each once, and where.
pub(crate) fn disciplines(scenario: &Scenario) -> Vec<(String, Place)> {
    let name_of = |words: &TcWords| words.words().next().map(str::to_owned);
    let mut named: Vec<(String, Place)> = Vec::new();
    for (path, queue) in scenario.disciplines() {
        named.extend(name_of(&queue.qdisc).map(|name| (name, Place::Element(path))));
    }
    for event in &scenario.events {
        for action in &event.actions {
            if let Action::ChangeQdisc { qdisc, .. } | Action::ReplaceQdisc { qdisc, .. } = action {
                named.extend(name_of(qdisc).map(|name| (name, Place::Event(event.name.clone()))));
            }
        }
    }
    for flow in &scenario.flows {
        let host = flow.traffic.tcp().and_then(|t| t.host_qdisc.as_ref());
        named.extend(host.and_then(name_of).map(|name| (name, Place::Flow(flow.name.clone()))));
    }
    named.sort();
    named.dedup_by(|a, b| a.0 == b.0);
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_language::{AnyWords, Experiment};

    #[test]
    fn tc_is_asked_for_every_discipline_that_comes_up() {
        let text = "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\nrate = \"1mbit\"\n\
                    rtt = \"1ms\"\nqdisc = \"pfifo limit 9\"\n[[flow]]\nname = \"f\"\ncc = \"cubic\"\n\
                    host_qdisc = \"fq\"\n[[event]]\nname = \"e\"\nat = \"5s\"\nhop = \"h\"\n\
                    replace = \"dualpi2 limit 9\"\n";
        let experiment = Experiment::parse("t.toml", text).unwrap();
        let scenario = experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0);
        let names: Vec<String> = disciplines(&scenario).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["dualpi2", "fq", "pfifo"]);
    }
}
