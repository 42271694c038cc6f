//! `page`: a web page, its objects fetched over a few TCP connections at once, again and again.
//!
//! A browser of HTTP/1.1: `parallel` connections are opened for each page; each asks for the next object as soon as it has
//! one. A page is complete when its last object is; `pause` later the next one begins, on new connections. Each page is a row
//! in the table `completions`, and its load time one of the flow's delays.

use sojourn_qdisc::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_sim::app::{
    App, AppSetup, Client, Completion, Connection, Connections, Counts, FlowReport, HostTx,
    NamedApp, Packet, Record,
};
use sojourn_units::{Span, Time};

/// Bytes of a request.
const REQUEST: u64 = 400;

const A_FEW: &[ValueSpec] = &[ValueSpec {
    name: "NUMBER",
    kind: Kind::Count { unit: "of them", min: 1, max: 1000 },
    optional: false,
}];

/// The name and the options: parser, messages and lists read this.
pub const INFO: Discipline = Discipline {
    name: "page",
    summary: "web pages of several objects, over a few connections at once",
    source: "examples/own-aqm",
    options: options_of!(Options),
    ..Discipline::BASE
};

/// The options as a type.
#[derive(Clone, Debug)]
pub struct Options {
    objects: u32,
    bytes: u32,
    parallel: u32,
    pause: Span,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "objects",
            values: A_FEW,
            preset: DefaultValue::Is("20"),
            doc: "objects of a page",
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.objects = given.number()),
        OptionSpec {
            name: "bytes",
            values: table::BYTES,
            preset: DefaultValue::Is("30kb"),
            doc: "length of each",
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.bytes = given.number()),
        OptionSpec {
            name: "parallel",
            values: A_FEW,
            preset: DefaultValue::Is("6"),
            doc: "connections at once",
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.parallel = given.number()),
        OptionSpec {
            name: "pause",
            values: table::TIME,
            preset: DefaultValue::Is("1s"),
            doc: "from the end of a page to the next",
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.pause = given.span()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_quirks: &QdiscQuirks) -> Self {
        Self { objects: 0, bytes: 0, parallel: 0, pause: Span::ZERO }
    }
}

/// A connection, and how many objects it has been asked for, and has answered.
#[derive(Debug)]
struct Fetching {
    connection: Connection,
    asked: u64,
    answered: u64,
}

/// A browser and its server.
#[derive(Debug)]
pub struct Page {
    options: Options,
    connections: Connections,
    open: Vec<Fetching>,
    /// Pages; the last may be under way.
    pages: Vec<Completion>,
    /// Objects of this page that have not been asked for.
    left: u32,
    /// Bytes over connections that are gone.
    gone: u64,
    /// When the next one begins.
    due: Time,
}

impl NamedApp for Page {
    type Options = Options;

    fn new(options: Options, setup: AppSetup) -> Self {
        Self {
            options,
            connections: setup.connections,
            open: Vec::new(),
            pages: Vec::new(),
            left: 0,
            gone: 0,
            due: Time::NEVER,
        }
    }
}

impl Page {
    fn taken(&self) -> u64 {
        self.open.iter().map(|fetching| fetching.connection.taken()).sum()
    }

    fn begin(&mut self, tx: &mut HostTx<'_>) {
        self.gone += self.taken();
        self.open.clear();
        self.due = Time::NEVER;
        let bytes = u64::from(self.options.objects) * u64::from(self.options.bytes);
        self.pages.push(Completion { started: tx.now(), bytes, ended: Time::NEVER });
        self.left = self.options.objects;
        for _ in 0..self.options.parallel.min(self.options.objects) {
            let mut connection = self.connections.open(tx, Client::Receiver);
            connection.ask(tx, REQUEST);
            self.left -= 1;
            self.open.push(Fetching { connection, asked: 1, answered: 0 });
        }
    }

    fn go_on(&mut self, tx: &mut HostTx<'_>) {
        let bytes = u64::from(self.options.bytes);
        for fetching in &mut self.open {
            let Fetching { connection, asked, answered } = fetching;
            if *answered < *asked && connection.heard() >= *asked * REQUEST {
                *answered = *asked;
                connection.answer(tx, bytes);
            }
            if self.left > 0 && connection.taken() >= *asked * bytes {
                self.left -= 1;
                *asked += 1;
                connection.ask(tx, REQUEST);
            }
        }
        let taken = self.taken();
        if let Some(page) = self.pages.last_mut()
            && page.ended.is_never()
            && taken >= page.bytes
        {
            page.ended = tx.now();
            tx.note_delay(page.ended - page.started);
            self.due = tx.now() + self.options.pause;
        }
    }
}

impl App for Page {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.begin(tx);
    }

    fn stop(&mut self, now: Time) {
        self.due = Time::NEVER;
        for fetching in &mut self.open {
            fetching.connection.stop(now);
        }
    }

    fn has_many_connections(&self) -> bool {
        true
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        // A late copy may come for a connection of an earlier page.
        if let Some(own) = self.open.iter_mut().find(|f| f.connection.is_for(packet)) {
            own.connection.on_packet(tx, packet);
        }
        self.go_on(tx);
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        for fetching in &mut self.open {
            if fetching.connection.next_timer() <= tx.now() {
                fetching.connection.on_timer(tx);
            }
        }
        if self.due <= tx.now() {
            self.begin(tx);
        }
    }

    fn next_timer(&self) -> Time {
        let timers = self.open.iter().map(|fetching| fetching.connection.next_timer());
        timers.fold(self.due, Time::min)
    }

    fn delivered_bytes(&self) -> u64 {
        self.gone + self.taken()
    }

    fn record(&self) -> Record {
        Record::Counts(Counts { bytes: self.delivered_bytes(), ..Counts::default() })
    }

    fn report(&self, _end: Time) -> FlowReport {
        let complete = self.pages.iter().filter(|page| !page.ended.is_never()).count();
        FlowReport {
            completions: self.pages.clone(),
            totals: vec![("pages", complete as f64)],
            ..FlowReport::default()
        }
    }
}
