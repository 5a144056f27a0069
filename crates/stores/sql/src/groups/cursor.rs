//! The group cursor: the position of a lane's claims of ordered groups. Losing it with the process costs one round.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::row::{RowId, Value};

use crate::Dialect;
use crate::bind::{self, Groups};

/// Maximum number of new rows that a search reads.
const FRESH: u32 = 200;

/// Maximum number of times that runs double while finding groups is expensive.
const LONGEST_STRETCH: u32 = 4;

/// Maximum number of rows that one group gives at a time, for runs of any length.
const MOST_OF_A_GROUP: u32 = 500;

/// Wait between two searches of a ring that is too long for one.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The group cursor, shared by the claims of a lane.
#[derive(Debug, Default)]
pub(crate) struct GroupCursor(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The last group that was read; `None` at the start of a round.
    cursor: Option<String>,
    /// Whether the last claim ended in the middle of a round because it ran out of time.
    unfinished: bool,
    /// Number of rows that one group yielded recently.
    yielded: u32,
    /// The factor on the contract's `run`, as a power of two.
    stretch: u32,
    /// Decides which kind of rows gets the odd row of a lane's capacity.
    flip: bool,
}

/// The position after a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// The search did not reach the ring.
    There,
    At(String),
    /// At the end of the ring.
    Turned,
}

/// The result of a search.
#[derive(Debug)]
pub(crate) struct GroupSearch {
    pub groups: Vec<String>,
    /// MySQL: the rows that serve as the groups' mutexes.
    pub heads: Vec<RowId>,
    pub left: Left,
    /// Number of groups on the ring that were read.
    pub seen: u32,
}

impl GroupCursor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the arguments of the next search, to get `rows`. Only the first search of a claim reads new rows.
    pub fn plan(&self, dialect: Dialect, rows: u32, run: u32, round: u32) -> Groups {
        let state = self.lock();
        let run = run.saturating_mul(1 << state.stretch).min(MOST_OF_A_GROUP.max(run));
        // A transaction holds a lock for each group; on MySQL each costs a statement.
        let most = if dialect == Dialect::Mysql { 64 } else { 500 };
        let wanted = rows.div_ceil(state.yielded.clamp(1, run)).clamp(1, most);
        // PostgreSQL reads only as many as it needs; the others read all of them.
        let jumps = match dialect {
            Dialect::Postgres => 2000,
            Dialect::Mysql | Dialect::Sqlite => (wanted * 4).clamp(64, 500) << round.min(2),
        };
        let fresh = if round == 0 { FRESH } else { 0 };
        Groups { wanted, jumps, fresh, cursor: state.cursor.clone(), run, found: Vec::new() }
    }

    /// Moves the cursor to where a search ended.
    pub fn moved(&self, left: &Left) {
        match left {
            Left::There => {}
            Left::At(group) => self.lock().cursor = Some(group.clone()),
            Left::Turned => self.lock().cursor = None,
        }
    }

    /// Records how many rows the groups yielded, to estimate the number of groups for the next claim.
    pub fn yielded(&self, rows: u32, groups: u32) {
        if let Some(each) = rows.checked_div(groups) {
            self.lock().yielded = each.max(1);
        }
    }

    /// Adapts the length of runs to the cost of finding groups.
    ///
    /// A group is found by reading its index from the front, past the entries of finished rows. While an old
    /// transaction keeps PostgreSQL from removing those, each visit of a group costs as much as it has finished rows.
    /// Longer runs mean fewer visits for the same rows.
    pub fn spent(&self, finding: Duration, taking: Duration) {
        let mut state = self.lock();
        if finding * 4 > taking {
            state.stretch = (state.stretch + 1).min(LONGEST_STRETCH);
        } else if finding * 6 < taking {
            state.stretch = state.stretch.saturating_sub(1);
        }
    }

    /// Records whether the claim ended before a full round.
    pub fn ended(&self, unfinished: bool) {
        self.lock().unfinished = unfinished;
    }

    /// Whether the last claim ended before a full round.
    pub fn is_unfinished(&self) -> bool {
        self.lock().unfinished
    }

    /// Alternates between true and false (round-robin between the two kinds of rows).
    pub fn flip(&self) -> bool {
        let mut state = self.lock();
        state.flip = !state.flip;
        state.flip
    }
}

impl GroupSearch {
    /// Reads the result of a search: PostgreSQL returns only groups that are locked, the others all that they read.
    pub fn read(dialect: Dialect, asked: &Groups, rows: &[Vec<Value>]) -> Self {
        let mut look = Self { groups: Vec::new(), heads: Vec::new(), left: Left::There, seen: 0 };
        match dialect {
            Dialect::Postgres => rows.iter().for_each(|row| look.take_locked(asked, row)),
            Dialect::Mysql | Dialect::Sqlite => {
                // Groups of the ring first, so that the cursor always advances.
                let mut turned = true;
                for row in rows.iter().filter(|row| kind(row) == 1) {
                    if look.is_full(asked) {
                        turned = false;
                        break;
                    }
                    look.take_seen(row);
                }
                if turned && look.seen < asked.jumps {
                    look.left = Left::Turned;
                }
                for row in rows.iter().filter(|row| kind(row) == 0) {
                    if !look.is_full(asked) {
                        look.take_free(row);
                    }
                }
            }
        }
        look
    }

    fn is_full(&self, asked: &Groups) -> bool {
        self.groups.len() >= asked.wanted as usize
    }

    fn take_locked(&mut self, asked: &Groups, row: &[Value]) {
        let group = text(row);
        match (kind(row), group) {
            (2, group) => {
                self.seen = asked.jumps;
                self.left = group.map_or(Left::Turned, Left::At);
            }
            (3, group) => self.left = group.map_or(Left::Turned, Left::At),
            (kind, Some(group)) => {
                if kind == 1 {
                    self.seen += 1;
                    self.left = Left::At(group.clone());
                }
                self.groups.push(group);
            }
            (_, None) => {}
        }
    }

    fn take_seen(&mut self, row: &[Value]) {
        self.seen += 1;
        self.left = text(row).map_or(Left::There, Left::At);
        self.take_free(row);
    }

    fn take_free(&mut self, row: &[Value]) {
        let free = row.get(2).is_some_and(|ok| bind::count(ok) == 1);
        let Some(group) = text(row).filter(|group| free && !self.groups.contains(group)) else { return };
        self.heads.extend(row.get(3).cloned().and_then(bind::key));
        self.groups.push(group);
    }
}

fn kind(row: &[Value]) -> u64 {
    row.get(1).map_or(0, bind::count)
}

fn text(row: &[Value]) -> Option<String> {
    row.first().and_then(Value::as_text).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(wanted: u32, jumps: u32) -> Groups {
        Groups { wanted, jumps, ..Groups::default() }
    }

    fn row(group: &str, kind: i64, ok: i64) -> Vec<Value> {
        vec![Value::Text(group.to_owned()), Value::Int(kind), Value::Int(ok)]
    }

    #[test]
    fn the_cursor_passes_groups_that_are_held() {
        let rows = [row("a", 1, 0), row("b", 1, 0), row("z", 0, 1)];
        let look = GroupSearch::read(Dialect::Sqlite, &asked(5, 2), &rows);
        assert_eq!((look.groups, look.left), (vec!["z".to_owned()], Left::At("b".to_owned())));
    }

    #[test]
    fn a_short_ring_was_turned() {
        let look = GroupSearch::read(Dialect::Sqlite, &asked(5, 64), &[row("a", 1, 1)]);
        assert_eq!(look.left, Left::Turned);
    }

    #[test]
    fn a_full_look_leaves_the_cursor_at_the_last_group_it_used() {
        let rows = [row("a", 1, 1), row("b", 1, 1), row("c", 1, 1)];
        let look = GroupSearch::read(Dialect::Sqlite, &asked(2, 64), &rows);
        assert_eq!((look.groups.len(), look.left), (2, Left::At("b".to_owned())));
    }

    #[test]
    fn runs_lengthen_while_finding_groups_is_expensive() {
        let millis = Duration::from_millis;
        let ring = GroupCursor::default();
        let run = |ring: &GroupCursor| ring.plan(Dialect::Postgres, 500, 50, 0).run;
        assert_eq!(run(&ring), 50);
        ring.spent(millis(5), millis(10));
        assert_eq!(run(&ring), 100);
        // In between, the length stays unchanged.
        ring.spent(millis(20), millis(100));
        assert_eq!(run(&ring), 100);
        for _ in 0..10 {
            ring.spent(millis(5), millis(10));
        }
        assert_eq!(run(&ring), MOST_OF_A_GROUP);
        for _ in 0..10 {
            ring.spent(millis(0), millis(10));
        }
        assert_eq!(run(&ring), 50);
        assert_eq!(ring.plan(Dialect::Postgres, 500, 1000, 0).run, 1000, "the contract may ask for more");
    }

    #[test]
    fn new_rows_do_not_stop_the_ring() {
        let mark = |kind: i64| vec![Value::Text("m".to_owned()), Value::Int(kind)];
        let rows = [row("a", 1, 1), mark(3), row("z", 0, 1)];
        let look = GroupSearch::read(Dialect::Postgres, &asked(2, 2000), &rows);
        assert_eq!((look.groups.len(), look.left), (2, Left::At("m".to_owned())));
    }
}
