use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::settings::{InvalidSettings, Settings, Sources};

thread_local! {
    /// Every key that was read on this thread.
    pub static KEYS_READ: RefCell<BTreeSet<String>> = RefCell::default();
}

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER_SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const SHIPPED: &str = "packaging/postrider.toml";
const PAGE: &str = "docs/reference/settings.md";

fn checked_in(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Loads a file after creating every secret and file that the examples name.
pub(super) fn load(text: &str) -> Result<Settings, InvalidSettings> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("postrider.toml"), text).unwrap();
    std::fs::write(folder.path().join("dkim.pem"), include_str!("../../../../mail/tests/dkim/ed25519.pem"))
        .unwrap();
    std::fs::write(folder.path().join("dkim2.pem"), include_str!("../../../../mail/tests/dkim/rsa.pem"))
        .unwrap();
    for name in ["templates", "templates2"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let names = text.split("env://").skip(1).filter_map(|rest| rest.split(['"', ' ', ',']).next());
    let secret = |name: &str| if name.starts_with("OTHER_") { OTHER_SECRET } else { SECRET };
    let variables = names.map(|name| (name.to_owned(), secret(name).to_owned()));
    let variables = variables.collect();
    Settings::load(&Sources { config: None, folder: folder.path().to_owned(), variables })
}

/// The printed file with every key and table uncommented.
fn uncommented() -> String {
    let marked =
        |line: &str| line.strip_prefix('#').is_some_and(|rest| !rest.is_empty() && !rest.starts_with(' '));
    let lines = file();
    lines.lines().map(|line| if marked(line) { &line[1..] } else { line }).collect::<Vec<_>>().join("\n")
}

/// Asserts that a file is what is generated; with UPDATE_REFERENCE it is written.
fn is_generated(path: &str, generated: &str) {
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path), generated).unwrap();
    }
    assert!(
        checked_in(path) == generated,
        "{path} is not what keys.txt says: UPDATE_REFERENCE=1 cargo test -p postrider --bin postrider keys"
    );
}

#[test]
fn the_file_that_is_shipped_is_what_is_printed() {
    is_generated(SHIPPED, &file());
}

#[test]
fn the_tables_of_the_reference_are_generated_and_have_every_section() {
    let (page, used) = page::rewritten(&checked_in(PAGE));
    is_generated(PAGE, &page);
    let missing: Vec<&str> =
        sections().iter().map(Section::table).filter(|table| !used.contains(*table)).collect();
    assert!(missing.is_empty(), "{PAGE} lacks {missing:?}: add <!-- keys: SECTION -->");
}

#[test]
fn markup_is_left_out_of_plain_text() {
    let text = Markdown("the [API](api.md)'s `url`, like `[mail]` and [a] (b)");
    assert_eq!(text.plain(), "the API's url, like [mail] and [a] (b)");
}

#[test]
fn the_file_works_as_it_is() {
    let settings = load(&file()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(settings.lanes.iter().map(|lane| lane.name.as_str()).collect::<Vec<_>>(), ["mail"]);
}

#[test]
fn every_key_can_be_set_and_none_is_missing() {
    KEYS_READ.with_borrow_mut(BTreeSet::clear);
    let settings = load(&uncommented()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert!(settings.lanes.len() > 5, "{:?}", settings.lanes);
    let read = KEYS_READ.with_borrow(BTreeSet::clone);
    let mut known = BTreeSet::new();
    for section in sections() {
        let path = section.path();
        // The parent tables are keys as well.
        known.extend(path.match_indices('.').map(|(at, _)| path[..at].to_owned()));
        known.extend(section.keys.iter().map(|key| format!("{path}.{}", key.name)));
        known.insert(path);
    }
    // A lane may override all of [mail], and every option is read for every transport.
    let over = |path: &&String| !path.starts_with("lanes.NAME.mail.");
    let read: BTreeSet<String> = read.iter().map(|path| general(&without_indices(path))).collect();
    let missing: Vec<&String> = read.iter().filter(over).filter(|path| !known.contains(*path)).collect();
    assert!(missing.is_empty(), "keys.txt lacks {missing:?}: describe them there");
}

/// Returns the path without the indices of lists: `mail.dkim.key` for `mail.dkim.1.key`.
fn without_indices(path: &str) -> String {
    let parts = path.split('.').filter(|part| part.parse::<usize>().is_err());
    parts.collect::<Vec<_>>().join(".")
}

#[test]
fn a_line_of_the_table_has_five_parts() {
    for line in TEXT.lines().filter(|line| line.starts_with("  ") || line.starts_with("* ")) {
        assert!(Key::read(line).is_some(), "{line}");
    }
}

/// Returns the names in backticks in the first column of a table.
fn documented(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|line| line.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_reference_has_every_key() {
    let (page, _) = page::rewritten(&checked_in(PAGE));
    let pages = [page, checked_in("docs/reference/webhooks.md")];
    let named: BTreeSet<&str> = pages.iter().flat_map(|page| documented(page)).collect();
    // Overrides of a contract are documented with the contract.
    let overrides =
        |section: &Section| section.table().matches('.').count() > 1 && !section.table().ends_with(".emails");
    let sections: Vec<Section> = sections().into_iter().filter(|section| !overrides(section)).collect();
    let keys =
        sections.iter().flat_map(|section| section.keys.iter().map(move |key| (section.header, key.name)));
    let missing: Vec<_> = keys.filter(|(_, name)| !named.contains(name)).collect();
    assert!(missing.is_empty(), "{PAGE} lacks {missing:?}");
}
