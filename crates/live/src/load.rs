//! How busy the machine was, and how long a thread waited for a processor. The first line of `/proc/stat` counts the ticks of all
//! processors (proc_stat(5)); `schedstat` of a thread has its times (Documentation/scheduler/sched-stats.rst of Linux 6.18).

use sojourn_units::Span;
use std::fs;

/// Ticks of all processors.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Ticks {
    all: u64,
    idle: u64,
    /// Ticks in which the hypervisor ran something else.
    stolen: u64,
}

impl Ticks {
    /// Until now; none where the file is hidden.
    pub(crate) fn now() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn read(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // The guests' use is in user time, too.
        let fields: Option<Vec<u64>> =
            line.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
        let fields = fields?;
        let of = |place: usize| fields.get(place).copied().unwrap_or(0);
        Some(Self { all: fields.iter().sum(), idle: of(3) + of(4), stolen: of(7) })
    }

    /// Shares of the time since then: busy, and stolen.
    pub(crate) fn since(self, then: Self) -> (f64, f64) {
        let of = |a: u64, b: u64| a.saturating_sub(b) as f64;
        let all = of(self.all, then.all).max(1.0);
        (1.0 - of(self.idle, then.idle) / all, of(self.stolen, then.stolen) / all)
    }
}

/// For how long the calling thread has run, and for how long it has waited for a processor; none where the kernel does not say.
pub(crate) fn scheduled() -> Option<[Span; 2]> {
    times(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

fn times(text: &str) -> Option<[Span; 2]> {
    let mut words = text.split_whitespace().map(str::parse);
    let mut next = || words.next()?.ok().map(Span::from_nanos);
    Some([next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_run_and_waited() {
        let read = times("370997 137287 3\n");
        assert_eq!(read, Some([Span::from_nanos(370_997), Span::from_nanos(137_287)]));
        assert_eq!((times("370997"), times("x 1 2")), (None, None));
    }

    #[test]
    fn shares_are_of_all_processors() {
        let then = Ticks::read("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n").unwrap();
        let now = Ticks::read("cpu  150 0 70 830 50 0 0 0 0 0\n").unwrap();
        assert_eq!(now.since(then), (0.7, 0.0));
        let stolen = Ticks::read("cpu  150 0 70 830 50 0 0 100 7 0").unwrap();
        assert_eq!(stolen.since(then), (0.85, 0.5));
        assert_eq!(then.since(then), (1.0, 0.0));
        assert_eq!(Ticks::read("intr 5"), None);
        assert_eq!(Ticks::read("cpu x"), None);
    }
}
