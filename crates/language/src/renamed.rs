//! What earlier versions called the keys of an experiment file, so that an old file is answered with today's names.

use super::keys::Section;
use super::sections;
use super::source::{Diagnostic, DiagnosticKind};
use super::tree::Entry;
use sojourn_model::{ElementKind, Renamed, new_name, renamed};

/// The old keys of each section that had some.
const KEYS: &[(&Section, &[Renamed])] = &[
    (&sections::EXPERIMENT, &[("lead", "warmup"), ("step", "sample_interval")]),
    (&sections::HOP, &[("own_device", "host_nic")]),
    (&sections::ELEMENT, &[("wlan", "wifi")]),
    (&sections::FLOW, &[("unresponsive_to_ce", "ignore_ce"), ("pacing_cap", "max_pacing_rate")]),
];

/// Keys by which a table `wifi` is known to be an old one: the element that is called `aggregating_link` now has them, and
/// the element that took over its name has not.
const OF_THE_OLD_WIFI: &[&str] = &["opportunity_min", "opportunity_max"];

/// The message for a key that `section` lacks, if an earlier version had it.
pub(crate) fn key(section: &'static Section, entry: &Entry) -> Option<Diagnostic> {
    let old = entry.key.as_str();
    if core::ptr::eq(section, &raw const sections::WIFI) && OF_THE_OLD_WIFI.contains(&old) {
        let (was, now) = (ElementKind::Wifi, ElementKind::AggregatingLink);
        let message = format!("an element `{was}` with `{old}` is called `{now}` now");
        let help = format!("write {now} = {{ … }}; `{was}` is now what was `wlan`");
        return Some(entry.key_place.says(DiagnosticKind::Key, message).help(help));
    }
    let (_, names) = KEYS.iter().find(|(of, _)| core::ptr::eq(*of, section))?;
    let new = new_name(old, names)?;
    let doc = section.keys[section.index(new)?].doc;
    let says = entry.key_place.says(DiagnosticKind::Key, renamed(old, new));
    Some(says.help(format!("{new}: {doc}")))
}

/// The message for a key of `section` (such as `[experiment]`) that only earlier versions had.
pub fn renamed_key(section: &str, key: &str) -> Option<String> {
    let (_, names) = KEYS.iter().find(|(of, _)| of.name == section)?;
    new_name(key, names).map(|new| renamed(key, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An old name leads to a key that there is, and is none itself.
    #[test]
    fn old_keys_lead_to_keys() {
        for (section, names) in KEYS {
            for (old, new) in *names {
                assert!(section.index(new).is_some(), "{new} of {}", section.name);
                assert!(section.index(old).is_none(), "{old} of {}", section.name);
            }
        }
        for old in OF_THE_OLD_WIFI {
            assert!(sections::AGGREGATING_LINK.index(old).is_some());
            assert!(sections::WIFI.index(old).is_none());
        }
    }
}
