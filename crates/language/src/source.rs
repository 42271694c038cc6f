//! Places in the text of an experiment, and diagnostics about them.

use core::fmt;
use core::ops::Range;
use sojourn_model::nearest;
use std::sync::Arc;

/// A text that settings come from: a file, or an option of the command line.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// As messages name it.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }

    /// Line and column, from 1, the column in characters.
    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..floor_boundary(&self.text, offset)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    fn line(&self, line: usize) -> &str {
        self.text.lines().nth(line - 1).unwrap_or("")
    }
}

/// The nearest character boundary at or before `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Where something was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) source: Arc<Source>,
    pub(crate) span: Range<usize>,
}

impl Place {
    /// The beginning of a text.
    pub(crate) fn start(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), span: 0..0 }
    }

    /// Another part of the same text.
    pub(crate) fn at(&self, span: Range<usize>) -> Self {
        Self { source: Arc::clone(&self.source), span }
    }

    pub(crate) fn says(&self, kind: DiagnosticKind, message: impl Into<String>) -> Diagnostic {
        let (line, column) = self.source.line_and_column(self.span.start);
        Diagnostic {
            kind,
            file: self.source.name.clone(),
            line,
            column,
            span: self.span.clone(),
            message: message.into(),
            help: None,
            excerpt: self.source.line(line).to_owned(),
        }
    }
}

/// What sort of mistake it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiagnosticKind {
    /// Not TOML.
    Syntax,
    /// A key that does not exist or does not belong here, or one that is missing.
    Key,
    /// A value of the wrong type, unit or size.
    Value,
    /// A name that refers to nothing, or to two things.
    Name,
    /// Legal, and perhaps not what was meant.
    Surprise,
    /// A matrix that is empty or inconsistent.
    Matrix,
    /// More runs than the limit (their number): lifted by raising it.
    TooManyRuns(u64),
}

/// One mistake in an experiment, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What sort of mistake.
    pub kind: DiagnosticKind,
    /// The file, or the option of the command line.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The place as bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// The line itself.
    pub excerpt: String,
}

impl Diagnostic {
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With the nearest of `names`, or a list of them where none is near.
    #[must_use]
    pub(crate) fn nearest<'a>(
        self,
        wrong: &str,
        names: impl IntoIterator<Item = &'a str>,
        what: &str,
    ) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        match nearest(wrong, names.iter().copied()) {
            Some(name) => self.help(format!("did you mean \"{name}\"?")),
            None if names.is_empty() => self.help(format!("there are no {what}")),
            None => self.help(format!("{what}: {}", names.join(", "))),
        }
    }

    /// Where it is, to order by and to say each thing once.
    fn key(&self) -> (&str, usize, &str) {
        (&self.file, self.span.start, &self.message)
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: message`, the line with the place underlined, and `help:`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.excerpt.trim().is_empty() {
            let number = self.line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the carets mark the right characters.
            let indent: String = self
                .excerpt
                .chars()
                .take(self.column - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            let rest = self.excerpt.chars().count().saturating_sub(self.column - 1).max(1);
            let carets = "^".repeat(self.span.len().clamp(1, rest));
            write!(f, "\n  {number} | {}\n  {margin} | {indent}{carets}", self.excerpt)?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with an experiment, in the order of the text.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.0.iter().all(|d| d.key() != diagnostic.key()) {
            self.0.push(diagnostic);
        }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One by one.
    pub fn iter(&self) -> core::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    pub(crate) fn into_result<T>(mut self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            self.0.sort_by(|a, b| a.key().cmp(&b.key()));
            Err(self)
        }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = core::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            fmt::Display::fmt(diagnostic, f)?;
        }
        Ok(())
    }
}

impl core::error::Error for Diagnostics {}
