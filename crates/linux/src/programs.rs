//! Programs of the machine in the guest: the words of the agent for what `sojourn_engine::programs` knows of them.

use sojourn_engine::programs::fnv1a;
pub(crate) use sojourn_engine::programs::{
    End, address, are_in, fault, hosts, identity, missing, owner, programs, reads, variables, words,
};
use sojourn_model::{Flow, Ip, Program, Ready, Scenario, Traffic};
use std::fmt::Write as _;
use std::time::Duration;

/// The CPU time that a run may take while its clock goes a second on: the least of its flows, and which states it.
pub(crate) fn cpu_limit(scenario: &Scenario) -> Option<(&str, Duration)> {
    let limits = programs(scenario).map(|(flow, program)| (flow.name.as_str(), program.cpu_limit));
    let (flow, limit) = limits.min_by_key(|(_, limit)| *limit)?;
    Some((flow, Duration::from_nanos(limit.as_nanos())))
}

/// The namespace of a program.
pub(crate) fn namespace(flow: usize, end: End) -> String {
    format!("flow{flow}{end}")
}

/// The network of the two hosts of a flow.
pub(crate) fn network(flow: usize, ip: Ip) -> String {
    match ip {
        Ip::V4 => format!("10.{}.{}.0/24", 64 + (flow >> 8), flow & 255),
        Ip::V6 => format!("fd00:0:0:{flow:x}::/64"),
    }
}

/// When a server is ready, in the agent's words.
pub(crate) fn ready(ready: &Ready) -> String {
    match ready {
        Ready::Listens => "listens".to_owned(),
        Ready::Port(port) => format!("port={port}"),
        Ready::After(span) => format!("after={}", span.as_nanos()),
        Ready::Output(text) => {
            let mut word = "output=".to_owned();
            for byte in text.bytes() {
                let _ = write!(word, "{byte:02x}");
            }
            word
        }
    }
}

/// The order to start a program: a file of strings that end with NUL, each with a letter in front that says what it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The file's name, in which is the hash of what is in it.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Order {
    /// Those of a flow: the server's if it has one, the client's.
    pub(crate) fn of(number: usize, flow: &Flow) -> Vec<Self> {
        let Traffic::Program(program) = &flow.traffic else { return Vec::new() };
        [End::Server, End::Client]
            .into_iter()
            .filter_map(|end| Self::of_end(number, flow.ip, program, end))
            .collect()
    }

    /// That of one end.
    pub(crate) fn of_end(number: usize, ip: Ip, program: &Program, end: End) -> Option<Self> {
        let words = words(program, end)?;
        let mut bytes = Vec::new();
        let mut put = |letter: char, text: &str| {
            bytes.push(letter as u8);
            bytes.extend(text.bytes());
            bytes.push(0);
        };
        put('h', &hosts(number, ip));
        for word in &words {
            put('a', word);
        }
        for variable in &variables(number, ip, program) {
            put('e', variable);
        }
        for (name, text) in &program.files {
            put('n', name);
            put('t', text);
        }
        Some(Self { name: format!("{end}-{:016x}", fnv1a(&bytes)), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::example::program;

    #[test]
    fn a_program_sees_what_the_experiment_says_and_nothing_of_ours() {
        let order = Order::of_end(300, Ip::V4, &program("./run.sh"), End::Client).unwrap();
        let text = String::from_utf8(order.bytes).unwrap();
        let strings: Vec<&str> = text.split_terminator('\0').collect();
        assert_eq!(strings[1..3], ["a./run.sh", "atwo words"]);
        assert!(strings[0].ends_with("10.65.44.1 server\n10.65.44.2 client\n"));
        assert!(strings.ends_with(&["eA=b", "nrun.sh", "techo hello"]));
        // Cargo sets this one for tests.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !text.contains("CARGO"));
        assert!(Order::of_end(300, Ip::V4, &program("./run.sh"), End::Server).is_none());
    }
}
