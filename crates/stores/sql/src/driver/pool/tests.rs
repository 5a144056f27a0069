use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

use super::*;

/// A driver whose connections are numbers; tests make them silent, fail, or refuse to open.
#[derive(Default)]
struct Fake {
    opened: AtomicU32,
    refusals: AtomicU32,
    open: Arc<AtomicUsize>,
}

struct Line {
    number: u32,
    in_transaction: bool,
    open: Arc<AtomicUsize>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.open.fetch_sub(1, SeqCst);
    }
}

#[derive(Debug, PartialEq)]
enum Failure {
    Statement,
    Lost,
    ReadOnly,
    Refused,
    NoConnection,
    NoAnswer,
    Closed,
}

struct Failures;

impl Connect for Fake {
    type Connection = Line;
    type Errors = Failures;

    async fn connect(&self) -> Result<Line, Failure> {
        if self.refusals.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(Failure::Refused);
        }
        self.open.fetch_add(1, SeqCst);
        let number = self.opened.fetch_add(1, SeqCst) + 1;
        Ok(Line { number, in_transaction: false, open: Arc::clone(&self.open) })
    }

    async fn close(&self, connection: Line) {
        drop(connection);
    }

    fn is_clean(&self, connection: &Line) -> bool {
        !connection.in_transaction
    }
}

impl DriverErrors for Failures {
    type Error = Failure;

    fn is_collision(_: &Failure) -> bool {
        false
    }

    fn is_missing_table(_: &Failure) -> bool {
        false
    }

    fn keeps_session(error: &Failure) -> bool {
        *error == Failure::Statement
    }

    fn affects_all_connections(error: &Failure) -> bool {
        *error == Failure::ReadOnly
    }

    fn is_starting_up(error: &Failure) -> bool {
        *error == Failure::Refused
    }

    fn no_connection() -> Failure {
        Failure::NoConnection
    }

    fn no_answer(_: Duration) -> Failure {
        Failure::NoAnswer
    }

    fn closed() -> Failure {
        Failure::Closed
    }
}

fn pool(connections: u32) -> Pool<Fake> {
    let limits = Limits {
        connections,
        row_call_timeout: SHORT,
        acquire: SHORT,
        connect: SHORT,
        lifetime: None,
        idle: None,
    };
    Pool::new(Fake::default(), limits)
}

const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(30);

/// Makes a call with this outcome, and returns the number of the connection that it used.
async fn call(pool: &Pool<Fake>, outcome: Result<(), Failure>) -> (u32, Result<(), Failure>) {
    let connection = pool.acquire().await.expect("a connection");
    let number = connection.number;
    let outcome = connection.deadline(SHORT).run(async { outcome }).await;
    (number, connection.end(outcome))
}

async fn hang(pool: &Pool<Fake>, within: Duration) -> Result<(), Failure> {
    let connection = pool.acquire().await?;
    let outcome = connection.deadline(within).run(std::future::pending()).await;
    connection.end(outcome)
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_used_again_after_calls_that_left_nothing_open() {
    let pool = pool(2);
    assert_eq!(call(&pool, Ok(())).await, (1, Ok(())));
    assert_eq!(call(&pool, Err(Failure::Statement)).await, (1, Err(Failure::Statement)));
    assert_eq!(call(&pool, Err(Failure::Lost)).await, (1, Err(Failure::Lost)));
    assert_eq!(call(&pool, Ok(())).await.0, 2, "a lost connection is not used again");
}

#[tokio::test(start_paused = true)]
async fn a_connection_left_in_a_transaction_is_dropped() {
    let pool = pool(1);
    let mut connection = pool.acquire().await.expect("a connection");
    connection.in_transaction = true;
    assert_eq!(connection.end(Err::<(), _>(Failure::Statement)), Err(Failure::Statement));
    assert_eq!(call(&pool, Ok(())).await.0, 2);
    assert_eq!(pool.connector().open.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_drops_its_connection() {
    let pool = pool(1);
    assert!(timeout(Duration::from_secs(1), hang(&pool, LONG)).await.is_err());
    assert_eq!(call(&pool, Ok(())).await.0, 2);
}

#[tokio::test(start_paused = true)]
async fn a_missed_deadline_drops_idle_connections_too() {
    let pool = pool(3);
    let connections =
        [pool.acquire().await, pool.acquire().await].map(|connection| connection.expect("a connection"));
    for connection in connections {
        connection.end(Ok(())).expect("it ends well");
    }
    let begun = Instant::now();
    assert_eq!(hang(&pool, SHORT).await, Err(Failure::NoAnswer));
    assert_eq!(begun.elapsed(), SHORT);
    assert_eq!(call(&pool, Ok(())).await.0, 3, "the idle one is as suspect as the one that hung");
}

#[tokio::test(start_paused = true)]
async fn a_read_only_session_takes_all_others_with_it() {
    let pool = pool(8);
    let mut connections = Vec::new();
    for _ in 0..8 {
        connections.push(pool.acquire().await.expect("a connection"));
    }
    for connection in connections {
        connection.end(Ok(())).expect("it ends well");
    }
    assert_eq!(call(&pool, Err(Failure::ReadOnly)).await.1, Err(Failure::ReadOnly));
    assert_eq!(call(&pool, Ok(())).await, (9, Ok(())), "none of the other seven is tried");
    assert_eq!(pool.connector().open.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn long_calls_that_hang_leave_room_for_others() {
    let pool = pool(2);
    let long = tokio::spawn({
        let pool = pool.clone();
        async move { hang(&pool, LONG).await }
    });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    assert_eq!(hang(&pool, SHORT).await, Err(Failure::NoAnswer));
    // Both places are free, although the long call still waits for its answer.
    let (first, second) = (pool.acquire().await, pool.acquire().await);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(begun.elapsed(), SHORT);
    assert_eq!(long.await.expect("it does not panic"), Err(Failure::NoAnswer));
    drop((first, second));
    assert_eq!(call(&pool, Ok(())).await.1, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_row_call_on_a_suspect_connection_ends_within_a_second() {
    let pool = pool(4);
    let first = tokio::spawn({
        let pool = pool.clone();
        async move { hang(&pool, SHORT).await }
    });
    tokio::time::sleep(SHORT.mul_f64(0.8)).await;
    let late = Instant::now();
    let call = |within| {
        let pool = pool.clone();
        async move { (hang(&pool, within).await, late.elapsed()) }
    };
    // The first call reports that the server is gone one second after these two began.
    let ((row_call, end), (patient, patient_end)) = tokio::join!(call(SHORT), call(LONG));
    assert_eq!(first.await.expect("it does not panic"), Err(Failure::NoAnswer));
    assert_eq!((row_call, end), (Err(Failure::NoAnswer), Duration::from_secs(2)));
    assert_eq!((patient, patient_end), (Err(Failure::NoAnswer), LONG), "maintenance keeps its own limit");
}

#[tokio::test(start_paused = true)]
async fn a_late_deadline_spares_connections_opened_since() {
    let pool = pool(3);
    let late = tokio::spawn({
        let pool = pool.clone();
        async move { hang(&pool, LONG).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(hang(&pool, SHORT).await, Err(Failure::NoAnswer));
    let (number, _) = call(&pool, Ok(())).await;
    assert_eq!(late.await.expect("it does not panic"), Err(Failure::NoAnswer));
    assert_eq!(call(&pool, Ok(())).await.0, number);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_connections_is_waited_for() {
    let pool = pool(1);
    pool.connector().refusals.store(4, SeqCst);
    assert_eq!(pool.reach().await, Err(Failure::Refused), "an operator's command is not kept waiting");
    assert_eq!(call(&pool, Ok(())).await, (1, Ok(())));
    pool.connector().refusals.store(u32::MAX, SeqCst);
    assert_eq!(call(&pool, Err(Failure::Lost)).await.0, 1);
    let begun = Instant::now();
    assert_eq!(pool.acquire().await.err(), Some(Failure::Refused), "the reason, not just that time is up");
    assert!(begun.elapsed() <= Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_full_pool_ends_the_wait_and_a_closed_one_refuses() {
    let pool = pool(1);
    let connection = pool.acquire().await.expect("a connection");
    assert_eq!(pool.acquire().await.err(), Some(Failure::NoConnection));
    connection.end(Ok(())).expect("it ends well");
    pool.close().await;
    assert_eq!(pool.connector().open.load(SeqCst), 0);
    assert_eq!(pool.acquire().await.err(), Some(Failure::Closed));
}
