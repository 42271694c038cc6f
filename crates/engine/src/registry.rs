//! The engines that a program has, by name: a value that the program fills, nothing global. To have one more, a program adds
//! it once; lists, errors and versions follow.
//!
//! What is kept of an engine is how to make it. Some look at their machine when they are made (which kernels there are), and
//! that may change while a program runs.

use crate::contract::Engine;
use crate::facts::Facts;
use core::fmt;
use sojourn_model::nearest;

/// Engines by name.
#[derive(Default)]
pub struct Registry {
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    version: String,
    make: Box<dyn Fn() -> Box<dyn Engine> + Send + Sync>,
}

/// There is no engine of this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no engine \"{name}\"")]
pub struct UnknownEngine {
    /// The name that was asked for.
    pub name: String,
    /// What would be right: the nearest name, or all of them.
    pub help: String,
}

impl Registry {
    /// Without any engine.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds an engine. `version` changes whenever results may; it is more than [`Engine::version`] where the program knows the
    /// state of its sources. An engine of the same name gives way, in its place of the list.
    pub fn add<E: Engine + 'static>(
        &mut self,
        name: impl Into<String>,
        version: impl Into<String>,
        make: impl Fn() -> E + Send + Sync + 'static,
    ) -> &mut Self {
        let make = Box::new(move || Box::new(make()) as Box<dyn Engine>);
        let new = Entry { name: name.into(), version: version.into(), make };
        match self.entries.iter_mut().find(|entry| entry.name == new.name) {
            Some(old) => *old = new,
            None => self.entries.push(new),
        }
        self
    }

    /// The names, in the order in which the engines were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Makes the engine of this name.
    pub fn engine(&self, name: &str) -> Result<Box<dyn Engine>, UnknownEngine> {
        self.entry(name).map(|entry| (entry.make)())
    }

    /// The version that was stated for the engine of this name.
    pub fn version(&self, name: &str) -> Result<&str, UnknownEngine> {
        self.entry(name).map(|entry| entry.version.as_str())
    }

    /// What the engine of this name is.
    pub fn facts(&self, name: &str) -> Result<Facts, UnknownEngine> {
        self.engine(name).map(|engine| engine.facts())
    }

    fn entry(&self, name: &str) -> Result<&Entry, UnknownEngine> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| UnknownEngine { name: name.to_owned(), help: self.help(name) })
    }

    fn help(&self, wrong: &str) -> String {
        if let Some(name) = nearest(wrong, self.names()) {
            return format!("did you mean \"{name}\"?");
        }
        let names: Vec<&str> = self.names().collect();
        match &names[..] {
            [] => "no engine is available".to_owned(),
            [only] => format!("available: {only}"),
            [others @ .., last] => format!("available: {} and {last}", others.join(", ")),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|e| (&e.name, &e.version))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capabilities, Clock, RunError, Watch};
    use sojourn_model::Scenario;
    use sojourn_results::Run;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Runs nothing; says which it is.
    struct Named(&'static str);

    impl Engine for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn version(&self) -> &'static str {
            "1"
        }
        fn facts(&self) -> Facts {
            Facts::new(self.0, Clock::Simulated, 1)
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities::default()
        }
        fn run(&self, _scenario: &Arc<Scenario>, _watch: &dyn Watch) -> Result<Run, RunError> {
            Err(RunError::Cancelled)
        }
    }

    fn two() -> Registry {
        let mut registry = Registry::new();
        registry.add("sim", "1+a", || Named("sim")).add("linux", "1+b", || Named("linux"));
        registry
    }

    #[test]
    fn an_engine_is_found_by_its_name() {
        let registry = two();
        assert_eq!(registry.names().collect::<Vec<_>>(), ["sim", "linux"]);
        assert_eq!(registry.engine("linux").map(|e| e.name().to_owned()), Ok("linux".to_owned()));
        assert_eq!(registry.version("linux"), Ok("1+b"));
        assert_eq!(registry.version("sim"), Ok("1+a"));
    }

    #[test]
    fn the_error_names_the_nearest_or_all() {
        let help = |registry: &Registry, name: &str| {
            let error = registry.engine(name).err().expect("there is none");
            assert_eq!(registry.version(name), Err(error.clone()));
            assert_eq!(error.to_string(), format!("there is no engine \"{name}\""));
            error.help
        };
        assert_eq!(help(&two(), "linx"), "did you mean \"linux\"?");
        assert_eq!(help(&two(), "ns3"), "available: sim and linux");
        assert_eq!(
            help(two().add("live", "1", || Named("live")), "ns3"),
            "available: sim, linux and live"
        );
        assert_eq!(help(Registry::new().add("sim", "1", || Named("sim")), "ns3"), "available: sim");
        assert_eq!(help(&Registry::new(), "ns3"), "no engine is available");
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let mut registry = two();
        registry.add("sim", "2", || Named("another"));
        assert_eq!(registry.names().collect::<Vec<_>>(), ["sim", "linux"]);
        assert_eq!(registry.version("sim"), Ok("2"));
        assert_eq!(registry.engine("sim").map(|e| e.name().to_owned()), Ok("another".to_owned()));
    }

    #[test]
    fn an_engine_is_made_when_it_is_asked_for() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let mut registry = Registry::new();
        registry.add("sim", "1", move || {
            count.fetch_add(1, Ordering::Relaxed);
            Named("sim")
        });
        let asked = |registry: &Registry| {
            let _ = registry.version("sim");
            registry.engine("sim").map(drop)
        };
        assert_eq!(made.load(Ordering::Relaxed), 0);
        assert_eq!((asked(&registry), asked(&registry)), (Ok(()), Ok(())));
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }
}
