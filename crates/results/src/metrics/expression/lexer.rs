//! Words, numbers with units, and signs.

use crate::metrics::Unit;
use core::ops::Range;
use sojourn_model::WordError;
use sojourn_units::{parse_rate, parse_size, parse_span};

/// A token with its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// A name or a word of the language; in quotes never the latter.
    Word { text: String, quoted: bool },
    /// A number in base units.
    Number(f64, Unit),
    /// `( ) , + - * / < <= > >= == !=`
    Sign(&'static str),
}

const SIGNS: &[&str] = &["<=", ">=", "==", "!=", "(", ")", ",", "+", "-", "*", "/", "<", ">", "="];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, WordError> {
    let mut tokens = Vec::new();
    let mut i = 0;
    while let Some(c) = text[i..].chars().next() {
        let wrong =
            |at: Range<usize>, message: String| Err(WordError { at, message, help: String::new() });
        if c.is_whitespace() {
            i += c.len_utf8();
        } else if c == '"' {
            let Some(length) = text[i + 1..].find('"') else {
                return wrong(i..text.len(), "a quote without its end".to_owned());
            };
            let name = text[i + 1..i + 1 + length].to_owned();
            let end = i + length + 2;
            tokens.push(Token { kind: Kind::Word { text: name, quoted: true }, at: i..end });
            i = end;
        } else if c.is_ascii_digit() || c == '.' {
            let end = i + number_length(&text[i..]);
            let word = &text[i..end];
            let Some((value, unit)) = number(word) else {
                return wrong(i..end, format!("\"{word}\" is not a number with a unit"));
            };
            tokens.push(Token { kind: Kind::Number(value, unit), at: i..end });
            i = end;
        } else if c.is_alphabetic() || c == '_' {
            let end = i + text[i..]
                .find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c)))
                .unwrap_or(text.len() - i);
            let word = text[i..end].to_owned();
            tokens.push(Token { kind: Kind::Word { text: word, quoted: false }, at: i..end });
            i = end;
        } else if let Some(sign) = SIGNS.iter().find(|s| text[i..].starts_with(**s)) {
            let sign = if *sign == "=" { "==" } else { sign };
            let length = if text[i..].starts_with(sign) { sign.len() } else { 1 };
            tokens.push(Token { kind: Kind::Sign(sign), at: i..i + length });
            i += length;
        } else if let ('{', Some(length)) = (c, text[i..].find('}')) {
            let at = i..i + length + 1;
            let message = format!("{} stands for nothing here", &text[at.clone()]);
            let help = "in tables and figures {flow} stands for each flow that carries data, {queue} for the bottleneck";
            return Err(WordError { at, message, help: help.to_owned() });
        } else {
            return wrong(i..i + c.len_utf8(), format!("\"{c}\" has no meaning here"));
        }
    }
    Ok(tokens)
}

/// How long a number with its unit is: digits, an exponent, letters, `%`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let exponent_sign = matches!(bytes[end], b'-' | b'+')
            && end > 0
            && matches!(bytes[end - 1], b'e' | b'E')
            && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
            && bytes[..end - 1].iter().all(|b| b.is_ascii_digit() || *b == b'.');
        if !(bytes[end].is_ascii_alphanumeric()
            || matches!(bytes[end], b'.' | b'%')
            || exponent_sign)
        {
            break;
        }
        end += 1;
    }
    end.max(1)
}

fn number(word: &str) -> Option<(f64, Unit)> {
    if let Ok(plain) = word.parse::<f64>() {
        return plain.is_finite().then_some((plain, Unit::One));
    }
    if let Some(percent) = word.strip_suffix('%') {
        return percent.parse::<f64>().ok().map(|p| (p / 100.0, Unit::One));
    }
    if let Ok(span) = parse_span(word) {
        return Some((span.as_nanos() as f64 / 1e9, Unit::Seconds));
    }
    let is_rate = word.ends_with("bit") || word.ends_with("bps");
    if is_rate {
        return parse_rate(word).ok().map(|r| (r.bits_per_sec() as f64, Unit::BitsPerSecond));
    }
    parse_size(word).ok().map(|n| (n as f64, Unit::Bytes))
}
