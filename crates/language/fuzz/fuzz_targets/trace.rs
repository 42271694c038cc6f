//! See `tests/fuzz.rs`.
#![no_main]

#[path = "../../tests/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::trace(data));
