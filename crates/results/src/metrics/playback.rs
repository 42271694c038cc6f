//! What the viewer of an adaptive stream sees (docs/sources/applications.md#adaptive-streaming): bitrate, stalls, changes of level, the wait at the
//! start. The table `playback` has it; a row holds until the next one.

use super::series::Frame;
use super::window::Bounds;

/// A time in which the player's state did not change.
struct Spell<'t> {
    from: f64,
    to: f64,
    state: &'t str,
    bitrate: f64,
}

impl Spell<'_> {
    /// Its part in a window.
    fn within(&self, bounds: Bounds) -> f64 {
        (self.to.min(bounds.to) - self.from.max(bounds.from)).max(0.0)
    }
}

fn spells<'t>(frame: &'t Frame<'_>, flow: &str) -> Vec<Spell<'t>> {
    let table = &frame.playback.table;
    let (times, states) = (table.f64("t_s"), table.text("state"));
    let bitrates = table.f64("bitrate_bps");
    let rows = frame.playback.of(flow);
    let end = frame.run().scenario.duration.as_secs_f64();
    rows.iter()
        .enumerate()
        .map(|(i, &row)| Spell {
            from: times[row],
            to: rows.get(i + 1).map_or(end, |&next| times[next]),
            state: states.get(row),
            bitrate: bitrates[row],
        })
        .collect()
}

fn total(spells: &[Spell<'_>], bounds: Bounds, of: impl Fn(&Spell<'_>) -> f64) -> f64 {
    spells.iter().fold(0.0, |sum, spell| sum + of(spell) * spell.within(bounds))
}

/// `Σ r·t / Σ t` over the times t in which the level r was played. `None` if nothing was.
pub(super) fn bitrate(frame: &Frame<'_>, flow: &str, bounds: Bounds) -> Option<f64> {
    let mut spells = spells(frame, flow);
    spells.retain(|s| s.state == "playing");
    let time = total(&spells, bounds, |_| 1.0);
    (time > 0.0).then(|| total(&spells, bounds, |s| s.bitrate) / time)
}

/// How often playing began to stall in the window.
pub(super) fn stalls(frame: &Frame<'_>, flow: &str, bounds: Bounds) -> Option<f64> {
    let spells = spells(frame, flow);
    let began = spells.iter().filter(|s| s.state == "stalled" && bounds.holds(s.from)).count();
    (!spells.is_empty()).then_some(began as f64)
}

/// For how long it was stalled in the window.
pub(super) fn stall_time(frame: &Frame<'_>, flow: &str, bounds: Bounds) -> Option<f64> {
    let mut spells = spells(frame, flow);
    if spells.is_empty() {
        return None;
    }
    spells.retain(|s| s.state == "stalled");
    Some(total(&spells, bounds, |_| 1.0))
}

/// How often the level that is played changed in the window; a stall between two levels does not hide a change.
pub(super) fn switches(frame: &Frame<'_>, flow: &str, bounds: Bounds) -> Option<f64> {
    let mut spells = spells(frame, flow);
    if spells.is_empty() {
        return None;
    }
    spells.retain(|s| s.state == "playing");
    let changed = |pair: &&[Spell<'_>]| {
        pair[0].bitrate.to_bits() != pair[1].bitrate.to_bits() && bounds.holds(pair[1].from)
    };
    Some(spells.windows(2).filter(changed).count() as f64)
}

/// From the stream's start until it first plays; `None` if it never does.
pub(super) fn startup_delay(frame: &Frame<'_>, flow: &str) -> Option<f64> {
    let spells = spells(frame, flow);
    let first = spells.first()?.from;
    spells.iter().find(|s| s.state == "playing").map(|s| s.from - first)
}
