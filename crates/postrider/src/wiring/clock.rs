//! Reads the clock of a store.

use std::sync::Arc;

use postrider_sql::driver::execute::Execute;
#[cfg(feature = "aws")]
use postrider_store_dynamodb as dynamodb;

/// A clock other than this machine's: that of a database server or a service.
pub enum StoreClock {
    Sql(Arc<dyn Execute>),
    #[cfg(feature = "aws")]
    DynamoDb(Box<dynamodb::Database>),
}

impl StoreClock {
    /// Returns how many microseconds the clock is ahead of this machine's; negative if it is behind.
    pub async fn offset(&self) -> Result<i64, String> {
        match self {
            Self::Sql(database) => {
                postrider_hub::clock_offset(&**database).await.map_err(|error| error.to_string())
            }
            #[cfg(feature = "aws")]
            Self::DynamoDb(database) => Box::pin(database.clock_offset()).await,
        }
    }
}
