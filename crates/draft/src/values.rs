//! What a value of a status column means, by its text.

use postrider_seams::TableDescription;
use postrider_seams::table::ColumnDescription;

use crate::columns::squeezed;

/// The use of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Ready,
    Claimed,
    Delivered,
    Dead,
}

const READY: &[&str] = &[
    "new",
    "pending",
    "queued",
    "ready",
    "waiting",
    "created",
    "open",
    "todo",
    "unsent",
    "scheduled",
    "init",
    "initial",
    "enqueued",
    "not_sent",
    "unpublished",
    "unprocessed",
    "available",
    "requeued",
    "retry",
    "retrying",
    "delayed",
];
const CLAIMED: &[&str] = &[
    "processing",
    "in_progress",
    "sending",
    "taken",
    "claimed",
    "locked",
    "running",
    "in_flight",
    "dispatching",
    "publishing",
    "started",
    "working",
    "picked",
    "reserved",
];
const DELIVERED: &[&str] = &[
    "sent",
    "delivered",
    "done",
    "completed",
    "complete",
    "processed",
    "published",
    "success",
    "succeeded",
    "finished",
    "ok",
    "dispatched",
];
const DEAD: &[&str] = &[
    "failed",
    "dead",
    "error",
    "failure",
    "broken",
    "errored",
    "exhausted",
    "undeliverable",
    "failed_permanently",
];

/// Returns what a text in a status column usually means.
pub fn meaning(value: &str) -> Option<Meaning> {
    let value = squeezed(value);
    let is = |words: &[&str]| words.iter().any(|word| squeezed(word) == value);
    match () {
        () if is(READY) => Some(Meaning::Ready),
        () if is(CLAIMED) => Some(Meaning::Claimed),
        () if is(DELIVERED) => Some(Meaning::Delivered),
        () if is(DEAD) => Some(Meaning::Dead),
        () => None,
    }
}

/// The position of a ready value among those that mean ready: new rows before rows that were tried.
pub fn readiness(value: &str) -> usize {
    READY.iter().position(|word| squeezed(word) == squeezed(value)).unwrap_or(usize::MAX)
}

/// The values that a status column may hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownValues {
    /// Each with the number of sampled rows.
    pub values: Vec<(String, u64)>,
    /// Whether the type or a CHECK constraint allows no others.
    pub closed: bool,
}

/// Returns the values that the type, a CHECK constraint or the sampled rows show.
pub fn known(table: &TableDescription, column: &ColumnDescription) -> KnownValues {
    let mut found = KnownValues::default();
    let mut declared = column.labels.clone();
    let checks = table.checks.iter().filter(|check| names(check, &column.name));
    declared.extend(checks.flat_map(|check| literals(check)));
    found.closed = !declared.is_empty();
    for value in declared {
        if !found.values.iter().any(|(known, _)| *known == value) {
            found.values.push((value, 0));
        }
    }
    for sampled in column.values.iter().flatten() {
        let Some(value) = &sampled.value else { continue };
        match found.values.iter_mut().find(|(known, _)| known == value) {
            Some((_, rows)) => *rows = sampled.rows,
            None => found.values.push((value.clone(), sampled.rows)),
        }
    }
    found
}

/// Whether the expression names the column.
fn names(check: &str, column: &str) -> bool {
    let words = check.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.into_iter().any(|word| word.eq_ignore_ascii_case(column))
}

/// Returns the quoted texts of an expression, and if it has none, the numbers of its `IN (…)`.
fn literals(check: &str) -> Vec<String> {
    let quoted: Vec<String> = check.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
    if !quoted.is_empty() {
        return quoted;
    }
    let lower = check.to_ascii_lowercase();
    let list = lower.split_once(" in (").or_else(|| lower.split_once("array[")).map(|(_, rest)| rest);
    let numbers = list.unwrap_or_default().split([',', ')', ']']).map(str::trim);
    numbers.take_while(|part| part.parse::<i64>().is_ok()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_words_are_known() {
        for (value, expected) in [
            ("NEW", Some(Meaning::Ready)),
            ("in-progress", Some(Meaning::Claimed)),
            ("IN_PROGRESS", Some(Meaning::Claimed)),
            ("Succeeded", Some(Meaning::Delivered)),
            ("failed", Some(Meaning::Dead)),
            ("cancelled", None),
            ("3", None),
        ] {
            assert_eq!(meaning(value), expected, "{value}");
        }
        assert!(readiness("new") < readiness("retry"));
    }

    #[test]
    fn values_come_from_the_constraint_and_from_the_rows() {
        let column = ColumnDescription {
            name: "state".to_owned(),
            values: Some(vec![
                postrider_seams::table::SampledValue {
                    value: Some("new".to_owned()),
                    rows: 7,
                    filled: Vec::new(),
                },
                postrider_seams::table::SampledValue::default(),
            ]),
            ..ColumnDescription::default()
        };
        let table = TableDescription {
            checks: vec!["state IN ('new', 'sent')".to_owned(), "amount IN (1, 2)".to_owned()],
            columns: vec![column.clone()],
            ..TableDescription::default()
        };
        let known = known(&table, &column);
        assert_eq!(known.values, [("new".to_owned(), 7), ("sent".to_owned(), 0)]);
        assert!(known.closed);
        assert_eq!(literals("state IN (0, 1, 9)"), ["0", "1", "9"]);
        assert!(literals("length(state) > 3").is_empty());
    }
}
