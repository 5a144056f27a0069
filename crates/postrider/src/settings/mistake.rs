//! A mistake in the settings: its place, its key, what is wrong and how to fix it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The place where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of a file, counted from 1.
    Line { file: Arc<Path>, line: usize },
    /// A file as a whole, when something is missing in it.
    File { file: Arc<Path> },
    /// An environment variable.
    Variable(String),
    /// The built-in settings, which are used without a file.
    BuiltIn,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{}:{line}", file.display()),
            Self::File { file } => write!(f, "{}", file.display()),
            Self::Variable(name) => write!(f, "{name}"),
            Self::BuiltIn => f.write_str("built-in settings"),
        }
    }
}

/// One mistake. `text` holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    pub place: Place,
    /// The full path of the key: `lanes.mail.concurrency`; empty if the mistake is about no key.
    pub key: String,
    /// The message: what is wrong, and how to fix it.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{}: {}", self.place, self.text)
        } else {
            write!(f, "{}: {}: {}", self.place, self.key, self.text)
        }
    }
}

/// All mistakes that were found, in the order of the file.
#[derive(Debug, thiserror::Error)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Sorts the mistakes; `Err` if there are any.
    pub fn none_in(mut list: Vec<Mistake>) -> Result<(), Self> {
        list.sort();
        list.dedup();
        if list.is_empty() { Ok(()) } else { Err(Self(list)) }
    }

    /// Iterates over the mistakes in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.0.iter()
    }
}

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in &self.0 {
            writeln!(f, "{mistake}")?;
        }
        match self.0.len() {
            1 => f.write_str("1 mistake in the settings; nothing was started or changed"),
            count => write!(f, "{count} mistakes in the settings; nothing was started or changed"),
        }
    }
}

/// Suggests the most similar name ("; did you mean `x`?"), or lists the known names.
pub fn suggest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known
        .iter()
        .map(|candidate| (distance(wrong, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count() / 4)
        .min();
    match near {
        Some((_, candidate)) => format!("; did you mean `{candidate}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there is {}", listed(&known)),
    }
}

/// Joins names for a message: "`a`, `b` and `c`".
pub fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The edit distance of two words; a swap of neighbouring characters counts as one edit, as it is a common typo.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.to_lowercase().chars().collect();
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (row, left) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, right) in to.iter().enumerate() {
            let replaced = rows[row][column] + usize::from(left != right);
            let mut best = replaced.min(rows[row][column + 1] + 1).min(next[column] + 1);
            let swapped = row > 0 && column > 0 && *left == to[column - 1] && from[row - 1] == *right;
            if swapped {
                best = best.min(rows[row - 1][column - 1] + 1);
            }
            next.push(best);
        }
        rows.push(next);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_named() {
        assert_eq!(suggest("concurency", ["concurrency", "contract"]), "; did you mean `concurrency`?");
        assert_eq!(suggest("sotre", ["store", "stage"]), "; did you mean `store`?");
        assert_eq!(suggest("weather", ["store", "stage"]), "; there is `store` and `stage`");
    }

    #[test]
    fn mistakes_come_in_the_order_of_the_file() {
        let file: Arc<Path> = Arc::from(Path::new("p.toml"));
        let at = |line| Mistake {
            place: Place::Line { file: file.clone(), line },
            key: format!("k{line}"),
            text: "wrong".to_owned(),
        };
        let mistakes = Mistakes::none_in(vec![at(9), at(2), at(2)]).unwrap_err().to_string();
        assert_eq!(
            mistakes,
            "p.toml:2: k2: wrong\np.toml:9: k9: wrong\n2 mistakes in the settings; nothing was started or changed"
        );
    }
}
