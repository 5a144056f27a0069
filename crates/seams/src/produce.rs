//! Produce: writes a fresh row, as an application would. For `send`, the API and tests; never on the hot path.

use async_trait::async_trait;

use crate::row::Detail;
use crate::store::Error;

/// Among the fields: the key that the caller gives the row, where the table's keys are texts of any kind.
pub const KEY: &str = "postrider id";

#[async_trait]
pub trait Produce: Send + Sync {
    /// Inserts one row, ready for the stage, with these message fields; answers its key. Where the table keeps a
    /// `dedupe` field and has its value already, nothing is written and the key is the first row's.
    async fn produce(&self, fields: &Detail) -> Result<String, Error>;
}
