//! What a hook of a congestion control answers.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyTuple};

/// The highest window that may be asked for, segments.
const MOST: u32 = u32::MAX / 4;
/// The highest pacing rate that may be asked for, bit/s.
const FASTEST: f64 = 1e15;

/// What a hook wants changed.
#[derive(Clone, Copy, Default)]
pub struct Answer {
    /// The window, segments.
    pub window: Option<u32>,
    /// The pacing rate, bytes of payload per second.
    pub pacing: Option<u64>,
}

impl Answer {
    /// What was returned; none of what no hook may return.
    pub fn read(answer: &Bound<'_, PyAny>) -> Option<Self> {
        if answer.is_none() {
            return Some(Self::default());
        }
        if let Ok(pair) = answer.cast::<PyTuple>() {
            let (window, pacing) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok()?;
            let window = if window.is_none() { None } else { Some(segments(&window)?) };
            let pacing = if pacing.is_none() { None } else { Some(rate(&pacing)?) };
            return Some(Self { window, pacing });
        }
        Some(Self { window: Some(segments(answer)?), pacing: None })
    }
}

/// A window: a whole number, or one with its fraction cut off.
fn segments(number: &Bound<'_, PyAny>) -> Option<u32> {
    let window = if let Ok(real) = number.cast::<PyFloat>() {
        let real = real.extract::<f64>().ok()?;
        if !(1.0..=f64::from(MOST)).contains(&real) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let whole = real as u32;
        whole
    } else if number.is_instance_of::<PyBool>() {
        return None;
    } else {
        number.extract().ok()?
    };
    (1..=MOST).contains(&window).then_some(window)
}

/// A rate in bits per second, as bytes per second.
fn rate(number: &Bound<'_, PyAny>) -> Option<u64> {
    if number.is_instance_of::<PyBool>() {
        return None;
    }
    let rate = number.extract::<f64>().ok()?;
    if !(8.0..=FASTEST).contains(&rate) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    let bytes = (rate / 8.0) as u64;
    Some(bytes)
}
