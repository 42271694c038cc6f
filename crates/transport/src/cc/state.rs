//! The states of loss recovery and ECN response.

/// State of loss recovery and ECN response (`enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Duplicates or SACKs have come; not yet clear that something was lost.
    Disorder,
    /// The window is being reduced for ECN-Echo.
    Cwr,
    /// The window is being reduced for a loss, and losses repaired.
    Recovery,
    /// The retransmission timer fired.
    Loss,
}
