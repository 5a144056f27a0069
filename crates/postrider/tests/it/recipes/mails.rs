//! Recipes of mail tables: what the relay accepted.

use super::{ROWS, Recipe, What, at, at_zone};
use crate::support::database::Kind;
use crate::support::relay::Relay;
use crate::support::sql::Sql;

const DJANGO: Recipe = Recipe {
    name: "django-post-office",
    kind: Kind::Postgres,
    table: "post_office_email",
    id: "id::text",
    state: "CASE status WHEN 0 THEN 'done' WHEN 1 THEN 'dead' ELSE status::text END",
    whole: "t::text",
    delivered: &[What::Good, What::Taken],
    dead: &[What::Empty, What::Broken],
};
const LARAVEL: Recipe = Recipe {
    name: "laravel-emails",
    kind: Kind::MariaDb,
    table: "emails",
    id: "CAST(id AS CHAR)",
    state: "CASE WHEN sent_at IS NOT NULL THEN 'done' WHEN failed THEN 'dead' ELSE 'queued' END",
    whole: "CONCAT_WS('|', recipient, attempts, sending, failed, error, scheduled_at, sent_at, updated_at)",
    delivered: &[What::Good, What::Taken],
    dead: &[What::Empty, What::Broken],
};
const RAILS: Recipe = Recipe {
    name: "rails-mails",
    kind: Kind::Postgres,
    table: "outbound_mails",
    id: "id::text",
    state: "CASE status WHEN 2 THEN 'done' WHEN 3 THEN 'dead' ELSE status::text END",
    whole: "t::text",
    delivered: &[What::Good, What::Taken],
    dead: &[What::Empty, What::Broken],
};
const RAILS_ON_SQLITE: Recipe = Recipe {
    kind: Kind::Sqlite,
    id: "CAST(id AS TEXT)",
    state: "CASE status WHEN 2 THEN 'done' WHEN 3 THEN 'dead' ELSE CAST(status AS TEXT) END",
    whole: "status || '|' || attempts || '|' || lock_version || '|' || updated_at || '|' || coalesce(sent_at, '')",
    ..RAILS
};

/// The recipients of a row.
fn recipients(number: u32) -> String {
    match What::of(number) {
        What::Empty => String::new(),
        What::Broken => "[{\"email\": ".to_owned(),
        _ => format!("reader{number}@example.com"),
    }
}

/// Runs a recipe; `error` is where the reason of a dead row is.
async fn run(recipe: &Recipe, columns: &str, values: impl Fn(&Sql, u32, &str) -> String, reasons: &str) {
    let relay = Relay::shared();
    let mark = format!("{}-{:08x}", recipe.name, rand::random::<u32>());
    let (sandbox, sql) = recipe.installed(&format!("url = \"smtp://{}\"", relay.address)).await;
    for number in 0..ROWS {
        let row = values(&sql, number, &format!("{mark} {number}"));
        sql.must(&format!("INSERT INTO {} ({columns}) VALUES ({row})", recipe.table)).await;
    }
    let running = recipe.drain(&sandbox, &sql, |number| format!("{}", number + 1)).await;
    drop(running);
    let mut accepted: Vec<u32> = Vec::new();
    for entry in relay.accepted(&mark) {
        accepted.push(entry.subject.rsplit(' ').next().expect("its number").parse().expect("a number"));
    }
    accepted.sort_unstable();
    let expected: Vec<u32> =
        (0..ROWS).filter(|number| recipe.delivered.contains(&What::of(*number))).collect();
    assert_eq!(accepted, expected, "{}: each good row once", recipe.name);
    let dead = (0..ROWS).filter(|number| recipe.dead.contains(&What::of(*number))).count() as u64;
    assert_eq!(sql.count(reasons).await, Some(dead), "{}: each dead row has a reason", recipe.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn django_post_office() {
    let values = |_: &Sql, number: u32, subject: &str| {
        let what = What::of(number);
        let created = at_zone(i64::from(number) - 3600);
        let scheduled = if what == What::Later { at_zone(3600) } else { "NULL".to_owned() };
        let (status, retries) = match what {
            What::Finished => (0, "NULL"),
            What::Taken => (3, "1"),
            _ => (2, "NULL"),
        };
        format!(
            "'shop@example.com', '{}', '', '', '{subject}', 'Text', '', {status}, {}, {created}, {created}, {scheduled}, '', {retries}",
            recipients(number),
            number % 3,
        )
    };
    let columns = "from_email, \"to\", cc, bcc, subject, message, html_message, status, priority, created, last_updated, \
                   scheduled_time, backend_alias, number_of_retries";
    run(&DJANGO, columns, values, "post_office_log WHERE status = 1 AND message <> ''").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn laravel_database_emails() {
    let values = |sql: &Sql, number: u32, subject: &str| {
        let what = What::of(number);
        let created = at(sql, i64::from(number) - 3600);
        let scheduled = if what == What::Later { at(sql, 3600) } else { "NULL".to_owned() };
        let sent = if what == What::Finished { created.as_str() } else { "NULL" };
        let recipient = match what {
            What::Good => format!("[\"reader{number}@example.com\"]"),
            _ => recipients(number),
        };
        let taken = what == What::Taken;
        format!(
            "'{recipient}', '{subject}', 'emails.order', '<p>Text</p>', 0, {taken}, {scheduled}, {sent}, {created}, {created}"
        )
    };
    let columns =
        "recipient, subject, view, body, attempts, sending, scheduled_at, sent_at, created_at, updated_at";
    run(&LARAVEL, columns, values, "emails WHERE failed AND error <> ''").await;
}

async fn rails(recipe: &Recipe) {
    let values = |sql: &Sql, number: u32, subject: &str| {
        let what = What::of(number);
        let created = at(sql, i64::from(number) - 3600);
        let send_at = if what == What::Later { at(sql, 3600) } else { "NULL".to_owned() };
        let (status, locked, by) = match what {
            What::Finished => (2, "NULL", "NULL"),
            What::Taken => (1, created.as_str(), "'old'"),
            _ => (0, "NULL", "NULL"),
        };
        format!(
            "'{}', '{subject}', 'Text', {status}, {send_at}, {locked}, {by}, {created}, {created}",
            recipients(number)
        )
    };
    let columns =
        "mail_to, subject, body_text, status, send_at, locked_at, locked_by, created_at, updated_at";
    run(recipe, columns, values, "outbound_mails WHERE status = 3 AND last_error <> ''").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rails_mails_on_postgres() {
    rails(&RAILS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rails_mails_on_sqlite() {
    rails(&RAILS_ON_SQLITE).await;
}

/// The drafts of these tables are tested too.
pub(super) const ALL: [&Recipe; 4] = [&DJANGO, &LARAVEL, &RAILS, &RAILS_ON_SQLITE];
