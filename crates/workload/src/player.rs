//! The client of an adaptive stream over HTTP (docs/sources/applications.md#adaptive-streaming): which segment it asks
//! for and when, its buffer, its playback. No published source has the algorithms of the services that were measured;
//! this one is the notes' own design, with their parameters.
//!
//! The client asks for one segment at a time. It acts on what it receives, so it is no [`super::Source`]: the engine
//! tells it of each segment that has come, and how much of the present one has.
//!
//! Invariants: at most one segment is asked for; the buffer never holds more than its cap; segments are played in their
//! order. A segment's size depends on the run's seed, the stream, the segment and the level alone, so that runs with
//! other rivals are comparable.

use sojourn_model::Streaming;
use sojourn_units::{Random, Rate, Span, Time, sample};
use std::collections::VecDeque;

/// How often a download is looked at for being too slow.
const LOOK_EVERY: Span = Span::from_secs(1);
/// A live stream that is this far behind its delay skips the segments in between.
const TOO_LATE: Span = Span::from_secs(10);

/// The activity of a stream, for the viewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Playing {
    /// Nothing has been played yet.
    Starting,
    /// A level is played.
    Level(Rate),
    /// The buffer ran dry.
    Stalled,
    /// The stream was stopped.
    Ended,
}

impl Playing {
    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Level(_) => "playing",
            Self::Stalled => "stalled",
            Self::Ended => "ended",
        }
    }
}

/// A segment that has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrived {
    /// When.
    pub at: Time,
    /// Its place in the stream.
    pub number: u64,
    /// Its level.
    pub bitrate: Rate,
    /// Its size.
    pub bytes: u64,
    /// When it was asked for.
    pub asked: Time,
    /// Playing time in the buffer, itself included.
    pub buffer: Span,
    /// Time stalled so far.
    pub stalled: Span,
}

/// What the client asks the server for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// A segment of this many bytes.
    Segment(u64),
    /// A segment of this many bytes in place of the rest of the one under way.
    Instead(u64),
}

/// An average that forgets half in each half-life (of downloading).
#[derive(Clone, Copy, Default, Debug)]
struct Average {
    value: f64,
    weight: f64,
}

impl Average {
    fn add(&mut self, x: f64, seconds: f64, half_life: Span) {
        let kept = libm::exp2(-seconds / half_life.as_secs_f64());
        self.value = (1.0 - kept) * x + kept * self.value;
        self.weight = (1.0 - kept) + kept * self.weight;
    }

    /// Corrected for what had not been seen at the beginning.
    fn estimate(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.value / self.weight)
    }
}

#[derive(Clone, Copy, Debug)]
struct Download {
    number: u64,
    level: usize,
    bytes: u64,
    asked: Time,
    look: Time,
}

/// The client of one stream.
#[derive(Clone, Debug)]
pub struct Player {
    settings: Streaming,
    seed: u64,
    name: String,
    start: Time,
    playing: Playing,
    /// When the segment that is played ends.
    ends: Time,
    /// Levels of the segments that wait to be played.
    buffer: VecDeque<usize>,
    download: Option<Download>,
    next_number: u64,
    level: usize,
    averages: [Average; 2],
    stalled_since: Time,
    stalled: Span,
    changes: Vec<(Time, Playing)>,
    arrived: Vec<Arrived>,
}

impl Player {
    /// The stream `name` of the run with this seed, which is started at `start`.
    pub fn new(start: Time, settings: Streaming, seed: u64, name: &str) -> Self {
        Self {
            settings,
            seed,
            name: name.to_owned(),
            start,
            playing: Playing::Starting,
            ends: Time::NEVER,
            buffer: VecDeque::new(),
            download: None,
            next_number: 0,
            level: 0,
            averages: [Average::default(); 2],
            stalled_since: Time::NEVER,
            stalled: Span::ZERO,
            changes: vec![(start, Playing::Starting)],
            arrived: Vec::new(),
        }
    }

    /// What was played, and from when on.
    pub fn changes(&self) -> &[(Time, Playing)] {
        &self.changes
    }

    /// The segments that have come.
    pub fn arrived(&self) -> &[Arrived] {
        &self.arrived
    }

    /// When [`Player::act`] wants to be called.
    pub fn next(&self) -> Time {
        if self.playing == Playing::Ended {
            return Time::NEVER;
        }
        let ask = match &self.download {
            Some(download) => download.look,
            None => self.asks_at(),
        };
        ask.min(self.ends)
    }

    /// Acts, when the time has come that [`Player::next`] said; `received` are the bytes of the present download that
    /// have come. To be called until `next` lies ahead.
    pub fn act(&mut self, now: Time, received: u64) -> Option<Wish> {
        if self.playing == Playing::Ended {
            return None;
        }
        while self.ends <= now {
            self.turn();
        }
        match self.download {
            Some(download) if download.look <= now => self.look(now, download, received),
            None if self.asks_at() <= now => Some(self.ask(now)),
            _ => None,
        }
    }

    /// The segment that was asked for has come.
    pub fn on_segment(&mut self, now: Time) {
        let Some(download) = self.download.take() else { return };
        while self.ends <= now {
            self.turn();
        }
        let seconds = now.since(download.asked).as_secs_f64();
        let rate = 8.0 * download.bytes as f64 / seconds;
        let (quick, slow) = self.settings.half_lives;
        self.averages[0].add(rate, seconds, quick);
        self.averages[1].add(rate, seconds, slow);
        self.buffer.push_back(download.level);
        let buffer = self.buffered(now);
        let need = match self.playing {
            Playing::Starting => self.settings.start_at,
            _ => self.settings.resume_at,
        };
        let waits = matches!(self.playing, Playing::Starting | Playing::Stalled);
        if waits && (buffer >= need || self.is_full(buffer)) {
            if self.playing == Playing::Stalled {
                self.stalled += now.since(self.stalled_since);
            }
            self.begin(now);
        }
        self.arrived.push(Arrived {
            at: now,
            number: download.number,
            bitrate: self.settings.ladder[download.level],
            bytes: download.bytes,
            asked: download.asked,
            buffer,
            stalled: self.stalled_until(now),
        });
    }

    /// The viewer has had enough.
    pub fn end(&mut self, now: Time) {
        if self.playing != Playing::Ended {
            self.change(now, Playing::Ended);
            self.ends = Time::NEVER;
        }
    }

    /// Playing time in the buffer.
    fn buffered(&self, now: Time) -> Span {
        let playing = if self.ends.is_never() { Span::ZERO } else { self.ends.since(now) };
        self.settings.segment * self.buffer.len() as u64 + playing
    }

    fn is_full(&self, buffer: Span) -> bool {
        buffer + self.settings.segment > self.settings.buffer
    }

    fn stalled_until(&self, now: Time) -> Span {
        let running = self.playing == Playing::Stalled;
        self.stalled + if running { now.since(self.stalled_since) } else { Span::ZERO }
    }

    fn change(&mut self, at: Time, to: Playing) {
        self.playing = to;
        self.changes.push((at, to));
    }

    /// The segment that was played is over.
    fn turn(&mut self) {
        let at = self.ends;
        self.begin(at);
    }

    /// Plays what comes next, if there is something.
    fn begin(&mut self, at: Time) {
        let Some(level) = self.buffer.pop_front() else {
            self.change(at, Playing::Stalled);
            self.stalled_since = at;
            self.ends = Time::NEVER;
            return;
        };
        let level = Playing::Level(self.settings.ladder[level]);
        if level != self.playing {
            self.change(at, level);
        }
        self.ends = at + self.settings.segment;
    }

    /// When the next segment is asked for: when it exists, and there is room for it.
    fn asks_at(&self) -> Time {
        let Streaming { segment, buffer, .. } = self.settings;
        let held = segment * (self.buffer.len() as u64 + 1);
        let room = if self.ends.is_never() {
            // Nothing is played: the buffer will not shrink.
            if held > buffer { Time::NEVER } else { self.start }
        } else {
            (self.ends + held).saturating_sub(buffer)
        };
        room.max(self.available_at(self.next_number)).max(self.start)
    }

    /// When a live stream's segment has been made: the stream is played so far behind its source.
    fn available_at(&self, number: u64) -> Time {
        match self.settings.live_delay {
            Some(delay) => {
                let made = self.start + self.settings.segment * (number + 1);
                made.saturating_sub(delay).max(self.start)
            }
            None => self.start,
        }
    }

    fn ask(&mut self, now: Time) -> Wish {
        self.skip_what_is_too_late(now);
        let number = self.next_number;
        self.next_number += 1;
        self.level = self.choose(now);
        let bytes = self.size(number, self.level);
        let look = now + LOOK_EVERY;
        self.download = Some(Download { number, level: self.level, bytes, asked: now, look });
        Wish::Segment(bytes)
    }

    /// A live stream that has fallen too far behind goes on where the source, less the delay, is now.
    fn skip_what_is_too_late(&mut self, now: Time) {
        if self.settings.live_delay.is_none() {
            return;
        }
        let due = self.start + self.settings.segment * self.next_number;
        let plays = now + self.buffered(now);
        if plays.since(due) > TOO_LATE {
            let elapsed = now.since(self.start).as_nanos();
            self.next_number = elapsed / self.settings.segment.as_nanos().max(1);
            self.buffer.clear();
        }
    }

    /// The smaller of the two averages of the throughput, bit/s.
    fn estimate(&self) -> Option<f64> {
        Some(self.averages[0].estimate()?.min(self.averages[1].estimate()?))
    }

    /// The highest level that fits a rate; the lowest if none does.
    fn fitting(&self, rate: f64) -> usize {
        let fits = |r: &&Rate| r.bits_per_sec() as f64 <= rate;
        self.settings.ladder.iter().take_while(fits).count().saturating_sub(1)
    }

    /// The level of the next segment: what fits the estimate with its margin; with little in the buffer, at most one
    /// above what fits half of it; with much, the present one as long as it fits. One up at a time.
    fn choose(&self, now: Time) -> usize {
        let Some(estimate) = self.estimate() else { return 0 };
        let s = &self.settings;
        let buffer = self.buffered(now);
        if buffer.as_secs_f64() > 0.7 * s.buffer.as_secs_f64()
            && s.ladder[self.level].bits_per_sec() as f64 <= estimate
        {
            return self.level;
        }
        let mut level = self.fitting(s.safety * estimate);
        if buffer < s.segment * 2 {
            level = level.min(self.fitting(0.5 * estimate) + 1);
        }
        level.min(self.level + 1)
    }

    /// Bytes of a segment: `r·L/8` times a log-normal number with mean 1.
    fn size(&self, number: u64, level: usize) -> u64 {
        let s = &self.settings;
        let stream = format!("flow/{}/segment/{number}/{level}", self.name);
        let sigma = s.size_sigma;
        let factor =
            sample::log_normal(-sigma * sigma / 2.0, sigma, &mut Random::named(self.seed, &stream));
        let bytes = s.ladder[level].bits_per_sec() as f64 * s.segment.as_secs_f64() / 8.0 * factor;
        (bytes as u64).max(1)
    }

    /// Whether a lower level would be there sooner, when the present one will not be there in time.
    fn look(&mut self, now: Time, download: Download, received: u64) -> Option<Wish> {
        let next = Download { look: now + LOOK_EVERY, ..download };
        self.download = Some(next);
        let rate = received as f64 / now.since(download.asked).as_secs_f64();
        if received == 0 || download.level == 0 {
            return None;
        }
        let rest = download.bytes.saturating_sub(received) as f64 / rate;
        let level = self.fitting(self.settings.safety * 8.0 * rate).min(download.level - 1);
        let bytes = self.size(download.number, level);
        if rest <= self.buffered(now).as_secs_f64() || bytes as f64 / rate >= rest {
            return None;
        }
        self.level = level;
        self.download = Some(Download { level, bytes, asked: now, ..next });
        Some(Wish::Instead(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::{EcnMode, Tcp};

    fn streaming(ladder: &[u64], segment: u64, buffer: u64) -> Streaming {
        Streaming {
            tcp: Tcp::plain("cubic", EcnMode::Default),
            ladder: ladder.iter().map(|&k| Rate::from_bits_per_sec(k * 1000)).collect(),
            segment: Span::from_secs(segment),
            buffer: Span::from_secs(buffer),
            start_at: Span::from_secs(segment),
            resume_at: Span::from_secs(segment),
            live_delay: None,
            safety: 0.8,
            half_lives: (Span::from_secs(3), Span::from_secs(8)),
            size_sigma: 0.0,
            request: 300,
        }
    }

    /// Plays over a link of `mbit(t)` Mbit/s without delay, in steps of a millisecond.
    fn play(settings: Streaming, seconds: u64, mbit: impl Fn(f64) -> f64) -> Player {
        let mut player = Player::new(Time::ZERO, settings, 1, "video");
        let mut wanted: Option<u64> = None;
        let mut received = 0.0;
        for ms in 0..seconds * 1000 {
            let now = Time::from_millis(ms);
            if let Some(bytes) = wanted
                && received >= bytes as f64
            {
                wanted = None;
                player.on_segment(now);
            }
            while player.next() <= now {
                if let Some(Wish::Segment(bytes) | Wish::Instead(bytes)) =
                    player.act(now, received as u64)
                {
                    (wanted, received) = (Some(bytes), 0.0);
                }
            }
            if wanted.is_some() {
                received += mbit(now.as_secs_f64()) * 1e6 / 8.0 / 1000.0;
            }
        }
        player
    }

    fn states(player: &Player) -> Vec<(u64, &'static str)> {
        player.changes.iter().map(|c| (c.0.as_nanos() / 1_000_000_000, c.1.name())).collect()
    }

    #[test]
    fn half_the_rate_stalls_half_of_the_time() {
        // 4 s of 1 Mbit/s are 500 kB: 8 s at half a Mbit/s. Played from 8 s on, dry at 12 s, the next at 16 s.
        let player = play(streaming(&[1000], 4, 12), 30, |_| 0.5);
        let expected = [
            (0, "starting"),
            (8, "playing"),
            (12, "stalled"),
            (16, "playing"),
            (20, "stalled"),
            (24, "playing"),
            (28, "stalled"),
        ];
        assert_eq!(states(&player), expected);
        let last = player.arrived.last().unwrap();
        assert_eq!((last.number, last.bytes, last.stalled), (2, 500_000, Span::from_secs(8)));
    }

    #[test]
    fn the_buffer_fills_to_its_cap_and_no_further() {
        // A segment takes a second at 4 Mbit/s. 0 is played from 1 to 5 s; 1 comes at 2 s, and then there is room for
        // another only when 4 of the 8 s have been played.
        let player = play(streaming(&[1000], 4, 8), 20, |_| 4.0);
        let asked: Vec<u64> =
            player.arrived.iter().map(|a| a.asked.as_nanos() / 1_000_000_000).collect();
        assert_eq!(asked, [0, 1, 5, 9, 13, 17]);
        assert_eq!(states(&player), [(0, "starting"), (1, "playing")]);
        assert!(player.arrived.iter().all(|a| a.buffer <= Span::from_secs(8)));
    }

    #[test]
    fn it_climbs_a_step_at_a_time_to_what_fits_four_fifths() {
        let player =
            play(streaming(&[150, 300, 600, 1200, 2500, 5000, 10_000], 5, 60), 120, |_| 10.0);
        let levels: Vec<u64> =
            player.arrived.iter().map(|a| a.bitrate.bits_per_sec() / 1000).collect();
        // 0.8 leaves room for 5 of 10 Mbit/s.
        assert_eq!(levels[..7], [150, 300, 600, 1200, 2500, 5000, 5000]);
        assert!(levels[6..].iter().all(|&k| k == 5000));
        assert!(!player.changes.iter().any(|c| c.1 == Playing::Stalled));
    }

    #[test]
    fn what_would_come_too_late_is_given_up_for_less() {
        // From 30 s on a hundredth of the rate is left: the segment under way would take minutes.
        let player =
            play(streaming(&[500, 1000, 4000], 4, 12), 200, |t| if t < 30.0 { 8.0 } else { 0.6 });
        let after: Vec<u64> = player
            .arrived
            .iter()
            .filter(|a| a.at > Time::from_secs(31))
            .map(|a| a.bitrate.bits_per_sec() / 1000)
            .collect();
        assert!(after.len() > 30 && after[2..].iter().all(|&k| k == 500), "{after:?}");
        // 0.5 of 0.6 Mbit/s: it keeps up, once the first has come.
        let stalls = player.changes.iter().filter(|c| c.1 == Playing::Stalled).count();
        assert!(stalls <= 2, "{stalls}");
    }

    #[test]
    fn a_live_stream_is_asked_for_as_it_is_made_and_skips_what_is_too_late() {
        let live =
            || Streaming { live_delay: Some(Span::from_secs(12)), ..streaming(&[1000], 4, 12) };
        let player = play(live(), 40, |_| 100.0);
        let asked: Vec<u64> =
            player.arrived.iter().map(|a| a.asked.as_nanos() / 1_000_000_000).collect();
        // Three exist at the start, then one every 4 s.
        assert_eq!(asked, [0, 0, 0, 4, 8, 12, 16, 20, 24, 28, 32, 36]);
        // Nothing comes from 10 to 40 s.
        let player = play(live(), 80, |t| if (10.0..40.0).contains(&t) { 0.0 } else { 100.0 });
        let numbers: Vec<u64> = player.arrived.iter().map(|a| a.number).collect();
        let gap = numbers.windows(2).find(|w| w[1] != w[0] + 1).unwrap();
        // The segment under way comes at 40 s; the next is the one that a viewer 12 s behind sees then.
        assert_eq!(gap, [5, 10]);
        assert!(numbers.is_sorted());
    }

    #[test]
    fn sizes_vary_around_the_level_and_depend_on_nothing_else() {
        let mut settings = streaming(&[1000, 2000], 4, 12);
        settings.size_sigma = 0.2;
        let player = Player::new(Time::ZERO, settings, 7, "video");
        let sizes: Vec<f64> = (0..2000).map(|i| player.size(i, 1) as f64).collect();
        let mean = sojourn_results::estimators::mean(&sizes);
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert_eq!(player.size(5, 0), player.clone().size(5, 0));
    }
}
