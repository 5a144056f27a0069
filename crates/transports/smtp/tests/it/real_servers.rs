//! Tests against real servers, which `cargo xtask test` starts: aiosmtpd with a journal, and smtp-sink.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use postrider_seams::envelope::RecipientResult::{Accepted, Deferred, Refused};
use postrider_seams::{Envelope, Transport};
use postrider_transport_smtp::{Settings, Smtp};

use crate::fixtures::{
    all_delivered, delivered, envelope, mail, rejected, results, retryable, send, soon, status, uncertain,
};

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run this test through `cargo xtask test`"))
}

fn relay(name: &str) -> Settings {
    Settings::from_url(&format!("smtp://{}", variable(name))).unwrap()
}

/// Creates a mail with its own Message-ID, to find it in the journal.
fn marked(mark: &str, to: &[&str]) -> Envelope {
    let mut marked = mail(to);
    marked.message_id = format!("{mark}-{}@x.test", std::process::id());
    let head = format!("Message-ID: <{}>\r\nSubject: {mark}\r\n\r\n", marked.message_id);
    marked.message = Bytes::from(format!("{head}.a dot\r\n..\r\n.\r\nend\r\n"));
    envelope(marked)
}

/// Returns the journal's entries of our mails, by subject.
fn journal() -> HashMap<String, Vec<serde_json::Value>> {
    let text = std::fs::read_to_string(variable("POSTRIDER_TEST_SMTP_JOURNAL")).unwrap();
    let ours = format!("-{}@x.test>", std::process::id());
    let mut found: HashMap<String, Vec<serde_json::Value>> = HashMap::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["message_id"].as_str().is_some_and(|id| id.ends_with(&ours)) {
            found.entry(line["subject"].as_str().unwrap_or_default().to_owned()).or_default().push(line);
        }
    }
    found
}

#[tokio::test]
async fn a_real_server_receives_each_mail_once_whatever_its_neighbours_do() {
    let smtp = Smtp::new(relay("POSTRIDER_TEST_SMTP")).unwrap();
    let batch = [
        marked("plain", &["b@y.test"]),
        marked("nobody", &["rcpt-550-nobody@y.test"]),
        marked("some", &["b@y.test", "rcpt-550-some@y.test", "rcpt-450-some@y.test"]),
        marked("refused", &["data-554-refused@y.test"]),
        marked("lost", &["lost-mail@y.test"]),
        marked("hangup", &["hangup-mail@y.test"]),
        marked("last", &["b@y.test"]),
    ];
    let outcomes = send(&smtp, &batch).await;
    delivered(&outcomes[0]);
    assert_eq!(status(&rejected(&outcomes[1]).detail), 550);
    let some = retryable(&outcomes[2]);
    assert!(some.partly_accepted);
    let each: Vec<_> = results(&some.detail).into_iter().map(|(_, result)| result).collect();
    assert_eq!(each, [Accepted, Refused, Deferred]);
    assert_eq!(status(&rejected(&outcomes[3]).detail), 554);
    uncertain(&outcomes[4]);
    uncertain(&outcomes[5]);
    delivered(&outcomes[6]);

    let journal = journal();
    let times = |mark: &str| journal.get(mark).map_or(0, Vec::len);
    for (mark, expected) in
        [("plain", 1), ("nobody", 0), ("some", 1), ("refused", 0), ("lost", 0), ("hangup", 1), ("last", 1)]
    {
        assert_eq!(times(mark), expected, "{mark}");
    }
    assert_eq!(journal["some"][0]["to"], serde_json::json!(["b@y.test"]));
    smtp.close().await;
}

#[tokio::test]
async fn many_calls_at_once_share_the_connections_of_a_real_server() {
    let settings = Settings { connections: 4, per_connection: 30, ..relay("POSTRIDER_TEST_SMTP_SINK") };
    let smtp = Arc::new(Smtp::new(settings).unwrap());
    smtp.probe().await.unwrap();
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let smtp = Arc::clone(&smtp);
            tokio::spawn(async move {
                let batch: Vec<_> = (0..20).map(|_| envelope(mail(&["b@y.test", "c@y.test"]))).collect();
                smtp.deliver(&batch, soon()).await
            })
        })
        .collect();
    for call in calls {
        all_delivered(&call.await.unwrap());
    }
    smtp.close().await;
}
