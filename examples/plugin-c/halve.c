/* A plugin in C: `halve`, a congestion control that does what Sojourn's own `reno` does.
 *
 *     cc -shared -fPIC -O2 -I crates/plugin/include -o libhalve.so examples/plugin-c/halve.c
 */

#include <sojourn.h>
#include <stdlib.h>

enum { MIN_CWND = 2 };

/* It keeps nothing of its own but what it reports. */
struct halve {
    double reductions;
};

static void *create(SojournHost *host)
{
    (void)host;
    return calloc(1, sizeof(struct halve));
}

static void destroy(void *cc, SojournHost *host)
{
    (void)host;
    free(cc);
}

static void *duplicate(const void *cc, SojournHost *host)
{
    struct halve *copy = create(host);
    if (copy)
        *copy = *(const struct halve *)cc;
    return copy;
}

static uint32_t ssthresh(void *cc, SojournHost *host, const SojournView *view, const SojournControl *control)
{
    struct halve *halve = cc;
    (void)host, (void)view;
    halve->reductions++;
    return control->cwnd / 2 > MIN_CWND ? control->cwnd / 2 : MIN_CWND;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void cong_avoid(void *cc, SojournHost *host, const SojournView *view, SojournControl *control, uint32_t acked)
{
    (void)cc, (void)host;
    bool slow_start = control->cwnd < control->ssthresh;
    /* Growth without use is not earned. */
    if (!view->cwnd_limited && !(slow_start && control->cwnd < 2 * view->max_packets_out))
        return;
    if (slow_start) {
        uint32_t cwnd = least(control->cwnd + acked, control->ssthresh);
        acked -= cwnd - control->cwnd;
        control->cwnd = least(cwnd, control->cwnd_clamp);
        if (!acked)
            return;
    }
    /* One segment for each window acknowledged. */
    uint32_t window = control->cwnd;
    if (control->cwnd_count >= window) {
        control->cwnd_count = 0;
        control->cwnd++;
    }
    control->cwnd_count += acked;
    control->cwnd += control->cwnd_count / window;
    control->cwnd_count %= window;
    control->cwnd = least(control->cwnd, control->cwnd_clamp);
}

static void read_gauges(const void *cc, SojournHost *host, const SojournView *view, const SojournControl *control,
                        double *out)
{
    (void)host, (void)view, (void)control;
    out[0] = ((const struct halve *)cc)->reductions;
}

static const SojournGauge gauges[] = {
    { .name = "reductions", .unit = SOJOURN_UNIT_COUNT, .doc = "times that the window was halved" },
};

static const SojournCongestionControl halve = {
    .size = sizeof halve,
    .name = "halve",
    .summary = "additive increase, half on congestion, from a plugin",
    .source = "RFC 5681; examples/plugin-c/halve.c",
    .gauges = gauges,
    .gauge_count = 1,
    .create = create,
    .destroy = destroy,
    .clone = duplicate,
    .ssthresh = ssthresh,
    .cong_avoid = cong_avoid,
    .read_gauges = read_gauges,
};

static const SojournCongestionControl *const controls[] = { &halve };

SOJOURN_EXPORT const SojournPlugin sojourn_plugin = {
    .abi_version = SOJOURN_ABI_VERSION,
    .size = sizeof sojourn_plugin,
    .controls = controls,
    .control_count = 1,
};
