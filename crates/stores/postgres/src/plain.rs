//! Executes statements on the internal tables.

use futures::TryStreamExt as _;
use postrider_seams::store::Error;
use postrider_sql::plain::{Answer, Answers, Arg, Plain, Statement};
use postrider_sql::run::Patience;
use postrider_sql::{Dialect, bind};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Either, Executor as _, Postgres};

use crate::connect::Database;
use crate::script::values;
use crate::session::rolled_back;

impl Plain for Database {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a> {
        Box::pin(self.transacted(doing, statements))
    }
}

impl Database {
    async fn transacted(&self, doing: &str, statements: &[Statement]) -> Result<Vec<Answer>, Error> {
        self.reach().await?;
        let mut patience = Patience::default();
        loop {
            match self.try_transact(statements).await {
                Ok(answers) => return Ok(answers),
                Err(cause) => self.bear(&mut patience, doing, cause).await?,
            }
        }
    }

    async fn try_transact(&self, statements: &[Statement]) -> Result<Vec<Answer>, sqlx::Error> {
        let mut lease = self.pool.acquire().await?;
        let outcome = lease.bound(self.patience).run(self.transact_on(&mut lease, statements)).await;
        lease.end(outcome)
    }

    /// Runs the statements on a connection. A single statement needs no explicit transaction, except behind a pooler.
    async fn transact_on(
        &self,
        connection: &mut PgConnection,
        statements: &[Statement],
    ) -> Result<Vec<Answer>, sqlx::Error> {
        let named = self.names_statements();
        if let [statement] = statements
            && named
        {
            return Ok(vec![answered(connection, statement, named).await?]);
        }
        let mut transaction = self.pool.connector().transaction(connection, self.patience).await?;
        let mut answers = Vec::with_capacity(statements.len());
        for statement in statements {
            match answered(&mut transaction, statement, named).await {
                Ok(answer) => answers.push(answer),
                Err(cause) => return Err(rolled_back(transaction, cause).await),
            }
        }
        transaction.commit().await?;
        Ok(answers)
    }
}

async fn answered(
    connection: &mut PgConnection,
    statement: &Statement,
    named: bool,
) -> Result<Answer, sqlx::Error> {
    let mut changed = 0;
    let mut rows = Vec::new();
    let mut stream = connection.fetch_many(bound(statement).persistent(named));
    while let Some(step) = stream.try_next().await? {
        match step {
            Either::Left(done) => changed += done.rows_affected(),
            Either::Right(row) => rows.push(row),
        }
    }
    Ok(Answer { rows: values(&rows), changed })
}

fn bound(statement: &Statement) -> Query<'_, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
    statement.args.iter().cloned().fold(query, |query, arg| match arg {
        Arg::Text(text) => query.bind(text.map(bind::without_nul)),
        Arg::Int(number) => query.bind(number),
        Arg::Flag(flag) => query.bind(flag),
    })
}
