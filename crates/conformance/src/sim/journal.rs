//! What happened, as the database and the target saw it, and what must be true of it in the end.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use postrider_contract::Transition;

/// One thing that happened to one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A move that the store made, with the state that it led to where that matters.
    Moved {
        row: String,
        transition: Transition,
        died: bool,
    },
    /// The fence refused a settlement.
    Lost {
        row: String,
    },
    /// The target has the message.
    Taken {
        row: String,
    },
    /// Its lease ran out, and it was taken back.
    Cut {
        row: String,
    },
    /// The target did not say whether it has it.
    Unanswered {
        row: String,
    },
    /// The target's last word on it: it will never have it.
    Hopeless {
        row: String,
    },
    Crashed {
        worker: usize,
    },
    /// The store did what it must never do.
    Broken {
        row: String,
        what: String,
    },
}

/// In the order in which it happened.
#[derive(Default)]
pub struct Journal(Mutex<Vec<Event>>);

/// What the specification says about counting, for the check.
pub(crate) struct Rules {
    pub counts: Box<dyn Fn(Transition) -> bool + Send + Sync>,
    pub recovery_counts: bool,
    /// An expired lease that was the last counts too.
    pub last_recovery_counts: bool,
    pub most: u32,
}

/// How one row ended.
pub(crate) struct Ending {
    pub row: String,
    pub state: String,
    pub finished: bool,
    pub delivered: bool,
    /// `None` where the counter was reset on the way out.
    pub attempts: Option<i64>,
}

#[derive(Default)]
struct Seen {
    counted: i64,
    taken: usize,
    cuts: usize,
    held_delivered: usize,
}

impl Journal {
    pub fn note(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Checks every promise; the number of duplicates if all are kept.
pub(crate) fn check(events: &[Event], endings: &[Ending], rules: &Rules) -> Result<usize, String> {
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
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
            Event::Taken { row } => seen.entry(row).or_default().taken += 1,
            Event::Unanswered { row } | Event::Cut { row } => seen.entry(row).or_default().cuts += 1,
            Event::Broken { row, what } => return Err(format!("row {row}: {what}")),
            Event::Lost { .. } | Event::Hopeless { .. } | Event::Crashed { .. } => {}
        }
    }
    let nothing = Seen::default();
    let mut duplicates = 0;
    for ending in endings {
        let seen = seen.get(ending.row.as_str()).unwrap_or(&nothing);
        check_row(ending, seen, rules)?;
        duplicates += seen.taken.saturating_sub(1);
    }
    Ok(duplicates)
}

fn check_row(ending: &Ending, seen: &Seen, rules: &Rules) -> Result<(), String> {
    let row = &ending.row;
    if !ending.finished {
        return Err(format!("row {row} never ended: it is {}", ending.state));
    }
    if ending.delivered && seen.taken == 0 {
        return Err(format!("row {row} is {} and the target never had it", ending.state));
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
    let Some(attempts) = ending.attempts else { return Ok(()) };
    if attempts != seen.counted {
        return Err(format!("row {row} counts {attempts} attempts, the contract says {}", seen.counted));
    }
    if attempts > i64::from(rules.most) {
        return Err(format!("row {row} was tried {attempts} times, at most {} are allowed", rules.most));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
