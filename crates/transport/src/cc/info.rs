//! What a congestion control is, for people.

use super::ControlOption;

/// A congestion control's description, for lists, help and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name, as Linux has it.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// The numbers it reports at each step: name, unit, meaning.
    pub gauges: &'static [(&'static str, &'static str, &'static str)],
    /// The options behind its name; each value goes to [`CongestionControl::set`](super::CongestionControl::set).
    pub options: &'static [ControlOption],
}
