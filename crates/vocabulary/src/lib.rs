//! The words of experiments, checked by the crates that implement what they name: tc's by `sojourn-qdisc`, congestion
//! controls by `sojourn-transport`, stacks by `sojourn-stacks`, implementations by other authors by
//! `sojourn-quic`. Whoever reads an experiment takes them from here: the Python package, a Rust program, a page in a
//! browser.
//!
//! It is a crate of its own because of what it must know. The engines need the stacks and no parser of experiments; the
//! language needs no discipline, only the trait [`Vocabulary`]. In either place the words would draw an arrow between
//! the two.

pub mod listing;
mod trace;

pub use trace::{CELLULAR, made_up};

use core::ops::Range;
use sojourn_language::{Takes, Vocabulary};
use sojourn_model::{DeliveryTrace, HOST_STACK, Plugin, TrafficKind, WordError};
use sojourn_qdisc::table::{Kind, OptionSpec};
use sojourn_qdisc::{Catalogue, Discipline, NoPacket, Packet, QdiscQuirks, Registry, TcError};
use sojourn_quic::Stack as Implementation;
use sojourn_stacks::{STACKS, Stack};
use sojourn_transport::cc::{OptionError, Registry as Controls, WrongWords};
use sojourn_units::Random;

/// The words of every engine together; what one engine lacks it refuses itself, by name. Queue disciplines are those of a
/// registry: an engine's, so that those added to it are known, or, by default, those of `sojourn-qdisc`.
#[derive(Clone, Debug)]
pub struct Words<P = NoPacket> {
    qdiscs: Registry<P>,
    controls: Controls,
    elements: Catalogue<()>,
    links: Catalogue<()>,
    apps: Catalogue<()>,
    plugins: Vec<Plugin>,
}

impl Default for Words {
    /// With the queue disciplines of `sojourn-qdisc`.
    fn default() -> Self {
        Self::new(Registry::built_in())
    }
}

impl<P: Packet> Words<P> {
    /// With the queue disciplines of this registry, and the congestion controls of `sojourn-transport`; without path elements
    /// and applications, which an engine has.
    pub fn new(qdiscs: Registry<P>) -> Self {
        Self {
            qdiscs,
            controls: Controls::built_in(),
            elements: Catalogue::new("path element"),
            links: Catalogue::new("link"),
            apps: Catalogue::new("application"),
            plugins: Vec::new(),
        }
    }

    /// With the path elements that an engine knows by name (`elements().words()` of the simulator).
    #[must_use]
    pub fn with_elements(self, elements: Catalogue<()>) -> Self {
        Self { elements, ..self }
    }

    /// With the links that an engine knows by name (`elements().link_words()` of the simulator).
    #[must_use]
    pub fn with_links(self, links: Catalogue<()>) -> Self {
        Self { links, ..self }
    }

    /// With the applications that an engine knows by name (`apps().words()` of the simulator).
    #[must_use]
    pub fn with_apps(self, apps: Catalogue<()>) -> Self {
        Self { apps, ..self }
    }

    /// With the congestion controls of this registry: an engine's, so that those added to it are known.
    #[must_use]
    pub fn with_controls(self, controls: Controls) -> Self {
        Self { controls, ..self }
    }

    /// Some of them come from these plugins, which scenarios then name.
    #[must_use]
    pub fn with_plugins(self, plugins: Vec<Plugin>) -> Self {
        Self { plugins, ..self }
    }

    fn read(&self, words: &str, stack: &str) -> Result<(), TcError> {
        let profile = Stack::named(stack).map_or_else(QdiscQuirks::default, |s| s.qdisc);
        self.qdiscs.build(words, &profile, &mut Random::named(0, "words")).map(drop)
    }
}

impl<P: Packet> Vocabulary for Words<P> {
    fn qdisc(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.read(words, stack).map_err(|error| from_tc(error, 0))
    }

    fn change(&self, words: &str, stack: &str) -> Result<(), WordError> {
        self.qdisc(words, stack)?;
        // The words belong to the outermost discipline, and those behind a child's name to the child.
        let nested = self.nested(words, stack);
        let mut nested = nested.iter().map(String::as_str).peekable();
        let mut of = None;
        let fixed = words.split_whitespace().find_map(|word| {
            if let Some(name) = nested.next_if(|name| word.eq_ignore_ascii_case(name)) {
                of = self.qdiscs.info(name);
                return None;
            }
            let mut fixed = of?.options.iter().filter(|o| o.fixed).flat_map(OptionSpec::words);
            fixed.any(|option| option == word).then_some((word, of?.name))
        });
        let Some((word, name)) = fixed else { return Ok(()) };
        let from = word.as_ptr() as usize - words.as_ptr() as usize;
        Err(WordError {
            at: from..from + word.len(),
            message: format!("\"{word}\" cannot be changed while the queue runs"),
            help: format!("leave it out, or replace the {name} instead"),
        })
    }

    fn nested(&self, words: &str, stack: &str) -> Vec<String> {
        let profile = Stack::named(stack).map_or_else(QdiscQuirks::default, |s| s.qdisc);
        self.qdiscs.nested(words, &profile)
    }

    fn netem(&self, words: &str, stack: &str) -> Result<(), WordError> {
        const NAME: &str = "netem ";
        self.read(&format!("{NAME}{words}"), stack).map_err(|error| from_tc(error, NAME.len()))
    }

    fn cc(&self, name: &str, _stack: &str) -> Result<(), WordError> {
        let names: Vec<&str> = self.controls.names().collect();
        // The words behind the name are the control's own.
        let end = name.find(char::is_whitespace).unwrap_or(name.len());
        known(&name[..end], "congestion control", names.into_iter())?;
        self.controls.check(name).map_err(|wrong| match wrong {
            WrongWords::Option(OptionError { at, message, help }) => {
                WordError { at, message, help }
            }
            other => WordError { at: 0..end, message: other.to_string(), help: String::new() },
        })
    }

    fn stack(&self, name: &str) -> Result<(), WordError> {
        known(name, "stack", STACKS.iter().map(|s| s.name).chain([HOST_STACK]))
    }

    fn implementation(&self, kind: TrafficKind, name: &str) -> Result<(), WordError> {
        Implementation::named(kind, name).map(drop)
    }

    fn implementation_cc(&self, name: &str, stack: &str) -> Result<(), WordError> {
        Implementation::known(stack).map_or(Ok(()), |known| known.control(name).map(drop))
    }

    fn implementation_default(&self, stack: &str) -> &'static str {
        let known = Implementation::known(stack);
        known.and_then(|known| known.controls.first()).map_or("cubic", |control| control.name)
    }

    fn implementation_lacks(&self, stack: &str, setting: &str) -> Option<&'static str> {
        Implementation::known(stack)?.lacks(setting)
    }

    fn gauges_of_cc(&self, name: &str) -> Option<Vec<String>> {
        let info = self.controls.info(name).ok()?;
        Some(info.gauges.iter().map(|(name, ..)| (*name).to_owned()).collect())
    }

    fn gauges_of_qdisc(&self, words: &str, stack: &str) -> Option<Vec<String>> {
        let infos = self.nested(words, stack).into_iter().map(|name| self.qdiscs.info(&name));
        let infos: Option<Vec<_>> = infos.collect();
        Some(infos?.iter().flat_map(|info| info.gauges).map(|g| g.name.to_owned()).collect())
    }

    fn middlebox(&self, words: &str) -> Result<(), WordError> {
        self.elements.check(words).map_err(|error| from_tc(error, 0))
    }

    fn link(&self, words: &str) -> Result<(), WordError> {
        self.links.check(words).map_err(|error| from_tc(error, 0))
    }

    fn app(&self, words: &str) -> Result<(), WordError> {
        self.apps.check(words).map_err(|error| from_tc(error, 0))
    }

    fn inert(&self, words: &str, stack: &str) -> Vec<(Range<usize>, &'static str)> {
        let Some(stack) = Stack::named(stack) else { return Vec::new() };
        let mut own: Option<&Discipline> = None;
        let mut found = Vec::new();
        for word in words.split_whitespace() {
            let lower = word.to_ascii_lowercase();
            // One discipline's words may contain another's: the last named is meant.
            own = self.qdiscs.info(&lower).or(own);
            let option =
                own.and_then(|info| info.options.iter().find(|o| o.words().any(|w| w == lower)));
            if let Some(why) = option.and_then(|option| option.inert_on(&stack.qdisc)) {
                let at = word.as_ptr() as usize - words.as_ptr() as usize;
                found.push((at..at + word.len(), why));
            }
        }
        found
    }

    fn takes(&self, words: &str, at: &Range<usize>) -> Option<Takes> {
        let before: Vec<&str> = words.get(..at.start)?.split_whitespace().collect();
        // One discipline's words may contain another's: the last named is meant.
        let info =
            before.iter().rev().find_map(|word| self.qdiscs.info(&word.to_ascii_lowercase()))?;
        let word = words.get(at.clone())?;
        if let Some(option) = info.options.iter().find(|o| o.words().any(|own| own == word))
            && option.needs.is_some()
        {
            return Some(Takes::Framing);
        }
        let option = before.last()?;
        let spec = info.options.iter().find(|o| o.name == *option || o.aliases.contains(option))?;
        match spec.values.first()?.kind {
            Kind::Span { .. } | Kind::SpanOrPackets { .. } => Some(Takes::Time),
            Kind::Rate => Some(Takes::Rate),
            Kind::Size { .. } => Some(Takes::Bytes),
            Kind::Count { unit: "packets", .. } => Some(Takes::Packets),
            _ => None,
        }
    }

    fn trace(&self, words: &str) -> Result<DeliveryTrace, WordError> {
        if words.split_whitespace().next() == Some(CELLULAR) {
            return made_up(words);
        }
        Err(WordError {
            at: 0..words.len(),
            message: format!("there is no file \"{words}\" here: files are not read"),
            help: "write a made-up trace, such as cellular max 11mbit seed 3".to_owned(),
        })
    }

    fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_language::{Experiment, MOST_RUNS};
    use sojourn_transport::cc::{Info, Reno};

    fn file(stack: &str, qdisc: &str, netem: &str, cc: &str) -> String {
        format!(
            "[experiment]\nname = \"words\"\nstack = \"{stack}\"\nduration = \"10s\"\n\n\
             [[hop]]\nname = \"bottleneck\"\nrate = \"50mbit\"\nrtt = \"20ms\"\nqdisc = \"{qdisc}\"\nnetem = [\"{netem}\"]\n\n\
             [[flow]]\nname = \"a\"\ncc = \"{cc}\"\n"
        )
    }

    #[test]
    fn a_rust_program_can_plan_an_experiment_with_checked_words() {
        let plan = |text: String| {
            Experiment::parse("words.toml", &text)
                .and_then(|e| e.plan(&Words::default(), MOST_RUNS))
        };
        for stack in ["linux-7.3", "host"] {
            let right = plan(file(stack, "fq_codel target 5ms", "delay 1ms", "prague"));
            assert_eq!(right.map(|p| p.cells().len()), Ok(1));
        }
        for (wrong, message) in [
            (file("linux-7.4", "pie", "delay 1ms", "cubic"), "there is no stack \"linux-7.4\""),
            (file("hots", "pie", "delay 1ms", "cubic"), "did you mean \"host\"?"),
            (file("linux-7.3", "pie", "delay 1ms", "cubik"), "did you mean \"cubic\"?"),
            (file("linux-7.3", "pie ecnn", "delay 1ms", "cubic"), "ecnn"),
            (file("linux-7.3", "pie", "dealy 1ms", "cubic"), "dealy"),
        ] {
            let text = plan(wrong.clone()).expect_err("it is wrong").to_string();
            assert!(text.contains(message), "{wrong}\n{text}");
        }
    }

    /// The number of cells of an experiment with this flow.
    fn with_flow(flow: &str) -> Result<usize, sojourn_language::Diagnostics> {
        let text = file("linux-7.3", "pie", "delay 1ms", "cubic")
            .replace("cc = \"cubic\"\n", &format!("{flow}\n"));
        let experiment = Experiment::parse("words.toml", &text)?;
        experiment.plan(&Words::default(), MOST_RUNS).map(|plan| plan.cells().len())
    }

    /// The QUIC settings that a flow may have, and the errors for the others.
    #[test]
    fn a_quic_flow_has_what_its_stack_has() {
        for right in [
            "quic = {}",
            "quic = { stack = \"noq\", cc = \"bbr3\", max_pacing_rate = \"5mbit\" }",
            "quic = { stack = \"QUINN\", cc = \"BBR\", crypto = \"tls\", ecn = \"off\", bytes = \"1mb\", streams = 3 }",
            "quic = { initial_window = 32, ack_every = 10, ack_delay = \"5ms\", burst = 1, receive_window = \"8mb\" }",
            "quic = { timer_granularity = \"1ms\" }",
        ] {
            assert_eq!(with_flow(right), Ok(1), "{right}");
        }
        for (wrong, says) in [
            ("quic = { stack = \"quin\" }", "did you mean \"quinn\"?"),
            ("quic = { stack = \"quinn\", cc = \"bbr3\" }", "stack = \"noq\", which has it"),
            ("quic = { cc = \"cubik\" }", "there is no congestion control of noq \"cubik\""),
            (
                "quic = { stack = \"quinn\", max_pacing_rate = \"5mbit\" }",
                "quinn has no max_pacing_rate: its pacer",
            ),
            ("quic = { ack_delay = \"5ms\" }", "ack_delay goes with ack_every"),
            ("quic = { burst = 65 }", "burst"),
            ("quic = { timer_granularity = \"2s\" }", "timer_granularity"),
            ("quic = {}\nbytes = \"1mb\"", "write quic = { bytes = … }"),
            ("quic = {}\nhost_qdisc = \"fq\"", "leave host_qdisc out"),
            ("quic = {}\nudp = { rate = \"1mbit\" }", "a flow is one thing, not udp and quic"),
        ] {
            let text = with_flow(wrong).expect_err("it is wrong").to_string();
            assert!(text.contains(says), "{wrong}\n{text}");
        }
    }

    /// Without settings a flow is as the model's plain one.
    #[test]
    fn a_default_of_the_language_is_the_models() {
        let text = file("linux-7.3", "pie", "delay 1ms", "cubic")
            .replace("cc = \"cubic\"\n", "tcp = { stack = \"smoltcp\" }\n");
        let experiment = Experiment::parse("words.toml", &text).unwrap();
        let plan = experiment.plan(&Words::default(), MOST_RUNS).unwrap();
        let scenario = plan.scenarios().next().unwrap();
        let plain = sojourn_model::TcpStack::plain("smoltcp", "cubic");
        assert_eq!(scenario.flows[0].traffic, sojourn_model::Traffic::TcpStack(plain));
    }

    /// The same of TCP implementations.
    #[test]
    fn a_flow_of_a_tcp_implementation_has_what_that_has() {
        for right in [
            "tcp = { stack = \"smoltcp\" }",
            "tcp = { stack = \"smoltcp\", cc = \"Reno\", ecn = \"off\", bytes = \"1mb\" }",
            "tcp = { stack = \"smoltcp\", cc = \"none\", ack_delay = \"0s\", receive_window = \"64kb\" }",
            "tcp = { stack = \"smoltcp\", timer_granularity = \"1ms\" }",
        ] {
            assert_eq!(with_flow(right), Ok(1), "{right}");
        }
        for (wrong, says) in [
            ("tcp = {}", "stack"),
            ("tcp = { cc = \"reno\" }", "stack"),
            ("tcp = { stack = \"smoltpc\" }", "did you mean \"smoltcp\"?"),
            ("tcp = { stack = \"noq\" }", "there is no TCP stack \"noq\""),
            ("quic = { stack = \"smoltcp\" }", "there is no QUIC stack \"smoltcp\""),
            ("tcp = { stack = \"smoltcp\", cc = \"bbr\" }", "there is cubic, reno, none"),
            (
                "tcp = { stack = \"smoltcp\", ecn = \"rfc3168\" }",
                "smoltcp has no ecn: it sends Not-ECT",
            ),
            ("tcp = { stack = \"smoltcp\", ecn = \"accecn\" }", "ecn = \"off\", or leave it out"),
            (
                "tcp = { stack = \"smoltcp\", initial_window = 10 }",
                "smoltcp has no initial_window: its controls begin with 2048 bytes",
            ),
            ("tcp = { stack = \"smoltcp\", receive_window = \"1kb\" }", "receive_window"),
            ("tcp = { stack = \"smoltcp\", ack_delay = \"2s\" }", "ack_delay"),
            ("tcp = { stack = \"smoltcp\" }\ncc = \"reno\"", "write tcp = { cc = … }"),
            ("tcp = { stack = \"smoltcp\" }\nhost_qdisc = \"fq\"", "leave host_qdisc out"),
            ("tcp = { stack = \"smoltcp\" }\nquic = {}", "a flow is one thing, not quic and tcp"),
        ] {
            let text = with_flow(wrong).expect_err("it is wrong").to_string();
            assert!(text.contains(says), "{wrong}\n{text}");
        }
    }

    #[test]
    fn a_place_is_counted_from_the_words_that_were_given() {
        let at = |error: Result<(), WordError>| error.map_err(|error| error.at);
        assert_eq!(at(Words::default().netem("delay 1ms lost 1%", "linux-7.3")), Err(10..14));
        assert_eq!(at(Words::default().qdisc("pie lost 1%", "linux-7.3")), Err(4..8));
        assert_eq!(at(Words::default().cc("cubik", "linux-7.3")), Err(0..5));
        assert_eq!(at(Words::default().cc("cubik drain_gain 1", "linux-7.3")), Err(0..5));
        assert_eq!(at(Words::default().cc("bbr3 drain_gain 1 hurry 1", "linux-7.3")), Err(18..23));
        assert_eq!(at(Words::default().cc("bbr3  drain_gain 7", "linux-7.3")), Err(17..18));
        assert_eq!(at(Words::default().cc("bbr3 probe_rtt_interval 10s", "linux-7.3")), Ok(()));
        assert_eq!(at(Words::default().stack("linux-5.4")), Ok(()));
    }

    #[test]
    fn a_control_that_was_added_may_be_named() {
        let mut controls = Controls::built_in();
        let info = Info { name: "cubik", ..Reno::INFO };
        controls.add(info, |quirks| Reno::new(quirks).into()).unwrap();
        assert_eq!(Words::default().with_controls(controls).cc("cubik", "linux-7.3"), Ok(()));
        assert!(Words::default().cc("cubik", "linux-7.3").is_err());
    }

    #[test]
    fn options_are_those_of_the_stack() {
        let words = "fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3";
        assert_eq!(Words::default().qdisc(words, "linux-7.3"), Ok(()));
        assert!(Words::default().qdisc(words, "linux-5.4").is_err());
    }
}
