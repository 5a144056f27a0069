//! The internal table of recipient results: which recipients already have a mail that not all of them got.
//!
//! It is used for tables without a column for it: `source` (the table), `row_id`, `results` (a JSON list),
//! `changed_at`. Invariant: a record is written in the transaction of the move that it describes, only for rows that
//! pass the fence, and is deleted with its row.

use postrider_contract::{STORED_RECIPIENTS, Transition};

use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::{Dialect, Field, Param, Script, Step, Yields};

/// The name of the table of recipient results.
pub const RECIPIENTS: &str = "postrider_recipients";

impl Table<'_> {
    /// Whether the internal table keeps the recipient results of this stage.
    pub fn remembers_recipients(&self) -> bool {
        self.shape.recipients && self.contract.needs_recipient_store(self.stage)
    }

    fn source(&self) -> String {
        let table = &self.contract.table;
        self.text(&table.schema.iter().chain([&table.name]).map(String::as_str).collect::<Vec<_>>().join("."))
    }

    /// A key as the internal table stores it.
    fn remembered_id(&self, id: &str) -> String {
        let text = self.key_text(id);
        match self.dialect {
            Dialect::Postgres | Dialect::Sqlite => text,
            Dialect::Mysql => format!("CONVERT({text} USING utf8mb4) COLLATE utf8mb4_bin"),
        }
    }

    /// Returns the recipient results of the row with this key as an expression; `None` if they are not kept there.
    pub fn remembered(&self, id: &str) -> Option<String> {
        self.remembers_recipients().then(|| {
            format!(
                "(SELECT r.results FROM {RECIPIENTS} AS r WHERE r.source = {} AND r.row_id = {})",
                self.source(),
                self.remembered_id(id)
            )
        })
    }

    /// Returns the settle script that also keeps recipient results; `None` for a transition that has none.
    pub fn remembering(&self, transition: Transition, each: &Script) -> Option<Script> {
        (transition.may_record_recipients() && self.remembers_recipients()).then(|| {
            let mut steps = each.steps.clone();
            steps.push(self.remember());
            // Once all recipients have the mail, results are only kept of those that refused it for good.
            if transition == Transition::Delivered {
                steps.push(self.forget(true));
            }
            Script { steps }
        })
    }

    fn remember(&self) -> Step {
        let builder = StepBuilder::new(self, Source::Each);
        let results = builder.field(Field::Outcome(STORED_RECIPIENTS.to_owned()));
        let id = self.id();
        let key = builder.typed(Field::Id, &self.contract.table.id);
        let (now, update) = match self.dialect {
            Dialect::Postgres => ("now()", CONFLICT),
            Dialect::Mysql => (
                "UTC_TIMESTAMP(6)",
                "ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at)",
            ),
            Dialect::Sqlite => ("strftime('%Y-%m-%dT%H:%M:%fZ', 'now')", CONFLICT),
        };
        let text = format!(
            "INSERT INTO {RECIPIENTS} (source, row_id, results, changed_at)\nSELECT {}, {}, {results}, {now}\nFROM {} AS t \
             JOIN {} ON {id} = {key}\nWHERE {}\n{update}",
            self.source(),
            self.remembered_id(&id),
            self.name(),
            builder.rows(),
            builder.among(&id, Param::Held),
        );
        builder.finish(&text, Yields::Nothing)
    }

    /// Deletes the results of the rows that an earlier step yielded; with `unless_refused` only if no recipient refused
    /// the mail. On MySQL the rows must still exist.
    fn forget(&self, unless_refused: bool) -> Step {
        let builder = StepBuilder::plain(self);
        let condition = if unless_refused { " AND r.results NOT LIKE '%\"refused\"%'" } else { "" };
        let source = self.source();
        let text = match self.dialect {
            Dialect::Postgres => format!(
                "DELETE FROM {RECIPIENTS} AS r\nWHERE r.source = {source} AND r.row_id = ANY ({}::text[]){condition}",
                builder.bind(Param::Held)
            ),
            Dialect::Mysql => format!(
                "DELETE r FROM {RECIPIENTS} AS r JOIN {} AS t ON r.row_id = {}\nWHERE r.source = {source} AND {}{condition}",
                self.name(),
                self.remembered_id(&self.id()),
                builder.among(&self.id(), Param::Held),
            ),
            Dialect::Sqlite => format!(
                "DELETE FROM {RECIPIENTS} AS r\nWHERE r.source = {source} AND r.row_id IN (SELECT CAST(value AS TEXT) FROM \
                 json_each({})){condition}",
                builder.bind(Param::Held)
            ),
        };
        builder.finish(&text, Yields::Nothing)
    }

    /// Returns the step that deletes the results of purged rows, for every stage of the contract; `None` if none are
    /// kept.
    pub fn forget_purged(&self) -> Option<Step> {
        let remembered = self.contract.stages.iter().any(|stage| self.contract.needs_recipient_store(stage));
        (self.shape.recipients && remembered).then(|| self.forget(false))
    }
}

const CONFLICT: &str = "ON CONFLICT (source, row_id) DO UPDATE SET results = excluded.results, \
     changed_at = excluded.changed_at";
