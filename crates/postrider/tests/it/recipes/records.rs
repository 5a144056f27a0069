//! Recipes of outboxes for brokers: what arrives, in which order.

use std::collections::BTreeMap;

use super::{ROWS, Recipe, What, at, at_zone};
use crate::outbox::broker::{Broker, Protocol, Seen};
use crate::support::database::Kind;
use crate::support::sql::Sql;

const TRANSACTION_OUTBOX: Recipe = Recipe {
    name: "transaction-outbox",
    kind: Kind::Postgres,
    table: "txno_outbox",
    id: "id",
    state: "CASE WHEN processed THEN 'done' WHEN blocked THEN 'dead' ELSE 'queued' END",
    whole: "t::text",
    delivered: &[What::Good, What::Broken, What::Taken],
    dead: &[What::Empty],
};
const TRANSACTION_OUTBOX_ON_MYSQL: Recipe = Recipe {
    kind: Kind::MariaDb,
    table: "TXNO_OUTBOX",
    whole: "CONCAT_WS('|', invocation, nextAttemptTime, attempts, blocked, version, processed, topic, seq)",
    ..TRANSACTION_OUTBOX
};
const NAMASTACK: Recipe = Recipe {
    name: "namastack",
    kind: Kind::Postgres,
    table: "outbox_record",
    id: "id",
    state: "CASE status WHEN 'COMPLETED' THEN 'done' WHEN 'FAILED' THEN 'dead' ELSE status END",
    whole: "t::text",
    delivered: &[What::Good, What::Empty, What::Taken],
    dead: &[What::Broken],
};
const FLOWCATALYST: Recipe = Recipe {
    name: "flowcatalyst",
    kind: Kind::Postgres,
    table: "outbox_messages",
    id: "id",
    state: "CASE status WHEN 1 THEN 'done' WHEN 2 THEN 'dead' ELSE status::text END",
    whole: "t::text",
    delivered: &[What::Good, What::Empty, What::Taken],
    dead: &[What::Broken],
};
const SBMT: Recipe = Recipe {
    name: "sbmt-outbox",
    kind: Kind::Postgres,
    table: "outbox_items",
    id: "id::text",
    state: "CASE status WHEN 2 THEN 'done' WHEN 1 THEN 'dead' ELSE status::text END",
    whole: "t::text",
    delivered: &[What::Good, What::Empty, What::Taken],
    dead: &[What::Broken],
};
const CAP: Recipe = Recipe {
    name: "cap-published",
    kind: Kind::Postgres,
    table: "cap.published",
    id: "\"Id\"::text",
    state: "CASE \"StatusName\" WHEN 'Succeeded' THEN 'done' WHEN 'Failed' THEN 'dead' ELSE \"StatusName\" END",
    whole: "t::text",
    delivered: &[What::Good, What::Broken, What::Taken],
    dead: &[What::Empty],
};

/// The key of a row: its place among the rows of this key is its order. A row for later has a key of its own.
fn key(number: u32) -> String {
    match What::of(number) {
        What::Later => format!("later-{number}"),
        _ => format!("k{}", number % 7),
    }
}

fn payload(number: u32) -> String {
    match What::of(number) {
        What::Broken => format!("{{\"key\": \"{}\", \"n\": {number},", key(number)),
        _ => format!("{{\"key\": \"{}\", \"n\": {number}}}", key(number)),
    }
}

/// The payload as SQL; NULL if it is empty and the column allows that.
fn or_null(number: u32) -> String {
    if What::of(number) == What::Empty { "NULL".to_owned() } else { format!("'{}'", payload(number)) }
}

/// Reads what arrived in these queues, and checks that each row came once and in the order of its key.
async fn arrived(broker: &Broker, recipe: &Recipe, queues: &[String], order: impl Fn(u32) -> String) {
    let expected: Vec<u32> =
        (0..ROWS).filter(|number| recipe.delivered.contains(&What::of(*number))).collect();
    let number = |seen: &Seen| -> u32 {
        let text = String::from_utf8(seen.payload.clone()).expect("text");
        let (_, rest) = text.split_once("\"n\": ").expect("its number");
        rest.trim_end_matches(['}', ',']).parse().expect("a number")
    };
    let mut arrived: Vec<u32> = Vec::new();
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for (at, queue) in queues.iter().enumerate() {
        let share = expected.iter().filter(|number| **number as usize % queues.len() == at).count();
        assert_eq!(broker.waiting(queue).await, share, "{}: each row once", recipe.name);
        for seen in broker.read(queue, share).await {
            let number = number(&seen);
            if let Some(earlier) = last.insert(order(number), number) {
                assert!(earlier < number, "{}: {number} came after {earlier}", recipe.name);
            }
            arrived.push(number);
        }
    }
    arrived.sort_unstable();
    assert_eq!(arrived, expected, "{}", recipe.name);
}

/// A short name of a queue: some columns hold 20 characters.
async fn queue(broker: &Broker) -> String {
    let name = format!("r{:08x}", rand::random::<u32>());
    broker.make(&name).await;
    name
}

/// Runs a recipe whose rows all go to one queue. `insert` returns the columns and values of a row.
async fn one_queue(
    recipe: &Recipe,
    columns: &str,
    values: impl Fn(&Sql, u32, &str) -> String,
    id: impl Fn(u32) -> String,
    ordered: bool,
) {
    let broker = Broker::shared(Protocol::Amqp);
    let queue = queue(&broker).await;
    let (sandbox, sql) = recipe.installed(&format!("url = \"{}\"", broker.url)).await;
    for number in 0..ROWS {
        let row = values(&sql, number, &queue);
        sql.must(&format!("INSERT INTO {} ({columns}) VALUES ({row})", recipe.table)).await;
    }
    let running = recipe.drain(&sandbox, &sql, id).await;
    drop(running);
    let order = |number| if ordered { key(number) } else { format!("{number}") };
    arrived(&broker, recipe, &[queue], order).await;
}

async fn transaction_outbox(recipe: &Recipe) {
    let broker = Broker::shared(Protocol::Amqp);
    let queues = [queue(&broker).await, queue(&broker).await];
    let (sandbox, sql) = recipe.installed(&format!("url = \"{}\"", broker.url)).await;
    for number in 0..ROWS {
        let what = What::of(number);
        let due = at(&sql, if what == What::Later { 3600 } else { i64::from(number) - 3600 });
        // A row for later would hold back its topic, as the library defines it.
        let topic = if what == What::Later { "*" } else { queues[number as usize % 2].as_str() };
        let (attempts, version) = if what == What::Taken { (1, 2) } else { (0, 1) };
        sql.must(&format!(
            "INSERT INTO {} (id, invocation, nextAttemptTime, attempts, blocked, version, processed, topic, seq) VALUES \
             ('e-{number:04}', {}, {due}, {attempts}, {}, {version}, {}, '{topic}', {number})",
            recipe.table,
            or_null(number),
            false,
            what == What::Finished,
        ))
        .await;
    }
    let running = recipe.drain(&sandbox, &sql, |number| format!("e-{number:04}")).await;
    drop(running);
    arrived(&broker, recipe, &queues, |number| format!("{}", number % 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_outbox_of_gruelbox_on_postgres() {
    transaction_outbox(&TRANSACTION_OUTBOX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_outbox_of_gruelbox_on_mysql() {
    transaction_outbox(&TRANSACTION_OUTBOX_ON_MYSQL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namastack_outbox() {
    let values = |_: &Sql, number: u32, queue: &str| {
        let what = What::of(number);
        let created = at_zone(i64::from(number) - 3600);
        let due = at_zone(if what == What::Later { 3600 } else { i64::from(number) - 3600 });
        let context = if what == What::Broken { "'{\"a\": '" } else { "'{\"tenant\": \"acme\"}'" };
        let (status, completed) =
            if what == What::Finished { ("COMPLETED", created.as_str()) } else { ("NEW", "NULL") };
        let failures = u32::from(what == What::Taken);
        format!(
            "'n-{number:04}', '{status}', '{}', '{queue}', '{{\"n\": {number}}}', {context}, {created}, {completed}, {failures}, {due}, \
             0, 'handler'",
            key(number)
        )
    };
    let columns = "id, status, record_key, record_type, payload, context, created_at, completed_at, failure_count, \
                   next_retry_at, partition_no, handler_id";
    one_queue(&NAMASTACK, columns, values, |number| format!("n-{number:04}"), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flowcatalyst_outbox_messages() {
    let values = |_: &Sql, number: u32, queue: &str| {
        let what = What::of(number);
        let created = at_zone(i64::from(number) - 3600);
        let status = match what {
            What::Finished | What::Later => 1,
            What::Taken => 9,
            _ => 0,
        };
        let headers = if what == What::Broken { "'[1]'" } else { "'{\"tenant\": \"acme\"}'" };
        format!(
            "'m{number:012}', '{queue}', '{}', '{{\"n\": {number}}}', {status}, 0, {created}, {created}, {headers}",
            key(number)
        )
    };
    let columns = "id, type, message_group, payload, status, retry_count, created_at, updated_at, headers";
    one_queue(&FLOWCATALYST, columns, values, |number| format!("m{number:012}"), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sbmt_outbox_of_kuper() {
    let values = |sql: &Sql, number: u32, queue: &str| {
        let what = What::of(number);
        let created = at(sql, i64::from(number) - 3600);
        let status = if matches!(what, What::Finished | What::Later) { 2 } else { 0 };
        let options = if what == What::Broken { "'[1]'" } else { "'{\"headers\": \"none\"}'" };
        let (failures, processed) = if what == What::Taken { (1, created.as_str()) } else { (0, "NULL") };
        format!(
            "gen_random_uuid(), '{queue}', '{}', 0, {options}, convert_to('{{\"n\": {number}}}', 'UTF8'), {status}, {failures}, \
             {processed}, {created}, {created}",
            key(number)
        )
    };
    let columns = "uuid, event_name, event_key, bucket, options, payload, status, errors_count, processed_at, created_at, \
                   updated_at";
    one_queue(&SBMT, columns, values, |number| format!("{}", number + 1), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cap_published_messages() {
    let values = |sql: &Sql, number: u32, queue: &str| {
        let what = What::of(number);
        let added = at(sql, i64::from(number) - 3600);
        let expires = match what {
            What::Later | What::Finished => at(sql, 3600),
            _ => "NULL".to_owned(),
        };
        let status = match what {
            What::Later => "Delayed",
            What::Finished => "Succeeded",
            _ => "Scheduled",
        };
        let retries = u32::from(what == What::Taken);
        format!("{number}, 'v1', '{queue}', {}, {retries}, {added}, {expires}, '{status}'", or_null(number))
    };
    let columns =
        "\"Id\", \"Version\", \"Name\", \"Content\", \"Retries\", \"Added\", \"ExpiresAt\", \"StatusName\"";
    one_queue(&CAP, columns, values, |number| format!("{number}"), false).await;
}

/// The drafts of these tables are tested too.
pub(super) const ALL: [&Recipe; 6] =
    [&TRANSACTION_OUTBOX, &TRANSACTION_OUTBOX_ON_MYSQL, &NAMASTACK, &FLOWCATALYST, &SBMT, &CAP];
