//! The state of a script between two of its steps, the same for every driver.

use postrider_seams::row::{RowId, Value};
use tokio::time::Instant;

use super::Done;
use super::permits::Permits;
use crate::bind::{self, Given};
use crate::{Bind, Step, Yields};

/// The state of one run of a script.
#[derive(Debug)]
pub struct Progress {
    /// Keys that the last yielding step returned.
    pub held: Vec<RowId>,
    /// The groups to claim rows of.
    pub groups: Vec<String>,
    pub done: Done,
    /// The permits of shares and pools.
    pub permits: Permits,
    limit: usize,
    run: u32,
    started: Instant,
}

impl Progress {
    /// The state before the first step.
    pub fn new(given: &Given<'_>) -> Self {
        Self {
            held: Vec::new(),
            groups: given.groups.found.clone(),
            done: Done::default(),
            permits: Permits::new(&given.shares),
            limit: given.limit as usize,
            run: given.groups.run,
            started: Instant::now(),
        }
    }

    /// Whether the step has nothing to work on: no held keys, no groups or no shares.
    pub fn skips(&self, step: &Step) -> bool {
        let of_groups = step.binds.contains(&Bind::Groups) || step.binds.contains(&Bind::Group);
        let of_shares = step.binds.contains(&Bind::Shares) || step.binds.contains(&Bind::Share);
        (bind::needs_held(&step.binds) && self.held.is_empty())
            || (of_groups && self.groups.is_empty())
            || (of_shares && self.permits.shares().is_empty())
    }

    /// Returns the number of rows to claim of each group; larger if few groups are free.
    pub fn run_length(&self) -> u32 {
        let even = self.limit / self.groups.len().max(1);
        u32::try_from(even).unwrap_or(u32::MAX).max(self.run).max(1)
    }

    /// Records a step that yields no rows and changed this many.
    pub fn changed(&mut self, affected: u64) {
        self.done.affected = affected;
    }

    /// Records the rows that a step yielded.
    pub fn yielded(&mut self, given: &Given<'_>, step: &Step, rows: Vec<Vec<Value>>) {
        match step.yields {
            Yields::Groups => {
                self.groups = group_texts(&rows);
                self.done.finding = self.started.elapsed();
                self.done.groups = rows;
            }
            Yields::Run => {
                let taken = self.done.rows.get_or_insert_default();
                let room = self.limit.saturating_sub(taken.len());
                let run = self.permits.admit(may_go(rows).into_iter().take(room).collect());
                self.held.extend(keys(&run));
                taken.extend(run);
            }
            Yields::Permits => {
                self.permits.counted(&given.shares, &rows);
                // The keys so far were those of pools.
                (self.held, self.done.order, self.done.rows) = (Vec::new(), Vec::new(), None);
            }
            Yields::Nothing | Yields::Keys | Yields::Rows | Yields::Leases | Yields::Other => {
                self.done.order = std::mem::take(&mut self.held);
                self.held = keys(&rows).collect();
                self.done.rows = Some(rows);
            }
        }
    }
}

fn keys(rows: &[Vec<Value>]) -> impl Iterator<Item = RowId> {
    rows.iter().filter_map(|row| row.first().cloned().and_then(bind::key))
}

/// Each group once, in the order in which it was found.
fn group_texts(rows: &[Vec<Value>]) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for row in rows {
        let is_group = matches!(row.get(1), Some(Value::Int(0 | 1)));
        if let Some(text) = row.first().and_then(Value::as_text).filter(|_| is_group)
            && seen.insert(text.to_owned())
        {
            groups.push(text.to_owned());
        }
    }
    groups
}

/// The rows before the first that may not go; none if one is in flight.
fn may_go(rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let flag = |row: &Vec<Value>| match row.last() {
        Some(Value::Int(flag)) => *flag,
        _ => 0,
    };
    if rows.iter().any(|row| flag(row) < 0) {
        return Vec::new();
    }
    rows.into_iter().take_while(|row| flag(row) == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: i64, flag: i64) -> Vec<Value> {
        vec![Value::Int(key), Value::Int(flag)]
    }

    #[test]
    fn a_run_ends_before_the_first_row_that_may_not_go() {
        assert_eq!(may_go(vec![row(1, 1), row(2, 0), row(3, 1)]), [row(1, 1)]);
    }

    #[test]
    fn a_group_with_a_row_in_flight_is_left_alone() {
        assert!(may_go(vec![row(1, 1), row(2, -1)]).is_empty());
    }

    #[test]
    fn few_groups_give_longer_runs() {
        let given =
            Given { groups: bind::Groups { run: 50, ..bind::Groups::default() }, ..Given::limit("me", 500) };
        let mut progress = Progress::new(&given);
        progress.groups = vec!["a".to_owned()];
        assert_eq!(progress.run_length(), 500);
        progress.groups = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(progress.run_length(), 50);
    }
}
