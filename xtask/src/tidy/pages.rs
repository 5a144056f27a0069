//! The rules about the console's files: small scripts with a header that never turn text into HTML.

use crate::tidy::{Source, Violation};

/// The largest size of a script, in lines: each is a page or a part of one.
const MAX_LINES: usize = 150;
const MAX_LINES_OF_STYLE: usize = 500;

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
pub fn check(source: &Source) -> Vec<Violation> {
    if !source.path.split('/').any(|folder| folder == "src") {
        return Vec::new();
    }
    let most = if source.has_ending("js") {
        MAX_LINES
    } else if source.has_ending("css") {
        MAX_LINES_OF_STYLE
    } else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    let lines = source.text.lines().count();
    if lines > most {
        let what = format!("{lines} lines, more than {most}");
        violations.push(Violation::new(&source.path, lines, what, "split it, one page or part each"));
    }
    if !source.text.starts_with("//") && !source.text.starts_with("/*") {
        violations.push(Violation::new(&source.path, 1, "no opening comment", "say first what it owns"));
    }
    for (at, line) in source.text.lines().enumerate() {
        for word in MARKUP.iter().filter(|word| line.contains(**word)) {
            let remedy = "build elements with `h` and `s` of dom.js: a text stays a text";
            violations.push(Violation::new(&source.path, at + 1, format!("`{word}`"), remedy));
        }
    }
    violations
}
