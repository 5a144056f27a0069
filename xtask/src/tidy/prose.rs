//! Rules about prose: plain technical English in everything that a person reads (comments, documents, and the texts of
//! errors, log lines and help), and a summary on every public item.
//!
//! Owns: a short list of words that made readers stop. It is meant to stay short: a word is added only where it is never
//! right, so that there is no false alarm.

use std::ops::Range;

use crate::tidy::blank::{product_code_only, product_strings};
use crate::tidy::{Source, Violation, script};

/// Whole words, and what to write instead.
const WORDS: [(&str, &str); 18] = [
    (concat!("to", "ld"), "write who returns, logs, reports or documents it"),
    (concat!("te", "lls"), "write who returns, logs, reports or documents it"),
    (concat!("me", "nd"), "write fix or repair"),
    (concat!("me", "nds"), "write fixes or repairs"),
    (concat!("me", "nded"), "write fixed or repaired"),
    (concat!("me", "nding"), "write fixing or repairing"),
    (concat!("besi", "des"), "write also, in addition, or apart from"),
    (concat!("who", "ever"), "name who it is: the caller, the client, the operator, the worker"),
    (concat!("no ", "good"), "write invalid"),
    (concat!("opens ", "nothing"), "write invalid or revoked"),
    (concat!("turn and ", "turn"), "write round-robin"),
    (concat!("by it", "self"), "write automatically, alone or unexpectedly"),
    (concat!("by them", "selves"), "write automatically, alone or unexpectedly"),
    (concat!("pro", "long"), "write extend"),
    (concat!("pro", "longs"), "write extends"),
    (concat!("pro", "longed"), "write extended"),
    (concat!("for ", "ever"), "write forever"),
    (concat!("a", "new"), "write again, or from the start"),
];

/// The first word of a summary that needs the text around it to be understood: a question, or half a sentence.
const FRAGMENTS: [&str; 24] = [
    "Is", "Are", "Was", "Were", "Does", "Do", "Did", "Has", "Have", "May", "Can", "Could", "Must", "What",
    "How", "Why", "Which", "Who", "Whose", "When", "So", "It", "Its", "Never",
];

pub fn check(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    if is_prose(source) {
        violations.extend(archaic(source));
    }
    if !source.is_test() {
        violations.extend(archaic_texts(source));
    }
    // The documentation of clap's types is the help of their commands.
    let is_help = source.path.starts_with("crates/postrider/src/cli");
    if source.is_rust() && source.path.starts_with("crates/") && !source.is_test() && !is_help {
        violations.extend(summaries(source));
    }
    violations
}

/// The endings, or names, of files that people read.
const PROSE: [&str; 11] =
    ["rs", "md", "js", "toml", "yml", "yaml", "html", "css", "py", "service", "Dockerfile"];

/// Everything that developers and operators read. Texts that are data stay as they are: snapshots, lock files, mails.
fn is_prose(source: &Source) -> bool {
    if source.path.starts_with("templates/") || source.is_test() && source.has_ending("toml") {
        return false;
    }
    PROSE.iter().any(|ending| source.has_ending(ending) || source.path.ends_with(&format!("/{ending}")))
}

/// What starts a line of a comment in this language; `None` if all lines are read: they hold little but prose.
fn comment_marks(source: &Source) -> Option<&'static [&'static str]> {
    if source.is_rust() || source.has_ending("js") {
        return Some(&["//", "/*", "*"]);
    }
    source.has_ending("py").then_some(&["#", "\"\"\""])
}

fn archaic(source: &Source) -> Vec<Violation> {
    // Of code only its comments: a name is judged by its own rules.
    let marks = comment_marks(source);
    let is_prose =
        |line: &str| marks.is_none_or(|marks| marks.iter().any(|mark| line.trim_start().starts_with(mark)));
    let lines = source.text.lines().enumerate().filter(|(_, line)| is_prose(line));
    lines.flat_map(|(number, line)| words_in(source, number + 1, line)).collect()
}

/// The texts that the program prints. A string of one word is data, such as the name of a JSON member.
fn archaic_texts(source: &Source) -> Vec<Violation> {
    let texts = if source.is_rust() {
        product_strings(&source.text)
    } else if source.has_ending("js") {
        script::texts(&source.text)
    } else {
        return Vec::new();
    };
    let texts = texts.iter().filter(|(_, text)| text.contains(' '));
    texts.flat_map(|(number, text)| words_in(source, *number, &without_placeholders(text))).collect()
}

fn words_in(source: &Source, number: usize, line: &str) -> Vec<Violation> {
    let lower = without_code(&line.to_lowercase());
    let found = WORDS.iter().filter(|(word, _)| holds(&lower, word));
    found.map(|(word, remedy)| Violation::new(&source.path, number, format!("`{word}`"), remedy)).collect()
}

/// The line without `{name}`, which is code.
fn without_placeholders(line: &str) -> String {
    line.split('{').map(|part| part.rsplit('}').next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

/// The line without what stands between backticks: names are judged by their own rules.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether the word stands in the line; the parts of a name in `snake_case` are words as well.
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        [before, after].into_iter().flatten().all(|next| !next.is_alphanumeric())
    })
}

/// Public items need one line that stands alone in an index.
fn summaries(source: &Source) -> Vec<Violation> {
    let code = product_code_only(&source.text);
    let lines: Vec<&str> = source.text.lines().collect();
    let traits = public_traits(&code);
    let mut violations = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let is_in_trait = || traits.iter().any(|inside| inside.contains(&number));
        let method = || is_in_trait().then(|| trait_method(line)).flatten();
        let Some(name) = public_item(line).or_else(method) else { continue };
        let fault = match summary(&lines[..number]) {
            None => format!("`{name}` has no summary"),
            Some(text) => match text.split_whitespace().next() {
                Some(first) if FRAGMENTS.contains(&first) => {
                    format!("the summary of `{name}` starts with {first}")
                }
                Some(first) if first.starts_with(|sign: char| sign.is_lowercase()) => {
                    format!("the summary of `{name}` starts with a small letter")
                }
                _ => continue,
            },
        };
        let remedy = "start it with a verb (`Returns …`) or a noun phrase (`The …`, `Whether …`)";
        violations.push(Violation::new(&source.path, number + 1, fault, remedy));
    }
    violations
}

/// The name of the item that this line makes public to other crates.
fn public_item(line: &str) -> Option<&str> {
    const KEYWORDS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "const"];
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_item = KEYWORDS.contains(&word) && words.peek().is_none_or(|next| *next != "fn");
        if is_item {
            let end = |sign: char| !sign.is_alphanumeric() && sign != '_';
            return words.next().and_then(|rest| rest.split(end).next());
        }
        if !["async", "const", "unsafe"].contains(&word) {
            return None;
        }
    }
    None
}

/// The lines inside the public traits of a file, from 0.
fn public_traits(code: &str) -> Vec<Range<usize>> {
    let lines: Vec<&str> = code.lines().collect();
    let starts = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with("pub trait ") && !line.trim_end().ends_with('}'));
    starts
        .map(|(start, line)| {
            let indent = line.len() - line.trim_start().len();
            // Formatted code closes an item at the indentation where it starts.
            let closes = |line: &&str| line.trim_end() == format!("{}}}", " ".repeat(indent));
            start + 1..lines[start..].iter().position(closes).map_or(start + 1, |length| start + length)
        })
        .collect()
}

/// The name of the method that this line of a trait declares: of the trait, not of anything inside its bodies.
fn trait_method(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("    ")?;
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    rest.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next()
}

/// The first line of the documentation above an item.
fn summary<'a>(before: &[&'a str]) -> Option<&'a str> {
    let mut first = None;
    for line in before.iter().rev() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            first = Some(text.trim());
        } else if first.is_some()
            || line.is_empty()
            || line.ends_with(['{', '}', ';']) && !line.starts_with('#')
        {
            break;
        }
    }
    first
}
