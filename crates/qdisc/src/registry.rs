//! Which disciplines there are: those of this crate, and whatever is added.
//!
//! A registry is a plain value. Whoever reads words is handed one: an engine has its own, and the check of an
//! experiment's words asks the engine's. So an added discipline is known wherever a built-in one is: under a shaper, in
//! lists, in the guess at what a wrong name was meant to be.
//!
//! A discipline written in Rust comes in by [`Registry::add`], for packets of every kind; one that exists for packets of
//! one kind only, such as one loaded at run time, by [`Registry::add_entry`].
//!
//! Invariants: names are unique; the list is in alphabetical order; the defaults of every table can be read.

use crate::configured::{BuildContext, Children, TcConfigurable};
use crate::dynamic::{DynQdisc, OwnedPacket};
use crate::settings;
use crate::transmit_queues::needs_transmit_queues;
use crate::words::{TcError, TcTokens, nearest};
use crate::{AnyQdisc, Discipline, Packet, QdiscQuirks, any};
use core::fmt;
use sojourn_units::Random;
use std::sync::Arc;

/// A discipline for packets of every kind, as [`Registry::add`] takes it. The type that has this trait only names it:
///
/// ```
/// # use sojourn_qdisc::codel::Codel;
/// use sojourn_qdisc::{Family, OwnedPacket};
///
/// /// `codel`, were it not there already.
/// struct MyCodel;
///
/// impl Family for MyCodel {
///     type Of<P: OwnedPacket> = Codel<P>;
/// }
/// ```
pub trait Family {
    /// The discipline that holds packets of this kind.
    type Of<P: OwnedPacket>: TcConfigurable<P> + Clone + Send + 'static;
}

/// How a discipline is made from the words behind its name.
type Build<P> = dyn Fn(&mut TcTokens<'_>, &mut BuildContext<'_, P>) -> Result<AnyQdisc<P>, TcError>
    + Send
    + Sync;

/// The disciplines that words can ask for.
pub struct Registry<P> {
    /// In alphabetical order, as `builds` is.
    infos: Vec<&'static Discipline>,
    builds: Vec<Arc<Build<P>>>,
}

impl<P: Packet + 'static> Default for Registry<P> {
    /// The built-in disciplines.
    fn default() -> Self {
        Self::built_in()
    }
}

impl<P> Clone for Registry<P> {
    fn clone(&self) -> Self {
        Self { infos: self.infos.clone(), builds: self.builds.clone() }
    }
}

impl<P> fmt::Debug for Registry<P> {
    /// The names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.names()).finish()
    }
}

/// Why a discipline was not added.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RegistryError {
    /// There is one of this name already.
    NameTaken(&'static str),
    /// This is not one word that begins with a letter.
    NotAWord(&'static str),
    /// The table cannot be used.
    Table {
        /// The discipline.
        name: &'static str,
        /// What is wrong with its table.
        message: String,
    },
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => {
                write!(f, "there is a queue discipline \"{name}\" already; choose another name")
            }
            Self::NotAWord(name) => write!(
                f,
                "\"{name}\" cannot name a queue discipline; write one word that begins with a letter"
            ),
            Self::Table { name, message } => write!(f, "the table of \"{name}\": {message}"),
        }
    }
}

impl core::error::Error for RegistryError {}

impl<P> Registry<P> {
    /// Every discipline there is, in alphabetical order.
    pub fn disciplines(&self) -> &[&'static Discipline] {
        &self.infos
    }

    /// The table of the discipline called `name`.
    pub fn info(&self, name: &str) -> Option<&'static Discipline> {
        self.place(name).ok().map(|place| self.infos[place])
    }

    /// tc's words, with the names that may stand where a child may follow: what [`AnyQdisc::change`] reads.
    pub fn words<'a>(&'a self, text: &'a str) -> TcTokens<'a> {
        TcTokens::with_children(text, &self.infos)
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.infos.binary_search_by_key(&name, |info| info.name)
    }

    fn names(&self) -> String {
        self.infos.iter().map(|d| d.name).collect::<Vec<_>>().join(", ")
    }
}

impl<P: Packet + 'static> Registry<P> {
    /// The disciplines of this crate.
    pub fn built_in() -> Self {
        let mut registry = Self { infos: Vec::new(), builds: Vec::new() };
        for (info, build) in any::built_in() {
            registry.insert(info, Arc::new(build)).expect("the names of this crate are unique");
        }
        registry
    }

    /// Adds a discipline.
    ///
    /// # Errors
    /// Its name is taken or no word, or its table contradicts itself; nothing has been added then.
    pub fn add<F: Family>(&mut self) -> Result<(), RegistryError>
    where
        P: OwnedPacket,
    {
        self.add_entry(<F::Of<P> as TcConfigurable<P>>::INFO, |words, cx| {
            Ok(Box::new(<F::Of<P> as TcConfigurable<P>>::build(words, cx)?))
        })
    }

    /// Adds a discipline for packets of this kind. `build` makes one from the words behind the name, which it reads to
    /// the end. The table of a discipline that is loaded at run time is leaked once: every loaded discipline has one,
    /// and runs refer to its names.
    ///
    /// # Errors
    /// As of [`Registry::add`].
    pub fn add_entry(
        &mut self,
        info: &'static Discipline,
        build: impl Fn(
            &mut TcTokens<'_>,
            &mut BuildContext<'_, P>,
        ) -> Result<Box<dyn DynQdisc<P>>, TcError>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), RegistryError> {
        let name = info.name;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic())
            || name.contains(char::is_whitespace)
        {
            return Err(RegistryError::NotAWord(name));
        }
        settings::check(info).map_err(|message| RegistryError::Table { name, message })?;
        self.insert(info, Arc::new(move |words, cx| build(words, cx).map(AnyQdisc::Custom)))
    }

    fn insert(
        &mut self,
        info: &'static Discipline,
        build: Arc<Build<P>>,
    ) -> Result<(), RegistryError> {
        match self.place(info.name) {
            Ok(_) => Err(RegistryError::NameTaken(info.name)),
            Err(place) => {
                self.infos.insert(place, info);
                self.builds.insert(place, build);
                Ok(())
            }
        }
    }
}

impl<P: Packet> Registry<P> {
    /// The discipline that `words` describe, as the kernel of `quirks` has it: `fq_codel flows 1 target 1ms`,
    /// `htb rate 50mbit pie ecn`. Keys are drawn from `random`. It begins its work at time zero; for one that is built
    /// later, call [`AnyQdisc::replace`] or [`AnyQdisc::start`] with the time.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn build(
        &self,
        words: &str,
        quirks: &QdiscQuirks,
        random: &mut Random,
    ) -> Result<AnyQdisc<P>, TcError> {
        let mut words = self.words(words);
        let any = self.read(&mut words, quirks, random)?;
        match words.take() {
            None => Ok(any),
            // Only one from outside can: the others read their options to the end.
            Some(word) => {
                let message = format!("{} does not take \"{}\"", any.info().name, word.text);
                Err(words.error(word.at, message, None))
            }
        }
    }

    /// The names of the disciplines that words stand for: the outermost first, then its child and so on, whether written or
    /// not. Of words that name none, or are wrong, the first word.
    pub fn nested(&self, words: &str, quirks: &QdiscQuirks) -> Vec<String> {
        let Ok(outermost) = self.build(words, quirks, &mut Random::named(0, "words")) else {
            let first = words.split_whitespace().next().map(str::to_ascii_lowercase);
            return first.into_iter().collect();
        };
        let each = core::iter::successors(Some(&outermost), |d| d.child());
        each.map(|d| d.info().name.to_owned()).collect()
    }

    /// From the cursor: the discipline's name, its options, its child.
    fn read(
        &self,
        words: &mut TcTokens<'_>,
        quirks: &QdiscQuirks,
        random: &mut Random,
    ) -> Result<AnyQdisc<P>, TcError> {
        let Some(name) = words.take() else {
            let end = words.text().len();
            let help = format!("write one of {}", self.names());
            return Err(words.error(
                end..end,
                "no queue discipline is named".to_owned(),
                Some(help),
            ));
        };
        if !words.descend() {
            let message = "disciplines are nested too deeply".to_owned();
            return Err(words.error(name.at, message, None));
        }
        if let Ok(place) = self.place(name.text) {
            return self.builds[place](words, &mut BuildContext::new(self, quirks, random));
        }
        if let Some((why, help)) = needs_transmit_queues(name.text) {
            return Err(words.error(name.at, why, Some(help.to_owned())));
        }
        let help = match nearest(name.text, self.infos.iter().map(|d| d.name)) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("there are {}", self.names()),
        };
        let message = format!("unknown queue discipline \"{}\"", name.text);
        Err(words.error(name.at, message, Some(help)))
    }
}

impl<P: Packet> Children<P> for Registry<P> {
    fn child(
        &self,
        words: &mut TcTokens<'_>,
        quirks: &QdiscQuirks,
        random: &mut Random,
    ) -> Result<AnyQdisc<P>, TcError> {
        if words.peek().is_some() {
            self.read(words, quirks, random)
        } else {
            self.build("pfifo", quirks, random)
        }
    }
}
