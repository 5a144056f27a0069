//! Sessions of the console.

use postrider_hub::access::{Role, Scope};

use crate::site::{Site, on_every_database, root};

on_every_database!(
    a_session_is_stored_hashed_and_ends_with_a_logout,
    a_revoked_or_expired_key_ends_its_sessions,
    an_old_session_opens_nothing_and_is_cleared_away,
);

async fn a_session_is_stored_hashed_and_ends_with_a_logout(site: &Site) {
    let (key, actor) = site.key(Role::Operator, &["acme"]).await;
    assert!(site.hub.sign_in("pr_0123456789abcdef_no").await.expect("the store answers").is_none());
    let signed = site.hub.sign_in(&key).await.expect("the store answers").expect("it opens");
    let other = site.hub.sign_in(&key).await.expect("the store answers").expect("it opens again");
    assert_ne!(signed.token, other.token);
    let stored = site.text("SELECT min(hash) FROM postrider_sessions").await.expect("a hash");
    assert!(stored.len() == 64 && stored != signed.token && stored != other.token);
    let session = site.hub.session(&signed.token).await.expect("the store answers").expect("a session");
    assert_eq!(session.actor, actor);
    assert_eq!(session.actor.scope, Scope::Only(vec!["acme".to_owned()]));
    assert!(session.expires_at.is_some());
    assert!(session.is_meant_by(&signed.session.csrf) && !session.is_meant_by(&other.session.csrf));
    let (head, last) = signed.token.split_at(signed.token.len() - 1);
    let forged = format!("{head}{}", if last == "0" { "1" } else { "0" });
    for wrong in [forged.as_str(), head, "", &stored, &signed.token.replace(head, "' OR '1'='1")] {
        assert!(site.hub.session(wrong).await.expect("the store answers").is_none(), "{wrong}");
    }
    site.hub.sign_out(&signed.token).await.expect("signed out");
    site.hub.sign_out(&signed.token).await.expect("signed out already");
    assert!(site.hub.session(&signed.token).await.expect("the store answers").is_none());
    assert!(site.hub.session(&other.token).await.expect("the store answers").is_some());
    let lines = "postrider_audit WHERE entity = 'session' AND ";
    assert_eq!(site.count(&format!("{lines} key_name IS NOT NULL")).await, 3);
}

async fn a_revoked_or_expired_key_ends_its_sessions(site: &Site) {
    let (key, actor) = site.key(Role::Admin, &[]).await;
    let revoked = site.hub.sign_in(&key).await.expect("the store answers").expect("it opens");
    site.hub.revoke_key(&root(), &actor.key).await.expect("revoked");
    assert!(site.hub.session(&revoked.token).await.expect("the store answers").is_none());
    assert!(site.hub.sign_in(&key).await.expect("the store answers").is_none());
    let (key, _) = site.key(Role::Admin, &[]).await;
    let expired = site.hub.sign_in(&key).await.expect("the store answers").expect("it opens");
    site.run("UPDATE postrider_api_keys SET expires_at = created_at WHERE revoked_at IS NULL").await;
    assert!(site.hub.session(&expired.token).await.expect("the store answers").is_none());
}

async fn an_old_session_opens_nothing_and_is_cleared_away(site: &Site) {
    let (key, _) = site.key(Role::Viewer, &[]).await;
    let old = site.hub.sign_in(&key).await.expect("the store answers").expect("it opens");
    site.run("UPDATE postrider_sessions SET expires_at = created_at").await;
    assert!(site.hub.session(&old.token).await.expect("the store answers").is_none());
    site.hub.sign_in(&key).await.expect("the store answers").expect("it opens");
    assert_eq!(site.count("postrider_sessions").await, 1);
}
