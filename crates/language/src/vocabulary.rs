//! Words that other crates know: disciplines, congestion controls, stacks, path elements, applications. The language asks about them through
//! this trait, so that a message can still point at the wrong word inside the string of the file.

use core::ops::Range;
use sojourn_model::{DeliveryTrace, Plugin, TrafficKind, WordError};

/// What an option of a discipline takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// A number of packets.
    Packets,
    /// A number of bytes.
    Bytes,
    /// A time; tc takes a bare number for microseconds.
    Time,
    /// A rate; tc takes a bare number for bits, and `bps` for bytes, a second.
    Rate,
    /// It is itself an option, of how the shaper of the discipline charges packets: it does nothing without a rate there.
    Framing,
}

/// Whoever knows the words of an engine.
pub trait Vocabulary {
    /// A discipline and its options in tc's words, as `stack` has it.
    fn qdisc(&self, words: &str, stack: &str) -> Result<(), WordError>;

    /// The same, of words that are to change a discipline while it runs: not all that can be given at its creation can.
    fn change(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.qdisc(words, stack)
    }

    /// The disciplines that words which [`Vocabulary::qdisc`] takes stand for: the outermost first, then its child and so
    /// on, whether written or not. By default the first word.
    fn nested(&self, words: &str, _stack: &str) -> Vec<String> {
        words.split_whitespace().next().map(str::to_ascii_lowercase).into_iter().collect()
    }

    /// The options of a netem in tc's words, without the word `netem`.
    fn netem(&self, words: &str, stack: &str) -> Result<(), WordError>;

    /// The words of a discipline that are taken and have no effect on `stack`: where each is, and why, in a clause.
    fn inert(&self, _words: &str, _stack: &str) -> Vec<(Range<usize>, &'static str)> {
        Vec::new()
    }

    /// A congestion control.
    fn cc(&self, name: &str, stack: &str) -> Result<(), WordError>;

    /// A stack.
    fn stack(&self, name: &str) -> Result<(), WordError>;

    /// An implementation by other authors, of QUIC ([`TrafficKind::Quic`]) or of TCP ([`TrafficKind::TcpStack`]). No two
    /// have one name.
    fn implementation(&self, _kind: TrafficKind, _name: &str) -> Result<(), WordError> {
        Ok(())
    }

    /// A congestion control of an implementation.
    fn implementation_cc(&self, _name: &str, _stack: &str) -> Result<(), WordError> {
        Ok(())
    }

    /// The congestion control that an implementation has by default.
    fn implementation_default(&self, _stack: &str) -> &'static str {
        "cubic"
    }

    /// Why an implementation does not have this setting, if it does not.
    fn implementation_lacks(&self, _stack: &str, _setting: &str) -> Option<&'static str> {
        None
    }

    /// The numbers of its own that a congestion control records (`state.NAME`); `None` where nobody knows.
    fn gauges_of_cc(&self, _name: &str) -> Option<Vec<String>> {
        None
    }

    /// The same of a discipline in tc's words and of its children.
    fn gauges_of_qdisc(&self, _words: &str, _stack: &str) -> Option<Vec<String>> {
        None
    }

    /// A path element that holds no packets, and its options.
    fn middlebox(&self, _words: &str) -> Result<(), WordError> {
        Ok(())
    }

    /// A link, and its options.
    fn link(&self, _words: &str) -> Result<(), WordError> {
        Ok(())
    }

    /// An application of a flow, and its options.
    fn app(&self, _words: &str) -> Result<(), WordError> {
        Ok(())
    }

    /// When a link can send: a file of somebody's, or a trace that is made of words.
    fn trace(&self, words: &str) -> Result<DeliveryTrace, WordError> {
        Err(WordError {
            at: 0..words.len(),
            message: "traces are not read here".to_owned(),
            help: String::new(),
        })
    }

    /// The kind of value at a place in a discipline's words: `target` takes a time, a pfifo's `limit` packets. `None`
    /// where it is none of these, or nobody knows.
    fn takes(&self, _words: &str, _at: &Range<usize>) -> Option<Takes> {
        None
    }

    /// The plugins that define some of these words.
    fn plugins(&self) -> &[Plugin] {
        &[]
    }
}

/// Takes every word for right: for reading experiments that another engine will judge.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyWords;

impl Vocabulary for AnyWords {
    fn qdisc(&self, _words: &str, _stack: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn netem(&self, _words: &str, _stack: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn cc(&self, _name: &str, _stack: &str) -> Result<(), WordError> {
        Ok(())
    }
    fn stack(&self, _name: &str) -> Result<(), WordError> {
        Ok(())
    }
    /// One chance a millisecond, whatever the words: no file is read.
    fn trace(&self, _words: &str) -> Result<DeliveryTrace, WordError> {
        DeliveryTrace::new(vec![1]).map_err(|error| WordError {
            at: 0..0,
            message: error.message,
            help: String::new(),
        })
    }
}
