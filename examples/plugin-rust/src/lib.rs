//! A plugin with one queue discipline: `my_codel`, which does what Sojourn's own `codel` does.
//!
//! `cargo build --release -p plugin-rust`, then `sojourn try cubic --plugin target/release/libplugin_rust.so --qdisc my_codel`.

mod codel;
mod law;

pub use codel::MyCodel;

sojourn_plugin::sojourn_plugin! { aqms: [MyCodel] }
