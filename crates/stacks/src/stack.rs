//! What a stack consists of.

use sojourn_qdisc::QdiscQuirks;
use sojourn_transport::stack::TcpQuirks;

/// A stack.
#[derive(Debug)]
pub struct Stack {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Where its facts come from.
    pub source: &'static str,
    /// TCP's switches.
    pub tcp: TcpQuirks,
    /// The queue disciplines' switches.
    pub qdisc: QdiscQuirks,
}
