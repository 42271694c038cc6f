//! Words that the simulator does not have, and that a kernel in the cache has.
//!
//! Under the engine Linux such a word is right, and whether the kernel that is chosen has it the engine says itself, with
//! the kernel that does. Under the simulator it is wrong, and the error names the kernel.

use crate::custom::WithClasses;
use core::cell::OnceCell;
use core::ops::Range;
use sojourn_language::{Takes, Vocabulary};
use sojourn_linux::{Kernel, Linux, NAME};
use sojourn_model::{DeliveryTrace, Plugin, TrafficKind, WordError, nearest};
use sojourn_qdisc::needs_transmit_queues;

/// Words, and those of the kernels in the cache besides.
pub struct WithKernels {
    words: WithClasses,
    /// Looked for when a word asks for it; most experiments on the simulator have none.
    linux: OnceCell<Linux>,
    /// Whether a kernel is to run it.
    on_linux: bool,
}

/// A kernel's names of some kind.
type Names = fn(&Kernel) -> &[String];

impl WithKernels {
    /// These words, and those of the kernels of `linux` as well, if that runs it.
    pub fn new(words: WithClasses, linux: Option<Linux>) -> Self {
        let on_linux = linux.is_some();
        Self { words, linux: linux.map_or_else(OnceCell::new, OnceCell::from), on_linux }
    }

    fn linux(&self) -> &Linux {
        self.linux.get_or_init(Linux::new)
    }

    /// The words themselves.
    pub fn into_words(self) -> WithClasses {
        self.words
    }

    /// Whether it is the kernel that stands for its stack where none is chosen.
    fn is_usual(&self, kernel: &Kernel) -> bool {
        self.linux().kernel(&kernel.stack()) == Some(kernel)
    }

    /// The options of the command line by which it runs something.
    fn options(&self, kernel: &Kernel) -> String {
        if self.is_usual(kernel) {
            return format!("--engine {NAME}");
        }
        format!("--engine {NAME} --kernel {}", kernel.label())
    }

    /// The error for a name that the words do not know. `at` is its place.
    fn known(
        &self,
        name: &str,
        what: &str,
        names: Names,
        error: WordError,
    ) -> Result<(), WordError> {
        let has = |kernel: &&Kernel| names(kernel).iter().any(|own| own == name);
        let having = self.linux().kernels().iter().filter(has).max_by_key(|k| self.is_usual(k));
        let at = error.at.start..error.at.start + name.len();
        match (having, self.on_linux) {
            (Some(_), true) => Ok(()),
            (Some(kernel), false) => Err(WordError {
                at,
                message: format!("the simulator has no {what} \"{name}\""),
                help: format!("kernel {} has it: {}", kernel.label(), self.options(kernel)),
            }),
            (None, true) => {
                let all = self.linux().able().iter().flat_map(|k| names(k).iter());
                match nearest(name, all.map(String::as_str)) {
                    Some(near) => {
                        Err(WordError { help: format!("did you mean \"{near}\"?"), ..error })
                    }
                    None => Err(error),
                }
            }
            (None, false) => Err(error),
        }
    }

    /// The same of a discipline's words: those of one that only a kernel knows are tc's to judge.
    fn discipline(&self, words: &str, error: WordError) -> Result<(), WordError> {
        let name = words.split_whitespace().next().unwrap_or("");
        let is_known = name.is_empty() || self.words.has_qdisc(&name.to_ascii_lowercase());
        // A kernel that has it refuses it, too.
        if is_known || needs_transmit_queues(name).is_some() {
            return Err(error);
        }
        self.known(name, "queue discipline", |kernel| &kernel.qdiscs, error)
    }
}

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl Vocabulary for WithKernels {
    fn qdisc(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.words.qdisc(words, stack).or_else(|error| self.discipline(words, error))
    }

    fn change(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.words.change(words, stack).or_else(|error| self.discipline(words, error))
    }

    fn nested(&self, words: &str, stack: &str) -> Vec<String> {
        self.words.nested(words, stack)
    }

    fn netem(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.words.netem(words, stack)
    }

    fn cc(&self, name: &str, stack: &str) -> Result<(), WordError> {
        let own = self.words.cc(name, stack);
        own.or_else(|error| self.known(name, "congestion control", |kernel| &kernel.ccs, error))
    }

    fn stack(&self, name: &str) -> Result<(), WordError> {
        let Err(error) = self.words.stack(name) else { return Ok(()) };
        let of_it = self.linux().kernels().iter().filter(|kernel| kernel.is_of(name));
        let standing = of_it.max_by_key(|kernel| self.is_usual(kernel));
        match (standing, self.on_linux) {
            (Some(_), true) => Ok(()),
            (Some(kernel), false) => Err(WordError {
                message: format!("the simulator has no stack \"{name}\""),
                help: format!("kernel {} stands for it: {}", kernel.label(), self.options(kernel)),
                ..error
            }),
            (None, _) => Err(error),
        }
    }

    fn implementation(&self, kind: TrafficKind, name: &str) -> Result<(), WordError> {
        self.words.implementation(kind, name)
    }

    fn implementation_cc(&self, name: &str, stack: &str) -> Result<(), WordError> {
        self.words.implementation_cc(name, stack)
    }

    fn implementation_default(&self, stack: &str) -> &'static str {
        self.words.implementation_default(stack)
    }

    fn implementation_lacks(&self, stack: &str, setting: &str) -> Option<&'static str> {
        self.words.implementation_lacks(stack, setting)
    }

    // A kernel reports other numbers of itself, and nobody knows them here.
    fn gauges_of_cc(&self, name: &str) -> Option<Vec<String>> {
        if self.on_linux { None } else { self.words.gauges_of_cc(name) }
    }

    fn gauges_of_qdisc(&self, words: &str, stack: &str) -> Option<Vec<String>> {
        if self.on_linux { None } else { self.words.gauges_of_qdisc(words, stack) }
    }

    fn middlebox(&self, words: &str) -> Result<(), WordError> {
        self.words.middlebox(words)
    }

    fn link(&self, words: &str) -> Result<(), WordError> {
        self.words.link(words)
    }

    fn app(&self, words: &str) -> Result<(), WordError> {
        self.words.app(words)
    }

    fn inert(&self, words: &str, stack: &str) -> Vec<(Range<usize>, &'static str)> {
        self.words.inert(words, stack)
    }

    fn takes(&self, words: &str, at: &Range<usize>) -> Option<Takes> {
        self.words.takes(words, at)
    }

    fn trace(&self, words: &str) -> Result<DeliveryTrace, WordError> {
        self.words.trace(words)
    }

    fn plugins(&self) -> &[Plugin] {
        self.words.plugins()
    }
}
