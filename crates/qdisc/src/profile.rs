//! The differences between the kernels that provide the modelled queue disciplines.
//!
//! A stack (`sojourn stacks NAME`) is assembled elsewhere from several such tables; this is the part that
//! concerns queues. A switch is one field here, one line in each constant below, and a question in the
//! discipline; nothing compares version numbers anywhere else.

/// How PIE learns the queueing delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PieEstimator {
    /// Always from the departure rate and the backlog (Little's law); there is no choice. Linux up to 5.4.
    DepartureRate,
    /// From a time stamp in each packet, unless `dq_rate_estimator` asks for the former. Linux 5.5 and later.
    Timestamp,
}

/// Which DualPI2 the kernel has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DualPi2 {
    /// The L4S team's of 2020 and 2021: a packet that found at most one packet in L is exempt from the step, no
    /// memory limit, and a step threshold in packets acts as a thousand times as many (the kernel takes it for
    /// microseconds).
    L4sTeam,
    /// Mainline's, from 6.17 on. Earlier mainline kernels have none; profiles of theirs have this one too.
    Mainline,
}

/// Which details CoDel's law has, in `codel` and in `fq_codel` (`include/net/codel_impl.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodelLaw {
    /// A queue that is found empty keeps the time at which it rose above target, so that a packet which comes long after
    /// may be the first to be dropped. One dequeue drops as many packets as are due, and where a short interval or a high
    /// count makes the next one due at once, all of them. Up to 5.10 at the least.
    Unbounded,
    /// A queue that is found empty starts over. One dequeue drops at most 256 packets, and drops due beyond that number
    /// are forgotten; signals are at least 1.024 us apart. Linux 7.3.
    Bounded,
}

/// The switches of one kernel's queue disciplines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QdiscQuirks {
    /// The stack's name.
    pub name: &'static str,
    /// Timer interrupts a second (`CONFIG_HZ`). PIE's update interval is rounded up to whole ones, and the timer fires one
    /// later: its default of 15 ms becomes 20 ms at 250, which Debian and Ubuntu built their kernels with; the testbeds'
    /// own is not published.
    pub hz: u32,
    /// PIE's delay estimator.
    pub pie_estimator: PieEstimator,
    /// CoDel's law.
    pub codel: CodelLaw,
    /// Bits of PIE's probability: 64, or 56 since 5.6.
    pub pie_probability_bits: u32,
    /// fq_codel sets `drop_batch` to the *lesser* of 1 and the value asked for (a bug in
    /// `net/sched/sch_fq_codel.c` up to 5.5).
    pub fq_codel_drop_batch_bug: bool,
    /// CAKE's `diffserv3` puts RFC 8622's lower effort (DSCP 1) into the bulk tin (5.8 and later).
    pub cake_lower_effort: bool,
    /// RED with `adaptive` adapts: tc puts the word into `tc_red_qopt.flags`, as iproute2 up to 5.6 does. Later ones put it into
    /// the bit field `TCA_RED_FLAGS` alone, and the kernel starts the timer by the former (`__red_change` in
    /// `net/sched/sch_red.c`, 5.7 to 7.3).
    pub red_adapts: bool,
    /// fq_codel has `ce_threshold_selector` (5.17 and later).
    pub fq_codel_ce_threshold_selector: bool,
    /// Which DualPI2 it has.
    pub dualpi2: DualPi2,
    /// The disciplines with SCE mirror a schedule at rest, too, so that a new flow's first mark waits for the queue to
    /// fall below the SCE target and rise above it with the next packet (chromi/sce up to 2020).
    pub sce_mirrors_at_rest: bool,
}

impl QdiscQuirks {
    /// Mainline 7.3, the default.
    pub const LINUX_7_3: Self = Self {
        name: "linux-7.3",
        hz: 250,
        codel: CodelLaw::Bounded,
        pie_estimator: PieEstimator::Timestamp,
        pie_probability_bits: 56,
        fq_codel_drop_batch_bug: false,
        cake_lower_effort: true,
        red_adapts: false,
        fq_codel_ce_threshold_selector: true,
        dualpi2: DualPi2::Mainline,
        sce_mirrors_at_rest: false,
    };

    /// Mainline 5.10.
    pub const LINUX_5_10: Self = Self {
        name: "linux-5.10",
        codel: CodelLaw::Unbounded,
        fq_codel_ce_threshold_selector: false,
        ..Self::LINUX_7_3
    };

    /// Mainline 5.4, on which the test kernels of 2020 are built.
    pub const LINUX_5_4: Self = Self {
        name: "linux-5.4",
        pie_estimator: PieEstimator::DepartureRate,
        pie_probability_bits: 64,
        fq_codel_drop_batch_bug: true,
        cake_lower_effort: false,
        red_adapts: true,
        ..Self::LINUX_5_10
    };

    /// The L4S team's kernel of April 2020, 5.4-rc3. It ticks in milliseconds: tc printed the default of PIE's `tupdate` as
    /// 15.0ms after the re-run of 25 April (`ect1_qdisc.csv`), where the kernel rounds up to ticks and 250 a second would
    /// have made it 16.0. The configuration of the other 5.4 kernels is unknown; they are taken to have the same.
    pub const L4STEAM_2020_04: Self =
        Self { name: "l4steam-2020-04", dualpi2: DualPi2::L4sTeam, hz: 1000, ..Self::LINUX_5_4 };

    /// The same with a fix to Prague, in which its queues are the same.
    pub const L4STEAM_2020_04_FIXED: Self =
        Self { name: "l4steam-2020-04-fixed", ..Self::L4STEAM_2020_04 };

    /// The L4S team's of March 2020, 5.4-rc3, on the bed of November's: its queues are taken to be April's.
    pub const L4STEAM_2020_03: Self = Self { name: "l4steam-2020-03", ..Self::L4STEAM_2020_04 };

    /// The L4S team's of August 2020, 5.4-rc3.
    pub const L4STEAM_2020_08: Self = Self { name: "l4steam-2020-08", ..Self::L4STEAM_2020_04 };

    /// The L4S team's 5.4-rc3 of November 2020.
    pub const L4STEAM_2020_11: Self = Self { name: "l4steam-2020-11", ..Self::L4STEAM_2020_04 };

    /// The L4S team's of June 2021, 5.10.
    pub const L4STEAM_2021_06: Self =
        Self { name: "l4steam-2021-06", dualpi2: DualPi2::L4sTeam, ..Self::LINUX_5_10 };

    /// The L4S team's of 2024, 5.15.72. That its fq_codel has the selector is inferred: all nodes of PAM 2025's bed had this
    /// kernel, and its router used the selector.
    pub const L4STEAM_2024: Self = Self {
        name: "l4steam-2024",
        fq_codel_ce_threshold_selector: true,
        ..Self::L4STEAM_2021_06
    };

    /// The SCE project's of March 2020, of 5.4's time.
    pub const SCE_2020_03: Self =
        Self { name: "sce-2020-03", sce_mirrors_at_rest: true, ..Self::LINUX_5_4 };

    /// The same with its bugs fixed, which no kernel has.
    pub const SCE_2020_03_FIXED: Self =
        Self { name: "sce-2020-03-fixed", sce_mirrors_at_rest: false, ..Self::SCE_2020_03 };

    /// Every profile, the default first.
    pub const ALL: &'static [Self] = &[
        Self::LINUX_7_3,
        Self::LINUX_5_10,
        Self::LINUX_5_4,
        Self::L4STEAM_2020_03,
        Self::L4STEAM_2020_04,
        Self::L4STEAM_2020_04_FIXED,
        Self::L4STEAM_2020_08,
        Self::L4STEAM_2020_11,
        Self::L4STEAM_2021_06,
        Self::L4STEAM_2024,
        Self::SCE_2020_03,
        Self::SCE_2020_03_FIXED,
    ];

    /// The profile called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|profile| profile.name == name)
    }
}

impl Default for QdiscQuirks {
    fn default() -> Self {
        Self::LINUX_7_3
    }
}
