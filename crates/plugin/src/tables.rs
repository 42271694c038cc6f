//! Rows of a discipline's tables, written by name.

use crate::abi::{self, Counter, Gauge, OptionSpec};
use core::ffi::{CStr, c_char};

/// The unit of a counter or a gauge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Unit {
    /// A count of something.
    Count = abi::SOJOURN_UNIT_COUNT,
    /// Bytes.
    Bytes = abi::SOJOURN_UNIT_BYTES,
    /// Seconds.
    Seconds = abi::SOJOURN_UNIT_SECONDS,
    /// A probability, 0 to 1.
    Probability = abi::SOJOURN_UNIT_PROBABILITY,
    /// Bytes per second.
    BytesPerSecond = abi::SOJOURN_UNIT_BYTES_PER_SECOND,
    /// 0 or 1.
    Flag = abi::SOJOURN_UNIT_FLAG,
}

/// When `tc -s` prints a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Shown {
    /// Always.
    Always = abi::SOJOURN_SHOWN_ALWAYS,
    /// When it is not zero.
    NonZero = abi::SOJOURN_SHOWN_NONZERO,
    /// Its name alone, when it is not zero.
    Flag = abi::SOJOURN_SHOWN_FLAG,
}

/// A name in a table.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Name(*const c_char);

// SAFETY: it points to a text that is never written.
#[allow(unsafe_code)]
unsafe impl Sync for Name {}

impl Name {
    /// This name.
    pub const fn new(name: &'static CStr) -> Self {
        Self(name.as_ptr())
    }
}

impl OptionSpec {
    const fn new(kind: u32, name: &'static CStr, doc: &'static CStr) -> Self {
        Self {
            name: name.as_ptr(),
            kind,
            is_required: false,
            is_fixed: false,
            preset: core::ptr::null(),
            min: 0.0,
            max: 0.0,
            doc: doc.as_ptr(),
        }
    }

    /// A time.
    pub const fn time(name: &'static CStr, doc: &'static CStr) -> Self {
        Self::new(abi::SOJOURN_TIME, name, doc)
    }

    /// A rate.
    pub const fn rate(name: &'static CStr, doc: &'static CStr) -> Self {
        Self::new(abi::SOJOURN_RATE, name, doc)
    }

    /// A number of bytes.
    pub const fn size(name: &'static CStr, doc: &'static CStr) -> Self {
        Self::new(abi::SOJOURN_SIZE, name, doc)
    }

    /// A number of packets.
    pub const fn packets(name: &'static CStr, doc: &'static CStr) -> Self {
        Self::new(abi::SOJOURN_PACKETS, name, doc)
    }

    /// A number with decimals from `min` to `max`.
    pub const fn number(name: &'static CStr, min: f64, max: f64, doc: &'static CStr) -> Self {
        Self { min, max, ..Self::new(abi::SOJOURN_NUMBER, name, doc) }
    }

    /// A probability.
    pub const fn probability(name: &'static CStr, doc: &'static CStr) -> Self {
        Self::new(abi::SOJOURN_PROBABILITY, name, doc)
    }

    /// A switch.
    pub const fn flag(name: &'static CStr, doc: &'static CStr) -> Self {
        Self::new(abi::SOJOURN_FLAG, name, doc)
    }

    /// With this default, as the user would write it; for a switch the word itself.
    #[must_use]
    pub const fn or(mut self, preset: &'static CStr) -> Self {
        self.preset = preset.as_ptr();
        self
    }

    /// Within this range, in the unit of its kind: ns, bit/s, bytes, packets.
    #[must_use]
    pub const fn within(mut self, min: f64, max: f64) -> Self {
        self.min = min;
        self.max = max;
        self
    }

    /// To be given by the user.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// To be given when the queue is made, and not changed while it runs.
    #[must_use]
    pub const fn fixed(mut self) -> Self {
        self.is_fixed = true;
        self
    }
}

impl Counter {
    /// A counter that `tc -s` prints on this line below `backlog`, from 0.
    pub const fn new(
        name: &'static CStr,
        unit: Unit,
        line: u32,
        shown: Shown,
        doc: &'static CStr,
    ) -> Self {
        Self {
            name: name.as_ptr(),
            unit: unit as u32,
            line,
            shown: shown as u32,
            doc: doc.as_ptr(),
        }
    }
}

impl Gauge {
    /// A gauge.
    pub const fn new(name: &'static CStr, unit: Unit, doc: &'static CStr) -> Self {
        Self { name: name.as_ptr(), unit: unit as u32, doc: doc.as_ptr() }
    }
}
