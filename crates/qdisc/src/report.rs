//! What a discipline reports: its statistics in tc's order and its controller's state, each said once.
//!
//! [`crate::report!`] takes one row for each: name, unit, what it is, and how it is read from the discipline. From these rows
//! come the discipline's table *and* what it answers when it is asked, so that neither can name what the other does
//! not have, and a unit cannot stand by another's value.

use sojourn_units::Span;

#[doc(hidden)]
pub use sojourn_units::Time;

/// A value that a statistic or a gauge may have, in the unit of its row.
pub trait Reported {
    /// As a number: seconds for a time, 1 or 0 for what is so or not.
    fn reported(self) -> f64;
}

macro_rules! reported {
    ($($type:ty)*) => {
        $(impl Reported for $type {
            #[allow(clippy::cast_lossless, reason = "the same for every width")]
            fn reported(self) -> f64 {
                self as f64
            }
        })*
    };
}

reported!(f64 u32 i32 u64 i64 usize);

impl Reported for bool {
    fn reported(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl Reported for Span {
    fn reported(self) -> f64 {
        self.as_secs_f64()
    }
}

/// The statistics and gauges of a discipline, one row each: `name: Unit, …, "what it is" => value;`.
///
/// It makes, next to the type, the tables `COUNTERS` and `GAUGES` for its [`crate::Discipline`], and the methods
/// `counted(&self)`, for [`crate::QdiscCounters::stats`], and `gauged(&self, now, out)`, for [`crate::Qdisc::gauges`].
/// A row of `counters` also says on which line below `backlog` tc prints it, and when ([`crate::table::Shown`]).
/// `where` computes once the values that several gauges need. `gauges` may be left out.
///
/// ```
/// use sojourn_qdisc::{Discipline, Packet, PacketQueue, report};
///
/// pub struct Threshold<P> {
///     ring: PacketQueue<P>,
///     marks: u64,
/// }
///
/// report! {
///     impl[P: Packet] Threshold<P>, it at now;
///     counters {
///         marks: Count, line 0, Always, "packets marked at the threshold" => it.marks;
///     }
///     gauges {
///         head_delay: Seconds, "time that the packet at the head has waited" => it.ring.head_delay(now);
///     }
/// }
///
/// const INFO: Discipline =
///     Discipline { name: "threshold", counters: COUNTERS, gauges: GAUGES, ..Discipline::BASE };
/// # assert_eq!((INFO.counters[0].name, INFO.gauges[0].name), ("marks", "head_delay"));
/// # fn asked<P: Packet>(of: &Threshold<P>) { of.counted(); of.gauged(sojourn_units::Time::ZERO, &mut |_, _| {}); }
/// ```
#[macro_export]
macro_rules! report {
    (
        impl[$($generics:tt)*] $type:ty, $it:ident at $now:ident;
        counters { $($counters:tt)* }
        gauges $(where { $($common:tt)* })? { $($gauges:tt)* }
    ) => {
        $crate::report! {
            impl[$($generics)*] $type, $it;
            counters { $($counters)* }
        }
        $crate::report! {
            @gauges [$($generics)*] $type, $it at $now, [$($($common)*)?], $($gauges)*
        }
    };
    (
        impl[$($generics:tt)*] $type:ty, $it:ident;
        counters {
            $($name:ident: $unit:ident, line $line:literal, $shown:ident, $doc:literal
                => $value:expr;)*
        }
    ) => {
        /// Its statistics, in tc's order.
        const COUNTERS: &[$crate::table::Counter] = &[$(
            $crate::table::Counter {
                name: ::core::stringify!($name),
                unit: $crate::table::Unit::$unit,
                line: $line,
                shown: $crate::table::Shown::$shown,
                doc: $doc,
            },
        )*];

        impl<$($generics)*> $type {
            /// The values of [`COUNTERS`].
            fn counted(&self) -> ::std::vec::Vec<(&'static str, f64)> {
                let $it = self;
                let _ = $it;
                ::std::vec![$(
                    (::core::stringify!($name), $crate::Reported::reported($value)),
                )*]
            }
        }
    };
    (
        @gauges [$($generics:tt)*] $type:ty, $it:ident at $now:ident, [$($common:tt)*],
        $($name:ident: $unit:ident, $doc:literal => $value:expr;)*
    ) => {
        /// The gauges of its state.
        const GAUGES: &[$crate::table::Gauge] = &[$(
            $crate::table::Gauge {
                name: ::core::stringify!($name),
                unit: $crate::table::Unit::$unit,
                doc: $doc,
            },
        )*];

        impl<$($generics)*> $type {
            /// Tells the values of [`GAUGES`].
            fn gauged(
                &self,
                $now: $crate::report::Time,
                out: &mut dyn ::core::ops::FnMut(&'static str, f64),
            ) {
                let $it = self;
                let _ = $now;
                $($common)*
                $(out(::core::stringify!($name), $crate::Reported::reported($value));)*
            }
        }
    };
}

/// The methods of [`crate::Qdisc`] that are alike in every discipline with a [`crate::QdiscCounters`] in its field `tally` and
/// the rows of [`crate::report!`]: its statistics and gauges, and `backlog`, from a field or a field's method
/// (`reports!(ring.backlog())`).
#[macro_export]
macro_rules! reports {
    () => {
        fn stats(&self) -> $crate::Stats {
            self.tally.stats(self.backlog(), self.counted())
        }

        fn gauges(
            &self,
            now: $crate::report::Time,
            out: &mut dyn ::core::ops::FnMut(&'static str, f64),
        ) {
            self.gauged(now, out);
        }
    };
    ($($held:tt)+) => {
        #[inline]
        fn backlog(&self) -> $crate::Backlog {
            self.$($held)+
        }

        $crate::reports!();
    };
}

/// The rows that a discipline has for each of its classes, all alike: the name of each begins with the class's prefix.
/// Otherwise as [`crate::report!`].
///
/// The classes come in the order of the report; each gives its state, or `None` if the class is not there. The counters
/// of the whole come first. `where` computes once per class the values that several rows need.
macro_rules! report_classes {
    (
        impl[$($generics:tt)*] $type:ty, $it:ident;
        counters {
            $($whole:ident: $unit:ident, line $line:literal, $shown:ident, $doc:literal
                => $value:expr;)*
        }
        each $class:ident of { $($prefix:literal, line $at:literal => $which:expr;)* }
        where { $($common:tt)* }
        { $($rows:tt)* }
    ) => {
        /// Its statistics, in tc's order.
        const COUNTERS: &[$crate::table::Counter] = $crate::report::report_classes! {
            @counters [$($prefix, $at;)*] [$(
                $crate::table::Counter {
                    name: stringify!($whole),
                    unit: $crate::table::Unit::$unit,
                    line: $line,
                    shown: $crate::table::Shown::$shown,
                    doc: $doc,
                },
            )*] $($rows)*
        };

        impl<$($generics)*> $type {
            /// The values of [`COUNTERS`].
            fn counted(&self) -> Vec<(&'static str, f64)> {
                let $it = self;
                let mut own = vec![$((stringify!($whole), $crate::Reported::reported($value)),)*];
                let mut tell = |name, value| own.push((name, value));
                $crate::report::report_classes! {
                    @tell tell $class [$($prefix => $which;)*] { $($common)* } $($rows)*
                }
                own
            }
        }
    };
    (
        impl[$($generics:tt)*] $type:ty, $it:ident at $now:ident;
        each $class:ident of { $($prefix:literal => $which:expr;)* }
        gauges where { $($common:tt)* }
        { $($rows:tt)* }
    ) => {
        /// The gauges of its state.
        const GAUGES: &[$crate::table::Gauge] =
            $crate::report::report_classes!(@gauges [$($prefix)*] [] $($rows)*);

        impl<$($generics)*> $type {
            /// Tells the values of [`GAUGES`].
            fn gauged(&self, $now: sojourn_units::Time, out: &mut dyn FnMut(&'static str, f64)) {
                let $it = self;
                $crate::report::report_classes! {
                    @tell out $class [$($prefix => $which;)*] { $($common)* } $($rows)*
                }
            }
        }
    };
    // Class by class: rows that are written, and behind them those that are to be.
    (@counters [] [$($done:tt)*] $($rows:tt)*) => { &[$($done)*] };
    (
        @counters [$prefix:literal, $at:literal; $($more:tt)*] [$($done:tt)*]
        $($name:ident: $unit:ident, $doc:literal => $value:expr;)*
    ) => {
        $crate::report::report_classes! {
            @counters [$($more)*] [$($done)* $(
                $crate::table::Counter {
                    name: concat!($prefix, stringify!($name)),
                    unit: $crate::table::Unit::$unit,
                    line: $at,
                    shown: $crate::table::Shown::Always,
                    doc: $doc,
                },
            )*] $($name: $unit, $doc => $value;)*
        }
    };
    (@gauges [] [$($done:tt)*] $($rows:tt)*) => { &[$($done)*] };
    (
        @gauges [$prefix:literal $($more:literal)*] [$($done:tt)*]
        $($name:ident: $unit:ident, $doc:literal => $value:expr;)*
    ) => {
        $crate::report::report_classes! {
            @gauges [$($more)*] [$($done)* $(
                $crate::table::Gauge {
                    name: concat!($prefix, stringify!($name)),
                    unit: $crate::table::Unit::$unit,
                    doc: $doc,
                },
            )*] $($name: $unit, $doc => $value;)*
        }
    };
    (@tell $tell:ident $class:ident [] $($rest:tt)*) => {};
    (
        @tell $tell:ident $class:ident [$prefix:literal => $which:expr; $($more:tt)*]
        { $($common:tt)* } $($name:ident: $unit:ident, $doc:literal => $value:expr;)*
    ) => {
        if let Some($class) = $which {
            $($common)*
            $($tell(concat!($prefix, stringify!($name)), $crate::Reported::reported($value));)*
        }
        $crate::report::report_classes! {
            @tell $tell $class [$($more)*] { $($common)* } $($name: $unit, $doc => $value;)*
        }
    };
}
pub(crate) use report_classes;
