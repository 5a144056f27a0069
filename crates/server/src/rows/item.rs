//! A row in a list.

use postrider_contract::{ColumnRole, Contract};
use postrider_hub::Moment;
use postrider_seams::inspect::{RowView, SearchBy};
use serde::Serialize;
use utoipa::ToSchema;

use super::{cut, error_text};

/// Maximum characters of a cell.
const CELL: usize = 300;

/// A row in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RowItem {
    /// Key of the row.
    pub id: String,
    /// State of the row. Null: its columns hold no state of the contract.
    pub state: Option<String>,
    /// Attempts made so far.
    pub attempts: Option<i64>,
    /// Where the row is sent: recipients, a URL, a topic.
    pub target: Option<String>,
    /// Group within which rows are delivered in order.
    pub group: Option<String>,
    /// Seconds until the row is due; negative if it is overdue. Absent if it does not wait.
    pub due_in_seconds: Option<f64>,
    /// When the row was written.
    pub created_at: Option<Moment>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// Converts a row to an item of a list.
pub fn item(contract: &Contract, row: &RowView) -> RowItem {
    let cell =
        |column: Option<&str>| column.and_then(|column| row.column(column)).map(|text| cut(text, CELL).0);
    let topic = || {
        contract.message_columns().into_iter().find(|(field, _)| field == "topic").map(|(_, column)| column)
    };
    let target = SearchBy::Recipient.column(contract).or_else(topic);
    let state = row.state.as_deref().and_then(|state| contract.state_named(state));
    let waits = state.is_some_and(|state| {
        contract.is_ready(state) || !(contract.is_final(state) || contract.is_claimed(state))
    });
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let due_in_seconds = row.due_in.filter(|_| waits).map(|micros| (micros / 1000) as f64 / 1000.0);
    RowItem {
        id: row.id.clone(),
        state: row.state.clone(),
        attempts: contract.column(ColumnRole::Attempts).and_then(|column| row.column(column)?.parse().ok()),
        target: cell(target.as_deref()),
        group: cell(contract.group.as_ref().map(|group| group.by.as_str())),
        due_in_seconds,
        created_at: row.times.get(&ColumnRole::Created).copied().map(Moment::from_micros),
        error: contract
            .column(ColumnRole::Error)
            .and_then(|column| error_text(row.column(column)?))
            .map(|text| cut(&text, CELL).0),
    }
}
