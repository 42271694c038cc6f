//! Groups of packets (draft-ietf-rmcat-gcc-02 §5.2; `InterArrivalDelta` of libwebrtc): packets that leave within 5 ms
//! are one group, and so are packets that arrive in a burst. Two groups in a row give one sample of how the path's
//! delay changes.

/// Packets that leave within this time of a group's first are of the group, milliseconds (the text's burst_time).
const GROUP_MS: f64 = 5.0;
/// A packet joins a burst if it arrives within this time of the last one, milliseconds.
const BURST_MS: f64 = 5.0;
/// A burst is shorter than this.
const LONGEST_BURST_MS: f64 = 100.0;
/// After these groups in a row that arrive before their predecessors, the grouping begins again.
const REORDERED: u32 = 3;

/// One group, times in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Group {
    first_sent: f64,
    last_sent: f64,
    first_came: f64,
    last_came: f64,
}

/// A sample: what passed between the last packets of two groups, milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Delta {
    pub(super) sent: f64,
    pub(super) came: f64,
}

/// The grouping.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl Groups {
    /// A packet left and came at these times. The sample that it completes: it begins the group after two others.
    pub(super) fn add(&mut self, sent: f64, came: f64) -> Option<Delta> {
        let fresh = Group { first_sent: sent, last_sent: sent, first_came: came, last_came: came };
        let Some(group) = &mut self.current else {
            self.current = Some(fresh);
            return None;
        };
        if sent < group.first_sent {
            return None;
        }
        if !group.is_burst(sent, came) && sent - group.first_sent > GROUP_MS {
            let done = *group;
            let delta = self.previous.map(|previous| Delta {
                sent: done.last_sent - previous.last_sent,
                came: done.last_came - previous.last_came,
            });
            if delta.is_some_and(|delta| delta.came < 0.0) {
                self.reordered += 1;
                if self.reordered >= REORDERED {
                    *self = Self::default();
                }
                return None;
            }
            if delta.is_some() {
                self.reordered = 0;
            }
            (self.previous, self.current) = (Some(done), Some(fresh));
            return delta;
        }
        group.last_sent = group.last_sent.max(sent);
        group.last_came = came;
        None
    }
}

impl Group {
    /// Whether a packet belongs to a burst that ends an outage: it gains on the group's last one, right behind it.
    fn is_burst(&self, sent: f64, came: f64) -> bool {
        let (sent, apart) = (sent - self.last_sent, came - self.last_came);
        sent == 0.0
            || (apart - sent < 0.0
                && apart <= BURST_MS
                && came - self.first_came < LONGEST_BURST_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(packets: &[(f64, f64)]) -> Vec<Option<(f64, f64)>> {
        let mut groups = Groups::default();
        let deltas = packets.iter().map(|&(sent, came)| groups.add(sent, came));
        deltas.map(|delta| delta.map(|d| (d.sent, d.came))).collect()
    }

    /// Three frames of two packets each, 33 ms apart, the second of each 2 ms behind. The second frame takes 4 ms
    /// longer. The first packet of the third frame completes the sample of the first two: 33 ms between departures, 37
    /// between arrivals.
    #[test]
    fn a_sample_is_of_the_last_packets_of_two_groups() {
        let packets = [(0.0, 20.0), (2.0, 22.0), (33.0, 57.0), (35.0, 59.0), (66.0, 90.0)];
        assert_eq!(played(&packets), [None, None, None, None, Some((33.0, 37.0))]);
    }

    /// 5 ms after the first is the same group, above that another.
    #[test]
    fn a_group_lasts_five_milliseconds() {
        let packets = [(0.0, 20.0), (5.0, 25.0), (10.1, 30.1), (20.0, 40.0)];
        assert_eq!(
            played(&packets),
            [None, None, None, Some((5.1, 5.1))].map(|d| d.map(|(s, c)| {
                let exact: (f64, f64) = (10.1 - 5.0, 30.1 - 25.0);
                assert!((exact.0 - s).abs() < 1e-9 && (exact.1 - c).abs() < 1e-9);
                exact
            }))
        );
    }

    /// An outage: packets of 60 ms arrive within 3 ms. They are one group, though they left far apart.
    #[test]
    fn a_burst_after_an_outage_is_one_group() {
        let packets = [
            (0.0, 20.0),
            (20.0, 100.0),
            (40.0, 101.5),
            (60.0, 103.0),
            (80.0, 120.0),
            (100.0, 140.0),
        ];
        assert_eq!(
            played(&packets),
            [None, None, None, None, Some((60.0, 83.0)), Some((20.0, 17.0))]
        );
    }

    /// A packet that left before the group is none of it, and three groups that arrive backwards begin everything
    /// again.
    #[test]
    fn reordered_packets_are_ignored() {
        let mut groups = Groups::default();
        for (sent, came) in [(0.0, 20.0), (20.0, 40.0), (10.0, 41.0)] {
            assert_eq!(groups.add(sent, came), None);
        }
        assert_eq!(groups.add(40.0, 60.0), Some(Delta { sent: 20.0, came: 20.0 }));
        groups.current =
            Some(Group { first_sent: 50.0, last_sent: 50.0, first_came: 10.0, last_came: 10.0 });
        for sent in [60.0, 70.0, 80.0] {
            assert_eq!(groups.add(sent, 90.0), None);
        }
        assert!(groups.current.is_none() && groups.previous.is_none());
    }
}
