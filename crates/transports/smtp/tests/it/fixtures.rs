//! Mails, transports, and helpers to check outcomes.

use std::time::Duration;

use bytes::Bytes;
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome, Receipt, Transport, Value};
use postrider_transport_smtp::{Settings, Smtp, Tls};
use tokio::time::Instant;

pub const MESSAGE: &str = "Subject: hi\r\n\r\nhello\r\n";

pub fn mail(to: &[&str]) -> Mail {
    Mail {
        from: "a@x.test".to_owned(),
        to: to.iter().map(|&to| to.to_owned()).collect(),
        message: Bytes::from_static(MESSAGE.as_bytes()),
        rest: None,
        message_id: "1@x.test".to_owned(),
        utf8: false,
        settled: Vec::new(),
        metadata: Vec::new(),
    }
}

pub fn envelope(mail: Mail) -> Envelope {
    Envelope {
        row: "1".to_owned(),
        dedupe: "1".to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(mail),
        detail: Detail::new(),
    }
}

pub fn to(address: &str) -> Envelope {
    envelope(mail(&[address]))
}

pub fn settings(port: u16) -> Settings {
    Settings { port, helo: Some("client.test".to_owned()), ..Settings::new("127.0.0.1", Tls::None) }
}

pub fn smtp(port: u16) -> Smtp {
    Smtp::new(settings(port)).unwrap()
}

pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

pub async fn send(smtp: &Smtp, batch: &[Envelope]) -> Vec<Outcome> {
    let outcomes = smtp.deliver(batch, soon()).await;
    assert_eq!(outcomes.len(), batch.len(), "one outcome per envelope");
    outcomes
}

#[track_caller]
pub fn delivered(outcome: &Outcome) -> &Receipt {
    match outcome {
        Outcome::Delivered(receipt) => receipt,
        other => panic!("not delivered: {other:?}"),
    }
}

macro_rules! failures {
    ($($name:ident $variant:ident),*) => {$(
        #[track_caller]
        pub fn $name(outcome: &Outcome) -> &Failure {
            match outcome {
                Outcome::$variant(failure) => failure,
                other => panic!("not {}: {other:?}", stringify!($variant)),
            }
        }
    )*};
}
failures!(retryable Retryable, rejected Rejected, refused Refused, deferred Deferred, uncertain Uncertain);

pub fn status(detail: &Detail) -> i64 {
    match detail.get("status") {
        Some(Value::Int(status)) => *status,
        other => panic!("no status: {other:?}"),
    }
}

pub fn recipients(detail: &Detail) -> Vec<Recipient> {
    let text = detail.get("recipients").and_then(Value::as_text).expect("there are recipients");
    serde_json::from_str(text).unwrap()
}

pub fn results(detail: &Detail) -> Vec<(String, RecipientResult)> {
    recipients(detail).into_iter().map(|recipient| (recipient.address, recipient.result)).collect()
}

#[track_caller]
pub fn all_delivered(outcomes: &[Outcome]) {
    for outcome in outcomes {
        delivered(outcome);
    }
}
