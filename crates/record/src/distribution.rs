//! Distributions of times. A packet is written to several of them.
//!
//! The buckets are those of an HDR histogram of two significant figures, as the library of that name has it: a relative
//! error of at most 1 %. They are known beforehand, and so the place of a time is two shifts, which is why this is ours.
//!
//! Invariant: only pages of buckets that a time has come to are there. A thousand flows with delays of a few
//! milliseconds have a kilobyte each and not all of a histogram's twenty.

use sojourn_units::Span;

/// Every power of two has this many buckets: 1/128 of their value at most. Below twice as many nanoseconds a bucket is
/// one of them.
const PARTS: usize = 128;

/// At least as many as there are pages; a power of two, so that no check is needed.
const PAGES: usize = 64;

/// The number of a page that is not there.
const NONE: u8 = u8::MAX;

/// A distribution.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// For each run of `PARTS` buckets, which of the pages it has.
    place: [u8; PAGES],
    /// Counts, in the order in which a time first came to a page.
    pages: Vec<[u32; PARTS]>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// Empty.
    pub const fn new() -> Self {
        Self { place: [NONE; PAGES], pages: Vec::new() }
    }

    /// Adds a time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let bucket = bucket_of(span.as_nanos());
        let page = self.place[bucket / PARTS % PAGES];
        let page = match self.pages.get_mut(usize::from(page)) {
            Some(page) => page,
            None => self.page(bucket),
        };
        let count = &mut page[bucket % PARTS];
        *count = count.saturating_add(1);
    }

    /// A bucket's page, which comes into being.
    #[cold]
    #[inline(never)]
    fn page(&mut self, bucket: usize) -> &mut [u32; PARTS] {
        let place = &mut self.place[bucket / PARTS % PAGES];
        if usize::from(*place) >= self.pages.len() {
            *place = self.pages.len() as u8;
            // Most have one or two.
            self.pages.reserve_exact(1);
            self.pages.push([0; PARTS]);
        }
        &mut self.pages[usize::from(*place)]
    }

    /// Pages in the order of their buckets: the first bucket, and counts.
    fn in_order(&self) -> impl Iterator<Item = (usize, &[u32; PARTS])> {
        let pages =
            |(run, &page): (usize, &u8)| Some((run * PARTS, self.pages.get(usize::from(page))?));
        self.place.iter().enumerate().filter_map(pages)
    }

    /// Adds the times of another.
    pub fn join(&mut self, other: &Self) {
        for (first, theirs) in other.in_order() {
            let own = self.page(first);
            for (own, theirs) in own.iter_mut().zip(theirs) {
                *own = own.saturating_add(*theirs);
            }
        }
    }

    /// Whether there is no time in it.
    pub fn is_empty(&self) -> bool {
        self.pages.iter().flatten().all(|count| *count == 0)
    }

    /// Takes all times out; the room stays.
    pub fn clear(&mut self) {
        self.pages.fill([0; PARTS]);
    }

    /// Buckets in order: from, up to (not included), how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.in_order().flat_map(|(first, page)| {
            let filled = page.iter().enumerate().filter(|(_, count)| **count > 0);
            filled.map(move |(place, count)| {
                let (low, high) = bounds_of(first + place);
                (low, high, u64::from(*count))
            })
        })
    }
}

/// The bucket of a number of nanoseconds.
#[inline]
fn bucket_of(nanos: u64) -> usize {
    let finest = 2 * PARTS as u64 - 1;
    let power = finest.leading_zeros() - (nanos | finest).leading_zeros();
    power as usize * PARTS + (nanos >> power) as usize
}

/// The least number of nanoseconds of a bucket, and the least of the next.
fn bounds_of(bucket: usize) -> (u64, u64) {
    let power = (bucket / PARTS).saturating_sub(1);
    let part = (bucket - power * PARTS) as u64;
    (part << power, (part << power).saturating_add(1 << power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theirs() -> hdrhistogram::Histogram<u32> {
        hdrhistogram::Histogram::new(2).unwrap()
    }

    /// The buckets that the library has.
    fn recorded(theirs: &hdrhistogram::Histogram<u32>) -> Vec<(u64, u64, u64)> {
        theirs
            .iter_recorded()
            .map(|b| {
                let at = b.value_iterated_to();
                let (low, high) = (theirs.lowest_equivalent(at), theirs.next_non_equivalent(at));
                (low, high, u64::from(b.count_at_value()))
            })
            .collect()
    }

    /// Every edge of buckets up to ten hours, and what lies about it, highest first: pages come in another order than
    /// their buckets.
    fn times() -> impl Iterator<Item = u64> {
        let around = |p: u32| [(1 << p) - 1, 1 << p, (1 << p) + (1 << p) / 3];
        (0..45).rev().flat_map(around).chain(0..2_000)
    }

    /// The buckets are those of the library of HDR histograms, which the tables had before.
    #[test]
    fn buckets_are_those_of_an_hdr_histogram_of_two_figures() {
        let (mut ours, mut theirs) = (Distribution::new(), theirs());
        for nanos in times() {
            theirs.record(nanos).unwrap();
            ours.add(Span::from_nanos(nanos));
        }
        assert_eq!(ours.buckets().collect::<Vec<_>>(), recorded(&theirs));
        ours.clear();
        assert!(ours.is_empty() && ours.buckets().next().is_none());
    }

    /// Two with different pages add up to what one of all times is, whichever is added to which.
    #[test]
    fn joined_they_are_one_of_all_times() {
        let (mut all, mut low, mut high) = (theirs(), Distribution::new(), Distribution::new());
        for nanos in times() {
            all.record(nanos).unwrap();
            if nanos < 1_000 { &mut low } else { &mut high }.add(Span::from_nanos(nanos));
        }
        let mut joined = Distribution::new();
        for part in [&high, &low] {
            joined.join(part);
        }
        low.join(&high);
        for sum in [joined, low] {
            assert_eq!(sum.buckets().collect::<Vec<_>>(), recorded(&all));
        }
    }

    /// The longest time there is has a bucket.
    #[test]
    fn nothing_is_too_long() {
        let mut d = Distribution::new();
        d.add(Span::from_nanos(u64::MAX));
        assert_eq!(d.buckets().collect::<Vec<_>>(), [(255 << 56, u64::MAX, 1)]);
    }

    /// A distribution's memory grows with the times that it has seen.
    #[test]
    fn only_pages_that_a_time_came_to_are_there() {
        let mut d = Distribution::new();
        for micros in 4_200..8_300 {
            d.add(Span::from_micros(micros));
        }
        d.add(Span::ZERO);
        assert_eq!(d.pages.len(), 2);
    }
}
