//! Migrate: creates the table, or adds what an existing one lacks. It never drops, rewrites, or fails on duplicates.

use async_trait::async_trait;

use crate::store::Error;

/// What to prepare.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Also the notification trigger, one per statement (PostgreSQL only; opt-in).
    pub notify: bool,
    /// Also indexes for who looks for rows by their key, recipient or group (opt-in).
    pub search: bool,
}

#[async_trait]
pub trait Migrate: Send + Sync {
    /// The statements that are missing, in order; empty when nothing is. Reads only.
    async fn plan(&self, options: Options) -> Result<Vec<String>, Error>;

    /// Runs [`Migrate::plan`]'s statements; answers what it ran. Idempotent.
    async fn apply(&self, options: Options) -> Result<Vec<String>, Error>;
}
