//! Mistakes in a contract: all of them are reported at once, each with its place and how to fix it.

use std::fmt;

/// One mistake in a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or another source of the invalid value (`environment`).
    pub origin: String,
    /// Line and column, from 1; `None` for a value that does not come from the file.
    pub place: Option<(usize, usize)>,
    /// The key as its author knows it: `retry.jitter`, `lanes.mail.columns.attempts`, `DISPATCH_MAX_ATTEMPTS`.
    pub key: String,
    pub what: String,
    /// How to fix it; empty if `what` already says so.
    pub remedy: String,
}

impl Problem {
    fn location(&self) -> String {
        match self.place {
            Some((line, column)) => format!("{}:{line}:{column}", self.origin),
            None => self.origin.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.location())?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Every mistake of one contract, in the order of the file. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts the mistakes; returns `None` if there are none.
    pub fn new(mut problems: Vec<Problem>) -> Option<Self> {
        if problems.is_empty() {
            return None;
        }
        problems
            .sort_by(|a, b| (a.place.is_none(), a.place, &a.key).cmp(&(b.place.is_none(), b.place, &b.key)));
        problems.dedup();
        Some(Self(problems))
    }

    /// Iterates over the mistakes, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Returns the mistakes, in the order of the file.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Prints one line per mistake, in columns: place, key, what is wrong, how to fix it.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |measure: fn(&Problem) -> usize| self.0.iter().map(measure).max().unwrap_or(0);
        let places = width(|problem| problem.location().chars().count());
        let keys = width(|problem| problem.key.chars().count());
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{:places$}  ", problem.location())?;
            if keys > 0 {
                write!(f, "{:keys$}  ", problem.key)?;
            }
            f.write_str(&problem.what)?;
            if !problem.remedy.is_empty() {
                write!(f, "; {}", problem.remedy)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
