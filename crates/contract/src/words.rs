//! Checks identifiers, and suggests the name that was probably meant.

/// The longest name in bytes that every database accepts.
const LONGEST_NAME: usize = 63;

/// Checks that this is a name that can be quoted on every database.
pub(crate) fn identifier(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a name can't be empty".to_owned());
    }
    if text.len() > LONGEST_NAME {
        return Err(format!("a name of {} bytes: databases take {LONGEST_NAME} at most", text.len()));
    }
    match text.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '$'))) {
        Some(c) => Err(format!("{c:?} can't be in a name: letters, digits, `_` and `$` can")),
        None => Ok(()),
    }
}

/// Returns the known word nearest to `wrong`, if it is near enough to be a typing mistake.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .into_iter()
        .map(|word| (distance(&wrong, &word.to_lowercase()), word))
        .filter(|(steps, word)| *steps <= 1 + word.chars().count() / 4)
        .min_by_key(|(steps, _)| *steps)
        .map(|(_, word)| word)
}

/// Returns "did you mean `x`?", or the list of known words.
pub(crate) fn meant<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(wrong, known.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None if known.is_empty() => String::new(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// Returns the number of edits between two words; swapping two neighbours counts as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = above;
        above = row;
    }
    above[b.len()]
}
