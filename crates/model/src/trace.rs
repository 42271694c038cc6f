//! When a link can send: a recording of a cellular link, or one that was made up, as Mahimahi replays it (`mm-link`, NSDI 2013's
//! traces; Netravali et al., ATC 2015).
//!
//! A trace is a list of milliseconds. At each there is one chance to deliver 1504 bytes: an IP packet of 1500 and the four bytes
//! of the tunnel's header that Mahimahi counts. Two equal lines are two chances. After the last line the trace starts
//! over, counted from it.
//!
//! Invariants: there is a chance; times do not run back; the last is not zero, or the trace would never end.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sojourn_units::Rate;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// What a chance delivers, bytes.
pub const CHANCE: u32 = 1504;
/// Bytes that Mahimahi counts for a packet on top of its IP packet.
pub const TUNNEL_HEADER: u32 = 4;
/// The most chances of a trace: at 100 Mbit/s ten minutes.
pub const MOST_CHANCES: usize = 5_000_000;
/// A full packet as queues count it: IP packet and Ethernet header.
const FULL: u64 = 1514;

/// Chances to deliver, in milliseconds from the beginning of the run; shared by whoever replays them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryTrace(Arc<[u32]>);

/// What is wrong with a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// In which line, from 1 on; `None` of the whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

fn whole(message: &str) -> TraceError {
    TraceError { line: None, message: message.to_owned() }
}

impl DeliveryTrace {
    /// Chances at these milliseconds, which do not run back.
    ///
    /// # Errors
    /// What is wrong, and with which of them (from 1 on).
    pub fn new(chances: Vec<u32>) -> Result<Self, TraceError> {
        if chances.len() > MOST_CHANCES {
            return Err(whole(&format!("more than {MOST_CHANCES} chances")));
        }
        if let Some(place) = chances.windows(2).position(|pair| pair[1] < pair[0]) {
            let (at, before) = (chances[place + 1], chances[place]);
            let message = format!("{at} ms comes after {before} ms: times do not run back");
            return Err(TraceError { line: Some(place + 2), message });
        }
        match chances.last() {
            None => Err(whole("it has no chance to deliver anything")),
            Some(0) => Err(whole("its last chance is at 0 ms, so that it would never end")),
            Some(_) => Ok(Self(chances.into())),
        }
    }

    /// Reads Mahimahi's file: a whole number of milliseconds a line.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut chances = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let word = line.trim();
            let chance = word.parse().map_err(|_| {
                let shown: String = word.chars().take(20).collect();
                let message =
                    format!("\"{shown}\" is no time; write whole milliseconds, such as 1200");
                TraceError { line: Some(number + 1), message }
            })?;
            if chances.len() == MOST_CHANCES {
                return Err(whole(&format!("more than {MOST_CHANCES} lines")));
            }
            chances.push(chance);
        }
        Self::new(chances)
    }

    /// Its chances, milliseconds.
    pub fn chances(&self) -> &[u32] {
        &self.0
    }

    /// After how many milliseconds it starts over.
    pub fn period_ms(&self) -> u32 {
        self.0.last().copied().unwrap_or(1).max(1)
    }

    /// How many chances there were after `ms` milliseconds, those of the last one included.
    pub fn chances_until(&self, ms: u64) -> u64 {
        let period = u64::from(self.period_ms());
        let within = self.0.partition_point(|&chance| u64::from(chance) <= ms % period);
        ms / period * self.0.len() as u64 + within as u64
    }

    /// What full packets can be sent between two moments, milliseconds from the beginning of the run, as queues count bits.
    pub fn bits_between(&self, from: u64, to: u64) -> u64 {
        (self.chances_until(to) - self.chances_until(from.min(to))) * FULL * 8
    }

    /// What it delivers in the mean, as queues count full packets; at least 8 bit/s.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.0.len() as u128 * u128::from(FULL) * 8 * 1000;
        let rate = bits / u128::from(self.period_ms());
        Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX).max(8))
    }
}

/// Written by the time from one chance to the next, and how many there are at once: `1x2 1 3x4`. A tenth of the file.
impl Serialize for DeliveryTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        let mut before = 0;
        for together in self.0.chunk_by(|a, b| a == b) {
            let gap = together[0] - before;
            before = together[0];
            let space = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{space}{gap}");
            if together.len() > 1 {
                let _ = write!(text, "x{}", together.len());
            }
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for DeliveryTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = |word: &str| de::Error::custom(format!("\"{word}\" is no step of a trace"));
        let (mut chances, mut at) = (Vec::new(), 0_u32);
        for word in text.split_whitespace() {
            let (gap, count) = word.split_once('x').unwrap_or((word, "1"));
            let gap: u32 = gap.parse().map_err(|_| wrong(word))?;
            let count: usize = count.parse().map_err(|_| wrong(word))?;
            at = at.checked_add(gap).ok_or_else(|| wrong(word))?;
            if count > MOST_CHANCES - chances.len() {
                return Err(de::Error::custom(format!("more than {MOST_CHANCES} chances")));
            }
            chances.extend(std::iter::repeat_n(at, count));
        }
        Self::new(chances).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_its_steps_are_written() {
        let trace = DeliveryTrace::parse("0\n0\n3\n4\n4\n4\n10\n").unwrap();
        assert_eq!(trace.chances(), [0, 0, 3, 4, 4, 4, 10]);
        let text = serde_json::to_string(&trace).unwrap();
        assert_eq!(text, "\"0x2 3 1x3 6\"");
        assert_eq!(serde_json::from_str::<DeliveryTrace>(&text).unwrap(), trace);
        // Seven packets of 1514 bytes in 10 ms.
        assert_eq!(trace.mean_rate().bits_per_sec(), 7 * 1514 * 8 * 100);
        // By hand: at 0, 0, 3, 4, 4, 4, 10 and again 10, 10, 13, ...
        let until = [(0, 2), (2, 2), (3, 3), (4, 6), (9, 6), (10, 9), (13, 10), (20, 16)];
        assert!(until.iter().all(|&(ms, chances)| trace.chances_until(ms) == chances));
        assert_eq!(trace.bits_between(3, 10), 6 * 1514 * 8);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let says = |text: &str| DeliveryTrace::parse(text).unwrap_err().to_string();
        assert_eq!(says("1\n2\n1\n"), "line 3: 1 ms comes after 2 ms: times do not run back");
        assert!(says("1\n\n2\n").starts_with("line 2: \"\" is no time"));
        assert!(says("1\n2.5\n").starts_with("line 2: \"2.5\" is no time"));
        assert!(says("-1\n").starts_with("line 1: \"-1\" is no time"));
        assert!(says("99999999999\n").starts_with("line 1: "));
        assert_eq!(says(""), "it has no chance to deliver anything");
        assert_eq!(says("0\n0\n"), "its last chance is at 0 ms, so that it would never end");
    }

    #[test]
    fn damaged_steps_are_refused() {
        for text in
            ["\"1x\"", "\"x2\"", "\"a\"", "\"1x99999999999\"", "\"4294967295 1\"", "\"\"", "7"]
        {
            assert!(serde_json::from_str::<DeliveryTrace>(text).is_err(), "{text}");
        }
    }
}
