//! The fields that a composer reads, and how the results of single recipients are stored.

use std::collections::BTreeSet;

use crate::{Absent, Column, Contract, Expr, MessageValue, Stage, Transition, Write};

/// The prefix of a field that is not read by a composer: a column from which fields are computed.
pub const SOURCE: char = '$';

/// The composer field with the result of each recipient so far.
pub const RESULTS: &str = "results";

/// The outcome field that carries the results of a mail's recipients from the engine to the store.
///
/// It is a JSON list, present only if the recipients' results differ. The store writes it in the same transaction as
/// the move, and returns it with the next claim as the field [`RESULTS`].
pub const STORED_RECIPIENTS: &str = "remembered_recipients";

/// The envelope field with a fingerprint of the mail: another mail that got its id has another one. It is stored with
/// the results of its recipients where these are kept outside the row's own columns.
pub const FINGERPRINT: &str = "fingerprint";

impl Contract {
    /// Returns the fields that a claimed row carries, each with its column: composer fields that are a column (`to`,
    /// `headers.deal_id`, …), then `$COLUMN` for each other column that a field reads (a template, a map, a member of
    /// JSON). The order is fixed: `Fields` and the layout of a claimed row use it too.
    pub fn message_columns(&self) -> Vec<(String, String)> {
        let plain = self.message.iter().filter_map(|(field, value)| match value {
            MessageValue::Column(column) => Some((field.clone(), column.name.clone())),
            _ => None,
        });
        let mut columns: Vec<(String, String)> = plain.collect();
        let read = self.message.values().flat_map(MessageValue::columns).map(|column| &column.name);
        for column in read.collect::<BTreeSet<_>>() {
            if !columns.iter().any(|(_, known)| known == column) {
                columns.push((format!("{SOURCE}{column}"), column.clone()));
            }
        }
        columns
    }

    /// Returns the field under which a claimed row carries a column of its table that a message reads.
    pub fn field_of_column(&self, column: &str) -> String {
        let plain = self.message.iter().find(|(_, value)| match value {
            MessageValue::Column(known) => known.name == column,
            _ => false,
        });
        plain.map_or_else(|| format!("{SOURCE}{column}"), |(field, _)| field.clone())
    }

    /// Whether a retry stores the recipients' results (`$outcome.recipients`) in the column that the composer reads as
    /// `results`. If not, the store needs another place for them: see [`STORED_RECIPIENTS`].
    pub fn keeps_recipient_results(&self) -> bool {
        self.keeps_recipient_results_on(Transition::Retry)
    }

    /// Whether this transition stores the recipients' results in the column that the composer reads as `results`.
    pub fn keeps_recipient_results_on(&self, transition: Transition) -> bool {
        let read = match self.message.get(RESULTS) {
            Some(MessageValue::Column(column)) => &column.name,
            _ => return false,
        };
        self.writes.iter().any(|write| {
            write.on.contains(&transition)
                && write.column.name == *read
                && matches!(&write.value, Expr::Outcome { field, .. } if field == "recipients")
        })
    }

    /// Whether a column of the row stores the recipients' results on this transition, by the contract or by the store.
    pub fn stores_recipients_on(&self, transition: Transition) -> bool {
        let remembered =
            |value: &Expr| matches!(value, Expr::Outcome { field, .. } if field == STORED_RECIPIENTS);
        self.keeps_recipient_results_on(transition)
            || self.writes.iter().any(|write| write.on.contains(&transition) && remembered(&write.value))
    }

    /// Whether the store must keep the recipients' results of this stage itself, because the table has no column for
    /// them.
    pub fn needs_recipient_store(&self, stage: &Stage) -> bool {
        stage.sends_mail() && !self.message.contains_key(RESULTS)
    }

    /// Returns the contract with `column` added for the recipients' results: for stores whose rows accept any column.
    #[must_use]
    pub fn storing_recipients(mut self, column: &str) -> Self {
        if !self.stages.iter().any(|stage| self.needs_recipient_store(stage)) {
            return self;
        }
        let column = Column { name: column.to_owned(), optional: false };
        self.message.insert(RESULTS.to_owned(), MessageValue::Column(column.clone()));
        let on = Transition::SETTLES.into_iter().filter(|settles| settles.may_record_recipients()).collect();
        let value = Expr::Outcome { field: STORED_RECIPIENTS.to_owned(), absent: Absent::Keep };
        self.writes.push(Write { on, column, value });
        self
    }
}

impl Stage {
    /// Whether this stage sends mails, which may have several recipients.
    pub fn sends_mail(&self) -> bool {
        matches!(self.composer.as_str(), "email" | "raw_eml")
    }
}
