//! Random values in the language's spelling and in tc's, from a seed.

use sojourn_path::Elements;
use sojourn_qdisc::table::{Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Discipline, disciplines};
use sojourn_sim::app::Apps;
use sojourn_units::Random;

/// A source of values.
pub(super) struct Draw(Random);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(Random::named(seed, "experiments"))
    }

    /// Below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// True in one of `of` cases.
    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub(super) fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// Between two bounds, each order of magnitude as often as any other.
    pub(super) fn log(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = (least.max(1).ilog2(), most.max(1).ilog2());
        let scale = 1_u64 << (low + self.below(u64::from(high - low + 1)) as u32);
        let drawn = scale + self.below(scale);
        if least == 0 && self.one_in(12) { 0 } else { drawn.clamp(least, most) }
    }

    /// The same, and now and then a bound itself.
    pub(super) fn with_edges(&mut self, least: u64, usual: (u64, u64), most: u64) -> u64 {
        match self.below(60) {
            0 => least,
            1 => most,
            _ => self.log(usual.0.clamp(least, most), usual.1.clamp(least, most)),
        }
    }

    /// A time with its unit, both bounds in nanoseconds.
    pub(super) fn span(&mut self, least: u64, most: u64) -> String {
        let ns = self.log(least, most);
        if ns >= 1_000_000 && self.one_in(2) {
            format!("{}ms", ns / 1_000_000)
        } else {
            format!("{}us", ns.div_ceil(1000))
        }
    }

    /// A rate: most often what a simulated second can be paid for, now and then the least or the most there is.
    pub(super) fn rate(&mut self) -> String {
        format!("{}bit", self.with_edges(8, (20_000, 60_000_000), 10_000_000_000_000))
    }

    /// A trace that is made of words.
    pub(super) fn trace(&mut self) -> String {
        let (max, seed) = (self.log(120_000, 60_000_000), self.below(1000));
        let (noise, length) = (self.log(1, 5_000), self.log(200, 3_000));
        format!("cellular max {max}bit noise {noise} length {length}ms seed {seed}")
    }

    /// A link by its name and options.
    pub(super) fn link(&mut self) -> String {
        let infos: Vec<_> = Elements::built_in().link_infos().collect();
        let info = self.one_of(&infos);
        self.words(info)
    }

    /// A discipline that a path may have, in tc's words.
    pub(super) fn qdisc(&mut self) -> String {
        let info = self.one_of(disciplines());
        self.words(info)
    }

    /// Words that a standing discipline, whichever it is, may be changed by.
    pub(super) fn change(&mut self) -> String {
        let info = self.one_of(disciplines());
        if info.changes.is_empty() || self.one_in(3) {
            self.words(info)
        } else {
            self.one_of(info.changes).to_owned()
        }
    }

    /// A path element, in its words.
    pub(super) fn element(&mut self) -> String {
        let elements: Vec<_> = Elements::built_in().infos().collect();
        let info = self.one_of(&elements);
        self.words(info)
    }

    /// An application, in its words.
    pub(super) fn app(&mut self) -> String {
        let apps: Vec<_> = Apps::built_in().infos().collect();
        let info = self.one_of(&apps);
        self.words(info)
    }

    /// The options of one netem.
    pub(super) fn netem(&mut self) -> String {
        let info = disciplines().iter().find(|d| d.name == "netem").expect("it is in the list");
        let words =
            if self.one_in(4) { self.words(info) } else { self.one_of(info.examples).to_owned() };
        let options = words.trim_start_matches("netem").trim();
        if options.is_empty() { "delay 1ms".to_owned() } else { options.to_owned() }
    }

    fn words(&mut self, info: &Discipline) -> String {
        if !info.examples.is_empty() && !self.one_in(3) {
            return self.one_of(info.examples).to_owned();
        }
        let mut words = info.name.to_owned();
        for option in info.options {
            let required = matches!(option.preset, sojourn_qdisc::table::DefaultValue::Required);
            if required || self.one_in(5) {
                self.option(option, &mut words);
            }
        }
        if info.classful && self.one_in(2) {
            let child = self.one_of(disciplines());
            words += " ";
            words += self.one_of(child.examples);
        }
        words
    }

    fn option(&mut self, option: &OptionSpec, words: &mut String) {
        let all: Vec<&str> = option.words().collect();
        let word = if self.one_in(4) { self.one_of(&all) } else { option.name };
        *words += " ";
        *words += word;
        if option.off == Some(word) || option.others.contains(&word) {
            return;
        }
        for value in option.values {
            if value.optional && self.one_in(2) {
                return;
            }
            *words += " ";
            *words += &self.value(value);
        }
    }

    fn value(&mut self, of: &ValueSpec) -> String {
        match of.kind {
            Kind::Span { min, max } | Kind::SpanOrPackets { min, max } => {
                let ns = self.with_edges(min, (50_000, 200_000_000), max);
                format!("{}us", ns / 1000)
            }
            Kind::Rate => {
                format!("{}bit", self.with_edges(8, (100_000, 100_000_000), 10_000_000_000))
            }
            Kind::Size { min, max } => self.with_edges(min, (200, 10_000_000), max).to_string(),
            Kind::Count { min, max, .. } => self.with_edges(min, (1, 5000), max).to_string(),
            Kind::Percent => format!("{}%", self.below(101)),
            Kind::Masked => format!("{}/{}", self.below(256), self.below(256)),
            Kind::Real { min, max, .. } => {
                let (min, max) = (min.max(-1e6), max.min(1e6));
                format!("{:.4}", min + self.0.unit() * (max - min))
            }
            Kind::Word(words) => self.one_of(words).to_owned(),
            Kind::Keyword(word) => word.to_owned(),
        }
    }
}
