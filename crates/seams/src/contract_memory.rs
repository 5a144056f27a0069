//! Contract memory: which contracts are known to turn rows into messages that are not refused.

use async_trait::async_trait;

use crate::store::Error;

/// Remembers about one contract, for all instances, whether most of its first rows were refused.
#[async_trait]
pub trait ContractMemory: Send + Sync {
    /// Whether the contract is known to be good. It stays so.
    async fn is_good(&self) -> Result<bool, Error>;

    /// Remembers that the contract is good. Idempotent.
    async fn remember_good(&self) -> Result<(), Error>;

    /// Remembers that a lane stopped because of this contract, until it is known to be good. Idempotent.
    async fn remember_stopped(&self) -> Result<(), Error>;
}
