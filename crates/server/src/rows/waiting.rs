//! Why a row waits, in words.

use postrider_contract::{Contract, Role, Stage};
use postrider_engine::Health;
use postrider_seams::inspect::{RowView, Standing};

use super::cut;
use crate::overview::span;

/// Of an error, in a sentence.
const WORDS: usize = 300;

/// What stands around a row.
pub struct Surroundings<'a> {
    pub contract: &'a Contract,
    pub stage: &'a Stage,
    pub health: &'a Health,
    pub standing: &'a Standing,
}

/// `None` for a row that waits for nothing any more.
pub fn waiting(row: &RowView, around: &Surroundings<'_>) -> Option<String> {
    let contract = around.contract;
    let state = contract.state_named(row.state.as_deref()?)?;
    if contract.is_claimed(state) {
        return Some(claimed(row, around));
    }
    if contract.is_ready(state) {
        return Some(ready(row, around));
    }
    (!contract.is_final(state)).then(|| due(row).unwrap_or_else(|| "waits for its next move".to_owned()))
}

fn ready(row: &RowView, around: &Surroundings<'_>) -> String {
    if let Some(head) = &around.standing.behind {
        let group =
            around.contract.group.as_ref().and_then(|group| row.column(&group.by)).unwrap_or("its group");
        return format!("held behind {head} in {group}");
    }
    if let Some(due) = due(row) {
        let why =
            around.contract.column(Role::Error).and_then(|column| row.column(column)).unwrap_or_default();
        return if why.is_empty() { due } else { format!("{due}: {}", cut(why, WORDS).0) };
    }
    if let Some(pool) = &around.standing.pool {
        if pool.paused {
            return format!("its pool {} is paused", pool.name);
        }
        if let Some(most) = pool.concurrency.filter(|most| pool.in_flight >= *most) {
            return format!("its pool {} is full: {} of {most} in flight", pool.name, pool.in_flight);
        }
    }
    match around.health {
        Health::Paused => "the lane is paused".to_owned(),
        Health::Unreachable { reason } => format!("the target can't be reached: {reason}"),
        Health::Misconfigured { reason } => format!("the lane stands still: {reason}"),
        Health::Stalled { reason } => format!("the lane is stalled: {reason}"),
        Health::QueueAway { reason } => format!("the queue that hands rows over is away: {reason}"),
        Health::StoreAway { reason } => format!("the database is away: {reason}"),
        Health::Starting | Health::Draining | Health::Stopped => "the lane does not run here".to_owned(),
        Health::Running => "due now: it goes with one of the next claims".to_owned(),
    }
}

fn due(row: &RowView) -> Option<String> {
    row.due_in.filter(|micros| *micros > 0).map(|micros| format!("due in {}", span(seconds(micros))))
}

fn claimed(row: &RowView, around: &Surroundings<'_>) -> String {
    let owner = around.contract.column(Role::Owner).and_then(|column| row.column(column));
    let by = owner.map(|owner| format!(" by {owner}")).unwrap_or_default();
    let lease = i64::try_from(around.stage.lease.duration.as_micros()).unwrap_or(i64::MAX);
    let until = row.times.get(&Role::LeaseUntil).copied();
    let until = until.or_else(|| row.times.get(&Role::ClaimedAt).map(|at| at.saturating_add(lease)));
    match until.map(|until| until - row.read_at) {
        Some(left) if left > 0 => {
            format!("in flight, claimed{by}: its lease ends in {}", span(seconds(left)))
        }
        Some(_) => format!("claimed{by}, its lease has run out: it is taken back with the next sweep"),
        None => format!("in flight, claimed{by}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a span for people")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}
