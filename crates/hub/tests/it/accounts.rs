//! Service accounts, and the references that jobs may use.

use postrider_hub::Error;
use postrider_hub::access::{Actor, Role};
use postrider_hub::account::{CredentialsChange, NewAccount};
use postrider_hub::page::PageQuery;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::plain;

on_every_database!(
    j01_an_account_is_returned_as_created,
    j10_a_new_secret_is_shown_once_and_the_old_one_stays_valid,
    j10_an_algorithm_without_a_reference_generates_a_secret,
    j01_a_job_must_name_an_active_account_of_its_client,
    j10_a_job_must_go_to_a_host_that_its_account_allows,
    j10_a_new_account_must_list_its_hosts,
    j10_unreadable_hosts_allow_no_host,
    j10_existing_accounts_get_the_hosts_of_their_subscriptions,
    j11_only_a_key_of_all_clients_may_set_references,
    j11_references_are_reencrypted_with_a_new_key,
    j11_a_code_of_another_client_is_never_revealed,
    a_payload_is_validated_against_its_schema,
);

/// A request for an account; it allows any host unless `value` says otherwise.
fn new(mut value: Value) -> NewAccount {
    value.as_object_mut().expect("an object").entry("allowedHosts").or_insert_with(|| json!(["*"]));
    serde_json::from_value(value).expect("a request")
}

async fn j01_an_account_is_returned_as_created(fixture: &Fixture) {
    let given = json!({
        "code": "acme-notifications", "name": "Acme Notifications Service", "description": "For webhooks",
        "clientIds": ["acme"], "applicationId": "app-1",
        "webhookCredentials": {
            "authType": "BEARER", "authTokenRef": "aws-secretsmanager://acme-webhook-token",
            "signingSecretRef": "vault://acme/signing#secret", "signingAlgorithm": "HMAC_SHA256",
        },
        "roles": [{"roleName": "webhook-sender"}],
    });
    let shown = fixture.hub.create_account(&root(), new(given.clone())).await.expect("an account");
    assert_eq!(shown.signing_secret, None);
    let account = serde_json::to_value(&shown.account).expect("JSON");
    for field in ["code", "name", "description", "clientIds", "applicationId"] {
        assert_eq!(account[field], given[field], "{field}");
    }
    for field in ["authType", "authTokenRef", "signingSecretRef", "signingAlgorithm"] {
        assert_eq!(account["webhookCredentials"][field], given["webhookCredentials"][field], "{field}");
    }
    assert_eq!(account["active"], json!(true));
    assert_eq!(account["roles"][0]["roleName"], "webhook-sender");
    assert_eq!(account["roles"][0]["assignmentSource"], "MANUAL");
    assert!(account["roles"][0]["assignedAt"].is_string());
    let taken = fixture.hub.create_account(&root(), new(given)).await.err().expect("the code is taken");
    assert!(matches!(taken, Error::Conflict { field: Some("code"), .. }), "{taken:?}");
    assert_eq!(fixture.count("service_accounts").await, 1);
    let found = fixture
        .hub
        .accounts(&root(), Some("acme-notifications"), &PageQuery::default())
        .await
        .expect("a page");
    assert_eq!(found.items.len(), 1);
}

async fn j10_a_new_secret_is_shown_once_and_the_old_one_stays_valid(fixture: &Fixture) {
    let shown = fixture
        .hub
        .create_account(&root(), new(json!({"code": "a", "name": "A"})))
        .await
        .expect("an account");
    let secret = shown.signing_secret.expect("a fresh secret");
    assert!(secret.starts_with("whsec_"));
    let id = shown.account.id;
    let before = fixture.text("SELECT signing_secret_ref FROM service_accounts").await.expect("a reference");
    assert!(before.starts_with("encrypted://") && !before.contains(&secret));
    let again =
        fixture.hub.regenerate(&root(), &id, &CredentialsChange::default()).await.expect("regenerated");
    assert!(again.signing_secret.is_some_and(|fresh| fresh != secret));
    assert!(again.account.webhook_credentials.expect("credentials").regenerated_at.is_some());
    let previous = fixture.text("SELECT previous_signing_secret_ref FROM service_accounts").await;
    assert_eq!(previous.as_deref(), Some(before.as_str()));
    assert!(fixture.text("SELECT previous_until FROM service_accounts").await.is_some());
}

async fn j10_an_algorithm_without_a_reference_generates_a_secret(fixture: &Fixture) {
    let bearer = json!({"authType": "BEARER", "authTokenRef": "env://TOKEN"});
    let mut signing = bearer.clone();
    signing["signingAlgorithm"] = json!("HMAC_SHA256");
    for (code, credentials, signs) in [("plain", bearer, false), ("signed", signing, true)] {
        let account = new(json!({"code": code, "name": "A", "webhookCredentials": credentials}));
        let shown = fixture.hub.create_account(&root(), account).await.expect("an account");
        assert_eq!(shown.signing_secret.is_some(), signs, "{code}");
        let kept = shown.account.webhook_credentials.expect("credentials");
        assert_eq!(kept.signing_secret_ref.is_some(), signs, "{code}");
        assert_eq!(kept.auth_token_ref.as_deref(), Some("env://TOKEN"), "{code}");
    }
}

async fn j01_a_job_must_name_an_active_account_of_its_client(fixture: &Fixture) {
    let account = new(json!({"code": "a", "name": "A", "clientIds": ["acme"]}));
    let id = fixture.hub.create_account(&root(), account).await.expect("an account").account.id;
    let job = |client: &str| {
        let mut job = plain("a");
        job.client_id = Some(client.to_owned());
        job.service_account_id = Some(id.clone());
        job
    };
    fixture.hub.create_job(&root(), job("acme")).await.expect("a job");
    let wrong = async |actor: Actor, client: &str| match fixture.hub.create_job(&actor, job(client)).await {
        Err(Error::Invalid(faults)) => assert_eq!(faults[0].field, "serviceAccountId"),
        other => panic!("{other:?}"),
    };
    wrong(root(), "other").await;
    wrong(fixture.actor(Role::Producer, &["other"]).await, "other").await;
    let inactive = fixture.hub.activate_account(&root(), &id, false).await.expect("deactivated");
    assert!(!inactive.active);
    wrong(root(), "acme").await;
    assert_eq!(fixture.count("dispatch_jobs").await, 1);
}

/// Codes are unique over all clients, so a conflict must not reveal a code of another client.
async fn j11_a_code_of_another_client_is_never_revealed(fixture: &Fixture) {
    let acme = fixture.actor(Role::Admin, &["acme"]).await;
    fixture.hub.create_account(&acme, new(json!({"code": "acme.a", "name": "A"}))).await.expect("an account");
    fixture
        .hub
        .create_account(&root(), new(json!({"code": "secret", "name": "A"})))
        .await
        .expect("an account");
    let other = fixture.actor(Role::Admin, &["other"]).await;
    for (taken, free) in [("acme.a", "acme.b"), ("secret", "unused")] {
        let mut reported = Vec::new();
        for code in [taken, free] {
            let new = new(json!({"code": code, "name": "A"}));
            reported.push(fixture.hub.create_account(&other, new).await.err().map(|error| error.to_string()));
        }
        assert!(reported[0].is_some() && reported[0] == reported[1], "{reported:?}");
    }
    fixture.hub.create_account(&other, new(json!({"code": "other.a", "name": "A"}))).await.expect("its own");
    let twice = fixture.hub.create_account(&other, new(json!({"code": "other.a", "name": "A"}))).await;
    assert!(matches!(twice, Err(Error::Conflict { .. })));
}

async fn j10_a_job_must_go_to_a_host_that_its_account_allows(fixture: &Fixture) {
    let account =
        new(json!({"code": "a", "name": "A", "allowedHosts": ["hooks.example.org", "*.example.net"]}));
    let id = fixture.hub.create_account(&root(), account).await.expect("an account").account.id;
    let sent = async |url: &str| {
        let mut job = plain("a");
        job.service_account_id = Some(id.clone());
        url.clone_into(&mut job.target_url);
        fixture.hub.create_job(&root(), job).await
    };
    for url in ["https://hooks.example.org/x", "https://HOOKS.example.org:8443/", "https://a.b.example.net/"]
    {
        sent(url).await.expect("a job");
    }
    for url in ["https://example.com/hook", "https://example.net/", "https://hooks.example.org.evil.example/"]
    {
        match sent(url).await {
            Err(Error::Invalid(faults)) => {
                assert_eq!(faults[0].field, "serviceAccountId", "{url}");
                assert!(faults[0].message.contains("allowedHosts"), "{url}: {faults:?}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    assert_eq!(fixture.count("dispatch_jobs").await, 3);
    let kept = serde_json::from_value(json!({"name": "B"})).expect("a change");
    let account = fixture.hub.change_account(&root(), &id, &kept).await.expect("changed");
    assert_eq!(account.allowed_hosts, ["hooks.example.org", "*.example.net"], "left out, they stay");
    let any = serde_json::from_value(json!({"name": "B", "allowedHosts": ["*"]})).expect("a change");
    fixture.hub.change_account(&root(), &id, &any).await.expect("changed");
    sent("https://example.com/hook").await.expect("any host");
    for wrong in ["", "https://a.example/", "a b", "*.", ".a", "a.*.b", "**"] {
        let account = new(json!({"code": "w", "name": "W", "allowedHosts": [wrong]}));
        assert!(
            matches!(fixture.hub.create_account(&root(), account).await, Err(Error::Invalid(_))),
            "{wrong}"
        );
    }
}

async fn j10_a_new_account_must_list_its_hosts(fixture: &Fixture) {
    let without = serde_json::from_value(json!({"code": "a", "name": "A"})).expect("a request");
    match fixture.hub.create_account(&root(), without).await {
        Err(Error::Invalid(faults)) => {
            assert_eq!(faults[0].field, "allowedHosts");
            assert!(faults[0].message.contains(r#"["*"] for any host"#), "{faults:?}");
        }
        other => panic!("{:?}", other.map(|made| made.account)),
    }
    assert_eq!(fixture.count("service_accounts").await, 0);
}

/// An unreadable list of hosts, written by another program, must allow no host.
async fn j10_unreadable_hosts_allow_no_host(fixture: &Fixture) {
    let account = new(json!({"code": "a", "name": "A", "allowedHosts": ["example.com"]}));
    let id = fixture.hub.create_account(&root(), account).await.expect("an account").account.id;
    let sent = async || {
        let mut job = plain("a");
        job.service_account_id = Some(id.clone());
        "https://example.com/hook".clone_into(&mut job.target_url);
        fixture.hub.create_job(&root(), job).await
    };
    sent().await.expect("a job");
    for hosts in ["NULL", "'no json'", "'{}'", "'[1]'", "'\"*\"'"] {
        fixture.run(&format!("UPDATE service_accounts SET allowed_hosts = {hosts}")).await;
        assert!(matches!(sent().await, Err(Error::Invalid(_))), "{hosts}");
        let named = fixture.hub.delivery_data(&[id.clone()].into(), &[].into()).await.expect("a look-up");
        assert!(named.accounts[&id].hosts.is_empty(), "{hosts}: credentials of a delivery");
        assert!(
            fixture.hub.account(&root(), &id).await.expect("an account").allowed_hosts.is_empty(),
            "{hosts}"
        );
    }
}

async fn j10_existing_accounts_get_the_hosts_of_their_subscriptions(fixture: &Fixture) {
    let mut ids = Vec::new();
    for code in ["with", "without", "unreadable"] {
        let account = new(json!({"code": code, "name": code}));
        ids.push(fixture.hub.create_account(&root(), account).await.expect("an account").account.id);
    }
    for (code, url, id) in [
        ("s", "https://hooks.example.org/x", &ids[0]),
        ("t", "https://example.net:8443/", &ids[0]),
        ("u", "https://example.com/", &ids[2]),
    ] {
        let what = json!({
            "code": code, "name": code, "eventCode": "a:b:c:d", "targetUrl": url, "serviceAccountId": id,
        });
        let what = serde_json::from_value(what).expect("a subscription");
        fixture.hub.create_subscription(&root(), what).await.expect("made");
    }
    fixture.run("UPDATE dispatch_subscriptions SET target_url = 'example.com' WHERE code = 'u'").await;
    // Accounts as they were before allowed hosts existed.
    fixture.run("ALTER TABLE service_accounts DROP COLUMN allowed_hosts").await;
    let ran = postrider_hub::migrate::apply(&*fixture.database).await.expect("migrated");
    assert_eq!(ran.len(), 1, "{ran:?}");
    let hosts = async |id: &str| fixture.hub.account(&root(), id).await.expect("an account").allowed_hosts;
    assert_eq!(hosts(&ids[0]).await, ["example.net", "hooks.example.org"]);
    assert_eq!(hosts(&ids[1]).await, ["*"]);
    assert!(hosts(&ids[2]).await.is_empty(), "a URL that can't be read allows no host");
    assert!(postrider_hub::migrate::apply(&*fixture.database).await.expect("migrated").is_empty());
}

async fn j11_only_a_key_of_all_clients_may_set_references(fixture: &Fixture) {
    let acme = fixture.actor(Role::Admin, &["acme"]).await;
    let stolen = json!({"code": "acme.a", "name": "A", "webhookCredentials": {"authType": "BEARER", "authTokenRef": "env://HOME"}});
    assert!(matches!(
        fixture.hub.create_account(&acme, new(stolen)).await,
        Err(Error::Forbidden { field: "webhookCredentials.authTokenRef", .. })
    ));
    let made = fixture
        .hub
        .create_account(&acme, new(json!({"code": "acme.a", "name": "A"})))
        .await
        .expect("an account");
    assert_eq!(made.account.client_ids, ["acme"]);
    let other = fixture.actor(Role::Admin, &["other"]).await;
    assert!(matches!(fixture.hub.account(&other, &made.account.id).await, Err(Error::NotFound(_))));
    let plain = json!({"code": "b", "name": "B", "webhookCredentials": {"signingSecretRef": "whsec_plain"}});
    assert!(matches!(fixture.hub.create_account(&root(), new(plain)).await, Err(Error::Invalid(_))));
}

async fn a_payload_is_validated_against_its_schema(fixture: &Fixture) {
    let schema =
        json!({"type": "object", "required": ["orderId"], "properties": {"orderId": {"type": "string"}}});
    fixture.hub.put_schema(&root(), "order", &json!({"type": "nonsense"})).await.expect_err("no schema");
    fixture.hub.put_schema(&root(), "order", &json!({"type": "object"})).await.expect("a schema");
    fixture.hub.put_schema(&root(), "order", &schema).await.expect("another");
    let job = |payload: &str| {
        let mut job = plain("a");
        job.schema_id = Some("order".to_owned());
        job.payload = Some(payload.to_owned());
        job
    };
    fixture.hub.create_job(&root(), job("{\"orderId\": \"1\"}")).await.expect("a job");
    for payload in ["{}", "{\"orderId\": 1}", "no json"] {
        match fixture.hub.create_job(&root(), job(payload)).await {
            Err(Error::Invalid(faults)) => assert_eq!(faults[0].field, "payload"),
            other => panic!("{payload}: {other:?}"),
        }
    }
    fixture.hub.delete_schema(&root(), "order").await.expect("deleted");
    fixture.hub.create_job(&root(), job("no json")).await.expect("a job");
    assert_eq!(fixture.count("dispatch_jobs").await, 2);
}

async fn j11_references_are_reencrypted_with_a_new_key(fixture: &Fixture) {
    let account = |code: &str, signing: &str| {
        new(json!({"code": code, "name": code, "webhookCredentials": {"authType": "BEARER",
            "authTokenRef": "encrypted://token1", "signingSecretRef": signing}}))
    };
    let old =
        fixture.hub.create_account(&root(), account("old", "encrypted://old1")).await.expect("an account");
    let turned = CredentialsChange {
        signing_secret_ref: Some("encrypted://next1".to_owned()),
        ..CredentialsChange::default()
    };
    fixture.hub.regenerate(&root(), &old.account.id, &turned).await.expect("a new secret");
    let lost =
        fixture.hub.create_account(&root(), account("lost", "encrypted://lost0")).await.expect("an account");
    fixture.hub.create_account(&root(), account("apart", "env://SIGNING")).await.expect("an account");
    let done = fixture.hub.reencrypt_accounts(&root()).await.expect("they are read");
    assert_eq!(done.references, 3 + 1 + 1, "three of the first, one of each other");
    assert_eq!(done.failed, [(lost.account.id, "its key is not set".to_owned())]);
    for (column, code, reference) in [
        ("auth_token_ref", "old", "encrypted://token12"),
        ("signing_secret_ref", "old", "encrypted://next12"),
        ("previous_signing_secret_ref", "old", "encrypted://old12"),
        ("signing_secret_ref", "lost", "encrypted://lost0"),
        ("auth_token_ref", "lost", "encrypted://token12"),
        ("signing_secret_ref", "apart", "env://SIGNING"),
    ] {
        let kept =
            fixture.text(&format!("SELECT {column} FROM service_accounts WHERE code = '{code}'")).await;
        assert_eq!(kept.as_deref(), Some(reference), "{code} {column}");
    }
    assert_eq!(fixture.count("postrider_audit WHERE action = 'reencrypt'").await, 3);
    assert_eq!(fixture.hub.reencrypt_accounts(&root()).await.expect("again").references, 0);
}
