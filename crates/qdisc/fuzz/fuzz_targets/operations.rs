//! See `tests/traces/fuzz.rs`.
#![no_main]
#![allow(dead_code, reason = "the test's bench has more than is needed here")]

#[path = "../../tests/traces/bench.rs"]
mod bench;
#[path = "../../tests/traces/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = fuzz::operations(data);
});
