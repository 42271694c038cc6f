//! Which congestion controls there are: those of this crate, and those that a user brings. A value, not a global: two
//! engines in one process may know different ones.
//!
//! Invariant: no two entries have the same name.

use super::options::{self, OptionError, nearest};
use super::{AnyCongestionControl, CongestionControl, Info, any};
use crate::stack::TcpQuirks;
use core::fmt;
use std::sync::Arc;

type Factory = Arc<dyn Fn(&TcpQuirks) -> AnyCongestionControl + Send + Sync>;

/// A control that is known by its name.
#[derive(Clone)]
struct Entry {
    info: Info,
    make: Factory,
}

/// The congestion controls that somebody knows. A copy shares its entries with the original until one is added.
#[derive(Clone)]
pub struct Registry {
    entries: Arc<Vec<Entry>>,
}

impl Registry {
    /// The controls of this crate.
    pub fn built_in() -> Self {
        let built_in = any::built_in();
        let entries = built_in.into_iter().map(|(info, make)| Entry { info, make: Arc::new(make) });
        Self { entries: Arc::new(entries.collect()) }
    }

    /// Adds one. `make` gives a new control, at rest, as a stack has it; it is called for each connection.
    ///
    /// ```
    /// use sojourn_transport::cc::{AnyCongestionControl, Info, Registry, Reno};
    ///
    /// let mut controls = Registry::built_in();
    /// let info = Info { name: "my-reno", ..Reno::INFO };
    /// controls.add(info, |_quirks| AnyCongestionControl::custom(Reno)).unwrap();
    /// assert!(controls.info("my-reno").is_ok());
    /// assert_eq!(
    ///     controls.add(info, |quirks| Reno::new(quirks).into()).unwrap_err().to_string(),
    ///     "there is a congestion control \"my-reno\" already: give yours another name"
    /// );
    /// ```
    ///
    /// # Errors
    /// The name is taken, or no name.
    pub fn add(
        &mut self,
        info: Info,
        make: impl Fn(&TcpQuirks) -> AnyCongestionControl + Send + Sync + 'static,
    ) -> Result<(), AddError> {
        let name = info.name;
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(AddError::NoName(name));
        }
        if self.find(name).is_some() {
            return Err(AddError::Duplicate(name));
        }
        Arc::make_mut(&mut self.entries).push(Entry { info, make: Arc::new(make) });
        Ok(())
    }

    /// What the controls are, in the order in which they were added.
    pub fn infos(&self) -> impl Iterator<Item = &Info> {
        self.entries.iter().map(|e| &e.info)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.infos().map(|info| info.name)
    }

    /// The description of the control that these words name. Only the first word counts; options behind it are ignored.
    ///
    /// # Errors
    /// There is none.
    pub fn info(&self, words: &str) -> Result<&Info, UnknownControl> {
        self.named(words).map(|e| &e.info)
    }

    /// A new control of these words, at rest, as the stack has it: a name, and options that the control has.
    ///
    /// # Errors
    /// There is no such control, or an option is wrong.
    pub fn build(
        &self,
        words: &str,
        quirks: &TcpQuirks,
    ) -> Result<AnyCongestionControl, WrongWords> {
        let entry = self.named(words)?;
        let options = options::read(words, entry.info.options)?;
        let mut control = (entry.make)(quirks);
        for (option, value) in options {
            control.set(option, value);
        }
        Ok(control)
    }

    /// Whether [`Registry::build`] would build of these words.
    ///
    /// # Errors
    /// As there.
    pub fn check(&self, words: &str) -> Result<(), WrongWords> {
        options::read(words, self.named(words)?.info.options)?;
        Ok(())
    }

    fn named(&self, words: &str) -> Result<&Entry, UnknownControl> {
        let name = words.split_whitespace().next().unwrap_or("");
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.info.name == name)
    }

    fn unknown(&self, name: &str) -> UnknownControl {
        let nearest = nearest(name, self.names());
        UnknownControl { name: name.to_owned(), nearest, known: self.names().collect() }
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::built_in()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Why a control cannot be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddError {
    /// There is one of this name.
    Duplicate(&'static str),
    /// Nobody could name it: empty, or with a space.
    NoName(&'static str),
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(name) => write!(
                f,
                "there is a congestion control \"{name}\" already: give yours another name"
            ),
            Self::NoName(name) => write!(
                f,
                "\"{name}\" is no name for a congestion control: use one word without spaces"
            ),
        }
    }
}

impl std::error::Error for AddError {}

/// There is no control of that name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownControl {
    /// What was asked for.
    pub name: String,
    /// What was probably meant.
    pub nearest: Option<&'static str>,
    /// The names of all controls.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no congestion control \"{}\"; ", self.name)?;
        match self.nearest {
            Some(nearest) => write!(f, "did you mean \"{nearest}\"?"),
            None => write!(f, "there are: {}", self.known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownControl {}

/// Why words name no control.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WrongWords {
    /// There is no control of that name.
    Unknown(UnknownControl),
    /// An option behind the name is wrong.
    Option(OptionError),
}

impl From<UnknownControl> for WrongWords {
    fn from(unknown: UnknownControl) -> Self {
        Self::Unknown(unknown)
    }
}

impl From<OptionError> for WrongWords {
    fn from(error: OptionError) -> Self {
        Self::Option(error)
    }
}

impl fmt::Display for WrongWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Option(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WrongWords {}
