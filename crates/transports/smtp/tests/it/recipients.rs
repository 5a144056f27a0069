//! Tests of rule M9: accepted recipients stay accepted; only those refused temporarily are retried.

use postrider_seams::envelope::{Recipient, RecipientResult};

use crate::fixtures::{
    delivered, envelope, mail, recipients, rejected, results, retryable, send, smtp, status, to,
};
use crate::relay::{Act, Relay, commands, hear, hello, say, script, text};
use RecipientResult::{Accepted, Deferred, Refused};

fn three() -> Vec<Act> {
    let rcpt = ["b", "c", "d"].map(|name| hear(&format!("RCPT TO:<{name}@y.test>")));
    script([vec![hear("MAIL FROM:<a@x.test> SIZE=22")], rcpt.to_vec(), vec![hear("DATA")]])
}

const THREE: [&str; 3] = ["b@y.test", "c@y.test", "d@y.test"];

fn named(results: [RecipientResult; 3]) -> Vec<(String, RecipientResult)> {
    THREE.iter().map(|&name| name.to_owned()).zip(results).collect()
}

#[tokio::test]
async fn m09_some_refused_for_good_is_delivered_with_their_results() {
    let relay = Relay::play(vec![script([
        hello(),
        three(),
        vec![say("250 ok\r\n250 ok\r\n550 5.1.1 no such user\r\n250 ok\r\n354 go"), text(), say("250 ok")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(mail(&THREE))]).await;
    let receipt = delivered(&outcomes[0]);
    assert_eq!(results(&receipt.detail), named([Accepted, Refused, Accepted]));
    assert_eq!(recipients(&receipt.detail)[1].reply, "550 5.1.1 no such user");
    relay.finish().await;
}

#[tokio::test]
async fn m09_some_deferred_is_retried_for_them_alone() {
    let relay = Relay::play(vec![script([
        hello(),
        three(),
        vec![
            say("250 ok\r\n250 ok\r\n450 4.7.1 greylisted\r\n550 5.1.1 no\r\n354 go"),
            text(),
            say("250 ok"),
        ],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(mail(&THREE))]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.partly_accepted && !failure.unreachable);
    assert_eq!(failure.after, None, "the contract's backoff decides (M4)");
    assert_eq!(failure.reason, "c@y.test: 450 4.7.1 greylisted");
    assert_eq!(results(&failure.detail), named([Accepted, Deferred, Refused]));
    relay.finish().await;
}

#[tokio::test]
async fn m09_served_recipients_are_kept_in_every_outcome() {
    let mut rest = mail(&["d@y.test"]);
    rest.settled = vec![Recipient { address: "b@y.test".to_owned(), result: Accepted, reply: String::new() }];
    let relay = Relay::play(vec![script([
        hello(),
        commands("d@y.test"),
        vec![say("250 ok\r\n550 5.1.1 no\r\n503 no recipients")],
        vec![hear("RSET")],
        commands("d@y.test"),
        vec![say("250 ok\r\n250 ok\r\n451 4.2.0 busy\r\n503 no recipients")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(rest.clone()), envelope(rest)]).await;
    let (first, second) = (rejected(&outcomes[0]), retryable(&outcomes[1]));
    assert!(first.partly_accepted && second.partly_accepted);
    let all = |second| vec![("b@y.test".to_owned(), Accepted), ("d@y.test".to_owned(), second)];
    assert_eq!(results(&first.detail), all(Refused));
    assert_eq!(results(&second.detail), all(Deferred));
    relay.finish().await;
}

#[tokio::test]
async fn m09_no_accepted_recipient_is_a_rejection_and_the_connection_continues_after_rset() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok\r\n550-5.1.1 no such\r\n550 5.1.1 user\r\n554 5.5.1 no valid recipients")],
        vec![hear("RSET")],
        commands("c@y.test"),
        vec![say("250 ok\r\n250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    let failure = rejected(&outcomes[0]);
    assert_eq!(failure.reason, "b@y.test: 550 5.1.1 no such user");
    assert_eq!(status(&failure.detail), 550);
    assert!(!failure.partly_accepted);
    delivered(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn m09_a_lone_dot_ends_a_text_without_recipients() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok\r\n450 4.2.1 later\r\n354 go anyway"), Act::HearBytes(b".\r\nRSET\r\n".to_vec())],
        commands("c@y.test"),
        vec![say("554 5.5.1 no valid recipients\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 go"), text()],
        commands("d@y.test"),
        vec![say("250 ok\r\n250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test"), to("d@y.test")]).await;
    retryable(&outcomes[0]);
    delivered(&outcomes[1]);
    delivered(&outcomes[2]);
    relay.finish().await;
}

#[tokio::test]
async fn m09_a_refused_text_is_refused_for_all() {
    let relay = Relay::play(vec![script([
        hello(),
        three(),
        vec![
            say("250 ok\r\n250 ok\r\n450 4.2.1 later\r\n250 ok\r\n354 go"),
            text(),
            say("550 5.6.0 malformed"),
        ],
        three(),
        vec![say("250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 go"), text(), say("451 4.2.0 try again")],
    ])])
    .await;
    // One at a time: with PIPELINING the second mail's commands would come before the first one's answer.
    let smtp = smtp(relay.port);
    let first = send(&smtp, &[envelope(mail(&THREE))]).await;
    let failure = rejected(&first[0]);
    assert_eq!(results(&failure.detail), named([Refused, Deferred, Refused]));
    assert!(!failure.partly_accepted);
    let second = send(&smtp, &[envelope(mail(&THREE))]).await;
    assert_eq!(results(&retryable(&second[0]).detail), named([Deferred; 3]));
    relay.finish().await;
}

fn recipients_numbered(names: std::ops::Range<usize>) -> Vec<String> {
    names.map(|number| format!("u{number}@y.test")).collect()
}

fn rcpt_commands(names: std::ops::Range<usize>) -> Vec<Act> {
    recipients_numbered(names).iter().map(|name| hear(&format!("RCPT TO:<{name}>"))).collect()
}

fn answers(accepted: usize, full: &str, refused: usize) -> String {
    let rcpt = "250 ok\r\n".repeat(accepted) + &format!("{full}\r\n").repeat(refused);
    format!("250 ok\r\n{rcpt}354 go")
}

/// RFC 5321 4.5.3.1.10: recipients beyond the relay's limit follow in further transactions.
#[tokio::test]
async fn m09_too_many_recipients_are_split_over_transactions_of_one_attempt() {
    for full in ["452 4.5.3 too many recipients", "552 5.5.3 too many recipients", "452 too many recipients"]
    {
        let begin = || vec![hear("MAIL FROM:<a@x.test> SIZE=22")];
        let data = || vec![hear("DATA")];
        let relay = Relay::play(vec![script([
            hello(),
            begin(),
            rcpt_commands(0..7),
            data(),
            vec![say(&answers(3, full, 4)), text(), say("250 ok")],
            begin(),
            rcpt_commands(3..6),
            data(),
            vec![say(&answers(3, full, 0)), text(), say("250 ok")],
            begin(),
            rcpt_commands(6..7),
            data(),
            vec![say(&answers(1, full, 0)), text(), say("250 ok")],
        ])])
        .await;
        let names = recipients_numbered(0..7);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let outcomes = send(&smtp(relay.port), &[envelope(mail(&names))]).await;
        let receipt = delivered(&outcomes[0]);
        let expected: Vec<_> = names.iter().map(|name| ((*name).to_owned(), Accepted)).collect();
        assert_eq!(results(&receipt.detail), expected, "{full}");
        relay.finish().await;
    }
}

/// The recipients that have a part of the mail are recorded, whatever happens to the rest.
#[tokio::test]
async fn m09_a_relay_that_closes_between_two_parts_leaves_the_rest_for_the_next_attempt() {
    let relay = Relay::play(vec![script([
        hello(),
        three(),
        vec![say("250 ok\r\n250 ok\r\n452 4.5.3 full\r\n452 4.5.3 full\r\n354 go"), text(), say("250 ok")],
        vec![hear("MAIL FROM:<a@x.test> SIZE=22"), hear("RCPT TO:<c@y.test>"), hear("DATA"), say("250 ok")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(mail(&THREE))]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.partly_accepted);
    assert_eq!(results(&failure.detail), named([Accepted, Deferred, Deferred]));
}

/// A relay that refuses the first recipient as too many accepts none: a temporary refusal, not a full transaction.
#[tokio::test]
async fn m09_a_recipient_limit_at_the_first_recipient_is_a_temporary_refusal() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok\r\n452 4.5.3 too many\r\n503 no recipients")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test")]).await;
    assert!(!retryable(&outcomes[0]).partly_accepted);
    relay.finish().await;
}
