//! Which applications words can ask for: those of this crate, and whatever is added.
//!
//! A plain value, as the registry of disciplines is: a simulator has its own.

use super::interface::App;
use super::named::{AppSetup, NamedApp};
use sojourn_qdisc::{Catalogue, Discipline, NotAdded, Settings, TcError, TcTokens};
use std::sync::Arc;

/// How an application is made from the words behind its name.
type Build = dyn Fn(&mut TcTokens<'_>, AppSetup) -> Result<Box<dyn App>, TcError> + Send + Sync;

/// The applications that words can ask for.
#[derive(Clone, Debug)]
pub struct Apps(Catalogue<Build>);

impl Default for Apps {
    /// Those of this crate.
    fn default() -> Self {
        Self::built_in()
    }
}

impl Apps {
    /// Those of this crate.
    pub fn built_in() -> Self {
        let mut apps = Self(Catalogue::new("application"));
        macro_rules! add {
            (typed { $($typed:tt)* } by_words { $($file:ident: $type:ident;)* }) => {
                $(apps.add::<super::$file::$type>().expect("the tables here are right");)*
            };
        }
        apps!(add);
        apps
    }

    /// Adds one, by the name in its table.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself; nothing has been added then.
    pub fn add<A: NamedApp>(&mut self) -> Result<(), NotAdded> {
        let info = <A::Options as Settings>::INFO;
        let build: Arc<Build> =
            Arc::new(|words, setup| Ok(Box::new(A::new(A::options(words)?, setup))));
        self.0.add(info, |words| A::options(words).map(drop), build)
    }

    /// The application that words ask for: its name, then its options.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub(crate) fn build(&self, words: &str, setup: AppSetup) -> Result<Box<dyn App>, TcError> {
        self.0.build(words, |build, words| build(words, setup))
    }

    /// The table of each, in alphabetical order.
    pub fn infos(&self) -> impl Iterator<Item = &'static Discipline> {
        self.0.infos()
    }

    /// The words alone, for whoever checks an experiment and runs nothing.
    #[must_use]
    pub fn words(&self) -> Catalogue<()> {
        self.0.words()
    }
}
