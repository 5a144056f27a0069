//! What a composer reads, and what a transport's word is kept of.

use crate::{Contract, Expr, MessageField, Transition};

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

    /// Does a retry keep who has the message already (`$outcome.recipients`)? Without that a partly accepted mail can't
    /// be tried again without sending it twice.
    pub fn keeps_recipient_results(&self) -> bool {
        self.writes.iter().any(|write| {
            write.on.contains(&Transition::Retry)
                && matches!(&write.value, Expr::Outcome { field, .. } if field == "recipients")
        })
    }
}
