//! `status --watch`: prints the status repeatedly, with the changes since the last update.

use std::collections::HashMap;
use std::io::{IsTerminal as _, Write};
use std::time::{Duration, Instant};

use super::{LaneStatuses, format_count, notes, query_all, write_json};
use crate::commands::CommandContext;
use crate::failure::Failure;
use crate::text_table::TextTable;

/// Switches to the alternate screen without cursor and line wrap; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Moves the cursor to the top left; the page is overwritten rather than cleared, so that nothing flickers.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const REST_OF_SCREEN: &str = "\x1b[J";

/// Updates until Ctrl-C. An unavailable database is shown and retried.
pub async fn run(context: &CommandContext, json: bool, every: Duration) -> Result<(), Failure> {
    let screen = Screen::enter(!json && std::io::stdout().is_terminal())?;
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut previous = PreviousPage::default();
    loop {
        let lanes = query_all(context).await;
        let mut text = Vec::new();
        if json {
            write_json(&mut text, &lanes)?;
        } else {
            page(&mut text, every, previous.table(&lanes), screen.as_ref().and_then(|_| height()))?;
        }
        if screen.is_some() {
            redraw(&text)?;
        } else {
            std::io::stdout().lock().write_all(&text)?;
        }
        let ended = tokio::select! {
            () = tokio::time::sleep(every) => continue,
            ended = tokio::signal::ctrl_c() => ended,
            _ = terminated.recv() => Ok(()),
        };
        if let Some(screen) = screen {
            // Leave the last page on the normal screen.
            drop(screen);
            std::io::stdout().lock().write_all(&text)?;
        }
        return Ok(ended?);
    }
}

/// Writes one page. If the window is too low, empty states are omitted, and then the page is cut to its height.
fn page(text: &mut Vec<u8>, every: Duration, table: TextTable, height: Option<usize>) -> std::io::Result<()> {
    let head = format!("every {} s, Ctrl-C to stop", every.as_secs());
    // Two header lines, and one for the cursor.
    let room = height.map_or(usize::MAX, |height| height.saturating_sub(3).max(2));
    if table.lines() <= room {
        writeln!(text, "{head}\n")?;
        return table.write(text);
    }
    let table = table.only(has_content);
    writeln!(text, "{head}; states without rows are left out\n")?;
    let mut whole = Vec::new();
    table.write(&mut whole)?;
    let cut = table.lines().saturating_sub(room);
    let shown = if cut == 0 { usize::MAX } else { room - 1 };
    let lines = whole.split_inclusive(|byte| *byte == b'\n').take(shown);
    lines.for_each(|line| text.extend_from_slice(line));
    if cut > 0 {
        writeln!(text, "… {} more lines: enlarge the window to see them", cut + 1)?;
    }
    Ok(())
}

/// Whether a state has rows, a change or a note about its lane.
fn has_content(cells: &[String]) -> bool {
    !matches!(cells, [_, _, rows, change, note] if rows == "0" && change.is_empty() && note.is_empty())
}

/// The alternate screen, left on drop.
struct Screen;

impl Screen {
    fn enter(wanted: bool) -> std::io::Result<Option<Self>> {
        if !wanted {
            return Ok(None);
        }
        let mut out = std::io::stdout().lock();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(Some(Self))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = std::io::stdout().lock();
        // Errors are ignored: a closed terminal needs no reset.
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
    }
}

/// The height of the window, read for every page because windows are resized.
fn height() -> Option<usize> {
    terminal_size::terminal_size().map(|(_, height)| usize::from(height.0))
}

fn redraw(text: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(HOME.as_bytes())?;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        out.write_all(line)?;
        writeln!(out, "{REST_OF_LINE}")?;
    }
    out.write_all(REST_OF_SCREEN.as_bytes())?;
    out.flush()
}

/// The figures of the previous page.
#[derive(Default)]
struct PreviousPage {
    rows: HashMap<(String, String), u64>,
    at: Option<Instant>,
}

impl PreviousPage {
    fn table(&mut self, lanes: &LaneStatuses<'_>) -> TextTable {
        let mut table = TextTable::new(&["lane", "state", ">rows", ">per second", "note"]);
        let now = Instant::now();
        let seconds = self.at.replace(now).map(|at| now.duration_since(at).as_secs_f64());
        for (lane, status) in lanes {
            let status = match status {
                Ok(status) => status,
                Err(error) => {
                    table.row(vec![
                        lane.name.clone(),
                        "?".into(),
                        String::new(),
                        String::new(),
                        error.to_string(),
                    ]);
                    continue;
                }
            };
            let mut notes = notes(status);
            for count in &status.counts {
                let key = (lane.name.clone(), count.state.clone());
                // A count that was cut off gives no rate.
                let then =
                    if count.more { self.rows.remove(&key) } else { self.rows.insert(key, count.rows) };
                let change = then.zip(seconds).filter(|_| !count.more);
                let change =
                    change.map_or_else(String::new, |(then, seconds)| rate(then, count.rows, seconds));
                let cells = [
                    lane.name.clone(),
                    count.state.clone(),
                    format_count(count),
                    change,
                    std::mem::take(&mut notes),
                ];
                table.row(cells.into());
            }
        }
        table
    }
}

/// Formats the rate of change; empty if nothing changed.
fn rate(then: u64, now: u64, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts end at some ten thousands")]
    let change = (now as f64 - then as f64) / seconds.max(0.001);
    if now == then { String::new() } else { format!("{change:+.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(height: Option<usize>) -> Vec<String> {
        let mut table = TextTable::new(&["lane", "state", ">rows", ">per second", "note"]);
        for (state, rows, note) in
            [("queued", "0", "paused"), ("held", "0", ""), ("sent", "7", ""), ("dead", "1", "")]
        {
            table.row(["mail", state, rows, "", note].map(str::to_owned).into());
        }
        let mut text = Vec::new();
        page(&mut text, Duration::from_secs(2), table, height).expect("writing to a Vec cannot fail");
        String::from_utf8(text).expect("it is text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_low_window_shows_what_matters_and_is_never_overrun() {
        assert_eq!(shown(None).len(), 7, "all of it");
        assert_eq!(shown(Some(8)).len(), 7, "it fits");
        let brief = shown(Some(7));
        assert_eq!(brief.len(), 6);
        assert!(
            brief[0].contains("left out") && !brief.iter().any(|line| line.contains("held")),
            "{brief:?}"
        );
        assert!(brief.iter().any(|line| line.contains("paused")), "{brief:?}");
        let cut = shown(Some(6));
        assert_eq!(cut.len(), 5);
        assert_eq!(cut[4], "… 2 more lines: enlarge the window to see them");
        assert!(shown(Some(1)).len() <= 4);
    }

    #[test]
    fn an_unchanged_count_has_no_rate() {
        assert_eq!(rate(10, 30, 2.0), "+10.0");
        assert_eq!(rate(30, 29, 2.0), "-0.5");
        assert_eq!(rate(30, 30, 2.0), "");
    }
}
