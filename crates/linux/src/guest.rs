//! A guest: the kernel's process, its folder, and the certainty that it ends.
//!
//! Invariants: the guest's process group is killed when its run is given up, fails or is dropped, and the kernel
//! kills it when the thread that started it dies (`guest/preload.c`); its folder is removed with it, and folders
//! that a killed process left are removed by the next; its command line is the same for every run, for a kernel
//! stirs it into its randomness.

use crate::asked::Answers;
use crate::cache::Kernel;
use crate::cores::Core;
use crate::patience::{Patience, taken_by};
use crate::plan::{CARDS, Plan};
use crate::programs;
use crate::samples::{Sample, Samples};
use crate::tools::Agent;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};
use sojourn_engine::programs::{EXPECTED, End, LAST_LINES, PLACES};
use sojourn_engine::{RunError, Watch};
use sojourn_guests::{Calendar, Plugged, World};
use sojourn_model::Scenario;
use sojourn_units::Span;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// The guest's time of day when it boots, nanoseconds since 1970.
pub(crate) const BEGINNING: u64 = 1_700_000_000_000_000_000;
/// The clock that jumps from timer to timer.
pub(crate) const OWN_CLOCK: &str = "time-travel=inf-cpu";
/// How often the guest is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);
/// After how many looks the CPU time that it takes is looked at, where it has programs.
const LOOKS: u32 = 25;
/// The guest's memory; pages that it never touches cost nothing.
const MEMORY: &str = "mem=512M";
const PREFIX: &str = "sojourn-guest-";

/// The stamps' file, which goes with the guest's folder.
#[derive(Debug)]
pub struct Stamps {
    folder: TempDir,
}

impl Stamps {
    /// The guest's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("stamps")
    }
}

/// What a guest leaves.
#[derive(Debug)]
pub struct Outcome {
    /// The samples, read.
    pub samples: Samples,
    /// The stamps, still a file.
    pub stamps: Stamps,
    /// What was decided for flows while the guest ran, where something was.
    pub(crate) answers: Option<Answers>,
}

/// A running guest; ends with this value.
pub(crate) struct Guest {
    pub(crate) child: Child,
    /// The folder of its memory, which lives as long.
    _memory: Option<TempDir>,
}

/// The settings that a kernel is started with.
#[derive(Clone, Copy)]
pub(crate) struct Boot<'a> {
    /// Its folder, to which it writes; its console is the file `console` there.
    pub(crate) at: &'a Path,
    /// The paths of the host that it may read besides, with colons between them.
    pub(crate) reads: &'a str,
    /// The seed of its random numbers.
    pub(crate) seed: u64,
    /// What its command line says of its clock and its cards.
    pub(crate) clock: &'a [String],
    /// The core that it stays on.
    pub(crate) core: Option<&'a Core>,
}

impl Guest {
    /// Starts a kernel with this init, and `input` as its standard input.
    pub(crate) fn start(
        kernel: &Path,
        agent: &Agent,
        boot: &Boot<'_>,
        input: Stdio,
    ) -> Result<Self, std::io::Error> {
        let at = boot.at;
        let console = File::create(at.join("console"))?;
        let errors = console.try_clone()?;
        // The guest's memory is a file without a name: better in memory than on a disk, and in a folder of its own.
        let shared = folder(Path::new("/dev/shm")).ok();
        let memory = shared.as_ref().map_or(at, TempDir::path);
        let mut command = Command::new(kernel);
        command
            .args([MEMORY, "root=none", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"])
            .arg(format!("init={}", agent.init.display()))
            .args(boot.clock)
            .arg(format!("time-travel-start={BEGINNING}"))
            // Where kernel and host can: system calls of the guest's programs without a stop under ptrace.
            .arg("seccomp=auto")
            .args(["con=null", "con0=null,fd:1", "con1=null", "umid=guest", "uml_dir=uml/"])
            .current_dir(at)
            .env_clear()
            .env("TMPDIR", memory)
            .env("LD_PRELOAD", &agent.preload)
            .env("SOJOURN_SEED", boot.seed.to_string())
            .env("SOJOURN_PARENT", std::process::id().to_string())
            .env("SOJOURN_READS", boot.reads)
            .env("SOJOURN_WRITES", format!("{}:{}", at.display(), memory.display()))
            .stdin(input)
            .stdout(console)
            .stderr(errors)
            .process_group(0);
        if let Some(core) = boot.core {
            command.env("SOJOURN_CORE", core.number().to_string());
        }
        Ok(Self { child: command.spawn()?, _memory: shared })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// The last that a guest wrote on its console.
pub(crate) fn last_words(at: &Path) -> String {
    let console = fs::read(at.join("console")).unwrap_or_default();
    let console = String::from_utf8_lossy(&console);
    let mut tail: Vec<&str> = console.lines().rev().take(5).collect();
    tail.reverse();
    tail.join(" / ")
}

/// Removes folders of processes that are gone.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|n| n.strip_prefix(PREFIX)) else { continue };
        let owner = rest.split('-').next().and_then(|p| p.parse().ok()).and_then(Pid::from_raw);
        let gone =
            owner.is_some_and(|p| matches!(test_kill_process(p), Err(rustix::io::Errno::SRCH)));
        if gone {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder for a guest; those that killed processes left are removed.
pub(crate) fn folder(parent: &Path) -> Result<TempDir, std::io::Error> {
    sweep(parent);
    tempfile::Builder::new().prefix(&format!("{PREFIX}{}-", std::process::id())).tempdir_in(parent)
}

/// Puts a plan of this text, and its files, into a guest's folder.
fn put_plan(at: &Path, text: &str, plan: &Plan) -> Result<(), RunError> {
    fs::write(at.join("plan"), text).map_err(|e| failed("cannot write the guest's plan", &e))?;
    for list in &plan.lists {
        fs::write(at.join(&list.name), list.bytes())
            .map_err(|e| failed("cannot write what a flow does", &e))?;
    }
    for order in &plan.programs {
        fs::write(at.join(&order.name), &order.bytes)
            .map_err(|e| failed("cannot write what a program is started with", &e))?;
    }
    Ok(())
}

/// The guest asks by its standard input, which is a socket: returns the answering side, and the guest's end.
fn answering(
    at: &Path,
    scenario: &Scenario,
) -> Result<(Option<JoinHandle<Answers>>, Stdio), RunError> {
    let Some(answers) = Answers::of(scenario) else { return Ok((None, Stdio::null())) };
    let asked = UnixStream::pair().and_then(|pair| {
        std::os::unix::fs::symlink("-", at.join("answer"))?;
        Ok(pair)
    });
    let (ours, theirs) = asked.map_err(|e| failed("cannot be asked by the guest", &e))?;
    Ok((Some(answers.serve(ours)), Stdio::from(OwnedFd::from(theirs))))
}

fn failed(what: &str, e: &std::io::Error) -> RunError {
    RunError::Failed(format!("{what}: {e}"))
}

/// Reads the files that a guest has left in its folder.
fn read_samples(at: &Path, scenario: &Scenario) -> Result<Samples, RunError> {
    let text = fs::read_to_string(at.join("samples")).unwrap_or_default();
    let samples = Samples::read(&text).map_err(RunError::Failed)?;
    if let Some((flow, client, what)) = &samples.failed {
        return Err(RunError::Environment {
            why: fault(scenario, *flow, *client, what, &samples),
            help: EXPECTED.to_owned(),
        });
    }
    if let Some(error) = &samples.error {
        let log = fs::read_to_string(at.join("log")).unwrap_or_default();
        return Err(RunError::Failed(format!("in the guest: {error}: {}", log.trim())));
    }
    Ok(samples)
}

/// A guest with two cards: its kernel, its plan and its part of the scenario.
pub(crate) struct Carded<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) plan: Plan,
    pub(crate) own: Scenario,
    /// The largest packet that its cards carry, if that is not a host's.
    pub(crate) mtu: Option<u16>,
}

/// Carries out plans in guests with two cards each. This process is their clock and their wires. Returns the samples of each.
pub(crate) fn run_around(
    agent: &Agent,
    carded: &[Carded<'_>],
    sharing: bool,
    world: &mut impl World,
    watch: &dyn Watch,
) -> Result<Vec<(Samples, Option<Answers>)>, RunError> {
    let folder =
        folder(&std::env::temp_dir()).map_err(|e| failed("no folder for the guests", &e))?;
    let limits = carded.iter().filter_map(|guest| programs::cpu_limit(&guest.own));
    let patience = limits.map(|(_, limit)| limit).max().unwrap_or(PATIENCE);
    let plugged = carded.iter().map(|guest| Plugged {
        name: guest.kernel.label(),
        cards: CARDS.to_vec(),
        mtu: guest.mtu,
    });
    let plugged: Vec<Plugged> = plugged.collect();
    let calendar = Calendar::new(folder.path(), &plugged, BEGINNING, patience.as_secs());
    let calendar = if sharing { calendar.and_then(Calendar::sharing) } else { calendar };
    let mut calendar = calendar.map_err(|e| RunError::Failed(e.to_string()))?;
    let core = Core::take();
    let (mut guests, mut answering_threads) = (Vec::new(), Vec::new());
    let place = |number: usize| folder.path().join(format!("guest{number}"));
    for (number, Carded { kernel, plan, own, .. }) in carded.iter().enumerate() {
        let at = place(number);
        fs::create_dir(&at).map_err(|e| failed("no folder for the guest", &e))?;
        put_plan(&at, &plan.text, plan)?;
        let (answers, input) = answering(&at, own)?;
        // The calendar's sockets are in the folder above.
        let clock: Vec<String> = calendar.arguments(number, "../");
        let reads = reads(kernel, agent, own);
        // Different guests draw different numbers.
        let seed = own.seed ^ (number as u64) << 32;
        let boot = Boot { at: &at, reads: &reads, seed, clock: &clock, core: core.as_ref() };
        let guest = Guest::start(&kernel.program, agent, &boot, input)
            .map_err(|e| failed("cannot start the kernel", &e))?;
        guests.push(guest);
        answering_threads.push(answers);
    }
    let mut gone = None;
    let ended = {
        // Guests and calendar hand over to each other at each message: on one core that is a switch.
        let _stay = core.as_ref().map(Core::stay);
        // One that ends before it connects to the clock says nothing.
        calendar.run(&mut Watched(world, || {
            let failed = |guest: &mut Guest| {
                guest.child.try_wait().is_ok_and(|end| end.is_some_and(has_failed))
            };
            gone = guests.iter_mut().position(failed);
            gone.is_none()
        }))
    };
    drop(guests);
    let answers = answering_threads.into_iter().map(|serving| serving.and_then(|s| s.join().ok()));
    let answers: Vec<Option<Answers>> = answers.collect();
    // What a guest says of itself tells more than how its clock ended.
    let samples = (0..carded.len()).map(|i| read_samples(&place(i), &carded[i].own));
    let samples: Vec<Samples> = samples.collect::<Result<_, _>>()?;
    let undone = samples.iter().position(|samples| !samples.done);
    let words = |guest: usize| last_words(&place(guest));
    match (ended, undone) {
        (Ok(()), None) => Ok(samples.into_iter().zip(answers).collect()),
        (Ok(()), Some(guest)) => {
            let (name, last) = (carded[guest].kernel.label(), calendar.last(guest));
            let (now, words) = (calendar.now() as f64 / 1e9, words(guest));
            Err(RunError::Failed(format!(
                "the guest {name} ended early, {now} s after its start; its last message was {last}: {words}"
            )))
        }
        (Err(sojourn_guests::Error::GivenUp(_)), _) if gone.is_none() && watch.cancelled() => {
            Err(RunError::Cancelled)
        }
        (Err(error), undone) => {
            let guest = gone.or(undone).unwrap_or(0);
            let name = carded[guest].kernel.label();
            Err(RunError::Failed(format!("{error}; the guest {name}: {}", words(guest))))
        }
    }
}

/// Whether a kernel's process has ended otherwise than by switching itself off, which each guest does at the end of its plan, one
/// before the other.
fn has_failed(end: ExitStatus) -> bool {
    !end.success()
}

/// A world that goes on as long as somebody else says so, too.
struct Watched<'a, W, F>(&'a mut W, F);

impl<W: World, F: FnMut() -> bool> World for Watched<'_, W, F> {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn advance(&mut self, now: u64) -> Result<(), String> {
        self.0.advance(now)
    }

    fn arrived(&mut self) -> Option<(usize, Vec<u8>)> {
        self.0.arrived()
    }

    fn sent(&mut self, now: u64, card: usize, frame: Vec<u8>) -> Result<(), String> {
        self.0.sent(now, card, frame)
    }

    fn goes_on(&mut self, now: u64) -> bool {
        self.0.goes_on(now) && (self.1)()
    }
}

/// How long a guest without programs may be silent.
const PATIENCE: Duration = Duration::from_mins(1);

/// Carries out a plan; `text` is its text, and the files that it names belong to it.
pub fn run(
    kernel: &Kernel,
    agent: &Agent,
    text: &str,
    plan: &Plan,
    scenario: &Scenario,
    watch: &dyn Watch,
) -> Result<Outcome, RunError> {
    let folder =
        folder(&std::env::temp_dir()).map_err(|e| failed("no folder for the guest", &e))?;
    let at = folder.path();
    put_plan(at, text, plan)?;
    let (answers, input) = answering(at, scenario)?;
    let reads = reads(kernel, agent, scenario);
    let (own_clock, core) = ([OWN_CLOCK.to_owned()], Core::take());
    let seed = scenario.seed;
    let boot = Boot { at, reads: &reads, seed, clock: &own_clock, core: core.as_ref() };
    let mut guest = Guest::start(&kernel.program, agent, &boot, input)
        .map_err(|e| failed("cannot start the kernel", &e))?;
    let mut patience =
        programs::cpu_limit(scenario).map(|(flow, limit)| (flow, limit, Patience::new(limit)));
    for look in 1_u32.. {
        match guest.child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) => {}
            Err(e) => return Err(failed("lost the guest", &e)),
        }
        if watch.cancelled() {
            return Err(RunError::Cancelled);
        }
        let now = clock(at);
        if let Some(nanos) = now {
            watch.progress(Span::from_nanos(nanos));
        }
        if let Some((flow, limit, patience)) = &mut patience
            && look % LOOKS == 0
            && patience.is_over(now, taken_by(guest.child.id()))
        {
            let why = format!(
                "flow {flow}: its programs took {} s of CPU time, and the clock stayed at {} s: one of them computes \
                 without end, or waits for a time in a loop",
                limit.as_secs(),
                now.unwrap_or(0) / 1_000_000_000,
            );
            return Err(RunError::Environment { why, help: EXPECTED.to_owned() });
        }
        std::thread::sleep(LOOK_EVERY);
    }
    drop(guest);
    // All that held the other end of the socket is gone, so that there are no more questions.
    let answers = answers.and_then(|serving| serving.join().ok());
    let samples = read_samples(at, scenario)?;
    if !samples.done {
        return Err(RunError::Failed(format!("the guest ended early: {}", last_words(at))));
    }
    watch.progress(scenario.length());
    Ok(Outcome { samples, stamps: Stamps { folder }, answers })
}

/// What a program of a flow did, with the last that it wrote.
fn fault(scenario: &Scenario, flow: usize, client: bool, what: &str, samples: &Samples) -> String {
    let end = if client { End::Client } else { End::Server };
    let mut lines: Vec<&str> = samples
        .all
        .iter()
        .rev()
        .filter_map(|sample| match sample {
            Sample::Output { flow: of, client: by, text, .. } if (*of, *by) == (flow, client) => {
                Some(text.trim())
            }
            _ => None,
        })
        .filter(|line| !line.is_empty())
        .take(LAST_LINES)
        .collect();
    lines.reverse();
    programs::fault(&scenario.flows[flow].name, end, what, &lines)
}

/// What the guest's process may read of the host: programs, and the engine's cache with the kernel, the agent and perhaps a tc.
fn reads(kernel: &Kernel, agent: &Agent, scenario: &Scenario) -> String {
    let cache = agent.init.ancestors().nth(2).map(Path::to_path_buf);
    let ours = [kernel.program.parent().map(Path::to_path_buf), cache].into_iter().flatten();
    let ours = ours.chain(programs::reads(scenario)).map(|folder| folder.display().to_string());
    PLACES.into_iter().map(str::to_owned).chain(ours).collect::<Vec<_>>().join(":")
}

/// How far the guest says it is.
fn clock(at: &Path) -> Option<u64> {
    fs::read_to_string(at.join("clock")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two guests one ends first, and the other still has to. Only a panic or a signal ends the run of both.
    #[test]
    fn a_guest_that_switches_itself_off_does_not_end_the_others() {
        use std::os::unix::process::ExitStatusExt as _;
        let [off, panic, killed] = [0, 1 << 8, 9].map(ExitStatus::from_raw);
        assert!(!has_failed(off));
        assert!(has_failed(panic) && has_failed(killed));
    }

    #[test]
    fn folders_of_the_dead_are_swept_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        // No process has the highest number that there may be.
        let dead = parent.path().join(format!("{PREFIX}{}-x", i32::MAX));
        let ours = parent.path().join(format!("{PREFIX}{}-y", std::process::id()));
        let other = parent.path().join("something");
        for folder in [&dead, &ours, &other] {
            fs::create_dir(folder).unwrap();
        }
        sweep(parent.path());
        assert!(!dead.exists() && ours.exists() && other.exists());
    }

    /// Whatever runs in the kernel's process, the host's kernel lets it read what it was given and write in its folder.
    #[test]
    fn the_process_reads_what_it_was_given_and_writes_in_its_folder() {
        if sojourn_engine::programs::find("cc").is_none() {
            return;
        }
        let (cache, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = tempfile::tempdir().unwrap();
        let agent = crate::tools::agent(cache.path()).unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::write(own.path().join("plan"), "plan").unwrap();
        let sh = |line: String| {
            let done = Command::new("/bin/sh")
                .args(["-c", &line])
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("LD_PRELOAD", &agent.preload)
                .env("SOJOURN_READS", format!("{}:{}", PLACES.join(":"), cache.path().display()))
                .env("SOJOURN_WRITES", own.path())
                .output()
                .unwrap();
            (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
        };
        let (own, outside) = (own.path().display(), outside.path().display());
        assert_eq!(
            sh(format!("cat {own}/plan && echo more > {own}/log")),
            (true, "plan".to_owned())
        );
        let (_, confined) = sh("echo $SOJOURN_CONFINED".to_owned());
        let is_confined = match confined.trim() {
            "yes" => true,
            // A kernel without Landlock: nothing is denied.
            "no" => false,
            other => panic!("it says whether it is confined: {other}"),
        };
        for line in [
            format!("cat {outside}/secret"),
            format!("echo more > {outside}/new"),
            format!("rm {outside}/secret"),
            "cat /etc/passwd".to_owned(),
        ] {
            let denied = !sh(line.clone()).0;
            assert_eq!(denied, is_confined, "{line}");
        }
    }
}
