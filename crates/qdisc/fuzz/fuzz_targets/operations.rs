//! See `tests/traces/fuzz.rs`.
#![no_main]
#![allow(dead_code, reason = "the test's bench has more than is needed here")]

#[path = "../../tests/traces/bench.rs"]
mod bench;
#[path = "../../tests/traces/fuzz.rs"]
mod fuzz;
#[path = "../../tests/traces/outside.rs"]
#[allow(unused_imports, reason = "its tests are left out here")]
mod outside;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = fuzz::operations(data);
});
