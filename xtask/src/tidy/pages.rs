//! The rules about the console's files: small scripts with a header that never turn text into HTML.

use crate::tidy::{Breach, Source};

/// The largest size of a script, in lines: each is a page or a part of one.
const MOST_LINES: usize = 150;
const MOST_LINES_OF_STYLE: usize = 500;

/// Functions that turn text into markup or code, which is forbidden because applications choose the texts of rows.
const MARKUP: [&str; 8] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "DOMParser",
    "createContextualFragment",
    "setHTMLUnsafe",
    "eval(",
];

/// Checks one file of the console.
pub fn check(source: &Source) -> Vec<Breach> {
    if !source.path.split('/').any(|folder| folder == "src") {
        return Vec::new();
    }
    let most = if source.has_ending("js") {
        MOST_LINES
    } else if source.has_ending("css") {
        MOST_LINES_OF_STYLE
    } else {
        return Vec::new();
    };
    let mut breaches = Vec::new();
    let lines = source.text.lines().count();
    if lines > most {
        let what = format!("{lines} lines, more than {most}");
        breaches.push(Breach::new(&source.path, lines, what, "split it, one page or part each"));
    }
    if !source.text.starts_with("//") && !source.text.starts_with("/*") {
        breaches.push(Breach::new(&source.path, 1, "no opening comment", "say first what it owns"));
    }
    for (at, line) in source.text.lines().enumerate() {
        for word in MARKUP.iter().filter(|word| line.contains(**word)) {
            let remedy = "build elements with `h` and `s` of dom.js: a text stays a text";
            breaches.push(Breach::new(&source.path, at + 1, format!("`{word}`"), remedy));
        }
    }
    breaches
}
