//! Queue disciplines as Linux has them: everything `tc` calls a qdisc, one file each, configured in tc's
//! words and reporting what `tc -s` reports, generic over the packet.
//!
//! Invariants, which the property tests hold every discipline to:
//! - a packet that goes in comes out once: dequeued, or handed to [`Telemetry::dropped`];
//! - a Not-ECT packet is never marked;
//! - nothing here looks at a clock, draws from a generator of its own or knows what an event queue is: the
//!   time, the random stream and the telemetry are arguments, and a discipline only *says* when it wants to be
//!   asked again ([`Dequeued::Wait`], [`Qdisc::next_timer`]).
//!
//! A [`Registry`] makes whichever discipline tc's words ask for ([`Registry::build`]) and lists them all with
//! their options, defaults, statistics and sources ([`table`]), as the kernel of a [`QdiscQuirks`] has them.
//!
//! One that is not here comes in from outside: a table ([`Discipline`]), its options and what they set ([`Settings`]), what it
//! reports ([`report!`]) and does ([`Qdisc`]) and how it is configured ([`TcConfigurable`]), and a name for the registry ([`Family`]). From then on it is
//! a discipline like the others.

/// Every discipline of this crate: its module, and each type in it with its table. The enum in `any.rs` takes the list.
macro_rules! disciplines {
    ($take:ident) => {
        $take! {
            cake: Cake INFO;
            cobalt: Cobalt INFO;
            codel: Codel INFO;
            codel_af: CnqCodelAf CNQ, TwinCodelAf TWIN;
            dualpi2: DualPi2 INFO;
            fifo: Bfifo BFIFO, Pfifo PFIFO;
            fq: Fq INFO;
            fq_codel: FqCodel INFO;
            fq_pie: FqPie INFO;
            head_drop: PfifoHeadDrop INFO;
            htb: Htb INFO;
            lfq_cobalt: LfqCobalt INFO;
            netem: Netem INFO;
            pi2: Pi2 INFO;
            pie: Pie INFO;
            red: Red INFO;
            tbf: Tbf INFO;
        }
    };
}

mod any;
pub mod cake;
pub mod catalogue;
pub mod cobalt;
mod cobalt_config;
mod cobalt_law;
pub mod codel;
pub mod codel_af;
mod codel_law;
mod configured;
pub mod dualpi2;
mod dynamic;
pub mod fifo;
mod flow_list;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod head_drop;
mod help;
pub mod htb;
pub mod lfq_cobalt;
pub mod netem;
pub mod packet;
pub mod pi2;
mod pi2_law;
pub mod pie;
mod pie_config;
mod pie_law;
pub mod profile;
mod qdisc;
mod reason;
pub mod red;
mod registry;
pub mod report;
mod scan_list;
mod settings;
mod shaper;
pub mod show;
pub mod table;
mod tally;
pub mod tbf;
pub mod telemetry;
mod transmit_queues;
pub mod words;
pub mod xstats;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use any::{AnyQdisc, disciplines};
pub use catalogue::{Catalogue, NotAdded};
pub use configured::{BuildContext, TcConfigurable};
pub use dynamic::{DynContext, DynQdisc, OwnedPacket};
pub use htb::Htb;
pub use netem::Netem;
pub use packet::{Acknowledgement, NoPacket, Packet};
pub use profile::{CodelLaw, QdiscQuirks};
pub use qdisc::{Backlog, Dequeued, Qdisc, Stats};
pub use reason::Reason;
pub use registry::{Family, Registry, RegistryError};
pub use report::Reported;
pub use settings::{ParsedOption, Setting, Settings, defaults, options, read_change, read_options};
pub use table::{Class, Discipline};
pub use tally::{PacketQueue, QdiscCounters, mark};
pub use telemetry::{Context, Telemetry};
pub use transmit_queues::needs_transmit_queues;
pub use words::{TcError, TcTokens};
pub use xstats::Xstats;
