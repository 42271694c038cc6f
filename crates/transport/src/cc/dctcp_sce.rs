//! `dctcp-sce` (chromi/sce `net/ipv4/tcp_dctcp_sce.c` at 9fae76b9; docs/sources/sce.md#senders): Reno's growth, and each segment
//! that is acknowledged with ESCE takes off half a segment: DCTCP's answer without its average. The rest, bugs
//! included, is [`super::sce`]'s.

use super::Info;
use super::sce::{GAUGES, Linear, Response};

/// See the module.
pub type DctcpSce = Linear<Half>;

/// A window of ESCE takes half of the window.
#[derive(Clone, Debug)]
pub struct Half;

impl Response for Half {
    const INFO: Info = Info {
        name: "dctcp-sce",
        summary: "Reno that answers to SCE as DCTCP does to CE: ESCE takes off half of what it acknowledges",
        source: "draft-morton-tsvwg-sce; chromi/sce net/ipv4/tcp_dctcp_sce.c",
        gauges: GAUGES,
        options: &[],
    };

    fn taken(acked: i64, cwnd: u32, _root: u32) -> i64 {
        acked * i64::from(cwnd) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::sce::tests::{ack, beyond_slow_start, quirks};
    use crate::stack::SceSenders;

    /// An ACK of two with ESCE takes one segment. As published it takes 2.7: two, and 0.7 of 100 is carried.
    #[test]
    fn esce_takes_half_of_what_it_acknowledges() {
        let mut t = beyond_slow_start(100);
        let mut c = DctcpSce::new(&quirks(SceSenders::Corrected));
        c.init(&t.view, &mut t.control);
        c.in_ack_event(&t.view, &mut t.control, ack(2, true));
        c.in_ack_event(&t.view, &mut t.control, ack(2, true));
        assert_eq!(t.control.cwnd, 98);
        let mut t = beyond_slow_start(100);
        let mut c = DctcpSce::new(&quirks(SceSenders::Published));
        c.init(&t.view, &mut t.control);
        c.in_ack_event(&t.view, &mut t.control, ack(2, true));
        assert_eq!(t.control.cwnd, 98);
        let mut count = f64::NAN;
        c.gauges(&t.view, &t.control, &mut |name, value| {
            if name == "cwnd_cnt" {
                count = value;
            }
        });
        // 0.7015 segments of a window of 100 are 0.7158 of one of 98.
        assert!((count + (1448.0 / 536.0 - 2.0) * 100.0 / 98.0).abs() < 1e-9, "{count}");
    }

    /// With a share x of ESCE: (1 − x) = x·cwnd/2. At 0.05 it is 38 segments.
    #[test]
    fn it_stands_where_what_is_taken_is_what_is_given() {
        let mut t = beyond_slow_start(20);
        let mut c = DctcpSce::new(&quirks(SceSenders::Corrected));
        c.init(&t.view, &mut t.control);
        let (mut sum, mut n) = (0.0, 0.0);
        for i in 0..200_000_u32 {
            c.in_ack_event(&t.view, &mut t.control, ack(1, i % 20 == 0));
            if i > 100_000 {
                (sum, n) = (sum + f64::from(t.control.cwnd), n + 1.0);
            }
        }
        assert!((sum / n / 38.0 - 1.0).abs() < 0.1, "{}", sum / n);
    }
}
