//! The words of `sojourn shell set`, and the socket on which they come.
//!
//! One line is one request, and one line answers it: `set rate 10mbit`, `status`. The socket has mode 0600 in a folder of the
//! user's own; who connects is asked of the kernel (`SO_PEERCRED`), and nobody but the user and root is heard.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use sojourn_model::{Action, Element, Kind, Scenario, Shaper, Side};
use sojourn_units::{parse_rate, parse_span};
use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What can be set, in the words of a message.
const SETTINGS: &str = "rate RATE, up RATE, rtt TIME, qdisc WORDS, up-qdisc WORDS";
/// The longest request, bytes.
const LONGEST: u64 = 4096;
/// How long a request may wait for its outcome, and a client for its own words.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a request changes.
pub(crate) fn actions(words: &str, scenario: &Scenario) -> Result<Vec<Action>, String> {
    let (name, value) = words.trim().split_once(char::is_whitespace).unwrap_or((words.trim(), ""));
    let value = value.trim();
    let known = ["rate", "up", "rtt", "qdisc", "up-qdisc"];
    if !known.contains(&name) {
        let near = sojourn_model::nearest(name, known);
        let help = near.map_or(format!("there are {SETTINGS}"), |n| format!("did you mean {n}?"));
        return Err(format!("there is no setting \"{name}\": {help}"));
    }
    if value.is_empty() {
        return Err(format!("{name} needs a value: {SETTINGS}"));
    }
    let side = if name.starts_with("up") { Side::Up } else { Side::Down };
    let wrong = |why: sojourn_units::ParseError| format!("{name} {value}: {why}");
    match name {
        "rate" | "up" => {
            let rate = parse_rate(value).map_err(wrong)?;
            let element = element(scenario, side, |kind| matches!(kind, Kind::Queue(_)))?;
            Ok(vec![Action::Rate { element, rate }])
        }
        "rtt" => {
            let rtt = parse_span(value).map_err(wrong)?;
            let sides = [Side::Down, Side::Up].map(|side| {
                let element = element(scenario, side, |kind| matches!(kind, Kind::Netem(_)))?;
                Ok(Action::Delay { element, flow: None, delay: rtt / 2 })
            });
            sides.into_iter().collect()
        }
        _ => {
            let element = element(scenario, side, |kind| matches!(kind, Kind::Queue(_)))?;
            Ok(vec![Action::ReplaceQdisc { element, qdisc: value.into(), shaper: None }])
        }
    }
}

/// The path of the first element of this kind on this side.
fn element(scenario: &Scenario, side: Side, is: impl Fn(&Kind) -> bool) -> Result<String, String> {
    let found = scenario.hops.iter().find_map(|hop| {
        let element = hop.side(side).iter().find(|e: &&Element| is(&e.kind))?;
        Some(format!("{}.{side}.{}", hop.name, element.name))
    });
    found.ok_or_else(|| format!("the path has none of these on its {side} side"))
}

/// The rate of a side's first queue, bit/s; none where a trace or the discipline sets it.
pub(crate) fn rate(scenario: &Scenario, side: Side) -> Option<u64> {
    let mut elements = scenario.hops.iter().flat_map(|hop| hop.side(side));
    elements.find_map(|element| match &element.kind {
        Kind::Queue(queue) => match queue.shaper {
            Shaper::Htb { rate, .. } | Shaper::Line { rate } => Some(rate.bits_per_sec()),
            Shaper::Trace { .. } | Shaper::Link { .. } | Shaper::Own { .. } => None,
        },
        _ => None,
    })
}

/// A request on its way to the relay.
pub(crate) struct Request {
    /// What is asked for behind `set`.
    pub(crate) words: String,
    /// Where the outcome goes.
    pub(crate) answer: Sender<Result<(), String>>,
}

/// The relay's end.
pub(crate) struct Inbox {
    requests: Receiver<Request>,
    wake: Arc<OwnedFd>,
}

impl Inbox {
    /// The requests since the last call.
    pub(crate) fn take(&self) -> Vec<Request> {
        let mut count = [0; 8];
        match rustix::io::read(&*self.wake, &mut count) {
            Err(Errno::AGAIN) => Vec::new(),
            _ => self.requests.try_iter().collect(),
        }
    }

    /// Becomes readable when a request has come.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// The requests' end: anybody in this process may have a copy.
#[derive(Clone)]
pub(crate) struct Outlet {
    requests: Sender<Request>,
    wake: Arc<OwnedFd>,
}

impl Outlet {
    /// Asks for something and waits for the outcome.
    pub(crate) fn ask(&self, words: &str) -> Result<(), String> {
        let (answer, outcome) = channel();
        let over = || "the shell is over".to_owned();
        let request = Request { words: words.to_owned(), answer };
        self.requests.send(request).map_err(|_| over())?;
        rustix::io::write(&*self.wake, &1_u64.to_ne_bytes()).map_err(|why| why.to_string())?;
        outcome.recv_timeout(PATIENCE).map_err(|why| match why {
            RecvTimeoutError::Timeout => "the relay gave no answer".to_owned(),
            RecvTimeoutError::Disconnected => over(),
        })?
    }
}

/// Both ends.
pub(crate) fn pair() -> rustix::io::Result<(Outlet, Inbox)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, requests) = channel();
    Ok((Outlet { requests: sender, wake: Arc::clone(&wake) }, Inbox { requests, wake }))
}

/// The socket's file, which goes with this.
pub(crate) struct Door {
    path: PathBuf,
    /// Closes the listening thread's poll.
    stop: Arc<OwnedFd>,
}

impl Door {
    /// Listens on a socket of this path, in a thread of its own.
    pub(crate) fn open(
        path: &Path,
        outlet: Outlet,
        status: Arc<Mutex<String>>,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let seen = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || listen(&listener, &seen, &outlet, &status))?;
        Ok(Self { path: path.to_owned(), stop })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        let _ = fs::remove_file(&self.path);
    }
}

fn listen(listener: &UnixListener, stop: &OwnedFd, outlet: &Outlet, status: &Mutex<String>) {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !fds[1].revents().is_empty() {
            return;
        }
        if let Ok((stream, _)) = listener.accept() {
            // Whoever hangs up gets no answer.
            let _ = answer(&stream, outlet, status);
        }
    }
}

fn answer(stream: &UnixStream, outlet: &Outlet, status: &Mutex<String>) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    let own = rustix::process::geteuid();
    if peer.uid != own && !peer.uid.is_root() {
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    let words = line.trim();
    let mut stream = stream;
    match words.split_once(char::is_whitespace) {
        Some(("set", rest)) => match outlet.ask(rest) {
            Ok(()) => writeln!(stream, "ok"),
            Err(why) => writeln!(stream, "error {}", why.replace('\n', " ")),
        },
        None if words == "status" => {
            let status = status.lock().unwrap_or_else(PoisonError::into_inner).clone();
            writeln!(stream, "{status}")
        }
        _ => writeln!(stream, "error there are: set {SETTINGS}; status"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::example::scenario as example;

    fn answer(words: &str) -> String {
        match actions(words, &example()) {
            Ok(actions) => {
                let one = |a: &Action| format!("{}: {a}", a.element().unwrap_or(""));
                actions.iter().map(one).collect::<Vec<_>>().join("; ")
            }
            Err(why) => format!("error {why}"),
        }
    }

    #[test]
    fn words_become_actions() {
        assert_eq!(answer("rate 10mbit"), "first.down.qdisc: rate 10Mbit");
        assert_eq!(answer(" qdisc  pie ecn "), "first.down.qdisc: replace pie ecn");
        assert_eq!(answer("rtt 10ms").split(';').count(), 2);
    }

    #[test]
    fn words_that_are_wrong_are_named_with_what_would_be_right() {
        assert_eq!(answer("rat 1mbit"), "error there is no setting \"rat\": did you mean rate?");
        assert!(answer("colour red").contains("there are rate RATE, up RATE"));
        assert!(answer("rate").starts_with("error rate needs a value"));
        assert!(answer("rate fast").starts_with("error rate fast: "));
    }

    /// The door over a real socket: mode 0600, answers, and gone when it closes.
    #[test]
    fn a_request_reaches_the_relay_and_its_outcome_the_client() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("door");
        let (outlet, inbox) = pair().unwrap();
        let status = Arc::new(Mutex::new("{}".to_owned()));
        let door = Door::open(&path, outlet, status).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let ask = |line: &str| {
            let mut stream = UnixStream::connect(&path).unwrap();
            writeln!(stream, "{line}").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        assert_eq!(ask("status"), "{}\n");
        assert!(ask("dance").starts_with("error there are: set rate"));
        let relay = std::thread::spawn(move || {
            loop {
                if let Some(request) = inbox.take().pop() {
                    request.answer.send(Err(format!("no {}", request.words))).unwrap();
                    return;
                }
            }
        });
        assert_eq!(ask("set rate 1mbit"), "error no rate 1mbit\n");
        relay.join().unwrap();
        assert_eq!(ask("set rate 1mbit"), "error the shell is over\n");
        drop(door);
        assert!(!path.exists());
    }
}
