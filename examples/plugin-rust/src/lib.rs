//! A plugin with a queue discipline, `my_codel`, and a congestion control, `my_reno`, which do what Sojourn's own `codel` and
//! `reno` do.
//!
//! `cargo build --release -p plugin-rust`, then `sojourn try cubic --plugin target/release/libplugin_rust.so --qdisc my_codel`.

mod codel;
mod law;
mod reno;

pub use codel::MyCodel;
pub use reno::MyReno;

sojourn_plugin::sojourn_plugin! { aqms: [MyCodel], controls: [MyReno] }
