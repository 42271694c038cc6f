//! The quantities as text and back (`FromStr`), and, with the feature `serde`, the same text in files: a record
//! says `"rate": "50Mbit"` rather than a number with a unit that a reader would have to look up.

use crate::{Dscp, Ecn, ParseError, Rate, Span, parse_rate, parse_span};
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// A text that is no DSCP or ECN codepoint.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NotACodepoint {
    text: String,
    expected: &'static str,
}

impl fmt::Display for NotACodepoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.text, self.expected)
    }
}

impl core::error::Error for NotACodepoint {}

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_span(text)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_rate(text)
    }
}

impl FromStr for Ecn {
    type Err = NotACodepoint;

    /// `not-ect`, `ect0`, `ect1`, `ce`, or as printed (`ECT(1)`), in any case.
    fn from_str(text: &str) -> Result<Self, NotACodepoint> {
        let plain: String =
            text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        match plain.as_str() {
            "notect" => Ok(Self::NotEct),
            "ect0" => Ok(Self::Ect0),
            "ect1" => Ok(Self::Ect1),
            "ce" => Ok(Self::Ce),
            _ => Err(NotACodepoint {
                text: text.to_owned(),
                expected: "an ECN codepoint: not-ect, ect0, ect1 or ce",
            }),
        }
    }
}

impl FromStr for Dscp {
    type Err = NotACodepoint;

    /// Six bits as a number, decimal or with `0x`.
    fn from_str(text: &str) -> Result<Self, NotACodepoint> {
        let t = text.trim();
        let number = match t.strip_prefix("0x").or_else(|| t.strip_prefix("0X")) {
            Some(hex) => u8::from_str_radix(hex, 16).ok(),
            None => t.parse().ok(),
        };
        number.and_then(Self::new).ok_or_else(|| NotACodepoint {
            text: text.to_owned(),
            expected: "a DSCP: a number from 0 to 63, such as 0x13 or 46",
        })
    }
}

#[cfg(feature = "serde")]
mod as_text {
    use crate::{Dscp, Ecn, Rate, Span};
    use alloc::borrow::Cow;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    macro_rules! as_text {
        ($($quantity:ty),*) => {$(
            impl Serialize for $quantity {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }
            impl<'de> Deserialize<'de> for $quantity {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = Cow::<'de, str>::deserialize(deserializer)?;
                    text.parse().map_err(D::Error::custom)
                }
            }
        )*};
    }
    as_text!(Span, Rate, Dscp, Ecn);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    #[test]
    fn codepoints_are_read_as_written_and_as_printed() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(ecn.to_string().parse(), Ok(ecn));
        }
        assert_eq!("ect1".parse(), Ok(Ecn::Ect1));
        assert_eq!(
            "ect2".parse::<Ecn>().unwrap_err().to_string(),
            "\"ect2\" is not an ECN codepoint: not-ect, ect0, ect1 or ce"
        );
        for value in 0..64 {
            let dscp = Dscp::new(value).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
        }
        assert!("64".parse::<Dscp>().is_err());
    }

    #[cfg(feature = "serde")]
    #[test]
    fn files_hold_the_text() {
        let json = serde_json::to_string(&(Span::from_millis(20), Rate::from_mbit(50), Ecn::Ect1));
        let json = json.unwrap();
        assert_eq!(json, r#"["20ms","50Mbit","ECT(1)"]"#);
        let back: (Span, Rate, Ecn) = serde_json::from_str(&json).unwrap();
        assert_eq!(back, (Span::from_millis(20), Rate::from_mbit(50), Ecn::Ect1));
    }
}
