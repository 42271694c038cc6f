// The lessons: a text to project, what to look at, and two experiments. The experiments are files of `lessons/`, which run
// with `sojourn run` as well; a test holds the two against each other.

import bbrA from "../lessons/bbr.a.toml";
import bbrB from "../lessons/bbr.b.toml";
import bloatA from "../lessons/bufferbloat.a.toml";
import bloatB from "../lessons/bufferbloat.b.toml";
import laneA from "../lessons/fast-lane.a.toml";
import laneB from "../lessons/fast-lane.b.toml";
import l4sA from "../lessons/l4s.a.toml";
import l4sB from "../lessons/l4s.b.toml";
import pacingA from "../lessons/pacing.a.toml";
import pacingB from "../lessons/pacing.b.toml";
import rttA from "../lessons/rtt.a.toml";
import rttB from "../lessons/rtt.b.toml";
import aqmA from "../lessons/why-aqm.a.toml";
import aqmB from "../lessons/why-aqm.b.toml";

export const LESSONS = [
  {
    id: "bufferbloat",
    title: "Bufferbloat",
    text: [
      "TCP finds out how fast it may send by filling the buffer at the bottleneck until it overflows. All who share the link wait behind what is in it.",
      "A has a small FIFO, B a large one. The line and the flows are the same: a download, and a voice call from the beginning.",
    ],
    look: ["Queue delay after 5 s, when the download starts.", "Goodput: how much does the large buffer gain? (A peak is what had waited for a lost packet.)", "RTT of the download: the round trip that a web page would have."],
    a: bloatA,
    b: bloatB,
  },
  {
    id: "why-aqm",
    title: "Why manage a queue",
    text: [
      "A buffer is there for bursts. One that is always full delays every packet and absorbs no burst.",
      "CoDel (RFC 8289) lets a burst pass, and drops a packet when the queue has stood above 5 ms for 100 ms. A is a FIFO, B is CoDel with the same room.",
    ],
    look: ["Queue delay: how long does CoDel's queue stay above 5 ms?", "Goodput: the link is in use in both.", "Marks and drops: CoDel drops early, and seldom."],
    a: aqmA,
    b: aqmB,
  },
  {
    id: "pacing",
    title: "What pacing does",
    text: [
      "In slow start, a sender that answers each acknowledgement at once sends bursts, which meet the bottleneck's queue as bursts. A small buffer overflows long before the window fills the path, and slow start ends there.",
      "Pacing spreads the packets of a window over the round trip. The buffer here holds a tenth of the bandwidth-delay product. A sends at once, B is paced; the numbers are of the first five seconds.",
    ],
    look: ["Congestion window in the first two seconds (drag over them to zoom): where does slow start end?", "Goodput: how long does A take to fill the link?", "Drops: B loses more at once, when its window is beyond what the path holds."],
    a: pacingA,
    b: pacingB,
  },
  {
    id: "bbr",
    title: "BBR over shallow and deep buffers",
    text: [
      "BBR keeps a model of the path and hardly minds losses. CUBIC backs off when packets are lost. Who gets more is a matter of the buffer.",
      "A has a fifth of the bandwidth-delay product, B has eight times of it.",
    ],
    look: ["Goodput: who wins in A, who in B?", "The dips of BBR every ten seconds: it drains the queue to measure the RTT.", "Drops in A."],
    a: bbrA,
    b: bbrB,
  },
  {
    id: "l4s",
    title: "L4S and classic in one queue",
    text: [
      "A scalable congestion control such as Prague gives way a little at each mark, and expects many. CUBIC takes a mark for a loss. In one queue that marks both alike, they do not share evenly.",
      "A is a single CoDel. B is DualPI2 (RFC 9332): a queue for each, coupled.",
    ],
    look: ["Goodput in A and in B.", "RTT of Prague in B.", "Marks: the low-latency queue marks often."],
    a: l4sA,
    b: l4sB,
  },
  {
    id: "fast-lane",
    title: "The “fast lane” argument",
    text: [
      "Is the low-latency queue a fast lane, which a selfish sender would choose to get more? Published tests took it apart: the queue gives low delay, and not a larger share; what gives a larger share is taking no notice of marks, in any queue.",
      "A: a CUBIC flow moves into the low-latency queue. B: it stays in the classic queue and does not hear marks.",
    ],
    look: ["Goodput of “tweaked” after 10 s, in A and in B.", "RTT of “tweaked” in A: low delay, little rate.", "The text: the controls cannot show what rewrites packets."],
    a: laneA,
    b: laneB,
  },
  {
    id: "rtt",
    title: "RTT unfairness",
    text: [
      "A window grows once a round trip. Who is near grows faster.",
      "Two Reno flows have base RTTs of 10 ms and 100 ms. In A they share a FIFO; in B each has a queue of its own in fq_codel.",
    ],
    look: ["Share in the table.", "Congestion window: its slope is the round trip.", "RTT: the queue adds the same to both in A."],
    a: rttA,
    b: rttB,
  },
];
