//! Events, subscriptions, and the jobs created from them.

use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::event::NewEvent;
use postrider_hub::job::{DispatchKind, DispatchMode};
use postrider_hub::subscription::NewSubscription;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database, root};

on_every_database!(
    j04_an_event_creates_a_job_for_each_matching_subscription,
    j04_a_repeated_event_creates_nothing,
    j04_concurrent_events_get_their_own_results,
    j04_an_invalid_event_lists_every_wrong_member,
    j17_an_event_can_be_replayed_and_a_subscription_tested,
    j17_a_subscription_is_changed_paused_and_isolated_by_client,
);

fn event(id: &str, with: &Value) -> NewEvent {
    let mut event = json!({
        "specversion": "1.0", "id": id, "source": "/shop/berlin", "type": "shop:orders:order:created",
        "subject": "order:1", "clientid": "acme", "data": {"amount": 120, "tier": "gold"},
    });
    event.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    serde_json::from_str(&event.to_string()).expect("members")
}

fn subscription(code: &str, with: &Value) -> NewSubscription {
    let mut new = json!({
        "code": code, "name": code, "eventCode": "shop:orders:order:*", "targetUrl": "https://example.com/hook",
    });
    new.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    serde_json::from_value(new).expect("a request")
}

async fn j04_an_event_creates_a_job_for_each_matching_subscription(fixture: &Fixture) {
    for (code, with) in [
        ("all", json!({})),
        (
            "acme",
            json!({"clientId": "acme", "mode": "BLOCK_ON_ERROR", "maxRetries": 7, "expiresAfterSeconds": 3600}),
        ),
        (
            "gold",
            json!({"filters": [{"path": "/tier", "op": "EQUALS", "value": "gold"}], "sourcePrefix": "/shop/"}),
        ),
        ("other-client", json!({"clientId": "other"})),
        ("other-code", json!({"eventCode": "shop:orders:order:deleted"})),
        ("other-source", json!({"sourcePrefix": "/warehouse/"})),
        ("silver", json!({"filters": [{"path": "/tier", "op": "EQUALS", "value": "silver"}]})),
        ("inactive", json!({"active": false})),
    ] {
        fixture.hub.create_subscription(&root(), subscription(code, &with)).await.expect(code);
    }
    let data = r#"{"amount": 120.10, "tier":"gold", "big": 12345678901234567890123}"#;
    let mut new = event("e1", &json!({}));
    new.insert("data".to_owned(), serde_json::from_str(data).expect("raw JSON"));
    let made = fixture.hub.create_event(&root(), new).await.expect("an event");
    assert!(!made.known);
    assert_eq!(made.job_ids.len(), 3);
    for id in &made.job_ids {
        let job = fixture.hub.job(&root(), id).await.expect("a job");
        assert_eq!(job.kind, DispatchKind::Event);
        assert_eq!(job.event_id.as_deref(), Some(made.id.as_str()));
        assert_eq!(job.payload.as_deref(), Some(data), "to the byte");
        assert_eq!(
            (job.code.as_str(), job.subject.as_deref()),
            ("shop:orders:order:created", Some("order:1"))
        );
        assert_eq!(job.client_id.as_deref(), Some("acme"));
        let subscription =
            fixture.hub.subscription(&root(), &job.subscription_id.expect("its subscription")).await;
        let subscription = subscription.expect("the subscription");
        assert_eq!(job.message_group, Some(format!("{}:order:1", subscription.code)));
        if subscription.code == "acme" {
            assert_eq!((job.mode, job.max_retries), (Some(DispatchMode::BlockOnError), Some(7)));
            assert!(job.expires_at > job.created_at);
        }
    }
    assert_eq!(fixture.count("dispatch_jobs").await, 3);
    assert_eq!(fixture.text("SELECT data FROM dispatch_events").await.as_deref(), Some(data));
}

async fn j04_a_repeated_event_creates_nothing(fixture: &Fixture) {
    fixture.hub.create_subscription(&root(), subscription("all", &json!({}))).await.expect("a subscription");
    let first = fixture.hub.create_event(&root(), event("e1", &json!({}))).await.expect("an event");
    let again =
        fixture.hub.create_event(&root(), event("e1", &json!({"data": {}}))).await.expect("the first event");
    assert_eq!((again.id, again.known, again.job_ids.len()), (first.id.clone(), true, 0));
    let batch = vec![
        event("e1", &json!({})),
        event("e2", &json!({})),
        event("e2", &json!({})),
        event("E1", &json!({})),
    ];
    let made = fixture.hub.create_events(&root(), batch).await.expect("a batch");
    let known: Vec<bool> = made.iter().map(|made| made.as_ref().expect("an event").known).collect();
    assert_eq!(known.iter().filter(|known| **known).count(), 2, "{made:?}");
    for apart in [json!({"clientid": "other"}), json!({"source": "/shop/rome"})] {
        assert!(!fixture.hub.create_event(&root(), event("e1", &apart)).await.expect("another event").known);
    }
    assert_eq!(fixture.count("dispatch_events").await, 5);
    assert_eq!(fixture.count("dispatch_jobs").await, 5);
}

/// Each event is sent twice, by producers of two clients.
async fn j04_concurrent_events_get_their_own_results(fixture: &Fixture) {
    let subscribed = subscription("all", &json!({"expiresAfterSeconds": 3600}));
    fixture.hub.create_subscription(&root(), subscribed).await.expect("a subscription");
    let clients = ["acme", "other"];
    let actors =
        [fixture.actor(Role::Producer, &["acme"]).await, fixture.actor(Role::Producer, &["other"]).await];
    let sent: Vec<usize> = (0..40).chain(0..40).collect();
    let send = |number: &usize| {
        let (client, id) = (clients[number % 2], format!("e{}", number / 2));
        fixture.hub.create_event(&actors[number % 2], event(&id, &json!({"clientid": client})))
    };
    let answers = futures::future::join_all(sent.iter().map(send)).await;
    let mut ids = std::collections::BTreeMap::new();
    let mut fresh = 0;
    for (number, answer) in sent.iter().zip(answers) {
        let made = answer.expect("stored");
        assert_eq!(*ids.entry(*number).or_insert_with(|| made.id.clone()), made.id, "the same event");
        assert_eq!(made.job_ids.len(), usize::from(!made.known));
        fresh += usize::from(!made.known);
        for job in made.job_ids {
            let job = fixture.hub.job(&root(), &job).await.expect("a job");
            assert_eq!(
                (job.client_id.as_deref(), job.event_id),
                (Some(clients[number % 2]), Some(made.id.clone()))
            );
            assert!(job.expires_at.is_some());
        }
        let creator = format!(
            "SELECT key_id FROM postrider_audit WHERE action = 'create' AND entity_id = '{}'",
            made.id
        );
        assert_eq!(fixture.text(&creator).await.as_ref(), Some(&actors[number % 2].key));
    }
    assert_eq!((fresh, ids.len()), (40, 40));
    for (table, rows) in
        [("dispatch_events", 40), ("dispatch_jobs", 40), ("postrider_audit WHERE entity = 'event'", 40)]
    {
        assert_eq!(fixture.count(table).await, rows, "{table}");
    }
}

async fn j04_an_invalid_event_lists_every_wrong_member(fixture: &Fixture) {
    for (field, with) in [
        ("specversion", json!({"specversion": "0.3"})),
        ("type", json!({"type": "created"})),
        ("type", json!({"type": "shop:orders:*:created"})),
        ("id", json!({"id": 7})),
        ("source", json!({"source": ""})),
        ("time", json!({"time": "yesterday"})),
        ("clientid", json!({"clientid": "a b"})),
        ("Unknown", json!({"Unknown": 1})),
        ("nested", json!({"nested": {}})),
        ("data_base64", json!({"data_base64": "%%"})),
    ] {
        match fixture.hub.create_event(&root(), event("e1", &with)).await {
            Err(Error::Invalid(faults)) => assert_eq!(faults[0].field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let empty = fixture.hub.create_event(&root(), NewEvent::new()).await;
    assert!(matches!(&empty, Err(Error::Invalid(faults)) if faults.len() == 4), "{empty:?}");
    assert_eq!(fixture.count("dispatch_events").await, 0);
}

async fn j17_an_event_can_be_replayed_and_a_subscription_tested(fixture: &Fixture) {
    let made = fixture.hub.create_event(&root(), event("e1", &json!({}))).await.expect("an event");
    assert_eq!(made.job_ids.len(), 0);
    let one = fixture
        .hub
        .create_subscription(&root(), subscription("one", &json!({})))
        .await
        .expect("a subscription");
    fixture.hub.create_subscription(&root(), subscription("two", &json!({}))).await.expect("a subscription");
    for _ in 0..2 {
        assert_eq!(
            fixture.hub.replay(&root(), &made.id, None, None).await.expect("replayed").job_ids.len(),
            2
        );
    }
    assert_eq!(
        fixture.hub.replay(&root(), &made.id, Some(&one.id), None).await.expect("replayed").job_ids.len(),
        1
    );
    assert!(fixture.hub.replay(&root(), &made.id, Some("0000000000000"), None).await.is_err());
    let test = fixture.hub.test_subscription(&root(), &one.id, None).await.expect("tested");
    let job = fixture.hub.job(&root(), &test.job_ids[0]).await.expect("a job");
    assert_eq!(
        (job.code.as_str(), job.payload.as_deref()),
        ("shop:orders:order:test", Some("{\"test\":true}"))
    );
    assert_eq!(fixture.count("dispatch_jobs").await, 6);
    assert_eq!(fixture.count("postrider_audit WHERE action IN ('replay', 'test')").await, 4);
}

async fn j17_a_subscription_is_changed_paused_and_isolated_by_client(fixture: &Fixture) {
    let acme = fixture.actor(Role::Operator, &["acme"]).await;
    let other = fixture.actor(Role::Operator, &["other"]).await;
    let made =
        fixture.hub.create_subscription(&acme, subscription("s", &json!({}))).await.expect("a subscription");
    assert_eq!(made.client_id.as_deref(), Some("acme"));
    assert!(matches!(fixture.hub.subscription(&other, &made.id).await, Err(Error::NotFound(_))));
    let taken = fixture.hub.create_subscription(&acme, subscription("s", &json!({}))).await;
    assert!(matches!(taken, Err(Error::Conflict { field: Some("code"), .. })), "{taken:?}");
    fixture.hub.create_subscription(&other, subscription("s", &json!({}))).await.expect("another client's");
    let what = subscription("s", &json!({"targetUrl": "https://example.org/new", "maxRetries": 9}));
    let changed = fixture.hub.change_subscription(&acme, &made.id, &what).await.expect("changed");
    assert_eq!((changed.target_url.as_str(), changed.max_retries), ("https://example.org/new", 9));
    let private = subscription("s", &json!({"targetUrl": "https://10.0.0.1/"}));
    assert!(fixture.hub.change_subscription(&acme, &made.id, &private).await.is_err());
    assert!(fixture.hub.change_subscription(&acme, &made.id, &subscription("t", &json!({}))).await.is_err());
    assert!(fixture.hub.pause_subscription(&acme, &made.id, true).await.expect("paused").paused);
    let named = fixture.hub.delivery_data(&[].into(), &[made.id.clone()].into()).await.expect("it is asked");
    assert!(named.subscriptions[&made.id].paused);
    let job = fixture.hub.create_event(&acme, event("e1", &json!({}))).await.expect("an event");
    assert_eq!(job.job_ids.len(), 1, "a paused subscription loses nothing");
    assert!(!fixture.hub.pause_subscription(&acme, &made.id, false).await.expect("resumed").paused);
}
