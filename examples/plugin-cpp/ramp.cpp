// A plugin in C++: `ramp`, which does what examples/plugin-c/ramp.c does, with the same results. `build.sh` builds it.
//
// A class does the work; the functions of the table call it. No exception may cross the boundary, so `guarded` ends the run
// with its message instead.

#include <sojourn.h>

#include <array>
#include <deque>
#include <exception>
#include <memory>

namespace {

enum Option { LIMIT, LOW, HIGH };
enum Reason : std::uint32_t { TAIL, RAMP };

class Ramp {
public:
    // What no single option can be wrong about is refused, and then nothing has changed.
    bool configure(SojournHost *host, const SojournValue *values)
    {
        if (values[LOW].integer >= values[HIGH].integer) {
            host->calls->refuse(host, "\"low\" is not below \"high\"");
            return false;
        }
        limit_ = values[LIMIT].integer;
        low_ = values[LOW].integer;
        high_ = values[HIGH].integer;
        return true;
    }

    void shorten(SojournHost *host)
    {
        while (queue_.size() > limit_)
            host->calls->drop(host, pop().handle, TAIL);
    }

    void enqueue(SojournHost *host, const SojournPacket &packet)
    {
        if (queue_.size() >= limit_)
            host->calls->drop(host, packet.handle, TAIL);
        else
            queue_.push_back(packet);
    }

    std::uint32_t dequeue(SojournHost *host, std::uint64_t now, std::uint64_t *out)
    {
        while (!queue_.empty()) {
            const SojournPacket packet = pop();
            const double p = probability(now - packet.stamp);
            if (p > 0 && host->calls->random_u32(host) < p * 4294967296.0) {
                if (!host->calls->mark(host, packet.handle, RAMP)) {
                    host->calls->drop(host, packet.handle, RAMP);
                    continue;
                }
                marks_++;
            }
            *out = packet.handle;
            return SOJOURN_PACKET;
        }
        return SOJOURN_EMPTY;
    }

    void flush() { queue_.clear(); }

    double marks() const { return static_cast<double>(marks_); }

    double probability_at(std::uint64_t now) const
    {
        return queue_.empty() ? 0 : probability(now - queue_.front().stamp);
    }

private:
    double probability(std::uint64_t waited) const
    {
        if (waited <= low_)
            return 0;
        return waited >= high_ ? 1 : static_cast<double>(waited - low_) / static_cast<double>(high_ - low_);
    }

    SojournPacket pop()
    {
        const SojournPacket packet = queue_.front();
        queue_.pop_front();
        return packet;
    }

    std::uint64_t limit_ = 0, low_ = 0, high_ = 0; // packets, ns, ns
    std::uint64_t marks_ = 0;
    std::deque<SojournPacket> queue_;
};

// Calls `work`; what it throws ends the run, and `otherwise` is the answer.
template <typename Answer, typename Work> Answer guarded(SojournHost *host, Answer otherwise, Work work) noexcept
{
    try {
        return work();
    } catch (const std::exception &error) {
        host->calls->fail(host, error.what());
        return otherwise;
    }
}

Ramp &of(void *aqm)
{
    return *static_cast<Ramp *>(aqm);
}

const Ramp &of(const void *aqm)
{
    return *static_cast<const Ramp *>(aqm);
}

// An option that need not be given, in the range of its kind.
constexpr SojournOption option(const char *name, std::uint32_t kind, const char *preset, const char *doc)
{
    SojournOption made{};
    made.name = name;
    made.kind = kind;
    made.preset = preset;
    made.doc = doc;
    return made;
}

constexpr std::array<SojournOption, 3> options{ // in the order of `Option`
    option("limit", SOJOURN_PACKETS, "1000", "packets held at most"),
    option("low", SOJOURN_TIME, "1ms", "sojourn time up to which nothing is marked"),
    option("high", SOJOURN_TIME, "10ms", "sojourn time from which everything is"),
};
constexpr std::array<SojournCounter, 1> counters{{
    { .name = "marked", .unit = SOJOURN_UNIT_COUNT, .line = 0, .shown = SOJOURN_SHOWN_ALWAYS, .doc = "packets marked" },
}};
constexpr std::array<SojournGauge, 1> gauges{{
    { .name = "probability", .unit = SOJOURN_UNIT_PROBABILITY, .doc = "what the ramp says of the head" },
}};
constexpr std::array<const char *, 2> reasons{ "tail", "ramp" }; // in the order of `Reason`

constexpr SojournAqm ramp = {
    .size = sizeof(SojournAqm),
    .name = "ramp",
    .summary = "one queue that marks in proportion to its sojourn time",
    .source = "examples/plugin-cpp/ramp.cpp",
    .options = options.data(),
    .option_count = options.size(),
    .counters = counters.data(),
    .counter_count = counters.size(),
    .gauges = gauges.data(),
    .gauge_count = gauges.size(),
    .reasons = reasons.data(),
    .reason_count = reasons.size(),
    .create = [](SojournHost *host, const SojournValue *values) -> void * {
        return guarded<void *>(host, nullptr, [&]() -> void * {
            auto made = std::make_unique<Ramp>();
            return made->configure(host, values) ? made.release() : nullptr;
        });
    },
    .destroy = [](void *aqm, SojournHost *) { delete &of(aqm); },
    .clone = [](const void *aqm, SojournHost *host) -> void * {
        return guarded<void *>(host, nullptr, [&]() -> void * { return new Ramp(of(aqm)); });
    },
    .change = [](void *aqm, SojournHost *host, std::uint64_t, const SojournValue *values) {
        if (of(aqm).configure(host, values))
            of(aqm).shorten(host);
    },
    .enqueue = [](void *aqm, SojournHost *host, std::uint64_t, const SojournPacket *packet) {
        guarded<bool>(host, false, [&] { return of(aqm).enqueue(host, *packet), true; });
    },
    .dequeue = [](void *aqm, SojournHost *host, std::uint64_t now, std::uint64_t *out) {
        return of(aqm).dequeue(host, now, out);
    },
    .next_timer = nullptr,
    .on_timer = nullptr,
    .start = nullptr,
    .flush = [](void *aqm, SojournHost *, std::uint64_t) { of(aqm).flush(); },
    .read_counters = [](const void *aqm, SojournHost *, double *out) { out[0] = of(aqm).marks(); },
    .read_gauges = [](const void *aqm, SojournHost *, std::uint64_t now, double *out) {
        out[0] = of(aqm).probability_at(now);
    },
};

constexpr std::array<const SojournAqm *, 1> aqms{ &ramp };

} // namespace

SOJOURN_EXPORT const SojournPlugin sojourn_plugin = {
    .abi_version = SOJOURN_ABI_VERSION,
    .size = sizeof(SojournPlugin),
    .aqms = aqms.data(),
    .aqm_count = aqms.size(),
    .controls = nullptr,
    .control_count = 0,
};
