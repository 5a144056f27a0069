//! Renders timed maintenance: the contract's sweeps, and moving rows without attempts left to the dead state.

use postrider_contract::{Condition, LeaseBy, NO_ATTEMPTS_LEFT, Sweep, Transition, When};

use crate::Dialect;
use crate::render::condition::Lookup;
use crate::render::moves::{MoveSome, Pick};
use crate::render::table::Table;
use crate::render::time::Shift;

impl Table<'_> {
    /// Returns the script that moves rows without attempts left to the dead state; `None` if there are none to move.
    pub fn spent(&self) -> Option<MoveSome> {
        // If only the counter distinguishes dead rows from ready ones, spent rows need no move.
        if self.stage.ready.contains(&self.stage.dead) {
            return None;
        }
        let mut conditions = vec![self.is_spent()?];
        if self.stage.lease.by == LeaseBy::Due {
            // A claimed row looks like a ready one: only its due time shows that no worker holds it.
            conditions.extend(self.is_due());
        }
        let step = self.contract.exhausted_move(self.stage);
        let pick = if self.has_a_front() {
            Pick::Front { conditions }
        } else {
            conditions.splice(0..0, self.spent_conditions());
            Pick::among(conditions)
        };
        Some(MoveSome { script: self.picked(step, &[Transition::Swept], Some(NO_ATTEMPTS_LEFT), &pick) })
    }

    /// Whether spent rows are searched among the first rows in the order of claims.
    ///
    /// MySQL has no partial index of spent rows, and the whole backlog is too much to read every minute. Claims skip
    /// spent rows and claim those around them, so spent rows come to the front of the order of claims, which has an
    /// index.
    fn has_a_front(&self) -> bool {
        let plain = self.group().is_none() && self.stage.ready.len() == 1;
        self.dialect == Dialect::Mysql && plain && self.stage.lease.by != LeaseBy::Due
    }

    /// Returns the scripts of the contract's sweeps.
    pub fn sweeps(&self) -> Vec<MoveSome> {
        let sweep = |sweep| {
            let sweep: &Sweep = sweep;
            let bound = |column: &String| self.comparable(column, &Shift::NOW);
            let (conditions, order) = match &sweep.when {
                When::OlderThan { since, .. } if sweep.only_with_queue => {
                    (self.is_stale(sweep), Some(self.instant(since)))
                }
                When::Always => (self.rare_conditions(&sweep.from), None),
                When::OlderThan { age, since } => {
                    let old =
                        format!("{} < {}", self.instant(since), self.comparable(since, &Shift::back(*age)));
                    let conditions = self.rare_conditions(&sweep.from).into_iter().chain([old]).collect();
                    (conditions, None)
                }
                When::At { column } if sweep.publish => {
                    let key = self.publishing_key(column);
                    let reached = format!("{key} <= {}", bound(column));
                    match self.dialect {
                        Dialect::Mysql => {
                            (vec![format!("({} IS NULL OR {reached})", self.col(column))], None)
                        }
                        Dialect::Postgres | Dialect::Sqlite => {
                            (self.scheduled_rule(column).into_iter().chain([reached]).collect(), Some(key))
                        }
                    }
                }
                // The first condition follows from the second, but is needed to match the partial index.
                When::At { column } => {
                    let reached = format!("{} <= {}", self.instant(column), bound(column));
                    (vec![self.is_set(column), reached], None)
                }
                When::Before { column } => {
                    let ahead = |time: &str| format!("{time} > {}", bound(column));
                    match self.scheduled_rule(column) {
                        Some(rule) => {
                            (vec![rule, self.is_set(column), ahead(&self.publishing_key(column))], None)
                        }
                        None => (vec![self.is_set(column), ahead(&self.instant(column))], None),
                    }
                }
            };
            let step = self.contract.sweep_move(self.stage, sweep);
            let lookup = if sweep.only_with_queue { self.lost_lookup() } else { Lookup::Index };
            let pick = Pick::Some { conditions, order, since: Vec::new(), lookup };
            MoveSome { script: self.picked(step, &[Transition::Swept], sweep.reason.as_deref(), &pick) }
        };
        self.contract.sweeps.iter().map(sweep).collect()
    }

    /// Returns the condition of one index for two sweeps: the rows to publish at a time, and the rows that another program
    /// has written as ready before that time. `None` if the contract does not have both, and on MySQL.
    pub fn scheduled_rule(&self, column: &str) -> Option<String> {
        let state_of = |matches: &dyn Fn(&Sweep) -> bool| match self
            .contract
            .sweeps
            .iter()
            .find(|s| matches(s))?
            .from
            .as_slice()
        {
            [state] => match self.contract.state(*state).conditions.as_slice() {
                [(_, Condition::Is(_))] => Some(*state),
                _ => None,
            },
            _ => None,
        };
        if self.dialect == Dialect::Mysql {
            return None;
        }
        let published = state_of(&|sweep| {
            sweep.publish && matches!(&sweep.when, When::At { column: at } if at == column)
        })?;
        let early = state_of(&|sweep| matches!(&sweep.when, When::Before { column: at } if at == column))?;
        let (published, early) =
            (self.in_state(published, Lookup::Index), self.in_state(early, Lookup::Index));
        Some(format!("(({published}) OR ({early} AND {}))", self.is_set(column)))
    }

    /// Returns the time at which a row is handed to a queue, for an index; NULL means at once.
    ///
    /// MySQL reads a condition with NULL as one range without this.
    pub fn publishing_key(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Mysql => self.instant(column),
            Dialect::Postgres | Dialect::Sqlite => self.instant_or_first(column),
        }
    }
}
