//! The tins: how many, which DSCP goes to which, and each one's part of the rate.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_cake.c` (`cake_config_*` and the tables of codepoints). RFC 8622's lower
//! effort (LE) has its place since 5.8; before, its codepoint was one of the old TOS field's.

use crate::table::Class;
use sojourn_units::Dscp;

/// The most tins there are.
pub(super) const MOST: usize = 8;

const BEST_EFFORT: Class = Class { name: "best_effort", doc: "whatever has no other tin" };
const BULK: Class = Class {
    name: "bulk",
    doc: "CS1, and LE where the kernel knows it: behind the others above a sixteenth of the rate",
};
const VIDEO: Class = Class {
    name: "video",
    doc: "diffserv4: CS2, CS3, AF2x to AF4x and TOS4, before best effort up to half of the rate",
};
const VOICE: Class = Class {
    name: "voice",
    doc: "EF, VA, CS6, CS7; TOS4 in diffserv3, CS4 and CS5 in diffserv4: first up to a quarter of the rate",
};

macro_rules! numbered {
    ($($name:literal)*) => {
        [$(Class { name: $name, doc: "diffserv8 and precedence: the tin of this number, the higher the earlier" },)*]
    };
}

const NUMBERED: [Class; MOST] =
    numbered!["tin_0" "tin_1" "tin_2" "tin_3" "tin_4" "tin_5" "tin_6" "tin_7"];

/// Every class: those with names, then the tins that have numbers.
pub(super) static CLASSES: [Class; 4 + MOST] = {
    let [a, b, c, d, e, f, g, h] = NUMBERED;
    [BEST_EFFORT, BULK, VOICE, VIDEO, a, b, c, d, e, f, g, h]
};

/// How a packet's DSCP selects its tin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Diffserv {
    /// Not at all.
    BestEffort,
    /// Best effort, bulk and voice.
    Three,
    /// And video.
    Four,
    /// Eight tins, each with seven eighths of the rate of the one before.
    Eight,
    /// Eight tins by the three highest bits.
    Precedence,
}

impl Diffserv {
    /// Each with tc's word.
    pub(super) const WORDS: [(&'static str, Self); 5] = [
        ("besteffort", Self::BestEffort),
        ("diffserv3", Self::Three),
        ("diffserv4", Self::Four),
        ("diffserv8", Self::Eight),
        ("precedence", Self::Precedence),
    ];

    /// That of a word, which is one of [`Diffserv::WORDS`].
    pub(super) fn of(word: &str) -> Self {
        let known = Self::WORDS.iter().find(|(known, _)| *known == word);
        known.map_or(Self::BestEffort, |(_, diffserv)| *diffserv)
    }

    /// tc's word.
    pub(super) fn word(self) -> &'static str {
        let known = Self::WORDS.iter().find(|(_, diffserv)| *diffserv == self);
        known.map_or("besteffort", |(word, _)| word)
    }

    /// How many tins there are.
    #[inline]
    pub(super) const fn tins(self) -> usize {
        match self {
            Self::BestEffort => 1,
            Self::Three => 3,
            Self::Four => 4,
            Self::Eight | Self::Precedence => MOST,
        }
    }

    /// The class of a tin.
    #[inline]
    pub(super) fn class(self, tin: usize) -> &'static Class {
        let place = match self {
            Self::BestEffort | Self::Three => tin,
            // Video precedes voice.
            Self::Four => [0, 1, 3, 2][tin],
            Self::Eight | Self::Precedence => 4 + tin,
        };
        &CLASSES[place]
    }

    /// The tin of a class by its place in [`CLASSES`], if it is there.
    pub(super) const fn place(self, class: usize) -> Option<usize> {
        match (self, class) {
            // Always reported, so that a report has the same rows with one tin as with three.
            (Self::BestEffort | Self::Three, 0..=2) | (Self::Four, 0 | 1) => Some(class),
            (Self::Four, 2) => Some(3),
            (Self::Four, 3) => Some(2),
            (Self::Eight | Self::Precedence, 4..) => Some(class - 4),
            _ => None,
        }
    }

    /// Threshold in bytes a second, and weight without a rate, of each tin, at `rate` bytes a second.
    pub(super) fn plan(self, rate: u64) -> [(u64, i32); MOST] {
        let mut plan = [(0, 0); MOST];
        match self {
            Self::BestEffort => plan[0] = (rate, 65_535),
            Self::Three => {
                plan[..3].copy_from_slice(&[part(rate, 0), part(rate, 4), part(rate, 2)]);
            }
            Self::Four => {
                let parts = [part(rate, 0), part(rate, 4), part(rate, 1), part(rate, 2)];
                plan[..4].copy_from_slice(&parts);
            }
            Self::Eight | Self::Precedence => {
                let (mut rate, mut weight) = (rate, 256);
                for tin in &mut plan {
                    *tin = (rate, weight.max(1));
                    (rate, weight) = ((rate * 7) >> 3, (weight * 7) >> 3);
                }
            }
        }
        plan
    }

    /// The tin of a DSCP; `lower_effort` says whether the kernel knows LE.
    #[inline]
    pub(super) const fn tin(self, dscp: Dscp, lower_effort: bool) -> usize {
        let dscp = dscp.value();
        match self {
            Self::BestEffort => 0,
            Self::Three => match dscp {
                // LE, CS1.
                1 if lower_effort => 1,
                8 => 1,
                // TOS4, VA, EF, CS6, CS7.
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Self::Four => match dscp {
                1 if lower_effort => 1,
                8 => 1,
                // Once TOS5; TOS4, CS2, AF2x, CS3, AF3x, AF4x.
                1 | 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                // CS4, CS5, VA, EF, CS6, CS7.
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Self::Eight => match dscp {
                // Background, and the rest of the bulk.
                1 if lower_effort => 0,
                8 if !lower_effort => 0,
                2 | 8 | 10 | 12 | 14 => 1,
                // Video: CS3, AF3x, AF4x.
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                // Transactions: TOS4, AF2x.
                4 | 18 | 20 | 22 => 4,
                // Shells: CS2, and once TOS5.
                1 | 16 => 5,
                // Least latency: CS4, CS5, VA, EF.
                32 | 40 | 44 | 46 => 6,
                // Network control.
                48 | 56 => 7,
                _ => 2,
            },
            Self::Precedence => (dscp >> 3) as usize,
        }
    }
}

/// A tin with a 2^-shift part of rate and weight.
const fn part(rate: u64, shift: u32) -> (u64, i32) {
    (rate >> shift, 1024 >> shift)
}
