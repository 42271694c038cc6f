use crate::bench::{Bench, ms, pkt};
use sojourn_qdisc::Reason;

/// The third packet takes the place of the first; a lowered limit shortens nothing, and each packet still takes one's place.
#[test]
fn a_full_head_drop_queue_drops_the_oldest() {
    let mut b = Bench::new("pfifo_head_drop limit 2");
    (1..=3).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(1, Reason::Overlimit)]);
    b.change(ms(1), "pfifo_head_drop limit 1");
    b.put(ms(1), pkt(4));
    assert_eq!(b.log.drops(), [(1, Reason::Overlimit), (2, Reason::Overlimit)]);
    assert_eq!([b.get(ms(2)).id, b.get(ms(2)).id], [3, 4]);
    assert_eq!((b.stats().packets, b.stats().dropped), (2, 2));
}
