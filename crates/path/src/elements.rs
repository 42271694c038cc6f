//! Which path elements words can ask for: those of this crate, and whatever is added.
//!
//! A plain value, as the registry of disciplines is: an engine has its own.

use crate::element::{NamedElement, PathElement};
use sojourn_qdisc::{Catalogue, Discipline, NotAdded, Settings, TcError, TcTokens};
use std::sync::Arc;

/// How an element is made from the words behind its name.
type Build = dyn Fn(&mut TcTokens<'_>) -> Result<Box<dyn PathElement>, TcError> + Send + Sync;

/// The path elements that words can ask for.
#[derive(Clone, Debug)]
pub struct Elements(Catalogue<Build>);

impl Default for Elements {
    /// Those of this crate.
    fn default() -> Self {
        Self::built_in()
    }
}

impl Elements {
    /// Those of this crate.
    pub fn built_in() -> Self {
        let mut elements = Self(Catalogue::new("path element"));
        macro_rules! add {
            (typed { $($typed:tt)* } by_words { $($file:ident: $type:ident;)* }) => {
                $(elements.add::<crate::$file::$type>().expect("the tables here are right");)*
            };
        }
        middleboxes!(add);
        elements
    }

    /// Adds one, by the name in its table.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself; nothing has been added then.
    pub fn add<E: NamedElement>(&mut self) -> Result<(), NotAdded> {
        let info = <E::Options as Settings>::INFO;
        let build: Arc<Build> = Arc::new(|words| Ok(Box::new(E::new(E::options(words)?))));
        self.0.add(info, |words| E::options(words).map(drop), build)
    }

    /// The element that words ask for: its name, then its options.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn build(&self, words: &str) -> Result<Box<dyn PathElement>, TcError> {
        self.0.build(words, |build, words| build(words))
    }

    /// The table of each, in alphabetical order.
    pub fn infos(&self) -> impl Iterator<Item = &'static Discipline> {
        self.0.infos()
    }

    /// The words alone, for whoever checks an experiment and builds nothing.
    #[must_use]
    pub fn words(&self) -> Catalogue<()> {
        self.0.words()
    }
}
