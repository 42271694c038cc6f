//! What an engine says that it cannot do of a scenario. It belongs to the model because results keep it, too: what an engine
//! could not record of a run.

use core::fmt;
use serde::{Deserialize, Serialize};

/// One thing that an engine cannot do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// What: `qdisc dualpi2`, `tunnel esp`.
    pub feature: String,
    /// Where in the scenario: `bottleneck.down.qdisc`, `flow prague`.
    pub place: String,
    /// Why not.
    pub why: String,
    /// What would provide it; may be empty.
    pub help: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.feature, self.why)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, " ({})", self.help) }
    }
}
