//! Questions that the guest asks while it runs, about flows with actions that depend on their input.
//!
//! The client of an adaptive stream chooses by the data received, and an adaptive video call by the packets missing.
//! Both are machines of `sojourn_workload` that the simulator runs, too; there is one of each, and it is here. The
//! agent reports what happened to the flow and follows the answer. A question is a line, and the answer another; the
//! kernel's process waits for it (`guest/preload.c`), so no time passes in the guest, and the answer depends on nothing
//! but the questions so far.
//!
//! ```text
//! FLOW T start | segment | look RECEIVED | stop    of a stream; answered by NEXT COUNT and COUNT times INSTEAD BYTES
//! FLOW T start                                     of a call; answered by NEXT
//! FLOW T send                                      answered by BYTES NEXT
//! FLOW T came NUMBER…                              what its receiver has; answered by nothing
//! FLOW T report                                    answered by EXPECTED MISSING
//! FLOW T heard EXPECTED MISSING                    answered by NEXT
//! ```
//!
//! Times are nanoseconds of the run's clock. `NEXT` is when the flow next acts, 0 if it does not. An answer that begins with
//! an exclamation mark says what is wrong.

use sojourn_model::{Scenario, Traffic, Video};
use sojourn_units::{Random, Time};
use sojourn_workload::{Act, Missing, Player, Source as _, VideoSource, Wish, random_name};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// Whether a flow's traffic is decided here.
pub(crate) const fn decides(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::Streaming(_) | Traffic::Video(Video { adaptation: Some(_), .. }))
}

/// One direction of a video call that adapts.
#[derive(Debug)]
struct Call {
    source: VideoSource,
    random: Random,
    missing: Missing,
    /// Of how many datagrams the last report said whether they have come, and how many had not.
    reported: (u32, u64),
}

/// A flow from its start on.
#[derive(Debug)]
enum Decider {
    Stream(Box<Player>),
    Call(Box<Call>),
}

/// What is asked about.
#[derive(Debug)]
pub(crate) struct Answers {
    seed: u64,
    flows: Vec<(String, Traffic)>,
    deciders: BTreeMap<usize, Decider>,
}

impl Answers {
    /// Of a run, if anything is asked in it.
    pub(crate) fn of(scenario: &Scenario) -> Option<Self> {
        let flows = || scenario.flows.iter();
        flows().any(|flow| decides(&flow.traffic)).then(|| Self {
            seed: scenario.seed,
            flows: flows().map(|flow| (flow.name.clone(), flow.traffic.clone())).collect(),
            deciders: BTreeMap::new(),
        })
    }

    /// Answers whatever comes by this socket until the other end is closed.
    pub(crate) fn serve(mut self, socket: UnixStream) -> JoinHandle<Self> {
        std::thread::spawn(move || {
            let Ok(reader) = socket.try_clone() else { return self };
            let mut writer = socket;
            for question in BufReader::new(reader).lines().map_while(Result::ok) {
                let answer = self.answer(&question).unwrap_or_else(|wrong| format!("!{wrong}"));
                if writeln!(writer, "{answer}").is_err() {
                    break;
                }
            }
            self
        })
    }

    /// The clients of adaptive streams, by their flows' numbers.
    pub(crate) fn players<'a>(&'a self) -> BTreeMap<usize, &'a Player> {
        let player = |(&flow, decider): (&usize, &'a Decider)| match decider {
            Decider::Stream(player) => Some((flow, player.as_ref())),
            Decider::Call(_) => None,
        };
        self.deciders.iter().filter_map(player).collect()
    }

    fn answer(&mut self, question: &str) -> Result<String, String> {
        let unheard = || format!("this question means nothing: {question}");
        let mut words = question.split_ascii_whitespace();
        let mut number = || words.next().and_then(|w| w.parse::<u64>().ok());
        let (flow, at) = number().zip(number()).ok_or_else(unheard)?;
        let (flow, now) = (flow as usize, Time::from_nanos(at));
        let what = words.next().ok_or_else(unheard)?;
        let numbers: Vec<u64> =
            words.map(|w| w.parse().map_err(|_| unheard())).collect::<Result<_, _>>()?;
        if what == "start" {
            let decider = self.decider(flow, now).ok_or_else(unheard)?;
            self.deciders.insert(flow, decider);
        }
        match self.deciders.get_mut(&flow) {
            Some(Decider::Stream(player)) => player_says(player, now, what, &numbers),
            Some(Decider::Call(call)) => call.says(now, what, &numbers),
            None => None,
        }
        .ok_or_else(unheard)
    }

    fn decider(&self, flow: usize, now: Time) -> Option<Decider> {
        let (name, traffic) = self.flows.get(flow)?;
        match traffic {
            Traffic::Streaming(settings) => {
                let player = Player::new(now, settings.clone(), self.seed, name);
                Some(Decider::Stream(Box::new(player)))
            }
            Traffic::Video(video) => Some(Decider::Call(Box::new(Call {
                source: VideoSource::new(now, video.clone()),
                random: Random::named(self.seed, &random_name(name)),
                missing: Missing::default(),
                reported: (0, 0),
            }))),
            _ => None,
        }
    }
}

fn player_says(player: &mut Player, now: Time, what: &str, numbers: &[u64]) -> Option<String> {
    let mut received = numbers.first().copied()?;
    match what {
        "start" | "look" => {}
        "segment" => player.on_segment(now),
        "stop" => player.end(now),
        _ => return None,
    }
    let mut wishes = Vec::new();
    while player.next() <= now {
        if let Some(wish) = player.act(now, received) {
            wishes.push(match wish {
                Wish::Segment(bytes) => format!(" 0 {bytes}"),
                Wish::Instead(bytes) => format!(" 1 {bytes}"),
            });
            received = 0;
        }
    }
    Some(format!("{} {}{}", moment(player.next()), wishes.len(), wishes.concat()))
}

/// A point in time for the agent; 0 is never.
const fn moment(at: Time) -> u64 {
    if at.is_never() { 0 } else { at.as_nanos() }
}

impl Call {
    fn says(&mut self, now: Time, what: &str, numbers: &[u64]) -> Option<String> {
        let next = |source: &VideoSource| moment(source.next().unwrap_or(Time::NEVER));
        Some(match (what, numbers) {
            ("start", []) => next(&self.source).to_string(),
            ("send", []) => {
                debug_assert!(self.source.next().is_some_and(|at| at <= now), "it is due");
                let Act::Datagram { bytes, .. } = self.source.act(&mut self.random) else {
                    return None;
                };
                format!("{bytes} {}", next(&self.source))
            }
            ("came", numbers) => {
                for &number in numbers {
                    self.missing.arrived(number as u32);
                }
                "-".to_owned()
            }
            // As `Stream` of the simulator reports it.
            ("report", []) => {
                let (settled, missing) = (self.missing.settled(), self.missing.lost());
                let (before, lost) = self.reported;
                self.reported = (settled, missing);
                format!("{} {}", settled - before, missing - lost)
            }
            ("heard", &[expected, missing]) => {
                if expected > 0 {
                    self.source.on_loss(missing as f64 / expected as f64);
                }
                next(&self.source).to_string()
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::{EcnMode, Streaming, Tcp};
    use sojourn_units::{Rate, Span};

    fn answers(traffic: Traffic) -> Answers {
        Answers { seed: 1, flows: vec![("f".to_owned(), traffic)], deciders: BTreeMap::new() }
    }

    /// A segment of 4 s at 1 Mbit/s is 500 kB. It comes after 4 s and is played for 4; the buffer of 4 s has room for the next
    /// only when it has been played.
    #[test]
    fn a_player_asks_and_waits() {
        let streaming = Streaming {
            tcp: Tcp::plain("cubic", EcnMode::Default),
            ladder: vec![Rate::from_mbit(1)],
            segment: Span::from_secs(4),
            buffer: Span::from_secs(4),
            start_at: Span::from_secs(4),
            resume_at: Span::from_secs(4),
            live_delay: None,
            safety: 0.8,
            half_lives: (Span::from_secs(3), Span::from_secs(8)),
            size_sigma: 0.0,
            request: 300,
        };
        let mut answers = answers(Traffic::Streaming(streaming));
        let mut ask = |question: &str| answers.answer(question).unwrap();
        assert_eq!(ask("0 0 start 0"), "1000000000 1 0 500000");
        assert_eq!(ask("0 1000000000 look 125000"), "2000000000 0");
        assert_eq!(ask("0 4000000000 segment 0"), "8000000000 0");
        assert_eq!(ask("0 8000000000 look 0"), "9000000000 1 0 500000");
        assert_eq!(ask("0 8500000000 stop 0"), "0 0");
        assert_eq!(answers.players()[&0].arrived().len(), 1);
    }

    /// A wrong question, or one about a flow that decides nothing, has an error as its answer.
    #[test]
    fn a_wrong_question_has_an_answer() {
        let mut call = answers(Traffic::Video(Video::captured(
            sojourn_model::Profile::CallDown,
            sojourn_units::Ecn::NotEct,
        )));
        for question in ["", "0 5 send", "1 5 start", "0 x start", "0 5 start 7"] {
            let wrong = call.answer(question).unwrap_err();
            assert!(wrong.contains("means nothing"), "{question}: {wrong}");
        }
        // 3 of 10 are missing when 64 more have come.
        assert!(call.answer("0 0 start").is_ok());
        let numbers: Vec<String> = (3..100).map(|n: u32| n.to_string()).collect();
        assert_eq!(call.answer(&format!("0 9 came {}", numbers.join(" "))).unwrap(), "-");
        assert_eq!(call.answer("0 9 report").unwrap(), "36 3");
        assert_eq!(call.answer("0 9 report").unwrap(), "0 0");
    }
}
