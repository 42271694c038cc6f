//! Where built kernels are kept, and which there are.
//!
//! `sojourn linux build` leaves one folder a kernel, named by version and configuration, in the user's cache:
//! the kernel itself (`linux`), its configuration (`config`) and what it can do (`kernel.json`). A folder
//! without a readable `kernel.json` is one that is not finished, and is passed over.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A kernel that was built.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// As `uname -r` says it: `7.3.4`.
    pub version: String,
    /// The beginning of its configuration's hash.
    pub config: String,
    /// Where its source comes from.
    pub source: String,
    /// The queue disciplines it has, by tc's names.
    pub qdiscs: Vec<String>,
    /// The congestion controls it has.
    pub ccs: Vec<String>,
    /// Whether the same seed was seen to give the same bits on it.
    #[serde(default)]
    pub repeatable: Option<bool>,
    /// Whether programs of the machine can run on it: its configuration bounds how many processes there are.
    #[serde(skip)]
    pub programs: bool,
    /// The program itself.
    #[serde(skip)]
    pub program: PathBuf,
}

impl Kernel {
    /// The series, which is its first two numbers: `7.3`.
    pub fn series(&self) -> String {
        let (major, minor, _) = self.order();
        format!("{major}.{minor}")
    }

    /// The stack that it stands for: `linux-7.3`.
    pub fn stack(&self) -> String {
        format!("linux-{}", self.series())
    }

    /// Whether it stands for this stack.
    pub fn is_of(&self, stack: &str) -> bool {
        self.stack() == stack
    }

    /// Its version as numbers, by which kernels are ordered.
    pub fn order(&self) -> (u32, u32, u32) {
        let mut numbers = self
            .version
            .split(|c: char| !c.is_ascii_digit())
            .map(|n| n.parse::<u32>().unwrap_or(0))
            .chain(std::iter::repeat(0));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next(), next())
    }
}

/// The folder of the Linux engine in the user's cache: `$SOJOURN_CACHE/linux`, `$XDG_CACHE_HOME/sojourn/linux` or
/// `~/.cache/sojourn/linux`.
///
/// # Errors
///
/// If none of the three is set. Programs are run from there, so a folder that anybody may make (one among the temporary
/// ones) is none.
pub fn folder() -> Result<PathBuf, String> {
    folder_by(|name| std::env::var_os(name))
}

/// The same where the environment is an argument.
fn folder_by(environment: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let set = |name: &str| environment(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("SOJOURN_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|p| p.join("sojourn")))
        .or_else(|| set("HOME").map(|p| p.join(".cache/sojourn")))
        .map(|cache| cache.join("linux"))
        .ok_or_else(|| {
            "SOJOURN_CACHE, XDG_CACHE_HOME and HOME are not set: nothing says where kernels are"
                .to_owned()
        })
}

/// The kernels in a folder, oldest version first; of one version those first that programs cannot run on.
pub fn kernels(folder: &Path) -> Vec<Kernel> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut kernels: Vec<Kernel> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let text = std::fs::read_to_string(path.join("kernel.json")).ok()?;
            let mut kernel: Kernel = serde_json::from_str(&text).ok()?;
            kernel.program = path.join("linux");
            let config = std::fs::read_to_string(path.join("config")).unwrap_or_default();
            kernel.programs = config.lines().any(|line| line == "CONFIG_CGROUP_PIDS=y");
            kernel.program.is_file().then_some(kernel)
        })
        .collect();
    kernels.sort_by(|a, b| {
        (a.order(), a.programs, &a.config).cmp(&(b.order(), b.programs, &b.config))
    });
    kernels
}

/// The kernel that stands for a stack: the newest of its series.
pub fn newest<'a>(kernels: &'a [Kernel], stack: &str) -> Option<&'a Kernel> {
    kernels.iter().filter(|k| k.is_of(stack)).max_by_key(|k| k.order())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(version: &str) -> Kernel {
        Kernel {
            version: version.to_owned(),
            config: "1234abcd".to_owned(),
            source: String::new(),
            qdiscs: vec!["codel".to_owned()],
            ccs: vec!["cubic".to_owned()],
            repeatable: None,
            programs: false,
            program: PathBuf::new(),
        }
    }

    #[test]
    fn a_kernel_stands_for_the_stack_of_its_series() {
        assert_eq!(kernel("7.3.4").stack(), "linux-7.3");
        assert_eq!(kernel("5.10.223-sojourn").stack(), "linux-5.10");
        assert!(kernel("6.12").order() < kernel("6.12.1").order());
        assert!(kernel("5.4.290").order() < kernel("5.10").order());
    }

    #[test]
    fn only_finished_kernels_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for (name, whole) in [("7.3.4-1", true), ("6.1.9-1", false), ("5.4.1-1", true)] {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            let version = name.split('-').next().unwrap();
            let text = serde_json::to_string(&kernel(version)).unwrap();
            std::fs::write(path.join("linux"), "").unwrap();
            std::fs::write(path.join("kernel.json"), if whole { &text } else { "{" }).unwrap();
        }
        let found: Vec<String> = kernels(folder.path()).into_iter().map(|k| k.version).collect();
        assert_eq!(found, ["5.4.1", "7.3.4"]);
    }

    /// Kernels that were built before programs could run stay in the cache.
    #[test]
    fn of_one_version_the_kernel_that_programs_run_on_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for (name, config) in [("7.3.4-1", "CONFIG_CGROUP_PIDS=y\n"), ("7.3.4-2", "CONFIG_NET=y\n")]
        {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            let own = Kernel { config: name.to_owned(), ..kernel("7.3.4") };
            std::fs::write(path.join("linux"), "").unwrap();
            std::fs::write(path.join("config"), config).unwrap();
            std::fs::write(path.join("kernel.json"), serde_json::to_string(&own).unwrap()).unwrap();
        }
        let found = kernels(folder.path());
        let taken = newest(&found, "linux-7.3").unwrap();
        assert_eq!((taken.config.as_str(), taken.programs), ("7.3.4-1", true));
    }

    /// Each of the three says where, in this order; an empty one is as good as none. None is no folder at all: not one
    /// among the temporary ones, which another user may have made.
    #[test]
    fn the_cache_is_where_the_user_says_or_nowhere() {
        let folder = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
            folder_by(value)
        };
        let all = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("SOJOURN_CACHE", "/s")];
        assert_eq!(folder(&all).unwrap(), Path::new("/s/linux"));
        assert_eq!(folder(&all[..2]).unwrap(), Path::new("/x/sojourn/linux"));
        assert_eq!(folder(&all[..1]).unwrap(), Path::new("/h/.cache/sojourn/linux"));
        for none in [&[][..], &[("HOME", "")]] {
            let why = folder(none).unwrap_err();
            assert!(why.contains("SOJOURN_CACHE") && why.contains("HOME"), "{why}");
        }
    }
}
