//! Programs of the machine.

use super::super::decode::Fields;
use super::super::source::DiagnosticKind;
use super::super::tree::Value;
use super::Resolver;
use sojourn_model::{Program, Ready};
use sojourn_units::parse_span;
use std::collections::BTreeMap;

impl Resolver<'_> {
    pub(super) fn program(&mut self, t: &Fields) -> Option<Program> {
        let server = self.command(t, "server");
        let client = self.command(t, "client");
        if client.is_empty() {
            let place = t.place_of("client");
            self.says(&place, DiagnosticKind::Value, "a command has at least a program");
        }
        let ready = self.ready(t)?;
        let files = self.texts(t, "files");
        let stays = |name: &str| {
            !name.is_empty()
                && !name.starts_with('/')
                && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
        };
        if let Some(name) = files.keys().find(|name| !stays(name)) {
            let place = t.place_of("files");
            let message = format!("\"{name}\" is no file of the programs' folder");
            self.diagnostics.push(
                place.says(DiagnosticKind::Value, message).help("name it as www/index.html is"),
            );
        }
        let environment = self.texts(t, "environment");
        if let Some(name) =
            environment.keys().find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            let place = t.place_of("environment");
            let message = format!("\"{name}\" cannot name a variable");
            self.says(&place, DiagnosticKind::Value, message);
        }
        let reads = t.list("reads").iter().map(|item| item.text().to_owned()).collect();
        Some(Program {
            server,
            client,
            files,
            environment,
            reads,
            ready,
            exit: t.count("exit")? as u8,
            within: t.span("within"),
            cpu_limit: t.span("cpu_limit")?,
        })
    }

    fn command(&mut self, t: &Fields, key: &str) -> Vec<String> {
        let words: Vec<String> = t.list(key).iter().map(|item| item.text().to_owned()).collect();
        if words.first().is_some_and(String::is_empty) || words.iter().any(|w| w.contains('\0')) {
            let place = t.place_of(key);
            self.says(&place, DiagnosticKind::Value, "this is no command");
        }
        words
    }

    /// A table of texts by names of the experiment's own.
    fn texts(&mut self, t: &Fields, key: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in t.free(key).map_or(&[][..], |table| &table.entries) {
            match &entry.node.value {
                Value::Text(text) if !text.text.contains('\0') => {
                    found.insert(entry.key.clone(), text.text.clone());
                }
                _ => {
                    let message = format!("{} is a string", entry.key);
                    self.says(&entry.node.place, DiagnosticKind::Value, message);
                }
            }
        }
        found
    }

    fn ready(&mut self, t: &Fields) -> Option<Ready> {
        let text = t.text("ready")?;
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let found = match word {
            "listens" if rest.is_empty() => Some(Ready::Listens),
            "port" => rest.parse().ok().filter(|&port| port > 0).map(Ready::Port),
            "output" if !rest.is_empty() => Some(Ready::Output(rest.to_owned())),
            _ => parse_span(text).ok().map(Ready::After),
        };
        if found.is_none() {
            let place = t.place_of("ready");
            let message = format!("\"{text}\" says nothing of when a server is ready");
            self.diagnostics.push(place.says(DiagnosticKind::Value, message).help(
                "write \"listens\", \"port 443\", \"output TEXT\", or a time such as \"2s\"",
            ));
        }
        found
    }
}
