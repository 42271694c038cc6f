/* A plugin in C: `ramp`, one queue that marks or drops with a probability that grows with the sojourn time.
 *
 * Up to `low` nothing is marked, from `high` on everything is, and in between the probability grows in proportion.
 * Packets that are not ECN-capable are dropped instead.
 *
 *     cc -shared -fPIC -O2 -I crates/plugin/include -o libramp.so examples/plugin-c/ramp.c
 */

#include <sojourn.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT, LOW, HIGH, OPTIONS };
enum { TAIL, RAMP, REASONS };

struct ramp {
    uint64_t limit, low, high; /* packets, ns, ns */
    uint64_t marks;
    /* A ring of what is held: `count` packets from `head` on, in `size` places. */
    SojournPacket *ring;
    uint64_t head, count, size;
};

static bool read_values(struct ramp *q, SojournHost *host, const SojournValue *values)
{
    if (values[LOW].integer >= values[HIGH].integer) {
        host->calls->refuse(host, "\"low\" is not below \"high\"");
        return false;
    }
    q->limit = values[LIMIT].integer;
    q->low = values[LOW].integer;
    q->high = values[HIGH].integer;
    return true;
}

static void *create(SojournHost *host, const SojournValue *values)
{
    struct ramp *q = calloc(1, sizeof *q);
    if (q && !read_values(q, host, values)) {
        free(q);
        return NULL;
    }
    return q;
}

static void destroy(void *aqm, SojournHost *host)
{
    struct ramp *q = aqm;
    (void)host;
    free(q->ring);
    free(q);
}

static void *duplicate(const void *aqm, SojournHost *host)
{
    const struct ramp *q = aqm;
    struct ramp *copy = malloc(sizeof *copy);
    (void)host;
    if (!copy)
        return NULL;
    *copy = *q;
    copy->ring = NULL;
    if (q->size) {
        copy->ring = malloc(q->size * sizeof *copy->ring);
        if (!copy->ring) {
            free(copy);
            return NULL;
        }
        memcpy(copy->ring, q->ring, q->size * sizeof *copy->ring);
    }
    return copy;
}

static SojournPacket pop(struct ramp *q)
{
    SojournPacket packet = q->ring[q->head];
    q->head = (q->head + 1) % q->size;
    q->count--;
    return packet;
}

static void change(void *aqm, SojournHost *host, uint64_t now, const SojournValue *values)
{
    struct ramp *q = aqm;
    (void)now;
    if (read_values(q, host, values))
        while (q->count > q->limit)
            host->calls->drop(host, pop(q).handle, TAIL);
}

static void enqueue(void *aqm, SojournHost *host, uint64_t now, const SojournPacket *packet)
{
    struct ramp *q = aqm;
    (void)now;
    if (q->count >= q->limit) {
        host->calls->drop(host, packet->handle, TAIL);
        return;
    }
    if (q->count == q->size) {
        uint64_t size = q->size ? 2 * q->size : 64;
        SojournPacket *ring = malloc(size * sizeof *ring);
        if (!ring) {
            host->calls->fail(host, "there is no memory left");
            return;
        }
        for (uint64_t i = 0; i < q->count; i++)
            ring[i] = q->ring[(q->head + i) % q->size];
        free(q->ring);
        q->ring = ring;
        q->head = 0;
        q->size = size;
    }
    q->ring[(q->head + q->count++) % q->size] = *packet;
}

static double probability(const struct ramp *q, uint64_t waited)
{
    if (waited <= q->low)
        return 0;
    return waited >= q->high ? 1 : (double)(waited - q->low) / (double)(q->high - q->low);
}

static uint32_t dequeue(void *aqm, SojournHost *host, uint64_t now, uint64_t *out)
{
    struct ramp *q = aqm;
    while (q->count) {
        SojournPacket packet = pop(q);
        double p = probability(q, now - packet.stamp);
        if (p > 0 && (double)host->calls->random_u32(host) < p * 4294967296.0) {
            if (!host->calls->mark(host, packet.handle, RAMP)) {
                host->calls->drop(host, packet.handle, RAMP);
                continue;
            }
            q->marks++;
        }
        *out = packet.handle;
        return SOJOURN_PACKET;
    }
    return SOJOURN_EMPTY;
}

static void flush(void *aqm, SojournHost *host, uint64_t now)
{
    struct ramp *q = aqm;
    (void)host, (void)now;
    q->head = q->count = 0;
}

static void read_counters(const void *aqm, SojournHost *host, double *out)
{
    const struct ramp *q = aqm;
    (void)host;
    out[0] = (double)q->marks;
}

static void read_gauges(const void *aqm, SojournHost *host, uint64_t now, double *out)
{
    const struct ramp *q = aqm;
    (void)host;
    out[0] = q->count ? probability(q, now - q->ring[q->head].stamp) : 0;
}

static const SojournOption options[OPTIONS] = {
    [LIMIT] = { .name = "limit", .kind = SOJOURN_PACKETS, .preset = "1000", .doc = "packets held at most" },
    [LOW] = { .name = "low", .kind = SOJOURN_TIME, .preset = "1ms", .doc = "sojourn time up to which nothing is marked" },
    [HIGH] = { .name = "high", .kind = SOJOURN_TIME, .preset = "10ms", .doc = "sojourn time from which everything is" },
};
static const SojournCounter counters[] = {
    { .name = "marked", .unit = SOJOURN_UNIT_COUNT, .shown = SOJOURN_SHOWN_ALWAYS, .doc = "packets marked" },
};
static const SojournGauge gauges[] = {
    { .name = "probability", .unit = SOJOURN_UNIT_PROBABILITY, .doc = "what the ramp says of the head" },
};
static const char *const reasons[REASONS] = { [TAIL] = "tail", [RAMP] = "ramp" };

static const SojournAqm ramp = {
    .size = sizeof ramp,
    .name = "ramp",
    .summary = "one queue that marks in proportion to its sojourn time",
    .source = "examples/plugin-c/ramp.c",
    .options = options,
    .option_count = OPTIONS,
    .counters = counters,
    .counter_count = 1,
    .gauges = gauges,
    .gauge_count = 1,
    .reasons = reasons,
    .reason_count = REASONS,
    .create = create,
    .destroy = destroy,
    .clone = duplicate,
    .change = change,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .flush = flush,
    .read_counters = read_counters,
    .read_gauges = read_gauges,
};

static const SojournAqm *const aqms[] = { &ramp };

SOJOURN_EXPORT const SojournPlugin sojourn_plugin = {
    .abi_version = SOJOURN_ABI_VERSION,
    .size = sizeof sojourn_plugin,
    .aqms = aqms,
    .aqm_count = 1,
};
