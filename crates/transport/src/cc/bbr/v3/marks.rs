//! What BBRv3 knows of marks.

use crate::cc::View;

/// One, in 256ths.
pub(super) const ONE: u32 = 256;

/// What is known of marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Whether they count, for good.
    pub(super) eligible: bool,
    /// Smoothed share of marked packets, 256ths.
    pub(super) alpha: u32,
    pub(super) in_round: bool,
    pub(super) in_cycle: bool,
    pub(super) delivered: u32,
    pub(super) delivered_ce: u32,
    pub(super) startup_rounds: u32,
}

impl Marks {
    pub(super) fn new(view: &View) -> Self {
        Self {
            alpha: ONE,
            delivered: view.delivered,
            delivered_ce: view.delivered_ce,
            ..Self::default()
        }
    }

    pub(super) fn forget(&mut self) {
        self.in_round = false;
        self.in_cycle = false;
    }

    pub(super) fn end_round(&mut self) {
        self.in_round = false;
    }

    pub(super) fn in_round(&self) -> bool {
        self.in_round
    }

    pub(super) fn in_cycle(&self) -> bool {
        self.in_cycle
    }
}
