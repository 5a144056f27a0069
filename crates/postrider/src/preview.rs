//! Composes rows as their lane would now, for display: in the console and by `preview`. It claims nothing and sends nothing.

use std::time::Duration;

use postrider_contract::{ColumnRole, Counters};
use postrider_seams::inspect::RowView;
use postrider_seams::row::{ClaimedRow, Fields, Lease, RowId};
use postrider_seams::store::Error;
use postrider_seams::{Composer, Envelope, Outcome, Value};

use crate::settings::LaneSettings;
use crate::wiring::{LaneTable, Wiring};

/// Time limit of a preview; a composer may have to wait for a secret.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Composes the row as its lane would; `None` if there is no such row.
pub async fn compose(
    wiring: &Wiring,
    lane: &LaneSettings,
    table: &dyn LaneTable,
    id: &str,
) -> Result<Option<Result<Envelope, String>>, Error> {
    let Some(row) = table.show(id).await? else { return Ok(None) };
    let composer = match wiring.composer(lane) {
        Ok(composer) => composer,
        Err(failure) => return Ok(Some(Err(failure.to_string()))),
    };
    compose_row(lane, table, &*composer, &row).await
}

/// Composes a row that was read; `None` if it is gone.
pub async fn compose_row(
    lane: &LaneSettings,
    table: &dyn LaneTable,
    composer: &dyn Composer,
    row: &RowView,
) -> Result<Option<Result<Envelope, String>>, Error> {
    let size: u64 = row.columns.iter().filter_map(|(_, value)| Some(value.as_ref()?.len() as u64)).sum();
    if size > composer.size_limit() {
        return Ok(Some(Err(format!("the row has {size} bytes, more than the limit"))));
    }
    let Some((lease, fields)) = load_row(table, &row.id).await? else { return Ok(None) };
    let fields = without_history(&fields);
    let claimed = as_claimed(lane, row, lease, fields, size);
    let composed = tokio::time::timeout(TIMEOUT, composer.compose(std::slice::from_ref(&claimed))).await;
    let composed = composed.ok().and_then(|composed| composed.into_iter().next());
    Ok(Some(match composed {
        Some(Ok(envelope)) => Ok(envelope),
        Some(Err(outcome)) => Err(describe(&outcome)),
        None => Err(format!("not composed within {} s", TIMEOUT.as_secs())),
    }))
}

/// Loads the row by its key, which may be a number or a text that looks like one.
async fn load_row(table: &dyn LaneTable, id: &str) -> Result<Option<(Lease, Fields)>, Error> {
    let number = id.parse().ok().map(RowId::Int);
    for id in number.into_iter().chain([RowId::Text(id.into())]) {
        let lease = Lease { id, fence: Box::default() };
        if let Some(Some(fields)) = table.load(std::slice::from_ref(&lease)).await?.into_iter().next() {
            return Ok(Some((lease, fields)));
        }
    }
    Ok(None)
}

/// Removes the traces of earlier deliveries, so that a mail that was sent is composed again for display.
fn without_history(fields: &Fields) -> Fields {
    let is_history = |name: &str| name == "results" || name.starts_with("history.");
    let left = fields.iter().filter(|(name, _)| !is_history(name));
    let (names, values): (Vec<String>, Vec<Value>) =
        left.map(|(name, value)| (name.to_owned(), value.clone())).unzip();
    Fields::new(names.into(), values)
}

fn as_claimed(lane: &LaneSettings, row: &RowView, lease: Lease, fields: Fields, size: u64) -> ClaimedRow {
    let number =
        |role: ColumnRole| lane.contract.column(role).and_then(|column| row.column(column)?.parse().ok());
    let counters = Counters {
        attempts: number(ColumnRole::Attempts).unwrap_or(0),
        max_attempts: number(ColumnRole::MaxAttempts),
        schedule: None,
    };
    ClaimedRow {
        lease,
        counters,
        from: row.state.as_deref().and_then(|state| lane.contract.state_named(state)),
        group: None,
        pool: None,
        share: None,
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size,
        fields: Some(fields),
    }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Rejected(failure) => format!("rejected: {}", failure.reason),
        Outcome::Skipped(failure) => format!("skipped: {}", failure.reason),
        Outcome::Deferred(failure) => format!("deferred: {}", failure.reason),
        Outcome::Retryable(failure) | Outcome::Refused(failure) | Outcome::Uncertain(failure) => {
            failure.reason.clone()
        }
        Outcome::Delivered(_) => "already delivered".to_owned(),
    }
}
