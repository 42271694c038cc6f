//! Words among which classes of Python files may stand: they are loaded when they are named.

use super::aqm::unchangeable;
use super::classes::Classes;
use super::fault::Wrong;
use super::name::is_class;
use core::cell::RefCell;
use core::ops::Range;
use sojourn_language::{Takes, Vocabulary};
use sojourn_model::{DeliveryTrace, Plugin, TrafficKind, WordError};
use sojourn_sim::{PacketBox, Sim};
use sojourn_vocabulary::{CELLULAR, Words};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The words of a simulator, and the classes that they name besides.
pub struct WithClasses {
    plain: Words<PacketBox>,
    sim: Sim,
    classes: RefCell<Classes>,
    /// Where files are seen from, and those that were read.
    folder: PathBuf,
    traces: RefCell<BTreeMap<String, DeliveryTrace>>,
}

/// The largest file of a trace, bytes: the most lines that one has are shorter.
const LARGEST: u64 = 64 << 20;

/// Reads a trace. Errors say the mistake, and what would be right.
fn read(path: &Path) -> Result<DeliveryTrace, (String, &'static str)> {
    let help = "name a file as Mahimahi has it, a millisecond a line, or write: cellular max 11mbit seed 3";
    let said = |error: std::io::Error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::InvalidData => "it is no text".to_owned(),
            _ => error.to_string(),
        };
        (why, help)
    };
    let meta = std::fs::metadata(path).map_err(said)?;
    if !meta.is_file() {
        return Err(("it is no file".to_owned(), help));
    }
    if meta.len() > LARGEST {
        return Err((
            format!("it has {} bytes, and {LARGEST} are allowed", meta.len()),
            "cut it: a trace starts over after its last line",
        ));
    }
    let text = std::fs::read_to_string(path).map_err(said)?;
    DeliveryTrace::parse(&text).map_err(|error| (error.to_string(), help))
}

impl WithClasses {
    /// Those of this simulator.
    pub fn new(sim: Sim, plugins: Vec<Plugin>, classes: Classes) -> Self {
        let plain = Words::new(sim.qdiscs().clone())
            .with_controls(sim.controls().clone())
            .with_elements(sim.elements().words())
            .with_links(sim.elements().link_words())
            .with_apps(sim.apps().words())
            .with_plugins(plugins);
        let folder = classes.folder().to_owned();
        Self { plain, sim, classes: RefCell::new(classes), folder, traces: RefCell::default() }
    }

    /// Whether a discipline of this name is known, whatever its options.
    pub fn has_qdisc(&self, name: &str) -> bool {
        is_class(name) || self.sim.qdiscs().info(name).is_some()
    }

    /// What has been named.
    pub fn into_classes(self) -> Classes {
        self.classes.into_inner()
    }

    /// Loads the disciplines that are named; whether there are any.
    fn load(&self, words: &str) -> Result<bool, WordError> {
        let mut any = false;
        for word in words.split_whitespace().filter(|word| is_class(word)) {
            let from = word.as_ptr() as usize - words.as_ptr() as usize;
            let at = from..from + word.len();
            self.classes.borrow_mut().aqm(word).map_err(|wrong| word_error(wrong, at))?;
            any = true;
        }
        Ok(any)
    }
}

fn word_error(wrong: Wrong, at: Range<usize>) -> WordError {
    WordError { at, message: wrong.message, help: wrong.help }
}

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl Vocabulary for WithClasses {
    fn qdisc(&self, words: &str, stack: &str) -> Result<(), WordError> {
        if !self.load(words)? {
            return self.plain.qdisc(words, stack);
        }
        let sim = self.classes.borrow().sim(&self.sim);
        let sim = sim.map_err(|wrong| word_error(wrong, 0..words.len()))?;
        Words::new(sim.qdiscs().clone()).qdisc(words, stack)
    }

    fn change(&self, words: &str, stack: &str) -> Result<(), WordError> {
        if !self.load(words)? {
            return self.plain.change(words, stack);
        }
        let classes = self.classes.borrow();
        let fixed = words.split_whitespace().find(|word| is_class(word) && !classes.changes(word));
        if let Some(word) = fixed {
            let from = word.as_ptr() as usize - words.as_ptr() as usize;
            return Err(word_error(unchangeable(word), from..from + word.len()));
        }
        let sim = classes.sim(&self.sim).map_err(|wrong| word_error(wrong, 0..words.len()))?;
        Words::new(sim.qdiscs().clone()).change(words, stack)
    }

    fn nested(&self, words: &str, stack: &str) -> Vec<String> {
        self.plain.nested(words, stack)
    }

    fn netem(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.plain.netem(words, stack)
    }

    fn cc(&self, name: &str, stack: &str) -> Result<(), WordError> {
        if !is_class(name) {
            return self.plain.cc(name, stack);
        }
        self.classes.borrow_mut().control(name).map_err(|wrong| word_error(wrong, 0..name.len()))
    }

    fn stack(&self, name: &str) -> Result<(), WordError> {
        self.plain.stack(name)
    }

    fn implementation(&self, kind: TrafficKind, name: &str) -> Result<(), WordError> {
        self.plain.implementation(kind, name)
    }

    fn implementation_cc(&self, name: &str, stack: &str) -> Result<(), WordError> {
        self.plain.implementation_cc(name, stack)
    }

    fn implementation_default(&self, stack: &str) -> &'static str {
        self.plain.implementation_default(stack)
    }

    fn implementation_lacks(&self, stack: &str, setting: &str) -> Option<&'static str> {
        self.plain.implementation_lacks(stack, setting)
    }

    fn gauges_of_cc(&self, name: &str) -> Option<Vec<String>> {
        if is_class(name) { None } else { self.plain.gauges_of_cc(name) }
    }

    fn gauges_of_qdisc(&self, words: &str, stack: &str) -> Option<Vec<String>> {
        let own = words.split_whitespace().any(is_class);
        if own { None } else { self.plain.gauges_of_qdisc(words, stack) }
    }

    fn middlebox(&self, words: &str) -> Result<(), WordError> {
        self.plain.middlebox(words)
    }

    fn link(&self, words: &str) -> Result<(), WordError> {
        self.plain.link(words)
    }

    fn app(&self, words: &str) -> Result<(), WordError> {
        self.plain.app(words)
    }

    fn inert(&self, words: &str, stack: &str) -> Vec<(Range<usize>, &'static str)> {
        self.plain.inert(words, stack)
    }

    fn takes(&self, words: &str, at: &Range<usize>) -> Option<Takes> {
        self.plain.takes(words, at)
    }

    fn trace(&self, words: &str) -> Result<DeliveryTrace, WordError> {
        if words.split_whitespace().next() == Some(CELLULAR) {
            return self.plain.trace(words);
        }
        let mut traces = self.traces.borrow_mut();
        if let Some(trace) = traces.get(words) {
            return Ok(trace.clone());
        }
        let trace = read(&self.folder.join(words)).map_err(|(message, help)| WordError {
            at: 0..words.len(),
            message: format!("trace {words}: {message}"),
            help: help.to_owned(),
        })?;
        traces.insert(words.to_owned(), trace.clone());
        Ok(trace)
    }

    fn plugins(&self) -> &[Plugin] {
        self.plain.plugins()
    }
}
