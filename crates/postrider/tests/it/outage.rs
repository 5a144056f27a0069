//! An unavailable database or broker, seen from the terminal: reported at once, and retried.

use std::time::{Duration, Instant};

use postrider_services::{Durability, NewConnections, Postgres, Proxy};

use crate::sandbox::{SQLITE, Sandbox, eventually};
use crate::support::database::{self, Kind};
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// A port on which nothing listens.
const CLOSED_PORT: &str = "127.0.0.1:1";

/// "Refused" is the result of the first attempt; a command that only ran into its timeout could not report it.
#[test]
fn an_unavailable_database_is_reported_by_the_first_command() {
    for (scheme, called) in [("postgres", "PostgreSQL"), ("mysql", "MySQL")] {
        let sandbox = Sandbox::new(Some(
            &SQLITE.replace("sqlite:app.db", &format!("{scheme}://app@{CLOSED_PORT}/app")),
        ));
        for command in [&["status"][..], &["check"], &["list", "mail"], &["migrate"]] {
            let output = sandbox.run(command).code(1);
            let text = format!("{}{}", output.stdout, output.stderr);
            assert!(
                text.contains(&format!("{called} {CLOSED_PORT}/app: could not connect")),
                "{command:?}: {text}"
            );
            assert!(text.contains("Connection refused"), "{command:?}: {text}");
            assert!(text.contains("is the server up"), "what to do: {text}");
        }
    }
}

#[test]
fn an_unavailable_target_is_reported_by_the_first_command() {
    let lanes = ["nats", "kafka", "amqp"].map(|name| {
        format!(
            "[transports.{name}]\nurl = \"{name}://{CLOSED_PORT}\"\n\
             [lanes.{name}]\ncontract = \"outbox\"\ntransport = \"{name}\"\n"
        )
    });
    let sandbox = Sandbox::new(Some(&format!("[stores.main]\nurl = \"sqlite:app.db\"\n{}", lanes.concat())));
    sandbox.run(&["migrate"]).success();
    let status = sandbox.run(&["status"]).success().stdout;
    let check = sandbox.run(&["check"]).code(1).stdout;
    for name in ["nats", "kafka", "amqp"] {
        for text in [&status, &check] {
            let line = text.lines().find(|line| line.contains(&format!("transport `{name}`"))).expect(text);
            assert!(line.contains("onnection refused") && line.contains("check that it runs"), "{line}");
        }
    }
}

#[test]
fn status_watch_survives_an_outage_and_shows_the_recovery() {
    let mut server = Postgres::start(Durability::ProcessCrash).unwrap();
    let sandbox = Sandbox::new(Some(&SQLITE.replace("sqlite:app.db", &server.url())));
    sandbox.run(&["migrate"]).success();
    let out = sandbox.path("watch.out");
    let file = std::fs::File::create(&out).unwrap();
    let mut watching = sandbox.command(&["status", "--watch", "1", "--json"]).stdout(file).spawn().unwrap();
    let last = |wanted: &str| {
        let text = std::fs::read_to_string(&out).unwrap();
        text.lines().last().is_some_and(|line| line.contains(wanted)).then_some(())
    };
    eventually("it is there", || last("\"states\""));
    server.stop();
    eventually("it is away", || last("\"error\":\"PostgreSQL"));
    server.restart().unwrap();
    eventually("it is there again", || last("\"states\""));
    watching.kill().unwrap();
    watching.wait().unwrap();
}

async fn all_sent(sql: &Sql, mails: u64) {
    let what = format!("{mails} mails are sent");
    wait_until(&what, TIMEOUT, || async {
        (sql.count("mail_outbox WHERE status = 'sent'").await == Some(mails)).then_some(())
    })
    .await;
}

async fn insert(sql: &Sql, mails: u64) {
    for _ in 0..mails {
        sql.must(
            "INSERT INTO mail_outbox (to_addresses, subject, body_text) VALUES ('a@example.net', 'Hi', 'Hi')",
        )
        .await;
    }
}

/// The database's host vanishes: its connections stay open without answers, and new ones fail for a while as well.
async fn recovers_from_a_network_failure(kind: Kind) {
    let sandbox = Sandbox::new(None);
    let (url, sql) = database::fresh(kind, "half_open", &sandbox).await;
    let (before, rest) = url.split_once("127.0.0.1:").expect("the server is on this host");
    let (port, after) = rest.split_once('/').expect("the URL names a database");
    let proxy = Proxy::start(([127, 0, 0, 1], port.parse().expect("a port")).into()).expect("a proxy");
    let proxied = format!("{before}{}/{after}", proxy.address());
    std::fs::write(sandbox.path("postrider.toml"), SQLITE.replace("sqlite:app.db", &proxied))
        .expect("settings");
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    insert(&sql, 20).await;
    all_sent(&sql, 20).await;
    proxy.black_hole();
    insert(&sql, 20).await;
    wait_until("readiness fails", TIMEOUT, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 503).then_some(())
    })
    .await;
    proxy.new_connections(NewConnections::Forward);
    let back = Instant::now();
    all_sent(&sql, 40).await;
    assert!(back.elapsed() < Duration::from_secs(10), "{kind:?}: {:?}\n{}", back.elapsed(), running.log());
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_delivers_again_within_ten_seconds_after_the_network_recovers() {
    recovers_from_a_network_failure(Kind::Postgres).await;
    recovers_from_a_network_failure(Kind::MariaDb).await;
}

#[expect(clippy::disallowed_methods, reason = "what a server elsewhere would say")]
fn date_ahead() -> String {
    use aws_sdk_sqs::primitives::{DateTime, DateTimeFormat};
    let then = std::time::SystemTime::now() + Duration::from_mins(10);
    DateTime::from(then).fmt(DateTimeFormat::HttpDate).unwrap()
}

/// A service that refuses every request; its answers are dated ten minutes ahead.
#[test]
fn g05_check_warns_of_a_dynamodb_whose_clock_differs() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = vec![0; 65536];
            let _ = stream.read(&mut asked);
            let date = date_ahead();
            let body = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}"#;
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ndate: {date}\r\ncontent-type: application/x-amz-json-1.0\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    let sandbox = Sandbox::new(Some(&format!(
        "[stores.cloud]\nurl = \"dynamodb://key:secret@us-east-1?endpoint=http://{address}\"\n\
         [transports.out]\nurl = \"file:outbox\"\n[mail]\nfrom = \"shop@example.com\"\n\
         [lanes.mail]\ncontract = \"emails\"\nstage = \"send\"\n\
         [lanes.mail.emails]\nbase = \"mnt\"\n"
    )));
    let out = sandbox.run(&["check"]).code(1).stdout;
    assert!(
        out.contains("the clock of store `cloud` is") && out.contains("s ahead of this machine's"),
        "{out}"
    );
}
