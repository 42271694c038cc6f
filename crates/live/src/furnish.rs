//! A program's own view of the machine's files: read-only, but for folders of its own that nobody keeps.
//!
//! As in the Linux engine's guest, a program finds the experiment's files in `/tmp`, its names in `/etc/hosts`, and reads
//! what its flow may read alone (Landlock). Everything here runs in the program's own process, between fork and exec.
//!
//! Invariant: nothing that a program writes reaches the machine's files.

use crate::protocol::Program;
use crate::sys::{self, Landlock};
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::process::{Resource, Rlimit, setrlimit, setsid};
use rustix::thread::UnshareFlags;
use sojourn_engine::programs::PLACES;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Folders of a program's own, in memory: the first is its working folder.
const OWN: [&str; 5] = ["/tmp", "/var/tmp", "/var/log", "/run", "/dev/shm"];
/// Devices that programs use.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// What is read of the kernel.
const KERNEL: [&str; 4] = ["/proc", "/sys", "/dev", "/etc/resolv.conf"];
/// What answers the names: files alone, so that no service of the machine is asked.
const NAMES: &str =
    "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n";

/// A command that starts the program in its own view, with its own variables and without capabilities.
pub(crate) fn command(program: Program) -> io::Result<Command> {
    let [file, arguments @ ..] = &program.words[..] else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program"));
    };
    let mut command = Command::new(file);
    command.args(arguments).stdin(Stdio::null()).env_clear();
    command.envs(program.variables.iter().filter_map(|variable| variable.split_once('=')));
    let reads = program.reads.clone();
    sys::before(&mut command, move || {
        setsid()?;
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none)?;
        furnish(&program)
    });
    sys::confine(&mut command);
    sys::before(&mut command, move || {
        // Where the kernel has no Landlock, the mounts alone protect the machine's files.
        let Some(rules) = Landlock::new() else { return Ok(()) };
        for place in PLACES.into_iter().chain(KERNEL) {
            rules.reads(Path::new(place));
        }
        for place in &reads {
            rules.reads(place);
        }
        for device in DEVICES {
            rules.uses(Path::new(device));
        }
        for folder in OWN {
            rules.owns(Path::new(folder));
        }
        rules.restrict()
    });
    Ok(command)
}

fn furnish(program: &Program) -> io::Result<()> {
    sys::unshare(UnshareFlags::NEWNS)?;
    sys::read_only()?;
    for (number, folder) in OWN.into_iter().enumerate() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let mounted = mount(c"own", folder, c"tmpfs", flags, Some(c"mode=0777,size=256m"));
        // Where the machine has no such folder, a program cannot write there.
        if number == 0 {
            mounted?;
        }
    }
    for (name, text) in [("hosts", &*program.hosts), ("resolv.conf", ""), ("nsswitch.conf", NAMES)]
    {
        let file = format!("/run/{name}");
        let bound =
            fs::write(&file, text).and_then(|()| Ok(mount_bind(&file, format!("/etc/{name}"))?));
        // The names of the hosts have to be there; the rest keeps a resolver from asking in vain.
        if name == "hosts" {
            bound?;
        }
    }
    std::env::set_current_dir(OWN[0])?;
    for (name, text) in &program.files {
        let path = Path::new(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
    }
    Ok(())
}
