//! Suggests the name that was probably meant.

/// Returns the known name closest to `wrong`, if it is close enough to be a typing mistake.
pub fn closest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .into_iter()
        .map(|name| (distance(&wrong, &name.to_lowercase()), name))
        .filter(|(edits, name)| *edits <= 1 + name.chars().count() / 4)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// Returns "did you mean `x`?", or the list of known names; empty if there are none.
pub fn suggestion<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match closest(wrong, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => String::new(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// Returns the number of edits between two words; a swap of two neighbours counts as one, as it is a common mistake.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested() {
        assert_eq!(suggestion("concurency", ["concurrency", "contract"]), "did you mean `concurrency`?");
        assert_eq!(suggestion("sotre", ["stage", "store"]), "did you mean `store`?", "a swap is one edit");
        assert_eq!(suggestion("STORE", ["stage", "store"]), "did you mean `store`?");
    }

    #[test]
    fn names_are_listed_if_none_is_close() {
        assert_eq!(closest("weather", ["store", "stage"]), None);
        assert_eq!(suggestion("weather", ["store", "stage"]), "known: store, stage");
        assert_eq!(suggestion("weather", []), "");
    }

    #[test]
    fn the_distance_counts_insertions_deletions_changes_and_swaps() {
        for (a, b, edits) in
            [("", "", 0), ("", "abc", 3), ("abc", "abd", 1), ("abc", "acb", 1), ("abcd", "ab", 2)]
        {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }
}
