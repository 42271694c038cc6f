//! A plugin in Zig: `ramp`, which does what examples/plugin-c/ramp.c does, with the same results. `build.sh` builds it,
//! and has Zig translate C's header to `sojourn.zig` before that.

const std = @import("std");
const c = @import("sojourn.zig");

/// Places in `options`.
const limit_option = 0;
const low_option = 1;
const high_option = 2;
/// Places in `reasons`.
const tail = 0;
const ramp_reason = 1;

const allocator = std.heap.c_allocator;

const Ramp = struct {
    limit: u64 = 0, // packets
    low: u64 = 0, // ns
    high: u64 = 0, // ns
    marks: u64 = 0,
    /// A ring of what is held: `count` packets from `head` on.
    ring: []c.SojournPacket = &.{},
    head: usize = 0,
    count: usize = 0,

    fn configure(self: *Ramp, host: *c.SojournHost, values: [*c]const c.SojournValue) bool {
        if (values[low_option].integer >= values[high_option].integer) {
            host.calls.*.refuse.?(host, "\"low\" is not below \"high\"");
            return false;
        }
        self.limit = values[limit_option].integer;
        self.low = values[low_option].integer;
        self.high = values[high_option].integer;
        return true;
    }

    fn push(self: *Ramp, packet: c.SojournPacket) !void {
        if (self.count == self.ring.len) {
            const ring = try allocator.alloc(c.SojournPacket, @max(64, 2 * self.ring.len));
            for (0..self.count) |i| ring[i] = self.ring[(self.head + i) % self.ring.len];
            allocator.free(self.ring);
            self.ring = ring;
            self.head = 0;
        }
        self.ring[(self.head + self.count) % self.ring.len] = packet;
        self.count += 1;
    }

    fn pop(self: *Ramp) c.SojournPacket {
        const packet = self.ring[self.head];
        self.head = (self.head + 1) % self.ring.len;
        self.count -= 1;
        return packet;
    }

    fn probability(self: *const Ramp, waited: u64) f64 {
        if (waited <= self.low) return 0;
        if (waited >= self.high) return 1;
        const above: f64 = @floatFromInt(waited - self.low);
        const whole: f64 = @floatFromInt(self.high - self.low);
        return above / whole;
    }
};

fn of(aqm: ?*anyopaque) *Ramp {
    return @ptrCast(@alignCast(aqm.?));
}

fn seen(aqm: ?*const anyopaque) *const Ramp {
    return @ptrCast(@alignCast(aqm.?));
}

fn create(host: [*c]c.SojournHost, values: [*c]const c.SojournValue) callconv(.c) ?*anyopaque {
    const self = allocator.create(Ramp) catch return null;
    self.* = .{};
    if (!self.configure(host, values)) {
        allocator.destroy(self);
        return null;
    }
    return self;
}

fn destroy(aqm: ?*anyopaque, _: [*c]c.SojournHost) callconv(.c) void {
    allocator.free(of(aqm).ring);
    allocator.destroy(of(aqm));
}

fn clone(aqm: ?*const anyopaque, _: [*c]c.SojournHost) callconv(.c) ?*anyopaque {
    const copy = allocator.create(Ramp) catch return null;
    copy.* = seen(aqm).*;
    copy.ring = allocator.dupe(c.SojournPacket, seen(aqm).ring) catch {
        allocator.destroy(copy);
        return null;
    };
    return copy;
}

fn change(aqm: ?*anyopaque, host: [*c]c.SojournHost, _: u64, values: [*c]const c.SojournValue) callconv(.c) void {
    const self = of(aqm);
    if (!self.configure(host, values)) return;
    while (self.count > self.limit) host.*.calls.*.drop.?(host, self.pop().handle, tail);
}

fn enqueue(aqm: ?*anyopaque, host: [*c]c.SojournHost, _: u64, packet: [*c]const c.SojournPacket) callconv(.c) void {
    const self = of(aqm);
    if (self.count >= self.limit) {
        host.*.calls.*.drop.?(host, packet.*.handle, tail);
        return;
    }
    self.push(packet.*) catch host.*.calls.*.fail.?(host, "there is no memory left");
}

fn dequeue(aqm: ?*anyopaque, host: [*c]c.SojournHost, now: u64, out: [*c]u64) callconv(.c) u32 {
    const self = of(aqm);
    while (self.count > 0) {
        const packet = self.pop();
        const p = self.probability(now - packet.stamp);
        if (p > 0 and @as(f64, @floatFromInt(host.*.calls.*.random_u32.?(host))) < p * 4294967296.0) {
            if (!host.*.calls.*.mark.?(host, packet.handle, ramp_reason)) {
                host.*.calls.*.drop.?(host, packet.handle, ramp_reason);
                continue;
            }
            self.marks += 1;
        }
        out.* = packet.handle;
        return c.SOJOURN_PACKET;
    }
    return c.SOJOURN_EMPTY;
}

fn flush(aqm: ?*anyopaque, _: [*c]c.SojournHost, _: u64) callconv(.c) void {
    of(aqm).head = 0;
    of(aqm).count = 0;
}

fn readCounters(aqm: ?*const anyopaque, _: [*c]c.SojournHost, out: [*c]f64) callconv(.c) void {
    out[0] = @floatFromInt(seen(aqm).marks);
}

fn readGauges(aqm: ?*const anyopaque, _: [*c]c.SojournHost, now: u64, out: [*c]f64) callconv(.c) void {
    const self = seen(aqm);
    out[0] = if (self.count > 0) self.probability(now - self.ring[self.head].stamp) else 0;
}

const options = [_]c.SojournOption{
    .{ .name = "limit", .kind = c.SOJOURN_PACKETS, .preset = "1000", .doc = "packets held at most" },
    .{ .name = "low", .kind = c.SOJOURN_TIME, .preset = "1ms", .doc = "sojourn time up to which nothing is marked" },
    .{ .name = "high", .kind = c.SOJOURN_TIME, .preset = "10ms", .doc = "sojourn time from which everything is" },
};
const counters = [_]c.SojournCounter{
    .{ .name = "marked", .unit = c.SOJOURN_UNIT_COUNT, .shown = c.SOJOURN_SHOWN_ALWAYS, .doc = "packets marked" },
};
const gauges = [_]c.SojournGauge{
    .{ .name = "probability", .unit = c.SOJOURN_UNIT_PROBABILITY, .doc = "what the ramp says of the head" },
};
const reasons = [_][*c]const u8{ "tail", "ramp" };

const ramp = c.SojournAqm{
    .size = @sizeOf(c.SojournAqm),
    .name = "ramp",
    .summary = "one queue that marks in proportion to its sojourn time",
    .source = "examples/plugin-zig/ramp.zig",
    .options = &options,
    .option_count = options.len,
    .counters = &counters,
    .counter_count = counters.len,
    .gauges = &gauges,
    .gauge_count = gauges.len,
    .reasons = &reasons,
    .reason_count = reasons.len,
    .create = create,
    .destroy = destroy,
    .clone = clone,
    .change = change,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .flush = flush,
    .read_counters = readCounters,
    .read_gauges = readGauges,
};

const aqms = [_][*c]const c.SojournAqm{&ramp};

export const sojourn_plugin = c.SojournPlugin{
    .abi_version = c.SOJOURN_ABI_VERSION,
    .size = @sizeOf(c.SojournPlugin),
    .aqms = &aqms,
    .aqm_count = aqms.len,
};
