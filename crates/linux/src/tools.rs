//! The host's programs that the engine needs, and the guest's agent, which is compiled once.
//!
//! The agent is C because it must run as the init of a kernel on whatever the host has: the compiler that built
//! the kernel builds it in a second, statically, and it is kept in the cache under the hash of its source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const AGENT: &str = include_str!("../guest/agent.c");
const PRELOAD: &str = include_str!("../guest/preload.c");

/// Programs of iproute2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Programs {
    /// `ip`.
    pub ip: String,
    /// `tc`.
    pub tc: String,
}

/// Finds a program on the path, or where system administrators' programs are.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

impl Programs {
    /// Those of this machine.
    pub fn find() -> Result<Self, String> {
        let need = |name: &str| {
            find(name)
                .map(|p| p.to_string_lossy().into_owned())
                .ok_or_else(|| format!("{name} is missing: install iproute2"))
        };
        Ok(Self { ip: need("ip")?, tc: need("tc")? })
    }

    /// Whether this tc knows a discipline.
    pub fn knows(&self, qdisc: &str) -> bool {
        // Asked for help, tc touches nothing and needs no rights.
        let args = ["qdisc", "add", "dev", "lo", "root", qdisc, "help"];
        Command::new(&self.tc)
            .args(args)
            .output()
            .is_ok_and(|o| !String::from_utf8_lossy(&o.stderr).contains("Unknown qdisc"))
    }
}

/// What the guest and its kernel's process run besides the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The guest's init.
    pub init: PathBuf,
    /// What is loaded into the kernel's process.
    pub preload: PathBuf,
}

fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The agent, compiled if it is not in the cache yet.
pub fn agent(cache: &Path) -> Result<Agent, String> {
    let name = format!("agent-{:016x}", fnv1a(AGENT) ^ fnv1a(PRELOAD).rotate_left(1));
    let folder = cache.join(name);
    let agent = Agent { init: folder.join("init"), preload: folder.join("preload.so") };
    if agent.init.is_file() && agent.preload.is_file() {
        return Ok(agent);
    }
    let compiler = ["cc", "gcc", "clang"]
        .into_iter()
        .find_map(find)
        .ok_or("a C compiler is missing: install gcc and libc6-dev")?;
    let failed = |what: &str, e: std::io::Error| format!("{what} in {}: {e}", cache.display());
    fs::create_dir_all(cache).map_err(|e| failed("cannot write", e))?;
    let work = tempfile::tempdir_in(cache).map_err(|e| failed("cannot write", e))?;
    let compile = |source: &str, name: &str, to: &str, flags: &[&str]| {
        let file = work.path().join(name);
        fs::write(&file, source).map_err(|e| failed("cannot write", e))?;
        let done = Command::new(&compiler)
            .args(["-O2", "-o"])
            .arg(work.path().join(to))
            .args(flags)
            .arg(&file)
            .output()
            .map_err(|e| failed("cannot compile", e))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        Err(format!("{} cannot compile the guest's {name}: {said}", compiler.display()))
    };
    // Where there is no static library, the guest finds the host's shared one: its root is the host's.
    compile(AGENT, "agent.c", "init", &["-static"])
        .or_else(|_| compile(AGENT, "agent.c", "init", &[]))?;
    compile(PRELOAD, "preload.c", "preload.so", &["-shared", "-fPIC"])?;
    // Another process may have been quicker; then its result, which is the same, stays.
    if fs::rename(work.path(), &folder).is_ok() {
        let _ = work.keep();
    }
    Ok(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

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
