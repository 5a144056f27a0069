//! The rules about the content of a single file.

use crate::tidy::blank::{code_only, product_code_only};
use crate::tidy::{Source, Violation};

const MAX_LINES: usize = 400;
const MAX_LINES_OF_TESTS: usize = 500;

/// Paths that exist only on some machines; written in two halves, so that this file passes its own rule.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/tmp", "/bash")];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks one file against all rules about content.
pub fn check(source: &Source) -> Vec<Violation> {
    let mut violations = machine_paths(source);
    violations.extend(registries(source));
    if source.is_rust() {
        violations.extend(length(source));
        violations.extend(opening(source));
        violations.extend(unfinished(source));
        violations.extend(unwraps(source));
        violations.extend(silenced_lints(source));
    }
    violations
}

fn length(source: &Source) -> Option<Violation> {
    let lines = source.text.lines().count();
    let most = if source.is_test() { MAX_LINES_OF_TESTS } else { MAX_LINES };
    (lines > most).then(|| {
        let what = format!("{lines} lines, more than {most}");
        Violation::new(&source.path, lines, what, "split it by idea, one module each")
    })
}

fn opening(source: &Source) -> Option<Violation> {
    let is_module = source.path.split('/').any(|folder| folder == "src") && !source.is_test();
    (is_module && !source.text.starts_with("//!")).then(|| {
        let remedy = "start with `//!`: what it owns, what it must not do, its invariant";
        Violation::new(&source.path, 1, "no module documentation", remedy)
    })
}

fn unfinished(source: &Source) -> Vec<Violation> {
    let forbidden = [
        ("todo!", "write it, or leave it out"),
        ("unimplemented!", "write it, or leave it out"),
        ("dbg!", "remove it"),
        ("#[ignore", "make the test run, or delete it"),
    ];
    find(&source.path, &code_only(&source.text), &forbidden)
}

fn unwraps(source: &Source) -> Vec<Violation> {
    if source.is_test() {
        return Vec::new();
    }
    let forbidden = [(".unwrap()", "return an error, or `expect(\"why it holds\")`")];
    find(&source.path, &product_code_only(&source.text), &forbidden)
}

fn find(path: &str, code: &str, forbidden: &[(&str, &'static str)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for (text, remedy) in forbidden {
            let starts_a_word = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if line
                .match_indices(text)
                .any(|(at, _)| !text.starts_with(char::is_alphabetic) || starts_a_word(at))
            {
                violations.push(Violation::new(path, number + 1, format!("`{text}`"), remedy));
            }
        }
    }
    violations
}

fn silenced_lints(source: &Source) -> Vec<Violation> {
    let code = code_only(&source.text);
    let mut violations = Vec::new();
    for opening in ["[allow(", "[expect("] {
        for (at, _) in code.match_indices(opening) {
            let attribute = code[at..].split(")]").next().unwrap_or_default();
            let line = code[..at].lines().count().max(1);
            if !attribute.contains("reason") && !has_comment(&source.text, line) {
                let what = format!("`#{opening}…)]` without a reason");
                violations.push(Violation::new(
                    &source.path,
                    line,
                    what,
                    "fix what the lint found, or add `reason = \"…\"`",
                ));
            }
        }
    }
    violations
}

/// Whether a plain comment is on the line or directly above it; doc comments do not count.
fn has_comment(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().skip(line.saturating_sub(2)).take(line.min(2)).collect();
    let comment = |text: &str| text.contains("// ") && !text.contains("/// ");
    lines.last().is_some_and(|on| comment(on))
        || lines.iter().any(|above| above.trim_start().starts_with("// "))
}

fn machine_paths(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        for path in MACHINE_PATHS {
            // A part of a longer path or of a URL does not count.
            let alone =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}/".contains(c));
            if line.match_indices(path).any(|(at, _)| alone(at)) {
                let what = format!("`{path}` is a path of one machine");
                violations.push(Violation::new(
                    &source.path,
                    number + 1,
                    what,
                    "make it relative, or a setting",
                ));
            }
        }
    }
    violations
}

fn registries(source: &Source) -> Vec<Violation> {
    let marks: &[&str] = match source.path.rsplit('/').next() {
        Some("Cargo.lock") => &["registry+", "sparse+"],
        Some("config.toml") if source.path.contains(".cargo/") => &["registry", "[source"],
        _ => return Vec::new(),
    };
    let foreign = |line: &str| marks.iter().any(|mark| line.contains(mark)) && !line.contains(CRATES_IO);
    let lines = source.text.lines().enumerate().filter(|(_, line)| foreign(line));
    let remedy = "a mirror belongs into the machine's own cargo settings";
    lines
        .map(|(number, _)| {
            Violation::new(&source.path, number + 1, "a registry other than crates.io", remedy)
        })
        .collect()
}
