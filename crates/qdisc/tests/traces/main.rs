//! Every discipline against traces worked out by hand, against naive twins, and under random operations.

mod bench;
mod cake;
mod cake_filter;
mod cobalt;
mod codel;
mod codel_af;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod fuzz;
mod head_drop;
mod htb;
mod lfq_cobalt;
mod naive;
mod naive_pi2;
mod netem;
mod outside;
mod pi2;
mod pie;
mod properties;
mod red;
mod show;
mod tbf;
mod words;
