//! The statistics that the kernel's own discipline sends over netlink, so that an engine that runs Linux reports them
//! by the names of the discipline's table.
//!
//! The layouts are those of the kernel's interface (`include/uapi/linux/pkt_sched.h`, `tc_*_xstats`), which only ever
//! grow at their ends: fields that an older kernel does not send are zero.

use crate::reason::Reason;

/// The layout of one discipline's statistics (`TCA_STATS_APP`), and the signals that its counts are of.
#[derive(Clone, Copy, Debug)]
pub struct Xstats {
    /// The fields in their order. A field with the name of a counter or a gauge of the table is reported as that one.
    pub fields: &'static [Field],
    /// Which drops and marks they count, in the order of the report.
    pub signals: &'static [Counted],
}

impl Xstats {
    /// Of a discipline that sends none: it drops what does not fit.
    pub const NONE: Self = Self { fields: &[], signals: &[Counted::OtherDrops(Reason::Tail)] };
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in the table; empty for one that the table does not have.
    pub name: &'static str,
    /// How its value is written.
    pub form: Form,
}

/// How a field's value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Form {
    /// A number of 32 bits.
    Number,
    /// A time of 32 bits, in microseconds.
    Micros,
    /// The same with a sign.
    SignedMicros,
    /// A share of 2^32, of 32 bits.
    Share32,
    /// A share of 2^64, of 64 bits.
    Share64,
}

impl Form {
    /// Its size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Share64 => 8,
            Self::Number | Self::Micros | Self::SignedMicros | Self::Share32 => 4,
        }
    }

    /// The value in the unit of the table: seconds for a time; `None` where `bytes` end before it does.
    pub fn read(self, bytes: &[u8]) -> Option<f64> {
        let word = || Some(u32::from_ne_bytes(*bytes.first_chunk()?));
        Some(match self {
            Self::Number => f64::from(word()?),
            Self::Micros => f64::from(word()?) / 1e6,
            Self::SignedMicros => f64::from(word()?.cast_signed()) / 1e6,
            Self::Share32 => f64::from(word()?) / 4_294_967_296.0,
            Self::Share64 => {
                u64::from_ne_bytes(*bytes.first_chunk()?) as f64 / 18_446_744_073_709_551_616.0
            }
        })
    }

    /// A field of this form, for the row of this name.
    pub const fn of(self, name: &'static str) -> Field {
        Field { name, form: self }
    }
}

/// What is counted of drops and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Drops for this reason are in the field of this name.
    Drops(Reason, &'static str),
    /// Drops for this reason are those that no field counts.
    OtherDrops(Reason),
    /// Marks for this reason are in the field of this name.
    Marks(Reason, &'static str),
}
