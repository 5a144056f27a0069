//! Runs scripts: binds the values that each step names, and passes what a step returned to the next one.

use postrider_seams::row::RowId;

use super::{Access, Driver, Work};
use crate::typed::{Accepted, Params, Row};
use crate::{Param, Script, Yields, bind};

/// Scripts that run one after another in one transaction, each with its parameters.
pub(super) struct Scripts<'a, P> {
    pub calls: &'a [(&'a Script, P)],
    pub access: Access,
}

impl<P: Params> Work for Scripts<'_, P> {
    type Output = Vec<(ScriptOutput, P)>;

    fn access(&self) -> Access {
        self.access
    }

    fn is_single(&self) -> bool {
        matches!(self.calls, [(script, _)] if script.steps.len() == 1)
    }

    async fn run<D: Driver>(
        &self,
        driver: &D,
        connection: &mut D::Connection,
    ) -> Result<Self::Output, D::Error> {
        let mut done = Vec::with_capacity(self.calls.len());
        for (script, params) in self.calls {
            done.push(run_steps(driver, connection, script, params.clone()).await?);
        }
        Ok(done)
    }
}

/// The result of a script.
#[derive(Debug, Default)]
pub(super) struct ScriptOutput {
    /// The rows of the last step that yields any.
    pub rows: Vec<Row>,
    /// Keys of the yielding step before that one, in the contract's order.
    pub order: Vec<RowId>,
    /// Keys that later steps bind as [`Param::Held`].
    held: Vec<RowId>,
}

impl ScriptOutput {
    fn add(&mut self, accepted: Accepted) {
        match accepted {
            Accepted::Result(rows) => {
                self.order = std::mem::take(&mut self.held);
                self.held = keys(&rows).collect();
                self.rows = rows;
            }
            Accepted::More(rows) => {
                self.held.extend(keys(&rows));
                self.rows.extend(rows);
            }
            Accepted::Kept => {}
            Accepted::Reset => *self = Self::default(),
        }
    }
}

async fn run_steps<D: Driver, P: Params>(
    driver: &D,
    connection: &mut D::Connection,
    script: &Script,
    mut params: P,
) -> Result<(ScriptOutput, P), D::Error> {
    let mut output = ScriptOutput::default();
    for step in &script.steps {
        if step.params.contains(&Param::Held) && output.held.is_empty() {
            continue;
        }
        for turn in 0..params.turns(step) {
            params.before(step, turn, &mut output.rows);
            let statement = step.bind_values(D::DIALECT, driver.owner(), &params, &output.held);
            let answer = driver.execute(connection, &statement).await?;
            if step.yields != Yields::Nothing {
                output.add(params.accept(step, answer.rows));
            }
        }
    }
    Ok((output, params))
}

fn keys(rows: &[Row]) -> impl Iterator<Item = RowId> {
    rows.iter().filter_map(|row| row.first().cloned().and_then(bind::key))
}
