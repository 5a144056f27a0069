//! API keys: creation, authentication, scope and revocation.

use std::sync::Arc;
use std::time::Duration;

use postrider_hub::access::{ClientScope, Role};
use postrider_hub::{Error, Hub, Settings};

use crate::fixture::{Fixture, on_every_database, root};

on_every_database!(
    the_first_admin_key_is_created_once,
    a_key_is_stored_hashed_and_valid_until_it_is_revoked,
    a_key_cannot_grant_more_access_than_it_has,
    a_key_that_another_process_revokes_is_refused_after_a_second,
);

async fn the_first_admin_key_is_created_once(fixture: &Fixture) {
    let make = |_| {
        let hub = Arc::clone(&fixture.hub);
        tokio::spawn(async move { hub.create_first_key().await.expect("the store answers") })
    };
    let mut shown = Vec::new();
    for task in (0..5).map(make).collect::<Vec<_>>() {
        shown.extend(task.await.expect("it ended"));
    }
    assert_eq!(shown.len(), 1);
    let actor =
        fixture.hub.authenticate(&shown[0].key).await.expect("the store answers").expect("the key is valid");
    assert_eq!((actor.role, actor.scope), (Role::Admin, ClientScope::All));
    assert_eq!(fixture.count("postrider_api_keys").await, 1);
}

async fn a_key_is_stored_hashed_and_valid_until_it_is_revoked(fixture: &Fixture) {
    let (key, actor) = fixture.key(Role::Viewer, &["acme"]).await;
    assert_eq!(actor.scope, ClientScope::Only(vec!["acme".to_owned()]));
    let stored = fixture.text("SELECT hash FROM postrider_api_keys").await.expect("a hash");
    let secret = key.splitn(3, '_').nth(2).expect("a secret, which may have underscores of its own");
    assert!(stored.len() == 64 && !stored.contains(secret));
    assert!(fixture.text("SELECT last_used_at FROM postrider_api_keys").await.is_some());
    let (head, last) = key.split_at(key.len() - 1);
    let forged = format!("{head}{}", if last == "A" { "B" } else { "A" });
    for wrong in [
        forged.as_str(),
        head,
        "",
        "pr_",
        "pr_0123456789abcdef_",
        &key.to_uppercase(),
        &key.replace("pr_", "PR_"),
    ] {
        assert_eq!(fixture.hub.authenticate(wrong).await.expect("the store answers"), None, "{wrong}");
    }
    let revoked = fixture.hub.revoke_key(&root(), &actor.key).await.expect("revoked");
    assert!(revoked.revoked_at.is_some());
    assert_eq!(fixture.hub.authenticate(&key).await.expect("the store answers"), None);
    assert_eq!(fixture.count("postrider_audit WHERE entity = 'apiKey'").await, 2);
}

async fn a_key_that_another_process_revokes_is_refused_after_a_second(fixture: &Fixture) {
    let (key, actor) = fixture.key(Role::Viewer, &[]).await;
    let valid = async || fixture.hub.authenticate(&key).await.expect("the store answers").is_some();
    assert!(valid().await);
    let other = Hub::open(Arc::clone(&fixture.database), Settings::default(), None).await.expect("a hub");
    other.revoke_key(&root(), &actor.key).await.expect("revoked");
    assert_eq!(
        other.authenticate(&key).await.expect("the store answers"),
        None,
        "at once where it was revoked"
    );
    tokio::time::sleep(Duration::from_millis(1050)).await;
    assert!(!valid().await);
}

async fn a_key_cannot_grant_more_access_than_it_has(fixture: &Fixture) {
    let acme = fixture.actor(Role::Admin, &["acme"]).await;
    let new = |clients: &[&str]| {
        serde_json::from_value(serde_json::json!({"name": "n", "role": "viewer", "clientIds": clients}))
            .expect("a key")
    };
    assert!(matches!(
        fixture.hub.create_key(&acme, &new(&["other"]), None).await,
        Err(Error::ClientNotAllowed("clientIds"))
    ));
    let made = fixture.hub.create_key(&acme, &new(&[]), None).await.expect("a key");
    assert_eq!(made.details.client_ids, ["acme"]);
    let other = fixture.actor(Role::Admin, &["other"]).await;
    assert!(matches!(fixture.hub.revoke_key(&other, &made.details.id).await, Err(Error::NotFound(_))));
    assert_eq!(fixture.hub.keys(&other).await.expect("keys").len(), 1);
    assert!(matches!(fixture.hub.revoke_key(&acme, &acme.key).await, Err(Error::Conflict { .. })));
}
