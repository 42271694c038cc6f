//! Programs of the machine in the guest: their hosts' names and addresses, their start orders, and the files that they
//! may read.
//!
//! Invariants: a flow's two addresses are its alone, by which the agent recognizes its packets; a program sees no
//! variable of this process's environment; a program may read the files of the system, of its own folder and those that
//! the experiment names.

use crate::tools::{find, fnv1a};
use sojourn_model::{Flow, Ip, Program, Ready, Scenario, Traffic};
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// An end of a flow of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Server,
    Client,
}

impl End {
    /// The last number of its addresses.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Server => 1,
            Self::Client => 2,
        }
    }

    /// The one at the other side.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    fn command(self, program: &Program) -> &[String] {
        match self {
            Self::Server => &program.server,
            Self::Client => &program.client,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}

/// The programs of a scenario, each flow's.
fn programs(scenario: &Scenario) -> impl Iterator<Item = (&Flow, &Program)> {
    scenario.flows.iter().filter_map(|flow| match &flow.traffic {
        Traffic::Program(program) => Some((flow, program)),
        _ => None,
    })
}

/// Whether a scenario has any.
pub(crate) fn are_in(scenario: &Scenario) -> bool {
    programs(scenario).next().is_some()
}

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

/// The address of a program's host.
pub(crate) fn address(flow: usize, end: End, ip: Ip) -> String {
    match ip {
        Ip::V4 => format!("10.{}.{}.{}", 64 + (flow >> 8), flow & 255, end.number()),
        Ip::V6 => format!("fd00:0:0:{flow:x}::{}", end.number()),
    }
}

/// The flow of programs that has these two addresses, as their bytes, and whether the first is its server's.
pub(crate) fn owner(source: &[u8], destination: &[u8], flows: &[Flow]) -> Option<(usize, bool)> {
    let of = |address: &[u8]| match *address {
        [10, high @ 64..=255, low, end] => {
            Some((usize::from(high - 64) << 8 | usize::from(low), end))
        }
        [0xfd, 0, 0, 0, 0, 0, high, low, 0, 0, 0, 0, 0, 0, 0, end] => {
            Some((usize::from(high) << 8 | usize::from(low), end))
        }
        _ => None,
    };
    let ((flow, end), (other, other_end)) = of(source).zip(of(destination))?;
    let is_program = flows.get(flow).is_some_and(|f| matches!(f.traffic, Traffic::Program(_)));
    (is_program && flow == other && end != other_end).then_some((flow, end == End::Server.number()))
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
        let (first, arguments) = end.command(program).split_first()?;
        let mut bytes = Vec::new();
        let mut put = |letter: char, text: &str| {
            bytes.push(letter as u8);
            bytes.extend(text.bytes());
            bytes.push(0);
        };
        let [server, client] = [End::Server, End::Client].map(|end| address(number, end, ip));
        put(
            'h',
            &format!("127.0.0.1 localhost\n::1 localhost\n{server} server\n{client} client\n"),
        );
        let file = located(program, first);
        put('a', &file.map_or_else(|| first.clone(), |file| file.to_string_lossy().into_owned()));
        for word in arguments {
            put('a', word);
        }
        for variable in SURROUNDINGS {
            put('e', variable);
        }
        put('e', &format!("SOJOURN_SERVER={server}"));
        put('e', &format!("SOJOURN_CLIENT={client}"));
        for (name, value) in &program.environment {
            put('e', &format!("{name}={value}"));
        }
        for (name, text) in &program.files {
            put('n', name);
            put('t', text);
        }
        Some(Self { name: format!("{end}-{:016x}", fnv1a(&bytes)), bytes })
    }
}

/// What of the system's settings programs read: names and certificates, and nothing that is secret.
const SYSTEM: [&str; 18] = [
    "/opt",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nginx/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// What programs find in their environment besides what the experiment gives them; nothing is this process's.
const SURROUNDINGS: [&str; 6] = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/tmp",
    "TMPDIR=/tmp",
    "LANG=C.UTF-8",
    "USER=root",
    "TERM=dumb",
];

/// Where a command's program is on this machine; a name with a slash that does not begin with one is a file of the
/// programs' folder.
fn located(program: &Program, word: &str) -> Option<PathBuf> {
    if !word.contains('/') {
        return find(word).filter(|file| !is_hidden(file));
    }
    let own = word.strip_prefix("./").unwrap_or(word);
    if is_hidden(Path::new(word)) {
        return None;
    }
    let is_there = program.files.contains_key(own)
        || Path::new(word).is_absolute() && Path::new(word).is_file();
    is_there.then(|| PathBuf::from(word))
}

/// Whether a file is in a folder that programs have of their own, instead of the machine's (`furnish` of the agent).
fn is_hidden(file: &Path) -> bool {
    ["/tmp", "/var/tmp", "/var/log", "/dev", "/run"].iter().any(|own| file.starts_with(own))
}

/// The commands of a flow that this machine does not have: which end's, and the word.
pub(crate) fn missing(program: &Program) -> Vec<(End, &str)> {
    [End::Server, End::Client]
        .into_iter()
        .filter_map(|end| Some((end, end.command(program).first()?.as_str())))
        .filter(|(_, word)| located(program, word).is_none())
        .collect()
}

/// What the programs of a scenario may read besides what every guest may.
pub(crate) fn reads(scenario: &Scenario) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for (_, program) in programs(scenario) {
        found.extend(SYSTEM.iter().map(PathBuf::from));
        found.extend(program.reads.iter().map(|path| at_home(path)));
        for end in [End::Server, End::Client] {
            let word = end.command(program).first();
            let Some(file) = word.and_then(|word| located(program, word)) else { continue };
            // The name may be a link, as those of virtual environments and of versions are.
            found.extend([home_of(&file)].into_iter().flatten());
            found.extend(file.canonicalize().ok().and_then(|real| home_of(&real)));
        }
    }
    found
}

/// The folder of a program's own files: the one above `bin`, else its own.
fn home_of(program: &Path) -> Option<PathBuf> {
    let folder = program.parent().filter(|folder| folder.is_absolute())?;
    let is_bin =
        folder.file_name().is_some_and(|n| ["bin", "sbin", "shims"].iter().any(|b| n == *b));
    let home = if is_bin { folder.parent()? } else { folder };
    // /bin and its like are the system's, and above them is everything.
    (home.parent().is_some()).then(|| home.to_path_buf())
}

/// A path with `~` replaced by the user's home.
fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix('~'), std::env::home_dir()) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}

/// Which programs they are, as far as a rebuilt one is another: where each lies, how long it is, when it was written.
pub(crate) fn identity(scenario: &Scenario) -> String {
    let mut text = String::new();
    for (_, program) in programs(scenario) {
        for end in [End::Server, End::Client] {
            let word = end.command(program).first();
            let Some(file) = word.and_then(|word| located(program, word)) else { continue };
            let Ok(what) = std::fs::metadata(&file) else { continue };
            let written = what.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let _ = writeln!(text, "{} {} {written:?}", file.display(), what.len());
        }
    }
    if text.is_empty() { text } else { format!(", programs {:016x}", fnv1a(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Span;
    use std::collections::BTreeMap;

    fn program(client: &str) -> Program {
        Program {
            server: vec![],
            client: vec![client.to_owned(), "two words".to_owned()],
            files: BTreeMap::from([("run.sh".to_owned(), "echo hello".to_owned())]),
            environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            reads: vec![],
            ready: Ready::Listens,
            exit: 0,
            within: None,
            cpu_limit: Span::from_secs(60),
        }
    }

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

    #[test]
    fn a_command_is_on_the_path_absolute_or_in_the_folder() {
        let lacks = |word: &str| !missing(&program(word)).is_empty();
        assert!(!lacks("sh") && !lacks("/bin/sh") && !lacks("./run.sh"));
        assert!(
            lacks("no-such-program")
                && lacks("/bin/no-such-program")
                && lacks("/dev/null")
                && lacks("./other.sh")
        );
    }

    #[test]
    fn a_programs_own_files_are_beside_it() {
        let home = |path: &str| home_of(Path::new(path)).map(|p| p.display().to_string());
        assert_eq!(home("/home/a/venv/bin/python").as_deref(), Some("/home/a/venv"));
        assert_eq!(home("/home/a/target/release/it").as_deref(), Some("/home/a/target/release"));
        assert_eq!(home("/bin/sh"), None);
        assert_eq!(home("./run.sh"), None);
    }
}
