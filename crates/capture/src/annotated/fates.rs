//! The fate of each packet at a queue, inferred from the captures of its two sides.
//!
//! A packet that did not come out was dropped if a later one of its flow did: a flow is not reordered in a queue. If
//! none did, it may still wait when the capture ends, and counts only as not seen.

use super::identity::Seen;
use crate::Point;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// What became of a packet at a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It came out, so much later; with the ECN field that it went in and came out with.
    Passed { waited: Duration, ecn: [u8; 2], is_out: bool },
    /// It went in and did not come out, and later ones of its flow did.
    Dropped,
    /// It went in, and neither it nor a later one of its flow came out.
    Unseen,
}

/// The fate of each packet that is seen left and right of a queue.
pub(super) fn fates_of(left: &[Seen], right: &[Seen]) -> [Vec<Option<Fate>>; 2] {
    let mut fates = [vec![None; left.len()], vec![None; right.len()]];
    let ways = Ways::of(left, right);
    // Copies that went in and did not come out yet, in their order.
    let mut inside: HashMap<&[u8], VecDeque<usize>> = HashMap::new();
    // Of each flow, the last packet that came out, by its number where it went in.
    let mut passed: HashMap<&[u8], usize> = HashMap::new();
    let sides = [left, right];
    let mut next = [0, 0];
    while let Some(side) = earlier(&sides, next, &ways) {
        let number = next[side];
        next[side] += 1;
        let packet = &sides[side][number];
        if ways.enters(packet) == side {
            inside.entry(&packet.key).or_default().push_back(number);
            continue;
        }
        let Some(first) = inside.get_mut(packet.key.as_slice()).and_then(VecDeque::pop_front)
        else {
            continue;
        };
        let went = &sides[1 - side][first];
        let waited = packet.at.saturating_sub(went.at);
        let ecn = [went.ecn, packet.ecn];
        fates[1 - side][first] = Some(Fate::Passed { waited, ecn, is_out: false });
        fates[side][number] = Some(Fate::Passed { waited, ecn, is_out: true });
        let last = passed.entry(&packet.flow).or_default();
        *last = (*last).max(first);
    }
    for (key, numbers) in inside {
        for number in numbers {
            let side = usize::from(left.get(number).is_none_or(|p| p.key != key));
            let is_dropped = passed.get(sides[side][number].flow.as_slice()) > Some(&number);
            fates[side][number] = Some(if is_dropped { Fate::Dropped } else { Fate::Unseen });
        }
    }
    fates
}

/// At which side packets from each address go in.
///
/// A packet that does not wait is seen at both at the same time: those that wait tell the way.
struct Ways<'a>(HashMap<&'a [u8], i64>);

impl<'a> Ways<'a> {
    fn of(left: &'a [Seen], right: &'a [Seen]) -> Self {
        let first: HashMap<&[u8], Duration> =
            left.iter().rev().map(|packet| (packet.key.as_slice(), packet.at)).collect();
        let mut votes: HashMap<&[u8], i64> = HashMap::new();
        for packet in right {
            if let Some(at) = first.get(packet.key.as_slice()) {
                let vote = votes.entry(&packet.source).or_default();
                *vote += i64::from(*at < packet.at) - i64::from(packet.at < *at);
            }
        }
        Self(votes)
    }

    /// The side, left (0) or right (1); left if nobody knows.
    fn enters(&self, packet: &Seen) -> usize {
        usize::from(self.0.get(packet.source.as_slice()).is_some_and(|vote| *vote < 0))
    }
}

/// Which side's next packet is the earlier one; of two at the same time, one that goes in.
fn earlier(sides: &[&[Seen]; 2], next: [usize; 2], ways: &Ways<'_>) -> Option<usize> {
    match (sides[0].get(next[0]), sides[1].get(next[1])) {
        (Some(left), Some(right)) if left.at == right.at => {
            Some(usize::from(ways.enters(left) == 1))
        }
        (Some(left), Some(right)) => Some(usize::from(right.at < left.at)),
        (Some(_), None) => Some(0),
        (None, Some(_)) => Some(1),
        (None, None) => None,
    }
}

impl Fate {
    /// The comments on it at this side of the queue.
    pub(super) fn comments(&self, point: &Point) -> Vec<String> {
        let (Point::Left(hop) | Point::Right(hop)) = point else { return Vec::new() };
        let is_left = matches!(point, Point::Left(_));
        let is_out = matches!(self, Self::Passed { is_out: true, .. });
        let queue = format!("{hop} {}", if is_left == is_out { "up" } else { "down" });
        match self {
            Self::Dropped => vec![format!("dropped in {queue}")],
            Self::Unseen => vec![format!("not seen to leave {queue}")],
            Self::Passed { waited, ecn: [before, after], .. } => {
                let mut said = Vec::new();
                if before != after {
                    let [before, after] = [before, after].map(|ecn| ECN[usize::from(*ecn)]);
                    said.push(format!("marked in {queue}: {before} to {after}"));
                }
                if is_out {
                    let micros = waited.as_nanos() / 1000;
                    said.push(format!(
                        "waited {}.{:03} ms in {queue}",
                        micros / 1000,
                        micros % 1000
                    ));
                }
                said
            }
        }
    }
}

/// By the field's value (RFC 3168 §5).
const ECN: [&str; 4] = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
