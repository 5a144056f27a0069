//! Compares the stores on which a rule is said to hold with those that its laws and tests reach.
//!
//! Owns: what counts as reaching a store. A law reaches the stores that `docs/conformance.md`, a generated page, lists
//! for the rule's contract. A test reaches the store that its name or else its path names; one that names none runs on
//! every SQL store, or needs none.

use std::collections::BTreeSet;

/// Names of stores, as in the last column of the rules.
type Stores = BTreeSet<&'static str>;

const SQL: [&str; 3] = ["PostgreSQL", "MySQL/MariaDB", "SQLite"];
const DYNAMODB: &str = "DynamoDB";

/// The only contract with a layout on DynamoDB.
const DYNAMODB_CONTRACT: &str = "emails";

/// A word in the name or path of a test, or in a cell of the page of laws, and the store that it names.
const WORDS: [(&str, &str); 5] = [
    ("postgres", SQL[0]),
    ("mysql", SQL[1]),
    ("mariadb", SQL[1]),
    ("sqlite", SQL[2]),
    ("dynamodb", DYNAMODB),
];

/// Returns the stores that the last cell of a rule names: `all`, `SQL`, or a list of names; `None` if it names others.
pub fn stated(cell: &str) -> Option<Stores> {
    let known = |name: &str| SQL.into_iter().chain([DYNAMODB]).find(|store| *store == name);
    match cell {
        "all" => Some(SQL.into_iter().chain([DYNAMODB]).collect()),
        "SQL" => Some(SQL.into()),
        names => names.split(", ").map(known).collect(),
    }
}

/// Returns the stores that a test reaches.
pub fn of_test(path: &str, name: &str) -> Stores {
    [named(name), named(path), SQL.into()].into_iter().find(|stores| !stores.is_empty()).unwrap_or_default()
}

/// Returns the stores on which a law holds for the contract whose rules start with this letter; for rules of all
/// contracts, those of any contract.
pub fn of_law(page: &str, law: &str, letter: char) -> Stores {
    let contract = match letter {
        'm' => "mail_outbox",
        'j' => "dispatch_jobs",
        'n' => "open_event_notifications",
        'e' => "emails",
        'o' => "outbox",
        _ => "",
    };
    let Some((_, table)) = page.split_once("## Where they hold") else { return Stores::new() };
    let mut rows = table.lines().filter_map(|line| line.strip_prefix("| ")).map(|line| line.split(" | "));
    let Some(columns) = rows.next() else { return Stores::new() };
    let law = format!("`{law}`");
    let cells = rows.find_map(|mut row| (row.next() == Some(&law)).then_some(row)).into_iter().flatten();
    let held = columns.skip(1).zip(cells).filter(|(column, _)| column.starts_with(contract));
    held.flat_map(|(column, cell)| in_cell(column, cell.trim_end_matches(" |"))).collect()
}

fn in_cell(column: &str, cell: &str) -> Stores {
    match cell {
        "all" if column.starts_with(DYNAMODB_CONTRACT) => SQL.into_iter().chain([DYNAMODB]).collect(),
        "all" | "SQL" => SQL.into(),
        names => named(names),
    }
}

fn named(text: &str) -> Stores {
    WORDS.into_iter().filter(|(word, _)| text.contains(word)).map(|(_, store)| store).collect()
}
