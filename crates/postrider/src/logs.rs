//! Logging to stderr; `RUST_LOG` chooses the level, `--log-format` the format.

use std::io::{IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use postrider_seams::scrub::scrub;
use tracing_subscriber::EnvFilter;

use crate::cli::{Command, LogFormat};

static JSON: AtomicBool = AtomicBool::new(false);

/// Whether stderr is a stream of JSON objects.
pub fn are_json() -> bool {
    JSON.load(Relaxed)
}

/// Starts logging: `run` logs from level info, other commands from level warn.
pub fn start(format: LogFormat, command: &Command) {
    let default = if matches!(command, Command::Run(_)) { "info,sqlx=warn" } else { "warn,sqlx=error" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Scrubbing::default);
    JSON.store(format == LogFormat::Json, Relaxed);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).init(),
    }
}

/// Collects one event on its way to stderr and removes known secrets from it, whichever library logged it.
#[derive(Default)]
struct Scrubbing {
    written: Vec<u8>,
}

impl Write for Scrubbing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let text = String::from_utf8_lossy(&self.written).into_owned();
        self.written.clear();
        std::io::stderr().write_all(scrub(&text).as_bytes())
    }
}

impl Drop for Scrubbing {
    fn drop(&mut self) {
        // A closed stderr cannot be reported anywhere.
        let _ = self.flush();
    }
}
