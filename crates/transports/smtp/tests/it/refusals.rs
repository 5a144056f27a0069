//! Tests of who is at fault: the row, the relay temporarily, or us (rules G1 and G3).

use postrider_seams::{Transport, Value, transport};

use crate::fixtures::{
    all_delivered, deferred, delivered, envelope, mail, refused, rejected, retryable, send, settings, smtp,
    soon, status, to,
};
use crate::relay::{Act, Relay, commands, hear, hello, say, script, text};
use postrider_transport_smtp::Smtp;

#[tokio::test]
async fn g03_a_554_greeting_refuses_us() {
    let relay = Relay::play(vec![vec![say("554 5.7.1 go away")], vec![say("554 go away")]]).await;
    let smtp = smtp(relay.port);
    let outcomes = send(&smtp, &[to("b@y.test"), to("c@y.test")]).await;
    for outcome in &outcomes {
        assert!(refused(outcome).reason.contains("554 5.7.1 go away"));
    }
    assert!(matches!(smtp.probe().await, Err(transport::Error::Refused(_))));
    relay.finish().await;
}

#[tokio::test]
async fn g03_authentication_required_at_mail_refuses_us_and_the_rest_is_not_tried() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("530 5.7.0 authenticate first\r\n503 no\r\n503 no"), Act::Hang],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    assert_eq!(status(&refused(&outcomes[0]).detail), 530);
    assert_eq!(refused(&outcomes[1]).detail.get("class"), Some(&Value::Text("unauthorized".to_owned())));
}

#[tokio::test]
async fn g03_a_refused_sender_is_our_fault_unless_another_sender_is_accepted() {
    let mut foreign = mail(&["b@y.test"]);
    foreign.from = "evil@z.test".to_owned();
    let refusal = || {
        vec![
            hear("MAIL FROM:<evil@z.test> SIZE=22"),
            hear("RCPT TO:<b@y.test>"),
            hear("DATA"),
            say("553 5.7.1 not your address\r\n503 no\r\n503 no"),
        ]
    };
    let relay = Relay::play(vec![script([
        hello(),
        refusal(),
        vec![hear("RSET"), hear("MAIL FROM:<evil@z.test> SIZE=22"), hear("RCPT TO:<b@y.test>"), hear("DATA")],
        vec![say("250 ok\r\n553 5.7.1 not your address\r\n503 no\r\n503 no"), hear("RSET")],
        commands("c@y.test"),
        vec![say("250 ok\r\n250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
    ])])
    .await;
    let smtp = smtp(relay.port);
    let alone = send(&smtp, &[envelope(foreign.clone())]).await;
    refused(&alone[0]);
    let outcomes = send(&smtp, &[envelope(foreign), to("c@y.test")]).await;
    rejected(&outcomes[0]);
    delivered(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn g01_an_unreachable_relay_costs_one_attempt_and_the_rest_nothing() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let smtp = smtp(port);
    let outcomes = send(&smtp, &[to("b@y.test"), to("c@y.test")]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.unreachable, "{failure:?}");
    assert!(failure.reason.contains(&format!("127.0.0.1:{port}")));
    deferred(&outcomes[1]);
    assert!(matches!(smtp.probe().await, Err(transport::Error::Unreachable(_))));
}

#[tokio::test]
async fn g01_a_name_that_does_not_resolve_is_unreachable() {
    let smtp = Smtp::from_url("smtp://relay.invalid?tls=none").unwrap();
    let failure = smtp.deliver(&[to("b@y.test")], soon()).await;
    assert!(retryable(&failure[0]).unreachable);
}

#[tokio::test]
async fn g01_a_421_greeting_is_unreachable_for_now() {
    let relay = Relay::play(vec![vec![say("421 4.3.2 too busy")]]).await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.unreachable);
    assert_eq!(failure.after, None, "the contract's backoff decides");
    deferred(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn throttling_after_the_text_defers_the_rest_and_is_never_permanent() {
    let relay = Relay::play(vec![script([
        vec![say("220 hi"), Act::HearPrefix("EHLO"), say("250 relay")],
        vec![
            hear("MAIL FROM:<a@x.test>"),
            say("250 ok"),
            hear("RCPT TO:<b@y.test>"),
            say("250 ok"),
            hear("DATA"),
        ],
        vec![say("354 go"), text(), say("454 Throttling failure: Maximum sending rate exceeded."), Act::Hang],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    let failure = retryable(&outcomes[0]);
    assert_eq!(failure.after, None, "the contract's backoff decides");
    assert_eq!(failure.detail.get("class"), Some(&Value::Text("rate_limited".to_owned())));
    assert!(deferred(&outcomes[1]).reason.contains("Maximum sending rate"));
}

#[tokio::test]
async fn g01_a_relay_that_closes_after_some_mails_costs_nothing() {
    let one = |to: &str| script([commands(to), vec![say("250 ok\r\n250 ok\r\n354 go"), text()]]);
    let relay = Relay::play(vec![
        script([hello(), one("b@y.test"), commands("c@y.test"), vec![say("250 ok\r\n421 4.4.2 enough")]]),
        // Closed without a reply.
        script([hello(), one("c@y.test"), commands("d@y.test"), vec![say("250 ok")]]),
        script([hello(), one("d@y.test"), vec![say("250 ok")]]),
    ])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test"), to("d@y.test")]).await;
    all_delivered(&outcomes);
    relay.finish().await;
}

#[tokio::test]
async fn a_421_to_a_recipient_fails_that_mail_and_the_next_goes_on_over_a_new_connection() {
    let one = |to: &str| script([commands(to), vec![say("250 ok\r\n250 ok\r\n354 go"), text()]]);
    let relay = Relay::play(vec![
        script([
            hello(),
            one("b@y.test"),
            commands("c@y.test"),
            vec![say("250 ok\r\n250 ok\r\n421 4.4.2 bye")],
        ]),
        script([hello(), one("d@y.test"), vec![say("250 ok")]]),
    ])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test"), to("d@y.test")]).await;
    delivered(&outcomes[0]);
    assert_eq!(status(&retryable(&outcomes[1]).detail), 421);
    delivered(&outcomes[2]);
    relay.finish().await;
}

#[tokio::test]
async fn replies_are_cleaned_and_shortened() {
    let noise = format!("550 5.1.1 \u{1b}[31mred\u{7}\t{}", "x".repeat(900));
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok"), Act::Say(format!("{noise}\r\n")), say("503 no")],
    ])])
    .await;
    let outcomes = send(&Smtp::new(settings(relay.port)).unwrap(), &[to("b@y.test")]).await;
    let reason = &rejected(&outcomes[0]).reason;
    assert!(reason.chars().count() <= 500 && !reason.chars().any(char::is_control), "{reason}");
    relay.finish().await;
}
