//! The parts of docs/congestion-controls.md that people write speak of every control.

use sojourn_transport::cc::Registry;
use std::path::PathBuf;

#[test]
fn the_page_compares_every_control() {
    let page = ["..", "..", "docs", "congestion-controls.md"];
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR")].iter().chain(&page).collect();
    let text = std::fs::read_to_string(&path).expect("the page is there");
    for info in Registry::built_in().infos() {
        assert!(text.contains(&format!("| `{}` |", info.name)), "{} is not compared", info.name);
    }
}
