//! One run from the command line, `sojourn try`: written out as an experiment file, so that it means exactly
//! what the file would, and can be kept.

use super::experiment::Experiment;
use super::source::Diagnostics;
use core::fmt::Write as _;

/// What to try. Everything is text as the user wrote it; it is judged as the file would be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuickRun {
    /// The bottleneck's rate: `50mbit`.
    pub rate: String,
    /// Base RTT: `20ms`.
    pub rtt: String,
    /// The discipline in tc's words.
    pub qdisc: String,
    /// One flow for each congestion control, in order.
    pub ccs: Vec<String>,
    /// How long: `60s`.
    pub duration: String,
    /// The stack of everything.
    pub stack: String,
    /// The seed.
    pub seed: u64,
}

impl QuickRun {
    /// The experiment file.
    pub fn toml(&self) -> String {
        let quote = |text: &str| toml_string(text);
        let mut toml = format!(
            "[experiment]\nname = \"try\"\nstack = {}\nduration = {}\nseeds = [{}]\n\n\
             [[hop]]\nname = \"bottleneck\"\nrate = {}\nrtt = {}\nqdisc = {}\n",
            quote(&self.stack),
            quote(&self.duration),
            self.seed,
            quote(&self.rate),
            quote(&self.rtt),
            quote(&self.qdisc),
        );
        for (name, cc) in self.names().iter().zip(&self.ccs) {
            let _ = write!(toml, "\n[[flow]]\nname = {}\ncc = {}\n", quote(name), quote(cc));
        }
        toml
    }

    /// The names of the flows: the congestion controls', numbered where one occurs twice.
    pub fn names(&self) -> Vec<String> {
        let plain = |cc: &str| -> String {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let name: String = cc.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
            if name.is_empty() { "flow".into() } else { name }
        };
        let all: Vec<String> = self.ccs.iter().map(|cc| plain(cc)).collect();
        all.iter()
            .enumerate()
            .map(|(i, name)| {
                let before = all[..i].iter().filter(|n| *n == name).count();
                let twice = all.iter().filter(|n| *n == name).count() > 1;
                if twice { format!("{name}-{}", before + 1) } else { name.clone() }
            })
            .collect()
    }

    /// The experiment; messages refer to the file that [`QuickRun::toml`] gives.
    pub fn experiment(&self) -> Result<Experiment, Diagnostics> {
        Experiment::parse("try", &self.toml())
    }
}

/// A TOML basic string.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
