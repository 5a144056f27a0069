//! An application that writes its rows while workers and databases fail.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rand::Rng as _;

use super::parameters::CrashParameters;
use crate::support::sql::Sql;

const TIMEOUT: Duration = Duration::from_mins(3);

/// The rows to write.
pub struct Rows {
    /// The statement that inserts these rows.
    pub insert: Box<Insert>,
    /// Finds a row: a table and a condition.
    pub find: fn(u32) -> String,
}

pub type Insert = dyn Fn(&Sql, Range<u32>) -> String + Send + Sync;

/// Writes all rows in transactions of a few, in proportion to the kills so far, so that the next worker to be killed
/// always has work.
pub async fn write(sql: Sql, rows: Rows, parameters: CrashParameters, kills: Arc<AtomicU32>) {
    let mut rng = parameters.rng(1);
    let mut written = 0;
    while written < parameters.rows {
        let ahead = kills.load(Ordering::Relaxed) + 1;
        let allowed = (u64::from(parameters.rows) * u64::from(ahead) / u64::from(parameters.kills))
            .min(parameters.rows.into());
        let allowed = u32::try_from(allowed).expect("no more than all rows");
        if written >= allowed {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let until = (written + rng.random_range(1..=40)).min(allowed);
        commit(&sql, &rows, written, until).await;
        written = until;
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..30))).await;
    }
}

/// Commits one transaction. If its answer is lost with the database, reads from the table whether it was committed.
async fn commit(sql: &Sql, rows: &Rows, from: u32, until: u32) {
    let statement = (rows.insert)(sql, from..until);
    let end = Instant::now() + TIMEOUT;
    while let Err(error) = sql.execute(&statement).await {
        assert!(Instant::now() < end, "the application could not write for {} s: {error}", TIMEOUT.as_secs());
        tokio::time::sleep(Duration::from_millis(100)).await;
        if sql.count(&(rows.find)(from)).await == Some(1) {
            return;
        }
    }
}
