//! Bytes that a sender has requested from the scheduler of its link, and that it has not got yet.

use std::collections::VecDeque;

/// Requests on their way, with the time or the interval of their arrival, and the bytes that the scheduler owes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Requests {
    on_way: VecDeque<(u64, u64)>,
    owed: u64,
}

impl Requests {
    /// Sends a request that arrives then. One of no bytes is none.
    pub(crate) fn send(&mut self, arrival: u64, bytes: u64) {
        if bytes > 0 {
            self.on_way.push_back((arrival, bytes));
        }
    }

    /// The scheduler reads the requests that have arrived by then.
    pub(crate) fn arrive(&mut self, until: u64) {
        while let Some(&(_, bytes)) = self.on_way.front().filter(|(arrival, _)| *arrival <= until) {
            self.owed += bytes;
            self.on_way.pop_front();
        }
    }

    /// The scheduler grants up to this many bytes. Returns how many of them answer requests.
    pub(crate) fn answer(&mut self, bytes: u64) -> u64 {
        let answers = self.owed.min(bytes);
        self.owed -= answers;
        answers
    }

    /// Bytes that the scheduler owes.
    pub(crate) const fn owed(&self) -> u64 {
        self.owed
    }

    /// Bytes on their way to the scheduler or owed by it.
    pub(crate) fn outstanding(&self) -> u64 {
        self.owed + self.on_way.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_on_its_way_then_owed_then_answered() {
        let mut requests = Requests::default();
        requests.send(5, 100);
        requests.send(7, 0);
        requests.send(9, 50);
        assert_eq!((requests.owed(), requests.outstanding()), (0, 150));
        requests.arrive(5);
        assert_eq!((requests.owed(), requests.outstanding()), (100, 150));
        assert_eq!((requests.answer(60), requests.outstanding()), (60, 90));
        requests.arrive(20);
        assert_eq!((requests.answer(1000), requests.outstanding()), (90, 0));
    }
}
