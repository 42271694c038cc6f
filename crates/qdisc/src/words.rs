//! tc's words: a text cut at white space, each word with its place, and the error that points at one.
//!
//! Everything that configures a queue (command line, experiment file, batch import, change at run time) hands
//! over such a text. Reading stops at the first mistake, and the error has the place of the word in the text that the
//! user wrote, so that whoever embeds the text can underline it.

use crate::Discipline;
use core::fmt;
use core::ops::Range;
use sojourn_units::{
    ParseError, Rate, Span, parse_probability, parse_rate, parse_size, parse_span,
};

/// What was wrong with a text of tc's words, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TcError {
    /// The whole text.
    pub text: String,
    /// The bytes of `text` that the message is about; empty at the end when a word is missing.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What would be right, if there is something to say.
    pub help: Option<String>,
}

impl TcError {
    /// The text with the word underlined: two lines, for a terminal.
    pub fn pointer(&self) -> String {
        let before = self.text[..self.at.start].chars().count();
        let under = self.text[self.at.clone()].chars().count().max(1);
        format!("{}\n{}{}", self.text, " ".repeat(before), "^".repeat(under))
    }
}

impl fmt::Display for TcError {
    /// Message and help on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.iter().try_for_each(|help| write!(f, "; {help}"))
    }
}

impl core::error::Error for TcError {}

/// One word and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word<'a> {
    /// The word as written.
    pub text: &'a str,
    /// Its bytes in the whole text.
    pub at: Range<usize>,
}

/// A cursor over the words of a text.
#[derive(Clone, Debug)]
pub struct TcTokens<'a> {
    text: &'a str,
    /// What may stand where a child may follow.
    children: &'a [&'static Discipline],
    /// Where the next word is looked for.
    from: usize,
    depth: u8,
}

impl<'a> TcTokens<'a> {
    /// Before the first word of `text`, in which no child can follow; see [`crate::Registry::words`].
    pub const fn new(text: &'a str) -> Self {
        Self::with_children(text, &[])
    }

    /// Before the first word of `text`, in which these may be children.
    pub(crate) const fn with_children(text: &'a str, children: &'a [&'static Discipline]) -> Self {
        Self { text, children, from: 0, depth: 0 }
    }

    /// The disciplines that may stand where a child may follow.
    pub const fn children(&self) -> &'a [&'static Discipline] {
        self.children
    }

    /// The whole text.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// How far has been read, in bytes of the text.
    pub const fn position(&self) -> usize {
        self.from
    }

    /// The next word, which stays where it is.
    pub fn peek(&self) -> Option<Word<'a>> {
        let rest = &self.text[self.from..];
        let start = self.from + rest.find(|c: char| !c.is_whitespace())?;
        let word = self.text[start..].split(char::is_whitespace).next()?;
        Some(Word { text: word, at: start..start + word.len() })
    }

    /// Steps over the next word and gives it.
    pub fn take(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.from = word.at.end;
        Some(word)
    }

    /// Steps over the next word if it is `keyword`.
    pub fn keyword(&mut self, keyword: &str) -> bool {
        let is = self.peek().is_some_and(|word| word.text == keyword);
        if is {
            self.take();
        }
        is
    }

    /// Whether the next word begins as a number does; tc's test for values that may be left out.
    pub fn number_follows(&self) -> bool {
        self.peek().is_some_and(|w| w.text.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    }

    /// Counts one discipline more inside another, and says whether that is still few enough to be meant.
    pub(crate) const fn descend(&mut self) -> bool {
        self.depth += 1;
        self.depth <= 8
    }

    /// An error about the bytes `at`.
    pub fn error(&self, at: Range<usize>, message: String, help: Option<String>) -> TcError {
        TcError { text: self.text.to_owned(), at, message, help }
    }

    /// The next word as a value of the option `of`, or an error that says what is missing.
    pub fn value(&mut self, of: &str, what: &str) -> Result<Word<'a>, TcError> {
        let end = self.text.len();
        self.take().ok_or_else(|| {
            self.error(end..end, format!("\"{of}\" needs a value"), Some(format!("write {what}")))
        })
    }

    fn quantity<Q>(
        &mut self,
        of: &str,
        what: &str,
        parse: impl Fn(&str) -> Result<Q, ParseError>,
    ) -> Result<(Q, Word<'a>), TcError> {
        let word = self.value(of, what)?;
        let value = parse(word.text).map_err(|error| {
            let error = error.to_string();
            // The quantity's own message ends with an example; ours is more exact.
            let message = error.split_once("; ").map_or(error.as_str(), |(message, _)| message);
            self.error(
                word.at.clone(),
                format!("\"{of}\": {message}"),
                Some(format!("write {what}")),
            )
        })?;
        Ok((value, word))
    }

    /// A length of time; bare numbers are microseconds (tc's `get_time`).
    pub fn span(&mut self, of: &str, what: &str) -> Result<(Span, Word<'a>), TcError> {
        self.quantity(of, what, parse_span)
    }

    /// A rate; bare numbers are bits per second (tc's `get_rate`).
    pub fn rate(&mut self, of: &str, what: &str) -> Result<(Rate, Word<'a>), TcError> {
        self.quantity(of, what, parse_rate)
    }

    /// A number of bytes (tc's `get_size`).
    pub fn size(&mut self, of: &str, what: &str) -> Result<(u64, Word<'a>), TcError> {
        self.quantity(of, what, parse_size)
    }

    /// A percentage; a bare number is per cent too (tc's `get_percent`: `loss 1` loses one packet in a hundred).
    pub fn percent(&mut self, of: &str, what: &str) -> Result<(f64, Word<'a>), TcError> {
        self.quantity(of, what, |text| {
            if text.ends_with('%') {
                parse_probability(text)
            } else {
                parse_probability(&format!("{text}%"))
            }
        })
    }

    /// A whole number, decimal or with `0x` or a leading `0` in the C way (tc's `get_unsigned` with base 0).
    pub fn count(&mut self, of: &str, what: &str) -> Result<(u64, Word<'a>), TcError> {
        let word = self.value(of, what)?;
        let value = c_number(word.text).ok_or_else(|| {
            let message = format!("\"{of}\": \"{}\" is not a whole number", word.text);
            self.error(word.at.clone(), message, Some(format!("write {what}")))
        })?;
        Ok((value, word))
    }

    /// A number with decimals (C's `strtod`, without its names for infinity).
    pub fn real(&mut self, of: &str, what: &str) -> Result<(f64, Word<'a>), TcError> {
        let word = self.value(of, what)?;
        let number =
            word.text.parse().ok().filter(|_| word.text.contains(|c: char| c.is_ascii_digit()));
        let number = number.ok_or_else(|| {
            let message = format!("\"{of}\": \"{}\" is not a number", word.text);
            self.error(word.at.clone(), message, Some(format!("write {what}")))
        })?;
        Ok((number, word))
    }

    /// Steps over the next word if it is a number of packets, such as `5p`, and gives it.
    pub(crate) fn packets(&mut self) -> Option<u32> {
        let word = self.peek()?;
        let unit = word.text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &word.text[..word.text.len() - unit.len()];
        let packets = digits.parse().ok().filter(|&n: &u32| n > 0)?;
        if !["p", "pkt", "pkts", "packet", "packets"].contains(&unit) {
            return None;
        }
        self.take();
        Some(packets)
    }

    /// Two whole numbers below 256 with a slash between, as `0x1/0x3`.
    pub fn masked(&mut self, of: &str, what: &str) -> Result<((u8, u8), Word<'a>), TcError> {
        let word = self.value(of, what)?;
        let byte = |text| c_number(text).and_then(|n| u8::try_from(n).ok());
        let pair =
            word.text.split_once('/').and_then(|(value, mask)| Some((byte(value)?, byte(mask)?)));
        let pair = pair.ok_or_else(|| {
            let message = format!("\"{of}\": \"{}\" is not a value and a mask", word.text);
            self.error(word.at.clone(), message, Some(format!("write {what}")))
        })?;
        Ok((pair, word))
    }
}

/// A number as C's `strtoul` reads it with base 0.
fn c_number(text: &str) -> Option<u64> {
    let digits = |text: &str, radix| {
        // `from_str_radix` would take a sign.
        text.starts_with(|c: char| c.is_digit(radix))
            .then(|| u64::from_str_radix(text, radix).ok())?
    };
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => digits(hex, 16),
        None if text.len() > 1 && text.starts_with('0') => digits(&text[1..], 8),
        None => digits(text, 10),
    }
}

/// The candidate that `word` was most likely meant to be, if any is near enough to be worth a guess.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    candidates
        .map(|c| (strsim::damerau_levenshtein(word, c), c))
        // A third of the letters may be wrong; an abbreviation, which tc itself would take, is near.
        .filter(|&(distance, c)| {
            distance * 3 <= c.len().max(3) || (word.len() >= 2 && c.starts_with(word))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, c)| c)
}
