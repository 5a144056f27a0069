//! Mistakes: each has its place, its key, what is wrong and how to fix it. All of them are reported at once.

use std::fmt;
use std::sync::Arc;

/// The place where a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A file, the name of an environment variable, or another source of values.
    pub source: Arc<str>,
    /// Line and column, from 1; `None` for a source without lines, or for the source as a whole.
    pub position: Option<(usize, usize)>,
}

impl Place {
    /// Creates a place without a position: a variable, or a file as a whole.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Self { source: source.into(), position: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// One mistake. It contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub place: Place,
    /// The full name of the key: `lanes.mail.concurrency`; empty if the mistake is about no key.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// How to fix it; empty if `what` already says so.
    pub remedy: String,
}

impl Mistake {
    /// Returns the message without place and key: what is wrong, and how to fix it.
    pub fn text(&self) -> String {
        if self.remedy.is_empty() { self.what.clone() } else { format!("{}; {}", self.what, self.remedy) }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.text())
    }
}

/// Every mistake that was found, in the order of the file. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Sorts the mistakes; `Err` if there are any. Mistakes in files come before those in variables.
    pub fn check(mut list: Vec<Mistake>) -> Result<(), Self> {
        list.sort_by(|a, b| a.order().cmp(&b.order()));
        list.dedup();
        if list.is_empty() { Ok(()) } else { Err(Self(list)) }
    }

    /// Iterates over the mistakes, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.0.iter()
    }

    /// Returns the mistakes, in the order of the file.
    pub fn into_vec(self) -> Vec<Mistake> {
        self.0
    }
}

impl Mistake {
    fn order(&self) -> (bool, &str, Option<(usize, usize)>, &str) {
        (self.place.position.is_none(), &self.place.source, self.place.position, &self.key)
    }
}

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

impl<'a> IntoIterator for &'a Mistakes {
    type Item = &'a Mistake;
    type IntoIter = std::slice::Iter<'a, Mistake>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Prints one line per mistake.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(position: Option<(usize, usize)>, key: &str, remedy: &str) -> Mistake {
        let place = Place { source: "p.toml".into(), position };
        Mistake { place, key: key.to_owned(), what: "wrong".to_owned(), remedy: remedy.to_owned() }
    }

    #[test]
    fn mistakes_come_once_and_in_the_order_of_the_file() {
        let variable =
            Mistake { place: Place::new("A_VARIABLE"), ..mistake(None, "z", "expected a whole number") };
        let list = vec![
            variable,
            mistake(Some((9, 1)), "k9", ""),
            mistake(Some((2, 7)), "k2", "did you mean `k3`?"),
            mistake(Some((2, 7)), "k2", "did you mean `k3`?"),
            mistake(None, "", ""),
        ];
        assert_eq!(
            Mistakes::check(list).unwrap_err().to_string(),
            "p.toml:2:7: k2: wrong; did you mean `k3`?\np.toml:9:1: k9: wrong\nA_VARIABLE: z: wrong; expected a whole \
             number\np.toml: wrong"
        );
    }

    #[test]
    fn no_mistakes_are_no_error() {
        assert_eq!(Mistakes::check(Vec::new()), Ok(()));
    }
}
