//! Produce: inserts a new row, as an application would. For `send`, the API and tests; never on the hot path.

use async_trait::async_trait;

use crate::row::Detail;
use crate::store::Error;

/// The field that holds the key chosen by the caller, for tables whose keys are texts of any kind.
pub const KEY: &str = "postrider id";

/// Inserts rows into a contract's table.
#[async_trait]
pub trait Produce: Send + Sync {
    /// Inserts one row, ready for the stage, with these message fields; returns its key. If the table has a `dedupe`
    /// column that already contains the value, nothing is written and the key of the first row is returned.
    async fn produce(&self, fields: &Detail) -> Result<String, Error>;
}
