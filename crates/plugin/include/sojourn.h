/* The C ABI of Sojourn's plugins: shared libraries with queue disciplines and congestion controls.
 *
 * A plugin exports one symbol, a table that leads to all others:
 *
 *     SOJOURN_EXPORT const SojournPlugin sojourn_plugin = { ... };
 *
 * docs/plugins.md tells how to write one. Generated from crates/plugin/src/abi.rs: do not edit. */

#ifndef SOJOURN_H
#define SOJOURN_H

#include <stdbool.h>
#include <stdint.h>

/* Goes in front of `const SojournPlugin sojourn_plugin`, so that a loader finds it. */
#ifdef __cplusplus
#define SOJOURN_LINKAGE extern "C"
#else
#define SOJOURN_LINKAGE
#endif
#ifdef _WIN32
#define SOJOURN_EXPORT SOJOURN_LINKAGE __declspec(dllexport)
#else
#define SOJOURN_EXPORT SOJOURN_LINKAGE __attribute__((visibility("default")))
#endif

struct SojournHost;


/*
 The version of this ABI. A host takes plugins of its own version and no others.
 */
#define SOJOURN_ABI_VERSION 1

/*
 The time that never comes, ns.
 */
#define SOJOURN_NEVER UINT64_MAX

/*
 A time: `integer` is in ns. A bare number in the user's words is in microseconds, as in tc.
 */
#define SOJOURN_TIME 1

/*
 A rate: `integer` is in bits per second.
 */
#define SOJOURN_RATE 2

/*
 A size: `integer` is in bytes.
 */
#define SOJOURN_SIZE 3

/*
 A number of packets, in `integer`.
 */
#define SOJOURN_PACKETS 4

/*
 A number with decimals, in `real`; its option has to give a range.
 */
#define SOJOURN_NUMBER 5

/*
 A probability, 0 to 1 in `real`; the user writes per cent.
 */
#define SOJOURN_PROBABILITY 6

/*
 A switch: the user writes its name, or its name with `no` before it. 1 or 0 in `integer`.
 */
#define SOJOURN_FLAG 7

/*
 A count of something.
 */
#define SOJOURN_UNIT_COUNT 0

/*
 Bytes.
 */
#define SOJOURN_UNIT_BYTES 1

/*
 Seconds.
 */
#define SOJOURN_UNIT_SECONDS 2

/*
 A probability, 0 to 1.
 */
#define SOJOURN_UNIT_PROBABILITY 3

/*
 Bytes per second.
 */
#define SOJOURN_UNIT_BYTES_PER_SECOND 4

/*
 0 or 1.
 */
#define SOJOURN_UNIT_FLAG 5

/*
 `tc -s` prints the counter always.
 */
#define SOJOURN_SHOWN_ALWAYS 0

/*
 `tc -s` prints it when it is not zero.
 */
#define SOJOURN_SHOWN_NONZERO 1

/*
 `tc -s` prints its name alone, when it is not zero.
 */
#define SOJOURN_SHOWN_FLAG 2

/*
 Not ECN-capable.
 */
#define SOJOURN_NOT_ECT 0

/*
 ECN-capable, ECT(1).
 */
#define SOJOURN_ECT_1 1

/*
 ECN-capable, ECT(0).
 */
#define SOJOURN_ECT_0 2

/*
 Congestion experienced.
 */
#define SOJOURN_CE 3

/*
 Nothing is held.
 */
#define SOJOURN_EMPTY 0

/*
 This packet leaves: its handle has been written.
 */
#define SOJOURN_PACKET 1

/*
 Packets are held, and none may leave before the time that has been written.
 */
#define SOJOURN_WAIT 2

/*
 Nothing is wrong.
 */
#define SOJOURN_OPEN 0

/*
 Duplicates or SACKs have come; not yet clear that something was lost.
 */
#define SOJOURN_DISORDER 1

/*
 The window is being reduced for ECN-Echo.
 */
#define SOJOURN_CWR 2

/*
 The window is being reduced for a loss, and losses repaired.
 */
#define SOJOURN_RECOVERY 3

/*
 The retransmission timer fired.
 */
#define SOJOURN_LOSS 4

/*
 No ECN.
 */
#define SOJOURN_ECN_OFF 0

/*
 RFC 3168's ECE and CWR.
 */
#define SOJOURN_ECN_RFC3168 1

/*
 Accurate ECN's counter.
 */
#define SOJOURN_ECN_ACCECN 2

/*
 The first transmission after all had been acknowledged.
 */
#define SOJOURN_EVENT_TX_START 0

/*
 A reduction for ECN-Echo or loss is complete.
 */
#define SOJOURN_EVENT_COMPLETE_CWR 1

/*
 The retransmission timer fired.
 */
#define SOJOURN_EVENT_LOSS 2

/*
 A tail-loss probe that repeated old data has repaired its loss.
 */
#define SOJOURN_EVENT_TLP_RECOVERY 3

/*
 `SojournView.max_pacing_rate` of a socket without one.
 */
#define SOJOURN_NO_CAP UINT64_MAX

/*
 An option, in tc's words.
 */
typedef struct SojournOption {
    /*
     Its word.
     */
    const char *name;
    /*
     `SOJOURN_TIME` and so on.
     */
    uint32_t kind;
    /*
     Whether it has to be given.
     */
    bool is_required;
    /*
     Whether it can only be given when the queue is made.
     */
    bool is_fixed;
    /*
     Its default, as the user would write it, for a switch the word itself; null if it has none.
     */
    const char *preset;
    /*
     Least value, in the unit of its kind.
     */
    double min;
    /*
     Greatest value. With both 0 the range is the kind's own.
     */
    double max;
    /*
     What it does, in one sentence.
     */
    const char *doc;
} SojournOption;

/*
 A statistic, as `tc -s` prints it.
 */
typedef struct SojournCounter {
    /*
     Its name.
     */
    const char *name;
    /*
     `SOJOURN_UNIT_COUNT` and so on.
     */
    uint32_t unit;
    /*
     On which line below `backlog` it is printed, from 0.
     */
    uint32_t line;
    /*
     `SOJOURN_SHOWN_ALWAYS` and so on.
     */
    uint32_t shown;
    /*
     What it counts.
     */
    const char *doc;
} SojournCounter;

/*
 A number of the controller's state, for the recorder.
 */
typedef struct SojournGauge {
    /*
     Its name.
     */
    const char *name;
    /*
     `SOJOURN_UNIT_COUNT` and so on.
     */
    uint32_t unit;
    /*
     What it is.
     */
    const char *doc;
} SojournGauge;

/*
 The functions of a host.
 */
typedef struct SojournHostCalls {
    /*
     `sizeof(SojournHostCalls)`.
     */
    uint32_t size;
    /*
     Drops a packet that is held; `reason` is a place in the table of reasons.
     */
    void (*drop)(struct SojournHost *host, uint64_t packet, uint32_t reason);
    /*
     Sets CE if the packet is ECN-capable, and says whether it is CE now.
     */
    bool (*mark)(struct SojournHost *host, uint64_t packet, uint32_t reason);
    /*
     Makes ECT(0) ECT(1), which says "some congestion" (SCE), and whether it did.
     */
    bool (*mark_sce)(struct SojournHost *host, uint64_t packet, uint32_t reason);
    /*
     The next 32 random bits of the queue's own stream. Draw from nothing else, or results will not repeat.
     */
    uint32_t (*random_u32)(struct SojournHost *host);
    /*
     The next 64 random bits.
     */
    uint64_t (*random_u64)(struct SojournHost *host);
    /*
     The values do not go together, and why: shown with the words that the user wrote. For `create` and `change`.
     */
    void (*refuse)(struct SojournHost *host, const char *why);
    /*
     Something is wrong with the plugin itself, and what: ends the run.
     */
    void (*fail)(struct SojournHost *host, const char *what);
} SojournHostCalls;

/*
 What a function of a plugin may ask of its host.
 */
typedef struct SojournHost {
    /*
     The functions; each is given this host.
     */
    const struct SojournHostCalls *calls;
} SojournHost;

/*
 The value of an option.
 */
typedef struct SojournValue {
    /*
     Of a time (ns), rate (bit/s), size (bytes), number of packets or switch (0, 1).
     */
    uint64_t integer;
    /*
     Of a number or a probability.
     */
    double real;
    /*
     Whether it has a value: false if the user gave none and there is no default.
     */
    bool is_set;
} SojournValue;

/*
 A packet as a discipline sees it when it arrives.
 */
typedef struct SojournPacket {
    /*
     What the host calls it. Each packet has another, and the host holds the packet until the discipline drops it or lets
     it leave.
     */
    uint64_t handle;
    /*
     When it arrived, ns.
     */
    uint64_t stamp;
    /*
     Equal for packets of one flow and direction, different for others. Not spread: mix it before it picks a slot.
     */
    uint64_t flow_key;
    /*
     Identity of the source host.
     */
    uint32_t source_host;
    /*
     Identity of the destination host.
     */
    uint32_t destination_host;
    /*
     Length of the IP packet and its Ethernet header, bytes.
     */
    uint32_t wire_len;
    /*
     Length of the transport header and payload, bytes.
     */
    uint32_t l4_len;
    /*
     The ECN field: `SOJOURN_NOT_ECT` and so on.
     */
    uint8_t ecn;
    /*
     The DSCP.
     */
    uint8_t dscp;
} SojournPacket;

/*
 A queue discipline.

 Every function is given the discipline that `create` made and a host, which is good for that one call. One discipline is
 only ever used by one thread at a time, different ones by several at once: share nothing between them. A function
 with a pointer that may be null says so.
 */
typedef struct SojournAqm {
    /*
     `sizeof(SojournAqm)`.
     */
    uint32_t size;
    /*
     tc's name for it: one word.
     */
    const char *name;
    /*
     What it is, in one sentence.
     */
    const char *summary;
    /*
     Where it is described.
     */
    const char *source;
    /*
     Its options.
     */
    const struct SojournOption *options;
    /*
     How many there are.
     */
    uint32_t option_count;
    /*
     Its statistics.
     */
    const struct SojournCounter *counters;
    /*
     How many there are.
     */
    uint32_t counter_count;
    /*
     The numbers that the recorder samples.
     */
    const struct SojournGauge *gauges;
    /*
     How many there are.
     */
    uint32_t gauge_count;
    /*
     The reasons for its drops and marks, by the names that result columns have. A name of Sojourn's own (`tail`,
     `control_law`, `early`, `ramp`, ...) is that reason.
     */
    const char *const *reasons;
    /*
     How many there are.
     */
    uint32_t reason_count;
    /*
     Makes one. `values` has one value for each option. Null if they do not go together, after `refuse`.
     */
    void *(*create)(struct SojournHost *host, const struct SojournValue *values);
    /*
     Ends one. It holds no packet any more, as far as the host is concerned.
     */
    void (*destroy)(void *aqm, struct SojournHost *host);
    /*
     One more like it, with the same packets by the same handles.
     */
    void *(*clone)(const void *aqm, struct SojournHost *host);
    /*
     `tc qdisc change`: the values that hold from now on. After `refuse` the old ones do.
     */
    void (*change)(void *aqm,
                   struct SojournHost *host,
                   uint64_t now,
                   const struct SojournValue *values);
    /*
     Takes a packet. The view is good for this call: copy what is needed later.
     */
    void (*enqueue)(void *aqm,
                    struct SojournHost *host,
                    uint64_t now,
                    const struct SojournPacket *packet);
    /*
     Which packet leaves now: `SOJOURN_PACKET` with its handle in `out`, `SOJOURN_WAIT` with a time in `out`, or
     `SOJOURN_EMPTY`.
     */
    uint32_t (*dequeue)(void *aqm, struct SojournHost *host, uint64_t now, uint64_t *out);
    /*
     When `on_timer` wants to be called next, ns, or `SOJOURN_NEVER`. May be null: never.
     */
    uint64_t (*next_timer)(const void *aqm, struct SojournHost *host);
    /*
     The timer. May be null.
     */
    void (*on_timer)(void *aqm, struct SojournHost *host, uint64_t now);
    /*
     It begins its work at `now`, not when it was made. May be null.
     */
    void (*start)(void *aqm, struct SojournHost *host, uint64_t now);
    /*
     Forgets all packets; the host has dropped them.
     */
    void (*flush)(void *aqm, struct SojournHost *host, uint64_t now);
    /*
     Writes its statistics, in their table's order. May be null if there are none.
     */
    void (*read_counters)(const void *aqm, struct SojournHost *host, double *out);
    /*
     Writes its state's numbers, in their table's order. May be null if there are none.
     */
    void (*read_gauges)(const void *aqm, struct SojournHost *host, uint64_t now, double *out);
} SojournAqm;

/*
 What a control needs of ECN. All zero: nothing.
 */
typedef struct SojournEcnRequirements {
    /*
     The least that is asked for: `SOJOURN_ECN_OFF` and so on.
     */
    uint32_t request;
    /*
     Whether what it sends is ECT(1), and not ECT(0).
     */
    bool ect_1;
    /*
     Whether retransmissions and pure ACKs are ECN-capable, too.
     */
    bool on_all;
    /*
     Whether the SYN is.
     */
    bool on_syn;
    /*
     Whether the receiver echoes each packet's mark (RFC 8257) where RFC 3168 was agreed.
     */
    bool exact_echo;
    /*
     Whether the receiver echoes ECT(1) as SCE.
     */
    bool echo_sce;
} SojournEcnRequirements;

/*
 What a control may read of its connection, by the kernel's names. Windows and counts are in segments.
 */
typedef struct SojournView {
    /*
     The time of the event being handled, ns.
     */
    uint64_t now;
    /*
     When something was last delivered, or a flight began, ns.
     */
    uint64_t delivered_at;
    /*
     Highest rate of payload that the socket may be paced at, bytes per second, or `SOJOURN_NO_CAP`.
     */
    uint64_t max_pacing_rate;
    /*
     RTT samples so far.
     */
    uint64_t rtt_samples;
    /*
     Oldest segment not acknowledged.
     */
    uint32_t una;
    /*
     Next segment to be sent for the first time.
     */
    uint32_t nxt;
    /*
     Segments sent and not cumulatively acknowledged.
     */
    uint32_t packets_out;
    /*
     Of these, SACKed.
     */
    uint32_t sacked_out;
    /*
     Of these, taken for lost.
     */
    uint32_t lost_out;
    /*
     Of these, retransmissions still out.
     */
    uint32_t retrans_out;
    /*
     Segments in the network: packets_out + retrans_out - sacked_out - lost_out.
     */
    uint32_t in_flight;
    /*
     Segments delivered so far, SACKed ones included.
     */
    uint32_t delivered;
    /*
     Marked segments so far.
     */
    uint32_t delivered_ce;
    /*
     Segments taken for lost so far.
     */
    uint32_t lost;
    /*
     Payload of a full new segment, bytes.
     */
    uint32_t mss;
    /*
     Bytes of IP and TCP headers before it.
     */
    uint32_t headers;
    /*
     The window at the last reduction.
     */
    uint32_t prior_cwnd;
    /*
     Most segments out in the current window of data.
     */
    uint32_t max_packets_out;
    /*
     `delivered` at which the application's pause will have passed through, if `is_app_limited`.
     */
    uint32_t app_limited;
    /*
     State of recovery: `SOJOURN_OPEN` and so on.
     */
    uint32_t ca_state;
    /*
     What is agreed about ECN: `SOJOURN_ECN_OFF` and so on.
     */
    uint32_t ecn;
    /*
     Segments delivered in the interval of the latest rate sample.
     */
    uint32_t rate_delivered;
    /*
     That interval, us; 0 before the first sample.
     */
    uint32_t rate_interval_us;
    /*
     The smoothed RTT, us.
     */
    uint32_t srtt_us;
    /*
     Mean deviation of the RTT, us.
     */
    uint32_t mdev_us;
    /*
     The latest RTT sample, us.
     */
    uint32_t latest_rtt_us;
    /*
     The least RTT that the estimator knows, us.
     */
    uint32_t min_rtt_us;
    /*
     A TSO burst has the bytes of a 2^nth of a second at the pacing rate.
     */
    uint32_t pacing_shift;
    /*
     Ticks per second of the host's coarse clock.
     */
    uint32_t hz;
    /*
     Whether the application is pausing.
     */
    bool is_app_limited;
    /*
     Whether the application was pausing in the interval of the latest rate sample.
     */
    bool rate_app_limited;
    /*
     Whether sending last stopped because of the window.
     */
    bool cwnd_limited;
} SojournView;

/*
 What a control may set.
 */
typedef struct SojournControl {
    /*
     Pacing rate in bytes of payload per second.
     */
    uint64_t pacing_rate;
    /*
     Congestion window.
     */
    uint32_t cwnd;
    /*
     Segments acknowledged since the window last grew by a whole one (`snd_cwnd_cnt`).
     */
    uint32_t cwnd_count;
    /*
     Slow-start threshold.
     */
    uint32_t ssthresh;
    /*
     Highest window allowed.
     */
    uint32_t cwnd_clamp;
    /*
     Payload of a full new segment, bytes.
     */
    uint32_t mss;
    /*
     Most segments that may leave as one TSO burst; 0: no limit of the control's.
     */
    uint32_t burst_limit;
    /*
     Whether the socket is really paced.
     */
    bool paced;
    /*
     Set by a control to make the data that is out count as limited by the application.
     */
    bool app_limited;
} SojournControl;

/*
 What is kept with each segment from when it last left, for a control that asks for it.
 */
typedef struct SojournSegmentState {
    /*
     Segments in flight, this one included.
     */
    uint32_t in_flight;
    /*
     `SojournView.lost` then.
     */
    uint32_t lost;
    /*
     `SojournView.delivered_ce` then.
     */
    uint32_t delivered_ce;
} SojournSegmentState;

/*
 The sum of an ACK's news, for a control that sets its window itself.
 */
typedef struct SojournControlSample {
    /*
     Not before this may the next segment leave, ns; may be past.
     */
    uint64_t next_departure;
    /*
     What was kept with the newest segment delivered, if `has_sent`.
     */
    struct SojournSegmentState sent;
    /*
     Segments newly delivered, SACKed ones included.
     */
    uint32_t delivered;
    /*
     Segments newly known to be marked.
     */
    uint32_t ce;
    /*
     Segments newly taken for lost.
     */
    uint32_t lost;
    /*
     RTT of the newest segment delivered, us, if `has_rtt`.
     */
    uint32_t rtt_us;
    /*
     The ACK's rate sample, if `has_rate`: segments delivered.
     */
    uint32_t rate_delivered;
    /*
     And in how many us.
     */
    uint32_t rate_interval_us;
    /*
     Delivery count when the newest of these segments left, if `has_prior_delivered`.
     */
    uint32_t prior_delivered;
    /*
     Segments in flight before the ACK.
     */
    uint32_t prior_in_flight;
    /*
     Whether the ACK reported marks.
     */
    bool ece;
    /*
     See `rtt_us`.
     */
    bool has_rtt;
    /*
     See `rate_delivered`.
     */
    bool has_rate;
    /*
     Whether the application was pausing in the interval of the rate sample.
     */
    bool rate_app_limited;
    /*
     See `prior_delivered`.
     */
    bool has_prior_delivered;
    /*
     See `sent`.
     */
    bool has_sent;
    /*
     Whether the ACK reaches a tail-loss probe that repeated old data.
     */
    bool acks_probe;
    /*
     Whether the ACK has probably been delayed.
     */
    bool ack_delayed;
    /*
     Whether there is more to send, and none but the socket itself paces.
     */
    bool backlogged;
} SojournControlSample;

/*
 An ACK as it has come.
 */
typedef struct SojournAckEvent {
    /*
     Segments that it acknowledges cumulatively.
     */
    uint32_t acked;
    /*
     Whether it tells of marks.
     */
    bool ece;
    /*
     Whether it echoes SCE.
     */
    bool esce;
    /*
     Whether it changes the window, as every ACK of new data does.
     */
    bool window_update;
} SojournAckEvent;

/*
 What an ACK newly acknowledged.
 */
typedef struct SojournAckSample {
    /*
     Segments acknowledged cumulatively by this ACK.
     */
    uint32_t acked;
    /*
     RTT of the newest of them, us, if `has_rtt`.
     */
    uint32_t rtt_us;
    /*
     Whether there is one: not when only retransmissions were acknowledged.
     */
    bool has_rtt;
} SojournAckSample;

/*
 A segment that has just been taken for lost.
 */
typedef struct SojournLostSegment {
    /*
     What was kept with it.
     */
    struct SojournSegmentState sent;
    /*
     Its number.
     */
    uint32_t seq;
    /*
     Segments taken for lost so far, this one included.
     */
    uint32_t lost;
    /*
     Whether the application was pausing when it last left.
     */
    bool app_limited;
} SojournLostSegment;

/*
 Something that happens to a connection besides ACKs.
 */
typedef struct SojournEvent {
    /*
     `SOJOURN_EVENT_TX_START` and so on.
     */
    uint32_t kind;
    /*
     Of the start of a transmission: time since the last one, in ticks.
     */
    uint32_t idle_jiffies;
    /*
     Of a probe's repair: whether the application was pausing when the repeated segment had first left.
     */
    bool app_limited;
} SojournEvent;

/*
 A congestion control. Each connection has one of its own; otherwise as of `SojournAqm`. A hook that may be null is then the
 kernel's default.
 */
typedef struct SojournCongestionControl {
    /*
     `sizeof(SojournCongestionControl)`.
     */
    uint32_t size;
    /*
     Its name: one word.
     */
    const char *name;
    /*
     What it is, in a line.
     */
    const char *summary;
    /*
     Where it is specified.
     */
    const char *source;
    /*
     The numbers that the recorder samples.
     */
    const struct SojournGauge *gauges;
    /*
     How many there are.
     */
    uint32_t gauge_count;
    /*
     What it needs of ECN.
     */
    struct SojournEcnRequirements ecn;
    /*
     Windows that the send buffer is for; 0: two, as the kernel has it.
     */
    uint32_t send_buffer_windows;
    /*
     Whether `cong_control` sets window and pacing rate in every state, instead of PRR, `cong_avoid` and default pacing.
     */
    bool has_cong_control;
    /*
     Whether a `SojournSegmentState` is kept with each segment, and `segment_lost` called.
     */
    bool wants_segment_state;
    /*
     Makes one, for a connection that has sent nothing.
     */
    void *(*create)(struct SojournHost *host);
    /*
     Ends one.
     */
    void (*destroy)(void *cc, struct SojournHost *host);
    /*
     One more like it.
     */
    void *(*clone)(const void *cc, struct SojournHost *host);
    /*
     A reduction begins: the new threshold, at least 2.
     */
    uint32_t (*ssthresh)(void *cc,
                         struct SojournHost *host,
                         const struct SojournView *view,
                         const struct SojournControl *control);
    /*
     `acked` segments were delivered while nothing was wrong: grow.
     */
    void (*cong_avoid)(void *cc,
                       struct SojournHost *host,
                       const struct SojournView *view,
                       struct SojournControl *control,
                       uint32_t acked);
    /*
     The connection is established. May be null.
     */
    void (*init)(void *cc,
                 struct SojournHost *host,
                 const struct SojournView *view,
                 struct SojournControl *control);
    /*
     An ACK has been worked through. Null unless `has_cong_control`.
     */
    void (*cong_control)(void *cc,
                         struct SojournHost *host,
                         const struct SojournView *view,
                         struct SojournControl *control,
                         const struct SojournControlSample *sample);
    /*
     An ACK has come, and nothing else has been done yet. May be null.
     */
    void (*in_ack_event)(void *cc,
                         struct SojournHost *host,
                         const struct SojournView *view,
                         struct SojournControl *control,
                         const struct SojournAckEvent *event);
    /*
     An ACK acknowledged new data. May be null.
     */
    void (*pkts_acked)(void *cc,
                       struct SojournHost *host,
                       const struct SojournView *view,
                       struct SojournControl *control,
                       const struct SojournAckSample *sample);
    /*
     A segment has been taken for lost. May be null.
     */
    void (*segment_lost)(void *cc,
                         struct SojournHost *host,
                         const struct SojournView *view,
                         struct SojournControl *control,
                         const struct SojournLostSegment *lost);
    /*
     The state of recovery is about to become `state`. May be null.
     */
    void (*set_state)(void *cc,
                      struct SojournHost *host,
                      const struct SojournView *view,
                      struct SojournControl *control,
                      uint32_t state);
    /*
     Something happened. May be null.
     */
    void (*event)(void *cc,
                  struct SojournHost *host,
                  const struct SojournView *view,
                  struct SojournControl *control,
                  const struct SojournEvent *event);
    /*
     The last reduction was for nothing: the window to go back to. May be null: the greater of cwnd and prior_cwnd.
     */
    uint32_t (*undo_cwnd)(void *cc,
                          struct SojournHost *host,
                          const struct SojournView *view,
                          const struct SojournControl *control);
    /*
     Least segments of a TSO burst. May be null: 2.
     */
    uint32_t (*min_tso_segs)(const void *cc,
                             struct SojournHost *host,
                             const struct SojournView *view,
                             const struct SojournControl *control);
    /*
     Writes its numbers, in their table's order. May be null if there are none.
     */
    void (*read_gauges)(const void *cc,
                        struct SojournHost *host,
                        const struct SojournView *view,
                        const struct SojournControl *control,
                        double *out);
} SojournCongestionControl;

/*
 What a plugin exports as `sojourn_plugin`.
 */
typedef struct SojournPlugin {
    /*
     `SOJOURN_ABI_VERSION`. Read before anything else.
     */
    uint32_t abi_version;
    /*
     `sizeof(SojournPlugin)`.
     */
    uint32_t size;
    /*
     Its queue disciplines; may be null if there are none.
     */
    const struct SojournAqm *const *aqms;
    /*
     How many there are.
     */
    uint32_t aqm_count;
    /*
     Its congestion controls; may be null if there are none.
     */
    const struct SojournCongestionControl *const *controls;
    /*
     How many there are.
     */
    uint32_t control_count;
} SojournPlugin;

#endif  /* SOJOURN_H */
