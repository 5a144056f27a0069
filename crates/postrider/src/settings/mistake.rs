//! The error of invalid settings: all mistakes at once, and suggestions in their texts.

use postrider_config::{Mistakes, suggestion};

/// All mistakes that were found in the settings.
#[derive(Debug, thiserror::Error)]
#[error("{0}\n{count}; nothing was started or changed", count = counted(.0))]
pub struct InvalidSettings(pub Mistakes);

fn counted(mistakes: &Mistakes) -> String {
    match mistakes.iter().count() {
        1 => "1 mistake in the settings".to_owned(),
        count => format!("{count} mistakes in the settings"),
    }
}

/// Returns the end of a sentence that names the closest of the known names, or lists them: "; did you mean `x`?".
pub fn suggest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let suggestion = suggestion(wrong, known);
    if suggestion.is_empty() { suggestion } else { format!("; {suggestion}") }
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

#[cfg(test)]
mod tests {
    use postrider_config::{Mistake, Place};

    use super::*;

    #[test]
    fn a_suggestion_ends_a_sentence() {
        assert_eq!(suggest("sotre", ["store", "stage"]), "; did you mean `store`?");
        assert_eq!(suggest("weather", ["store", "stage"]), "; known: store, stage");
        assert_eq!(suggest("weather", []), "");
    }

    #[test]
    fn the_number_of_mistakes_is_last() {
        let place = Place { source: "p.toml".into(), position: Some((2, 1)) };
        let mistake = Mistake { place, key: "k".into(), what: "wrong".into(), remedy: String::new() };
        assert_eq!(
            InvalidSettings(mistake.into()).to_string(),
            "p.toml:2:1: k: wrong\n1 mistake in the settings; nothing was started or changed"
        );
    }
}
