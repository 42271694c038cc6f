//! See `src/fuzz.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = sojourn_plugin_host::fuzz::tables(data);
});
