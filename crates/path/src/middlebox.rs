//! What packets pass without being held: rewriters, the two ends of a tunnel, policers, and what words name.
//!
//! A middlebox acts while a packet goes from one port to the next, at no event of its own. Switched off, it lets
//! everything pass untouched.
//!
//! Those that the model has types for are variants of one enum, made by a macro from the list in `lib.rs`; one that words name
//! is behind a pointer ([`PathElement`]).

use crate::element::{PathElement, Verdict};
use crate::setup::{FromElement, Setup, Typed};
use crate::{PathPacket, PortStats, Selection};
use sojourn_qdisc::Telemetry;
use sojourn_units::{Random, Rate, Time};

/// An element that words name, whom it is for, and what it draws from.
#[derive(Debug)]
pub struct Named {
    element: Box<dyn PathElement>,
    select: Selection,
    random: Random,
}

impl Named {
    /// An element for these packets, with a stream of its own.
    pub const fn new(element: Box<dyn PathElement>, select: Selection, random: Random) -> Self {
        Self { element, select, random }
    }

    fn pass<P: PathPacket>(&mut self, now: Time, packet: &mut P) -> Verdict {
        if self.select.takes(packet) {
            self.element.pass(now, packet, &mut self.random)
        } else {
            Verdict::Passes
        }
    }
}

macro_rules! kinds {
    (typed { $($file:ident: $($variant:ident($type:ident)),+;)* } by_words { $($words:tt)* }) => {
        /// What a middlebox does.
        #[derive(Debug)]
        pub enum MiddleboxKind {
            $($(#[doc = concat!("[`", stringify!($type), "`](crate::", stringify!($type), ").")]
            $variant(crate::$file::$type),)+)*
            /// What words name.
            Named(Named),
        }

        impl MiddleboxKind {
            /// That of a typed element; none if the element holds packets, or words name it.
            pub(crate) fn of(setup: &mut Setup<'_>) -> Option<Self> {
                $($(if let Some(made) = crate::$file::$type::of(setup) {
                    return Some(Self::$variant(made));
                })+)*
                None
            }

            #[inline]
            fn pass<P: PathPacket>(&mut self, now: Time, packet: &mut P) -> Verdict {
                match self {
                    $($(Self::$variant(typed) => Typed::pass(typed, now, packet),)+)*
                    Self::Named(named) => named.pass(now, packet),
                }
            }

            /// Sets the rate that it lets pass; false if it has none.
            pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
                match self {
                    $($(Self::$variant(typed) => Typed::set_rate(typed, now, rate),)+)*
                    Self::Named(named) => named.element.set_rate(now, rate),
                }
            }
        }
    };
}

middleboxes!(kinds);

/// A kind of middlebox, whether it acts, and what came of it.
#[derive(Debug)]
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
            match self.kind.pass(now, &mut packet) {
                Verdict::Passes => {}
                Verdict::Marked(reason) => self.stats.marked(now, &packet, reason),
                Verdict::Dropped(reason) => {
                    self.stats.dropped(now, packet, reason);
                    return None;
                }
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
