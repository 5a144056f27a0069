//! External programs that check what we ship: installs missing ones and runs them.

use std::process::Command;

use crate::error::Result;
use crate::install::{self, Dependency};

/// An external program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Prometheus's checker of alert rules.
    Promtool,
    /// systemd's checker of units.
    SystemdAnalyze,
    /// SQLite's shell, as the documentation uses it.
    Sqlite3,
}

impl Tool {
    /// Returns a command that runs the program, after installing it if it is missing.
    pub fn command(self) -> Result<Command> {
        let (dependency, name) = match self {
            Self::Promtool => (Dependency::Promtool, "promtool"),
            Self::SystemdAnalyze => (Dependency::SystemdAnalyze, "systemd-analyze"),
            Self::Sqlite3 => (Dependency::Sqlite3, "sqlite3"),
        };
        install::ensure(&[dependency])?;
        Ok(Command::new(name))
    }
}
