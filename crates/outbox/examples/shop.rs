//! A shop that receives orders: `cargo run -p postrider-outbox --example shop`.
//!
//! Each order, its record for the broker and its mail are written in one transaction: all of them are committed, or
//! none.

use std::error::Error;
use std::io::Write as _;

use postrider_contract::Contract;
use postrider_outbox::{Mail, Record};
use postrider_sql::{Dialect, ddl};
use sqlx::{AssertSqlSafe, SqlitePool};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let shop = open(&format!("sqlite:{}?mode=rwc", folder.path().join("shop.db").display())).await?;
    let mut out = std::io::stdout().lock();

    for (id, customer, total) in
        [(1, "ann@example.org", 99), (2, "bob@example.org", 25), (3, "cy@example.org", 0)]
    {
        match take_order(&shop, id, customer, total).await {
            Ok(()) => writeln!(out, "order {id} of {customer} is taken")?,
            Err(problem) => writeln!(out, "order {id} of {customer} is rolled back: {problem}")?,
        }
    }
    // If a customer clicks twice or a request is repeated, no second mail is sent.
    remind(&shop, 1, "ann@example.org").await?;
    remind(&shop, 1, "ann@example.org").await?;

    for (table, line) in [
        ("orders", "'#' || id || ' ' || total"),
        ("outbox", "topic || ' ' || partition_key || ' ' || payload || ' ' || status"),
        ("mail_outbox", "to_addresses || ' ' || subject || ' ' || status"),
    ] {
        writeln!(out, "\n{table}")?;
        let query = format!("SELECT {line} FROM {table} ORDER BY id");
        for row in sqlx::query_scalar::<_, String>(AssertSqlSafe(query)).fetch_all(&shop).await? {
            writeln!(out, "  {row}")?;
        }
    }
    Ok(())
}

/// Creates the tables as `postrider migrate` does. An application with its own migrations copies the statements from
/// `postrider migrate --print`.
async fn open(url: &str) -> Result<SqlitePool, Box<dyn Error>> {
    let pool = SqlitePool::connect(url).await?;
    sqlx::query(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total INTEGER NOT NULL)",
    )
    .execute(&pool)
    .await?;
    for name in ["outbox", "mail_outbox"] {
        let contract = Contract::parse(name, Contract::builtin(name).ok_or("no such contract")?)?;
        for statement in ddl::create(&contract, Dialect::Sqlite)? {
            sqlx::query(AssertSqlSafe(statement)).execute(&pool).await?;
        }
    }
    Ok(pool)
}

async fn take_order(shop: &SqlitePool, id: i64, customer: &str, total: i64) -> Result<(), Box<dyn Error>> {
    let mut transaction = shop.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("INSERT INTO orders (id, customer, total) VALUES (?, ?, ?)")
        .bind(id)
        .bind(customer)
        .bind(total)
        .execute(&mut *transaction)
        .await?;
    Record::topic("orders")
        .key(customer)
        .payload(format!(r#"{{"order":{id},"total":{total}}}"#))
        .idempotency_key(format!("order-{id}-taken"))
        .enqueue(&mut *transaction)
        .await?;
    Mail::to(customer)
        .from("Shop <shop@example.com>")
        .subject(format!("Your order {id}"))
        .text("Thank you.")
        .idempotency_key(format!("order-{id}-confirmation"))
        .enqueue(&mut *transaction)
        .await?;
    if total == 0 {
        // Dropping the transaction rolls it back, including the record and the mail.
        return Err("nothing was bought".into());
    }
    transaction.commit().await?;
    Ok(())
}

async fn remind(shop: &SqlitePool, id: i64, customer: &str) -> Result<(), Box<dyn Error>> {
    let mut transaction = shop.begin_with("BEGIN IMMEDIATE").await?;
    let reminder = Mail::to(customer)
        .from("Shop <shop@example.com>")
        .subject(format!("How was order {id}?"))
        .text("Tell us.")
        .delay(std::time::Duration::from_hours(24))
        .idempotency_key(format!("order-{id}-reminder"));
    reminder.enqueue(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}
