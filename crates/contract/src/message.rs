//! What a composer reads, and what a transport's word is kept of.

use crate::{Column, Contract, Expr, MessageField, Stage, Transition, Write};

/// The composer's field with what became of each recipient so far.
pub const RESULTS: &str = "results";

/// The value of an outcome in which the engine hands the store what it must remember of a mail's recipients: a JSON list,
/// present only where they fared differently. A store writes it in the same transaction as the move, and gives it back
/// with the next claim as the field [`RESULTS`].
pub const REMEMBERED: &str = "remembered_recipients";

impl Contract {
    /// Every field that the composer reads, under its name, with its column: `to`, `headers.deal_id`, … in a fixed
    /// order, which is the order of `Fields` and of a claimed row's layout.
    pub fn message_columns(&self) -> Vec<(String, String)> {
        let mut columns = Vec::new();
        for (field, source) in &self.message {
            match source {
                MessageField::Column(column) => columns.push((field.clone(), column.name.clone())),
                MessageField::Columns(members) => {
                    let inner =
                        members.iter().map(|(name, column)| (format!("{field}.{name}"), column.name.clone()));
                    columns.extend(inner);
                }
            }
        }
        columns
    }

    /// Does a retry keep who has the message already (`$outcome.recipients`) in the column that the composer reads as
    /// `results`? Without that the store needs another place for it: see [`REMEMBERED`].
    pub fn keeps_recipient_results(&self) -> bool {
        let read = match self.message.get(RESULTS) {
            Some(MessageField::Column(column)) => &column.name,
            _ => return false,
        };
        self.writes.iter().any(|write| {
            write.on.contains(&Transition::Retry)
                && write.column.name == *read
                && matches!(&write.value, Expr::Outcome { field, .. } if field == "recipients")
        })
    }

    /// Does a column of the row keep who has the message already, whether the contract says so or the store?
    pub fn remembers_recipients(&self) -> bool {
        let remembered = |value: &Expr| matches!(value, Expr::Outcome { field, .. } if field == REMEMBERED);
        self.keeps_recipient_results() || self.writes.iter().any(|write| remembered(&write.value))
    }

    /// Must the store itself remember who has a mail of this stage, because the table has no column for it?
    pub fn needs_recipient_memory(&self, stage: &Stage) -> bool {
        stage.sends_mail() && !self.message.contains_key(RESULTS)
    }

    /// The contract with a column in which the store remembers who has a mail: for stores whose rows can take any column.
    #[must_use]
    pub fn remembering_recipients(mut self, column: &str) -> Self {
        if !self.stages.iter().any(|stage| self.needs_recipient_memory(stage)) {
            return self;
        }
        let column = Column { name: column.to_owned(), optional: false };
        self.message.insert(RESULTS.to_owned(), MessageField::Column(column.clone()));
        let tries = Transition::SETTLES.into_iter();
        let on = tries.filter(|settles| *settles == Transition::Delivered || settles.is_failure()).collect();
        let value = Expr::Outcome { field: REMEMBERED.to_owned(), optional: true };
        self.writes.push(Write { on, column, value });
        self
    }
}

impl Stage {
    /// Does this stage send mails, which may have several recipients?
    pub fn sends_mail(&self) -> bool {
        matches!(self.composer.as_str(), "email" | "raw_eml")
    }
}
