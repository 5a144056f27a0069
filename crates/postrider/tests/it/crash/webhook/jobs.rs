//! The jobs of a run: half of them in groups that block while their head fails. An application writes three quarters of
//! them into the table, the others are created over the API.

use std::ops::Range;

use serde_json::{Value, json};

use crate::crash::producer::Rows;
use crate::support::sql::Sql;

const GROUPS: u32 = 20;

pub fn jobs(url: String) -> Rows {
    Rows { insert: Box::new(move |sql, numbers| insert(sql, &url, numbers)), find }
}

/// Whether the job is created over the API.
pub fn is_for_api(number: u32) -> bool {
    number % 8 < 2
}

/// Finds the first job from this number on that the application writes, to know whether they are committed.
fn find(number: u32) -> String {
    let first = (number..number + 8).find(|number| !is_for_api(*number)).expect("three quarters are");
    format!("dispatch_jobs WHERE id = '{}'", id(first))
}

/// The request body of a job for the API.
pub fn api_request(url: &str, number: u32) -> Value {
    let mut job = json!({
        "code": "shop:orders:order:created", "targetUrl": url, "payload": payload(number), "clientId": "shop",
        "sequence": number, "maxRetries": 100, "retryStrategy": "[1]", "idempotencyKey": key(number)
    });
    if let Some(group) = group(number) {
        job["messageGroup"] = group.into();
        job["mode"] = "BLOCK_ON_ERROR".into();
    }
    job
}

fn key(number: u32) -> String {
    format!("crash-{number}")
}

/// The number of a job that the API created.
pub fn number_of_key(key: &str) -> Option<u32> {
    key.strip_prefix("crash-")?.parse().ok()
}

fn payload(number: u32) -> String {
    format!("{{\"number\": {number}}}")
}

/// The number of a job, from the body that its receiver gets.
pub fn number_in(body: &str) -> Option<u32> {
    let body: Value = serde_json::from_str(body).ok()?;
    body["number"].as_u64().and_then(|number| number.try_into().ok())
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
    let rows: Vec<String> =
        numbers.filter(|number| !is_for_api(*number)).map(|number| row(url, number)).collect();
    if rows.is_empty() {
        return "SELECT 1".to_owned();
    }
    format!("INSERT INTO dispatch_jobs ({}) VALUES {}", columns.join(", "), rows.join(", "))
}

fn row(url: &str, number: u32) -> String {
    let (group, mode) = match group(number) {
        Some(group) => (format!("'{group}'"), "BLOCK_ON_ERROR"),
        None => ("NULL".to_owned(), "IMMEDIATE"),
    };
    format!(
        "('{}', 'shop:orders:order:created', '{url}', '{}', 'shop', {group}, '{mode}', {number}, 100, '[0.2]')",
        id(number),
        payload(number)
    )
}

pub fn id(number: u32) -> String {
    format!("J{number:012}")
}

pub fn number(id: &str) -> Option<u32> {
    id.strip_prefix('J')?.parse().ok()
}

/// The group of a job; no group has jobs of both producers, as their order would be undefined.
pub fn group(number: u32) -> Option<String> {
    let name = if is_for_api(number) {
        format!("api-{}", number / 8 % (GROUPS / 4))
    } else {
        format!("group-{}", number / 2 % GROUPS)
    };
    number.is_multiple_of(2).then_some(name)
}

/// Whether the receiver refuses the job's first request.
pub fn is_refused_at_first(body: &str) -> bool {
    number_in(body).is_some_and(|number| number % 7 == 3)
}
