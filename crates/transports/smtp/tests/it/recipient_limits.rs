//! Tests of RFC 5321 4.5.3.1.10: a mail to more recipients than the relay accepts at a time goes in several
//! transactions of one attempt.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::{Envelope, LeaseCheck, Outcome, Transport as _};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::fixtures::{
    deferred, delivered, envelope, mail, recipients, refused, results, retryable, send, smtp, to,
};
use crate::relay::{Relay, commands, hello, say, script, text};
use RecipientResult::{Accepted, Deferred};

const TOO_MANY: &str = "452 4.5.3 too many recipients";

/// The command at which a [`LimitedRelay`] relay complains about too many recipients.
#[derive(Clone, Copy, PartialEq)]
enum LimitReply {
    Rcpt,
    Data,
    Dot,
}

/// A relay that accepts `limit` recipients at a time and records what it received.
#[derive(Clone)]
struct LimitedRelay {
    limit: usize,
    limit_reply: LimitReply,
    /// The reply to a recipient beyond a limit.
    too_many: &'static str,
    /// The number of recipients that it accepts per session, and the reply to one beyond it.
    session_limit: usize,
    closing: &'static str,
    /// The number of recipients that it accepts in all sessions together.
    total_limit: usize,
    pipelining: bool,
    /// Number of mails on a connection after which it refuses more, and the reply.
    closes_after: usize,
    closing_mail: &'static str,
    /// Time to the reply after a final dot.
    delay: Duration,
    /// The recipients of each accepted mail.
    mails: Arc<Mutex<Vec<Vec<String>>>>,
}

impl LimitedRelay {
    async fn start(self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.clone().serve(stream));
            }
        });
        port
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let (mut to, mut in_text, mut carried, mut accepted) = (Vec::new(), false, 0, 0);
        stream.write_all(b"220 relay.test\r\n").await.unwrap();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            let too_many = |at: LimitReply, count: usize| self.limit_reply == at && count > self.limit;
            let answer = match line {
                "." if in_text => {
                    in_text = false;
                    tokio::time::sleep(self.delay).await;
                    if too_many(LimitReply::Dot, to.len()) {
                        to.clear();
                        "452 4.5.3 too many recipients"
                    } else {
                        carried += 1;
                        self.mails.lock().unwrap().push(std::mem::take(&mut to));
                        "250 2.0.0 ok"
                    }
                }
                _ if in_text => continue,
                "DATA" if to.is_empty() => "503 5.5.1 no recipients",
                "DATA" if too_many(LimitReply::Data, to.len()) => "552 5.5.3 too many recipients",
                "DATA" => {
                    in_text = true;
                    "354 go"
                }
                _ if line.starts_with("EHLO") && self.pipelining => "250-relay.test\r\n250 PIPELINING",
                _ if line.starts_with("EHLO") => "250 relay.test",
                _ if line.starts_with("MAIL") && carried >= self.closes_after => self.closing_mail,
                _ if line.starts_with("RCPT TO:<full") => "552 mailbox full",
                _ if line.starts_with("RCPT") && accepted >= self.session_limit => self.closing,
                _ if line.starts_with("RCPT")
                    && (too_many(LimitReply::Rcpt, to.len() + 1)
                        || self.mails.lock().unwrap().concat().len() + to.len() >= self.total_limit) =>
                {
                    self.too_many
                }
                _ if line.starts_with("RCPT") => {
                    accepted += 1;
                    to.push(line.to_owned());
                    "250 ok"
                }
                "RSET" => {
                    to.clear();
                    "250 ok"
                }
                _ => "250 ok",
            };
            stream.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
            if answer.starts_with("421") {
                return;
            }
        }
    }
}

fn limited_relay(limit: usize, limit_reply: LimitReply, pipelining: bool) -> LimitedRelay {
    LimitedRelay {
        limit,
        limit_reply,
        too_many: TOO_MANY,
        session_limit: usize::MAX,
        closing: TOO_MANY,
        total_limit: usize::MAX,
        pipelining,
        closes_after: usize::MAX,
        closing_mail: "421 4.7.0 enough for now",
        delay: Duration::ZERO,
        mails: Arc::default(),
    }
}

/// Sends one mail to `count` recipients; returns the sizes of the transactions that the relay accepted.
async fn transactions(relay: &LimitedRelay, count: usize) -> Vec<usize> {
    let names: Vec<String> = (0..count).map(|number| format!("u{number}@y.test")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let smtp = smtp(relay.clone().start().await);
    let outcomes = send(&smtp, &[envelope(mail(&names))]).await;
    let expected: Vec<_> = names.iter().map(|name| ((*name).to_owned(), Accepted)).collect();
    assert_eq!(results(&delivered(&outcomes[0]).detail), expected, "everybody once, in one attempt");
    relay.mails.lock().unwrap().iter().map(Vec::len).collect()
}

/// With PIPELINING the limit is reached within a window of commands; without it, command by command.
#[tokio::test]
async fn m09_a_thousand_recipients_at_a_relay_with_a_limit_of_a_hundred_are_ten_transactions_of_one_attempt()
{
    for pipelining in [true, false] {
        let relay = limited_relay(100, LimitReply::Rcpt, pipelining);
        assert_eq!(transactions(&relay, 1000).await, [100; 10], "pipelining: {pipelining}");
    }
}

#[tokio::test]
async fn m09_too_many_recipients_at_data_or_the_final_dot_are_halved_within_one_attempt() {
    for limit_reply in [LimitReply::Data, LimitReply::Dot] {
        for pipelining in [true, false] {
            let relay = limited_relay(3, limit_reply, pipelining);
            let sizes = transactions(&relay, 10).await;
            assert!(sizes.iter().all(|size| *size <= 3), "{sizes:?}");
            assert_eq!(sizes.iter().sum::<usize>(), 10);
        }
    }
}

/// RFC 5321 4.5.3.1.10: 552 means the same as 452, also without an enhanced code.
#[tokio::test]
async fn m09_too_many_recipients_is_recognised_by_each_code_that_relays_use() {
    for too_many in ["452 4.5.3 too many", "552 5.5.3 too many", "452 too many", "552 Too many recipients"] {
        for pipelining in [true, false] {
            let relay = LimitedRelay { too_many, ..limited_relay(100, LimitReply::Rcpt, pipelining) };
            assert_eq!(transactions(&relay, 250).await, [100, 100, 50], "{too_many}");
        }
    }
}

/// A relay that accepts no more recipients in a session accepts them over a new connection, in the same attempt.
#[tokio::test]
async fn m09_a_limit_of_recipients_per_session_costs_no_attempt() {
    for (session_limit, closing, pipelining) in [
        (100, TOO_MANY, true),
        (100, TOO_MANY, false),
        (150, "452 too many", true),
        (102, "552 5.5.3 too many", false),
        (150, "421 4.7.0 too many", true),
        (102, "421 4.7.0 too many", false),
    ] {
        let limited = limited_relay(100, LimitReply::Rcpt, pipelining);
        let relay = LimitedRelay { session_limit, closing, ..limited };
        let sizes = transactions(&relay, 1000).await;
        assert_eq!(sizes.iter().sum::<usize>(), 1000, "{closing}: {sizes:?}");
        assert!(sizes.len() <= 20, "a session limit is not taken for a limit per mail: {sizes:?}");
    }
}

/// A relay that accepts no more for now has accepted some: the rest goes on later, at no cost. A call in which it
/// accepts nobody is an attempt.
#[tokio::test]
async fn m09_a_limit_of_recipients_per_client_costs_nothing_while_some_are_accepted() {
    for too_many in [TOO_MANY, "452 too many"] {
        let relay = LimitedRelay { too_many, total_limit: 5, ..limited_relay(2, LimitReply::Rcpt, true) };
        let smtp = smtp(relay.clone().start().await);
        let names: Vec<String> = (0..9).map(|number| format!("u{number}@y.test")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let outcomes = send(&smtp, &[envelope(mail(&names))]).await;
        let failure = deferred(&outcomes[0]);
        assert!(failure.accepted_now && failure.after.is_some(), "{failure:?}");
        let results = results(&failure.detail);
        assert_eq!(results.len(), 9);
        assert_eq!(results.iter().filter(|(_, result)| *result == Accepted).count(), 5);
        let mut rest = mail(&names[5..]);
        rest.settled = recipients(&failure.detail)[..5].to_vec();
        let outcomes = send(&smtp, &[envelope(rest)]).await;
        assert!(!retryable(&outcomes[0]).accepted_now);
    }
}

/// A relay that asks for less in a further transaction has accepted the mail for some: the rest costs nothing.
#[tokio::test]
async fn m09_a_relay_that_slows_down_between_two_transactions_costs_no_attempt() {
    for reply in ["454 4.7.0 slow down", "450 4.3.2 too busy", "421 4.7.0 enough for now"] {
        let relay =
            LimitedRelay { closing_mail: reply, closes_after: 2, ..limited_relay(1, LimitReply::Rcpt, true) };
        let smtp = smtp(relay.clone().start().await);
        let names = ["a@y.test", "b@y.test", "c@y.test"];
        let outcomes = send(&smtp, &[envelope(mail(&names))]).await;
        if reply.starts_with("421") {
            delivered(&outcomes[0]);
            continue;
        }
        let failure = deferred(&outcomes[0]);
        assert!(failure.accepted_now && failure.after.is_some(), "{failure:?}");
        let results: Vec<_> = results(&failure.detail).into_iter().map(|(_, result)| result).collect();
        assert_eq!(results, [Accepted, Accepted, Deferred]);
    }
}

/// A bare 552 that comes again at the first recipient of the next transaction is about its mailbox.
#[tokio::test]
async fn m09_a_full_mailbox_among_others_is_refused_for_good_and_alone() {
    for pipelining in [true, false] {
        let relay = limited_relay(100, LimitReply::Rcpt, pipelining);
        let smtp = smtp(relay.clone().start().await);
        let names = ["a@y.test", "full@y.test", "b@y.test", "c@y.test"];
        let outcomes = send(&smtp, &[envelope(mail(&names))]).await;
        let detail = match &outcomes[0] {
            Outcome::Delivered(receipt) => &receipt.detail,
            Outcome::Rejected(failure) if failure.partly_accepted => &failure.detail,
            other => panic!("{other:?}"),
        };
        let mut results = results(detail);
        results.sort_by(|(one, _), (other, _)| one.cmp(other));
        let expected = [("a@y.test", Accepted), ("b@y.test", Accepted), ("c@y.test", Accepted)];
        let mut expected: Vec<_> = expected.map(|(name, result)| (name.to_owned(), result)).into();
        expected.push(("full@y.test".to_owned(), RecipientResult::Refused));
        assert_eq!(results, expected);
    }
}

/// Between two transactions another worker may have sent the rest: the lease is checked before each.
#[tokio::test]
async fn g02_a_lease_that_is_lost_between_two_transactions_stops_the_mail() {
    for pipelining in [true, false] {
        let relay = limited_relay(1, LimitReply::Rcpt, pipelining);
        let smtp = smtp(relay.clone().start().await);
        let checks = AtomicUsize::new(0);
        let lease = LeaseCheck::new(move || checks.fetch_add(1, SeqCst) < 2);
        let names = ["a@y.test", "b@y.test", "c@y.test", "d@y.test"];
        let outcomes = send(&smtp, &[Envelope { lease, ..envelope(mail(&names)) }]).await;
        let failure = deferred(&outcomes[0]);
        assert!(failure.accepted_now && failure.reason.contains("lease"), "{failure:?}");
        let results: Vec<_> = results(&failure.detail).into_iter().map(|(_, result)| result).collect();
        assert_eq!(results, [Accepted, Accepted, Deferred, Deferred]);
        assert_eq!(relay.mails.lock().unwrap().len(), 2, "nothing is sent after the lease was lost");
    }
}

/// A new connection need not learn the relay's limit again.
#[tokio::test]
async fn m09_the_learnt_recipient_limit_outlives_the_connection() {
    let relay = LimitedRelay { closes_after: 2, ..limited_relay(100, LimitReply::Rcpt, true) };
    assert_eq!(transactions(&relay, 1000).await, [100; 10]);
}

/// A call that runs out of time between two transactions costs nothing, and the next one continues where it ended. None
/// is begun that is likely to be cut off, as it could not be known whether that recipient has the mail.
#[tokio::test]
async fn m09_a_deadline_between_two_transactions_costs_no_attempt_and_repeats_no_recipient() {
    for pipelining in [true, false] {
        let delay = Duration::from_millis(200);
        let relay = LimitedRelay { delay, ..limited_relay(1, LimitReply::Rcpt, pipelining) };
        let smtp = smtp(relay.clone().start().await);
        let names: Vec<String> = (0..8).map(|number| format!("u{number}@y.test")).collect();
        let mut rest = mail(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut calls = 0;
        loop {
            calls += 1;
            assert!(calls < names.len(), "each call settles more recipients");
            let deadline = Instant::now() + Duration::from_millis(700);
            let outcome = smtp.deliver(&[envelope(rest.clone())], deadline).await.remove(0);
            if let Outcome::Delivered(receipt) = &outcome {
                assert!(results(&receipt.detail).iter().all(|(_, result)| *result == Accepted));
                break;
            }
            let failure = deferred(&outcome);
            assert!(failure.accepted_now && failure.after.is_some(), "{failure:?}");
            let all = recipients(&failure.detail);
            assert_eq!(all.len(), names.len(), "every recipient has a result");
            rest.settled = all.into_iter().filter(|one| one.result == Accepted).collect();
            rest.to.retain(|address| rest.settled.iter().all(|served| served.address != *address));
        }
        assert!(calls > 1, "the time did not run out");
        let sent = relay.mails.lock().unwrap().concat();
        let expected: Vec<String> = names.iter().map(|name| format!("RCPT TO:<{name}>")).collect();
        assert_eq!(sent, expected, "everybody once");
    }
}

fn partly_sent() -> postrider_seams::Mail {
    let mut rest = mail(&["d@y.test"]);
    rest.settled = vec![Recipient { address: "b@y.test".to_owned(), result: Accepted, reply: String::new() }];
    rest
}

/// A relay that closes at the final dot did not accept the mail and may be shutting down.
#[tokio::test]
async fn g01_a_421_at_the_final_dot_is_reported_as_a_closing_relay() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("b@y.test"),
        vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("421 4.3.2 shutting down")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[to("b@y.test")]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.unreachable && !failure.accepted_now, "{failure:?}");
    relay.finish().await;
}

/// The success of an earlier attempt is kept, and is no reason to charge this one.
#[tokio::test]
async fn g03_a_refusal_of_us_costs_nothing_for_a_mail_partly_accepted_earlier() {
    let relay = Relay::play(vec![script([
        hello(),
        commands("d@y.test"),
        vec![say("530 5.7.0 authenticate first\r\n503 no\r\n503 no")],
    ])])
    .await;
    let outcomes = send(&smtp(relay.port), &[envelope(partly_sent())]).await;
    let failure = refused(&outcomes[0]);
    assert!(failure.partly_accepted && !failure.accepted_now, "{failure:?}");
    let kept = [("b@y.test".to_owned(), Accepted), ("d@y.test".to_owned(), Deferred)];
    assert_eq!(results(&failure.detail), kept);
}

#[tokio::test]
async fn g01_an_unreachable_relay_costs_nothing_for_a_mail_partly_accepted_earlier() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let outcomes = send(&smtp(port), &[envelope(partly_sent())]).await;
    let failure = retryable(&outcomes[0]);
    assert!(failure.unreachable && failure.partly_accepted && !failure.accepted_now, "{failure:?}");
}
