//! Whichever application a flow has: an enum, so that a packet's way to it is a jump and not a call through a table of
//! pointers. One from outside is behind a pointer.
//!
//! To add an application: one file with its type, which has a name and options ([`NamedApp`](super::NamedApp)), or says what
//! traffic of the model it is for ([`FromFlow`]); and its `mod` line and an entry of `apps!` (`mod.rs`).

use super::apps::Apps;
use super::connection::Template;
use super::connections::Connections;
use super::half::HalfPath;
use super::interface::App;
use super::named::AppSetup;
use super::report::{FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::Packet;
use sojourn_model::{App as AppWords, Traffic};
use sojourn_path::SkbCharge;
use sojourn_qdisc::TcError;
use sojourn_transport::LimitedTimes;
use sojourn_units::Time;

macro_rules! any_app {
    (
        typed { $($(#[$if:meta])* $file:ident: $variant:ident($type:ty);)* }
        by_words { $($words:tt)* }
    ) => {
        /// An application of any kind. The tag comes first, next to the hosts' cache line.
        #[derive(Debug)]
        #[repr(u8)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, kept in place")]
        pub(crate) enum AnyApp {
            $($(#[$if])* $variant($type),)*
            /// One that words name, or that the simulator does not know at all.
            Custom(Box<dyn App>),
        }

        /// Does the same with whichever application it is.
        macro_rules! each {
            ($any:expr, $app:ident => $what:expr) => {
                match $any {
                    $($(#[$if])* AnyApp::$variant($app) => $what,)*
                    AnyApp::Custom($app) => $what,
                }
            };
        }

        impl AnyApp {
            /// The application of a flow, at rest.
            ///
            /// # Errors
            /// What is wrong with the words that name it.
            pub(crate) fn of(setup: &mut Setup<'_>, apps: &Apps) -> Result<Self, TcError> {
                if let Traffic::App(app) = &setup.flow.traffic {
                    return named(app, setup, apps).map(Self::Custom);
                }
                $($(#[$if])* if let Some(app) = <$type>::of(setup) {
                    return Ok(Self::$variant(app));
                })*
                unreachable!("no application is for {}", setup.flow.traffic.name())
            }

            /// [`App::next_timer`] of whichever it is.
            #[inline(never)]
            fn next_timer_any(&self) -> Time {
                each!(self, app => app.next_timer())
            }
        }
    };
}

apps!(any_app);

/// The application that words name.
fn named(app: &AppWords, setup: &Setup<'_>, apps: &Apps) -> Result<Box<dyn App>, TcError> {
    let flow = setup.flow;
    let template = Template::new(&app.tcp, setup.host, setup.device, setup.seed, &flow.name);
    let path =
        HalfPath { owner: setup.owner, routes: setup.routes, dscp: flow.dscp, turned: false };
    let connections = Connections::new(template, path);
    apps.build(&app.words, AppSetup::new(connections, setup.own_random()))
}

#[deny(
    clippy::missing_trait_methods,
    reason = "a method that is not handed on would be the default"
)]
impl App for AnyApp {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        each!(self, app => app.start(tx));
    }

    fn has_begun(&self) -> bool {
        each!(self, app => app.has_begun())
    }

    fn stop(&mut self, now: Time) {
        each!(self, app => app.stop(now));
    }

    #[inline]
    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        each!(self, app => app.on_packet(tx, packet));
    }

    #[inline]
    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        each!(self, app => app.on_timer(tx));
    }

    /// Called after every packet. Nearly all packets are bulk data, so that case is inlined.
    #[inline]
    fn next_timer(&self) -> Time {
        match self {
            Self::Bulk(bulk) => bulk.next_timer(),
            _ => self.next_timer_any(),
        }
    }

    fn has_many_connections(&self) -> bool {
        each!(self, app => app.has_many_connections())
    }

    fn is_elsewhere(&self) -> bool {
        each!(self, app => app.is_elsewhere())
    }

    fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        each!(self, app => app.tx_completion(tx, done));
    }

    fn is_finite(&self) -> bool {
        each!(self, app => app.is_finite())
    }

    fn is_finished(&self) -> bool {
        each!(self, app => app.is_finished())
    }

    #[inline]
    fn failure(&self) -> Option<&str> {
        each!(self, app => app.failure())
    }

    fn delivered_bytes(&self) -> u64 {
        each!(self, app => app.delivered_bytes())
    }

    fn record(&self) -> Record {
        each!(self, app => app.record())
    }

    fn limited_times(&self, now: Time) -> Option<LimitedTimes> {
        each!(self, app => app.limited_times(now))
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        each!(self, app => app.gauges(out));
    }

    fn report(&self, end: Time) -> FlowReport {
        each!(self, app => app.report(end))
    }
}
