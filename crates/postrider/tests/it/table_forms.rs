//! Tables that were not made for Postrider, unaltered: each is drained on each database, and compared with separate SQL.

use crate::check_hazards::{CONTRACT, TABLE, TestDatabase, everywhere, insert};
use crate::sandbox::eventually;

everywhere! {
    values_are_computed_from_columns_and_json;
    delivered_rows_are_deleted_with_their_effects;
    failed_rows_are_deleted_if_that_is_forced;
    a_boolean_is_the_whole_state;
    attempts_may_be_null;
    a_due_time_becomes_the_time_of_the_delivery;
    keys_of_every_type;
    times_have_a_form_for_each_column;
    rows_are_claimed_in_the_order_of_a_plain_column;
    names_enums_and_generated_columns;
    recipients_and_attachments_are_rows_of_other_tables;
}

/// The records in the folder of the transport, sorted.
fn records(database: &TestDatabase) -> Vec<serde_json::Value> {
    let folder = database.sandbox.path("outbox");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let first = |text: String| serde_json::from_str(text.lines().next()?).ok();
    texts.filter_map(first).collect()
}

/// Runs the lane until this query counts `expected` rows.
async fn drained(database: &TestDatabase, query: &str, expected: i64) {
    database.sandbox.run(&["migrate"]).success();
    let checked = database.sandbox.run(&["check"]);
    assert!(!checked.stdout.contains("error:"), "{}{}", checked.stdout, checked.stderr);
    let running = database.sandbox.start();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while database.count(query).await != expected {
        let log = || running.log();
        assert!(std::time::Instant::now() < deadline, "{query}: {}\n{}", database.count(query).await, log());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    drop(running);
}

async fn values_are_computed_from_columns_and_json(kind: &'static str) {
    let message = "topic = { text = \"shop.{kind|lower}\" }\npayload = \"body.data\"\n\
                   key = { map = \"kind\", ORDER = \"o-{id}\", else = \"{body.key}\" }\n\
                   headers = { \"*\" = \"body.headers\", source = { text = \"shop\" } }\n";
    let contract = CONTRACT.replace("topic   = \"topic\"\npayload = \"payload\"\n", message);
    let database = TestDatabase::new(kind, &contract).await;
    let json = if kind == "postgres" { "jsonb" } else { "JSON" };
    database
        .sql(&format!(
            "CREATE TABLE jobs (id varchar(40) PRIMARY KEY, state varchar(20) NOT NULL, tries integer NOT NULL, \
             due_at TIME, taken_at TIME, failure text, made_at TIME NOT NULL, kind varchar(20), body {json})"
        ))
        .await;
    let row = |id: &str, kind: &str, body: &str| {
        format!(
            "INSERT INTO jobs (id, state, tries, made_at, kind, body) \
             VALUES ('{id}', 'new', 0, '2026-01-01 00:00:00', {kind}, {body});"
        )
    };
    let body = "'{\"data\": [1], \"key\": \"k\", \"headers\": {\"tenant\": 7}}'";
    let rows = [
        row("1", "'ORDER'", body),
        row("2", "'Refund'", body),
        row("3", "NULL", body),
        row("4", "'Refund'", "'{\"data\": [2]}'"),
        row("5", "'ORDER'", "NULL"),
    ];
    database.sql(&rows.concat()).await;
    drained(&database, "SELECT COUNT(*) FROM jobs WHERE state IN ('done', 'broken')", 5).await;
    assert_eq!(
        database.count("SELECT COUNT(*) FROM jobs WHERE state = 'done' AND id IN ('1', '2')").await,
        2
    );
    for (id, reason) in
        [("3", "topic: kind has no value%"), ("4", "key: body.key has no value%"), ("5", "payload: empty%")]
    {
        let query = format!(
            "SELECT COUNT(*) FROM jobs WHERE id = '{id}' AND state = 'broken' AND failure LIKE '{reason}'"
        );
        assert_eq!(database.count(&query).await, 1, "{id}: {reason}");
    }
    let mut sent = records(&database);
    sent.sort_by_key(|record| record["topic"].as_str().map(str::to_owned));
    assert_eq!(sent.len(), 2, "{sent:#?}");
    for (record, topic, key) in [(&sent[0], "shop.order", "o-1"), (&sent[1], "shop.refund", "k")] {
        assert_eq!((record["topic"].as_str(), record["key"].as_str()), (Some(topic), Some(key)), "{record}");
        let text = record.to_string();
        assert!(text.contains("tenant") && text.contains("shop"), "{text}");
    }
}

/// The contract of `jobs` with another end.
fn ending(line: &str) -> String {
    CONTRACT.replace("delivered = \"done\"\n", line)
}

const LOG: &str = "CREATE TABLE log (job varchar(40) NOT NULL, what varchar(20) NOT NULL, tries integer)";

fn effect(on: &str) -> String {
    format!(
        "[[effect]]\non = [\"{on}\"]\ninsert = \"log\"\nvalues = {{ job = \"$id\", what = \"{on}\", tries = \"$attempts\" }}\n"
    )
}

async fn delivered_rows_are_deleted_with_their_effects(kind: &'static str) {
    let contract =
        ending("delivered = \"delete\"\n") + &effect("delivered") + "[attempts]\ncount = \"attempts\"\n";
    let database = TestDatabase::new(kind, &contract).await;
    database.sql(TABLE).await;
    database.sql(LOG).await;
    let rows = (1..=50).map(|n| insert(&format!("{n:02}"), "new", "0"));
    database.sql(&rows.collect::<String>()).await;
    // No topic: rejected, and kept.
    database.sql("UPDATE jobs SET topic = 'a b' WHERE id = '07'").await;
    drained(&database, "SELECT COUNT(*) FROM jobs", 1).await;
    let kept = "SELECT COUNT(*) FROM jobs WHERE id = '07' AND state = 'broken'";
    assert_eq!(database.count(kept).await, 1, "only the failed row is left");
    assert_eq!(database.count("SELECT COUNT(*) FROM log WHERE what = 'delivered' AND tries = 1").await, 49);
    assert_eq!(database.count("SELECT COUNT(DISTINCT job) FROM log").await, 49, "each once");
    let checked = database.sandbox.run(&["check"]).success().stdout;
    assert!(checked.contains("delivered rows are deleted"), "{checked}");
}

async fn failed_rows_are_deleted_if_that_is_forced(kind: &'static str) {
    let forced = CONTRACT
        .replace("dead      = \"broken\"\n", "dead      = \"delete\"\ndelete_failed = true\n")
        .replace("[requeue]\nfrom = [\"broken\"]\n", "");
    let database = TestDatabase::new(kind, &(forced + &effect("rejected") + &effect("swept"))).await;
    database.sql(TABLE).await;
    database.sql(LOG).await;
    let rows = [("1", "0"), ("2", "0"), ("3", "9")].map(|(id, tries)| insert(id, "new", tries));
    database.sql(&rows.concat()).await;
    database.sql("UPDATE jobs SET topic = 'a b' WHERE id = '2'").await;
    drained(&database, "SELECT COUNT(*) FROM log", 2).await;
    assert_eq!(database.count("SELECT COUNT(*) FROM jobs WHERE id <> '1'").await, 0);
    assert_eq!(database.count("SELECT COUNT(*) FROM log WHERE job = '2' AND what = 'rejected'").await, 1);
    assert_eq!(
        database.count("SELECT COUNT(*) FROM log WHERE job = '3' AND what = 'swept' AND tries = 9").await,
        1
    );
}

async fn a_boolean_is_the_whole_state(kind: &'static str) {
    let contract = CONTRACT
        .replace("status     = \"state\"\n", "status     = \"sent\"\n")
        .replace("claimed   = \"taken\"", "claimed   = \"same\"")
        + "[lease]\nby = \"due\"\nfence = [\"claimed_at\"]\n[states]\ndone = true\n\
           new = { sent = false, due_at = { never = false } }\nbroken = { sent = false, due_at = { never = true } }\n";
    let database = TestDatabase::new(kind, &contract).await;
    database
        .sql(
            "CREATE TABLE jobs (id varchar(40) PRIMARY KEY, sent boolean NOT NULL, tries integer, due_at TIME, \
             taken_at TIME, failure text, made_at TIME, topic varchar(40), payload text)",
        )
        .await;
    let row = |id: &str, sent: &str, topic: &str| {
        format!("INSERT INTO jobs (id, sent, topic, payload) VALUES ('{id}', {sent}, {topic}, 'x');")
    };
    let rows = [row("1", "false", "'a'"), row("2", "true", "'a'"), row("3", "false", "NULL")];
    database.sql(&rows.concat()).await;
    drained(&database, "SELECT COUNT(*) FROM jobs WHERE sent OR failure LIKE 'topic: empty%'", 3).await;
    assert_eq!(database.count("SELECT COUNT(*) FROM jobs WHERE sent AND id IN ('1', '2')").await, 2);
    assert_eq!(records(&database).len(), 1, "the sent row is left alone");
}

async fn attempts_may_be_null(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&TABLE.replace("tries integer NOT NULL", "tries integer")).await;
    database.sql(&insert("1", "new", "NULL")).await;
    drained(&database, "SELECT COUNT(*) FROM jobs WHERE state = 'done'", 1).await;
}

async fn a_due_time_becomes_the_time_of_the_delivery(kind: &'static str) {
    let contract =
        CONTRACT.replace("due        = \"due_at\"\n", "due        = \"due_at\"\nfinished   = \"due_at\"\n");
    let database = TestDatabase::new(kind, &contract).await;
    database.sql(TABLE).await;
    let rows = ["1", "2"].map(|id| insert(id, "new", "0"));
    database.sql(&rows.concat()).await;
    database.sql("UPDATE jobs SET topic = 'a b' WHERE id = '2'").await;
    let ended = "(state = 'done' AND due_at > made_at) OR (state = 'broken' AND id = '2')";
    drained(&database, &format!("SELECT COUNT(*) FROM jobs WHERE {ended}"), 2).await;
    eventually("the other row is rejected", || {
        database.sandbox.run(&["requeue", "jobs", "2"]).success().stdout.contains('1').then_some(())
    });
    assert_eq!(
        database.count("SELECT COUNT(*) FROM jobs WHERE state = 'new' AND due_at IS NOT NULL").await,
        1
    );
}

/// A type of keys, and the keys of three rows.
type Keys = (&'static str, [&'static str; 3]);

fn key_types(kind: &str) -> Vec<Keys> {
    let texts =
        ["'01ARZ3NDEKTSV4RRFFQ69G5FAV'", "'01ARZ3NDEKTSV4RRFFQ69G5FAW'", "'01BRZ3NDEKTSV4RRFFQ69G5FAV'"];
    let uuids = [
        "'6f1c1a52-0000-4000-8000-000000000001'",
        "'6f1c1a52-0000-4000-8000-000000000002'",
        "'6F1C1A52-0000-4000-8000-000000000003'",
    ];
    let numbers = ["1", "2147483648", "9223372036854775806"];
    match kind {
        "postgres" => vec![
            ("uuid", uuids),
            ("bytea", ["'\\x00ff27'", "'\\x5c78'", "''"]),
            ("char(26)", texts),
            ("varchar(26)", texts),
            ("bigserial", numbers),
            ("numeric(20)", ["1", "18446744073709551615", "3"]),
            ("smallint", ["1", "22", "3"]),
        ],
        "mysql" => vec![
            ("char(36)", uuids),
            (
                "binary(16)",
                [
                    "x'00ff2700000000000000000000000000'",
                    "x'5c780000000000000000000000000000'",
                    "x'ff000000000000000000000000000000'",
                ],
            ),
            ("varbinary(20)", ["x'00ff27'", "x'5c78'", "x'ff'"]),
            ("char(26)", texts),
            ("bigint unsigned", numbers),
            ("int unsigned", ["1", "2147483648", "4294967295"]),
            ("varchar(26) CHARACTER SET latin1 COLLATE latin1_bin", texts),
        ],
        _ => vec![
            ("TEXT", texts),
            ("UUID", uuids),
            ("BLOB", ["x'00ff27'", "x'5c78'", "x''"]),
            ("INTEGER", numbers),
            ("BIGINT UNSIGNED", numbers),
        ],
    }
}

/// Keys of every usual type: one row is delivered, one is rejected and requeued by its key, one has settled before.
async fn keys_of_every_type(kind: &'static str) {
    for (sql_type, [first, second, third]) in key_types(kind) {
        let database = TestDatabase::new(kind, CONTRACT).await;
        database.sql(&TABLE.replace("id varchar(40)", &format!("id {sql_type}"))).await;
        let row = |id: &str, state: &str, topic: &str| {
            format!(
                "INSERT INTO jobs (id, state, tries, made_at, topic, payload) \
                 VALUES ({id}, '{state}', 0, '2026-01-01 00:00:00', '{topic}', 'x');"
            )
        };
        let rows = [row(first, "new", "a"), row(second, "new", "a b"), row(third, "done", "a")];
        database.sql(&rows.concat()).await;
        drained(&database, "SELECT COUNT(*) FROM jobs WHERE state IN ('done', 'broken')", 3).await;
        let of = |id: &str, state: &str| {
            format!("SELECT COUNT(*) FROM jobs WHERE id = {id} AND state = '{state}'")
        };
        assert_eq!(database.count(&of(first, "done")).await, 1, "{sql_type}");
        assert_eq!(database.count(&of(second, "broken")).await, 1, "{sql_type}");
        let listed = database.sandbox.run(&["list", "jobs", "--state", "broken", "--json"]).success().json();
        let id = listed[0]["id"].as_str().unwrap_or_else(|| panic!("{sql_type}: {listed:?}")).to_owned();
        database.sandbox.run(&["show", "jobs", &id]).success();
        database.sandbox.run(&["requeue", "jobs", &id]).success();
        assert_eq!(database.count(&of(second, "new")).await, 1, "{sql_type} {id}");
    }
}

async fn times_have_a_form_for_each_column(kind: &'static str) {
    let contract = CONTRACT.replace(
        "id   = \"id\"\n",
        "id   = \"id\"\ntimes = { taken_at = \"epoch_ms\", made_at = \"iso8601\" }\n",
    ) + "[claim]\nmin_age = \"1s\"\n";
    let database = TestDatabase::new(kind, &contract).await;
    let table =
        TABLE.replace("taken_at TIME", "taken_at bigint").replace("made_at TIME", "made_at varchar(40)");
    database.sql(&table).await;
    database.sql(&insert("1", "new", "0").replace("2026-01-01 00:00:00", "2026-01-01T00:00:00.000Z")).await;
    drained(&database, "SELECT COUNT(*) FROM jobs WHERE state = 'done' AND taken_at > 1700000000000", 1)
        .await;
}

async fn rows_are_claimed_in_the_order_of_a_plain_column(kind: &'static str) {
    let contract = format!("{CONTRACT}[claim]\norder = [\"-urgency\", \"id\"]\n");
    let database = TestDatabase::new(kind, &contract).await;
    database.add_to_lane("batch = 1\n");
    database.sql(&TABLE.replace("payload text", "urgency integer, payload text")).await;
    let rows = (1..=9).map(|n| insert(&n.to_string(), "new", "0"));
    database.sql(&rows.collect::<String>()).await;
    database.sql("UPDATE jobs SET urgency = CAST(id AS DECIMAL) % 4").await;
    database.sql("UPDATE jobs SET urgency = NULL WHERE id = '9'").await;
    drained(&database, "SELECT COUNT(*) FROM jobs WHERE state = 'done'", 9).await;
    let inverted = "SELECT COUNT(*) FROM jobs AS a JOIN jobs AS b \
                    ON (a.urgency > b.urgency OR b.urgency IS NULL) AND a.taken_at > b.taken_at";
    assert_eq!(database.count(inverted).await, 0, "the most urgent first, those without urgency last");
}

/// A table with a schema, names in mixed case, an enumerated state, and columns that the database computes.
async fn names_enums_and_generated_columns(kind: &'static str) {
    let schema = match kind {
        "postgres" => "Shop.",
        "mysql" => "",
        _ => "main.",
    };
    let contract = CONTRACT
        .replace("name = \"jobs\"", &format!("name = \"{schema}OutBox\""))
        .replace("\"state\"", "\"jobState\"")
        .replace("\"topic\"", "\"Topic\"");
    let database = TestDatabase::new(kind, &contract).await;
    let phases = "('new', 'taken', 'done', 'broken')";
    let (create, state, total) = match kind {
        "postgres" => (
            format!("CREATE SCHEMA \"Shop\"; CREATE TYPE \"Shop\".\"Phase\" AS ENUM {phases}; "),
            "\"Shop\".\"Phase\"".to_owned(),
            "integer GENERATED ALWAYS AS (length(\"Topic\")) STORED",
        ),
        "mysql" => {
            (String::new(), format!("ENUM {phases}"), "integer GENERATED ALWAYS AS (length(Topic)) STORED")
        }
        _ => (
            String::new(),
            format!("TEXT CHECK (\"jobState\" IN {phases})"),
            "integer GENERATED ALWAYS AS (length(\"Topic\")) STORED",
        ),
    };
    let quote = if kind == "mysql" { "`" } else { "\"" };
    let table =
        schema.strip_suffix('.').map_or_else(String::new, |schema| format!("{quote}{schema}{quote}."))
            + &format!("{quote}OutBox{quote}");
    let statements = format!(
        "{create}CREATE TABLE {table} (id integer PRIMARY KEY, {quote}jobState{quote} {state} NOT NULL DEFAULT 'new', \
         tries integer, due_at TIME, taken_at TIME, failure text, made_at TIME, {quote}Topic{quote} varchar(40), \
         payload text, total {total}); \
         INSERT INTO {table} (id, {quote}Topic{quote}, payload) VALUES (1, 'a', 'x'); \
         INSERT INTO {table} (id, {quote}Topic{quote}, payload) VALUES (2, 'a b', 'x')"
    );
    database.sql(&statements).await;
    let count =
        |state: &str| format!("SELECT COUNT(*) FROM {table} WHERE {quote}jobState{quote} IN ({state})");
    drained(&database, &count("'done', 'broken'"), 2).await;
    assert_eq!(database.count(&count("'done'")).await, 1);
    database.sandbox.run(&["requeue", "jobs", "2"]).success();
    assert_eq!(database.count(&count("'new'")).await, 1);
}

/// Recipients and attachments are rows of two other tables.
async fn recipients_and_attachments_are_rows_of_other_tables(kind: &'static str) {
    let joins = "[[join]]\nas = \"people\"\ntable = \"people\"\non = { mail = \"row.id\" }\n\
                 columns = { email = \"address\", name = \"called\" }\nmany = 3\norder = \"place\"\n\
                 [[join]]\nas = \"files\"\ntable = \"files\"\non = { mail = \"row.id\" }\n\
                 columns = { filename = \"name\", content = \"data\" }\nmany = 5\n";
    let message = "to = \"people\"\nfrom = { text = \"shop@example.net\" }\nsubject = \"topic\"\ntext = \"payload\"\n\
                   attachments = \"files\"\n";
    let contract = CONTRACT
        .replace("\"record\"", "\"email\"")
        .replace("topic   = \"topic\"\npayload = \"payload\"\n", message)
        + joins;
    let database = TestDatabase::new(kind, &contract).await;
    database.sql(TABLE).await;
    let (blob, large) = match kind {
        "postgres" => ("bytea", "decode(repeat('41', 100000), 'hex')"),
        "mysql" => ("LONGBLOB", "REPEAT('A', 100000)"),
        _ => ("BLOB", "CAST(replace(hex(zeroblob(50000)), '0', 'A') AS BLOB)"),
    };
    database
        .sql(&format!(
            "CREATE TABLE people (mail varchar(40), address varchar(90), called varchar(90), place integer); \
             CREATE TABLE files (mail varchar(40), name varchar(90), data {blob})"
        ))
        .await;
    let person = |mail: &str, address: &str, called: &str, place: u8| {
        format!("INSERT INTO people VALUES ('{mail}', '{address}', {called}, {place});")
    };
    let ids = ["1", "2", "3", "4"];
    database.sql(&ids.map(|id| insert(id, "new", "0")).concat()).await;
    let people = [
        person("1", "b@x.example", "'Bea'", 2),
        person("1", "a@x.example", "NULL", 1),
        person("3", "c@x.example", "NULL", 1),
        person("4", "1@x.example", "NULL", 1).repeat(4),
    ];
    database.sql(&people.concat()).await;
    database.sql("INSERT INTO files VALUES ('1', 'a.txt', 'Hello')").await;
    database.sql(&format!("INSERT INTO files VALUES ('3', 'large.txt', {large})")).await;
    drained(&database, "SELECT COUNT(*) FROM jobs WHERE state IN ('done', 'broken')", 4).await;
    for (id, reason) in [("2", "to: no recipient%"), ("4", "to: the join people has more than 3 rows%")] {
        let query = format!("SELECT COUNT(*) FROM jobs WHERE id = '{id}' AND failure LIKE '{reason}'");
        assert_eq!(database.count(&query).await, 1, "{id}: {reason}");
    }
    let files = std::fs::read_dir(database.sandbox.path("outbox")).unwrap().flatten();
    let mut mails: Vec<String> = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
    mails.sort_by_key(String::len);
    assert_eq!(mails.len(), 2);
    let (first, second) = (mails[0].find("<a@x.example>").unwrap(), mails[0].find("<b@x.example>").unwrap());
    assert!(first < second && mails[0].contains("Bea") && mails[0].contains("a.txt"), "{}", mails[0]);
    assert!(mails[1].len() > 100_000 && mails[1].contains("large.txt"), "{} bytes", mails[1].len());
}
