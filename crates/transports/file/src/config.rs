//! Settings of the file transport.

use std::path::PathBuf;

/// Settings of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Target folder. If it is missing, it is created with its parents, accessible to its owner only.
    pub folder: PathBuf,
    /// Whether each file is flushed to disk. Without it a power failure may lose mails that were recorded as
    /// delivered.
    pub sync: bool,
}

impl Settings {
    /// Returns settings for this folder, with `sync`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), sync: true }
    }
}
