//! A timer of the kernel, which ends when it is asked to and not at a whole millisecond.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// One that ends at a time.
#[derive(Debug)]
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// Ends then.
    pub fn new(at: Instant) -> Self {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)
            .expect("the kernel has timers");
        #[expect(deprecated, reason = "an OwnedFd is open as long as it is watched")]
        let mut timer = Self(AsyncFd::new(fd).expect("tokio watches descriptors"));
        timer.arm(at);
        timer
    }

    /// Ends at another time.
    pub fn arm(&mut self, at: Instant) {
        // Zero would stop the timer.
        let left = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let value =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)
            .expect("a time of its clock");
    }

    /// Whether it has ended.
    pub fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx)).expect("it is open");
            if rustix::io::read(self.0.get_ref(), &mut [0_u8; 8]).is_ok() {
                return Poll::Ready(());
            }
            ready.clear_ready();
        }
    }
}
