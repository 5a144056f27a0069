//! Shows the rows of the demo: bars that are redrawn on a terminal, lines elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use super::application::RowCounts;

const WIDTH: u64 = 50;
const LINES: usize = 5;

/// The display of the demo on stdout.
pub struct Display {
    rows: u64,
    terminal: bool,
    drawn: bool,
}

impl Display {
    /// Creates a display for so many rows; nothing is printed yet.
    pub fn new(rows: u32) -> Self {
        Self { rows: u64::from(rows), terminal: std::io::stdout().is_terminal(), drawn: false }
    }

    /// Draws the current counts, over the previous drawing on a terminal.
    pub fn show(&mut self, elapsed: Duration, counts: &RowCounts, accepted: u64) {
        let text = if self.terminal {
            self.bars(elapsed, counts, accepted)
        } else {
            self.line(elapsed, counts, accepted)
        };
        print(&text);
        self.drawn = true;
    }

    /// Prints a line that stays, between the drawings.
    pub fn print_line(&mut self, text: &str) {
        print(&format!("{text}\n"));
        self.drawn = false;
    }

    fn bars(&self, elapsed: Duration, counts: &RowCounts, accepted: u64) -> String {
        let mut text = if self.drawn { format!("\x1b[{LINES}A") } else { String::new() };
        for (name, count, colour) in [
            ("queued", counts.queued, 33),
            ("dispatching", counts.claimed, 36),
            ("sent", counts.sent, 32),
            ("failed", counts.failed, 31),
        ] {
            let filled = (count * WIDTH).div_ceil(self.rows.max(1)).min(WIDTH);
            let bar = "█".repeat(usize::try_from(filled).unwrap_or(0));
            let _ = writeln!(text, "\x1b[2K  {name:<12}{count:>6}  \x1b[{colour}m{bar}\x1b[0m");
        }
        let _ = writeln!(
            text,
            "\x1b[2K  {:.1} s, {} rows retried, {accepted} mails at the server",
            elapsed.as_secs_f64(),
            counts.retried
        );
        text
    }

    fn line(&self, elapsed: Duration, counts: &RowCounts, accepted: u64) -> String {
        let heading = if self.drawn {
            String::new()
        } else {
            format!(
                "{:>7}  {:>7}  {:>11}  {:>6}  {:>6}  {:>11}  {:>9}\n",
                "TIME", "QUEUED", "DISPATCHING", "SENT", "FAILED", "RETRIED", "AT SERVER"
            )
        };
        format!(
            "{heading}{:>5.1} s  {:>7}  {:>11}  {:>6}  {:>6}  {:>11}  {accepted:>9}\n",
            elapsed.as_secs_f64(),
            counts.queued,
            counts.claimed,
            counts.sent,
            counts.failed,
            counts.retried
        )
    }
}

/// Prints the text. Errors are ignored: they are no reason to stop the demo.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
