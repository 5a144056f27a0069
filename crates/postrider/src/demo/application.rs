//! The demo's application: a shop that writes an order and its mail in one transaction, with its own SQL.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};

use crate::failure::Failure;

/// Orders per transaction.
const ORDERS_PER_TRANSACTION: u32 = 5;
/// Time over which all transactions are spread.
const WRITING_TIME: Duration = Duration::from_secs(4);
/// Every so many transactions one is rolled back, which leaves neither order nor mail.
const ROLL_BACK_EVERY: u32 = 12;

/// The application, with its own connection pool.
#[derive(Clone)]
pub struct Application {
    pool: SqlitePool,
    rows: u32,
    /// The URL of the webhooks, and the account that signs them.
    url: String,
    account: String,
}

/// The application's own record of what it wrote.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub transactions: u32,
    /// Addresses of orders that were rolled back, to which no mail may ever be sent.
    pub rolled_back: Vec<String>,
}

/// Rows by state, counted with plain SQL.
#[derive(Debug, Clone, Default)]
pub struct RowCounts {
    pub queued: u64,
    pub claimed: u64,
    pub sent: u64,
    pub failed: u64,
    /// Rows that were tried more than once, or are about to be.
    pub retried: u64,
}

impl RowCounts {
    /// All rows.
    pub fn all(&self) -> u64 {
        self.live() + self.sent + self.failed
    }

    /// Rows that are not in a final state.
    pub fn live(&self) -> u64 {
        self.queued + self.claimed
    }
}

impl Application {
    /// Opens the database file in `folder` and creates its table of orders; `rows` is the number of orders to write.
    pub async fn open(folder: &Path, rows: u32, url: String, account: String) -> Result<Self, Failure> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join("app.db"))
            .busy_timeout(Duration::from_secs(10))
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
        let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await?;
        sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL)")
            .execute(&pool)
            .await?;
        Ok(Self { pool, rows, url, account })
    }

    /// The application's connections.
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// The number of orders to write.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Writes all orders, some of them in transactions that it rolls back.
    pub async fn write_orders(self) -> Result<Written, Failure> {
        let mut written = Written::default();
        let transactions = self.rows.div_ceil(ORDERS_PER_TRANSACTION);
        let pause = WRITING_TIME / transactions;
        for first in (0..self.rows).step_by(ORDERS_PER_TRANSACTION as usize) {
            let orders = first..(first + ORDERS_PER_TRANSACTION).min(self.rows);
            self.transaction(orders.map(address).collect::<Vec<_>>().as_slice(), true).await?;
            written.transactions += 1;
            if written.transactions % ROLL_BACK_EVERY == 0 {
                let given_up = format!("changed-my-mind-{}@customers.example", written.transactions);
                self.transaction(std::slice::from_ref(&given_up), false).await?;
                written.rolled_back.push(given_up);
            }
            tokio::time::sleep(pause).await;
        }
        Ok(written)
    }

    async fn transaction(&self, customers: &[String], commit: bool) -> Result<(), Failure> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        for customer in customers {
            sqlx::query("INSERT INTO orders (customer) VALUES (?)")
                .bind(customer)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(
                "INSERT INTO mail_outbox (to_addresses, subject, body_text, status, retry_count, next_attempt_at, created_at) \
                 VALUES (?, 'Thank you for your order', 'It is on its way.', 'queued', 0, \
                 strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
            )
            .bind(customer)
            .execute(&mut *transaction)
            .await?;
        }
        // One webhook informs the warehouse of all of them.
        let payload = serde_json::json!({ "customers": customers }).to_string();
        sqlx::query(
            "INSERT INTO dispatch_jobs (id, code, source, target_url, payload, service_account_id) \
             VALUES (?, 'shop:orders:order:created', 'shop', ?, ?, ?)",
        )
        .bind(postrider_sql::bind::tsid())
        .bind(&self.url)
        .bind(payload)
        .bind(&self.account)
        .execute(&mut *transaction)
        .await?;
        Ok(if commit { transaction.commit().await } else { transaction.rollback().await }?)
    }

    /// The number of webhooks that are not delivered yet.
    pub async fn webhooks_left(&self) -> Result<i64, Failure> {
        let left = "SELECT COUNT(*) FROM dispatch_jobs WHERE status <> 'COMPLETED'";
        Ok(sqlx::query_as::<_, (i64,)>(left).fetch_one(&self.pool).await?.0)
    }

    /// The customers of the rows that workers hold.
    pub async fn held(&self) -> Result<Vec<String>, Failure> {
        let rows: Vec<(String,)> =
            sqlx::query_as("SELECT to_addresses FROM mail_outbox WHERE status = 'dispatching'")
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(address,)| address).collect())
    }

    /// Counts the rows over the application's own connection.
    pub async fn count_rows(&self) -> Result<RowCounts, Failure> {
        let rows: Vec<(String, i64, i64)> =
            sqlx::query_as("SELECT status, COUNT(*), SUM(retry_count > 0) FROM mail_outbox GROUP BY status")
                .fetch_all(&self.pool)
                .await?;
        let mut counts = RowCounts::default();
        for (status, count, retried) in rows {
            let count = u64::try_from(count).unwrap_or(0);
            counts.retried += u64::try_from(retried).unwrap_or(0);
            match status.as_str() {
                "queued" => counts.queued = count,
                "dispatching" => counts.claimed = count,
                "sent" => counts.sent = count,
                _ => counts.failed += count,
            }
        }
        Ok(counts)
    }
}

/// The address of an order: most are accepted, some refused temporarily, few permanently, and one is no address.
fn address(order: u32) -> String {
    match order {
        7 => "this is not an address".to_owned(),
        _ if order % 100 == 50 => format!("nobody-{order}@customers.example"),
        _ if order % 200 == 120 => format!("full-{order}@customers.example"),
        _ if order % 10 == 3 => format!("later-{order}@customers.example"),
        _ => format!("customer-{order}@customers.example"),
    }
}
