//! Explains why a row waits.

use postrider_contract::{ColumnRole, Contract, Stage, StateId, When};
use postrider_engine::Health;
use postrider_hub::Moment;
use postrider_seams::inspect::{PoolStanding, RowPosition, RowView};
use postrider_seams::transport::{HoldReason, TargetHold};

use super::{cut, error_text};
use crate::overview::span;

/// Maximum characters of an error in a sentence.
const MAX_ERROR_CHARS: usize = 300;

/// The facts outside a row that decide why it waits.
pub struct WaitContext<'a> {
    pub contract: &'a Contract,
    pub stage: &'a Stage,
    pub health: &'a Health,
    pub standing: &'a RowPosition,
    /// The hold of its target on this instance.
    pub hold: Option<&'a TargetHold>,
}

/// The reason why a row waits.
#[derive(Debug, PartialEq, Eq)]
pub struct WaitReason {
    pub text: String,
    /// Key of the row that must be delivered first.
    pub behind: Option<String>,
    /// Earliest time of the next attempt.
    pub until: Option<Moment>,
}

impl WaitReason {
    fn of(text: impl AsRef<str>) -> Self {
        Self { text: sentence(text.as_ref()), behind: None, until: None }
    }

    /// Sets the time: this many microseconds after the row was read, by the database's clock.
    fn until(self, row: &RowView, micros: i64) -> Self {
        Self { until: Some(Moment::from_micros(row.read_at.saturating_add(micros))), ..self }
    }
}

/// Returns why a row waits, `None` if it does not.
pub fn waiting(row: &RowView, context: &WaitContext<'_>) -> Option<WaitReason> {
    let contract = context.contract;
    let Some(state) = row.state.as_deref().and_then(|state| contract.state_named(state)) else {
        let text = "its columns hold no state of the contract: no worker claims it until they are corrected";
        return Some(WaitReason::of(text));
    };
    if contract.is_claimed(state) {
        return Some(claimed(row, context));
    }
    if contract.is_ready(state) {
        return Some(ready(row, context));
    }
    (!contract.is_final(state)).then(|| match due(row).or_else(|| swept_in(row, contract, state)) {
        Some(micros) => WaitReason::of(due_text(micros)).until(row, micros),
        None => WaitReason::of(sweep_text(context, state)),
    })
}

/// Returns the microseconds until a sweep moves the row on, if the row has that time.
fn swept_in(row: &RowView, contract: &Contract, state: StateId) -> Option<i64> {
    let lets_in =
        contract.sweeps.iter().filter(|sweep| sweep.from.contains(&state) && contract.is_ready(sweep.to));
    let mut times = lets_in.filter_map(|sweep| match &sweep.when {
        When::At { column } => Moment::from_database(row.column(column)?),
        When::Always | When::OlderThan { .. } | When::Before { .. } => None,
    });
    let left = Moment::from_micros(row.read_at).micros_until(times.next()?);
    i64::try_from(left).ok().filter(|micros| *micros > 0)
}

/// Explains a row whose time has come: a sweep moves it on, unless something prevents that.
fn sweep_text(context: &WaitContext<'_>, state: StateId) -> String {
    let contract = context.contract;
    let next =
        contract.sweeps.iter().find(|sweep| sweep.from.contains(&state) && contract.is_ready(sweep.to));
    match (context.health, next) {
        (Health::Running, Some(sweep)) => {
            format!("due now: the next sweep moves it to {}", contract.state(sweep.to).name)
        }
        (Health::Running, None) => "waits for its next step".to_owned(),
        _ => health_text(context),
    }
}

fn ready(row: &RowView, context: &WaitContext<'_>) -> WaitReason {
    if let Some(head) = &context.standing.behind {
        let group =
            context.contract.group.as_ref().and_then(|group| row.column(&group.by)).unwrap_or("its group");
        let words = WaitReason::of(format!("waits behind {head} in {group}"));
        return WaitReason { behind: Some(head.clone()), ..words };
    }
    let left = context.hold.map(|hold| i64::try_from(hold.left.as_micros()).unwrap_or(i64::MAX));
    match (due(row), context.hold.zip(left)) {
        (Some(micros), Some((hold, left))) => {
            let words = format!("{}; {}", due_text(micros), hold_text(hold));
            return WaitReason::of(words).until(row, micros.max(left));
        }
        (None, Some((hold, left))) => return WaitReason::of(hold_text(hold)).until(row, left),
        (Some(micros), None) => return later(row, context, micros),
        (None, None) => {}
    }
    let pool = context.standing.pool.as_ref().and_then(pool_text);
    pool.map_or_else(|| WaitReason::of(health_text(context)), WaitReason::of)
}

/// Explains a row that is due later, with the error of the last attempt.
fn later(row: &RowView, context: &WaitContext<'_>, micros: i64) -> WaitReason {
    let due = due_text(micros);
    let why = context.contract.column(ColumnRole::Error).and_then(|column| error_text(row.column(column)?));
    // The lane retries every few seconds; that time means nothing to a reader.
    if let Some(why) = why.as_deref().filter(|why| is_paused_subscription(why)) {
        return WaitReason::of(format!("{why}. Nothing is sent until you resume it."));
    }
    let text = why.map_or_else(|| due.clone(), |why| format!("{due}: {}", cut(&why, MAX_ERROR_CHARS).0));
    WaitReason::of(text).until(row, micros)
}

/// Whether this is the reason that the webhook composer writes for a paused subscription.
fn is_paused_subscription(why: &str) -> bool {
    why.starts_with("subscription ") && why.ends_with(" is paused")
}

/// Returns the text with an upper-case first letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn hold_text(hold: &TargetHold) -> String {
    let left = span(hold.left.as_secs_f64());
    match hold.why {
        HoldReason::Breaker => {
            format!(
                "circuit breaker open for {} after repeated failures; nothing is sent for another {left}",
                hold.target
            )
        }
        HoldReason::RetryAfter => {
            format!("{} asked for a pause (Retry-After); nothing is sent for another {left}", hold.target)
        }
    }
}

/// Returns why the pool holds a row back, `None` if it does not.
fn pool_text(pool: &PoolStanding) -> Option<String> {
    let name = &pool.name;
    if pool.paused {
        return Some(format!("its pool {name} is paused"));
    }
    let full = pool.concurrency.filter(|most| pool.in_flight >= *most);
    if let Some(most) = full {
        return Some(format!("its pool {name} is full: {} of {most} in flight", pool.in_flight));
    }
    let rate = pool.rate?;
    Some(format!("due now: waits for the rate limit of pool {name}, {rate} rows per minute"))
}

fn health_text(context: &WaitContext<'_>) -> String {
    match context.health {
        Health::Paused => "the lane is paused".to_owned(),
        Health::Unreachable { reason } => format!("the target cannot be reached: {reason}"),
        Health::Misconfigured { reason } => format!("the lane is stopped: {reason}"),
        Health::Stalled { reason } => format!("the lane is stalled: {reason}"),
        Health::QueueUnavailable { reason } => format!("the queue is not available: {reason}"),
        Health::StoreUnavailable { reason } => format!("the database is not available: {reason}"),
        Health::Starting | Health::Draining | Health::Stopped => {
            "the lane is not running on this instance".to_owned()
        }
        Health::Running => "due now: it will be claimed soon".to_owned(),
    }
}

/// Returns the microseconds until the row is due, `None` if it is.
fn due(row: &RowView) -> Option<i64> {
    row.due_in.filter(|micros| *micros > 0)
}

fn due_text(micros: i64) -> String {
    format!("due in {}", span(seconds(micros)))
}

fn claimed(row: &RowView, context: &WaitContext<'_>) -> WaitReason {
    let owner = context.contract.column(ColumnRole::Owner).and_then(|column| row.column(column));
    let by = owner.map(|owner| format!(" by {owner}")).unwrap_or_default();
    let lease = i64::try_from(context.stage.lease.duration.as_micros()).unwrap_or(i64::MAX);
    let until = row.times.get(&ColumnRole::LeaseUntil).copied();
    let until = until.or_else(|| row.times.get(&ColumnRole::ClaimedAt).map(|at| at.saturating_add(lease)));
    match until.map(|until| until - row.read_at) {
        Some(left) if left > 0 => {
            let text = format!("in flight, claimed{by}: its lease ends in {}", span(seconds(left)));
            WaitReason::of(text).until(row, left)
        }
        Some(_) => {
            WaitReason::of(format!("claimed{by}; its lease has expired, and the next sweep reclaims it"))
        }
        None => WaitReason::of(format!("in flight, claimed{by}")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a span for people")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}
