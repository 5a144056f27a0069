//! Mistakes in a contract, all of them at once, each with its place and its remedy.

use std::fmt;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or whatever the wrong value came from (`environment`).
    pub origin: String,
    /// Line and column, from 1; none for a value that came from outside the file.
    pub place: Option<(usize, usize)>,
    /// The key, as a person would look for it: `retry.jitter`, `lanes.mail.columns.attempts`, `DISPATCH_MAX_ATTEMPTS`.
    pub key: String,
    pub what: String,
    /// What would be right; empty where `what` says it all.
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
    /// `None` if there is nothing to complain about.
    pub fn new(mut problems: Vec<Problem>) -> Option<Self> {
        if problems.is_empty() {
            return None;
        }
        problems
            .sort_by(|a, b| (a.place.is_none(), a.place, &a.key).cmp(&(b.place.is_none(), b.place, &b.key)));
        problems.dedup();
        Some(Self(problems))
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

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

/// One line each: place, key, what is wrong and the remedy, in columns.
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
