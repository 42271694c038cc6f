//! Where built kernels are kept, and which there are.
//!
//! `sojourn linux build` leaves one folder a kernel in the user's cache, named by its version and the hash of its program:
//! the kernel itself (`linux`), its configuration (`config`) and what it said that it has (`kernel.json`). A folder
//! without a readable `kernel.json` is one that is not finished, and is passed over.
//!
//! The hash is of what was built. A build is repeatable (its date and place are fixed), so the same tree, configuration and
//! compiler give the same hash, and whatever makes a difference to the kernel gives another.

use serde::{Deserialize, Serialize};
use sojourn_model::{TunnelProtocol, nearest};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A kernel that was built.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// As `uname -r` says it: `7.3.4`.
    pub version: String,
    /// The beginning of its program's hash. Kernels of earlier versions of Sojourn have none.
    #[serde(default)]
    pub hash: Option<String>,
    /// The beginning of its configuration's hash.
    pub config: String,
    /// What its user calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Where its source comes from.
    pub source: String,
    /// Whether that is a tree of the user's, and not the distribution's package.
    #[serde(default)]
    pub tree: bool,
    /// Whether options of the user's are in it, by which it is none of the distribution's package either.
    #[serde(default)]
    pub options: bool,
    /// When it was built, in seconds since 1970.
    #[serde(default)]
    pub built: u64,
    /// The queue disciplines it has, by tc's names.
    pub qdiscs: Vec<String>,
    /// The congestion controls it has.
    pub ccs: Vec<String>,
    /// Whether it negotiates AccECN, if it was asked.
    #[serde(default)]
    pub accecn: Option<bool>,
    /// Whether the same seed was seen to give the same bits on it.
    #[serde(default)]
    pub repeatable: Option<bool>,
    /// Whether programs of the machine can run on it: its configuration bounds how many processes there are.
    #[serde(skip)]
    pub programs: bool,
    /// Whether it can have network cards that lead out of it in its own virtual time.
    #[serde(skip)]
    pub cards: bool,
    /// The tunnels that it can be the ends of.
    #[serde(skip)]
    pub tunnels: Vec<TunnelProtocol>,
    /// The program itself.
    #[serde(skip)]
    pub program: PathBuf,
}

impl Kernel {
    /// What tells it from every other: `7.3.4-1c0ffee1`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.version, self.hash.as_ref().unwrap_or(&self.config))
    }

    /// What people call it: its name, or else what tells it from every other.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id())
    }

    /// Whether this word means it: its name, its id or its hash.
    fn is_called(&self, word: &str) -> bool {
        let hash = self.hash.as_ref().unwrap_or(&self.config);
        self.name.as_deref() == Some(word) || hash == word || self.id() == word
    }

    /// Whether it negotiates AccECN; one that was not asked has it from 7.0 on.
    pub fn has_accecn(&self) -> bool {
        self.accecn.unwrap_or_else(|| self.order() >= (7, 0, 0))
    }

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

/// What a kernel's configuration has that is the end of such a tunnel.
const fn needs(protocol: TunnelProtocol) -> &'static [&'static str] {
    match protocol {
        TunnelProtocol::Wireguard => &["CONFIG_WIREGUARD=y"],
        TunnelProtocol::Fou => {
            &["CONFIG_NET_IPIP=y", "CONFIG_NET_FOU=y", "CONFIG_NET_FOU_IP_TUNNELS=y"]
        }
        TunnelProtocol::Esp => &["CONFIG_INET_ESP=y", "CONFIG_XFRM_USER=y", "CONFIG_CRYPTO_GCM=y"],
    }
}

/// The kernels in a folder, oldest version first.
pub fn kernels(folder: &Path) -> Vec<Kernel> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut kernels: Vec<Kernel> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let text = std::fs::read_to_string(path.join("kernel.json")).ok()?;
            let mut kernel: Kernel = serde_json::from_str(&text).ok()?;
            kernel.program = path.join("linux");
            let config = std::fs::read_to_string(path.join("config")).unwrap_or_default();
            let has = |option: &str| config.lines().any(|line| line == option);
            kernel.programs = has("CONFIG_CGROUP_PIDS=y");
            kernel.cards = has("CONFIG_VIRTIO_UML=y") && has("CONFIG_VIRTIO_NET=y");
            kernel.tunnels = TunnelProtocol::ALL
                .iter()
                .copied()
                .filter(|protocol| needs(*protocol).iter().all(|option| has(option)))
                .collect();
            kernel.program.is_file().then_some(kernel)
        })
        .collect();
    kernels.sort_by_key(|kernel| (kernel.order(), kernel.id()));
    kernels
}

/// The kernel that stands for a stack where none is chosen. The distribution's own come before trees of the user's:
/// another build in the cache must not change the meaning of a stack. Nor may one with options of the user's. Then the newest of the series; of one version
/// those that programs can run on, and the one that was built last.
pub fn standing_for<'a>(kernels: &'a [Kernel], stack: &str) -> Option<&'a Kernel> {
    let of_it = kernels.iter().filter(|kernel| kernel.is_of(stack));
    of_it.max_by_key(|k| (!k.tree, !k.options, k.order(), k.programs, k.built, k.id()))
}

/// There is no kernel that is called so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownKernel {
    /// What was asked for.
    pub word: String,
    /// What would be right: the nearest name, all of them, or how to build one.
    pub help: String,
}

/// The kernel that is called so: by its name, its id (`7.3.4-1c0ffee1`) or its hash alone.
///
/// # Errors
///
/// If there is none, with the nearest.
pub fn named<'a>(kernels: &'a [Kernel], word: &str) -> Result<&'a Kernel, UnknownKernel> {
    if let Some(kernel) = kernels.iter().find(|kernel| kernel.is_called(word)) {
        return Ok(kernel);
    }
    let labels: Vec<String> = kernels.iter().map(Kernel::label).collect();
    let help = match nearest(word, labels.iter().map(String::as_str)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if labels.is_empty() => {
            format!("no kernel has been built: sojourn linux build --source DIR --name {word}")
        }
        None => format!("there is {}", labels.join(", ")),
    };
    Err(UnknownKernel { word: word.to_owned(), help })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(version: &str) -> Kernel {
        Kernel {
            version: version.to_owned(),
            hash: None,
            config: "1234abcd".to_owned(),
            name: None,
            source: String::new(),
            tree: false,
            options: false,
            built: 0,
            qdiscs: vec!["codel".to_owned()],
            ccs: vec!["cubic".to_owned()],
            accecn: None,
            repeatable: None,
            programs: false,
            cards: false,
            tunnels: Vec::new(),
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

    /// By the kernel's configuration, in records of any age.
    #[test]
    fn a_kernel_is_the_end_of_the_tunnels_that_it_was_built_with() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("7.3.4-1");
        std::fs::create_dir(&place).unwrap();
        let config = "CONFIG_INET_ESP=y\nCONFIG_XFRM_USER=y\nCONFIG_CRYPTO_GCM=y\n\
                      # CONFIG_NET_FOU is not set\nCONFIG_WIREGUARD=y\n";
        std::fs::write(place.join("linux"), "").unwrap();
        std::fs::write(place.join("config"), config).unwrap();
        let text = serde_json::to_string(&kernel("7.3.4")).unwrap();
        std::fs::write(place.join("kernel.json"), text).unwrap();
        assert_eq!(
            kernels(folder.path())[0].tunnels,
            [TunnelProtocol::Wireguard, TunnelProtocol::Esp]
        );
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
        let taken = standing_for(&found, "linux-7.3").unwrap();
        assert_eq!((taken.config.as_str(), taken.programs), ("7.3.4-1", true));
    }

    /// Another build in the cache must not change the meaning of a stack: not one of the user's own tree, however new.
    #[test]
    fn a_tree_stands_for_a_stack_only_where_no_package_does() {
        let of = |hash: &str, tree, built| Kernel {
            hash: Some(hash.to_owned()),
            tree,
            built,
            ..kernel("7.3.4")
        };
        let patched = Kernel { version: "7.3.9".to_owned(), ..of("ffffffff", true, 9) };
        let all = [patched, of("bbbbbbbb", false, 1), of("aaaaaaaa", false, 2)];
        let taken = |kernels: &[Kernel]| standing_for(kernels, "linux-7.3").map(Kernel::id);
        // Of the two packages the one that was built last.
        assert_eq!(taken(&all).unwrap(), "7.3.4-aaaaaaaa");
        assert_eq!(taken(&all[..1]).unwrap(), "7.3.9-ffffffff");
        assert_eq!(standing_for(&all, "linux-6.12"), None);
        // One with options of the user's, which was built later still.
        let own = Kernel { options: true, ..of("dddddddd", false, 8) };
        assert_eq!(taken(&[all[1].clone(), own.clone()]).unwrap(), "7.3.4-bbbbbbbb");
        assert_eq!(taken(&[own]).unwrap(), "7.3.4-dddddddd");
    }

    #[test]
    fn a_kernel_is_called_by_name_id_or_hash() {
        let mine = Kernel {
            name: Some("mine".to_owned()),
            hash: Some("1c0ffee1".to_owned()),
            ..kernel("7.3.4")
        };
        let all = [kernel("7.3.4"), mine];
        for word in ["mine", "7.3.4-1c0ffee1", "1c0ffee1"] {
            assert_eq!(named(&all, word).unwrap().label(), "mine");
        }
        // A kernel of an earlier version of Sojourn has the name of its configuration.
        assert_eq!(named(&all, "7.3.4-1234abcd").unwrap().label(), "7.3.4-1234abcd");
        let help = |kernels: &[Kernel], word: &str| named(kernels, word).unwrap_err().help;
        assert_eq!(help(&all, "mime"), "did you mean \"mine\"?");
        assert_eq!(help(&all, "something"), "there is 7.3.4-1234abcd, mine");
        assert!(help(&[], "mine").contains("sojourn linux build --source DIR --name mine"));
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
