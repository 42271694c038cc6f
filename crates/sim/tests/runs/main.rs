//! Whole runs of the simulator: what must hold of every one, what physics says of some, and tables of numbers
//! to be read by people.

mod applications;
mod around_codel;
mod background;
mod bbr;
mod bench;
mod by_words;
mod capture;
mod classes;
mod closed_forms;
mod controls;
mod controls_page;
mod delays;
mod determinism;
mod edges;
mod events;
mod experiments;
mod flow_options;
mod golden;
mod goodput;
mod host_nic;
mod limits;
mod media;
mod netperf;
mod outside;
mod overload;
mod path;
mod physics;
mod properties;
#[cfg(feature = "quic")]
mod quic;
mod refusals;
mod request;
mod sce;
mod scenarios;
mod senders;
mod small_packets;
mod standstill;
mod stepping;
mod tc;
#[cfg(feature = "quic")]
mod tcp_stack;
mod watching;
mod windows;
