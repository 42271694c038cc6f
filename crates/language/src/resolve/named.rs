//! The names of flows and groups, which everything else refers to.

/// The ping that runs next to the flows.
pub(super) const PING: &str = "ping";

/// The names of flows and groups, known before the flows themselves are.
pub(super) struct Named {
    /// For each `[[flow]]` that exists: its index in the file, its name, the names of its members, its group.
    pub(super) entries: Vec<(usize, String, Vec<String>, Option<String>)>,
    /// Whether there is a ping besides.
    pub(super) ping: bool,
    /// Flows that events start.
    pub(super) started: Vec<String>,
    /// Flows of the file that this combination leaves out.
    pub(super) left_out: Vec<String>,
}

impl Named {
    pub(super) fn is_flow(&self, name: &str) -> bool {
        self.flow_names().any(|n| n == name)
    }

    pub(super) fn flow_names(&self) -> impl Iterator<Item = &str> {
        let ping = if self.ping { &[PING][..] } else { &[] };
        self.entries
            .iter()
            .flat_map(|(_, _, m, _)| m.iter().map(String::as_str))
            .chain(ping.iter().copied())
    }

    /// The flows that a name stands for: itself, or the members of the group.
    pub(super) fn members(&self, name: &str) -> Vec<String> {
        if self.is_flow(name) {
            return vec![name.to_owned()];
        }
        self.entries
            .iter()
            .filter(|(_, _, _, group)| group.as_deref() == Some(name))
            .flat_map(|(_, _, members, _)| members.clone())
            .collect()
    }

    /// Whether the file has this flow, but not this combination.
    pub(super) fn is_left_out(&self, name: &str) -> bool {
        self.left_out.iter().any(|n| n == name)
    }

    /// The groups.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|(_, _, _, group)| group.as_deref())
    }

    /// Flows and groups.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.flow_names().collect();
        for group in self.groups() {
            if !names.contains(&group) {
                names.push(group);
            }
        }
        names
    }

    /// The members of a `[[flow]]` by its index in the file; none if it is left out.
    pub(super) fn of(&self, index: usize) -> &[String] {
        self.entries.iter().find(|e| e.0 == index).map_or(&[], |e| &e.2)
    }
}
