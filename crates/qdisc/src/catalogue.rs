//! Things that words name besides disciplines: path elements, applications.
//!
//! Each has a table as a discipline has ([`Discipline`]; only name, summary, source and options are read), options that
//! it describes ([`Settings`](crate::Settings)), and a function that makes it (`B`). A catalogue is a plain value, as a
//! [`Registry`](crate::Registry) of disciplines is: an engine has its own, and whoever checks the words of an
//! experiment before it runs asks the engine's.
//!
//! A function that makes a thing may need more than words: the hosts of a flow, say. So an entry can check its words
//! without making anything, and [`Catalogue::words`] are the entries with that alone.
//!
//! Invariants: names are unique; the list is in alphabetical order; the defaults of every table can be read.

use crate::Discipline;
use crate::settings;
use crate::words::{TcError, TcTokens, nearest};
use core::fmt;
use std::sync::Arc;

/// How the options of one are checked: the words behind its name are read to their end.
type Check = dyn Fn(&mut TcTokens<'_>) -> Result<(), TcError> + Send + Sync;

/// Things of one sort that words can ask for, and what makes each.
pub struct Catalogue<B: ?Sized> {
    sort: &'static str,
    entries: Vec<Entry<B>>,
}

struct Entry<B: ?Sized> {
    info: &'static Discipline,
    check: Arc<Check>,
    build: Arc<B>,
}

impl<B: ?Sized> Clone for Entry<B> {
    fn clone(&self) -> Self {
        Self { info: self.info, check: Arc::clone(&self.check), build: Arc::clone(&self.build) }
    }
}

impl<B: ?Sized> Clone for Catalogue<B> {
    fn clone(&self) -> Self {
        Self { sort: self.sort, entries: self.entries.clone() }
    }
}

impl<B: ?Sized> fmt::Debug for Catalogue<B> {
    /// The names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Catalogue").field(&self.sort).field(&self.names()).finish()
    }
}

/// Why something was not added to a catalogue.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NotAdded {
    /// Its name.
    pub name: &'static str,
    /// What is wrong with the name or the table, and what would be right.
    pub why: String,
}

impl fmt::Display for NotAdded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for NotAdded {}

impl<B: ?Sized> Catalogue<B> {
    /// An empty catalogue; `sort` is the noun for an entry in messages: `application`.
    pub const fn new(sort: &'static str) -> Self {
        Self { sort, entries: Vec::new() }
    }

    /// Adds one: its table, what checks the words behind its name, what makes it.
    ///
    /// # Errors
    /// Its name is taken or no word, or its table contradicts itself; nothing has been added then.
    pub fn add(
        &mut self,
        info: &'static Discipline,
        check: impl Fn(&mut TcTokens<'_>) -> Result<(), TcError> + Send + Sync + 'static,
        build: Arc<B>,
    ) -> Result<(), NotAdded> {
        let (name, sort) = (info.name, self.sort);
        let not_added = |why| Err(NotAdded { name, why });
        if !name.starts_with(|c: char| c.is_ascii_alphabetic())
            || name.contains(char::is_whitespace)
        {
            return not_added(format!(
                "\"{name}\" cannot be a name; write one word that begins with a letter"
            ));
        }
        if let Err(message) = settings::check(info) {
            return not_added(format!("the table of \"{name}\": {message}"));
        }
        match self.place(name) {
            Ok(_) => {
                not_added(format!("the name \"{name}\" is taken by another {sort}; choose another"))
            }
            Err(place) => {
                self.entries.insert(place, Entry { info, check: Arc::new(check), build });
                Ok(())
            }
        }
    }

    /// The table of each, in alphabetical order.
    pub fn infos(&self) -> impl Iterator<Item = &'static Discipline> {
        self.entries.iter().map(|entry| entry.info)
    }

    /// The table of the one called `name`.
    pub fn info(&self, name: &str) -> Option<&'static Discipline> {
        self.place(name).ok().map(|place| self.entries[place].info)
    }

    /// Checks a whole text, a name and its options, and makes nothing.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn check(&self, text: &str) -> Result<(), TcError> {
        let words = &mut TcTokens::new(text);
        let entry = self.entry(words)?;
        (entry.check)(words)?;
        end(words, entry.info)
    }

    /// Makes what the text asks for: `make` is handed what was added with the name, and the words behind it, which it
    /// reads to their end.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn build<T>(
        &self,
        text: &str,
        make: impl FnOnce(&B, &mut TcTokens<'_>) -> Result<T, TcError>,
    ) -> Result<T, TcError> {
        let words = &mut TcTokens::new(text);
        let entry = self.entry(words)?;
        let made = make(&entry.build, words)?;
        end(words, entry.info).map(|()| made)
    }

    /// The same words, for whoever makes nothing of them.
    #[must_use]
    pub fn words(&self) -> Catalogue<()> {
        let nothing = Arc::new(());
        let entries = self.entries.iter().map(|entry| Entry {
            info: entry.info,
            check: Arc::clone(&entry.check),
            build: Arc::clone(&nothing),
        });
        Catalogue { sort: self.sort, entries: entries.collect() }
    }

    /// The entry that the next word names.
    fn entry(&self, words: &mut TcTokens<'_>) -> Result<&Entry<B>, TcError> {
        let all = || match self.names().join(", ") {
            names if names.is_empty() => "none is known here".to_owned(),
            names => format!("there are {names}"),
        };
        let Some(name) = words.take() else {
            let end = words.text().len();
            return Err(words.error(end..end, format!("no {} is named", self.sort), Some(all())));
        };
        if let Ok(place) = self.place(name.text) {
            return Ok(&self.entries[place]);
        }
        let help = match nearest(name.text, self.infos().map(|info| info.name)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => all(),
        };
        let message = format!("unknown {} \"{}\"", self.sort, name.text);
        Err(words.error(name.at, message, Some(help)))
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&name, |entry| entry.info.name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.infos().map(|info| info.name).collect()
    }
}

/// That all words have been read: one from outside may have left some.
fn end(words: &mut TcTokens<'_>, info: &Discipline) -> Result<(), TcError> {
    match words.take() {
        None => Ok(()),
        Some(word) => {
            let message = format!("{} does not take \"{}\"", info.name, word.text);
            Err(words.error(word.at, message, None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codel::Codel;
    use crate::configured::TcConfigurable;
    use crate::{NoPacket, read_options};

    const INFO: &Discipline = <Codel<NoPacket> as TcConfigurable<NoPacket>>::INFO;

    fn with(info: &'static Discipline) -> Result<Catalogue<str>, NotAdded> {
        let mut catalogue = Catalogue::new("thing");
        let check = move |words: &mut TcTokens<'_>| {
            read_options(info, words, &crate::QdiscQuirks::default()).map(drop)
        };
        catalogue.add(info, check, Arc::from("made"))?;
        let again = catalogue.add(info, |_| Ok(()), Arc::from("twice")).expect_err("it is there");
        assert_eq!(again.why, "the name \"codel\" is taken by another thing; choose another");
        Ok(catalogue)
    }

    #[test]
    fn words_are_checked_and_made_by_the_entry_that_they_name() {
        let catalogue = with(INFO).expect("the name is free");
        assert_eq!(catalogue.check("codel target 5ms"), Ok(()));
        assert_eq!(catalogue.words().check("codel target 5ms"), Ok(()));
        let read = |made: &str, words: &mut TcTokens<'_>| {
            while words.take().is_some() {}
            Ok(made.to_owned())
        };
        assert_eq!(catalogue.build("codel target 5ms", read).as_deref(), Ok("made"));
        let left = catalogue.build("codel target 5ms", |_, _| Ok(())).expect_err("words are left");
        assert_eq!((left.message.as_str(), left.at), ("codel does not take \"target\"", 6..12));
        for (wrong, says, at) in [
            ("", "no thing is named; there are codel", 0..0),
            ("codle", "unknown thing \"codle\"; did you mean \"codel\"?", 0..5),
            ("xyzzyx", "unknown thing \"xyzzyx\"; there are codel", 0..6),
            ("codel limits 5", "codel has no option \"limits\"; did you mean \"limit\"?", 6..12),
        ] {
            let error = catalogue.check(wrong).expect_err("it is wrong");
            assert_eq!((error.to_string().as_str(), error.at), (says, at));
        }
        let none = Catalogue::<()>::new("thing").check("codel").expect_err("there is none");
        assert_eq!(none.to_string(), "unknown thing \"codel\"; none is known here");
    }

    #[test]
    fn a_name_is_a_word_and_a_table_can_be_read() {
        static TWO: Discipline = Discipline { name: "two words", ..Discipline::BASE };
        let error = with(&TWO).expect_err("it is no word");
        assert!(error.to_string().starts_with("\"two words\" cannot be a name"), "{error}");
    }
}
