//! The mails that the application writes.

use crate::crash::producer::Rows;
use crate::support::sql::Sql;

pub fn mails() -> Rows {
    Rows { insert: Box::new(insert), find }
}

fn insert(sql: &Sql, numbers: std::ops::Range<u32>) -> String {
    let rows: Vec<String> = numbers.map(|number| row(sql, number)).collect();
    format!(
        "INSERT INTO mail_outbox (idempotency_key, from_address, to_addresses, subject, body_text, next_attempt_at) \
         VALUES {}",
        rows.join(", ")
    )
}

fn find(number: u32) -> String {
    format!("mail_outbox WHERE idempotency_key = '{}'", key(number))
}

/// The row of a mail; the relay answers most mails slowly, so that a kill hits some in flight.
fn row(sql: &Sql, number: u32) -> String {
    let slow = if number.is_multiple_of(10) { "" } else { "slow-0.04-" };
    format!(
        "('{}', 'app@example.org', '{slow}{number}@example.net', '{}', 'Number {number}.', {})",
        key(number),
        subject(number),
        sql.now()
    )
}

pub fn key(number: u32) -> String {
    format!("order-{number:06}")
}

pub fn subject(number: u32) -> String {
    format!("Your order {number:06}")
}
