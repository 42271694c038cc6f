//! What packets pass without being held: rewriters, the two ends of a tunnel, policers.
//!
//! A passage acts while a packet goes from one port to the next, at no event of its own. Switched off, it lets
//! everything pass untouched.

use crate::policer::{Policer, Verdict};
use crate::{Entrance, Exit, Ledger, Rewriter, Traveller};
use sojourn_qdisc::{Telemetry, Why};
use sojourn_units::Time;

/// What a passage does.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Changes header bits.
    Rewrite(Rewriter),
    /// Puts packets into a tunnel.
    Enter(Entrance),
    /// Takes them out.
    Leave(Exit),
    /// Drops or marks what exceeds a rate.
    Police(Policer),
}

/// A deed, whether it is done, and what came of it.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Whether it acts.
    pub enabled: bool,
    /// What it does.
    pub deed: Deed,
    ledger: Ledger,
}

impl Passage {
    /// A passage with empty books.
    pub fn new(deed: Deed, enabled: bool) -> Self {
        Self { enabled, deed, ledger: Ledger::default() }
    }

    /// Lets a packet pass. `None` if it was dropped, which the ledger then knows.
    pub fn pass<P: Traveller>(&mut self, now: Time, mut packet: P) -> Option<P> {
        self.ledger.entered += 1;
        if self.enabled {
            let drop = match &mut self.deed {
                Deed::Rewrite(rewriter) => {
                    rewriter.apply(&mut packet);
                    None
                }
                Deed::Enter(entrance) => {
                    entrance.enter(&mut packet);
                    None
                }
                Deed::Leave(exit) => exit.leave(&mut packet).err(),
                Deed::Police(policer) => match policer.judge(now, &mut packet) {
                    Verdict::Passes => None,
                    Verdict::Marked => {
                        self.ledger.marked(now, &packet, Why::Policer);
                        None
                    }
                    Verdict::Dropped => Some(Why::Policer),
                },
            };
            if let Some(why) = drop {
                self.ledger.dropped(now, packet, why);
                return None;
            }
        }
        self.ledger.left += 1;
        self.ledger.left_bytes += u64::from(packet.wire_len());
        Some(packet)
    }

    /// Counts since the beginning.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}
