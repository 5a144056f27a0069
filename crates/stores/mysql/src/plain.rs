//! Executes statements on the internal tables.

use futures::TryStreamExt as _;
use postrider_seams::store::Error;
use postrider_sql::plain::{Answer, Answers, Arg, Plain, Statement};
use postrider_sql::run::Patience;
use postrider_sql::{Dialect, bind};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _};

use crate::connect::Database;
use crate::script::values;
use crate::session::rolled_back;

impl Plain for Database {
    fn dialect(&self) -> Dialect {
        Dialect::Mysql
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
        let outcome = lease.bound(self.patience).run(transact_on(&mut lease, statements)).await;
        lease.end(outcome)
    }
}

/// Runs the statements on a connection. A single statement needs no explicit transaction.
async fn transact_on(
    connection: &mut MySqlConnection,
    statements: &[Statement],
) -> Result<Vec<Answer>, sqlx::Error> {
    if let [statement] = statements {
        return Ok(vec![answered(connection, statement).await?]);
    }
    let mut transaction = connection.begin().await?;
    let mut answers = Vec::with_capacity(statements.len());
    for statement in statements {
        match answered(&mut transaction, statement).await {
            Ok(answer) => answers.push(answer),
            Err(cause) => return Err(rolled_back(transaction, cause).await),
        }
    }
    transaction.commit().await?;
    Ok(answers)
}

async fn answered(connection: &mut MySqlConnection, statement: &Statement) -> Result<Answer, sqlx::Error> {
    let query = sqlx::query(AssertSqlSafe(statement.sql.clone()));
    let query = statement.args.iter().cloned().fold(query, |query, arg| match arg {
        Arg::Text(text) => query.bind(text.map(bind::without_nul)),
        Arg::Int(number) => query.bind(number),
        Arg::Flag(flag) => query.bind(flag),
    });
    let mut answer = Answer::default();
    let mut stream = connection.fetch_many(query);
    while let Some(step) = stream.try_next().await? {
        match step {
            Either::Left(done) => answer.changed += done.rows_affected(),
            Either::Right(row) => answer.rows.push(values(&row)),
        }
    }
    Ok(answer)
}
