//! The layout of `tc -s -d qdisc show`, to be compared by eye with a real one.

use crate::bench::{Bench, ms, pkt};
use sojourn_qdisc::table::DefaultValue;
use sojourn_qdisc::{AnyQdisc, Discipline, QdiscQuirks, Registry, disciplines};
use sojourn_units::{Ecn, Rate};

/// A queue that has seen a little of everything.
fn worn(words: &str) -> String {
    let mut b = Bench::new(words);
    (0..200).for_each(|id| b.put(ms(0), pkt(id).of(id % 3).ecn(Ecn::from_bits(id as u8))));
    for k in 0..150 {
        b.take(ms(k));
    }
    b.any.show()
}

/// The last flow stays listed until fq_codel is asked again, and htb does not ask it while it is empty: Linux 7.3.4 shows
/// one, too (`queue_state` of a `codel` cell of parity/video: 1 in 97 % of the samples of an idle queue).
#[test]
fn fq_codel_under_htb() {
    assert_eq!(
        worn("htb rate 50mbit fq_codel limit 150 ce_threshold 120ms"),
        "\
qdisc htb rate 50Mbit ceil 50Mbit burst 1600b mpu 0b cburst 1600b
 Sent 216502 bytes 143 pkt (dropped 57, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
 lended: 143 borrowed: 0 giants: 0
 tokens: 215 ctokens: 215
qdisc fq_codel limit 150p flows 1024 quantum 1514 target 5ms ce_threshold 120ms interval 100ms memory_limit 32Mb ecn drop_batch 64
 Sent 216502 bytes 143 pkt (dropped 57, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 1514 drop_overlimit 56 new_flow_count 3 ecn_mark 6 ce_mark 17
  new_flows_len 0 old_flows_len 1
"
    );
}

#[test]
fn pie_and_codel() {
    assert_eq!(
        worn("pie limit 150 ecn"),
        "\
qdisc pie limit 150p target 15ms tupdate 15ms alpha 2 beta 20 ecn
 Sent 227100 bytes 150 pkt (dropped 50, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  prob 0.000000 delay 0us
  pkts_in 150 overlimit 50 dropped 50 maxq 149 ecn_mark 0
"
    );
    assert_eq!(
        worn("codel"),
        "\
qdisc codel limit 1000p target 5ms interval 100ms
 Sent 227100 bytes 150 pkt (dropped 1, overlimits 0 requeues 0)
 backlog 74186b 49p requeues 0
  count 1 lastcount 1 ldelay 149ms dropping
  maxpacket 1514 ecn_mark 0 drop_overlimit 0
"
    );
}

#[test]
fn fifos_and_netem_have_no_lines_of_their_own() {
    assert_eq!(
        worn("bfifo limit 151400"),
        "\
qdisc bfifo limit 151400b
 Sent 151400 bytes 100 pkt (dropped 100, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
"
    );
    assert_eq!(
        worn("netem delay 10ms 1ms 25% loss 100% limit 2000").lines().next(),
        Some("qdisc netem limit 2000 delay 10ms  1ms 25% loss 100%")
    );
}

/// `htb RATE` over a child, as the scenario builds it, is the words' own.
#[test]
fn shaped_is_htb_in_words() {
    let mut random = sojourn_units::Random::named(1, "bench");
    let child = Registry::<crate::bench::Pkt>::built_in()
        .build("pie", &QdiscQuirks::LINUX_5_4, &mut random)
        .unwrap();
    let shaped = AnyQdisc::shaped(Rate::from_mbit(50), child);
    assert_eq!(shaped.show(), Bench::on("htb rate 50mbit pie", &QdiscQuirks::LINUX_5_4).any.show());
    assert_eq!(shaped.quirks(), &QdiscQuirks::LINUX_5_4);
}

/// The tables are complete enough to print help from.
#[test]
fn every_table_says_what_a_reader_needs() {
    let mut last = "";
    for info in disciplines() {
        let Discipline { name, summary, source, options, counters, gauges, .. } = info;
        assert!(last < *name, "in alphabetical order");
        last = name;
        assert!(!summary.is_empty() && source.contains("Linux"));
        for option in *options {
            assert!(!option.doc.is_empty() && !option.doc.ends_with('.'), "{name} {}", option.name);
            // A switch says how to have the opposite, or what holds without it.
            let has_opposite = option.off.is_some() || !option.others.is_empty();
            let unset = matches!(option.preset, DefaultValue::Unset(_));
            assert!(!option.values.is_empty() || has_opposite || unset, "{name} {}", option.name);
        }
        assert!(
            counters.iter().all(|c| !c.doc.is_empty()) && gauges.iter().all(|g| !g.doc.is_empty())
        );
    }
}

#[test]
fn help_comes_from_the_table() {
    let help = |name| disciplines().iter().find(|d| d.name == name).unwrap().help();
    assert_eq!(
        help("netem"),
        "\
netem: a delay line, with jitter, slots, loss, copies and reordering
source: Linux 5.4 to 7.3, net/sched/sch_netem.c; iproute2 6, tc/q_netem.c

options
  limit PACKETS
      packets held at most, those on their way included
      PACKETS: a number of packets from 1 to 4294967295
      default: 1000
  delay TIME [JITTER [CORRELATION]]
      delay of each packet; it varies uniformly by up to JITTER either way, or as distribution says
      TIME: a time from 0s to 3600s, such as 20ms (a bare number is microseconds)
      JITTER: a time from 0s to 2.147483647s, such as 20ms (a bare number is microseconds)
      CORRELATION: a percentage from 0% to 100%
      default: none
      also written: latency
  distribution SHAPE
      shape of the jitter: normal (JITTER is its standard deviation), pareto (from 2/3 JITTER below the delay to 4 \
above, most near the least), or 1/4 and 3/4 of them
      SHAPE: normal or pareto or paretonormal or uniform
      default: uniform
  rate RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]
      packets leave one after the other at this rate; bytes added to each, and the size of the cells that it is cut \
into with bytes added to each of those
      RATE: a rate of at least 8bit, such as 50mbit
      PACKETOVERHEAD: a number of bytes from 0 to 65535
      CELLSIZE: a number of bytes from 0 to 65535
      CELLOVERHEAD: a number of bytes from 0 to 65535
      default: packets take no time
  loss [random] [gemodel] [state] PERCENT [CORRELATION|R|P31 [1-H|P32 [1-K|P23 [P14]]]]
      probability that a packet is lost on arrival; after gemodel (Gilbert-Elliott) the probabilities to turn \
bad, to turn good again (default: 100% less the first), of loss while bad (100%) and of loss while good (0%); \
after state those of a chain of four states, from good to a burst of losses (P13), back (P31, 100% less P13), from \
loss to a gap inside the burst (P32, 0%) and back (P23, 100%), and of a lone loss while good (P14, 0%)
      PERCENT: a percentage from 0% to 100%
      CORRELATION|R|P31: a percentage from 0% to 100%
      1-H|P32: a percentage from 0% to 100%
      1-K|P23: a percentage from 0% to 100%
      P14: a percentage from 0% to 100%
      default: none
      also written: drop
  ecn
      mark ECN-capable packets instead of losing them
      default: packets are lost
  duplicate PERCENT [CORRELATION]
      probability that a packet comes twice
      PERCENT: a percentage from 0% to 100%
      CORRELATION: a percentage from 0% to 100%
      default: none
  reorder PERCENT [CORRELATION]
      probability that a packet is not delayed, and leaves ahead of those that are
      PERCENT: a percentage from 0% to 100%
      CORRELATION: a percentage from 0% to 100%
      default: none
  gap PACKETS
      with reorder: only every PACKETS-th packet may be reordered
      PACKETS: a number of packets from 1 to 4294967295
      default: 1
  slot MIN [MAX]
      packets leave in bursts, when a slot opens: from MIN to MAX after the one before
      MIN: a time from 0s to 3600s, such as 20ms (a bare number is microseconds)
      MAX: a time from 0s to 3600s, such as 20ms (a bare number is microseconds)
      default: packets leave when they are due
  packets PACKETS
      with slot: packets that leave in a slot at most
      PACKETS: a number of packets from 0 to 2147483647
      default: all that are due
  bytes BYTES
      with slot: bytes after which a slot closes
      BYTES: a size from 0 to 2147483647 bytes, such as 32k
      default: all that are due

words of tc that are not here
  corrupt          a flipped bit is found by a checksum and the packet dropped at its host: loss behind the queue
  seed             the run's seed is the experiment's; each netem has a stream of its own

gauges
  late             packets held that will leave before one that came earlier
"
    );
    assert!(help("pie").contains(
        "\
  dq_rate_estimator | no_dq_rate_estimator
      know the delay from the departure rate; linux-5.4 always does
      default: no_dq_rate_estimator
      only in linux-7.3, linux-5.10, l4steam-2021-06, l4steam-2024
"
    ));
    assert!(
        help("pie")
            .contains("  avg_dq_rate      departure rate, where it is estimated [bytes/s]\n")
    );
}
