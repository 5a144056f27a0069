//! Content of the rows, their transactions, and that the worker's own code accepts them.

use std::collections::BTreeMap;

use postrider_composers::email::{EmailComposer, Settings};
use postrider_outbox::{Attachment, Mail, Mailbox, Record, Table};
use postrider_seams::{Composer as _, Content};

use crate::base::{Base, on_every_database};

on_every_database!(
    o07_a_record_is_written_as_the_contract_defines_it,
    m08_a_mail_is_written_as_the_contract_defines_it,
    a_rolled_back_row_is_gone,
    o01_a_committed_record_is_claimed,
    m01_a_committed_mail_is_claimed_and_composed,
    a_table_with_other_names_is_supported,
    a_refused_row_leaves_the_transaction_usable,
);

async fn o07_a_record_is_written_as_the_contract_defines_it<B: Base>(base: &B) {
    base.create("outbox").await;
    let payload = "{\"total\": 99, \"note\": \"it's \\\\ é 🐎\"}\n";
    let record =
        Record::topic("orders").key("42").payload(payload).deal_id("d-7").idempotency_key("order-42");
    let mut transaction = base.begin().await;
    let full = record.enqueue(&mut *transaction).await.expect("enqueue");
    let bare = Record::topic("orders").json(&[1, 2]).enqueue(&mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    assert_eq!((full.id.as_str(), full.inserted), ("1", true));
    assert_eq!((bare.id.as_str(), bare.inserted), ("2", true));
    let row = "SELECT topic || '|' || coalesce(partition_key, '-') || '|' || payload || '|' || coalesce(deal_id, '-') \
        || '|' || coalesce(idempotency_key, '-') || '|' || status || '|' || retry_count || '|' || version || '|' || \
        CASE WHEN coalesce(processed_at, next_attempt_at, claimed_at) IS NULL THEN 'new' ELSE 'old' END \
        FROM outbox WHERE id = ";
    assert_eq!(
        base.text(&format!("{row}1")).await,
        Some(format!("orders|42|{payload}|d-7|order-42|PENDING|0|0|new"))
    );
    assert_eq!(base.text(&format!("{row}2")).await.as_deref(), Some("orders|-|[1,2]|-|-|PENDING|0|0|new"));
}

fn full_mail() -> Mail {
    Mail::to("ann@example.org")
        .also_to(Mailbox::named("Smith, Bob", "bob@example.org"))
        .cc("cy@example.org")
        .bcc("dee@example.org")
        .from("Shop <shop@example.com>")
        .reply_to("help@example.com")
        .subject("Order 42 ✓")
        .text("Thank you.")
        .html("<p>Thank you.</p>")
        .header("X-Order", "42")
        .attach(Attachment::new("invoice.txt", "text/plain", "99 €"))
        .idempotency_key("order-42")
        .priority(5)
}

async fn m08_a_mail_is_written_as_the_contract_defines_it<B: Base>(base: &B) {
    base.create("mail_outbox").await;
    let templated = Mail::to("ann@example.org")
        .template("welcome")
        .variables(&BTreeMap::from([("name", "Ann")]))
        .locale("de-AT");
    let mut transaction = base.begin().await;
    full_mail().enqueue(&mut *transaction).await.expect("enqueue");
    templated.enqueue(&mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    let columns = [
        ("status", "queued", "queued"),
        ("retry_count", "0", "0"),
        (
            "to_addresses",
            r#"["ann@example.org",{"email":"bob@example.org","name":"Smith, Bob"}]"#,
            r#"["ann@example.org"]"#,
        ),
        ("cc_addresses", r#"["cy@example.org"]"#, "-"),
        ("bcc_addresses", r#"["dee@example.org"]"#, "-"),
        ("from_address", r#"[{"email":"shop@example.com","name":"Shop"}]"#, "-"),
        ("reply_to", r#"["help@example.com"]"#, "-"),
        ("subject", "Order 42 ✓", ""),
        ("body_text", "Thank you.", "-"),
        ("body_html", "<p>Thank you.</p>", "-"),
        ("headers", r#"{"X-Order":"42"}"#, "-"),
        (
            "attachments",
            r#"[{"content":"OTkg4oKs","content_type":"text/plain","filename":"invoice.txt"}]"#,
            "-",
        ),
        ("template", "-", "welcome"),
        ("variables", "-", r#"{"name":"Ann"}"#),
        ("locale", "-", "de-AT"),
        ("idempotency_key", "order-42", "-"),
        ("priority", "5", "0"),
        ("last_error", "-", "-"),
    ];
    for (column, first, second) in columns {
        for (id, expected) in [(1, first), (2, second)] {
            let found = base.text(&format!("SELECT {column} FROM mail_outbox WHERE id = {id}")).await;
            assert_eq!(found.as_deref().unwrap_or("-"), expected, "{column} of {id}");
        }
    }
}

async fn a_rolled_back_row_is_gone<B: Base>(base: &B) {
    base.create("outbox").await;
    base.create("mail_outbox").await;
    let record = Record::topic("orders").payload("{}").idempotency_key("k");
    let mail = Mail::to("ann@example.org").text("x").idempotency_key("k");
    let mut transaction = base.begin().await;
    assert!(record.enqueue(&mut *transaction).await.expect("enqueue").inserted);
    assert!(mail.enqueue(&mut *transaction).await.expect("enqueue").inserted);
    transaction.rollback().await.expect("rollback");
    assert_eq!(base.count("outbox").await, "0");
    assert_eq!(base.count("mail_outbox").await, "0");
    let mut transaction = base.begin().await;
    assert!(record.enqueue(&mut *transaction).await.expect("enqueue").inserted, "the key is free again");
    transaction.commit().await.expect("commit");
    assert_eq!(base.count("outbox").await, "1");
}

async fn o01_a_committed_record_is_claimed<B: Base>(base: &B) {
    base.create("outbox").await;
    let mut transaction = base.begin().await;
    for n in 1..=3 {
        let record = Record::topic("orders").key("42").payload(n.to_string()).deal_id("d");
        record.enqueue(&mut *transaction).await.expect("enqueue");
    }
    transaction.commit().await.expect("commit");
    // The contract does not claim rows younger than a second.
    tokio::time::sleep(std::time::Duration::from_millis(1_300)).await;
    let store = base.store("outbox", "publish").await;
    let mut payloads = Vec::new();
    for row in store.claim(10).await.expect("claim") {
        let fields = row.fields.expect("a small row comes with its fields");
        assert_eq!(fields.get("topic").as_text(), Some("orders"));
        assert_eq!(fields.get("headers.deal_id").as_text(), Some("d"));
        payloads.push(fields.get("payload").as_text().expect("text").to_owned());
    }
    assert_eq!(payloads.first().map(String::as_str), Some("1"), "{payloads:?}");
    assert!(payloads.is_sorted(), "{payloads:?}");
}

async fn m01_a_committed_mail_is_claimed_and_composed<B: Base>(base: &B) {
    base.create("mail_outbox").await;
    let mut transaction = base.begin().await;
    full_mail().enqueue(&mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    let rows = base.claim("mail_outbox", "dispatch").await;
    let composer = EmailComposer::new(Settings::new("shop"));
    let envelope = composer.compose(&rows).await.remove(0).expect("it is a mail");
    assert_eq!(envelope.dedupe, "order-42");
    let Content::Mail(mail) = envelope.content else { panic!("no mail") };
    assert_eq!(mail.from, "shop@example.com");
    assert_eq!(mail.to, ["ann@example.org", "bob@example.org", "cy@example.org", "dee@example.org"]);
    let text = String::from_utf8_lossy(&mail.message).into_owned();
    for part in ["\"Smith, Bob\" <bob@example.org>", "X-Order: 42", "invoice.txt", "Reply-To: "] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

async fn a_table_with_other_names_is_supported<B: Base>(base: &B) {
    let quote = if B::DIALECT == postrider_sql::Dialect::Mysql { '`' } else { '"' };
    let named = |name: &str| format!("{quote}{name}{quote}");
    base.run(&format!(
        "CREATE TABLE {} ({} varchar(36) PRIMARY KEY, {} varchar(9), topic text, {} text, trace varchar(60), \
         next_attempt_at varchar(40))",
        named("Event Log"),
        named("eventId"),
        named("state"),
        named("select"),
    ))
    .await;
    let table = Table::outbox()
        .named("Event Log")
        .and_then(|table| table.column("id", "eventId"))
        .and_then(|table| table.column("status", "state"))
        .and_then(|table| table.column("payload", "select"))
        .and_then(|table| table.column("headers.traceparent", "trace"))
        .and_then(|table| table.without("attempts"))
        .and_then(|table| table.without("version"))
        .and_then(|table| table.without("created"))
        .and_then(|table| table.initial_status("new"))
        .expect("all of it is fine");
    let record = Record::topic("orders").id("e-1").payload("{}").traceparent("00-ab-cd-01");
    let mut transaction = base.begin().await;
    let enqueued = record.enqueue_into(&table, &mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    assert_eq!((enqueued.id.as_str(), enqueued.inserted), ("e-1", true));
    let (id, state, payload) = (named("eventId"), named("state"), named("select"));
    let row = format!(
        "SELECT {id} || '|' || {state} || '|' || topic || '|' || {payload} || '|' || trace FROM {}",
        named("Event Log")
    );
    assert_eq!(base.text(&row).await.as_deref(), Some("e-1|new|orders|{}|00-ab-cd-01"));
}

async fn a_refused_row_leaves_the_transaction_usable<B: Base>(base: &B) {
    base.create("outbox").await;
    let mut transaction = base.begin().await;
    assert!(Record::topic("").payload("{}").enqueue(&mut *transaction).await.is_err());
    Record::topic("orders").payload("{}").enqueue(&mut *transaction).await.expect("the transaction goes on");
    transaction.commit().await.expect("commit");
    assert_eq!(base.count("outbox").await, "1");
}
