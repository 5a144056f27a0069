//! Claims that the database commits but whose answer is lost, on real servers behind a proxy that cuts the connection
//! at that moment. The lease is a minute: rows that are delivered within seconds did not wait for it.

use std::time::{Duration, Instant};

use postrider_services::{LostAnswer, Proxy};

use crate::databases::{fresh, server};
use crate::sandbox::{SQLITE, Sandbox, eventually};

const MAILS: usize = 10;

/// Half of the lease, to leave a margin on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// The URL through the proxy.
fn url_through(proxy: &Proxy, url: &str) -> String {
    let mut url = url::Url::parse(url).unwrap();
    url.set_port(Some(proxy.port())).unwrap();
    url.to_string()
}

fn target(url: &str) -> std::net::SocketAddr {
    let port = url::Url::parse(url).unwrap().port().expect("a port");
    ([127, 0, 0, 1], port).into()
}

/// Loses the answers to claims; `answer` matches only a claim or only its answer.
fn loses_claims(url: &str, answer: LostAnswer) {
    let proxy = Proxy::start(target(url)).unwrap();
    let on = |url: &str| Sandbox::new(Some(&SQLITE.replace("sqlite:app.db", url)));
    // Only the worker connects through the proxy.
    let (sandbox, worker) = (on(url), on(&url_through(&proxy, url)));
    sandbox.run(&["migrate"]).success();
    for number in 0..MAILS {
        let to = format!("lost-answer-{number}@example.com");
        sandbox.run(&["send", "mail", "--to", &to, "--subject", "Hi", "--text", "Body"]).success();
    }
    proxy.lose_answers(answer, 3);
    let began = Instant::now();
    let running = worker.start();
    let released = "postrider_rows_reclaimed_total{lane=\"mail\",to=\"unanswered\"}";
    let figure = |figures: &str, name: &str| {
        let line = figures.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse::<u64>().ok())
    };
    eventually("all are sent", || {
        let status = &sandbox.run(&["status", "--json"]).success().json()[0];
        let states = status["states"].as_array().expect("it counts rows");
        states.iter().any(|one| one["state"] == "sent" && one["rows"] == MAILS).then_some(())
    });
    assert!(began.elapsed() < SOON, "{:?}\n{}", began.elapsed(), running.log());
    assert_eq!(proxy.answers_to_lose(), 0, "answers were lost");
    let (_, figures) = running.get("/metrics");
    // The answer to the release may be among the lost ones: then nobody knows how many rows it released.
    let uncounted =
        "postrider_store_errors_total{lane=\"mail\",verb=\"release_lost_claims\",class=\"transient\"}";
    let released = [released, uncounted].map(|name| figure(&figures, name).unwrap_or_default());
    assert!(released.iter().any(|count| *count > 0), "{figures}\n{}", running.log());
    let delivered = "postrider_deliveries_total{lane=\"mail\",outcome=\"delivered\"}";
    assert_eq!(figure(&figures, delivered), Some(MAILS as u64), "each once: {figures}");
    drop(running);
    for row in sandbox.run(&["list", "mail", "--json"]).success().json() {
        let id = row["id"].to_string();
        let shown = &sandbox.run(&["show", "mail", id.trim_matches('"'), "--json"]).success().json()[0];
        assert_eq!(shown["columns"]["retry_count"].to_string().trim_matches('"'), "0", "{shown}");
    }
}

/// A single statement is the whole transaction: its answer contains the rows.
#[tokio::test(flavor = "multi_thread")]
async fn g02_a_lost_answer_to_a_claim_costs_nothing_on_postgres() {
    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_lost_answers").await;
    tokio::task::spawn_blocking(move || loses_claims(&url, LostAnswer::With(b"lost-answer-"))).await.unwrap();
}

/// A request is its type (3: a query) and the text.
#[tokio::test(flavor = "multi_thread")]
async fn g02_a_lost_answer_to_a_claim_costs_nothing_on_mariadb() {
    let url = fresh(&server("POSTRIDER_TEST_MYSQL"), "cli_lost_answers").await;
    tokio::task::spawn_blocking(move || loses_claims(&url, LostAnswer::To(b"\x03COMMIT"))).await.unwrap();
}
