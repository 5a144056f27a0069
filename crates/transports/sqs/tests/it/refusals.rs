//! Tests of records that the service refuses.

use postrider_seams::{Content, Envelope, Transport as _, transport};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::server::{client, create, sqs, take, url};
use crate::world::*;

#[tokio::test]
async fn records_for_a_missing_queue_are_rejected_and_others_delivered() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    let queue = create(&client, &name).await;
    let batch = [record(&unique("nope"), None, "1", "1"), record(&name, None, "2", "2")];
    let outcomes = send(&sqs(&url), &batch).await;
    let reason = &rejected(&outcomes[0]).reason;
    assert!(reason.contains("Queue"), "{reason}");
    delivered(&outcomes[1]);
    assert_eq!(take(&client, &queue, 1).await[0].body(), Some("2"));
}

#[tokio::test]
async fn records_that_sqs_never_accepts_are_rejected() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    create(&client, &name).await;
    let batch = [
        record(&name, None, "", "1"),
        record(&name, None, vec![b'x'; 1024 * 1024 + 1], "2"),
        Envelope { content: Content::Nothing, ..record(&name, None, "", "3") },
        record(&name, None, "4", "4"),
    ];
    let outcomes = send(&sqs(&url), &batch).await;
    for outcome in &outcomes[..3] {
        rejected(outcome);
    }
    delivered(&outcomes[3]);
}

#[tokio::test]
async fn g02_a_record_whose_lease_ran_out_is_not_sent() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    let queue = create(&client, &name).await;
    defers_without_lease(&sqs(&url), &name).await;
    let mut bodies: Vec<_> =
        take(&client, &queue, 2).await.iter().filter_map(|one| one.body().map(str::to_owned)).collect();
    bodies.sort();
    assert_eq!(bodies, ["1", "3"]);
}

/// Starts a service that answers every request with this error; returns the URL of the transport.
async fn answering(code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("sqs://a:b@us-east-1?endpoint=http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 65536];
            let _ = stream.read(&mut asked).await;
            let body = format!(r#"{{"__type":"com.amazonaws.sqs#{code}","message":"no"}}"#);
            let answer = format!(
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    url
}

/// The right to list queues is not needed. It is checked after the credentials.
#[tokio::test]
async fn g03_a_probe_succeeds_only_if_the_service_has_accepted_the_credentials() {
    sqs(&answering("AccessDeniedException").await).probe().await.unwrap();
    for code in ["InvalidClientTokenId", "UnsupportedOperation", "InvalidAddress"] {
        let answer = sqs(&answering(code).await).probe().await;
        assert!(
            matches!(&answer, Err(transport::Error::Refused(words)) if words.contains(code)),
            "{answer:?}"
        );
    }
}

/// The connection ends without an answer to the query about the queue: no record was sent.
#[tokio::test]
async fn g01_a_lost_query_for_a_queues_url_costs_nothing_while_the_service_is_away() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("sqs://a:b@us-east-1?endpoint=http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut vec![0; 65536]).await;
        }
    });
    let outcomes = send(&sqs(&url), &[record("deals", None, "1", "1")]).await;
    assert!(retryable(&outcomes[0]).unreachable, "{outcomes:?}");
}
