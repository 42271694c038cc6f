//! Whether the machine let a live run measure its queue.
//!
//! A relay in user space that got no processor, or lost frames, measures the machine and not the queue. The limits are
//! those of docs/live.md; a run beyond one of them is not valid, and no verdict uses it.

/// 99 % of the packets have to leave this early after the model's time, s.
pub const MOST_LATE_S: f64 = 1e-3;
/// The relay may be stopped for this share of the run: departures or frames waited for it by more than a millisecond.
pub const MOST_STOPPED: f64 = 0.01;
/// The relay may be busy for this share of the run, unless it was asked to spin.
pub const MOST_BUSY: f64 = 0.95;

/// What the machine did to a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Validity {
    /// How late packets left: median, s.
    pub late_p50_s: f64,
    /// 99th percentile, s.
    pub late_p99_s: f64,
    /// The latest, s.
    pub late_max_s: f64,
    /// Frames that the relay's sockets had no room for.
    pub overrun: u64,
    /// Packets that an interface did not take.
    pub unsent: u64,
    /// Frames longer than a packet may be.
    pub oversized: u64,
    /// Frames of nobody's.
    pub unknown: u64,
    /// Frames that arrived; super-packets count once.
    pub frames: u64,
    /// Super-packets among them.
    pub super_packets: u64,
    /// Packets that left the relay as a part of a super-packet, less those packets.
    pub joined: u64,
    /// Share of the run in which a departure was due or a frame waited, by more than a millisecond, and the relay did not run.
    pub stopped: f64,
    /// Steps of the real-time clock.
    pub clock_steps: u64,
    /// CPU time of the relay, as a share of the run's length.
    pub relay_cpu: f64,
    /// Whether the relay was asked never to sleep.
    pub spin: bool,
    /// Share of the machine's processors that was busy; NaN where nobody knows.
    pub busy: f64,
    /// Share that the hypervisor took away; NaN where nobody knows.
    pub stolen: f64,
}

impl Validity {
    /// Why the run is not valid; empty if it is.
    pub fn faults(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.late_p99_s > MOST_LATE_S {
            let (late, most) = (self.late_p99_s * 1e3, MOST_LATE_S * 1e3);
            found.push(format!("packets left late: 99 % within {late:.2} ms, limit {most} ms"));
        }
        if self.stopped > MOST_STOPPED {
            let (percent, most) = (self.stopped * 100.0, MOST_STOPPED * 100.0);
            found.push(format!(
                "the relay was stopped for {percent:.1} % of the run, limit {most} %"
            ));
        }
        if self.overrun > 0 {
            found.push(format!("{} frames were lost before the relay read them", self.overrun));
        }
        if self.unsent > 0 {
            found.push(format!("{} packets were not taken by an interface", self.unsent));
        }
        if !self.spin && self.relay_cpu > MOST_BUSY {
            let percent = self.relay_cpu * 100.0;
            found.push(format!("the relay was busy for {percent:.0} % of the run"));
        }
        found
    }

    /// Names and values for the table `totals`.
    pub fn totals(&self) -> [(&'static str, f64); 16] {
        [
            ("valid", f64::from(u8::from(self.faults().is_empty()))),
            ("lateness_p50_s", self.late_p50_s),
            ("lateness_p99_s", self.late_p99_s),
            ("lateness_max_s", self.late_max_s),
            ("socket_drops", self.overrun as f64),
            ("unsent_packets", self.unsent as f64),
            ("oversized_frames", self.oversized as f64),
            ("unknown_frames", self.unknown as f64),
            ("frames", self.frames as f64),
            ("super_packets", self.super_packets as f64),
            ("joined_packets", self.joined as f64),
            ("relay_stopped_share", self.stopped),
            ("clock_steps", self.clock_steps as f64),
            ("relay_cpu_share", self.relay_cpu),
            ("machine_busy_share", self.busy),
            ("stolen_share", self.stolen),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Validity = Validity {
        late_p50_s: 1e-6,
        late_p99_s: 1e-4,
        late_max_s: 3e-3,
        overrun: 0,
        unsent: 0,
        oversized: 0,
        unknown: 0,
        frames: 10,
        super_packets: 0,
        joined: 0,
        stopped: 0.001,
        clock_steps: 0,
        relay_cpu: 0.4,
        spin: false,
        busy: 0.5,
        stolen: 0.0,
    };

    #[test]
    fn each_limit_makes_a_run_invalid() {
        assert_eq!(GOOD.faults(), [] as [&str; 0]);
        assert_eq!(GOOD.totals()[0], ("valid", 1.0));
        let bad = [
            Validity { late_p99_s: 1.1e-3, ..GOOD },
            Validity { stopped: 0.011, ..GOOD },
            Validity { overrun: 1, ..GOOD },
            Validity { unsent: 1, ..GOOD },
            Validity { relay_cpu: 0.96, ..GOOD },
        ];
        for one in bad {
            assert_eq!(one.faults().len(), 1, "{one:?}");
            assert_eq!(one.totals()[0], ("valid", 0.0));
        }
        assert!(Validity { relay_cpu: 1.0, spin: true, ..GOOD }.faults().is_empty());
    }

    /// Without any packet nothing is late.
    #[test]
    fn a_run_without_packets_is_valid() {
        let empty = Validity { late_p50_s: f64::NAN, late_p99_s: f64::NAN, ..GOOD };
        assert!(empty.faults().is_empty());
    }
}
