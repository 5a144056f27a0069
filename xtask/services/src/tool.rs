//! Programs that judge what we ship for others: installed where they are missing, then run.

use std::process::Command;

use crate::error::Result;
use crate::install::{self, Need};

/// One such program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Prometheus's own checker of alert rules.
    Promtool,
    /// systemd's own checker of units.
    SystemdAnalyze,
    /// SQLite's own shell, as the book uses it.
    Sqlite3,
}

impl Tool {
    /// A command that runs it, once it is there.
    pub fn command(self) -> Result<Command> {
        let (need, name) = match self {
            Self::Promtool => (Need::Promtool, "promtool"),
            Self::SystemdAnalyze => (Need::SystemdAnalyze, "systemd-analyze"),
            Self::Sqlite3 => (Need::Sqlite3, "sqlite3"),
        };
        install::ensure(&[need])?;
        Ok(Command::new(name))
    }
}
