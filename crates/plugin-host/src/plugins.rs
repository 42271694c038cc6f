//! The plugins of a program: loaded once, handed to whoever reads words or runs.

use crate::control::PluginControl;
use crate::library::{LoadError, Plugin};
use crate::qdisc;
use sojourn_model::Scenario;
use sojourn_qdisc::{BuildContext, Discipline, OwnedPacket, Registry, TcTokens};
use sojourn_transport::cc::{AnyCongestionControl, Registry as Controls};
use sojourn_transport::stack::TcpQuirks;
use std::path::Path;
use std::sync::Arc;

/// What has been loaded; a plain value. The libraries stay loaded as long as it, a registry with their disciplines or one
/// of these lives.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    pub(crate) loaded: Vec<Arc<Plugin>>,
}

impl Plugins {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads a plugin: native code, which runs with the user's rights from then on. A loaded plugin is not loaded
    /// again.
    ///
    /// # Errors
    /// The file is none, no plugin, or one of another version, or its tables contradict themselves; nothing has been
    /// added then.
    pub fn load(&mut self, path: &Path) -> Result<(), LoadError> {
        let plugin = Plugin::load(path)?;
        if !self.loaded.iter().any(|known| known.path == plugin.path) {
            self.loaded.push(Arc::new(plugin));
        }
        Ok(())
    }

    /// The shared libraries that these scenarios name.
    ///
    /// # Errors
    /// As of [`Plugins::load`]; the file is another than that of the scenario; or two scenarios name different builds of
    /// one file.
    pub fn of<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Result<Self, LoadError> {
        let mut plugins = Self::new();
        let mut named: Vec<_> = Vec::new();
        for plugin in scenarios.into_iter().flat_map(|scenario| &scenario.plugins) {
            if plugin.name.is_some() || named.contains(&plugin) {
                continue;
            }
            named.push(plugin);
            let path = Path::new(&plugin.path);
            plugins.load(path)?;
            let is_there = |known: &Arc<Plugin>| known.digest == plugin.digest;
            if !plugins.loaded.iter().any(is_there) {
                return Err(LoadError {
                    file: plugin.path.clone(),
                    message: format!(
                        "it is another build than that of the run, which has a digest of {}…",
                        plugin.digest.get(..12).unwrap_or(&plugin.digest)
                    ),
                    help: "put that build there again, or run the experiment's file".to_owned(),
                });
            }
        }
        Ok(plugins)
    }

    /// What a scenario says of them.
    pub fn named(&self) -> Vec<sojourn_model::Plugin> {
        let named = |plugin: &Arc<Plugin>| sojourn_model::Plugin {
            path: plugin.file(),
            digest: plugin.digest.clone(),
            name: None,
        };
        self.loaded.iter().map(named).collect()
    }

    /// Their disciplines.
    pub fn disciplines(&self) -> impl Iterator<Item = &'static Discipline> {
        self.loaded.iter().flat_map(|plugin| plugin.aqms.iter().map(|aqm| aqm.info))
    }

    /// Adds their congestion controls.
    ///
    /// # Errors
    /// A name is taken or no word.
    pub fn add_controls(&self, registry: &mut Controls) -> Result<(), LoadError> {
        for plugin in &self.loaded {
            for control in &plugin.controls {
                let entry = Arc::clone(control);
                let make =
                    move |_: &TcpQuirks| AnyCongestionControl::custom(PluginControl::new(&entry));
                registry.add(control.info, make).map_err(|error| {
                    let error = error.to_string();
                    let (message, help) = error.split_once(": ").unwrap_or((&error, "rename it"));
                    LoadError { file: plugin.file(), message: message.into(), help: help.into() }
                })?;
            }
        }
        Ok(())
    }

    /// Adds their disciplines.
    ///
    /// # Errors
    /// A name is taken or no word, or a table contradicts itself.
    pub fn add_qdiscs<P: OwnedPacket>(&self, registry: &mut Registry<P>) -> Result<(), LoadError> {
        for plugin in &self.loaded {
            for aqm in &plugin.aqms {
                let entry = Arc::clone(aqm);
                let build = move |words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>| {
                    qdisc::build(&entry, words, cx)
                };
                registry.add_entry(aqm.info, build).map_err(|error| {
                    let error = error.to_string();
                    let (message, help) = error
                        .split_once("; ")
                        .unwrap_or((&error, "fix its table and build it again"));
                    LoadError { file: plugin.file(), message: message.into(), help: help.into() }
                })?;
            }
        }
        Ok(())
    }
}
