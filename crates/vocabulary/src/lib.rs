//! The words of experiments, checked by the crates that implement what they name: tc's by `sojourn-qdisc`, congestion
//! controls by `sojourn-transport`, stacks by `sojourn-stacks`. Whoever reads an experiment takes them from here: the Python
//! package, a Rust program, a page in a browser.
//!
//! It is a crate of its own because of what it must know. The engines need the stacks and no parser of experiments; the
//! language needs no discipline, only the trait [`Vocabulary`]. In either place the words would draw an arrow between
//! the two.

use sojourn_language::Vocabulary;
use sojourn_model::WordError;
use sojourn_qdisc::{Any, Packet, Profile, TcError};
use sojourn_stacks::{STACKS, Stack};
use sojourn_transport::cc::CONTROLS;
use sojourn_units::{Dscp, Ecn, Random, Time};

/// The words of every engine together; what one engine lacks it refuses itself, by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words;

impl Vocabulary for Words {
    fn qdisc(&self, words: &str, stack: &str) -> Result<(), WordError> {
        read(words, stack).map_err(|error| from_tc(error, 0))
    }

    fn netem(&self, words: &str, stack: &str) -> Result<(), WordError> {
        const NAME: &str = "netem ";
        read(&format!("{NAME}{words}"), stack).map_err(|error| from_tc(error, NAME.len()))
    }

    fn cc(&self, name: &str, _stack: &str) -> Result<(), WordError> {
        known(name, "congestion control", CONTROLS.iter().map(|c| c.name))
    }

    fn stack(&self, name: &str) -> Result<(), WordError> {
        known(name, "stack", STACKS.iter().map(|s| s.name))
    }
}

fn read(words: &str, stack: &str) -> Result<(), TcError> {
    let profile = Stack::named(stack).map_or_else(Profile::default, |s| s.qdisc);
    Any::<Never>::build(words, &profile, &mut Random::named(0, "words")).map(drop)
}

fn from_tc(error: TcError, shift: usize) -> WordError {
    let at = error.at.start.saturating_sub(shift)..error.at.end.saturating_sub(shift);
    WordError { at, message: error.message, help: error.help.unwrap_or_default() }
}

fn known<'a>(
    name: &str,
    what: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), WordError> {
    if names.clone().any(|n| n == name) {
        return Ok(());
    }
    let near = names
        .clone()
        .map(|n| (strsim::damerau_levenshtein(name, n), n))
        .min()
        .filter(|(distance, n)| distance * 2 <= n.len());
    let help = match near {
        Some((_, near)) => format!("did you mean \"{near}\"?"),
        None => format!("there is {}", names.collect::<Vec<_>>().join(", ")),
    };
    Err(WordError { at: 0..name.len(), message: format!("there is no {what} \"{name}\""), help })
}

/// No packet: words are read, nothing is queued.
enum Never {}

impl Packet for Never {
    fn wire_len(&self) -> u32 {
        match *self {}
    }
    fn ecn(&self) -> Ecn {
        match *self {}
    }
    fn set_ecn(&mut self, _: Ecn) {
        match *self {}
    }
    fn dscp(&self) -> Dscp {
        match *self {}
    }
    fn set_dscp(&mut self, _: Dscp) {
        match *self {}
    }
    fn flow_key(&self) -> u64 {
        match *self {}
    }
    fn host_keys(&self) -> (u32, u32) {
        match *self {}
    }
    fn l4_len(&self) -> u32 {
        match *self {}
    }
    fn stamp(&self) -> Time {
        match *self {}
    }
    fn set_stamp(&mut self, _: Time) {
        match *self {}
    }
}
