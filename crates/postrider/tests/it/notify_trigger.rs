//! The notification trigger of PostgreSQL, which `migrate` creates unless it has `--no-notify`.

use crate::databases::{fresh, server};
use crate::sandbox::{SQLITE, Sandbox};

fn sandbox_on(url: &str) -> Sandbox {
    Sandbox::new(Some(&SQLITE.replace("sqlite:app.db", url)))
}

#[tokio::test]
async fn migrate_creates_the_trigger_unless_an_option_leaves_it_out() {
    let sandbox = sandbox_on(&fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_no_notify").await);
    let creates = "CREATE TRIGGER \"postrider_mail_outbox\"";
    assert!(!sandbox.run(&["migrate", "--no-notify", "--print"]).success().stdout.contains(creates));
    sandbox.run(&["migrate", "--no-notify"]).success();
    assert_eq!(sandbox.run(&["migrate", "--no-notify"]).success().stdout, "", "nothing is missing");
    let hint = "`postrider migrate` adds a trigger";
    assert!(sandbox.run(&["check"]).success().stdout.contains(hint));
    assert!(sandbox.run(&["check", "--json"]).success().stdout.contains(hint));

    let printed = sandbox.run(&["migrate", "--print"]).success().stdout;
    assert!(printed.contains(creates), "{printed}");
    assert_eq!(sandbox.run(&["migrate", "--notify", "--print"]).success().stdout, printed, "the default");
    assert!(sandbox.run(&["migrate"]).success().stdout.contains(creates));
    assert_eq!(sandbox.run(&["migrate"]).success().stdout, "", "it is there");
    assert!(sandbox.run(&["check"]).success().stdout.contains("new rows wake the lane at once"));
    sandbox.run(&["migrate", "--notify", "--no-notify"]).code(2);
}

/// A user that may create tables and indexes of its own table, but no function.
#[tokio::test]
async fn a_trigger_that_may_not_be_created_names_the_option_to_do_without() {
    use sqlx::Connection as _;
    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_denied").await;
    let sandbox = sandbox_on(&url);
    sandbox.run(&["migrate", "--no-notify"]).success();
    let user = format!("reader_{}", std::process::id());
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    let grant = format!(
        "CREATE ROLE {user} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {user}"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(grant)).execute(&mut connection).await.unwrap();
    let mut denied = url::Url::parse(&url).unwrap();
    denied.set_username(&user).unwrap();
    let sandbox = sandbox_on(denied.as_str());
    let stderr = sandbox.run(&["migrate"]).code(1).stderr;
    assert!(stderr.contains("--no-notify"), "{stderr}");
    assert_eq!(sandbox.run(&["migrate", "--no-notify"]).success().stdout, "");
}

#[test]
fn the_option_is_refused_where_the_database_has_no_notifications() {
    let sandbox = Sandbox::new(Some(SQLITE));
    let output = sandbox.run(&["migrate", "--no-notify"]).code(2);
    assert!(output.stderr.contains("--no-notify is for PostgreSQL only"), "{}", output.stderr);
}
