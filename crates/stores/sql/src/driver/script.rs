//! Runs scripts: binds the values that each step names, and passes what a step returned to the next one.

use std::time::Duration;

use postrider_seams::row::{RowId, Value};
use tokio::time::Instant;

use super::execute::{Answer, Arg, Statement};
use super::list::list;
use super::{Access, Driver, Work};
use crate::bind::{self, Values};
use crate::pools::permits::PoolPermits;
use crate::{Dialect, Field, Param, Script, Step, Yields};

/// Scripts that run one after another in one transaction.
pub(super) struct Scripts<'a, 'g>(pub &'a [(&'a Script, Values<'g>)]);

impl Work for Scripts<'_, '_> {
    type Output = Vec<Output>;

    fn access(&self) -> Access {
        match self.0 {
            [(script, _)] if only_reads(script) => Access::Read,
            _ => Access::Write,
        }
    }

    fn is_single(&self, dialect: Dialect) -> bool {
        match self.0 {
            [(script, _)] => script.steps.len() == 1 || (dialect == Dialect::Sqlite && only_reads(script)),
            _ => false,
        }
    }

    async fn run<D: Driver>(
        &self,
        driver: &D,
        connection: &mut D::Connection,
    ) -> Result<Vec<Output>, D::Error> {
        let mut done = Vec::with_capacity(self.0.len());
        for (script, given) in self.0 {
            done.push(run_steps(driver, connection, script, given).await?);
        }
        Ok(done)
    }
}

fn only_reads(script: &Script) -> bool {
    script.steps.iter().all(|step| step.sql.trim_start().starts_with("SELECT"))
}

async fn run_steps<D: Driver>(
    driver: &D,
    connection: &mut D::Connection,
    script: &Script,
    given: &Values<'_>,
) -> Result<Output, D::Error> {
    let mut progress = Progress::new(given);
    for step in &script.steps {
        if progress.skips(step) {
            continue;
        }
        progress.set_claim_time(given, step);
        for one in progress.repeats(step) {
            let statement = progress.bound(D::DIALECT, given, step, &one);
            let answer = driver.execute(connection, &statement).await?;
            progress.answered(given, step, answer);
        }
    }
    Ok(progress.done)
}

impl Step {
    /// Returns the step with its values, for a query plan. No step has run before it.
    pub fn bound(&self, dialect: Dialect, given: &Values<'_>) -> Statement {
        Progress::new(given).bound(dialect, given, self, &One::default())
    }
}

/// The result of a script.
#[derive(Debug, Default)]
pub struct Output {
    /// The rows of the last step that yields any; `None` if no step does.
    pub rows: Option<Vec<Vec<Value>>>,
    /// Keys of a step before the last yielding one, in the contract's order.
    pub order: Vec<RowId>,
    /// Number of rows that the last step changed.
    pub affected: u64,
    /// The groups that the search found.
    pub groups: Vec<Vec<Value>>,
    /// Duration of that search.
    pub finding: Duration,
}

impl Output {
    /// Returns the number of rows that moved.
    pub fn moved(&self) -> u64 {
        self.rows.as_ref().map_or(self.affected, |rows| rows.len() as u64)
    }

    /// Returns the keys of the rows that moved.
    pub fn keys(self) -> Vec<RowId> {
        let first = |row: Vec<Value>| row.into_iter().next().and_then(bind::key);
        self.into_rows().into_iter().filter_map(first).collect()
    }

    /// Returns the rows; empty if no step yields any.
    pub fn into_rows(self) -> Vec<Vec<Value>> {
        self.rows.unwrap_or_default()
    }

    /// The first column of the first row; NULL if there is none.
    pub(crate) fn first(self) -> Value {
        self.into_rows().into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or_default()
    }
}

/// The state of one run of a script.
#[derive(Debug)]
struct Progress {
    /// Keys that the last yielding step returned.
    held: Vec<RowId>,
    /// The groups to claim rows of.
    groups: Vec<String>,
    done: Output,
    /// The permits of shares and pools.
    permits: PoolPermits,
    /// MySQL: the time that a claim writes, once its rows are picked.
    claim_time: Option<String>,
    limit: usize,
    run: u32,
    started: Instant,
}

impl Progress {
    /// The state before the first step.
    fn new(given: &Values<'_>) -> Self {
        Self {
            held: Vec::new(),
            groups: given.groups.found.clone(),
            done: Output::default(),
            permits: PoolPermits::new(&given.shares),
            claim_time: None,
            limit: given.limit as usize,
            run: given.groups.run,
            started: Instant::now(),
        }
    }

    /// Whether the step has nothing to work on: no held keys, no groups or no shares.
    fn skips(&self, step: &Step) -> bool {
        let of_groups = step.params.contains(&Param::Groups) || step.params.contains(&Param::Group);
        let of_shares = step.params.contains(&Param::Shares) || step.params.contains(&Param::Share);
        (step.params.contains(&Param::Held) && self.held.is_empty())
            || (of_groups && self.groups.is_empty())
            || (of_shares && self.permits.shares().is_empty())
    }

    /// Returns the number of rows to claim of each group; larger if few groups are free.
    fn run_length(&self) -> u32 {
        let even = self.limit / self.groups.len().max(1);
        u32::try_from(even).unwrap_or(u32::MAX).max(self.run).max(1)
    }

    /// MySQL: the claim time is the latest of the picked rows. It is set in every row, because the step writes it.
    fn set_claim_time(&mut self, given: &Values<'_>, step: &Step) {
        let Some(column) = given.claim_time.filter(|_| step.params.contains(&Param::ClaimTime)) else {
            return;
        };
        let rows = self.done.rows.as_deref_mut().unwrap_or_default();
        let latest = rows.iter().filter_map(|row| row.get(column)?.as_text()).max().map(str::to_owned);
        if let Some(latest) = &latest {
            for row in rows {
                row[column] = Value::Text(latest.clone());
            }
        }
        self.claim_time = latest;
    }

    /// MySQL runs some steps once for each group or share; every other step runs once.
    fn repeats(&self, step: &Step) -> Vec<One> {
        if step.params.contains(&Param::Group) {
            return self.groups.iter().map(|group| One { key: group.clone(), quota: None }).collect();
        }
        if step.params.contains(&Param::Share) {
            let shares = self.permits.shares().iter();
            return shares.map(|share| One { key: share.key.clone(), quota: Some(share.most) }).collect();
        }
        vec![One::default()]
    }

    /// Returns the step with its values.
    fn bound(&self, dialect: Dialect, given: &Values<'_>, step: &Step, one: &One) -> Statement {
        let mut statement = Statement { sql: step.sql.clone(), args: Vec::with_capacity(step.params.len()) };
        for bind in &step.params {
            let number = |number: u32| Arg::Int(Some(i64::from(number)));
            let text = |text: String| Arg::Text(Some(text));
            let known = match bind {
                Param::Array(_) => dialect == Dialect::Postgres,
                Param::ClaimTime | Param::Group | Param::Share => dialect == Dialect::Mysql,
                Param::Groups => dialect != Dialect::Mysql,
                _ => true,
            };
            assert!(known, "{dialect:?} has no parameter {bind:?}: {}", step.sql);
            let arg = match bind {
                Param::Limit => number(given.limit),
                Param::Owner => text(given.owner.to_owned()),
                Param::Array(Field::Delay) => {
                    Arg::Floats(given.column(&Field::Delay).iter().map(seconds).collect())
                }
                Param::Array(field) => Arg::Texts(given.column(field).into_iter().map(bind::text).collect()),
                Param::Rows(fields) => text(given.json_rows(fields)),
                Param::One(Field::Delay) => Arg::Float(seconds(&given.shared(&Field::Delay))),
                // PostgreSQL casts the text to the column's type.
                Param::One(field) if dialect == Dialect::Postgres => {
                    Arg::Text(bind::text(given.shared(field)))
                }
                Param::One(field) => given.shared(field).into(),
                Param::Ids => {
                    list(dialect, &mut statement, "{ids}", &given.ids);
                    continue;
                }
                Param::Held => {
                    list(dialect, &mut statement, "{held}", &self.held);
                    continue;
                }
                Param::Pools => {
                    list(dialect, &mut statement, "{pools}", &given.shares.limited);
                    continue;
                }
                Param::ClaimTime => Arg::Text(self.claim_time.clone()),
                Param::Since => Arg::Float(given.since),
                Param::GroupsWanted => number(given.groups.wanted),
                Param::Jumps => number(given.groups.jumps),
                Param::Fresh => number(given.groups.fresh),
                Param::Cursor => Arg::Text(given.groups.cursor.clone()),
                Param::Groups if dialect == Dialect::Postgres => {
                    Arg::Texts(self.groups.iter().cloned().map(Some).collect())
                }
                Param::Groups => text(bind::json_texts(&self.groups)),
                Param::Group | Param::Share => text(one.key.clone()),
                Param::Run => number(self.run_length()),
                Param::Shares => text(self.permits.shares_json()),
                Param::Open => text(self.permits.open_json()),
                Param::Permits => text(self.permits.left_json()),
                Param::Quota => number(one.quota.unwrap_or_else(|| self.permits.quota())),
            };
            statement.args.push(arg);
        }
        statement
    }

    /// Records what a step returned.
    fn answered(&mut self, given: &Values<'_>, step: &Step, answer: Answer) {
        if step.yields == Yields::Nothing {
            self.done.affected = answer.changed;
        } else {
            self.yielded(given, step, answer.rows);
        }
    }

    /// Records the rows that a step yielded.
    fn yielded(&mut self, given: &Values<'_>, step: &Step, rows: Vec<Vec<Value>>) {
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

/// The group or share of a step that runs once for each.
#[derive(Debug, Default)]
struct One {
    key: String,
    /// Maximum number of rows of the share.
    quota: Option<u32>,
}

fn seconds(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Null => None,
        // NULL would mean no delay at all.
        other => unreachable!("{other:?} is no number of seconds"),
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

    #[test]
    fn a_delay_is_bound_as_it_is() {
        assert_eq!(
            [Value::Float(1.5), Value::Null].iter().map(seconds).collect::<Vec<_>>(),
            [Some(1.5), None]
        );
    }

    #[test]
    #[should_panic(expected = "is no number of seconds")]
    fn an_unknown_value_is_never_bound_as_null() {
        seconds(&Value::Int(3));
    }

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
        let given = Values {
            groups: bind::Groups { run: 50, ..bind::Groups::default() },
            ..Values::limit("me", 500)
        };
        let mut progress = Progress::new(&given);
        progress.groups = vec!["a".to_owned()];
        assert_eq!(progress.run_length(), 500);
        progress.groups = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(progress.run_length(), 50);
    }
}
