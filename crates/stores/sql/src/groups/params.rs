//! What the search for groups and the claim of their rows bind.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use postrider_seams::row::RowId;
use tokio::time::Instant;

use crate::bind;
use crate::driver::execute::Arg;
use crate::groups::cursor::SearchPlan;
use crate::pools::permits::PoolPermits;
use crate::typed::{Accepted, Bound, Columns, Params, Row};
use crate::{Dialect, Param, Step, Yields};

/// One row of a search for groups: a group, or on PostgreSQL the new cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGroup {
    pub group: Option<String>,
    /// 0: it has new rows, 1: it was read from the cursor on; 2 and 3: it is the new cursor, `None` after a full round.
    pub kind: u64,
    /// Whether its first row may go. PostgreSQL yields only such groups.
    pub is_free: bool,
    /// MySQL: the first live row, which serves as the group's mutex.
    pub head: Option<RowId>,
}

impl FoundGroup {
    /// Reads a row of [`Yields::Groups`].
    pub fn read(mut row: Columns) -> Self {
        Self { group: row.text(), kind: row.count(), is_free: row.count() == 1, head: row.key() }
    }
}

/// A search for groups, before the transaction that claims their rows.
#[derive(Debug, Clone)]
pub struct GroupSearchParams {
    pub plan: SearchPlan,
    pub permits: PoolPermits,
}

impl Params for GroupSearchParams {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        match param {
            Param::GroupsWanted => Some(Bound::int(self.plan.wanted)),
            Param::Jumps => Some(Bound::int(self.plan.jumps)),
            Param::Fresh => Some(Bound::int(self.plan.fresh)),
            // Without a cursor only if the statement is not run, for its query plan.
            Param::Cursor => Some(Bound::One(Arg::Text(self.plan.cursor.clone()))),
            _ => self.permits.value(param, dialect),
        }
    }
}

/// A claim of rows of groups. On PostgreSQL its first step searches for the groups.
#[derive(Debug, Clone)]
pub struct GroupClaimParams {
    search: GroupSearchParams,
    /// Maximum number of rows.
    limit: u32,
    /// The groups to claim rows of.
    groups: Vec<String>,
    /// MySQL: the rows that serve as the groups' mutexes.
    heads: Vec<RowId>,
    /// What a search in this transaction found.
    pub found: Vec<FoundGroup>,
    /// Duration of that search.
    pub finding: Duration,
    started: Option<Instant>,
    /// Number of rows so far.
    taken: usize,
    /// MySQL: the group of the current turn.
    turn: usize,
}

impl GroupClaimParams {
    /// A claim of up to `limit` rows of these groups.
    pub fn new(search: GroupSearchParams, limit: u32, groups: Vec<String>, heads: Vec<RowId>) -> Self {
        Self {
            search,
            limit,
            groups,
            heads,
            found: Vec::new(),
            finding: Duration::ZERO,
            started: None,
            taken: 0,
            turn: 0,
        }
    }

    /// Returns the number of rows to claim of each group; larger if few groups are free.
    fn run_length(&self) -> u32 {
        let even = self.limit as usize / self.groups.len().max(1);
        u32::try_from(even).unwrap_or(u32::MAX).max(self.search.plan.run).max(1)
    }
}

impl Params for GroupClaimParams {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        Some(match param {
            Param::Limit => Bound::int(self.limit),
            Param::Ids => Bound::Keys(Cow::Borrowed(&self.heads)),
            Param::Groups if dialect == Dialect::Postgres => {
                Bound::One(Arg::Texts(self.groups.iter().cloned().map(Some).collect()))
            }
            Param::Groups => Bound::text(bind::json_texts(&self.groups)),
            Param::Group => Bound::text(self.groups.get(self.turn)?),
            Param::Run => Bound::int(self.run_length()),
            _ => return self.search.value(param, dialect),
        })
    }

    fn turns(&self, step: &Step) -> usize {
        match (step.params.contains(&Param::Group), step.params.contains(&Param::Groups)) {
            (true, _) => self.groups.len(),
            (false, true) => usize::from(!self.groups.is_empty()),
            (false, false) => 1,
        }
    }

    fn before(&mut self, _: &Step, turn: usize, _: &mut [Row]) {
        self.started.get_or_insert_with(Instant::now);
        self.turn = turn;
    }

    fn accept(&mut self, step: &Step, rows: Vec<Row>) -> Accepted {
        match step.yields {
            Yields::Groups => {
                self.finding = self.started.map_or(Duration::ZERO, |started| started.elapsed());
                self.found = rows.into_iter().map(|row| FoundGroup::read(Columns::new(row))).collect();
                self.groups = distinct(&self.found);
                Accepted::Kept
            }
            Yields::Run => {
                let room = (self.limit as usize).saturating_sub(self.taken);
                let run = self.search.permits.admit(rows, room);
                self.taken += run.len();
                Accepted::More(run)
            }
            _ => self.search.permits.accept(step, rows),
        }
    }
}

/// Each group once, in the order in which it was found.
fn distinct(found: &[FoundGroup]) -> Vec<String> {
    let mut seen = HashSet::new();
    let groups = found.iter().filter(|found| found.kind < 2).filter_map(|found| found.group.as_ref());
    groups.filter(|group| seen.insert(*group)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pools::permits::OpenPools;

    #[test]
    fn few_groups_give_longer_runs() {
        let plan = SearchPlan { run: 50, ..SearchPlan::default() };
        let permits = PoolPermits::new(Vec::new(), OpenPools::default(), 1);
        let search = GroupSearchParams { plan, permits };
        let run = |groups: usize| {
            let groups = (0..groups).map(|n| n.to_string()).collect();
            GroupClaimParams::new(search.clone(), 500, groups, Vec::new()).run_length()
        };
        assert_eq!((run(1), run(100)), (500, 50));
    }
}
