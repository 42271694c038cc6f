//! What packets pass without being held: rewriters, the two ends of a tunnel, policers.
//!
//! A middlebox acts while a packet goes from one port to the next, at no event of its own. Switched off, it lets
//! everything pass untouched.

use crate::policer::{Policer, Verdict};
use crate::{Entrance, Exit, PathPacket, PortStats, Rewriter};
use sojourn_qdisc::{Reason, Telemetry};
use sojourn_units::Time;

/// What a middlebox does.
#[derive(Clone, Debug)]
pub enum MiddleboxKind {
    /// Changes header bits.
    Rewrite(Rewriter),
    /// Puts packets into a tunnel.
    Enter(Entrance),
    /// Takes them out.
    Leave(Exit),
    /// Drops or marks what exceeds a rate.
    Police(Policer),
}

/// A kind of middlebox, whether it acts, and what came of it.
#[derive(Clone, Debug)]
pub struct Middlebox {
    /// Whether it acts.
    pub enabled: bool,
    /// What it does.
    pub kind: MiddleboxKind,
    stats: PortStats,
}

impl Middlebox {
    /// A middlebox without a packet yet.
    pub fn new(kind: MiddleboxKind, enabled: bool) -> Self {
        Self { enabled, kind, stats: PortStats::default() }
    }

    /// Lets a packet pass. `None` if it was dropped, which the statistics then show.
    pub fn pass<P: PathPacket>(&mut self, now: Time, mut packet: P) -> Option<P> {
        self.stats.count_entered(packet.wire_len());
        if self.enabled {
            let drop = match &mut self.kind {
                MiddleboxKind::Rewrite(rewriter) => {
                    rewriter.apply(&mut packet);
                    None
                }
                MiddleboxKind::Enter(entrance) => {
                    entrance.enter(&mut packet);
                    None
                }
                MiddleboxKind::Leave(exit) => exit.leave(&mut packet).err(),
                MiddleboxKind::Police(policer) => match policer.judge(now, &mut packet) {
                    Verdict::Passes => None,
                    Verdict::Marked => {
                        self.stats.marked(now, &packet, Reason::Policer);
                        None
                    }
                    Verdict::Dropped => Some(Reason::Policer),
                },
            };
            if let Some(reason) = drop {
                self.stats.dropped(now, packet, reason);
                return None;
            }
        }
        self.stats.left += 1;
        self.stats.left_bytes += u64::from(packet.wire_len());
        Some(packet)
    }

    /// Counts since the beginning.
    pub const fn stats(&self) -> &PortStats {
        &self.stats
    }
}
