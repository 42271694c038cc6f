//! Programs of the machine as flows: their files, the files that they may read, their environment, and the owner of their packets.
//!
//! Every engine that runs programs takes this from here, so that a flow of programs is the same on each of them. Invariants: a
//! flow's two addresses are its alone; a program sees no variable of this process's environment; a program may read the files of
//! the system, of its own folder and those that the experiment names.

use sojourn_model::{Flow, Ip, Program, Scenario, Traffic};
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// An end of a flow of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The program that the client reaches by the name `server`.
    Server,
    /// The flow ends with it.
    Client,
}

impl End {
    /// The last number of its addresses.
    pub const fn number(self) -> u8 {
        match self {
            Self::Server => 1,
            Self::Client => 2,
        }
    }

    /// The one at the other side.
    pub const fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    /// Its name, `server` or `client`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    /// Its command and arguments; empty if it has none.
    pub fn command(self, program: &Program) -> &[String] {
        match self {
            Self::Server => &program.server,
            Self::Client => &program.client,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The flows of programs of a scenario.
pub fn programs(scenario: &Scenario) -> impl Iterator<Item = (&Flow, &Program)> {
    scenario.flows.iter().filter_map(|flow| match &flow.traffic {
        Traffic::Program(program) => Some((flow, program)),
        _ => None,
    })
}

/// Whether a scenario has any.
pub fn are_in(scenario: &Scenario) -> bool {
    programs(scenario).next().is_some()
}

/// The address of a program's host; `flow` is the flow's place in the scenario.
pub fn address(flow: usize, end: End, ip: Ip) -> String {
    match ip {
        Ip::V4 => format!("10.{}.{}.{}", 64 + (flow >> 8), flow & 255, end.number()),
        Ip::V6 => format!("fd00:0:0:{flow:x}::{}", end.number()),
    }
}

/// What the programs of a flow see as `/etc/hosts`.
pub fn hosts(flow: usize, ip: Ip) -> String {
    let [server, client] = [End::Server, End::Client].map(|end| address(flow, end, ip));
    format!("127.0.0.1 localhost\n::1 localhost\n{server} server\n{client} client\n")
}

/// A program's command with the whole path of the program, and its arguments; none if the flow has no such program.
pub fn words(program: &Program, end: End) -> Option<Vec<String>> {
    let (first, arguments) = end.command(program).split_first()?;
    let file = located(program, first);
    let first = file.map_or_else(|| first.clone(), |file| file.to_string_lossy().into_owned());
    Some(core::iter::once(first).chain(arguments.iter().cloned()).collect())
}

/// A program's whole environment, as `NAME=value`.
pub fn variables(flow: usize, ip: Ip, program: &Program) -> Vec<String> {
    let addresses = [End::Server, End::Client]
        .map(|end| format!("SOJOURN_{}={}", end.name().to_uppercase(), address(flow, end, ip)));
    let own = program.environment.iter().map(|(name, value)| format!("{name}={value}"));
    SURROUNDINGS.iter().map(|&s| s.to_owned()).chain(addresses).chain(own).collect()
}

/// The sentence about a program that did something wrong: `what` has a verb, `last` are the last lines that it wrote.
pub fn fault(flow: &str, end: End, what: &str, last: &[&str]) -> String {
    let wrote = if last.is_empty() {
        "it wrote nothing".to_owned()
    } else {
        format!("the last that it wrote: {}", last.join(" / "))
    };
    format!("flow {flow}: its {end} {what}; {wrote}")
}

/// What to do about a program that did something wrong.
pub const EXPECTED: &str =
    "the flow's table `program` says what is expected of it: ready, exit, within, cpu_limit";
/// The number of a program's last lines in an error.
pub const LAST_LINES: usize = 3;
/// Bytes of output of one program from which on its run fails.
pub const MOST_OUTPUT: u64 = 4 << 20;

/// The flow of programs that has these two addresses, as their bytes, and whether the first is its server's.
pub fn owner(source: &[u8], destination: &[u8], flows: &[Flow]) -> Option<(usize, bool)> {
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

/// Where programs and their libraries lie.
pub const PLACES: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/iproute2"];

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

/// Variables of every program; none is from this process's environment.
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

/// Whether a file is in a folder that programs have of their own, instead of the machine's.
fn is_hidden(file: &Path) -> bool {
    ["/tmp", "/var/tmp", "/var/log", "/dev", "/run"].iter().any(|own| file.starts_with(own))
}

/// The commands of a flow that this machine does not have: which end's, and the word.
pub fn missing(program: &Program) -> Vec<(End, &str)> {
    [End::Server, End::Client]
        .into_iter()
        .filter_map(|end| Some((end, end.command(program).first()?.as_str())))
        .filter(|(_, word)| located(program, word).is_none())
        .collect()
}

/// What the programs of a scenario may read in addition to [`PLACES`].
pub fn reads(scenario: &Scenario) -> BTreeSet<PathBuf> {
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
pub fn identity(scenario: &Scenario) -> String {
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

/// Finds a program on the path, or where system administrators' programs are.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A hash of a text (FNV-1a): enough to tell plans and sources apart.
pub fn fnv1a(bytes: impl AsRef<[u8]>) -> u64 {
    let add = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.as_ref().iter().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::example::program;

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
    fn a_programs_own_files_are_in_its_folder() {
        let home = |path: &str| home_of(Path::new(path)).map(|p| p.display().to_string());
        assert_eq!(home("/home/a/venv/bin/python").as_deref(), Some("/home/a/venv"));
        assert_eq!(home("/home/a/target/release/it").as_deref(), Some("/home/a/target/release"));
        assert_eq!(home("/bin/sh"), None);
        assert_eq!(home("./run.sh"), None);
    }
}
