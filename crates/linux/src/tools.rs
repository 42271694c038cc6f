//! The host's programs that the engine needs, and the programs of ours that run in guests, which are compiled once.
//!
//! The agent is C because it must run as the init of a kernel on whatever the host has: the compiler that built
//! the kernel builds it in a second, statically, and it is kept in the cache under the hash of its source.

use sojourn_engine::programs::{find, fnv1a};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

const AGENT: &str = include_str!("../guest/agent.c");
/// The parts of the agent, which it includes.
static PARTS: [(&str, &str); 8] = [
    ("connections.c", include_str!("../guest/connections.c")),
    ("hosts.c", include_str!("../guest/hosts.c")),
    ("plan.c", include_str!("../guest/plan.c")),
    ("programs.c", include_str!("../guest/programs.c")),
    ("queues.c", include_str!("../guest/queues.c")),
    ("sockets.c", include_str!("../guest/sockets.c")),
    ("taps.c", include_str!("../guest/taps.c")),
    ("tunnels.c", include_str!("../guest/tunnels.c")),
];
const PRELOAD: &str = include_str!("../guest/preload.c");
const PROBE: &str = include_str!("../probe/probe.c");

/// Programs of iproute2, and of wireguard-tools if they are here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Programs {
    /// `ip`.
    pub ip: String,
    /// `tc`.
    pub tc: String,
    /// `wg`.
    pub wg: Option<String>,
}

impl Programs {
    /// Those of this machine.
    pub fn find() -> Result<Self, String> {
        let need = |name: &str| {
            find(name)
                .map(|p| p.to_string_lossy().into_owned())
                .ok_or_else(|| format!("{name} is missing: install iproute2"))
        };
        let wg = find("wg").map(|path| path.to_string_lossy().into_owned());
        Ok(Self { ip: need("ip")?, tc: need("tc")?, wg })
    }

    /// Those whose tc knows all these disciplines: this machine's, or else the newest that was built into the cache
    /// (`sojourn linux tc`). Without one that knows all, this machine's, and what it does not know.
    pub fn knowing(cache: &Path, qdiscs: &[String]) -> Result<(Self, Vec<String>), String> {
        let own = Self::find()?;
        let lacks = |tc: &str| -> Vec<String> {
            qdiscs.iter().filter(|q| !knows(tc, q)).cloned().collect()
        };
        let lacking = lacks(&own.tc);
        if lacking.is_empty() {
            return Ok((own, lacking));
        }
        let built = built_tcs(cache).into_iter().find(|tc| lacks(tc).is_empty());
        Ok(match built {
            Some(tc) => (Self { tc, ..own }, Vec::new()),
            None => (own, lacking),
        })
    }
}

/// The tc programs in the cache, newest first.
fn built_tcs(cache: &Path) -> Vec<String> {
    let mut found: Vec<(Vec<u32>, String)> = fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix("tc-")?;
            let numbers = version.split('.').map(|n| n.parse().unwrap_or(0)).collect();
            let program = entry.path().join("tc");
            program.is_file().then(|| (numbers, program.to_string_lossy().into_owned()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, program)| program).collect()
}

/// Whether this tc knows a discipline; asked once for each.
fn knows(tc: &str, qdisc: &str) -> bool {
    static ANSWERS: Mutex<BTreeMap<(String, String), bool>> = Mutex::new(BTreeMap::new());
    let key = (tc.to_owned(), qdisc.to_owned());
    if let Some(&known) = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return known;
    }
    // Asked for help, tc touches nothing and needs no rights.
    let args = ["qdisc", "add", "dev", "lo", "root", qdisc, "help"];
    let known = Command::new(tc)
        .args(args)
        .output()
        .is_ok_and(|o| !String::from_utf8_lossy(&o.stderr).contains("Unknown qdisc"));
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, known);
    known
}

/// What the guest and its kernel's process run besides the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The guest's init.
    pub init: PathBuf,
    /// What is loaded into the kernel's process.
    pub preload: PathBuf,
}

/// The agent, compiled if it is not in the cache yet.
pub fn agent(cache: &Path) -> Result<Agent, String> {
    let sources = [AGENT, PRELOAD].into_iter().chain(PARTS.map(|(_, source)| source));
    let hash = sources.fold(0_u64, |hash, source| hash.rotate_left(1) ^ fnv1a(source));
    let name = format!("agent-{hash:016x}");
    let init =
        Source { text: AGENT, file: "agent.c", includes: &PARTS, to: "init", flags: ON_ITS_OWN };
    let folder = compiled(cache, &name, &[init, LOADED])?;
    Ok(Agent { init: folder.join("init"), preload: folder.join("preload.so") })
}

/// The program that asks a kernel what it has, likewise.
pub(crate) fn probe(cache: &Path) -> Result<Agent, String> {
    let name = format!("probe-{:016x}", fnv1a(PROBE) ^ fnv1a(PRELOAD).rotate_left(1));
    let init =
        Source { text: PROBE, file: "probe.c", includes: &[], to: "init", flags: ON_ITS_OWN };
    let folder = compiled(cache, &name, &[init, LOADED])?;
    Ok(Agent { init: folder.join("init"), preload: folder.join("preload.so") })
}

/// A program of ours in C, and the flags that it is compiled with: the first that work.
struct Source {
    text: &'static str,
    file: &'static str,
    /// Files next to it that it includes: name and text.
    includes: &'static [(&'static str, &'static str)],
    to: &'static str,
    flags: &'static [&'static [&'static str]],
}

/// Where there is no static library, the guest finds the host's shared one: its root is the host's.
const ON_ITS_OWN: &[&[&str]] = &[&["-static", "-pthread"], &["-pthread"]];
const LOADED: Source = Source {
    text: PRELOAD,
    file: "preload.c",
    includes: &[],
    to: "preload.so",
    flags: &[&["-shared", "-fPIC"]],
};

/// The folder of the cache with these programs, compiled if it is not there yet.
fn compiled(cache: &Path, name: &str, sources: &[Source]) -> Result<PathBuf, String> {
    let folder = cache.join(name);
    if sources.iter().all(|source| folder.join(source.to).is_file()) {
        return Ok(folder);
    }
    let compiler = ["cc", "gcc", "clang"]
        .into_iter()
        .find_map(find)
        .ok_or("a C compiler is missing: install gcc and libc6-dev")?;
    let failed = |what: &str, e: std::io::Error| format!("{what} in {}: {e}", cache.display());
    fs::create_dir_all(cache).map_err(|e| failed("cannot write", e))?;
    let work = tempfile::tempdir_in(cache).map_err(|e| failed("cannot write", e))?;
    for source in sources {
        let file = work.path().join(source.file);
        fs::write(&file, source.text).map_err(|e| failed("cannot write", e))?;
        for (name, text) in source.includes {
            fs::write(work.path().join(name), text).map_err(|e| failed("cannot write", e))?;
        }
        let mut said = None;
        for flags in source.flags {
            let done = Command::new(&compiler)
                .args(["-O2", "-o"])
                .arg(work.path().join(source.to))
                .args(*flags)
                .arg(&file)
                .output()
                .map_err(|e| failed("cannot compile", e))?;
            said = (!done.status.success())
                .then(|| String::from_utf8_lossy(&done.stderr).into_owned());
            if said.is_none() {
                break;
            }
        }
        if let Some(said) = said {
            let compiler = compiler.display();
            return Err(format!("{compiler} cannot compile the guest's {}: {said}", source.file));
        }
    }
    // Another process may have been quicker; then its result, which is the same, stays.
    if fs::rename(work.path(), &folder).is_ok() {
        let _ = work.keep();
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two in the cache, ordered by number and not by name; one of them is not finished.
    #[test]
    fn the_newest_tc_of_the_cache_comes_first() {
        let cache = tempfile::tempdir().unwrap();
        for (name, whole) in [("tc-6.9.0", true), ("tc-6.18.0", true), ("tc-7.2.0", false)] {
            fs::create_dir(cache.path().join(name)).unwrap();
            if whole {
                fs::write(cache.path().join(name).join("tc"), "").unwrap();
            }
        }
        let found = built_tcs(cache.path());
        let names: Vec<&str> = found.iter().map(|p| p.rsplit('/').nth(1).unwrap()).collect();
        assert_eq!(names, ["tc-6.18.0", "tc-6.9.0"]);
    }

    #[test]
    fn the_agent_is_compiled_once() {
        if find("cc").is_none() {
            return;
        }
        let cache = tempfile::tempdir().unwrap();
        let first = agent(cache.path()).unwrap();
        let age = || fs::metadata(&first.init).unwrap().modified().unwrap();
        let before = age();
        assert_eq!(agent(cache.path()).unwrap(), first);
        assert_eq!(age(), before);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
