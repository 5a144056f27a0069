//! Checks the URL of a database before anything connects: the driver ignores options that it does not know, and accepts
//! some that our sessions set themselves.

use std::str::FromStr;

use postrider_target_options::{OptionMistake, query_mistakes};
use sqlx::postgres::PgConnectOptions;

use crate::session::sets;

#[cfg(test)]
mod tests;

/// The options that the driver reads from a URL. It only logs any other.
const URL_OPTIONS: [&str; 17] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "options",
    "statement-cache-capacity",
];

/// Options that the driver reads, and that our sessions set.
const OUR_OPTIONS: [(&str, &str); 1] =
    [("application_name", "cannot be set: Postrider's sessions are always named postrider")];

/// Settings of the server that the driver sets in every session, with those of `session.rs`.
const DRIVER_SETS: [&str; 4] = ["timezone", "client_encoding", "datestyle", "extra_float_digits"];

/// Lists every mistake in a database's URL, without connecting and without secrets.
pub fn url_mistakes(url: &str) -> Vec<OptionMistake> {
    let is_valid = |url: &str| PgConnectOptions::from_str(url).is_ok();
    let mut mistakes = query_mistakes(url, &URL_OPTIONS, &OUR_OPTIONS, is_valid);
    mistakes.extend(session_mistakes(url));
    if mistakes.is_empty() && !is_valid(url) {
        // The parser's message may quote parts of the URL, and thus of the password.
        mistakes.push(
            "can't be read: it should be postgres://user:password@host:5432/database (special characters in the \
             password are percent-encoded)"
                .into(),
        );
    }
    mistakes
}

/// Returns the mistakes of `options=-c NAME=value` and `options[NAME]=value` that name a setting of our sessions.
fn session_mistakes(url: &str) -> Vec<OptionMistake> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut mistakes = Vec::new();
    for (option, value) in url_pairs(query) {
        let single = option.strip_prefix("options[").and_then(|rest| rest.strip_suffix(']'));
        let names: Vec<&str> = match single {
            Some(name) => vec![name],
            None if option == "options" => settings_in(&value).collect(),
            None => continue,
        };
        for name in names.into_iter().map(str::to_ascii_lowercase) {
            if DRIVER_SETS.contains(&name.as_str()) || sets(&name) {
                let what = format!("cannot set {name}: Postrider's sessions set it");
                mistakes.push(OptionMistake::of(option.as_str(), what));
            }
        }
    }
    mistakes
}

fn url_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned()
}

/// The names in `-c a=1 -cb=2 --c=3`.
fn settings_in(options: &str) -> impl Iterator<Item = &str> {
    let words = options.split_ascii_whitespace();
    words
        .filter_map(|word| word.trim_start_matches("--").trim_start_matches("-c").split_once('='))
        .map(|(name, _)| name)
}
