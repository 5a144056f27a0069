//! The errors of servers, each with the end of the server's log.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of an operation on a server.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a server could not be installed, started or used.
#[derive(Debug)]
pub enum Error {
    /// A package could not be installed.
    Install { packages: String, output: String },
    /// A folder or file of a server could not be created or read.
    File { path: PathBuf, source: std::io::Error },
    /// A command could not be run at all.
    Command { command: String, source: std::io::Error },
    /// A command ran and failed.
    Failed { command: String, output: String },
    /// A server ended, or did not answer in time.
    NotReady { server: &'static str, why: String, log: PathBuf, tail: String },
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    pub(crate) fn command(command: &str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Command { command: command.to_owned(), source }
    }

    pub(crate) fn not_ready(server: &'static str, why: impl Into<String>, log: &Path) -> Self {
        let tail = match std::fs::read(log) {
            Ok(bytes) => last_lines(&String::from_utf8_lossy(&bytes)),
            Err(source) => format!("(the log can't be read: {source})"),
        };
        Self::NotReady { server, why: why.into(), log: log.to_owned(), tail }
    }
}

/// The end of a command's or server's output, where the reason usually is.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Install { packages, output } => write!(
                out,
                "could not install {packages}; install it by hand (`apt-get install {packages}`) and try again\n{output}"
            ),
            Self::File { path, source } => write!(out, "{}: {source}", path.display()),
            Self::Command { command, source } => write!(out, "could not run {command}: {source}"),
            Self::Failed { command, output } => write!(out, "{command} failed\n{output}"),
            Self::NotReady { server, why, log, tail } => {
                write!(out, "{server} is not ready: {why}; the end of {}:\n{tail}", log.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Command { source, .. } => Some(source),
            _ => None,
        }
    }
}
