//! cbindgen makes the header for C from the Rust tables.
//! `UPDATE_HEADER=1 cargo test -p sojourn-plugin --profile checked --test header` writes it again.

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, Style};
use std::path::Path;

const INTRODUCTION: &str = "\
/* The C ABI of Sojourn's plugins: shared libraries with queue disciplines and congestion controls.
 *
 * A plugin exports one symbol, a table that leads to all others:
 *
 *     SOJOURN_EXPORT const SojournPlugin sojourn_plugin = { ... };
 *
 * docs/plugins.md tells how to write one. Generated from crates/plugin/src/abi.rs: do not edit. */";

const EXPORT: &str = "
/* Goes in front of `const SojournPlugin sojourn_plugin`, so that a loader finds it. */
#ifdef __cplusplus
#define SOJOURN_LINKAGE extern \"C\"
#else
#define SOJOURN_LINKAGE
#endif
#ifdef _WIN32
#define SOJOURN_EXPORT SOJOURN_LINKAGE __declspec(dllexport)
#else
#define SOJOURN_EXPORT SOJOURN_LINKAGE __attribute__((visibility(\"default\")))
#endif

struct SojournHost;
";

/// Types that C sees, and whether they are reached from the one that is exported.
const TYPES: [&str; 19] = [
    "Plugin",
    "Packet",
    "Value",
    "OptionSpec",
    "Counter",
    "Gauge",
    "Aqm",
    "Host",
    "HostCalls",
    "View",
    "Control",
    "EcnRequirements",
    "SegmentState",
    "LostSegment",
    "AckEvent",
    "AckSample",
    "ControlSample",
    "Event",
    "CongestionControl",
];

fn generated() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rename = TYPES.map(|name| {
        let c = match name {
            "OptionSpec" => "SojournOption".to_owned(),
            _ => format!("Sojourn{name}"),
        };
        (name.to_owned(), c)
    });
    let config = Config {
        language: Language::C,
        header: Some(INTRODUCTION.to_owned()),
        after_includes: Some(EXPORT.to_owned()),
        include_guard: Some("SOJOURN_H".to_owned()),
        cpp_compat: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stdint.h"].map(str::to_owned).to_vec(),
        documentation_style: DocumentationStyle::C,
        line_length: 100,
        tab_width: 4,
        style: Style::Both,
        usize_is_size_t: true,
        export: ExportConfig {
            include: TYPES.map(str::to_owned).to_vec(),
            rename: rename.into_iter().collect(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig::default(),
        ..Config::default()
    };
    let bindings = Builder::new()
        .with_config(config)
        .with_src(source.join("abi/plugin.rs"))
        .with_src(source.join("abi.rs"))
        .with_src(source.join("abi/control.rs"))
        .generate();
    let mut text = Vec::new();
    bindings.expect("the file can be read").write(&mut text);
    String::from_utf8(text).expect("it is text")
}

#[test]
fn the_header_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/sojourn.h");
    let generated = generated();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, generated).expect("it can be written");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == generated,
        "include/sojourn.h does not agree with src/abi.rs; write it again with UPDATE_HEADER=1 \
         cargo test -p sojourn-plugin --profile checked --test header"
    );
}
