//! The jobs that the application writes: half of them in groups that hold while their head fails.

use std::ops::Range;

use crate::crash::producer::Rows;
use crate::rig::sql::Sql;

const GROUPS: u32 = 20;

pub fn jobs(url: String) -> Rows {
    Rows { insert: Box::new(move |sql, numbers| insert(sql, &url, numbers)), find }
}

fn find(number: u32) -> String {
    format!("dispatch_jobs WHERE id = '{}'", id(number))
}

fn insert(sql: &Sql, url: &str, numbers: Range<u32>) -> String {
    let columns = [
        "id",
        "code",
        "target_url",
        "payload",
        "client_id",
        "message_group",
        "mode",
        "sequence",
        "max_retries",
        "retry_strategy",
    ];
    let columns: Vec<String> = columns.iter().map(|column| sql.quoted(column)).collect();
    let rows: Vec<String> = numbers.map(|number| row(url, number)).collect();
    format!("INSERT INTO dispatch_jobs ({}) VALUES {}", columns.join(", "), rows.join(", "))
}

fn row(url: &str, number: u32) -> String {
    let (group, mode) = match group(number) {
        Some(group) => (format!("'{group}'"), "BLOCK_ON_ERROR"),
        None => ("NULL".to_owned(), "IMMEDIATE"),
    };
    format!(
        "('{}', 'shop:orders:order:created', '{url}', '{{\"number\": {number}}}', 'shop', {group}, '{mode}', {number}, \
         100, '[0.2]')",
        id(number)
    )
}

pub fn id(number: u32) -> String {
    format!("J{number:012}")
}

pub fn number(id: &str) -> Option<u32> {
    id.strip_prefix('J')?.parse().ok()
}

pub fn group(number: u32) -> Option<String> {
    number.is_multiple_of(2).then(|| format!("group-{}", number / 2 % GROUPS))
}

/// The receiver takes it only when it comes again.
pub fn is_refused_at_first(id: &str) -> bool {
    number(id).is_some_and(|number| number % 7 == 3)
}
