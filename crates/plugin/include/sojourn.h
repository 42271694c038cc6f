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

/* What stands before `const SojournPlugin sojourn_plugin`, so that a loader finds it. */
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
 only ever used by one thread at a time, different ones by several at once: share nothing between them. A function whose
 pointer may be null says so.
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
} SojournPlugin;

#endif  /* SOJOURN_H */
