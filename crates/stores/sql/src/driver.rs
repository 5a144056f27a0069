//! What a database provides, and how calls run on it.
//!
//! A database implements [`Driver`]: its connections, begin, execute, commit, and its error classes. How a call uses
//! them is written here, once: it takes a connection, runs its statements within the deadline, in a transaction if
//! there are several, and is retried after a deadlock or serialization failure.
//!
//! Must not: know what a statement means. Invariant: the statements of one call are all committed, or none of them is.

pub mod errors;
pub mod execute;
pub(crate) mod list;
mod over_sqlx;
pub mod pool;
mod retry;
mod script;

use std::ops::DerefMut;
use std::time::Duration;

use postrider_seams::WakeUps;
use postrider_seams::store::Error;

pub use retry::{Retries, Retry};

use self::errors::DriverErrors;
use self::execute::{Answer, Statement};
use self::pool::{Connect, Pool};
use self::script::{ScriptOutput, Scripts};
use crate::typed::{Columns, Params, Row, TypedScript};
use crate::{Dialect, Script};

/// Whether a call writes. Only SQLite distinguishes: reads do not wait for its one writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// A SQL database with a pool of connections.
pub trait Driver: Clone + Send + Sync + 'static {
    const DIALECT: Dialect;

    type Connection: Send + 'static;
    type Error: Send + 'static;
    type Errors: DriverErrors<Error = Self::Error>;
    type Connect: Connect<Connection = Self::Connection, Errors = Self::Errors>;
    type Transaction<'c>: DerefMut<Target = Self::Connection> + Send;

    /// This worker's id.
    fn owner(&self) -> &str;

    /// Returns the same database for calls that may take long: maintenance and operators' calls.
    #[must_use]
    fn with_long_deadline(&self) -> Self;

    /// Returns the lanes of this process on this database, to wake them. Clones of the database share them.
    fn wake_ups(&self) -> &WakeUps;

    /// Returns the connections for reads or for writes.
    fn pool(&self, access: Access) -> &Pool<Self::Connect>;

    /// Time limit of a call.
    fn deadline(&self) -> Duration;

    /// Returns how often, or how long, a call that collided with another one is retried.
    fn retries(&self) -> Retries {
        Retries::OF_SERVERS
    }

    /// Fails at once, with the reason, if the server cannot be reached.
    fn reach(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async { self.pool(Access::Read).reach().await.map_err(|cause| self.error("connect", cause)) }
    }

    /// Whether a single statement runs without an explicit transaction.
    fn runs_alone(&self) -> bool {
        true
    }

    /// Begins a transaction.
    fn begin<'c>(
        &self,
        connection: &'c mut Self::Connection,
        access: Access,
    ) -> impl Future<Output = Result<Self::Transaction<'c>, Self::Error>> + Send;

    /// Commits a transaction.
    fn commit(transaction: Self::Transaction<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Rolls back because of `cause`, and returns the error to report.
    fn roll_back(
        transaction: Self::Transaction<'_>,
        cause: Self::Error,
    ) -> impl Future<Output = Self::Error> + Send;

    /// Runs one statement, and returns its rows and how many rows it changed.
    fn execute(
        &self,
        connection: &mut Self::Connection,
        statement: &Statement,
    ) -> impl Future<Output = Result<Answer, Self::Error>> + Send;

    /// Converts an error to one of the store; `doing` completes "could not …".
    fn error(&self, doing: &str, cause: Self::Error) -> Error;

    /// Returns the SQL dialect of the database.
    fn dialect(&self) -> Dialect {
        Self::DIALECT
    }

    /// Runs a script in a transaction, and returns its rows.
    ///
    /// `doing` completes "could not …" in error messages.
    fn fetch<P: Params, S: TypedScript<P>>(
        &self,
        doing: &str,
        script: &S,
        params: P,
    ) -> impl Future<Output = Result<Vec<S::Row>, Error>> + Send {
        async move { Ok(self.run(doing, script, params).await?.0) }
    }

    /// Returns also the parameters, with what they kept of the script's steps.
    fn run<P: Params, S: TypedScript<P>>(
        &self,
        doing: &str,
        script: &S,
        params: P,
    ) -> impl Future<Output = Result<(Vec<S::Row>, P), Error>> + Send {
        async move {
            let calls = [(script.script(), params)];
            let work = Scripts { calls: &calls, access: script.access() };
            let (output, params) = call(self, doing, &work).await?.pop().expect("one result per script");
            Ok((rows_of(script, output), params))
        }
    }

    /// Runs scripts one after another in one transaction, and returns the rows of each.
    fn fetch_all<P: Params, S: TypedScript<P>>(
        &self,
        doing: &str,
        calls: &[(&S, P)],
    ) -> impl Future<Output = Result<Vec<Vec<S::Row>>, Error>> + Send {
        async move {
            let scripts: Vec<(&Script, P)> =
                calls.iter().map(|(script, params)| (script.script(), params.clone())).collect();
            let done = call(self, doing, &Scripts { calls: &scripts, access: Access::Write }).await?;
            let rows = calls.iter().zip(done).map(|((script, _), (output, _))| rows_of(*script, output));
            Ok(rows.collect())
        }
    }

    /// Runs one statement, and returns its rows.
    fn rows(
        &self,
        doing: &str,
        access: Access,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send {
        execute::rows(self, doing, access, statement)
    }

    /// Runs one statement on the internal tables; returns `None` if the table does not exist.
    fn internal(
        &self,
        doing: &str,
        access: Access,
        statement: Statement,
    ) -> impl Future<Output = Result<Option<Vec<Row>>, Error>> + Send {
        execute::internal(self, doing, access, statement)
    }
}

/// Reads the rows of a result; those without a usable key are left out.
fn rows_of<P: Params, S: TypedScript<P>>(script: &S, output: ScriptOutput) -> Vec<S::Row> {
    let rows = output.rows.into_iter();
    let mut rows: Vec<S::Row> = rows.filter_map(|row| script.read(Columns::new(row))).collect();
    if !output.order.is_empty() {
        script.sort(&mut rows, &output.order);
    }
    rows
}

/// What a call does on its connection.
pub(crate) trait Work: Sync {
    type Output: Send;

    fn access(&self) -> Access;

    /// Whether the work needs no explicit transaction where a single statement needs none.
    fn is_single(&self) -> bool;

    /// Runs the statements; after a collision it is called again.
    fn run<D: Driver>(
        &self,
        driver: &D,
        connection: &mut D::Connection,
    ) -> impl Future<Output = Result<Self::Output, D::Error>> + Send;
}

/// Runs the work, and retries it after a collision.
pub(crate) async fn call<D: Driver, W: Work>(driver: &D, doing: &str, work: &W) -> Result<W::Output, Error> {
    let mut retry = Retry::new(driver, doing);
    loop {
        match attempt(driver, work).await {
            Ok(output) => return Ok(output),
            Err(cause) => retry.wait(cause).await?,
        }
    }
}

/// Runs the work once, on a connection of the pool, within the deadline.
pub(crate) async fn attempt<D: Driver, W: Work>(driver: &D, work: &W) -> Result<W::Output, D::Error> {
    let mut connection = driver.pool(work.access()).acquire().await?;
    let outcome = connection.deadline(driver.deadline()).run(run_on(driver, &mut connection, work)).await;
    connection.end(outcome)
}

async fn run_on<D: Driver, W: Work>(
    driver: &D,
    connection: &mut D::Connection,
    work: &W,
) -> Result<W::Output, D::Error> {
    if driver.runs_alone() && work.is_single() {
        return work.run(driver, connection).await;
    }
    let mut transaction = driver.begin(connection, work.access()).await?;
    match work.run(driver, &mut *transaction).await {
        Ok(output) => D::commit(transaction).await.map(|()| output),
        Err(cause) => Err(D::roll_back(transaction, cause).await),
    }
}
