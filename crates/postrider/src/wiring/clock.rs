//! The clock of a store.

use std::sync::Arc;

use postrider_sql::plain::Plain;
use postrider_store_dynamodb as dynamodb;

/// A clock that is not this machine's: a database server's, or a service's.
pub enum StoreClock {
    Sql(Arc<dyn Plain>),
    DynamoDb(Box<dynamodb::Database>),
}

impl StoreClock {
    /// Microseconds that it is ahead of this machine's.
    pub async fn offset(&self) -> Result<i64, String> {
        match self {
            Self::Sql(database) => {
                postrider_hub::clock_offset(&**database).await.map_err(|error| error.to_string())
            }
            Self::DynamoDb(database) => Box::pin(database.clock_offset()).await,
        }
    }
}
