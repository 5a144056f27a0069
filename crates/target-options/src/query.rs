//! Options in the URL of a database whose driver reads them, and ignores those that it does not know.

use postrider_config::suggestion;

use crate::OptionMistake;

/// Returns the mistake of each option of the URL that is not in `known`, or that is in `ours`: options that Postrider
/// sets itself, each with the reason. `is_valid` returns whether the driver accepts a URL; it is called with one option
/// at a time, so that a mistake names the option, and never its value.
pub fn query_mistakes(
    url: &str,
    known: &[&str],
    ours: &[(&str, &str)],
    is_valid: impl Fn(&str) -> bool,
) -> Vec<OptionMistake> {
    let Some((base, query)) = url.split_once('?') else { return Vec::new() };
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    let mut mistakes = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, _)) = url::form_urlencoded::parse(pair.as_bytes()).next() else { continue };
        // `options[NAME]` of PostgreSQL.
        let general = name.split_once('[').map_or(&*name, |(general, _)| general);
        if let Some((_, reason)) = ours.iter().find(|(own, _)| *own == name) {
            mistakes.push(OptionMistake::of(&*name, *reason));
        } else if !known.contains(&general) {
            let mistake = OptionMistake::of(&*name, "is not an option of this database");
            mistakes.push(mistake.with_remedy(suggestion(&name, known.iter().copied())));
        } else if is_valid(base) && !is_valid(&format!("{base}?{pair}")) {
            mistakes.push(OptionMistake::of(&*name, "has an invalid value"));
        }
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_invalid_options_and_ours_are_mistakes_without_their_values() {
        let mistakes = |query: &str| {
            let url = format!("db://u:p@host/name?{query}");
            let is_valid = |url: &str| !url.contains("mode=hunter2");
            let ours = [("time-zone", "is always UTC")];
            let found = query_mistakes(&url, &["mode", "socket"], &ours, is_valid);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(mistakes("mode=full&socket=/run/x#part"), [""; 0]);
        assert_eq!(mistakes("moed=full"), ["moed is not an option of this database; did you mean `mode`?"]);
        assert_eq!(mistakes("socket=x&mode=hunter2"), ["mode has an invalid value"]);
        assert_eq!(mistakes("time%2Dzone=%2B08:00"), ["time-zone is always UTC"]);
        assert!(query_mistakes("db://host/name", &[], &[], |_| true).is_empty());
    }
}
