//! Tests of the bytes on the wire of successful deliveries.

use std::sync::Arc;

use bytes::Bytes;
use postrider_composers::raw_eml::FileRest;
use postrider_seams::envelope::RecipientResult;
use postrider_seams::message_tail::MessageTail as _;
use postrider_seams::transport::Capabilities;
use postrider_seams::{Mail, Outcome, Transport};

use crate::fixtures::{all_delivered, delivered, envelope, mail, rejected, results, send, smtp, status, to};
use crate::relay::{Act, BARE_HELLO, Relay, commands, hear, hello, say, script, text};

#[tokio::test]
async fn a_mail_is_two_writes_and_its_queue_id_is_kept() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 2.0.0 Ok: queued as 4Zx1")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test")]).await;
    let receipt = delivered(&outcomes[0]);
    assert_eq!(receipt.id.as_deref(), Some("4Zx1"));
    assert_eq!(status(&receipt.detail), 250);
    assert_eq!(results(&receipt.detail), [("b@y.test".to_owned(), RecipientResult::Accepted)]);
    relay.finish().await;
}

#[tokio::test]
async fn with_pipelining_the_next_commands_share_a_write_with_the_text() {
    // The relay replies only after it received the text and the next mail's commands.
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok\r\n250 ok\r\n354 go"), text()],
        commands("c@y.test"),
        vec![say("250 first\r\n250 ok\r\n250 ok\r\n354 go"), text()],
        commands("d@y.test"),
        vec![say("250 second\r\n250 ok\r\n250 ok\r\n354 go"), text(), say("250 third")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test"), to("d@y.test")]).await;
    for outcome in &outcomes {
        assert_eq!(
            delivered(outcome).id.as_deref(),
            Some("1@x.test"),
            "the Message-ID where there is no queue id"
        );
    }
    relay.finish().await;
}

#[tokio::test]
async fn without_pipelining_each_command_waits_for_its_answer() {
    let one = |address: &str| {
        vec![
            hear("MAIL FROM:<a@x.test>"),
            say("250 ok"),
            hear(&format!("RCPT TO:<{address}>")),
            say("250 ok"),
            hear("DATA"),
            say("354 go"),
            text(),
            say("250 ok"),
        ]
    };
    let greeting = vec![say("220 old"), hear("EHLO client.test"), Act::Say(BARE_HELLO.to_owned())];
    let relay = Relay::play(vec![script([greeting, one("b@y.test"), one("c@y.test")])]).await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test"), to("c@y.test")]).await;
    all_delivered(&outcomes);
    relay.finish().await;
}

#[tokio::test]
async fn a_relay_without_ehlo_is_greeted_with_helo() {
    let relay = Relay::play(vec![script([vec![
        say("220 ancient"),
        hear("EHLO client.test"),
        say("502 what?"),
        hear("HELO client.test"),
        say("250 hello"),
        hear("MAIL FROM:<a@x.test>"),
        say("250 ok"),
        hear("RCPT TO:<b@y.test>"),
        say("251 will forward"),
        hear("DATA"),
        say("354 go"),
        text(),
        say("250 ok"),
    ]])])
    .await;
    delivered(&send(&smtp(relay.port), &[to("b@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn replies_of_many_lines_and_in_pieces_are_read_whole() {
    let relay = Relay::play(vec![script([
        vec![
            Act::Say("220-relay.te".to_owned()),
            Act::Say("st\r\n220-be nice\r\n22".to_owned()),
            Act::Say("0 go on\r\n".to_owned()),
        ],
        hello()[1..].to_vec(),
        commands("b@y.test"),
        vec![
            say("250-ok\r\n250 ok\r\n250 ok\r\n354-go\r\n354 on"),
            text(),
            say("250-2.0.0 one\r\n250 2.0.0 queued as Q7"),
        ],
    ])])
    .await;
    assert_eq!(delivered(&send(&smtp(relay.port), &[to("b@y.test")]).await[0]).id.as_deref(), Some("Q7"));
    relay.finish().await;
}

#[tokio::test]
async fn dots_are_stuffed_and_the_last_line_is_ended() {
    let mut dotted = mail(&["b@y.test"]);
    dotted.message = Bytes::from_static(b".first\r\n.\r\n..x\r\nend. .");
    let relay = Relay::play(vec![script([
        hello(),
        vec![
            hear("MAIL FROM:<a@x.test> SIZE=22"),
            hear("RCPT TO:<b@y.test>"),
            hear("DATA"),
            say("250 ok\r\n250 ok\r\n354 go"),
            Act::HearBytes(b"..first\r\n..\r\n...x\r\nend. .\r\n.\r\n".to_vec()),
            say("250 ok"),
        ],
    ])])
    .await;
    delivered(&send(&smtp(relay.port), &[envelope(dotted)]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn a_message_of_many_blocks_arrives_whole() {
    let line = ".a line that begins with a dot and is long enough to matter somewhat\r\n";
    let message = line.repeat(20_000);
    let expected = format!("{}.\r\n", format!(".{line}").repeat(20_000));
    let mut large = mail(&["b@y.test"]);
    large.message = Bytes::from(message.clone());
    let relay = Relay::play(vec![script([
        vec![say("220 hi"), Act::HearPrefix("EHLO"), say("250-relay\r\n250 PIPELINING")],
        vec![hear("MAIL FROM:<a@x.test>"), hear("RCPT TO:<b@y.test>"), hear("DATA")],
        vec![say("250 ok\r\n250 ok\r\n354 go"), Act::HearBytes(expected.into_bytes()), say("250 ok")],
    ])])
    .await;
    delivered(&send(&smtp(relay.port), &[envelope(large)]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn required_extensions_are_announced() {
    let mut needy = mail(&["jörg@y.test"]);
    needy.utf8 = true;
    needy.message = Bytes::from("Subject: ö\r\n\r\nö\r\n");
    let mut idn = mail(&["b@bücher.test"]);
    idn.from = String::new();
    let relay = Relay::play(vec![script([
        hello(),
        vec![
            hear("MAIL FROM:<a@x.test> SIZE=19 BODY=8BITMIME SMTPUTF8"),
            hear("RCPT TO:<jörg@y.test>"),
            hear("DATA"),
        ],
        vec![say("250 ok\r\n250 ok\r\n354 go"), Act::HearBytes("Subject: ö\r\n\r\nö\r\n.\r\n".into())],
        vec![hear("MAIL FROM:<> SIZE=22"), hear("RCPT TO:<b@xn--bcher-kva.test>"), hear("DATA")],
        vec![say("250 ok\r\n250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(needy), envelope(idn)]).await;
    all_delivered(&outcomes);
    relay.finish().await;
}

#[tokio::test]
async fn mails_that_the_relay_can_never_accept_are_rejected_without_a_request() {
    let mut smuggler = mail(&["b@y.test"]);
    smuggler.message = Bytes::from_static(b"x\r\n\n.\nMAIL FROM:<evil@x.test>\r\n");
    let injector = mail(&["b@y.test>\r\nRCPT TO:<evil@x.test"]);
    let mut large = mail(&["b@y.test"]);
    large.message = Bytes::from("0123456789\r\n".repeat(10_000));
    let mut utf8 = mail(&["jörg@y.test"]);
    utf8.utf8 = true;
    let relay = Relay::play(vec![script([
        vec![say("220 hi"), Act::HearPrefix("EHLO"), say("250-relay\r\n250-SIZE 100000\r\n250 PIPELINING")],
        commands("b@y.test"),
        vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")],
    ])])
    .await;
    let batch = [smuggler, injector, large, utf8, mail(&["b@y.test"])].map(envelope);
    let outcomes = send(&smtp(relay.port), &batch).await;
    for (outcome, word) in outcomes.iter().zip(["CR LF", "address", "100000", "SMTPUTF8"]) {
        assert!(rejected(outcome).reason.contains(word), "{outcome:?} should say {word}");
    }
    delivered(&outcomes[4]);
    relay.finish().await;
}

#[tokio::test]
async fn a_mail_to_thousands_goes_in_windows() {
    let addresses: Vec<String> = (0..250).map(|n| format!("r{n}@y.test")).collect();
    let rcpt = |range: std::ops::Range<usize>| {
        range.map(|n| hear(&format!("RCPT TO:<r{n}@y.test>"))).collect::<Vec<_>>()
    };
    let ok = |count: usize| vec![Act::Say("250 ok\r\n".repeat(count))];
    let relay = Relay::play(vec![script([
        hello(),
        vec![hear("MAIL FROM:<a@x.test> SIZE=22")],
        rcpt(0..99),
        ok(100),
        rcpt(99..199),
        ok(100),
        rcpt(199..250),
        vec![hear("DATA")],
        ok(51),
        vec![say("354 go"), text(), say("250 ok")],
    ])])
    .await;
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let outcomes = send(&smtp(relay.port), &[envelope(mail(&addresses))]).await;
    assert_eq!(results(&delivered(&outcomes[0]).detail).len(), 250);
    relay.finish().await;
}

#[tokio::test]
async fn limits_come_from_the_settings() {
    let smtp = smtp(1);
    assert_eq!(smtp.capabilities(), Capabilities::new(20, 8));
}

#[tokio::test]
async fn e08_the_rest_of_a_message_is_read_from_its_file_while_it_is_sent() {
    let body = format!("a line\n.a dot\n{}..two\nend", "another line, of no interest\n".repeat(2000));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &body).unwrap();
    let rest = FileRest::open(file.reopen().unwrap(), 0).unwrap();
    let head = "Subject: large\r\n\r\n";
    let sent = format!("{head}{}\r\n.\r\n", body.replace("\n.", "\n..").replace('\n', "\r\n"));
    let size = head.len() as u64 + rest.size();
    let relay = Relay::play(vec![script([
        hello(),
        vec![hear(&format!("MAIL FROM:<a@x.test> SIZE={size}")), hear("RCPT TO:<b@y.test>"), hear("DATA")],
        vec![say("250 ok\r\n250 ok\r\n354 go"), Act::HearBytes(sent.into_bytes()), say("250 ok")],
    ])])
    .await;
    let large = Mail {
        message: Bytes::from_static(head.as_bytes()),
        rest: Some(Arc::new(rest)),
        ..mail(&["b@y.test"])
    };
    all_delivered(&send(&smtp(relay.port), &[envelope(large)]).await);
    relay.finish().await;
}

#[tokio::test]
async fn e08_a_file_that_was_changed_meanwhile_is_not_sent_as_if_it_were_whole() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a line\n").unwrap();
    let rest = FileRest::open(file.reopen().unwrap(), 0).unwrap();
    std::fs::write(file.path(), "a line, and another\n").unwrap();
    let relay = Relay::play(vec![script([
        hello(),
        vec![hear("MAIL FROM:<a@x.test> SIZE=12"), hear("RCPT TO:<b@y.test>"), hear("DATA")],
        vec![say("250 ok\r\n250 ok\r\n354 go"), Act::HearEnd],
    ])])
    .await;
    let changed =
        Mail { message: Bytes::from_static(b"\r\n\r\n"), rest: Some(Arc::new(rest)), ..mail(&["b@y.test"]) };
    let outcomes = send(&smtp(relay.port), &[envelope(changed)]).await;
    assert!(
        matches!(&outcomes[0], Outcome::Retryable(failure) if failure.reason.contains("changed")),
        "{outcomes:?}"
    );
    relay.finish().await;
}
