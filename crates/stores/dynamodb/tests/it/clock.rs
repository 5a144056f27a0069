//! Tests how the store follows the service's clock.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use postrider_store_dynamodb::{Database, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

#[expect(clippy::disallowed_methods, reason = "what a server elsewhere would say")]
fn date(ahead: Duration) -> String {
    DateTime::from(SystemTime::now() + ahead).fmt(DateTimeFormat::HttpDate).unwrap()
}

/// Starts a service that refuses everything, and whose clock is ahead; returns its URL.
async fn ahead_by(ahead: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 65536];
            let _ = stream.read(&mut asked).await;
            let date = date(ahead);
            let body = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}"#;
            let answer = format!(
                "HTTP/1.1 400 Bad Request\r\ndate: {date}\r\ncontent-type: application/x-amz-json-1.0\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("dynamodb://key:secret@us-east-1?endpoint=http://{address}")
}

#[tokio::test]
async fn g05_any_answer_reveals_the_offset_of_the_services_clock() {
    for (ahead, wanted) in [(Duration::ZERO, 0), (Duration::from_mins(10), 600)] {
        let database = Database::connect(&Settings::from_url(&ahead_by(ahead).await).unwrap());
        let seconds = database.clock_offset().await.unwrap() / 1_000_000;
        assert!((seconds - wanted).abs() <= 2, "{seconds} s");
    }
}

#[tokio::test]
async fn g05_a_service_that_is_away_has_no_offset() {
    let settings = Settings::from_url("dynamodb://key:secret@us-east-1?endpoint=http://127.0.0.1:1").unwrap();
    assert!(Database::connect(&settings).clock_offset().await.is_err());
}
