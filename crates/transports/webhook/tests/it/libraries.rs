//! Verifies our deliveries with the public libraries of Standard Webhooks (rule J10).

use postrider_seams::Secret;
use postrider_services::{Library, Signed, verify};

use crate::fixtures::{SECRET, Seen, Server, deliver, status, webhook, webhooks};

const OLD: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const OTHER: &str = "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH";

fn delivery(seen: &Seen, secret: &str) -> Signed {
    let headers: serde_json::Map<String, serde_json::Value> =
        ["webhook-id", "webhook-timestamp", "webhook-signature"]
            .into_iter()
            .map(|name| (name.to_owned(), seen.header(name).into()))
            .collect();
    let body = String::from_utf8(seen.body.to_vec()).unwrap();
    Signed { json: serde_json::json!({ "secret": secret, "body": body, "headers": headers }).to_string() }
}

async fn delivered(secrets: &[&str]) -> Seen {
    let server = Server::start(|_| status(200)).await;
    let mut webhook = webhook(&server.url());
    webhook.body = "{\"orderId\": \"12345\", \"amount\": 99.99, \"name\": \"Müller ☃\"}\n".into();
    webhook.signing = secrets.iter().map(|&secret| Secret::new(secret)).collect();
    deliver(&webhooks(), webhook).await;
    server.seen().pop().unwrap()
}

async fn verdict(library: Library, delivery: Signed) -> Result<(), String> {
    let verified = tokio::task::spawn_blocking(move || verify(library, &delivery));
    verified.await.unwrap().expect("the library can be had")
}

#[tokio::test]
async fn j10_the_public_libraries_verify_a_delivery() {
    let seen = delivered(&[SECRET]).await;
    for library in [Library::Python, Library::JavaScript] {
        verdict(library, delivery(&seen, SECRET)).await.unwrap();
        let refusal = verdict(library, delivery(&seen, OTHER)).await.unwrap_err();
        assert!(refusal.contains("No matching signature"), "{refusal}");
        let mut changed = seen.clone();
        changed.body = "{}".into();
        verdict(library, delivery(&changed, SECRET)).await.unwrap_err();
    }
}

#[tokio::test]
async fn j10_both_secrets_verify_while_one_takes_over() {
    let seen = delivered(&[SECRET, OLD]).await;
    for library in [Library::Python, Library::JavaScript] {
        for secret in [SECRET, OLD] {
            verdict(library, delivery(&seen, secret)).await.unwrap();
        }
        verdict(library, delivery(&seen, OTHER)).await.unwrap_err();
    }
}
