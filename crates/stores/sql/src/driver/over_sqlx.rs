//! The part of a [`Driver`](super::Driver) that is the same for every database of sqlx.

/// Writes the types of a [`Driver`](crate::driver::Driver) over sqlx, and how it commits and executes.
///
/// It is a macro, because sqlx has no trait for what its results and executors have in common, and because this crate
/// does not depend on sqlx. The store provides `Connector`, `Errors`, `bound`, which binds the arguments of a statement,
/// and `reader`, which returns a function that reads the rows of a result.
#[macro_export]
macro_rules! driver_over_sqlx {
    ($database:ty) => {
        type Connection = <$database as sqlx::Database>::Connection;
        type Error = sqlx::Error;
        type Errors = Errors;
        type Connect = Connector;
        type Transaction<'c> = sqlx::Transaction<'c, $database>;

        async fn commit(transaction: Self::Transaction<'_>) -> Result<(), sqlx::Error> {
            transaction.commit().await
        }

        async fn execute(
            &self,
            connection: &mut Self::Connection,
            statement: &$crate::driver::execute::Statement,
        ) -> Result<$crate::driver::execute::Answer, sqlx::Error> {
            let mut answer = $crate::driver::execute::Answer::default();
            let mut read = reader();
            let mut parts = sqlx::Executor::fetch_many(connection, bound(self, statement));
            while let Some(part) = futures::TryStreamExt::try_next(&mut parts).await? {
                match part {
                    sqlx::Either::Left(done) => answer.changed += done.rows_affected(),
                    sqlx::Either::Right(row) => answer.rows.push(read(&row)),
                }
            }
            Ok(answer)
        }
    };
}
