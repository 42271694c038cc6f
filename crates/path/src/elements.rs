//! The path elements and links that words can name: those of this crate, and whatever is added.
//!
//! A plain value, as the registry of disciplines is: an engine has its own.

use crate::element::{NamedElement, PathElement};
use crate::link::{Link, NamedLink};
use sojourn_qdisc::{Catalogue, Discipline, NotAdded, Settings, TcError, TcTokens};
use sojourn_units::{Random, Rate};
use std::sync::Arc;

/// How an element is made from the words behind its name.
type Build = dyn Fn(&mut TcTokens<'_>) -> Result<Box<dyn PathElement>, TcError> + Send + Sync;

/// How a link is made from the words behind its name, the hop's rate, and its random stream.
type BuildLink =
    dyn Fn(&mut TcTokens<'_>, Rate, Random) -> Result<Box<dyn Link>, TcError> + Send + Sync;

/// The path elements and links that words can name.
#[derive(Clone, Debug)]
pub struct Elements {
    passed: Catalogue<Build>,
    links: Catalogue<BuildLink>,
}

impl Default for Elements {
    /// Those of this crate.
    fn default() -> Self {
        Self::built_in()
    }
}

impl Elements {
    /// Those of this crate.
    pub fn built_in() -> Self {
        let mut elements =
            Self { passed: Catalogue::new("path element"), links: Catalogue::new("link") };
        macro_rules! add {
            (typed { $($typed:tt)* } by_words { $($file:ident: $type:ident;)* }) => {
                $(elements.add::<crate::$file::$type>().expect("the tables here are right");)*
            };
        }
        middleboxes!(add);
        macro_rules! add_links {
            ($($file:ident: $type:ident;)*) => {
                $(elements.add_link::<crate::$file::$type>().expect("the tables here are right");)*
            };
        }
        links!(add_links);
        elements
    }

    /// Adds one, by the name in its table.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself; nothing has been added then.
    pub fn add<E: NamedElement>(&mut self) -> Result<(), NotAdded> {
        let info = <E::Options as Settings>::INFO;
        let build: Arc<Build> = Arc::new(|words| Ok(Box::new(E::new(E::options(words)?))));
        self.passed.add(info, |words| E::options(words).map(drop), build)
    }

    /// Adds a link, by the name in its table.
    ///
    /// # Errors
    /// As [`Elements::add`].
    pub fn add_link<L: NamedLink>(&mut self) -> Result<(), NotAdded> {
        let info = <L::Options as Settings>::INFO;
        let build: Arc<BuildLink> =
            Arc::new(|words, rate, random| Ok(Box::new(L::new(L::options(words)?, rate, random))));
        self.links.add(info, |words| L::options(words).map(drop), build)
    }

    /// The element that words ask for: its name, then its options.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn build(&self, words: &str) -> Result<Box<dyn PathElement>, TcError> {
        self.passed.build(words, |build, words| build(words))
    }

    /// The link that words name, at this rate.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn build_link(
        &self,
        words: &str,
        rate: Rate,
        random: Random,
    ) -> Result<Box<dyn Link>, TcError> {
        self.links.build(words, |build, words| build(words, rate, random))
    }

    /// The table of each, in alphabetical order.
    pub fn infos(&self) -> impl Iterator<Item = &'static Discipline> {
        self.passed.infos()
    }

    /// The same of links.
    pub fn link_infos(&self) -> impl Iterator<Item = &'static Discipline> {
        self.links.infos()
    }

    /// The words alone, for whoever checks an experiment and builds nothing.
    #[must_use]
    pub fn words(&self) -> Catalogue<()> {
        self.passed.words()
    }

    /// The same of links.
    #[must_use]
    pub fn link_words(&self) -> Catalogue<()> {
        self.links.words()
    }
}
