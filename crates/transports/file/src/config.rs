//! Where the files go.

use std::path::PathBuf;

/// Settings of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Made with its parents, open to its owner only, where it is missing.
    pub folder: PathBuf,
    /// Wait until each file is on the disk. Without it a power cut may lose mails that were called delivered.
    pub sync: bool,
}

impl Config {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), sync: true }
    }
}
