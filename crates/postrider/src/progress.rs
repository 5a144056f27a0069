//! Progress of long work: one changing line on stderr, on a terminal only. With a pipe or `--json` nothing is printed
//! until the end.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::output::Output;

/// Time between two updates of the line; a chunk of work may take only a millisecond.
const EVERY: Duration = Duration::from_millis(100);

/// A counter that shows its progress on the terminal.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    /// The expected total, if it is known.
    expected: Option<u64>,
    done: u64,
    start: Instant,
    shown: Option<Instant>,
    visible: bool,
    output: Output,
}

impl Progress {
    /// Starts at 0; `what` names the work, and `expected` the total if it is known.
    pub fn new(what: &'static str, expected: Option<u64>, output: Output) -> Self {
        let (start, visible) = (Instant::now(), Self::is_visible(output));
        Self { what, expected, done: 0, start, shown: None, visible, output }
    }

    /// Whether progress is shown: stderr is a terminal, and the output is not JSON.
    pub fn is_visible(output: Output) -> bool {
        !output.is_json() && std::io::stderr().is_terminal()
    }

    /// Adds to the count, and redraws the line when it is due.
    pub fn add(&mut self, count: u64) {
        self.done += count;
        if self.visible && self.shown.is_none_or(|at| at.elapsed() >= EVERY) {
            self.shown = Some(Instant::now());
            draw(&line(self.what, self.done, self.expected, self.start.elapsed()));
        }
    }

    /// Replaces the line with the total and the time that the work took.
    pub fn finish(&self) {
        if self.visible {
            draw("");
        }
        self.output.note(counted(self.done, self.what));
    }

    /// The count so far.
    pub fn done(&self) -> u64 {
        self.done
    }
}

/// Formats a count of rows: `1 row requeued`, `2 rows requeued`.
pub fn counted(rows: u64, what: &str) -> String {
    match what.strip_prefix("rows") {
        Some(done) if rows == 1 => format!("1 row{done}"),
        _ => format!("{rows} {what}"),
    }
}

/// Waits for work that reports no progress, and shows how long it has been running.
pub async fn with_timer<T>(what: &str, output: Output, work: impl Future<Output = T>) -> T {
    if !Progress::is_visible(output) {
        return work.await;
    }
    let start = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => {
                draw("");
                return done;
            }
            _ = tick.tick() => draw(&format!("{what}: {}", short(start.elapsed()))),
        }
    }
}

/// Overwrites the line. Errors are ignored: they are no reason to stop the work.
fn draw(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "\r{text}\x1b[K");
    let _ = err.flush();
}

fn line(what: &str, done: u64, expected: Option<u64>, elapsed: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people: three digits are enough")]
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let counted = match expected {
        Some(expected) => format!("{done} of {expected} {what}, {rate:.0}/s"),
        None => format!("{done} {what}, {rate:.0}/s"),
    };
    match expected.and_then(|expected| expected.checked_sub(done)) {
        Some(left) if done > 0 => {
            #[expect(clippy::cast_precision_loss, reason = "the same")]
            let left = Duration::try_from_secs_f64(left as f64 / rate).unwrap_or(Duration::MAX);
            format!("{counted}, {} left", short(left))
        }
        _ => counted,
    }
}

/// Formats a duration with two units at most.
fn short(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_total_shows_the_time_left() {
        let after = Duration::from_secs(2);
        assert_eq!(counted(1, "rows requeued"), "1 row requeued");
        assert_eq!(counted(0, "rows requeued"), "0 rows requeued");
        assert_eq!(line("rows deleted", 3_000, None, after), "3000 rows deleted, 1500/s");
        assert_eq!(
            line("rows requeued", 3_000, Some(120_000), after),
            "3000 of 120000 rows requeued, 1500/s, 1 min 18 s left"
        );
        assert_eq!(
            line("rows requeued", 13, Some(12), after),
            "13 of 12 rows requeued, 6/s",
            "more came meanwhile"
        );
        assert_eq!(line("rows requeued", 0, Some(12), after), "0 of 12 rows requeued, 0/s");
    }
}
