//! Tests of relays that are silent, send garbage, or close: a deadline for each phase, and a correct *uncertain*.

use std::time::Duration;

use bytes::Bytes;
use postrider_seams::{Outcome, Transport};
use tokio::time::Instant;

use crate::fixtures::{deferred, delivered, envelope, mail, retryable, send, settings, smtp, to, uncertain};
use crate::relay::{Act, Relay, commands, hello, say, script, text};
use postrider_transport_smtp::Smtp;

/// Delivers two mails with a short deadline; asserts that the call ends soon after it.
async fn in_time(acts: Vec<Act>) -> Vec<Outcome> {
    let relay = Relay::play(vec![acts]).await;
    let started = Instant::now();
    let outcomes = smtp(relay.port)
        .deliver(&[to("b@y.test"), to("c@y.test")], started + Duration::from_millis(300))
        .await;
    assert!(started.elapsed() < Duration::from_millis(1500), "took {:?}", started.elapsed());
    outcomes
}

#[tokio::test]
async fn no_greeting_is_unreachable_at_the_deadline() {
    let outcomes = in_time(vec![Act::Hang]).await;
    assert!(retryable(&outcomes[0]).unreachable);
    deferred(&outcomes[1]);
}

#[tokio::test]
async fn no_answer_to_ehlo_is_unreachable_at_the_deadline() {
    let outcomes = in_time(vec![say("220 hi"), Act::Hang]).await;
    assert!(retryable(&outcomes[0]).unreachable);
}

#[tokio::test]
async fn no_answer_to_mail_is_retryable_at_the_deadline() {
    let outcomes = in_time(script([hello(), vec![Act::Hang]])).await;
    assert!(retryable(&outcomes[0]).unreachable);
    deferred(&outcomes[1]);
}

#[tokio::test]
async fn no_answer_to_rcpt_or_data_is_retryable_at_the_deadline() {
    for said in ["250 ok", "250 ok\r\n250 ok"] {
        let outcomes = in_time(script([hello(), vec![say(said), Act::Hang]])).await;
        assert!(retryable(&outcomes[0]).reason.contains("in time"));
        deferred(&outcomes[1]);
    }
}

#[tokio::test]
async fn no_answer_to_the_text_is_uncertain_at_the_deadline() {
    let outcomes = in_time(script([hello(), vec![say("250 ok\r\n250 ok\r\n354 go"), Act::Hang]])).await;
    assert!(uncertain(&outcomes[0]).reason.contains("not confirmed"));
    deferred(&outcomes[1]);
}

#[tokio::test]
async fn a_relay_that_stops_reading_is_retryable_at_the_deadline() {
    let relay = Relay::play(vec![script([
        vec![say("220 hi"), Act::HearPrefix("EHLO"), say("250-relay\r\n250 PIPELINING")],
        vec![say("250 ok\r\n250 ok\r\n354 go"), Act::Hang],
    ])])
    .await;
    let mut large = mail(&["b@y.test"]);
    large.message = Bytes::from("0123456789012345678901234567890123456789\r\n".repeat(400_000));
    let started = Instant::now();
    let outcomes = smtp(relay.port).deliver(&[envelope(large)], started + Duration::from_secs(2)).await;
    assert!(started.elapsed() < Duration::from_secs(4));
    assert!(retryable(&outcomes[0]).reason.contains("stopped reading"), "{outcomes:?}");
}

#[tokio::test]
async fn each_phase_has_its_own_timeout() {
    let relay = Relay::play(vec![script([hello(), vec![Act::Hang]])]).await;
    let mut settings = settings(relay.port);
    settings.timeouts.mail = Duration::from_millis(100);
    let started = Instant::now();
    let outcomes = send(&Smtp::new(settings).unwrap(), &[to("b@y.test")]).await;
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(retryable(&outcomes[0]).reason, "no answer to MAIL FROM in time");
}

#[tokio::test]
async fn closed_before_the_text_is_retryable() {
    let relay = Relay::play(vec![
        script([hello(), commands("b@y.test"), vec![say("250 ok")]]),
        script([
            hello(),
            commands("c@y.test"),
            vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
        ]),
    ])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.unreachable && failure.reason.contains("closed the connection"), "{failure:?}");
    delivered(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn closed_in_the_middle_of_the_text_is_retryable_and_never_reused() {
    let mut large = mail(&["b@y.test"]);
    large.message = Bytes::from("0123456789012345678901234567890123456789\r\n".repeat(500_000));
    let greeting = vec![say("220 hi"), Act::HearPrefix("EHLO"), say("250-relay\r\n250 PIPELINING")];
    let relay = Relay::play(vec![
        script([greeting, vec![say("250 ok\r\n250 ok\r\n354 go"), Act::HearSome(100_000)]]),
        script([
            hello(),
            commands("c@y.test"),
            vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
        ]),
    ])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(large), to("c@y.test")]).await;
    retryable(&outcomes[0]);
    delivered(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn closed_after_the_dot_is_uncertain_and_the_next_mail_is_sent_again() {
    let relay = Relay::play(vec![
        script([
            hello(),
            commands("b@y.test"),
            vec![say("250 ok\r\n250 ok\r\n354 go"), text()],
            commands("c@y.test"),
        ]),
        script([
            hello(),
            commands("c@y.test"),
            vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
        ]),
    ])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    uncertain(&outcomes[0]);
    delivered(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn an_invalid_reply_after_the_dot_is_uncertain() {
    for nonsense in ["354 more?\r\n", "\u{0}\u{1}\u{2}\r\n", "HTTP/1.1 400 Bad Request\r\n"] {
        let relay = Relay::play(vec![script([
            hello(),
            commands("b@y.test"),
            vec![say("250 ok\r\n250 ok\r\n354 go"), text(), Act::Say(nonsense.to_owned())],
        ])])
        .await;
        uncertain(&send(&smtp(relay.port), &[to("b@y.test")]).await[0]);
        relay.finish().await;
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_smtp_is_unreachable() {
    for greeting in ["SSH-2.0-OpenSSH_9.2\r\n", "garbage without an end", "220-one\r\n250 two\r\n"] {
        let relay = Relay::play(vec![vec![Act::Say(greeting.to_owned()), Act::HearEnd]]).await;
        let outcomes = send(&smtp(relay.port), &[to("b@y.test")]).await;
        let failure = retryable(&outcomes[0]);
        assert!(failure.unreachable && failure.reason.contains("not an SMTP reply"), "{failure:?}");
        relay.finish().await;
    }
}

#[tokio::test]
async fn an_endless_reply_is_cut_off() {
    for endless in ["220-x\r\n".repeat(20_000), format!("220 {}", "x".repeat(200_000))] {
        let relay = Relay::play(vec![vec![Act::Say(endless)]]).await;
        let outcomes = send(&smtp(relay.port), &[to("b@y.test")]).await;
        assert!(retryable(&outcomes[0]).reason.contains("64 KiB"), "{outcomes:?}");
    }
}
