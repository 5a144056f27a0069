//! What the errors of a database mean for a call, its transaction and its connection.

use std::time::Duration;

/// The meaning of a driver's errors.
pub trait DriverErrors: Send + Sync + 'static {
    type Error: Send + 'static;

    /// Whether two transactions collided, so that this one can be retried.
    fn is_collision(error: &Self::Error) -> bool;

    /// Whether the table does not exist.
    fn is_missing_table(error: &Self::Error) -> bool;

    /// Whether only the statement failed, so that the connection is still usable.
    fn keeps_session(error: &Self::Error) -> bool;

    /// Whether this error concerns every open connection, not only the one that reported it.
    fn affects_all_connections(error: &Self::Error) -> bool;

    /// Whether the server is expected to accept connections soon: it refuses them now, or is starting.
    fn is_starting_up(error: &Self::Error) -> bool;

    /// Creates the error for a connection that could not be had in time.
    fn no_connection() -> Self::Error;

    /// Creates the error for a call that got no answer within this time: the peer may be gone.
    fn no_answer(within: Duration) -> Self::Error;

    /// Creates the error for a pool that was closed.
    fn closed() -> Self::Error;
}

/// Rolls back a transaction of a server because of `cause`, and returns the error to report. If the session is lost,
/// the server rolls back without being asked.
pub async fn roll_back<E: DriverErrors>(
    rollback: impl Future<Output = Result<(), E::Error>>,
    cause: E::Error,
) -> E::Error {
    if !E::keeps_session(&cause) {
        return cause;
    }
    match rollback.await {
        Ok(()) => cause,
        // The connection is lost, which is the more important error.
        Err(lost) => lost,
    }
}
