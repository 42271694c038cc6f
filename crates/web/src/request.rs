//! The requests of a page.

use serde::Deserialize;
use sojourn_model::Scenario;

/// A request, as JSON: `{"ask": "check", "text": "…"}`.
#[derive(Deserialize, Debug)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Request {
    /// The choices: version, disciplines, controls, stacks.
    Choices,
    /// Reads an experiment: its mistakes, or its warnings and runs; the session keeps the scenarios of those.
    Check {
        /// The experiment, TOML.
        text: String,
        /// Seeds in place of those of the text: 1 to this number.
        #[serde(default)]
        seeds: Option<u64>,
    },
    /// One of the runs that were read last, resolved.
    Scenario {
        /// Its place among them.
        run: usize,
    },
    /// Begins one of the runs that were read last; one that is under way is given up.
    Begin {
        /// Its place among them.
        run: usize,
    },
    /// Begins a run by its resolved scenario.
    Resolved {
        /// As [`Request::Scenario`] gives it.
        scenario: Box<Scenario>,
    },
    /// Lets `events` events of the run under way happen.
    Advance {
        /// How many at most.
        events: u64,
    },
    /// Ends the run, after all of its time has passed: summary, checks, digests, and these tables.
    Finish {
        /// Names of tables; those without rows are left out.
        tables: Vec<String>,
    },
    /// Values of metrics of the run that was finished last.
    Measure {
        /// The metrics.
        expressions: Vec<String>,
    },
}
