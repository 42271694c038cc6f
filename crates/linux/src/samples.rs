//! The agent's output at the end of each sample interval and when something happens: a line each, a word first.
//!
//! ```text
//! start T FLOW -            end T FLOW WHY            event T EVENT
//! probe T FLOW -            reply T FLOW SENT
//! tcp T FLOW RECEIVED DELIVERY_RATE PACING SRTT RTTVAR MIN_RTT CWND SSTHRESH UNACKED SACKED LOST RETRANS
//!     TOTAL_RETRANS DELIVERED DELIVERED_CE STATE OPTIONS SEGMENTS BYTES_ACKED WINDOW REORDERING BUSY_TIME
//!     RWND_LIMITED SNDBUF_LIMITED DSACKS CC_INFO
//! came T FLOW SENT          open T FLOW BYTES         took T FLOW NUMBER
//! many T FLOW RECEIVED SEGMENTS RETRANSMITS LOST DELIVERED IN_FLIGHT
//! udp T FLOW SENT RECEIVED RECEIVED_BYTES                         received T FLOW BYTES
//! queue T QUEUE KIND PACKETS BACKLOG SENT_PACKETS SENT_BYTES DROPS OVERLIMITS OWN
//! last T QUEUE …, as of queue, when a queue goes        removed T QUEUE        placed T QUEUE
//! police T POLICER PACKETS DROPS MARKS                            association T NUMBER PACKETS REPLAYS
//! program T FLOW OPEN KNOWN CWND IN_FLIGHT RETRANSMITS LOST DELIVERED SRTT RTTVAR SSTHRESH DELIVERY_RATE STATE
//! output T FLOW PROGRAM TEXT        failed FLOW PROGRAM TEXT
//! missed TAP COUNT          error TEXT                done T
//! ```
//!
//! Times are nanoseconds of the run's clock; `CC_INFO` and `OWN` are the kernel's bytes in hexadecimal or `-`; a
//! program's output has the same form; `PROGRAM` is 0 for the server and 1 for the client.

/// The kind of a queue that is off.
pub const OFF: &str = "-";

/// One line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sample {
    /// A flow begins.
    Start {
        /// When.
        at: u64,
        /// Which.
        flow: usize,
    },
    /// A flow ends.
    End {
        /// When.
        at: u64,
        /// Which.
        flow: usize,
        /// Why.
        reason: String,
    },
    /// An event's action was carried out.
    Event {
        /// When.
        at: u64,
        /// Which event.
        event: usize,
    },
    /// A probe was sent.
    Probe {
        /// When.
        at: u64,
        /// By which flow.
        flow: usize,
    },
    /// A reply came back.
    Reply {
        /// When.
        at: u64,
        /// To which flow.
        flow: usize,
        /// When the request was sent.
        sent: u64,
    },
    /// A request that was sent then has come to the other end.
    Came {
        /// When.
        at: u64,
        /// The flow.
        flow: usize,
        /// When it was sent.
        sent: u64,
    },
    /// A connection is opened, for an answer of `bytes` bytes.
    Open {
        /// When.
        at: u64,
        /// The flow.
        flow: usize,
        /// The answer's length.
        bytes: u64,
    },
    /// The last byte of an answer has been read.
    Took {
        /// When.
        at: u64,
        /// The flow.
        flow: usize,
        /// The connection's number.
        number: usize,
    },
    /// The sums over a flow's connections.
    Many(Box<ManySample>),
    /// A TCP flow's numbers.
    Tcp(Box<TcpSample>),
    /// What has been received of a TCP flow with its sender elsewhere.
    Received {
        /// When.
        at: u64,
        /// Which.
        flow: usize,
        /// Bytes, in order.
        bytes: u64,
    },
    /// A datagram flow's numbers.
    Udp {
        /// When.
        at: u64,
        /// Which.
        flow: usize,
        /// Datagrams sent.
        sent: u64,
        /// Datagrams received.
        received: u64,
        /// Bytes of payload received.
        bytes: u64,
    },
    /// A flow of programs runs: the kernel's numbers for its sender's TCP sockets.
    Program(Box<SocketsSample>),
    /// A program wrote a line.
    Output {
        /// When.
        at: u64,
        /// The flow.
        flow: usize,
        /// Whether it is the client.
        client: bool,
        /// The line.
        text: String,
    },
    /// A policer's numbers.
    Police {
        /// When.
        at: u64,
        /// Which policer of the plan.
        policer: usize,
        /// Packets that have come to it.
        packets: u64,
        /// Of these, dropped.
        drops: u64,
        /// And marked.
        marks: u64,
    },
    /// The numbers of a security association.
    Association {
        /// When.
        at: u64,
        /// Which of the plan.
        number: usize,
        /// Packets that it has let in.
        packets: u64,
        /// Packets that its replay window has refused.
        replays: u64,
    },
    /// A queue's numbers.
    Queue(Box<QueueSample>),
    /// A queue's last numbers; its successor begins at 0.
    Last(Box<QueueSample>),
    /// A queue has been taken away.
    Removed {
        /// When.
        at: u64,
        /// Which queue of the plan.
        queue: usize,
    },
    /// A queue stands again.
    Placed {
        /// When.
        at: u64,
        /// Which queue of the plan.
        queue: usize,
    },
}

/// Sums over the connections of a flow, those included that are gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ManySample {
    /// When.
    pub at: u64,
    /// Which flow.
    pub flow: usize,
    /// Bytes of answers that were read.
    pub received: u64,
    /// Segments sent.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmissions, and segments held for lost now.
    pub lost: u64,
    /// Segments delivered.
    pub delivered: u64,
    /// Segments under way.
    pub in_flight: u64,
}

/// The TCP sockets of a flow of programs, at the end that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SocketsSample {
    /// When.
    pub at: u64,
    /// Which flow.
    pub flow: usize,
    /// How many are connected now.
    pub open: u64,
    /// How many have been seen so far.
    pub known: u64,
    /// Sum of the congestion windows of those.
    pub cwnd: u64,
    /// Segments under way on them.
    pub in_flight: u64,
    /// Segments sent again, on all so far.
    pub retransmits: u64,
    /// Retransmissions, and segments held for lost, on all so far.
    pub lost: u64,
    /// Segments delivered, on all so far.
    pub delivered: u64,
    /// Of the one that has sent the most: smoothed RTT.
    pub srtt_us: u64,
    /// Its mean deviation.
    pub rttvar_us: u64,
    /// Its slow start threshold.
    pub ssthresh: u64,
    /// Its delivery rate in bytes per second.
    pub delivery_rate: u64,
    /// The state of its recovery.
    pub ca_state: u64,
}

/// `tcp_info` of the sender, with the bytes that the receiver has in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct TcpSample {
    pub at: u64,
    pub flow: usize,
    pub received: u64,
    pub delivery_rate: u64,
    pub pacing_rate: u64,
    pub srtt_us: u64,
    pub rttvar_us: u64,
    pub min_rtt_us: u64,
    pub cwnd: u64,
    pub ssthresh: u64,
    pub unacked: u64,
    pub sacked: u64,
    pub lost: u64,
    pub retrans: u64,
    pub total_retrans: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub ca_state: u64,
    pub options: u64,
    pub segments: u64,
    pub bytes_acked: u64,
    pub send_window: u64,
    pub reordering: u64,
    pub busy_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub dsacks: u64,
    pub cc_info: Vec<u8>,
}

/// A discipline's statistics.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueueSample {
    /// When.
    pub at: u64,
    /// Which queue of the plan.
    pub queue: usize,
    /// The discipline's name; [`OFF`] while the queue is off.
    pub kind: String,
    /// Packets held.
    pub packets: u64,
    /// Bytes held.
    pub bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// tc's overlimits.
    pub overlimits: u64,
    /// The discipline's own statistics, as the kernel lays them out.
    pub own: Vec<u8>,
}

/// A whole file of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Samples {
    /// In the order of the file.
    pub all: Vec<Sample>,
    /// Stamps that a tap had no room for, by tap.
    pub missed: Vec<(usize, u64)>,
    /// What went wrong.
    pub error: Option<String>,
    /// What a flow's program did that ends the run: the flow, whether it was the client, and what.
    pub failed: Option<(usize, bool, String)>,
    /// Whether the guest came to its end.
    pub done: bool,
}

/// The words of a line, number by number.
struct Line<'a> {
    text: &'a str,
    words: std::str::SplitAsciiWhitespace<'a>,
}

impl<'a> Line<'a> {
    fn word(&mut self) -> Result<&'a str, String> {
        self.words.next().ok_or_else(|| format!("the guest's line is cut short: {}", self.text))
    }

    fn number(&mut self) -> Result<u64, String> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("\"{word}\" is no number in: {}", self.text))
    }

    fn index(&mut self) -> Result<usize, String> {
        self.number().map(|n| n as usize)
    }

    fn bytes(&mut self) -> Result<Vec<u8>, String> {
        let word = self.word()?;
        if word == "-" {
            return Ok(Vec::new());
        }
        let byte = |pair: &[u8]| {
            std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok())
        };
        word.as_bytes()
            .chunks(2)
            .map(|pair| byte(pair).ok_or_else(|| format!("no bytes in: {}", self.text)))
            .collect()
    }
}

impl Samples {
    /// What has been received of a TCP flow with its sender elsewhere: times and bytes.
    pub fn received(&self, number: usize) -> impl Iterator<Item = (u64, u64)> {
        self.all.iter().filter_map(move |sample| match *sample {
            Sample::Received { at, flow, bytes } if flow == number => Some((at, bytes)),
            _ => None,
        })
    }

    /// From the file's text.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut samples = Self::default();
        // A guest that was killed leaves half a line.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let mut l = Line { text: line, words: line.split_ascii_whitespace() };
            let sample = match l.word()? {
                "start" => Sample::Start { at: l.number()?, flow: l.index()? },
                "end" => {
                    let (at, flow) = (l.number()?, l.index()?);
                    let reason: Vec<&str> = l.words.collect();
                    Sample::End { at, flow, reason: reason.join(" ") }
                }
                "event" => Sample::Event { at: l.number()?, event: l.index()? },
                "probe" => Sample::Probe { at: l.number()?, flow: l.index()? },
                "reply" => Sample::Reply { at: l.number()?, flow: l.index()?, sent: l.number()? },
                "came" => Sample::Came { at: l.number()?, flow: l.index()?, sent: l.number()? },
                "open" => Sample::Open { at: l.number()?, flow: l.index()?, bytes: l.number()? },
                "took" => Sample::Took { at: l.number()?, flow: l.index()?, number: l.index()? },
                "many" => Sample::Many(Box::new(ManySample {
                    at: l.number()?,
                    flow: l.index()?,
                    received: l.number()?,
                    segments: l.number()?,
                    retransmits: l.number()?,
                    lost: l.number()?,
                    delivered: l.number()?,
                    in_flight: l.number()?,
                })),
                "udp" => Sample::Udp {
                    at: l.number()?,
                    flow: l.index()?,
                    sent: l.number()?,
                    received: l.number()?,
                    bytes: l.number()?,
                },
                "received" => {
                    Sample::Received { at: l.number()?, flow: l.index()?, bytes: l.number()? }
                }
                "tcp" => Sample::Tcp(Box::new(tcp(&mut l)?)),
                "queue" => Sample::Queue(Box::new(queue(&mut l)?)),
                "last" => Sample::Last(Box::new(queue(&mut l)?)),
                "removed" => Sample::Removed { at: l.number()?, queue: l.index()? },
                "placed" => Sample::Placed { at: l.number()?, queue: l.index()? },
                "police" => Sample::Police {
                    at: l.number()?,
                    policer: l.index()?,
                    packets: l.number()?,
                    drops: l.number()?,
                    marks: l.number()?,
                },
                "association" => Sample::Association {
                    at: l.number()?,
                    number: l.index()?,
                    packets: l.number()?,
                    replays: l.number()?,
                },
                "program" => Sample::Program(Box::new(SocketsSample {
                    at: l.number()?,
                    flow: l.index()?,
                    open: l.number()?,
                    known: l.number()?,
                    cwnd: l.number()?,
                    in_flight: l.number()?,
                    retransmits: l.number()?,
                    lost: l.number()?,
                    delivered: l.number()?,
                    srtt_us: l.number()?,
                    rttvar_us: l.number()?,
                    ssthresh: l.number()?,
                    delivery_rate: l.number()?,
                    ca_state: l.number()?,
                })),
                "output" => Sample::Output {
                    at: l.number()?,
                    flow: l.index()?,
                    client: l.number()? == 1,
                    text: String::from_utf8_lossy(&l.bytes()?).trim_end_matches('\r').to_owned(),
                },
                "failed" => {
                    let (flow, client) = (l.index()?, l.number()? == 1);
                    let said: Vec<&str> = l.words.collect();
                    samples.failed = Some((flow, client, said.join(" ")));
                    continue;
                }
                "missed" => {
                    samples.missed.push((l.index()?, l.number()?));
                    continue;
                }
                "error" => {
                    let said: Vec<&str> = l.words.collect();
                    samples.error = Some(said.join(" "));
                    continue;
                }
                "done" => {
                    samples.done = true;
                    continue;
                }
                other => return Err(format!("the guest says \"{other}\", which means nothing")),
            };
            samples.all.push(sample);
        }
        Ok(samples)
    }
}

fn queue(l: &mut Line<'_>) -> Result<QueueSample, String> {
    Ok(QueueSample {
        at: l.number()?,
        queue: l.index()?,
        kind: l.word()?.to_owned(),
        packets: l.number()?,
        bytes: l.number()?,
        sent_packets: l.number()?,
        sent_bytes: l.number()?,
        drops: l.number()?,
        overlimits: l.number()?,
        own: l.bytes()?,
    })
}

fn tcp(l: &mut Line<'_>) -> Result<TcpSample, String> {
    Ok(TcpSample {
        at: l.number()?,
        flow: l.index()?,
        received: l.number()?,
        delivery_rate: l.number()?,
        pacing_rate: l.number()?,
        srtt_us: l.number()?,
        rttvar_us: l.number()?,
        min_rtt_us: l.number()?,
        cwnd: l.number()?,
        ssthresh: l.number()?,
        unacked: l.number()?,
        sacked: l.number()?,
        lost: l.number()?,
        retrans: l.number()?,
        total_retrans: l.number()?,
        delivered: l.number()?,
        delivered_ce: l.number()?,
        ca_state: l.number()?,
        options: l.number()?,
        segments: l.number()?,
        bytes_acked: l.number()?,
        send_window: l.number()?,
        reordering: l.number()?,
        busy_us: l.number()?,
        rwnd_limited_us: l.number()?,
        sndbuf_limited_us: l.number()?,
        dsacks: l.number()?,
        cc_info: l.bytes()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let text = "start 512 0 -\n\
            queue 50000000 1 codel 3 4542 10 15140 2 0 0001ff\n\
            reply 20001280 0 512\n\
            tcp 500 1 7 1 2 10000 17 9000 80 2147483647 80 1 2 3 4 71 5 0 15 150 101361 124288 3 480000 120000 4000 0 -\n\
            end 600 0 Connection refused\nmissed 1 3\ndone 700\n";
        let samples = Samples::read(text).unwrap();
        assert!(samples.done && samples.error.is_none());
        assert_eq!(samples.missed, [(1, 3)]);
        assert_eq!(samples.all.len(), 5);
        let Sample::Queue(q) = &samples.all[1] else { panic!("a queue") };
        assert_eq!((q.queue, q.packets, q.drops, q.own.as_slice()), (1, 3, 2, &[0, 1, 255][..]));
        let Sample::Tcp(t) = &samples.all[3] else { panic!("tcp") };
        assert_eq!((t.busy_us, t.rwnd_limited_us, t.sndbuf_limited_us), (480_000, 120_000, 4_000));
        assert_eq!((t.received, t.srtt_us, t.total_retrans, t.delivered_ce), (7, 10_000, 4, 5));
        let Sample::End { reason, .. } = &samples.all[4] else { panic!("an end") };
        assert_eq!(reason, "Connection refused");
    }

    #[test]
    fn a_cut_off_file_is_read_up_to_its_last_whole_line() {
        let samples = Samples::read("start 512 0 -\nprobe 5").unwrap();
        assert_eq!(samples.all.len(), 1);
        assert!(!samples.done);
        assert!(Samples::read("start x 0 -\n").unwrap_err().contains("no number"));
        assert!(Samples::read("queue 1 0 codel 3\n").unwrap_err().contains("cut short"));
    }
}
