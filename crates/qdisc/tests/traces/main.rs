//! Every discipline against traces worked out by hand, against naive twins, and under random operations.

mod bench;
mod codel;
mod dualpi2;
mod fifo;
mod fq_codel;
mod htb;
mod naive;
mod naive_pi2;
mod netem;
mod pi2;
mod pie;
mod properties;
mod red;
mod show;
mod words;
