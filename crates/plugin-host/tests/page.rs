//! Every block of code in docs/plugins.md is part of the examples, which other tests build and run.

use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const EXAMPLES: [&str; 10] = [
    "examples/plugin-c/ramp.c",
    "examples/plugin-c/halve.c",
    "examples/plugin-c/experiment.toml",
    "examples/plugin-c/run.sh",
    "examples/plugin-cpp/ramp.cpp",
    "examples/plugin-cpp/build.sh",
    "examples/plugin-zig/build.sh",
    "examples/plugin-rust/Cargo.toml",
    "examples/plugin-rust/src/codel.rs",
    "examples/plugin-rust/src/lib.rs",
];

fn read(path: &str) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_block_of_the_page_is_in_the_examples() {
    let page = read("docs/plugins.md");
    let examples = EXAMPLES.map(read);
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    assert!(blocks.len() > 9, "{}", blocks.len());
    for block in blocks {
        let (_, code) = block.split_once('\n').expect("a block has lines");
        assert!(examples.iter().any(|example| example.contains(code)), "in no example:\n{code}");
    }
}

/// Where the page says that `unsafe` is, it is, and nowhere else.
#[test]
fn the_page_lists_every_file_with_unsafe_code() {
    let page = read("docs/plugins.md");
    let mut found = Vec::new();
    for folder in fs::read_dir(Path::new(ROOT).join("crates")).expect("it is there") {
        let source = folder.expect("it can be read").path().join("src");
        search(&source, &mut found);
    }
    found.sort();
    for file in &found {
        let name = Path::new(file).file_name().expect("a file").to_string_lossy().into_owned();
        let is_listed = page.contains(&format!("{name}`")) || page.contains(&format!("`{file}`"));
        assert!(is_listed, "{file} has unsafe code, and docs/plugins.md does not list it");
    }
    assert!(found.len() >= 9, "{found:?}");
}

fn search(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            search(&path, found);
        } else if fs::read_to_string(&path).is_ok_and(|text| text.contains("unsafe_code)]")) {
            let root = Path::new(ROOT);
            found.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        }
    }
}
