//! Logs go to stderr; `RUST_LOG` chooses what, `--log-format` how.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::cli::{Command, LogFormat};

/// `run` tells what it does; other commands speak for themselves and only warn.
pub fn start(format: LogFormat, command: &Command) {
    let default = if matches!(command, Command::Run(_)) { "info,sqlx=warn" } else { "warn,sqlx=error" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).init(),
    }
}
