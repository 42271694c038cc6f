//! Messages of `time-travel=ext`, and what one guest's clock knows (`include/uapi/linux/um_timetravel.h`, 7.3).
//!
//! Invariants: a message is 16 bytes, in the machine's own byte order, since both ends are on one machine; the guest's times
//! count from its own start.

use crate::NEVER;

/// Bytes of a message.
pub const MESSAGE: usize = 16;

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Op {
    /// An answer, by either end.
    Ack = 0,
    /// A guest has connected; its time is the guest's number.
    Start = 1,
    /// A guest asks to run at a time. The newest request replaces the one before.
    Request = 2,
    /// A guest stops until it may run.
    Wait = 3,
    /// A guest asks for the time.
    Get = 4,
    /// The running guest says its time.
    Update = 5,
    /// To a guest: run now.
    Run = 6,
    /// To the running guest: go on without asking up to this time, which is not included.
    FreeUntil = 7,
    /// A guest asks for the time of day.
    GetTod = 8,
    /// A number for all other guests.
    Broadcast = 9,
}

impl Op {
    const ALL: [Self; 10] = [
        Self::Ack,
        Self::Start,
        Self::Request,
        Self::Wait,
        Self::Get,
        Self::Update,
        Self::Run,
        Self::FreeUntil,
        Self::GetTod,
        Self::Broadcast,
    ];

    /// Its name in the kernel's header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ack => "ACK",
            Self::Start => "START",
            Self::Request => "REQUEST",
            Self::Wait => "WAIT",
            Self::Get => "GET",
            Self::Update => "UPDATE",
            Self::Run => "RUN",
            Self::FreeUntil => "FREE_UNTIL",
            Self::GetTod => "GET_TOD",
            Self::Broadcast => "BROADCAST",
        }
    }
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// What it is.
    pub op: Op,
    /// Its number, which the answer repeats.
    pub seq: u32,
    /// Nanoseconds of the guest's clock, a number of [`Op::Broadcast`], the guest's own of [`Op::Start`].
    pub time: u64,
}

impl Message {
    /// From bytes; without an operation of that number, the number.
    ///
    /// # Errors
    /// The operation is unknown.
    pub fn read(bytes: &[u8; MESSAGE]) -> Result<Self, u32> {
        let [o0, o1, o2, o3, s0, s1, s2, s3, time @ ..] = *bytes;
        let op = u32::from_ne_bytes([o0, o1, o2, o3]);
        let known = Op::ALL.get(op as usize).copied().ok_or(op)?;
        let seq = u32::from_ne_bytes([s0, s1, s2, s3]);
        Ok(Self { op: known, seq, time: u64::from_ne_bytes(time) })
    }

    /// As bytes.
    pub fn bytes(&self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }
}

/// A request later than this is no request: an idle guest asks for the end of its time.
const IDLE: u64 = 1 << 62;

/// How far a guest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has not connected.
    Absent,
    /// It has sent START, with this number of the message, and waits for the answer.
    Started(u32),
    /// It runs.
    Running,
    /// It waits for RUN.
    Waiting,
    /// It has gone.
    Gone,
}

/// A guest's clock, as this process knows it. All times are the calendar's but those in messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clock {
    /// How far the guest is.
    pub state: State,
    /// When it wants to run; [`NEVER`] if it does not.
    pub request: u64,
    /// Up to where it may run by itself, once it has been given a time.
    pub free: Option<u64>,
    /// Whether it shares the calendar's memory: it then says its time and its request there, and neither WAIT nor RUN has an
    /// answer.
    pub shares: bool,
    /// The calendar's time at its start, where its own clock is 0.
    offset: u64,
    /// The number of the last message to it.
    seq: u32,
    /// Messages to it that it has not answered.
    open: u32,
}

/// A guest's message that does not belong where it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misplaced {
    /// START a second time, or another message before it.
    Order(State),
    /// An answer to another message than the oldest that has none: its number, and that of the right one.
    Answer(u32, Option<u32>),
    /// A time before the calendar's, or at or behind the end of its free time: it, and the calendar's.
    Time(u64, u64),
    /// A message that only the calendar sends.
    Ours,
}

/// What a message asks of the calendar, apart from an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// Nothing.
    Nothing,
    /// The guest's time is now this.
    Time(u64),
    /// A guest has answered the message of this number.
    Answered(u32),
    /// The guest has a new request: what runs may have to stop earlier.
    Requested,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            state: State::Absent,
            request: NEVER,
            free: None,
            shares: false,
            offset: 0,
            seq: 0,
            open: 0,
        }
    }
}

impl Clock {
    /// Takes a message at the calendar's time; `tod` is the time of day at its 0, in nanoseconds since 1970. Returns the
    /// answer to send, and what the message asks.
    ///
    /// # Errors
    /// The message does not belong here.
    pub fn take(
        &mut self,
        message: &Message,
        now: u64,
        tod: u64,
    ) -> Result<(Option<Message>, Asks), Misplaced> {
        let begun = matches!(self.state, State::Running | State::Waiting);
        if !begun && message.op != Op::Start {
            return Err(Misplaced::Order(self.state));
        }
        let answer = |time| Some(Message { op: Op::Ack, seq: message.seq, time });
        match message.op {
            Op::Start if self.state == State::Absent => {
                self.state = State::Started(message.seq);
                Ok((None, Asks::Nothing))
            }
            Op::Ack => {
                let right = (self.open > 0).then(|| self.seq.wrapping_sub(self.open - 1));
                if right != Some(message.seq) {
                    return Err(Misplaced::Answer(message.seq, right));
                }
                self.open -= 1;
                Ok((None, Asks::Answered(message.seq)))
            }
            Op::Request => {
                self.ask(message.time.saturating_add(self.offset), now);
                Ok((answer(0), Asks::Requested))
            }
            Op::Wait if self.state == State::Running => {
                (self.state, self.free) = (State::Waiting, None);
                Ok((answer(0).filter(|_| !self.shares), Asks::Nothing))
            }
            Op::Start | Op::Wait => Err(Misplaced::Order(self.state)),
            Op::Get => Ok((answer(now - self.offset), Asks::Nothing)),
            Op::Update => {
                let time = message.time.saturating_add(self.offset);
                self.reaches(time, now).map(|()| (answer(0), Asks::Time(time)))
            }
            Op::GetTod => Ok((answer(tod.saturating_add(now)), Asks::Nothing)),
            Op::Broadcast => Ok((answer(0), Asks::Nothing)),
            Op::Run | Op::FreeUntil => Err(Misplaced::Ours),
        }
    }

    /// The guest wants to run at a time of the calendar. A request of the past is one for now.
    pub fn ask(&mut self, time: u64, now: u64) {
        self.request = if time >= IDLE { NEVER } else { time.max(now) };
    }

    /// The guest, which runs, says that it has come to a time of the calendar.
    ///
    /// # Errors
    /// If it does not run, or cannot have come there.
    pub fn reaches(&self, time: u64, now: u64) -> Result<(), Misplaced> {
        if self.state != State::Running {
            return Err(Misplaced::Order(self.state));
        }
        let end = self.free.unwrap_or(NEVER).max(now);
        if (now..=end).contains(&time) { Ok(()) } else { Err(Misplaced::Time(time, now)) }
    }

    /// The guest starts at the calendar's time: the answer to its START, with its number in the shared memory.
    pub fn begin(&mut self, now: u64, number: u16) -> Option<Message> {
        let State::Started(seq) = self.state else { return None };
        (self.state, self.offset, self.request) = (State::Running, now, NEVER);
        Some(Message { op: Op::Ack, seq, time: number.into() })
    }

    /// Lets the guest run at the calendar's time, as far as `free`, which is not included.
    pub fn run(&mut self, now: u64, free: u64) -> [Option<Message>; 2] {
        (self.state, self.request) = (State::Running, NEVER);
        if self.shares {
            self.free = Some(free);
            let run = self.send(Op::Run, now - self.offset);
            self.open -= 1;
            return [None, Some(run)];
        }
        let free = (free != NEVER).then(|| self.set_free(free));
        [free, Some(self.send(Op::Run, now - self.offset))]
    }

    /// Sets up to where the guest, which runs, may go on by itself.
    pub fn set_free(&mut self, free: u64) -> Message {
        self.free = Some(free);
        self.send(Op::FreeUntil, free.saturating_sub(self.offset))
    }

    /// The guest has gone.
    pub fn leave(&mut self) {
        (self.state, self.request, self.free) = (State::Gone, NEVER, None);
    }

    fn send(&mut self, op: Op, time: u64) -> Message {
        self.seq = self.seq.wrapping_add(1);
        self.open += 1;
        Message { op, seq: self.seq, time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(op: Op, seq: u32, time: u64) -> Message {
        Message { op, seq, time }
    }

    /// A guest that starts at 1000, asks for its own 50, runs, says its time, and waits.
    #[test]
    fn a_guest_runs_when_it_asked_to() {
        let mut clock = Clock::default();
        assert_eq!(clock.take(&of(Op::Start, 7, 1), 1000, 0), Ok((None, Asks::Nothing)));
        assert_eq!(clock.begin(1000, 0), Some(of(Op::Ack, 7, 0)));
        let (answer, asks) = clock.take(&of(Op::Request, 8, 50), 1000, 0).unwrap();
        assert_eq!((answer, asks), (Some(of(Op::Ack, 8, 0)), Asks::Requested));
        assert_eq!(clock.request, 1050);
        clock.take(&of(Op::Wait, 9, u64::MAX), 1000, 0).unwrap();
        assert_eq!(clock.state, State::Waiting);
        let sent = clock.run(1050, 1080);
        assert_eq!(sent, [Some(of(Op::FreeUntil, 1, 80)), Some(of(Op::Run, 2, 50))]);
        // It answers both, in their order and in no other.
        assert_eq!(clock.take(&of(Op::Ack, 2, 0), 1050, 0), Err(Misplaced::Answer(2, Some(1))));
        for seq in [1, 2] {
            let took = clock.take(&of(Op::Ack, seq, 0), 1050, 0);
            assert_eq!(took, Ok((None, Asks::Answered(seq))));
        }
        assert_eq!(clock.take(&of(Op::Ack, 3, 0), 1050, 0), Err(Misplaced::Answer(3, None)));
        let (_, asks) = clock.take(&of(Op::Update, 10, 60), 1050, 0).unwrap();
        assert_eq!(asks, Asks::Time(1060));
        let early = clock.take(&of(Op::Update, 11, 40), 1060, 0);
        assert_eq!(early, Err(Misplaced::Time(1040, 1060)));
        let late = clock.take(&of(Op::Update, 11, 81), 1060, 0);
        assert_eq!(late, Err(Misplaced::Time(1081, 1060)));
        let (answer, _) = clock.take(&of(Op::Get, 12, 0), 1060, 0).unwrap();
        assert_eq!(answer, Some(of(Op::Ack, 12, 60)));
    }

    #[test]
    fn an_idle_guest_has_no_request() {
        let mut clock = Clock::default();
        clock.take(&of(Op::Start, 1, 1), 0, 0).unwrap();
        clock.begin(0, 0);
        clock.take(&of(Op::Request, 2, i64::MAX as u64), 0, 0).unwrap();
        assert_eq!(clock.request, NEVER);
        assert_eq!(clock.run(5, NEVER)[0], None);
    }

    #[test]
    fn nothing_but_start_comes_first_and_that_once() {
        let mut clock = Clock::default();
        let before = clock.take(&of(Op::Wait, 1, 0), 0, 0);
        assert_eq!(before, Err(Misplaced::Order(State::Absent)));
        clock.take(&of(Op::Start, 1, 1), 0, 0).unwrap();
        assert!(clock.take(&of(Op::Start, 2, 1), 0, 0).is_err());
        clock.begin(0, 0);
        assert!(clock.take(&of(Op::Start, 2, 1), 0, 0).is_err());
        assert_eq!(clock.take(&of(Op::Run, 2, 1), 0, 0), Err(Misplaced::Ours));
    }

    /// Neither RUN nor WAIT has an answer then, and no end of the free time is sent.
    #[test]
    fn a_guest_that_shares_memory_says_less() {
        let mut clock = Clock::default();
        clock.take(&of(Op::Start, 1, 1), 10, 0).unwrap();
        assert_eq!(clock.begin(10, 1), Some(of(Op::Ack, 1, 1)));
        clock.shares = true;
        assert_eq!(clock.take(&of(Op::Wait, 2, 0), 10, 0), Ok((None, Asks::Nothing)));
        clock.ask(50, 10);
        assert_eq!(clock.request, 50);
        assert_eq!(clock.run(50, 70), [None, Some(of(Op::Run, 1, 40))]);
        assert_eq!(clock.reaches(70, 50), Ok(()));
        assert_eq!(clock.reaches(71, 50), Err(Misplaced::Time(71, 50)));
        assert_eq!(clock.take(&of(Op::Ack, 1, 0), 50, 0), Err(Misplaced::Answer(1, None)));
    }

    proptest! {
        /// Whatever comes, in whatever order: an answer or an error, and times that do not run back.
        #[test]
        fn any_messages(messages in prop::collection::vec((any::<[u8; 16]>(), 0_u32..11), 0..60)) {
            let (mut clock, mut now) = (Clock::default(), 5_u64);
            for (mut bytes, op) in messages {
                bytes[..4].copy_from_slice(&op.to_ne_bytes());
                let Ok(message) = Message::read(&bytes) else { continue };
                prop_assert_eq!(message.bytes(), bytes);
                if let Ok((_, Asks::Time(time))) = clock.take(&message, now, 0) {
                    prop_assert!(time >= now);
                    now = time;
                }
                if matches!(clock.state, State::Started(_)) {
                    clock.begin(now, 0);
                }
                if clock.state == State::Waiting && clock.request != NEVER {
                    now = now.max(clock.request);
                    clock.run(now, now.saturating_add(10));
                }
            }
        }
    }
}
