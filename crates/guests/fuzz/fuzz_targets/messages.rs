//! See `tests/any_bytes.rs`.
#![no_main]

#[path = "../../tests/any_bytes/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::any_bytes(data));
