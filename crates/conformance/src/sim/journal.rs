//! The journal of a run, as the database and the target saw it, and the checks that it must pass in the end.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use postrider_contract::Transition;

/// One event of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The store made a transition, with the resulting state if it matters.
    Moved {
        row: String,
        transition: Transition,
        died: bool,
    },
    /// The fence rejected a settlement.
    SettlementLost {
        row: String,
    },
    /// The target accepted the message.
    Accepted {
        row: String,
    },
    /// The lease expired and the row was reclaimed.
    LeaseExpired {
        row: String,
    },
    /// The target did not answer whether it accepted the message.
    Unanswered {
        row: String,
    },
    /// The target rejected the message finally.
    FinallyRejected {
        row: String,
    },
    Crashed {
        worker: usize,
    },
    /// The store broke a guarantee.
    GuaranteeBroken {
        row: String,
        what: String,
    },
}

/// Events in the order in which they happened.
#[derive(Default)]
pub struct SimJournal(Mutex<Vec<Event>>);

/// The specification's rules for counting, for the check.
pub(crate) struct CountingRules {
    pub counts: Box<dyn Fn(Transition) -> bool + Send + Sync>,
    pub recovery_counts: bool,
    /// Whether an expired lease that ends the row counts too.
    pub last_recovery_counts: bool,
    pub max: u32,
}

/// The final state of one row.
pub(crate) struct FinalRow {
    pub row: String,
    pub state: String,
    pub finished: bool,
    pub delivered: bool,
    /// The attempt counter; `None` if it was reset when the row left the stage.
    pub attempts: Option<i64>,
}

#[derive(Default)]
struct RowCounts {
    counted: i64,
    taken: usize,
    cuts: usize,
    held_delivered: usize,
}

impl SimJournal {
    /// Appends an event.
    pub fn record(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Returns a copy of all events so far.
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Checks every guarantee; returns the number of duplicates if all hold.
pub(crate) fn check(
    events: &[Event],
    final_rows: &[FinalRow],
    rules: &CountingRules,
) -> Result<usize, String> {
    let mut seen: BTreeMap<&str, RowCounts> = BTreeMap::new();
    for event in events {
        match event {
            Event::Moved { row, transition, died } => {
                let seen = seen.entry(row).or_default();
                let counts = match transition {
                    Transition::Reclaimed if *died => rules.recovery_counts && rules.last_recovery_counts,
                    Transition::Reclaimed => rules.recovery_counts,
                    settled => (rules.counts)(*settled),
                };
                seen.counted += i64::from(counts);
                seen.held_delivered += usize::from(*transition == Transition::Delivered);
            }
            Event::Accepted { row } => seen.entry(row).or_default().taken += 1,
            Event::Unanswered { row } | Event::LeaseExpired { row } => seen.entry(row).or_default().cuts += 1,
            Event::GuaranteeBroken { row, what } => return Err(format!("row {row}: {what}")),
            Event::SettlementLost { .. } | Event::FinallyRejected { .. } | Event::Crashed { .. } => {}
        }
    }
    let nothing = RowCounts::default();
    let mut duplicates = 0;
    for final_row in final_rows {
        let seen = seen.get(final_row.row.as_str()).unwrap_or(&nothing);
        check_row(final_row, seen, rules)?;
        duplicates += seen.taken.saturating_sub(1);
    }
    Ok(duplicates)
}

fn check_row(final_row: &FinalRow, seen: &RowCounts, rules: &CountingRules) -> Result<(), String> {
    let row = &final_row.row;
    if !final_row.finished {
        return Err(format!("row {row} never ended: it is {}", final_row.state));
    }
    if final_row.delivered && seen.taken == 0 {
        return Err(format!("row {row} is {} and the target never had it", final_row.state));
    }
    if seen.held_delivered > 1 {
        return Err(format!("row {row} was settled as delivered {} times", seen.held_delivered));
    }
    if seen.taken > 1 + seen.cuts {
        return Err(format!(
            "row {row} was sent {} times, and its lease was cut only {} times",
            seen.taken, seen.cuts
        ));
    }
    let Some(attempts) = final_row.attempts else { return Ok(()) };
    if attempts != seen.counted {
        return Err(format!("row {row} counts {attempts} attempts, the contract says {}", seen.counted));
    }
    if attempts > i64::from(rules.max) {
        return Err(format!("row {row} was tried {attempts} times, at most {} are allowed", rules.max));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
