//! Sessions of the console.

use postrider_hub::access::{ClientScope, Role};

use crate::fixture::{Fixture, on_every_database, root};

on_every_database!(
    a_session_is_stored_hashed_and_ends_with_a_logout,
    a_revoked_or_expired_key_ends_its_sessions,
    an_expired_session_is_refused_and_deleted,
);

async fn a_session_is_stored_hashed_and_ends_with_a_logout(fixture: &Fixture) {
    let (key, actor) = fixture.key(Role::Operator, &["acme"]).await;
    assert!(fixture.hub.sign_in("pr_0123456789abcdef_no").await.expect("the store answers").is_none());
    let signed = fixture.hub.sign_in(&key).await.expect("the store answers").expect("the key is valid");
    let other = fixture.hub.sign_in(&key).await.expect("the store answers").expect("the key is still valid");
    assert_ne!(signed.token, other.token);
    let stored = fixture.text("SELECT min(hash) FROM postrider_sessions").await.expect("a hash");
    assert!(stored.len() == 64 && stored != signed.token && stored != other.token);
    let session = fixture.hub.session(&signed.token).await.expect("the store answers").expect("a session");
    assert_eq!(session.actor, actor);
    assert_eq!(session.actor.scope, ClientScope::Only(vec!["acme".to_owned()]));
    assert!(session.expires_at.is_some());
    assert!(session.has_csrf_token(&signed.session.csrf) && !session.has_csrf_token(&other.session.csrf));
    let (head, last) = signed.token.split_at(signed.token.len() - 1);
    let forged = format!("{head}{}", if last == "0" { "1" } else { "0" });
    for wrong in [forged.as_str(), head, "", &stored, &signed.token.replace(head, "' OR '1'='1")] {
        assert!(fixture.hub.session(wrong).await.expect("the store answers").is_none(), "{wrong}");
    }
    fixture.hub.sign_out(&signed.token).await.expect("signed out");
    fixture.hub.sign_out(&signed.token).await.expect("signed out already");
    assert!(fixture.hub.session(&signed.token).await.expect("the store answers").is_none());
    assert!(fixture.hub.session(&other.token).await.expect("the store answers").is_some());
    let lines = "postrider_audit WHERE entity = 'session' AND ";
    assert_eq!(fixture.count(&format!("{lines} key_name IS NOT NULL")).await, 3);
}

async fn a_revoked_or_expired_key_ends_its_sessions(fixture: &Fixture) {
    let (key, actor) = fixture.key(Role::Admin, &[]).await;
    let revoked = fixture.hub.sign_in(&key).await.expect("the store answers").expect("the key is valid");
    fixture.hub.revoke_key(&root(), &actor.key).await.expect("revoked");
    assert!(fixture.hub.session(&revoked.token).await.expect("the store answers").is_none());
    assert!(fixture.hub.sign_in(&key).await.expect("the store answers").is_none());
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let expired = fixture.hub.sign_in(&key).await.expect("the store answers").expect("the key is valid");
    fixture.run("UPDATE postrider_api_keys SET expires_at = created_at WHERE revoked_at IS NULL").await;
    assert!(fixture.hub.session(&expired.token).await.expect("the store answers").is_none());
}

async fn an_expired_session_is_refused_and_deleted(fixture: &Fixture) {
    let (key, _) = fixture.key(Role::Viewer, &[]).await;
    let old = fixture.hub.sign_in(&key).await.expect("the store answers").expect("the key is valid");
    fixture.run("UPDATE postrider_sessions SET expires_at = created_at").await;
    assert!(fixture.hub.session(&old.token).await.expect("the store answers").is_none());
    fixture.hub.sign_in(&key).await.expect("the store answers").expect("the key is valid");
    assert_eq!(fixture.count("postrider_sessions").await, 1);
}
