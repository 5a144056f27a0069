//! The statements whose query plans show whether a claim reads more rows than it claims.

use crate::bind::Limit;
use crate::driver::Driver;
use crate::driver::execute::Statement;
use crate::groups::cursor::SearchPlan;
use crate::groups::params::{GroupClaimParams, GroupSearchParams};
use crate::open_table::OpenTable;
use crate::pools::permits::{FairKey, OpenPools, PoolPermits};
use crate::pools::statements::{BETWEEN, ShareSearch};
use crate::typed::Params;
use crate::{Dialect, Script};

/// The number of rows and groups that they ask for.
const ASKED: u32 = 100;

impl OpenTable {
    /// Returns the statements that pick the rows of a claim, with their values.
    pub fn picks(&self, on: &impl Driver) -> Vec<Statement> {
        match (&self.statements.shares, on.dialect()) {
            (Some(shares), Dialect::Postgres) => {
                let share = FairKey { key: format!("f{BETWEEN}"), limited: None, most: ASKED };
                let permits =
                    PoolPermits::new(vec![share], OpenPools::default(), self.statements.layout.pool);
                return values(on, &shares.take.script, &self.claiming(permits));
            }
            (Some(shares), Dialect::Sqlite) => {
                return values(on, &shares.first.script, &ShareSearch { cursor: None, limit: ASKED });
            }
            _ => {}
        }
        let params = self.claiming(Limit(ASKED));
        let first = self.statements.claim.iter().filter_map(|claim| claim.script.steps.first());
        first.map(|step| step.bind_values(on.dialect(), on.owner(), &params, &[])).collect()
    }

    /// Returns the statements that search for ordered groups, with their values. On PostgreSQL they also pick the rows.
    pub fn group_picks(&self, on: &impl Driver) -> Vec<Statement> {
        let Some(groups) = &self.statements.groups else { return Vec::new() };
        let plan = SearchPlan { wanted: ASKED, jumps: ASKED, fresh: ASKED, cursor: None, run: 1 };
        let permits = PoolPermits::new(Vec::new(), OpenPools::default(), self.statements.layout.pool);
        let search = GroupSearchParams { plan, permits };
        let scripts = &groups.after;
        if let Some(find) = &scripts.find {
            return values(on, &find.script, &search);
        }
        let params = GroupClaimParams::new(search, ASKED, Vec::new(), Vec::new());
        values(on, &scripts.take.script, &self.claiming(params))
    }
}

fn values(on: &impl Driver, script: &Script, params: &impl Params) -> Vec<Statement> {
    script.steps.iter().map(|step| step.bind_values(on.dialect(), on.owner(), params, &[])).collect()
}
