//! Points in a run, as the language writes them:
//!
//! ```text
//! 24.7s                                    a time from the origin; -2s before it
//! flow NAME starts|ends [+ SPAN]           a flow, by name
//! event NAME [+ SPAN]                      another event
//! phase NAME starts|ends [+ SPAN]          a phase
//! workload ends [+ SPAN]                   everything that ends by itself has ended
//! queue PATH GAUGE >|< NUMBER [+ SPAN]     a queue's own number passes a value
//! flow NAME GAUGE >|< NUMBER [+ SPAN]      a congestion control's own number does
//! ```

use core::ops::Range;
use sojourn_model::{At, Edge, Gauge, Order, Reference, When, WordError};
use sojourn_units::{Quantity, Span, parse_span};

/// A point in a run with the place of the name in it, to be looked up by the caller.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Moment {
    pub(crate) when: When,
    /// Where in the text the name that it refers to stands.
    pub(crate) name: Range<usize>,
}

/// The words of a text with their places.
fn words(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (i, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(i),
            (true, Some(from)) => {
                words.push((from..i, &text[from..i]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

const SHAPES: &str = "write a time such as \"24.7s\", \"flow NAME starts\", \"flow NAME ends\", \"event NAME\", \
\"phase NAME starts\", \"workload ends\", \"queue PATH NUMBER > VALUE\" or \"flow NAME NUMBER < VALUE\", \
each with \"+ 5s\" after it if need be";

fn wrong(at: Range<usize>, message: impl Into<String>) -> WordError {
    WordError { at, message: message.into(), help: SHAPES.to_owned() }
}

/// Parses a point in a run.
pub(crate) fn parse(text: &str) -> Result<Moment, WordError> {
    let words = words(text);
    let end = text.len()..text.len();
    let Some((first_at, first)) = words.first().cloned() else {
        return Err(wrong(0..text.len(), "this is empty"));
    };
    if !matches!(first, "flow" | "event" | "phase" | "workload" | "queue") {
        return match text.parse::<At>() {
            Ok(at) => {
                let bare = text.trim().trim_start_matches('-');
                Quantity::Span.strict(bare).map_err(|e| WordError {
                    at: 0..text.len(),
                    message: e.to_string(),
                    help: String::new(),
                })?;
                Ok(Moment { when: When::At(at), name: 0..0 })
            }
            Err(_) if first.starts_with(|c: char| c.is_alphabetic()) => {
                Err(wrong(first_at, format!("\"{first}\" is no point in a run")))
            }
            Err(e) => {
                Err(WordError { at: 0..text.len(), message: e.to_string(), help: String::new() })
            }
        };
    }

    let word = |i: usize| words.get(i).cloned().unwrap_or((end.clone(), ""));
    if first == "workload" {
        let edge = edge(word(1))?;
        if edge == Edge::Start {
            return Err(wrong(word(1).0, "the workload as a whole only ends"));
        }
        let delay = delay(text, &words[2.min(words.len())..])?;
        let when = When::After { reference: Reference::Workload, edge, delay };
        return Ok(Moment { when, name: first_at });
    }
    let (name_at, name) = word(1);
    if name.is_empty() {
        return Err(wrong(name_at, format!("\"{first}\" needs a name")));
    }
    let name_text = name.to_owned();
    if first == "event" {
        let delay = delay(text, &words[2..])?;
        let reference = Reference::Event(name_text);
        return Ok(Moment {
            when: When::After { reference, edge: Edge::End, delay },
            name: name_at,
        });
    }
    let (gauge_at, gauge) = word(2);
    let is_gauge = matches!(word(3).1, ">" | "<");
    if is_gauge {
        let order = if word(3).1 == ">" { Order::Above } else { Order::Below };
        let (value_at, value) = word(4);
        let value = value
            .parse::<f64>()
            .ok()
            .filter(|v| v.is_finite())
            .ok_or_else(|| wrong(value_at, format!("\"{value}\" is not a number")))?;
        let delay = delay(text, &words[5.min(words.len())..])?;
        let number = gauge.to_owned();
        let gauge = match first {
            "flow" => Gauge::Flow { flow: name_text, name: number },
            "queue" => Gauge::Queue { queue: name_text, name: number },
            _ => return Err(wrong(gauge_at, "a phase has no numbers of its own")),
        };
        return Ok(Moment { when: When::State { gauge, order, value, delay }, name: name_at });
    }
    let reference = match first {
        "flow" => Reference::Flow(name_text),
        "phase" => Reference::Phase(name_text),
        _ => {
            return Err(wrong(
                gauge_at,
                "after a queue stand a number of its own, > or <, and a value",
            ));
        }
    };
    let edge = edge((gauge_at, gauge))?;
    let delay = delay(text, &words[3..])?;
    Ok(Moment { when: When::After { reference, edge, delay }, name: name_at })
}

fn edge((at, word): (Range<usize>, &str)) -> Result<Edge, WordError> {
    match word {
        "starts" => Ok(Edge::Start),
        "ends" => Ok(Edge::End),
        "" => Err(wrong(at, "\"starts\" or \"ends\" is missing")),
        _ => Err(wrong(at, format!("\"{word}\" is neither \"starts\" nor \"ends\""))),
    }
}

/// What is left: nothing, or `+ SPAN`.
fn delay(text: &str, rest: &[(Range<usize>, &str)]) -> Result<Span, WordError> {
    let Some((at, first)) = rest.first() else { return Ok(Span::ZERO) };
    let Some(after) = first.strip_prefix('+') else {
        return Err(wrong(at.clone(), format!("\"{first}\" is not \"+\" and a time")));
    };
    let from =
        if after.is_empty() { rest.get(1).map_or(text.len(), |w| w.0.start) } else { at.start + 1 };
    let span = &text[from..];
    Quantity::Span.strict(span).and_then(|()| parse_span(span)).map_err(|e| WordError {
        at: from..text.len(),
        message: e.to_string(),
        help: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_read() {
        let after = |reference, edge, millis| When::After {
            reference,
            edge,
            delay: Span::from_millis(millis),
        };
        let flow = || Reference::Flow("a".into());
        let queue = || Gauge::Queue { queue: "b.down.qdisc".into(), name: "prob".into() };
        let alpha = || Gauge::Flow { flow: "a".into(), name: "alpha".into() };
        let state = |gauge, order, value, millis| When::State {
            gauge,
            order,
            value,
            delay: Span::from_millis(millis),
        };
        for (text, when) in [
            ("24.7s", When::At(At::from_millis(24_700))),
            ("-2s", When::At(At::from_secs(-2))),
            ("0", When::At(At::ORIGIN)),
            ("flow a starts", after(flow(), Edge::Start, 0)),
            ("flow a ends + 5s", after(flow(), Edge::End, 5000)),
            ("flow a ends +5s", after(flow(), Edge::End, 5000)),
            ("event step + 20s", after(Reference::Event("step".into()), Edge::End, 20_000)),
            ("phase solo starts", after(Reference::Phase("solo".into()), Edge::Start, 0)),
            ("workload ends + 250 ms", after(Reference::Workload, Edge::End, 250)),
            ("queue b.down.qdisc prob > 0.25", state(queue(), Order::Above, 0.25, 0)),
            ("flow a alpha < 0.1 + 1s", state(alpha(), Order::Below, 0.1, 1000)),
        ] {
            assert_eq!(parse(text).map(|m| m.when), Ok(when), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        for (text, at, message) in [
            ("30", 0..2, "\"30\" has no unit; write a time such as 20ms, 250us or 1.5s"),
            ("soon", 0..4, "\"soon\" is no point in a run"),
            ("flow", 4..4, "\"flow\" needs a name"),
            ("flow a begins", 7..13, "\"begins\" is neither \"starts\" nor \"ends\""),
            ("flow a ends 5s", 12..14, "\"5s\" is not \"+\" and a time"),
            (
                "flow a ends + 5",
                14..15,
                "\"5\" has no unit; write a time such as 20ms, 250us or 1.5s",
            ),
            ("queue b prob > high", 15..19, "\"high\" is not a number"),
            ("workload starts", 9..15, "the workload as a whole only ends"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.at, error.message.as_str()), (at, message), "{text}");
        }
    }
}
