//! What `sojourn qdiscs NAME` prints of a discipline: its table as text.

use crate::table::{DefaultValue, Kind, OptionSpec, Unit};
use crate::{Discipline, QdiscQuirks};

impl OptionSpec {
    /// The option and its values, as in a usage line: `delay TIME [JITTER [CORRELATION]]`, `ecn | noecn`.
    pub fn usage(&self) -> String {
        let mut words = vec![self.name.to_owned()];
        let mut open = 0;
        for value in self.values {
            words.push(match value.kind {
                Kind::Keyword(word) => format!("[{word}]"),
                _ if value.optional => {
                    open += 1;
                    format!("[{}", value.name)
                }
                _ => value.name.to_owned(),
            });
        }
        words.extend(self.others.iter().copied().chain(self.off).map(|word| format!("| {word}")));
        words.join(" ") + &"]".repeat(open)
    }

    /// The default in words; where it depends on the kernel, the default of each.
    pub fn default_text(&self) -> String {
        match self.preset {
            DefaultValue::Is(words) => words.to_owned(),
            DefaultValue::Unset(meaning) => meaning.to_owned(),
            DefaultValue::Required => "must be given".to_owned(),
            DefaultValue::Per(words) => QdiscQuirks::ALL
                .iter()
                .map(|profile| format!("{} ({})", words(profile), profile.name))
                .collect::<Vec<_>>()
                .join(", "),
        }
    }

    /// The kernels that have it, if not all of them do.
    pub fn only_in(&self) -> Option<String> {
        let known = QdiscQuirks::ALL.iter().filter(|profile| self.is_known(profile));
        let names: Vec<&str> = known.map(|profile| profile.name).collect();
        (names.len() < QdiscQuirks::ALL.len()).then(|| names.join(", "))
    }

    fn explain(&self, lines: &mut Vec<String>) {
        lines.push(format!("  {}", self.usage()));
        let mut say = |what: String| lines.push(format!("      {what}"));
        say(self.doc.to_owned());
        for value in self.values.iter().filter(|v| !matches!(v.kind, Kind::Keyword(_))) {
            say(format!("{}: {}", value.name, value.kind.expected()));
        }
        say(format!("default: {}", self.default_text()));
        if !self.aliases.is_empty() {
            say(format!("also written: {}", self.aliases.join(", ")));
        }
        if let Some(names) = self.only_in() {
            say(format!("only in {names}"));
        }
        if let Some(inert) = self.inert {
            let on = QdiscQuirks::ALL
                .iter()
                .filter(|profile| (inert.on)(profile))
                .map(|profile| profile.name);
            say(format!("no effect on {}: {}", on.collect::<Vec<_>>().join(", "), inert.why));
        }
        if self.fixed {
            say("cannot be changed while the queue runs".to_owned());
        }
    }
}

impl Unit {
    /// Its symbol, empty for a plain count.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "bytes",
            Self::Seconds => "s",
            Self::Probability => "probability",
            Self::BytesPerSecond => "bytes/s",
            Self::Ticks => "ticks of 64 ns",
            Self::Flag => "0 or 1",
        }
    }
}

impl Discipline {
    /// Everything in the table: usage, options with kinds, ranges and defaults, statistics, gauges, sources.
    pub fn help(&self) -> String {
        let mut lines = vec![
            format!("{}: {}", self.name, self.summary),
            format!("source: {}", self.source),
            "\noptions".to_owned(),
        ];
        self.options.iter().for_each(|option| option.explain(&mut lines));
        if self.classful {
            lines.push("  CHILD".to_owned());
            lines.push(
                "      the discipline that packets are drawn from, and its options".to_owned(),
            );
            lines.push("      default: pfifo".to_owned());
        }
        if !self.refused.is_empty() {
            lines.push("\nwords of tc that are not here".to_owned());
            lines.extend(self.refused.iter().map(|(word, why)| format!("  {word:<16} {why}")));
        }
        let row = |name, unit: Unit, doc| match unit.symbol() {
            "" => format!("  {name:<16} {doc}"),
            symbol => format!("  {name:<16} {doc} [{symbol}]"),
        };
        if !self.classes.is_empty() {
            lines.push("\nclasses, each with its own record of sojourn times".to_owned());
            lines.extend(self.classes.iter().map(|c| row(c.name, Unit::Count, c.doc)));
        }
        if !self.counters.is_empty() {
            lines.push("\nstatistics".to_owned());
            lines.extend(self.counters.iter().map(|c| row(c.name, c.unit, c.doc)));
        }
        if !self.gauges.is_empty() {
            lines.push("\ngauges".to_owned());
            lines.extend(self.gauges.iter().map(|g| row(g.name, g.unit, g.doc)));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}
