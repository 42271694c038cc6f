//! Programs of the host as a flow: a server and a client that talk to each other.

use serde::{Deserialize, Serialize};
use sojourn_units::Span;
use std::collections::BTreeMap;

/// Two programs of the machine, unmodified, at the two ends of the path. All their packets are the flow's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The server's command and its arguments; none if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// The client's command and its arguments. The flow ends with it.
    pub client: Vec<String>,
    /// Files that both find in the folder in which they run, by name: their text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Variables of their environment, besides those that the engine sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Files and folders of the machine that they may read, besides those of the system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// When the server is ready, and the client is started.
    pub ready: Ready,
    /// The exit status of the client that is no failure.
    pub exit: u8,
    /// How long the client may run (default: until the flow stops).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// How much of the machine's CPU time the run may take while its clock goes one second on.
    pub cpu_limit: Span,
}

/// When a server is ready.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// It listens on some port of TCP or UDP.
    Listens,
    /// It listens on this port.
    Port(u16),
    /// It has written this on its standard output or error.
    Output(String),
    /// So long after it was started.
    After(Span),
}
