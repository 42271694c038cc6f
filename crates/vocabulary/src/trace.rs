//! Traces that are made of words: `cellular max 11mbit seed 3`.
//!
//! The model is the one that Sprout uses to forecast cellular links (Winstein, Sivaraman, Balakrishnan, NSDI 2013,
//! section 3.1), run forward: chances to deliver come as a Poisson process with a rate that moves by Brownian motion,
//! in steps of 20 ms; where the rate falls to nothing the link is in an outage, which it leaves by a rate of its own.
//! Sprout's constants are the defaults: at most 1000 packets a second (12 Mbit/s), 200 packets a second after a second,
//! one escape a second. Above the highest rate the motion is reflected. Sprout's authors made the model to forecast by,
//! and not to stand for any one network: a recording does that.
//!
//! The draws are those of a seed in the words, and not of the run's: the trace is the link, and each seed of a run meets the same one.

use sojourn_model::{DeliveryTrace, MOST_CHANCES, WordError};
use sojourn_units::{Random, Rate, Span, parse_rate, parse_span, sample};

/// The word that a made-up trace begins with.
pub const CELLULAR: &str = "cellular";
/// A full packet on the link: 1500 bytes of IP.
const BITS: u64 = 1500 * 8;
/// Between two steps of the motion.
const STEP_MS: u32 = 20;

/// The options behind the word, each with its default and meaning.
const OPTIONS: [(&str, &str, &str); 5] = [
    ("max", "12mbit", "the highest rate, of IP packets"),
    ("noise", "200", "standard deviation of the rate after a second, packets a second"),
    ("escape", "1s", "mean length of an outage"),
    ("length", "60s", "after how long it starts over"),
    ("seed", "1", "which one of all those that there could be"),
];

#[derive(Clone, Copy, Debug)]
struct Cellular {
    max: Rate,
    noise: u32,
    escape: Span,
    length: Span,
    seed: u64,
}

/// The trace of words that begin with [`CELLULAR`].
///
/// # Errors
/// What is wrong with them, and where.
pub fn made_up(words: &str) -> Result<DeliveryTrace, WordError> {
    let cellular = read(words)?;
    let most = cellular.max.bits_per_sec() / BITS * cellular.length.as_nanos() / 1_000_000_000;
    if most > MOST_CHANCES as u64 / 2 {
        let message =
            format!("such a trace may have {most} chances, and {} are allowed", MOST_CHANCES / 2);
        let help = "make it shorter; it starts over".to_owned();
        return Err(WordError { at: 0..words.len(), message, help });
    }
    DeliveryTrace::new(chances(&cellular)).map_err(|_| WordError {
        at: 0..words.len(),
        message: "this trace is one outage: it never delivers anything".to_owned(),
        help: "take another seed, a higher max or a longer length".to_owned(),
    })
}

fn read(words: &str) -> Result<Cellular, WordError> {
    let place = |word: &str| {
        let from = word.as_ptr() as usize - words.as_ptr() as usize;
        from..from + word.len()
    };
    let wrong =
        |word: &str, message: String, help: String| WordError { at: place(word), message, help };
    let mut made = Cellular {
        max: Rate::from_mbit(12),
        noise: 200,
        escape: Span::from_secs(1),
        length: Span::from_secs(60),
        seed: 1,
    };
    let mut rest = words.split_whitespace().skip(1);
    while let Some(word) = rest.next() {
        if !OPTIONS.iter().any(|(name, ..)| *name == word) {
            let named: Vec<String> = OPTIONS
                .iter()
                .map(|(name, default, meaning)| format!("{name} ({meaning}; {default})"))
                .collect();
            return Err(wrong(
                word,
                format!("cellular has no option \"{word}\""),
                format!("it has {}", named.join(", ")),
            ));
        }
        let Some(value) = rest.next() else {
            return Err(wrong(
                word,
                format!("{word} has no value"),
                format!("write {word} {}", default_of(word)),
            ));
        };
        let bad = |range: &str| {
            wrong(value, format!("\"{value}\" is no {word} of cellular"), format!("write {range}"))
        };
        match word {
            "max" => {
                let rate = parse_rate(value).ok();
                let fits = |rate: &Rate| (120_000..=10_000_000_000).contains(&rate.bits_per_sec());
                let rate = rate.filter(fits);
                made.max = rate.ok_or_else(|| bad("a rate from 120kbit to 10gbit"))?;
            }
            "noise" => {
                let number = value.parse().ok().filter(|n| (0..=1_000_000).contains(n));
                made.noise = number.ok_or_else(|| bad("a whole number up to 1000000"))?;
            }
            "escape" => {
                let span = span(value, Span::from_millis(20), Span::from_secs(3600));
                made.escape = span.ok_or_else(|| bad("a time from 20ms to 1h"))?;
            }
            "length" => {
                let span = span(value, Span::from_millis(100), Span::from_secs(3600));
                made.length = span.ok_or_else(|| bad("a time from 100ms to 1h"))?;
            }
            _ => made.seed = value.parse().map_err(|_| bad("a whole number"))?,
        }
    }
    Ok(made)
}

fn default_of(option: &str) -> &'static str {
    OPTIONS.iter().find(|(name, ..)| *name == option).map_or("", |(_, default, _)| default)
}

fn span(text: &str, least: Span, most: Span) -> Option<Span> {
    parse_span(text).ok().filter(|span| (least..=most).contains(span))
}

/// The chances of one such link, milliseconds.
fn chances(made: &Cellular) -> Vec<u32> {
    let mut motion = Random::named(made.seed, "trace/cellular/motion");
    let mut arrivals = Random::named(made.seed, "trace/cellular/arrivals");
    let max = made.max.bits_per_sec() as f64 / BITS as f64;
    let step = f64::from(STEP_MS) / 1000.0;
    let spread = f64::from(made.noise) * libm::sqrt(step);
    let leaves = 1.0 - libm::exp(-step / made.escape.as_secs_f64());
    let length = (made.length.as_nanos() / 1_000_000) as u32;
    // Anywhere, as a motion between two walls is in the long run.
    let mut rate = motion.unit() * max;
    let mut chances = Vec::new();
    for begins in (0..length).step_by(STEP_MS as usize) {
        let draw = motion.unit();
        let moved = rate + spread * sample::normal(&mut motion);
        rate = if rate > 0.0 {
            // Back from the upper wall; at the lower one the link goes out.
            if moved > max { (2.0 * max - moved).max(0.0) } else { moved.max(0.0) }
        } else if draw < leaves {
            // Out of an outage by one step of the motion, upwards.
            moved.abs().min(max)
        } else {
            0.0
        };
        if rate <= 0.0 {
            continue;
        }
        let mean = Span::from_secs_f64(1.0 / rate);
        let end = Span::from_millis(u64::from(STEP_MS.min(length - begins)));
        let mut at = sample::exponential(mean, &mut arrivals);
        while at < end {
            chances.push(begins + (at.as_nanos() / 1_000_000) as u32);
            at += sample::exponential(mean, &mut arrivals);
        }
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_mistakes_are_pointed_at() {
        let trace =
            made_up("cellular max 24mbit noise 400 escape 500ms length 30s seed 7").unwrap();
        assert!((29_000..30_000).contains(&trace.period_ms()), "{}", trace.period_ms());
        let wrong = |words: &str| {
            let error = made_up(words).unwrap_err();
            (words[error.at.clone()].to_owned(), error.message, error.help)
        };
        let (at, message, help) = wrong("cellular mx 24mbit");
        assert_eq!((at.as_str(), message.as_str()), ("mx", "cellular has no option \"mx\""));
        assert!(help.contains("max (the highest rate"), "{help}");
        assert_eq!(wrong("cellular max 24x").0, "24x");
        assert_eq!(wrong("cellular seed").1, "seed has no value");
        assert_eq!(wrong("cellular max 1gbit length 3600s").0, "cellular max 1gbit length 3600s");
    }

    #[test]
    fn the_same_words_are_the_same_trace_and_another_seed_is_another() {
        let trace = |words: &str| made_up(words).unwrap();
        assert_eq!(
            trace("cellular seed 2"),
            trace("cellular max 12mbit noise 200 escape 1s length 60s seed 2")
        );
        assert_ne!(trace("cellular seed 2"), trace("cellular seed 3"));
    }

    /// Without noise the rate stays where it began, and the chances are a Poisson process: their number in 20 ms has its mean for its
    /// variance.
    #[test]
    fn without_motion_it_is_a_poisson_process() {
        let trace = made_up("cellular noise 0 length 1000s seed 5").unwrap();
        let mut counts = vec![0_u32; 50_000];
        for &chance in trace.chances() {
            counts[(chance / 20) as usize] += 1;
        }
        let n = counts.len() as f64;
        let mean = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / n;
        let variance =
            counts.iter().map(|&c| (f64::from(c) - mean) * (f64::from(c) - mean)).sum::<f64>() / n;
        assert!(
            (0.0..20.0).contains(&mean) && (variance / mean - 1.0).abs() < 0.03,
            "{mean}, {variance}"
        );
    }

    /// With it, over a long time: the rate is between its walls, its mean is below half of the highest for the time in outages, and there are such.
    #[test]
    fn the_rate_moves_between_an_outage_and_the_highest() {
        let trace = made_up("cellular length 1000s seed 5").unwrap();
        let mean = trace.chances().len() as f64 / 1000.0;
        assert!((200.0..520.0).contains(&mean), "{mean} packets a second");
        let longest = trace.chances().windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!((1_000..30_000).contains(&longest), "{longest} ms");
        let second = |s: u32| trace.chances().iter().filter(|&&c| c / 1000 == s).count();
        let most = (0..1000).map(second).max().unwrap();
        assert!((850..1150).contains(&most), "{most} packets in a second");
    }
}
