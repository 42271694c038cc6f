//! The classes that words have named: each loaded once, and handed to the registries of a simulator.
//!
//! Invariant: a name stands for one file with one content.

use super::aqm;
use super::class::{AqmClass, ControlClass, File};
use super::control::PythonControl;
use super::fault::Wrong;
use super::name::{is_class, named, parse};
use pyo3::prelude::*;
use sojourn_model::{Plugin, Scenario};
use sojourn_qdisc::{BuildContext, OwnedPacket, Registry, TcTokens};
use sojourn_sim::Sim;
use sojourn_transport::cc::{AnyCongestionControl, Info};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The classes that have been named so far. A plain value.
#[derive(Clone, Default)]
pub struct Classes {
    /// Where files are looked for.
    folder: PathBuf,
    /// By what words call them.
    files: BTreeMap<String, File>,
    controls: Vec<Arc<ControlClass>>,
    aqms: Vec<Arc<AqmClass>>,
}

impl Classes {
    /// None yet; files are looked for in this folder.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Those that these scenarios name.
    pub fn of<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Result<Self, Wrong> {
        let mut classes = Self::default();
        let (mut controls, mut words) = (BTreeSet::new(), BTreeSet::new());
        for scenario in scenarios {
            if !scenario.plugins.iter().any(|plugin| plugin.name.is_some()) {
                continue;
            }
            for plugin in &scenario.plugins {
                classes.expect(plugin)?;
            }
            let own = scenario.flows.iter().filter_map(|flow| Some(&flow.traffic.tcp()?.cc));
            controls.extend(own.filter(|name| is_class(name)).cloned());
            named(&serde_json::to_value(scenario).unwrap_or_default(), &mut words);
        }
        for name in &words {
            if controls.contains(name) {
                classes.control(name)?;
            } else {
                classes.aqm(name)?;
            }
        }
        Ok(classes)
    }

    /// The folder in which files are looked for.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes the file of a scenario, if it is a Python file and still the one that it was.
    fn expect(&mut self, plugin: &Plugin) -> Result<(), Wrong> {
        let Some(name) = &plugin.name else { return Ok(()) };
        if let Some(known) = self.files.get(name) {
            if known.digest == plugin.digest {
                return Ok(());
            }
            return Err(Wrong {
                message: format!(
                    "two experiments call different files {name}: {} and {}",
                    known.path, plugin.path
                ),
                help: "run one after the other, or give the files different names".to_owned(),
            });
        }
        let file = File { path: plugin.path.clone(), digest: digest(&plugin.path)? };
        if file.digest != plugin.digest {
            return Err(Wrong {
                message: format!(
                    "{}: it is not the file of the run, which has a digest of {}…",
                    plugin.path,
                    plugin.digest.get(..12).unwrap_or(&plugin.digest)
                ),
                help: "put that file there again, or run the experiment's file".to_owned(),
            });
        }
        self.files.insert(name.clone(), file);
        Ok(())
    }

    /// Whether nothing has been named.
    pub fn is_empty(&self) -> bool {
        self.controls.is_empty() && self.aqms.is_empty()
    }

    /// The file that words call `name`.
    fn file(&mut self, name: &str) -> Result<File, Wrong> {
        if let Some(file) = self.files.get(name) {
            return Ok(file.clone());
        }
        let path = self.folder.join(name);
        // The reader of a missing file reports it.
        let path = path.canonicalize().unwrap_or(path).display().to_string();
        let file = File { digest: digest(&path)?, path };
        self.files.insert(name.to_owned(), file.clone());
        Ok(file)
    }

    /// Loads the congestion control that a word names, unless it is there.
    pub fn control(&mut self, word: &str) -> Result<(), Wrong> {
        if self.controls.iter().any(|known| known.name == word) {
            return Ok(());
        }
        let (file, class) = parse(word)?;
        let file = self.file(file)?;
        let path = file.path.clone();
        let loaded = Python::attach(|py| {
            ControlClass::read(py, word, file, class)
                .map_err(|e| Wrong::of(py, e, &path).within(&path))
        })?;
        self.controls.push(Arc::new(loaded));
        Ok(())
    }

    /// Loads the queue discipline that a word names, unless it is there.
    pub fn aqm(&mut self, word: &str) -> Result<(), Wrong> {
        if self.aqms.iter().any(|known| known.info.name == word) {
            return Ok(());
        }
        let (file, class) = parse(word)?;
        let file = self.file(file)?;
        let path = file.path.clone();
        let loaded = Python::attach(|py| {
            AqmClass::read(py, word, file, class).map_err(|e| Wrong::of(py, e, &path).within(&path))
        })?;
        self.aqms.push(Arc::new(loaded));
        Ok(())
    }

    /// Whether the discipline that a word names, if it is there, takes other options while it runs.
    pub fn changes(&self, word: &str) -> bool {
        self.aqms.iter().any(|known| known.info.name == word && known.changes)
    }

    /// Adds their queue disciplines.
    pub fn add_qdiscs<P: OwnedPacket>(&self, registry: &mut Registry<P>) -> Result<(), Wrong> {
        for class in &self.aqms {
            let entry = Arc::clone(class);
            let build = move |words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>| {
                aqm::build(&entry, words, cx)
            };
            registry.add_entry(class.info, build).map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// This simulator with them.
    pub fn sim(&self, sim: &Sim) -> Result<Sim, Wrong> {
        let (mut qdiscs, mut controls) = (sim.qdiscs().clone(), sim.controls().clone());
        for class in &self.controls {
            let entry = Arc::clone(class);
            let gauges = class.gauges.iter().map(|gauge| (gauge.name, "", gauge.doc));
            let info = Info {
                name: class.name,
                summary: class.about,
                source: class.file.path.clone().leak(),
                gauges: gauges.collect::<Vec<_>>().leak(),
                options: &[],
            };
            let make = move |_: &_| AnyCongestionControl::custom(PythonControl::new(&entry));
            controls.add(info, make).map_err(|error| refused(&error))?;
        }
        self.add_qdiscs(&mut qdiscs)?;
        Ok(Sim::with_registry(qdiscs).with_controls(controls))
    }

    /// The files of these that a scenario names, as it is to say.
    pub fn named_by(&self, scenario: &Scenario) -> Vec<Plugin> {
        let mut words = BTreeSet::new();
        named(&serde_json::to_value(scenario).unwrap_or_default(), &mut words);
        let names: BTreeSet<_> =
            words.iter().filter_map(|word| parse(word).ok()).map(|(file, _)| file).collect();
        let known = self.files.iter().filter(|(name, _)| names.contains(name.as_str()));
        let plugin = |(name, file): (&String, &File)| Plugin {
            path: file.path.clone(),
            digest: file.digest.clone(),
            name: Some(name.clone()),
        };
        known.map(plugin).collect()
    }
}

fn refused(error: &dyn core::error::Error) -> Wrong {
    Wrong { message: error.to_string(), help: "give the file or the class another name".to_owned() }
}

fn digest(path: &str) -> Result<String, Wrong> {
    Python::attach(|py| {
        let read =
            || py.import("sojourn.custom.loading")?.call_method1("digest", (path,))?.extract();
        read().map_err(|error: PyErr| Wrong::of(py, error, path).within(path))
    })
}
