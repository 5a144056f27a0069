//! The scratch tables of `bench`: two tables shaped like `mail_outbox` that nothing else uses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use postrider_contract::Contract;
use postrider_seams::Value;
use postrider_seams::migrate::MigrateOptions;
use postrider_sql::driver::execute::{Execute, Statement};

use super::rate;
use crate::commands::CommandContext;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::settings::LaneSettings;
use crate::wiring::LaneTable;

/// Rows of one claim, the size that a lane reaches whose target keeps up.
pub const BATCH: u32 = 500;

/// Time for which commits are counted.
const COMMITS: Duration = Duration::from_secs(1);

/// Two scratch tables on the store of one lane; [`ScratchTables::drop_all`] removes them.
pub struct ScratchTables<'a> {
    context: &'a CommandContext,
    database: Arc<dyn Execute>,
    lanes: [LaneSettings; 2],
}

impl<'a> ScratchTables<'a> {
    /// Names two new tables on the store of this lane; [`ScratchTables::fill`] creates them.
    pub fn new(context: &'a CommandContext, lane: &LaneSettings) -> Result<Self, Failure> {
        let database = context.wiring.internal_tables(&lane.store).map_err(|_| {
            Failure::Misuse(format!(
                "store `{}` is not an SQL database: `bench` measures PostgreSQL, MySQL and SQLite",
                lane.store
            ))
        })?;
        let text = Contract::builtin("mail_outbox").expect("the contract is built in");
        let contract = Contract::parse("mail_outbox (built in)", text)?;
        let mark = rand::random::<u32>();
        let lanes = ["a", "b"].map(|which| {
            let mut contract = contract.clone();
            contract.table.name = format!("postrider_bench_{mark:08x}_{which}");
            LaneSettings { name: "bench".to_owned(), contract: Arc::new(contract), stage: 0, ..lane.clone() }
        });
        Ok(Self { context, database, lanes })
    }

    /// The name of the store.
    pub fn store(&self) -> &str {
        &self.lanes[0].store
    }

    /// The names of both tables, for messages.
    pub fn names(&self) -> String {
        format!("{} and {}", self.table(0), self.table(1))
    }

    fn table(&self, which: usize) -> &str {
        &self.lanes[which].contract.table.name
    }

    /// Opens one of the tables, 0 or 1.
    pub async fn open(&self, which: usize) -> Result<Arc<dyn LaneTable>, Failure> {
        Ok(self.context.wiring.open(&self.lanes[which]).await?)
    }

    /// Creates the table and fills it with due rows.
    pub async fn fill(&self, which: usize, rows: u64, progress: &mut Progress) -> Result<(), Failure> {
        self.context.wiring.migration(&self.lanes[which]).apply(MigrateOptions::default()).await?;
        let table = self.table(which);
        let mut left = rows;
        while left > 0 {
            let now = left.min(BATCH.into());
            let values = vec![
                "('someone@example.com', 'Your order', 'It is on its way.')";
                usize::try_from(now).unwrap_or(1)
            ];
            let values = values.join(", ");
            self.run(format!("INSERT INTO {table} (to_addresses, subject, body_text) VALUES {values}"))
                .await?;
            progress.add(now);
            left -= now;
        }
        Ok(())
    }

    /// Runs two plain updates per row in the same batches, one transaction each; returns rows per second.
    pub async fn plain_updates(
        &self,
        which: usize,
        rows: u64,
        progress: &mut Progress,
    ) -> Result<f64, Failure> {
        let table = self.table(which);
        let first = self.first(which).await?;
        let start = Instant::now();
        let mut done = 0;
        let mut from = first;
        while done < rows {
            let rows_here = format!("id >= {from} AND id < {}", from + i64::from(BATCH));
            self.run(format!("UPDATE {table} SET status = 'dispatching', last_attempt_at = CURRENT_TIMESTAMP WHERE {rows_here}")).await?;
            self.run(format!(
                "UPDATE {table} SET status = 'sent', sent_at = CURRENT_TIMESTAMP WHERE {rows_here}"
            ))
            .await?;
            let now = (rows - done).min(BATCH.into());
            progress.add(now);
            done += now;
            from += i64::from(BATCH);
        }
        Ok(rate(rows, start))
    }

    /// Commits the smallest possible writes one after another; returns commits per second.
    pub async fn commits(&self, which: usize) -> Result<f64, Failure> {
        let (table, first) = (self.table(which), self.first(which).await?);
        let start = Instant::now();
        let mut count: u64 = 0;
        while start.elapsed() < COMMITS {
            count += 1;
            self.run(format!("UPDATE {table} SET retry_count = {count} WHERE id = {first}")).await?;
        }
        Ok(rate(count, start))
    }

    async fn first(&self, which: usize) -> Result<i64, Failure> {
        let sql = format!("SELECT MIN(id) FROM {}", self.table(which));
        let statement = [Statement { sql, args: Vec::new() }];
        let answers = self.database.transact("measure", &statement).await?;
        match answers.first().and_then(|answer| answer.rows.first()).and_then(|row| row.first()) {
            Some(Value::Int(first)) => Ok(*first),
            Some(Value::Text(first)) => {
                first.parse().map_err(|_| Failure::Failed(format!("`{first}` is not a key")))
            }
            _ => Err(Failure::Failed("the scratch table is empty".to_owned())),
        }
    }

    async fn run(&self, sql: String) -> Result<(), Failure> {
        self.database.transact("measure", &[Statement { sql, args: Vec::new() }]).await?;
        Ok(())
    }

    /// Drops both tables, whether they exist or not.
    pub async fn drop_all(&self) -> Result<(), Failure> {
        for which in 0..self.lanes.len() {
            self.run(format!("DROP TABLE IF EXISTS {}", self.table(which))).await?;
        }
        Ok(())
    }
}
