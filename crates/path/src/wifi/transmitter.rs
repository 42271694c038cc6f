//! One end of the link: its frames at each turn, their rate, and their fate.
//!
//! Frames are numbered when they come out of the queue. An exchange takes the oldest that are not acknowledged and then
//! new ones, as many as fit into the airtime and the length of an A-MPDU and the window of 64. Each is lost by itself;
//! a lost frame goes into the next exchange until it has been sent `retries` times more, and is then given up. The
//! receiver passes frames on in order: behind a missing one they wait (IEEE 802.11-2016, 10.24.7.6.2).
//!
//! The channel's quality is a place on the ladder of rates, which moves to a neighbour or stays after an exponential
//! time. At that rate or below a frame is lost with probability `frame_errors`, one step above with one half, above that
//! always: a design, instead of a curve of error over signal. The sender does not know it. It follows by ARF (Kamerman,
//! Monteban 1997): down a step after two failed exchanges in a row, up after ten good ones, and down again if the first
//! after going up fails; an exchange has failed if half of it or more was lost, by a collision too.
//!
//! Invariants: every frame that is taken is passed on once, in order, or given up; draws are made in the order of
//! exchanges.

use super::airtime::{self, REPLY, WINDOW};
use super::channel::{Channel, Turn};
use crate::{PathPacket, SkbCharge, Sojourn};
use sojourn_model::Wifi;
use sojourn_units::{Random, Rate, Serializer, Span, Time, sample};
use std::collections::VecDeque;

/// Failed exchanges in a row after which the rate goes down (ARF).
const DOWN_AFTER: u32 = 2;
/// Good ones after which it goes up.
const UP_AFTER: u32 = 10;

/// A frame between the queue and the receiver's upper side.
#[derive(Clone, Debug)]
struct Frame<P> {
    packet: P,
    sojourn: Sojourn,
    tries: u32,
    fate: Fate,
}

/// What has become of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Not received yet.
    Open,
    /// The receiver has it.
    Received,
    /// Sent too often.
    GivenUp,
}

/// ARF: a place on the ladder.
#[derive(Clone, Copy, Default, Debug)]
struct Fallback {
    at: usize,
    good: u32,
    bad: u32,
    /// The last step was up, and nothing has been sent since.
    probing: bool,
}

impl Fallback {
    fn learn(&mut self, failed: bool, steps: usize) {
        if failed {
            (self.good, self.bad) = (0, self.bad + 1);
            if self.bad >= DOWN_AFTER || self.probing {
                self.at = self.at.saturating_sub(1);
                self.bad = 0;
            }
            self.probing = false;
            return;
        }
        (self.good, self.bad, self.probing) = (self.good + 1, 0, false);
        if self.good >= UP_AFTER {
            self.good = 0;
            self.probing = self.at + 1 < steps;
            self.at = (self.at + 1).min(steps - 1);
        }
    }
}

/// The next action.
#[derive(Debug)]
pub enum Served<P> {
    /// This frame is passed on now.
    Packet(P, Sojourn),
    /// This one is given up.
    GivenUp(P),
    /// Nothing before this time.
    Later(Time),
}

/// The sender and the receiver of one direction.
#[derive(Clone, Debug)]
pub struct Transmitter<P> {
    station: usize,
    settings: Wifi,
    quality: usize,
    next_change: Time,
    fallback: Fallback,
    frames: VecDeque<Frame<P>>,
    /// In order: when each has been passed on, or given up.
    done: VecDeque<(Time, Fate, Sojourn, P)>,
    line: Serializer,
    line_free: Time,
    /// The packets that exchanges have settled since the last question, and when their replies came.
    settled: Vec<(Time, Option<SkbCharge>)>,
    /// When its turn may be.
    turn: Time,
    changes: Random,
    losses: Random,
}

impl<P: PathPacket> Transmitter<P> {
    /// Station `station` of its channel, with nothing to send; streams for the channel's quality and for losses.
    pub fn new(station: usize, settings: &Wifi, mut changes: Random, losses: Random) -> Self {
        let steps = settings.rates.len();
        let quality = changes.below(steps as u64) as usize;
        let next_change = Time::ZERO + dwell(settings, &mut changes);
        Self {
            station,
            settings: settings.clone(),
            quality,
            next_change,
            fallback: Fallback { at: quality, ..Fallback::default() },
            frames: VecDeque::new(),
            done: VecDeque::new(),
            line: Serializer::new(settings.line),
            line_free: Time::ZERO,
            settled: Vec::new(),
            turn: Time::ZERO,
            changes,
            losses,
        }
    }

    /// From now on there is this rate alone.
    pub fn set_rate(&mut self, rate: Rate) {
        self.settings.rates = vec![rate];
        (self.quality, self.fallback) = (0, Fallback::default());
    }

    /// The channel's place on the ladder at `now`.
    fn quality(&mut self, now: Time) -> usize {
        while self.next_change <= now {
            self.next_change += dwell(&self.settings, &mut self.changes);
            let low = self.quality.saturating_sub(1);
            let high = (self.quality + 1).min(self.settings.rates.len() - 1);
            self.quality = low + self.changes.below((high - low + 1) as u64) as usize;
        }
        self.quality
    }

    /// Does what is to be done at `now`. `queued` packets wait, `next` gives the next of them and its sojourn.
    pub fn serve(
        &mut self,
        now: Time,
        channel: &mut Channel,
        queued: u32,
        next: impl FnMut() -> Option<(P, Sojourn)>,
    ) -> Served<P> {
        if self.done.front().is_some_and(|d| d.0 <= now)
            && let Some((_, fate, sojourn, packet)) = self.done.pop_front()
        {
            return match fate {
                Fate::Received => Served::Packet(packet, sojourn),
                Fate::Open | Fate::GivenUp => Served::GivenUp(packet),
            };
        }
        let mut turn = Time::NEVER;
        if self.wants(queued) {
            turn = self.turn;
            if turn <= now {
                turn = match channel.turn(now, self.station) {
                    Turn::Wait(at) => at,
                    Turn::Send { collides } => self.exchange(now, channel, collides, queued, next),
                };
                self.turn = turn;
            }
        }
        let done = self.done.front().map_or(Time::NEVER, |d| d.0);
        Served::Later(turn.min(done))
    }

    /// Whether there is a frame that may be sent: lost ones, or new ones that the window has room for.
    fn wants(&self, queued: u32) -> bool {
        self.frames.iter().any(|f| f.fate == Fate::Open)
            || (queued > 0 && self.frames.len() < WINDOW)
    }

    /// Sends; says when the channel is idle again.
    fn exchange(
        &mut self,
        now: Time,
        channel: &mut Channel,
        collides: bool,
        mut queued: u32,
        mut next: impl FnMut() -> Option<(P, Sojourn)>,
    ) -> Time {
        let quality = self.quality(now);
        let steps = self.settings.rates.len();
        let place = self.fallback.at.min(steps - 1);
        let rate = self.settings.rates[place];
        let room = |count: u32, total: u32| {
            count < self.settings.frames
                && total <= airtime::LONGEST_AMPDU
                && airtime::ampdu(total, rate) <= self.settings.airtime
        };
        let (mut count, mut total) = (0_u32, 0_u32);
        let mut sent = Vec::new();
        for (i, frame) in self.frames.iter().enumerate().filter(|f| f.1.fate == Fate::Open) {
            let with = total + airtime::subframe(frame.packet.wire_len());
            if count > 0 && !room(count, with) {
                break;
            }
            (count, total) = (count + 1, with);
            sent.push(i);
        }
        // A new frame is taken out of the queue only if one as long as any would fit.
        let any = airtime::subframe(1514);
        while self.frames.len() < WINDOW && (count == 0 || room(count, total + any)) {
            let Some((packet, sojourn)) = next() else { break };
            queued = queued.saturating_sub(1);
            (count, total) = (count + 1, total + airtime::subframe(packet.wire_len()));
            sent.push(self.frames.len());
            self.frames.push_back(Frame { packet, sojourn, tries: 0, fate: Fate::Open });
        }
        let error = match place.saturating_sub(quality) {
            0 => self.settings.frame_errors,
            1 => 0.5_f64.max(self.settings.frame_errors),
            _ => 1.0,
        };
        let data = airtime::ampdu(total, rate);
        let mut lost = 0;
        for &i in &sent {
            let frame = &mut self.frames[i];
            frame.tries += 1;
            // Drawn in any case, so that a collision does not shift what comes after.
            let fails = self.losses.unit() < error || collides;
            frame.fate = match fails {
                false => Fate::Received,
                true if frame.tries > self.settings.retries => Fate::GivenUp,
                true => Fate::Open,
            };
            lost += usize::from(fails);
            if frame.fate != Fate::Open {
                self.settled.push((now + data + REPLY, frame.packet.charge()));
            }
        }
        self.fallback.learn(2 * lost >= sent.len(), steps);
        self.release(now + data);
        let more = self.wants(queued);
        channel.send(now, self.station, data, lost < sent.len(), more)
    }

    /// Frames that the sender is done with since this was last asked: acknowledged, or given up. When the reply came that
    /// said so, and what each counts on its socket's account.
    pub fn take_settled(&mut self) -> impl Iterator<Item = (Time, Option<SkbCharge>)> {
        self.settled.drain(..)
    }

    /// What is in order at `end` is passed on, or given up.
    fn release(&mut self, end: Time) {
        while self.frames.front().is_some_and(|f| f.fate != Fate::Open)
            && let Some(Frame { packet, sojourn, fate, .. }) = self.frames.pop_front()
        {
            let mut at = self.line_free.max(end);
            if fate == Fate::Received {
                at = self.line.finish(at, u64::from(packet.wire_len()));
            }
            self.line_free = at;
            self.done.push_back((at, fate, sojourn, packet));
        }
    }

    /// Frames held.
    pub fn held(&self) -> impl Iterator<Item = &P> {
        self.frames.iter().map(|f| &f.packet).chain(self.done.iter().map(|d| &d.3))
    }

    /// Gives up whatever is held.
    pub fn into_held(self) -> impl Iterator<Item = P> {
        self.frames.into_iter().map(|f| f.packet).chain(self.done.into_iter().map(|d| d.3))
    }
}

fn dwell(settings: &Wifi, random: &mut Random) -> Span {
    sample::exponential(settings.dwell, random).max(Span::from_nanos(1))
}

#[cfg(test)]
#[path = "transmitter_tests.rs"]
mod tests;
