//! TCP for applications from outside: connections between the two hosts of a flow, on its path and with its stack, which are
//! opened one by one.

use super::connection::{Connection, Template};
use super::half::HalfPath;
use crate::host::HostTx;

/// Which host opens a connection and asks on it; the other one answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    /// The one that receives the flow's data: answers are the data, as in a download.
    Receiver,
    /// The one that sends the flow's data: requests are the data, as in an upload.
    Sender,
}

/// The connections of one flow. [`Simulation::connections`](crate::Simulation::connections) makes them, and an [`App`] that
/// has them opens as many as it likes, each a flow of its own to queues.
///
/// Captures show all of them if the application says so
/// ([`App::has_many_connections`](super::App::has_many_connections)), else the first alone.
///
/// ```
/// use sojourn_model::{EcnMode, Tcp, Traffic, Udp};
/// use sojourn_sim::app::{App, Client, Connection, Connections, FlowReport, HostTx, Packet, Record};
/// use sojourn_sim::{Simulation, dumbbell::Dumbbell};
/// use sojourn_units::{Ecn, Rate, Span, Time};
///
/// /// Fetches a megabyte with a request of a hundred bytes.
/// #[derive(Debug)]
/// struct Fetch {
///     connections: Connections,
///     connection: Option<Connection>,
///     answered: bool,
/// }
///
/// impl App for Fetch {
///     fn start(&mut self, tx: &mut HostTx<'_>) {
///         let mut connection = self.connections.open(tx, Client::Receiver);
///         connection.ask(tx, 100);
///         self.connection = Some(connection);
///     }
///
///     fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
///         let Some(connection) = &mut self.connection else { return };
///         connection.on_packet(tx, packet);
///         if !self.answered && connection.heard() == 100 {
///             self.answered = true;
///             connection.answer(tx, 1_000_000);
///         }
///     }
///
///     fn on_timer(&mut self, tx: &mut HostTx<'_>) {
///         if let Some(connection) = &mut self.connection {
///             connection.on_timer(tx);
///         }
///     }
///
///     fn next_timer(&self) -> Time {
///         self.connection.as_ref().map_or(Time::NEVER, Connection::next_timer)
///     }
///
///     fn stop(&mut self, now: Time) {
///         if let Some(connection) = &mut self.connection {
///             connection.stop(now);
///         }
///     }
///
///     fn delivered_bytes(&self) -> u64 {
///         self.connection.as_ref().map_or(0, Connection::taken)
///     }
///
///     fn record(&self) -> Record {
///         self.connection.as_ref().map_or(Record::Nothing, |c| Record::Connection(c.record()))
///     }
///
///     fn report(&self, _end: Time) -> FlowReport {
///         FlowReport::default()
///     }
/// }
///
/// let dumbbell = Dumbbell { duration: Span::from_secs(2), ..Dumbbell::default() };
/// let mut scenario = dumbbell.scenario();
/// // Which traffic the flow has makes no difference: it says when it starts, and which way its data goes.
/// let udp = Udp { rate: Rate::from_mbit(1), payload: 1000, ecn: Ecn::NotEct };
/// scenario.flows.push(dumbbell.flow("fetch", Traffic::Udp(udp)));
/// let mut simulation = Simulation::new(scenario)?;
/// let connections = simulation.connections("fetch", &Tcp::plain("cubic", EcnMode::Rfc3168))?;
/// let app = Fetch { connections, connection: None, answered: false };
/// simulation.set_app("fetch", Box::new(app))?;
/// simulation.advance_to(Time::from_secs(2))?;
/// let fetch = simulation.snapshot().flows.pop().expect("it is the last");
/// assert_eq!(fetch.delivered_bytes, 1_000_000);
/// # Ok::<(), sojourn_engine::RunError>(())
/// ```
///
/// [`App`]: super::App
#[derive(Debug)]
pub struct Connections {
    template: Template,
    path: HalfPath,
    opened: u32,
}

impl Connections {
    /// The connections of a flow; `path` is the path of its data.
    pub(crate) const fn new(template: Template, path: HalfPath) -> Self {
        Self { template, path, opened: 0 }
    }

    /// The client opens a further one: its SYN leaves now.
    pub fn open(&mut self, tx: &mut HostTx<'_>, client: Client) -> Connection {
        let with_data = client == Client::Sender;
        let mut connection =
            self.template.connection(self.path, with_data, self.opened, tx.random());
        self.opened += 1;
        connection.open(tx);
        connection
    }
}
