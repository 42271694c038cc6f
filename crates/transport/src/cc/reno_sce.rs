//! `reno-sce` (chromi/sce `net/ipv4/tcp_reno_sce.c` at 63982553; docs/sources/sce.md#senders): Reno's growth, and a window
//! that is acknowledged with ESCE throughout shrinks by its root. With a share x of ESCE it stands still where
//! x·√cwnd = 1 − x. The rest, bugs included, is [`super::sce`]'s.

use super::Info;
use super::sce::{GAUGES, Linear, Response};

/// See the module.
pub type RenoSce = Linear<Root>;

/// A window of ESCE takes the window's root.
#[derive(Clone, Debug)]
pub struct Root;

impl Response for Root {
    const INFO: Info = Info {
        name: "reno-sce",
        summary: "Reno that answers to SCE: a window of ESCE takes off its root",
        source: "draft-morton-tsvwg-sce; chromi/sce net/ipv4/tcp_reno_sce.c",
        gauges: GAUGES,
        options: &[],
    };

    fn taken(acked: i64, _cwnd: u32, root: u32) -> i64 {
        acked * i64::from(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::sce::tests::{ack, beyond_slow_start, quirks};
    use crate::stack::SceSenders;

    /// At 100 segments and a root of 10 each ACK of two with ESCE counts 2·10 of the 100 that are a segment: the fifth
    /// takes one. The root goes down with it to 9, so that of 99 it takes six ACKs of 18.
    #[test]
    fn a_window_of_esce_takes_its_root() {
        let mut t = beyond_slow_start(100);
        let mut c = RenoSce::new(&quirks(SceSenders::Corrected));
        c.init(&t.view, &mut t.control);
        // As many windows without as it takes the root to get there.
        (t.control.cwnd, t.control.ssthresh) = (1, 1);
        while t.control.cwnd < 100 {
            c.in_ack_event(&t.view, &mut t.control, ack(1, false));
        }
        t.control.ssthresh = 50;
        let mut cwnds = Vec::new();
        for _ in 0..15 {
            c.in_ack_event(&t.view, &mut t.control, ack(2, true));
            cwnds.push(t.control.cwnd);
        }
        assert_eq!(cwnds, [100, 100, 100, 100, 99, 99, 99, 99, 99, 99, 98, 98, 98, 98, 98]);
    }

    /// Where two ACKs of 21 say ESCE the balance is at a root of 19/2 = 9.5, between the whole roots of 81 segments and
    /// of 82. As published both sides are 2.7 times as large, and the balance is the same.
    #[test]
    fn it_stands_where_what_is_taken_is_what_is_given() {
        for sce in [SceSenders::Published, SceSenders::Corrected] {
            let mut t = beyond_slow_start(20);
            let mut c = RenoSce::new(&quirks(sce));
            c.init(&t.view, &mut t.control);
            let (mut sum, mut n) = (0.0, 0.0);
            for i in 0..200_000_u32 {
                c.in_ack_event(&t.view, &mut t.control, ack(1, i % 21 < 2));
                if i > 100_000 {
                    (sum, n) = (sum + f64::from(t.control.cwnd), n + 1.0);
                }
            }
            assert!((sum / n / 81.5 - 1.0).abs() < 0.03, "{sce:?}: {}", sum / n);
        }
    }
}
