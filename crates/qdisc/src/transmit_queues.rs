//! Disciplines of Linux for devices with several transmit queues. A bottleneck is a device with one, on which the kernel
//! refuses them, too (`-EOPNOTSUPP`: `mq_init` in `net/sched/sch_mq.c`, `mqprio_init` in `sch_mqprio.c`, `multiq_init` in
//! `sch_multiq.c`, `taprio_init` in `sch_taprio.c`, `cake_mq_init` in `sch_cake.c`, Linux 7.3).

/// The disciplines, with what to write instead.
const ALL: &[(&str, &str)] = &[
    ("cake_mq", "write cake: cake_mq puts one on each transmit queue"),
    ("mq", "write the discipline of the one transmit queue by itself"),
    ("mqprio", "write a discipline for one transmit queue"),
    ("multiq", "write a discipline for one transmit queue"),
    ("taprio", "write a discipline for one transmit queue"),
];

/// Why there is no discipline of this name at a bottleneck, and what to write instead: it needs a device with several transmit
/// queues. `None` of all other names.
///
/// ```
/// let (why, help) = sojourn_qdisc::needs_transmit_queues("cake_mq").unwrap();
/// assert!(why.contains("one transmit queue") && help.starts_with("write cake"));
/// assert_eq!(sojourn_qdisc::needs_transmit_queues("cake"), None);
/// ```
pub fn needs_transmit_queues(name: &str) -> Option<(String, &'static str)> {
    let (name, help) = ALL.iter().find(|(own, _)| *own == name)?;
    let why = format!(
        "{name} is for a device with several transmit queues, and a bottleneck has one transmit queue"
    );
    Some((why, help))
}
