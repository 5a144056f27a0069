//! Tests of the suppression list: who is removed, who is added, and what happens while the list is unavailable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::transport::Addressed;
use postrider_seams::{
    Content, Envelope, Failure, Outcome, Receipt, Suppression, Suppressions, Transport, Value,
};
use postrider_sender::SuppressionFilter;
use postrider_store_memory::MemorySuppressions;
use tokio::time::Instant;

use crate::fixtures::*;

async fn filter_with_list(
    listed: &[&str],
    script: Vec<Answer>,
) -> (SuppressionFilter, Arc<Scripted>, Arc<MemorySuppressions>) {
    let (list, relay) = (Arc::new(MemorySuppressions::default()), Scripted::new(script));
    for entry in listed {
        list.add(entry, "asked").await.unwrap();
    }
    let inner = Arc::clone(&relay) as Arc<dyn Transport>;
    (SuppressionFilter::new(inner, Arc::clone(&list) as Arc<dyn Suppressions>, "relay"), relay, list)
}

async fn send(transport: &SuppressionFilter, envelopes: &[Envelope]) -> Vec<Outcome> {
    transport.deliver(envelopes, Instant::now() + Duration::from_secs(10)).await
}

fn results(outcome: &Outcome) -> Vec<Recipient> {
    serde_json::from_str(detail(outcome)["recipients"].as_text().unwrap()).unwrap()
}

/// The outcome of a relay that refused each of these recipients.
fn refusal(stage: &str, refused: &[(&str, &str)]) -> Outcome {
    let recipients: Vec<Recipient> = refused
        .iter()
        .map(|(address, reply)| Recipient {
            address: (*address).to_owned(),
            result: RecipientResult::Refused,
            reply: (*reply).to_owned(),
        })
        .collect();
    let mut failure = Failure::new("refused");
    failure.detail.insert("stage".to_owned(), Value::Text(stage.to_owned()));
    let recipients = serde_json::to_string(&recipients).unwrap();
    failure.detail.insert("recipients".to_owned(), Value::Text(recipients));
    Outcome::Rejected(failure)
}

#[tokio::test]
async fn n05_a_suppressed_recipient_gets_nothing_and_the_row_is_skipped() {
    let (transport, relay, _) = filter_with_list(&["ann@example.com", "example.net"], vec![]).await;
    let mails = [
        mail("1", &["Ann@example.com"]),
        mail("2", &["bob@example.com"]),
        mail("3", &["anyone@example.net"]),
        mail("4", &["anyone@sub.example.net"]),
    ];
    let outcomes = send(&transport, &mails).await;
    assert!(matches!(&outcomes[0], Outcome::Skipped(failure) if failure.reason.contains("asked")));
    assert_eq!(detail(&outcomes[0])["code"], Value::Text("invalid_recipient".to_owned()));
    assert_eq!(results(&outcomes[0])[0].result, RecipientResult::Refused);
    assert!(matches!(outcomes[1], Outcome::Delivered(_)));
    assert!(matches!(outcomes[2], Outcome::Skipped(_)));
    assert!(matches!(outcomes[3], Outcome::Delivered(_)), "a domain is that domain alone");
    assert_eq!(relay.count(), 2);
    assert_eq!(provider(&outcomes[1]), "relay");
}

#[tokio::test]
async fn m09_only_suppressed_recipients_are_dropped_and_recorded() {
    let (transport, relay, _) = filter_with_list(&["ann@example.com"], vec![]).await;
    send(&transport, &[mail("1", &["ann@example.com", "bob@example.com"])]).await;
    assert_eq!(relay.seen.lock().unwrap()[0].1, ["bob@example.com"]);
}

#[tokio::test]
async fn m09_earlier_accepted_recipients_keep_the_row_from_being_skipped() {
    let (transport, relay, _) = filter_with_list(&["ann@example.com"], vec![]).await;
    let mut envelope = mail("1", &["ann@example.com"]);
    let Content::Mail(mail) = &mut envelope.content else { panic!() };
    mail.settled.push(Recipient {
        address: "bob@example.com".to_owned(),
        result: RecipientResult::Accepted,
        reply: String::new(),
    });
    let outcome = send(&transport, &[envelope]).await.remove(0);
    assert!(matches!(&outcome, Outcome::Rejected(failure) if failure.partly_accepted), "{outcome:?}");
    assert_eq!(results(&outcome).len(), 2);
    assert_eq!(relay.count(), 0);
}

/// Waits for the task that writes new entries to the list.
async fn settled() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn missing_addresses_are_added_to_the_list_and_policy_refusals_are_not() {
    let codes = [
        ("550 5.1.1 no such user", true),
        ("550 5.1.2 no such host", true),
        ("556 5.1.10 null MX", true),
        ("550 5.2.1 disabled", true),
        ("550 5.7.1 spam", false),
        ("550 5.7.26 unauthenticated", false),
        ("552 5.2.2 full", false),
        ("550 no such user", false),
    ];
    for (reply, expected) in codes {
        let script = vec![Answer::Say(refusal("RCPT TO", &[("Ann@example.com", reply)]))];
        let (transport, relay, list) = filter_with_list(&[], script).await;
        let outcome = send(&transport, &[mail("1", &["Ann@example.com"])]).await.remove(0);
        settled().await;
        let page = list.page(None, 10).await.unwrap();
        assert_eq!(page.iter().any(|entry| entry.entry == "ann@example.com"), expected, "{reply}");
        assert_eq!(matches!(outcome, Outcome::Skipped(_)), expected, "{reply}: {outcome:?}");
        send(&transport, &[mail("2", &["ann@example.com"])]).await;
        assert_eq!(relay.count(), if expected { 1 } else { 2 }, "{reply}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_whole_message_suppresses_no_recipient() {
    let both = [("ann@example.com", "550 5.1.1 x"), ("bob@example.com", "550 5.1.1 x")];
    for (stage, refused, expected) in [
        ("the message", &both[..], 0),
        ("the message", &both[..1], 1),
        ("MAIL FROM", &both[..1], 0),
        ("RCPT TO", &both[..], 2),
    ] {
        let to: Vec<&str> = refused.iter().map(|(address, _)| *address).collect();
        let (transport, _, list) = filter_with_list(&[], vec![Answer::Say(refusal(stage, refused))]).await;
        send(&transport, &[mail("1", &to)]).await;
        settled().await;
        assert_eq!(list.page(None, 10).await.unwrap().len(), expected, "{stage} {to:?}");
    }
}

#[tokio::test]
async fn m09_a_refusal_among_accepted_ones_is_added_too() {
    let Outcome::Rejected(failure) = refusal("RCPT TO", &[("ann@example.com", "550 5.1.1 x")]) else {
        panic!()
    };
    let sent = Outcome::Delivered(Receipt { id: None, detail: failure.detail });
    let (transport, _, list) = filter_with_list(&[], vec![Answer::Say(sent)]).await;
    let outcome = send(&transport, &[mail("1", &["ann@example.com", "bob@example.com"])]).await.remove(0);
    assert!(matches!(outcome, Outcome::Delivered(_)));
    settled().await;
    assert_eq!(list.page(None, 10).await.unwrap()[0].entry, "ann@example.com");
}

#[tokio::test]
async fn g01_while_the_list_cannot_be_read_nothing_is_sent_and_nothing_is_spent() {
    let (transport, relay, list) = filter_with_list(&[], vec![]).await;
    list.set_failing(true);
    let outcome = send(&transport, &[mail("1", &["ann@example.com"])]).await.remove(0);
    assert!(matches!(&outcome, Outcome::Deferred(failure) if failure.after.is_some()), "{outcome:?}");
    assert_eq!(relay.count(), 0);
    list.set_failing(false);
    assert!(matches!(send(&transport, &[mail("1", &["ann@example.com"])]).await[0], Outcome::Delivered(_)));
}

/// A list that counts its queries.
#[derive(Default)]
struct Counting {
    inner: MemorySuppressions,
    asked: AtomicUsize,
    /// Duration of a write.
    slow: Duration,
}

#[async_trait]
impl Suppressions for Counting {
    async fn find(
        &self,
        entries: &[String],
    ) -> Result<Option<BTreeMap<String, String>>, postrider_seams::store::Error> {
        self.asked.fetch_add(1, SeqCst);
        self.inner.find(entries).await
    }

    async fn add(&self, entry: &str, reason: &str) -> Result<bool, postrider_seams::store::Error> {
        tokio::time::sleep(self.slow).await;
        self.inner.add(entry, reason).await
    }

    async fn remove(&self, entry: &str) -> Result<bool, postrider_seams::store::Error> {
        self.inner.remove(entry).await
    }

    async fn page(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Suppression>, postrider_seams::store::Error> {
        self.inner.page(after, limit).await
    }
}

fn counted() -> (SuppressionFilter, Arc<Scripted>, Arc<Counting>) {
    let (list, relay) = (Arc::new(Counting::default()), Scripted::new(vec![]));
    let inner = Arc::clone(&relay) as Arc<dyn Transport>;
    (SuppressionFilter::new(inner, Arc::clone(&list) as Arc<dyn Suppressions>, "relay"), relay, list)
}

fn addressed(row: &str, to: &str) -> Addressed {
    Addressed { row: row.to_owned(), recipients: vec![to.to_owned()] }
}

/// Writing to the list must not count as the target's time: the call size would shrink.
#[tokio::test(start_paused = true)]
async fn new_entries_are_written_in_the_background() {
    let script = vec![Answer::Say(refusal("RCPT TO", &[("ann@example.com", "550 5.1.1 no such user")]))];
    let list = Arc::new(Counting { slow: Duration::from_secs(5), ..Counting::default() });
    let suppressions = Arc::clone(&list) as Arc<dyn Suppressions>;
    let transport = SuppressionFilter::new(Scripted::new(script), suppressions, "relay");
    let begun = Instant::now();
    send(&transport, &[mail("1", &["ann@example.com"])]).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(list.page(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn one_query_serves_all_calls_of_a_claim() {
    let (transport, relay, list) = counted();
    list.add("ann@example.com", "asked").await.unwrap();
    let claim: Vec<Addressed> = (0..20).map(|n| addressed(&n.to_string(), "bob@example.com")).collect();
    transport.look_up_claimed(&claim).await;
    transport.look_up_claimed(&[addressed("20", "Ann@example.com")]).await;
    for n in 0..21 {
        let to = if n == 20 { "Ann@example.com" } else { "bob@example.com" };
        let call = [mail(&n.to_string(), &[to])];
        transport.look_up_missing(&call).await;
        let outcome = send(&transport, &call).await;
        assert_eq!(matches!(outcome[0], Outcome::Skipped(_)), n == 20);
    }
    assert_eq!(list.asked.load(SeqCst), 2, "one query a claim");
    assert_eq!(relay.count(), 20);
}

#[tokio::test(start_paused = true)]
async fn an_answer_serves_one_delivery_of_its_row_and_no_other_recipient() {
    let (transport, relay, list) = counted();
    transport.look_up_claimed(&[addressed("1", "ann@example.com"), addressed("2", "bob@example.com")]).await;
    list.add("example.com", "asked").await.unwrap();
    // Claimed before the entry was added: still sent. The same row, claimed again: not sent.
    assert!(matches!(send(&transport, &[mail("1", &["ann@example.com"])]).await[0], Outcome::Delivered(_)));
    transport.look_up_claimed(&[addressed("1", "ann@example.com")]).await;
    assert!(matches!(send(&transport, &[mail("1", &["ann@example.com"])]).await[0], Outcome::Skipped(_)));
    // A recipient that was not looked up, and a result that is too old: the list is queried again.
    let other = [mail("2", &["eve@example.com"])];
    assert!(matches!(send(&transport, &other).await[0], Outcome::Skipped(_)));
    list.remove("example.com").await.unwrap();
    transport.look_up_claimed(&[addressed("3", "bob@example.com")]).await;
    list.add("example.com", "asked").await.unwrap();
    tokio::time::advance(Duration::from_secs(31)).await;
    assert!(matches!(send(&transport, &[mail("3", &["bob@example.com"])]).await[0], Outcome::Skipped(_)));
    assert_eq!(relay.count(), 1);
}

#[tokio::test]
async fn a_failed_look_up_ahead_sends_nothing_unchecked() {
    let (transport, relay, list) = counted();
    list.inner.set_failing(true);
    transport.look_up_claimed(&[addressed("1", "ann@example.com")]).await;
    let call = [mail("1", &["ann@example.com"])];
    transport.look_up_missing(&call).await;
    assert!(matches!(send(&transport, &call).await[0], Outcome::Deferred(_)));
    assert_eq!(relay.count(), 0);
}
