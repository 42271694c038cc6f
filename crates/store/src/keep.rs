//! How much of a run is stored.

use sojourn_results::schema;

/// How much of a run is stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Keep {
    /// The answers, counters, events and distributions of the whole run.
    Summary,
    /// All tables but the controllers' own numbers.
    Series,
    /// All tables.
    #[default]
    All,
}

impl Keep {
    /// Each, with its word and what it keeps.
    pub const EACH: [(Self, &str, &str); 3] = [
        (Self::Summary, "summary", "answers, counters, events and distributions of the whole run"),
        (Self::Series, "series", "all tables except the numbers of controllers (state.NAME)"),
        (Self::All, "all", "all tables"),
    ];

    /// The word in files and on the command line.
    pub fn name(self) -> &'static str {
        Self::EACH.iter().find(|own| own.0 == self).map_or("", |own| own.1)
    }

    /// What this word means; `None` if it is none of them.
    pub fn named(word: &str) -> Option<Self> {
        Self::EACH.iter().find(|own| own.1 == word).map(|own| own.0)
    }

    /// Whether a table is stored.
    pub fn admits(self, table: &str) -> bool {
        let summary = [&schema::TOTALS, &schema::HISTOGRAMS, &schema::EVENTS, &schema::TC];
        let states = [&schema::FLOW_STATE, &schema::QUEUE_STATE];
        match self {
            Self::Summary => summary.iter().any(|own| own.name == table),
            Self::Series => states.iter().all(|own| own.name != table),
            Self::All => true,
        }
    }
}
