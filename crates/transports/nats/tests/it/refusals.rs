//! Tests of records and credentials that the server refuses.

use async_nats::jetstream::stream;
use postrider_seams::{Content, Envelope, Transport as _, transport};
use postrider_transport_nats::Nats;

use crate::server::{self, context, nats};
use crate::world::*;

#[tokio::test]
async fn a_subject_without_a_stream_is_rejected_and_others_delivered() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let batch = [
        record("deals.made", None, "1", "1"),
        record("nobody.listens", None, "2", "2"),
        record("deals.*", None, "3", "3"),
        record("$JS.API.STREAM.DELETE.deals", None, "", "4"),
        Envelope { content: Content::Nothing, ..record("deals.made", None, "", "5") },
        record("deals.made", None, "6", "6"),
    ];
    let outcomes = send(&nats(&server), &batch).await;
    delivered(&outcomes[0]);
    assert_eq!(rejected(&outcomes[1]).reason, "no stream has the subject nobody.listens");
    for outcome in &outcomes[2..5] {
        rejected(outcome);
    }
    delivered(&outcomes[5]);
    assert_eq!(server::messages(&server, "deals").await.len(), 2, "the stream is still there");
}

/// Plain subscribers receive the subject, and none acknowledges: nothing is stored.
#[tokio::test]
async fn a_subject_with_subscribers_but_no_stream_is_refused_after_the_ack_timeout() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let plain = async_nats::connect(server.url()).await.unwrap();
    let _heard = plain.subscribe("plain.>").await.unwrap();
    plain.flush().await.unwrap();
    let nats = Nats::from_url(&server.url(), &[("ack_timeout".to_owned(), "1s".to_owned())]).unwrap();
    let batch = [
        record("deals.made", None, "1", "1"),
        record("plain.one", None, "2", "2"),
        record("plain.two", None, "3", "3"),
        record("deals.made", None, "4", "4"),
    ];
    let began = tokio::time::Instant::now();
    let outcomes = send_by(&nats, &batch, within(300.0)).await;
    assert!(began.elapsed() < std::time::Duration::from_secs(4), "{:?}", began.elapsed());
    delivered(&outcomes[0]);
    for (outcome, subject) in [(&outcomes[1], "plain.one"), (&outcomes[2], "plain.two")] {
        let reason = &rejected(outcome).reason;
        let wanted = format!("no stream has the subject {subject}; its subscribers do not store it");
        assert_eq!(*reason, wanted);
    }
    delivered(&outcomes[3]);
}

/// A stream that never acknowledges is known to JetStream, so nothing is wrong with JetStream's answers.
#[tokio::test]
async fn a_stream_that_does_not_acknowledge_hides_no_subject_without_a_stream() {
    let server = server::start("").await;
    let silent = stream::Config {
        name: "silent".to_owned(),
        subjects: vec!["silent.>".to_owned()],
        no_ack: true,
        ..stream::Config::default()
    };
    context(&server).await.create_stream(silent).await.unwrap();
    let plain = async_nats::connect(server.url()).await.unwrap();
    let _heard = plain.subscribe("plain.>").await.unwrap();
    plain.flush().await.unwrap();
    let nats = Nats::from_url(&server.url(), &[("ack_timeout".to_owned(), "1s".to_owned())]).unwrap();
    let outcomes =
        send(&nats, &[record("silent.one", None, "1", "1"), record("plain.one", None, "2", "2")]).await;
    uncertain(&outcomes[0]);
    assert!(rejected(&outcomes[1]).reason.contains("no stream has the subject plain.one"), "{outcomes:?}");
}

#[tokio::test]
async fn g02_a_record_whose_lease_ran_out_is_not_published() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    defers_without_lease(&nats(&server), "deals.made").await;
    assert_eq!(server::messages(&server, "deals").await.len(), 2);
}

#[tokio::test]
async fn a_record_over_a_limit_is_rejected() {
    let server = server::start("max_payload: 100000").await;
    let config = stream::Config {
        name: "deals".to_owned(),
        subjects: vec!["deals.>".to_owned()],
        max_message_size: 1000,
        ..stream::Config::default()
    };
    context(&server).await.create_stream(config).await.unwrap();
    let of = |size: usize, id: &str| record("deals.made", None, vec![b'x'; size], id);
    let outcomes = send(&nats(&server), &[of(200_000, "1"), of(2000, "2"), of(10, "3")]).await;
    assert!(rejected(&outcomes[0]).reason.contains("payload"), "{outcomes:?}");
    assert!(rejected(&outcomes[1]).reason.contains("exceeds maximum"), "{outcomes:?}");
    delivered(&outcomes[2]);
}

#[tokio::test]
async fn a_full_stream_is_retryable() {
    let server = server::start("").await;
    let config = stream::Config {
        name: "deals".to_owned(),
        subjects: vec!["deals.>".to_owned()],
        max_messages: 2,
        discard: stream::DiscardPolicy::New,
        ..stream::Config::default()
    };
    let stream = context(&server).await.create_stream(config).await.unwrap();
    let nats = nats(&server);
    let batch = numbered("deals.made", 1, 0..3);
    let outcomes = send(&nats, &batch).await;
    all_delivered(&outcomes[..2]);
    assert!(!retryable(&outcomes[2]).unreachable);
    stream.purge().await.unwrap();
    all_delivered(&send(&nats, &batch[2..]).await);
}

const USERS: &str = r#"
authorization {
  users: [
    { user: me, password: hunter2, permissions: { publish: ["deals.>", "$JS.>", "_INBOX.>"], subscribe: ">" } }
    { user: boss, password: boss }
  ]
}
"#;

#[tokio::test]
async fn g03_a_wrong_password_pauses_the_lane() {
    let server = server::start(USERS).await;
    let nats = Nats::from_url(&format!("nats://me:wrong-one@127.0.0.1:{}", server.port()), &[]).unwrap();
    let error = nats.probe().await.unwrap_err();
    assert!(matches!(error, transport::Error::Refused(_)), "{error:?}");
    for outcome in send(&nats, &numbered("deals.made", 1, 0..3)).await {
        let reason = &refused(&outcome).reason;
        assert!(reason.contains("authorization") && !reason.contains("wrong-one"), "{reason}");
    }
}

const ACCOUNTS: &str = r"
accounts {
  SHOP: { users: [{ user: shop, password: shop }], jetstream: enabled }
  MAIL: { users: [{ user: mail, password: mail }] }
}
";

/// The server answers such an account, with an error: nothing that it publishes would be stored.
#[tokio::test]
async fn a_probe_of_an_account_without_jetstream_fails() {
    let server = server::start(ACCOUNTS).await;
    let of = |user: &str| Nats::from_url(&format!("nats://{user}:{user}@127.0.0.1:{}", server.port()), &[]);
    of("shop").unwrap().probe().await.unwrap();
    let error = of("mail").unwrap().probe().await.unwrap_err();
    assert!(
        matches!(&error, transport::Error::Unreachable(reason) if reason.contains("not enabled for account")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_denied_subject_is_rejected_and_others_delivered() {
    let server = server::start(USERS).await;
    let boss = async_nats::ConnectOptions::with_user_and_password("boss".to_owned(), "boss".to_owned());
    let boss = async_nats::jetstream::new(boss.connect(server.url()).await.unwrap());
    for name in ["deals", "secret"] {
        let config = stream::Config {
            name: name.to_owned(),
            subjects: vec![format!("{name}.>")],
            ..stream::Config::default()
        };
        boss.create_stream(config).await.unwrap();
    }
    let nats = Nats::from_url(&format!("nats://me:hunter2@127.0.0.1:{}", server.port()), &[]).unwrap();
    let batch = [
        record("deals.made", None, "1", "1"),
        record("secret.plan", None, "2", "2"),
        record("deals.made", None, "3", "3"),
    ];
    for _ in 0..2 {
        let outcomes = send(&nats, &batch).await;
        delivered(&outcomes[0]);
        assert!(rejected(&outcomes[1]).reason.contains("secret.plan"), "{outcomes:?}");
        delivered(&outcomes[2]);
    }
    let mut secret = boss.get_stream("secret").await.unwrap();
    assert_eq!(secret.info().await.unwrap().state.messages, 0);
}

#[tokio::test]
async fn o02_acknowledged_records_are_reported_while_another_waits() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let plain = async_nats::connect(server.url()).await.unwrap();
    let _heard = plain.subscribe("plain.>").await.unwrap();
    plain.flush().await.unwrap();
    let nats = Nats::from_url(&server.url(), &[("ack_timeout".to_owned(), "3s".to_owned())]).unwrap();
    let batch = [record("plain.one", None, "1", "1"), record("deals.made", None, "2", "2")];
    reports_early(&nats, batch, 1, || ()).await;
}
