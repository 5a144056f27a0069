//! Messages about what needs attention: first what is blocked, then what failed, then what an operator requested.

use postrider_engine::{Health, LaneStatus};
use postrider_hub::Moment;
use serde::Serialize;
use utoipa::ToSchema;

use super::counts::{Counts, Failed};

/// Seconds after which a due row is reported as late.
const LATE_SECONDS: f64 = 300.0;

/// A message about a lane that needs attention.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Attention {
    /// Name of the lane.
    pub lane: String,
    /// `bad`: rows are not delivered, or deliveries failed permanently. `warn`: worth knowing.
    pub level: &'static str,
    /// The message. Times in it are UTC.
    pub text: String,
    /// Start of the condition, if the message names it. Null: unknown.
    pub since: Option<Moment>,
    /// What stands still comes before what failed.
    #[serde(skip)]
    pub rank: u8,
}

/// Returns the messages about a lane.
pub fn of(lane: &LaneStatus, counts: &Counts) -> Vec<Attention> {
    let mut found = Vec::new();
    let mut note = |rank, level, text: String, since| {
        found.push(Attention { lane: lane.lane.clone(), level, text, since, rank });
    };
    let mut add = |level, text: String| note(u8::from(level != "bad") * 2, level, text, None);
    match &lane.health {
        Health::StoreUnavailable { reason } => add("bad", format!("the database is not available: {reason}")),
        Health::Unreachable { reason } => {
            add("bad", format!("the target cannot be reached; rows wait and use no attempt: {reason}"));
        }
        Health::QueueUnavailable { reason } => {
            add("bad", format!("the queue is not available; its jobs wait: {reason}"));
        }
        Health::Misconfigured { reason } => add("bad", format!("an operator must act: {reason}")),
        Health::Stalled { reason } => add("bad", format!("stalled: {reason}")),
        Health::Stopped => add("bad", "stopped".to_owned()),
        Health::Paused => add("warn", "paused by an operator; its rows wait".to_owned()),
        Health::Draining => add("warn", "draining: no new rows are claimed".to_owned()),
        Health::Starting | Health::Running => {}
    }
    if let (Some(reason), false) = (&counts.away, matches!(lane.health, Health::StoreUnavailable { .. })) {
        add("bad", format!("the database did not answer: {reason}"));
    }
    for failed in &counts.failed {
        note(1, "bad", failed_text(failed), failed.since);
    }
    let late = counts.lag.oldest_due_seconds.filter(|late| *late > LATE_SECONDS);
    if let (Some(late), Health::Running) = (late, &lane.health) {
        note(2, "warn", format!("the oldest due row has waited for {}", span(late)), None);
    }
    found
}

fn failed_text(failed: &Failed) -> String {
    let (over, noun) =
        (if failed.count.more { "over " } else { "" }, if failed.count.rows == 1 { "row" } else { "rows" });
    let rows = grouped(failed.count.rows);
    let last = failed.last_error.as_ref().map(|error| format!(", last error: {error}")).unwrap_or_default();
    let since = failed.since.map(|since| format!(" since {}", clock(since))).unwrap_or_default();
    format!("{over}{rows} {noun} {}{since}{last}", failed.count.state)
}

/// Formats a number with separators: `10,000`.
fn grouped(rows: u64) -> String {
    if rows < 1000 { rows.to_string() } else { format!("{},{:03}", grouped(rows / 1000), rows % 1000) }
}

/// Formats a UTC time: `14:05` for today, `2026-01-31 14:05` for another day.
fn clock(at: Moment) -> String {
    let (at, now) = (at.to_string(), Moment::now().to_string());
    let minute = at.get(11..16).unwrap_or_default();
    match (at.get(..10), now.get(..10)) {
        (day, today) if day == today => minute.to_owned(),
        (day, _) => format!("{} {minute}", day.unwrap_or_default()),
    }
}

/// Formats seconds as a readable duration.
pub fn span(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a span for people, not negative"
    )]
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..120 => format!("{whole} s"),
        120..7_200 => format!("{} min", whole / 60),
        7_200..172_800 => format!("{} h", whole / 3_600),
        _ => format!("{} days", whole / 86_400),
    }
}
