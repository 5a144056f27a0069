//! Migrate: creates a table, or adds what an existing one lacks. It never drops, rewrites, or fails on duplicates.

use async_trait::async_trait;

use crate::store::Error;

/// The optional parts to create.
#[derive(Debug, Clone, Copy, Default)]
pub struct MigrateOptions {
    /// Whether to create the notification trigger, one per statement (PostgreSQL only; default false, while
    /// `postrider migrate` creates it unless it has `--no-notify`).
    pub notify: bool,
    /// Whether to create indexes for searches by key, recipient or group (default false).
    pub search: bool,
}

/// Creates and extends the table of a contract.
#[async_trait]
pub trait Migrate: Send + Sync {
    /// Returns the missing statements, in order; empty if nothing is missing. Reads only.
    async fn plan(&self, options: MigrateOptions) -> Result<Vec<String>, Error>;

    /// Runs the statements of [`Migrate::plan`]; returns those it ran. Idempotent.
    async fn apply(&self, options: MigrateOptions) -> Result<Vec<String>, Error>;
}
