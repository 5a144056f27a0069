//! The group cursor: the position of a lane's claims of ordered groups. Losing it with the process costs one round.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::row::RowId;

use crate::Dialect;
use crate::groups::params::FoundGroup;

/// Maximum number of new rows that a search reads.
const FRESH: u32 = 200;

/// Maximum number of times that runs double while finding groups is expensive.
const MAX_RUN_DOUBLINGS: u32 = 4;

/// Maximum number of rows that one group gives at a time, for runs of any length.
const MAX_ROWS_PER_GROUP: u32 = 500;

/// Wait between two searches if there are too many groups for one.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The limits and the start of a search for groups.
#[derive(Debug, Clone, Default)]
pub struct SearchPlan {
    /// The number of groups to claim.
    pub wanted: u32,
    /// Maximum number of groups to read from the cursor on.
    pub jumps: u32,
    /// Maximum number of new rows to read.
    pub fresh: u32,
    /// The last group that was read.
    pub cursor: Option<String>,
    /// Minimum number of rows to claim of each group, if the group has that many.
    pub run: u32,
}

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
    odd_row_to_groups: bool,
}

/// Where a search leaves the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CursorMove {
    /// The search read no group from the cursor on.
    Unchanged,
    To(String),
    /// The search read the last group: the next one starts at the first.
    Wrapped,
}

/// The result of a search.
#[derive(Debug)]
pub(crate) struct GroupSearch {
    pub groups: Vec<String>,
    /// MySQL: the rows that serve as the groups' mutexes.
    pub heads: Vec<RowId>,
    pub cursor: CursorMove,
    /// Number of groups that were read from the cursor on.
    pub seen: u32,
}

impl GroupCursor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the arguments of the next search, to get `rows`. Only the first search of a claim reads new rows.
    pub fn plan(&self, dialect: Dialect, rows: u32, run: u32, round: u32) -> SearchPlan {
        let state = self.lock();
        let run = run.saturating_mul(1 << state.stretch).min(MAX_ROWS_PER_GROUP.max(run));
        // A transaction holds a lock for each group; on MySQL each costs a statement.
        let most = if dialect == Dialect::Mysql { 64 } else { 500 };
        let wanted = rows.div_ceil(state.yielded.clamp(1, run)).clamp(1, most);
        // PostgreSQL reads only as many as it needs; the others read all of them.
        let jumps = match dialect {
            Dialect::Postgres => 2000,
            Dialect::Mysql | Dialect::Sqlite => (wanted * 4).clamp(64, 500) << round.min(2),
        };
        let fresh = if round == 0 { FRESH } else { 0 };
        SearchPlan { wanted, jumps, fresh, cursor: state.cursor.clone(), run }
    }

    /// Moves the cursor to where a search ended.
    pub fn moved(&self, cursor: &CursorMove) {
        match cursor {
            CursorMove::Unchanged => {}
            CursorMove::To(group) => self.lock().cursor = Some(group.clone()),
            CursorMove::Wrapped => self.lock().cursor = None,
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
            state.stretch = (state.stretch + 1).min(MAX_RUN_DOUBLINGS);
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
    pub fn odd_row_to_groups(&self) -> bool {
        let mut state = self.lock();
        state.odd_row_to_groups = !state.odd_row_to_groups;
        state.odd_row_to_groups
    }
}

impl GroupSearch {
    /// Reads the result of a search: PostgreSQL returns only groups that are locked, the others all that they read.
    pub fn read(dialect: Dialect, plan: &SearchPlan, rows: &[FoundGroup]) -> Self {
        let mut search =
            Self { groups: Vec::new(), heads: Vec::new(), cursor: CursorMove::Unchanged, seen: 0 };
        match dialect {
            Dialect::Postgres => rows.iter().for_each(|row| search.take_locked(plan, row)),
            Dialect::Mysql | Dialect::Sqlite => {
                // Groups from the cursor on first, so that the cursor always advances.
                let mut wrapped = true;
                for row in rows.iter().filter(|row| row.kind == 1) {
                    if search.is_full(plan) {
                        wrapped = false;
                        break;
                    }
                    search.take_seen(row);
                }
                if wrapped && search.seen < plan.jumps {
                    search.cursor = CursorMove::Wrapped;
                }
                for row in rows.iter().filter(|row| row.kind == 0) {
                    if !search.is_full(plan) {
                        search.take_free(row);
                    }
                }
            }
        }
        search
    }

    fn is_full(&self, plan: &SearchPlan) -> bool {
        self.groups.len() >= plan.wanted as usize
    }

    fn take_locked(&mut self, plan: &SearchPlan, row: &FoundGroup) {
        match (row.kind, row.group.clone()) {
            (2, group) => {
                self.seen = plan.jumps;
                self.cursor = group.map_or(CursorMove::Wrapped, CursorMove::To);
            }
            (3, group) => self.cursor = group.map_or(CursorMove::Wrapped, CursorMove::To),
            (kind, Some(group)) => {
                if kind == 1 {
                    self.seen += 1;
                    self.cursor = CursorMove::To(group.clone());
                }
                self.groups.push(group);
            }
            (_, None) => {}
        }
    }

    fn take_seen(&mut self, row: &FoundGroup) {
        self.seen += 1;
        self.cursor = row.group.clone().map_or(CursorMove::Unchanged, CursorMove::To);
        self.take_free(row);
    }

    fn take_free(&mut self, row: &FoundGroup) {
        let group = row.group.as_ref().filter(|group| row.is_free && !self.groups.contains(group));
        let Some(group) = group else { return };
        self.heads.extend(row.head.clone());
        self.groups.push(group.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(wanted: u32, jumps: u32) -> SearchPlan {
        SearchPlan { wanted, jumps, ..SearchPlan::default() }
    }

    fn row(group: &str, kind: u64, free: u64) -> FoundGroup {
        FoundGroup { group: Some(group.to_owned()), kind, is_free: free == 1, head: None }
    }

    #[test]
    fn the_cursor_passes_groups_that_are_held() {
        let rows = [row("a", 1, 0), row("b", 1, 0), row("z", 0, 1)];
        let search = GroupSearch::read(Dialect::Sqlite, &plan(5, 2), &rows);
        assert_eq!((search.groups, search.cursor), (vec!["z".to_owned()], CursorMove::To("b".to_owned())));
    }

    #[test]
    fn a_search_of_few_groups_wraps() {
        let search = GroupSearch::read(Dialect::Sqlite, &plan(5, 64), &[row("a", 1, 1)]);
        assert_eq!(search.cursor, CursorMove::Wrapped);
    }

    #[test]
    fn a_full_search_leaves_the_cursor_at_the_last_group_it_used() {
        let rows = [row("a", 1, 1), row("b", 1, 1), row("c", 1, 1)];
        let search = GroupSearch::read(Dialect::Sqlite, &plan(2, 64), &rows);
        assert_eq!((search.groups.len(), search.cursor), (2, CursorMove::To("b".to_owned())));
    }

    #[test]
    fn runs_lengthen_while_finding_groups_is_expensive() {
        let millis = Duration::from_millis;
        let cursor = GroupCursor::default();
        let run = |cursor: &GroupCursor| cursor.plan(Dialect::Postgres, 500, 50, 0).run;
        assert_eq!(run(&cursor), 50);
        cursor.spent(millis(5), millis(10));
        assert_eq!(run(&cursor), 100);
        // In between, the length stays unchanged.
        cursor.spent(millis(20), millis(100));
        assert_eq!(run(&cursor), 100);
        for _ in 0..10 {
            cursor.spent(millis(5), millis(10));
        }
        assert_eq!(run(&cursor), MAX_ROWS_PER_GROUP);
        for _ in 0..10 {
            cursor.spent(millis(0), millis(10));
        }
        assert_eq!(run(&cursor), 50);
        assert_eq!(cursor.plan(Dialect::Postgres, 500, 1000, 0).run, 1000, "the contract may ask for more");
    }

    #[test]
    fn new_rows_do_not_stop_the_cursor() {
        let rows = [row("a", 1, 1), row("m", 3, 0), row("z", 0, 1)];
        let search = GroupSearch::read(Dialect::Postgres, &plan(2, 2000), &rows);
        assert_eq!((search.groups.len(), search.cursor), (2, CursorMove::To("m".to_owned())));
    }
}
