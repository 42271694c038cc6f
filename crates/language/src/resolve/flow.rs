//! Flows: groups written out, names, starts and stops.

use super::super::decode::{Fields, Item};
use super::super::path::bdp_of;
use super::super::source::DiagnosticKind;
use super::Resolver;
use super::named::{Named, PING};
use sojourn_model::{Action, At, By, Direction, Event, Flow, Origin, Ping, Start, Traffic, When};
use sojourn_units::{Dscp, Ecn, Span};

impl Resolver<'_> {
    pub(super) fn name_flows(&mut self, root: &Fields) -> Named {
        let ping = root.table("experiment").and_then(|e| e.bool("ping")).unwrap_or(true);
        let mut entries: Vec<(usize, String, Vec<String>, Option<String>)> = Vec::new();
        let mut left_out = Vec::new();
        for (index, table) in root.tables("flow").iter().enumerate() {
            let Some(name) = table.text("name").map(str::to_owned) else { continue };
            let place = table.place_of("name");
            let taken = |n: &String| entries.iter().any(|(_, e, m, _)| e == n || m.contains(n));
            if taken(&name) {
                self.says(&place, DiagnosticKind::Name, format!("two flows are called \"{name}\""));
                continue;
            }
            if name == PING && ping {
                self.diagnostics.push(
                    place
                        .says(DiagnosticKind::Name, "the ping is called \"ping\" already")
                        .help("give this flow another name, or set experiment.ping = false"),
                );
                continue;
            }
            if table.bool("enabled") == Some(false) {
                left_out.push(name);
                continue;
            }
            let count = table.count("count").unwrap_or(1);
            let own = table.text("group").map(str::to_owned);
            let (members, group) = if count == 1 {
                (vec![name.clone()], own)
            } else {
                let members = (1..=count).map(|i| format!("{name}-{i}")).collect();
                (members, Some(own.unwrap_or_else(|| name.clone())))
            };
            entries.push((index, name, members, group));
        }
        if entries.is_empty() && !root.tables("flow").is_empty() && self.diagnostics.is_empty() {
            let place = root.tables("flow")[0].place.clone();
            self.says(&place, DiagnosticKind::Value, "every flow of this combination is left out");
        }
        let mut named = Named { entries, ping, started: Vec::new(), left_out };
        for event in root.tables("event") {
            let started = event
                .list("start")
                .iter()
                .flat_map(|i| named.members(i.text()))
                .collect::<Vec<_>>();
            named.started.extend(started);
        }
        named
    }

    /// The flows that a list of names stands for; those that this combination leaves out are passed over.
    pub(super) fn members(&mut self, items: &[Item], named: &Named) -> Vec<String> {
        let mut flows = Vec::new();
        for item in items {
            let members = named.members(item.text());
            if members.is_empty() && !named.is_left_out(item.text()) {
                self.unknown(&item.place, "flow", item.text(), named.names());
            }
            for member in members {
                if !flows.contains(&member) {
                    flows.push(member);
                }
            }
        }
        flows
    }

    /// The hops that a list of names stands for, in the order of the file; all if the list is not given.
    pub(super) fn hops_of(&mut self, table: &Fields, root: &Fields) -> Vec<usize> {
        let names: Vec<&str> =
            root.tables("hop").iter().map(|h| h.text("name").unwrap_or("")).collect();
        if table.given("hops").is_none() {
            return (0..names.len()).collect();
        }
        let mut hops = Vec::new();
        for item in table.list("hops") {
            match names.iter().position(|n| *n == item.text()) {
                Some(hop) if !hops.contains(&hop) => hops.push(hop),
                Some(_) => self.says(
                    &item.place,
                    DiagnosticKind::Name,
                    format!("hop \"{}\" is listed twice", item.text()),
                ),
                None => self.unknown(&item.place, "hop", item.text(), names.iter().copied()),
            }
        }
        if hops.is_empty() && self.diagnostics.is_empty() {
            self.says(
                &table.place_of("hops"),
                DiagnosticKind::Value,
                "a flow passes at least one hop",
            );
        }
        hops.sort_unstable();
        hops
    }

    pub(super) fn flows(
        &mut self,
        root: &Fields,
        named: &Named,
        origin: Origin,
        events: &mut Vec<Event>,
    ) -> Vec<Flow> {
        let first = match origin {
            Origin::Flent => At::from_secs(5),
            Origin::FirstFlow | Origin::Explicit => At::ORIGIN,
        };
        let mut flows = Vec::new();
        for (index, table) in root.tables("flow").iter().enumerate() {
            let members = named.of(index).to_vec();
            if members.is_empty() {
                continue;
            }
            let group = named.entries.iter().find(|e| e.0 == index).and_then(|e| e.3.clone());
            let stack = self.stack_of(table, "stack");
            let receiver_stack =
                table.given("receiver_stack").map(|_| self.stack_of(table, "receiver_stack"));
            let ip = self.ip_of(table);
            let by = table.text("by").and_then(By::from_name);
            let hops = self.hops_of(table, root);
            let direction = match table.text("direction") {
                Some("up") => Direction::Up,
                _ => Direction::Down,
            };
            let start = self.start(table, root, named, &members, first, events);
            let stop = self.stop(table, root, named, &members, events);
            if let (Start::At(start), Some(stop)) = (start, stop)
                && stop <= start
            {
                let place = table.place_of("stop");
                self.says(&place, DiagnosticKind::Value, "a flow stops after it starts");
            }
            let passed = hops.iter().map(|&hop| &root.tables("hop")[hop]);
            let bdp = bdp_of(table, passed);
            let Some(traffic) = self.traffic(table, &stack, bdp) else { continue };
            if receiver_stack.is_some()
                && traffic.tcp().is_none()
                && !matches!(traffic, Traffic::Ping(_))
            {
                self.says(
                    &table.place_of("receiver_stack"),
                    DiagnosticKind::Value,
                    "receiver_stack applies to a TCP connection or a ping; leave it out",
                );
            }
            for name in members {
                flows.push(Flow {
                    name,
                    group: group.clone(),
                    stack: stack.clone(),
                    receiver_stack: receiver_stack.clone(),
                    by,
                    ip,
                    direction,
                    hops: hops.clone(),
                    dscp: table.dscp("dscp").unwrap_or(Dscp::BEST_EFFORT),
                    start,
                    stop,
                    delays: table.bool("delays"),
                    traffic: traffic.clone(),
                });
            }
        }
        if named.ping {
            flows.push(self.ping(root));
        }
        flows
    }

    fn ping(&mut self, root: &Fields) -> Flow {
        let table = root.table("ping");
        let (stack, hops) = match table {
            Some(table) => (self.stack_of(table, "stack"), self.hops_of(table, root)),
            None => (self.stack.clone(), (0..root.tables("hop").len()).collect()),
        };
        let size = table.and_then(|t| t.count("size")).unwrap_or(84) as u32;
        let interval = table.and_then(|t| t.span("interval")).unwrap_or(Span::from_millis(200));
        let ecn = table.and_then(|t| t.ecn("ecn")).unwrap_or(Ecn::NotEct);
        Flow {
            name: PING.to_owned(),
            group: None,
            stack,
            receiver_stack: None,
            by: table.and_then(|t| t.text("by")).and_then(By::from_name),
            ip: table.map_or(self.ip, |table| self.ip_of(table)),
            direction: Direction::Down,
            hops,
            dscp: table.and_then(|t| t.dscp("dscp")).unwrap_or(Dscp::BEST_EFFORT),
            start: Start::At(At::from_nanos(-(self.warmup.as_nanos() as i64))),
            stop: None,
            delays: table.and_then(|t| t.bool("delays")),
            traffic: Traffic::Ping(Ping { interval, size, ecn }),
        }
    }

    fn start(
        &mut self,
        table: &Fields,
        root: &Fields,
        named: &Named,
        members: &[String],
        first: At,
        events: &mut Vec<Event>,
    ) -> Start {
        let by_event = members.iter().any(|m| named.started.contains(m));
        let Some(item) = table.given("start").cloned() else {
            return if by_event { Start::Event } else { Start::At(first) };
        };
        if by_event {
            self.says(
                &item.place,
                DiagnosticKind::Value,
                "this flow is started by an event and has a start of its own too",
            );
        }
        match self.moment(&item, root, named, None) {
            Some(When::At(at)) => Start::At(at),
            Some(when) => {
                let actions =
                    members.iter().map(|m| Action::StartFlow { flow: m.clone() }).collect();
                let name = format!("start-{}", table.text("name").unwrap_or(""));
                events.push(Event { name, when, actions });
                Start::Event
            }
            None => Start::At(first),
        }
    }

    fn stop(
        &mut self,
        table: &Fields,
        root: &Fields,
        named: &Named,
        members: &[String],
        events: &mut Vec<Event>,
    ) -> Option<At> {
        let item = table.given("stop").cloned()?;
        match self.moment(&item, root, named, None)? {
            When::At(at) => Some(at),
            when => {
                let actions =
                    members.iter().map(|m| Action::StopFlow { flow: m.clone() }).collect();
                let name = format!("stop-{}", table.text("name").unwrap_or(""));
                events.push(Event { name, when, actions });
                None
            }
        }
    }
}
