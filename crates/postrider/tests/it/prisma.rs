//! M10: a table in the shape that Prisma creates is described in its lane's settings, and delivered unchanged.

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::relay::Relay;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};

/// The guide, whose code blocks are tested.
const GUIDE: &str = include_str!("../../../../docs/guides/prisma.md");

/// The guide's block in that language with this beginning.
fn block(language: &str, begins: &str) -> &'static str {
    let fence = format!("```{language}\n{begins}");
    let from = GUIDE.find(&fence).unwrap_or_else(|| panic!("the guide has no {fence}"));
    let text = &GUIDE[from + language.len() + 4..];
    text.split("```").next().expect("a split has a first part")
}

#[tokio::test(flavor = "multi_thread")]
async fn m10_rows_in_the_shape_that_prisma_writes_are_delivered() {
    let mut installation = Installation::new();
    let (url, sql) = fresh(Kind::Postgres, "prisma", &installation.sandbox).await;
    let relay = Relay::shared();
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://{}\"\n{}",
        relay.address,
        block("toml", "[lanes.mail]")
    ));
    for statement in block("sql", "CREATE TYPE").split(';').filter(|statement| !statement.trim().is_empty()) {
        sql.must(statement).await;
    }
    let mark = format!("prisma-{:08x}", rand::random::<u32>());
    for number in 0..20 {
        write(&sql, &mark, number, "someone@example.net").await;
    }
    write(&sql, &mark, 20, &format!("rcpt-550-{mark}@example.net")).await;
    write(&sql, &mark, 21, &format!("once-451-{mark}@example.net")).await;

    // Prisma owns this table, so nothing is added to it.
    let worker = installation.start_worker();
    wait_until("every row is tried", TIMEOUT, || async {
        let open = r#""MailOutbox" WHERE status IN ('queued', 'in_flight') AND "retryCount" = 0"#;
        (sql.count(open).await? == 0).then_some(())
    })
    .await;
    installation.stop(worker).await;

    assert_eq!(relay.accepted(&mark).len(), 20);
    let sent = r#""MailOutbox" WHERE status = 'sent' AND "lastError" IS NULL AND "retryCount" = 0
                  AND abs(extract(epoch FROM "sentAt" - (now() AT TIME ZONE 'utc'))) < 600
                  AND "lastAttemptAt" <= "sentAt""#;
    assert_eq!(sql.count(sent).await, Some(20), "times are UTC, as Prisma writes and reads them");
    let failed = r#""MailOutbox" WHERE status = 'failed' AND "retryCount" = 1 AND "lastError" LIKE '%550%'"#;
    assert_eq!(sql.count(failed).await, Some(1));
    let waiting = r#""MailOutbox" WHERE status = 'queued' AND "retryCount" = 1 AND "lastError" LIKE '%451%'
                     AND "nextAttemptAt" > (now() AT TIME ZONE 'utc') + interval '20 seconds'"#;
    assert_eq!(
        sql.count(waiting).await,
        Some(1),
        "a minute later, less the jitter and the time of this test"
    );
}

/// Inserts a row as Prisma does, with its own ids, and times in UTC with three digits.
async fn write(sql: &Sql, mark: &str, number: u32, to: &str) {
    let utc = || Cell::Sql("date_trunc('milliseconds', now() AT TIME ZONE 'utc')".to_owned());
    let row = [
        ("id", Cell::Text(format!("cm3k{number:04}0000008l4{:08x}", rand::random::<u32>()))),
        ("nextAttemptAt", utc()),
        ("createdAt", utc()),
        ("to", to.into()),
        ("from", "App <app@example.org>".into()),
        ("subject", format!("{mark} {number}").as_str().into()),
        ("bodyText", "Hello.".into()),
        ("bodyHtml", "<p>Hello.</p>".into()),
    ];
    sql.insert("MailOutbox", &row).await;
}
