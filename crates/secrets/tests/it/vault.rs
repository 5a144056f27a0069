//! Vault, against a fake server with KV 1 and 2, expiring tokens, AppRole and a namespace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use postrider_seams::Secrets as _;
use postrider_seams::secret::Error;
use serde_json::{Value, json};

use crate::{assert_refused, found, safe, serve};

#[derive(Clone, Default)]
struct Vault {
    logins: Arc<AtomicUsize>,
    /// Only the token of the latest login is valid, as after a revocation.
    revoked: Arc<AtomicUsize>,
}

type Answer = (StatusCode, Json<Value>);

fn refused(status: u16, why: &str) -> Answer {
    (StatusCode::from_u16(status).unwrap(), Json(json!({ "errors": [why] })))
}

fn fine(data: &Value) -> Answer {
    (StatusCode::OK, Json(json!({ "request_id": "1", "data": data })))
}

async fn login(State(vault): State<Vault>, Json(body): Json<Value>) -> Answer {
    if body["role_id"] != "role" || body["secret_id"] != "hunter2" {
        return refused(400, "invalid role or secret ID");
    }
    let login = vault.logins.fetch_add(1, SeqCst) + 1;
    let auth = json!({ "client_token": format!("hvs.{login}"), "lease_duration": 3600, "renewable": true });
    (StatusCode::OK, Json(json!({ "auth": auth })))
}

async fn read(State(vault): State<Vault>, Path(path): Path<String>, headers: HeaderMap) -> Answer {
    let token = headers.get("x-vault-token").map_or("", |token| token.to_str().unwrap());
    let good = token == "root" || token == format!("hvs.{}", vault.revoked.load(SeqCst) + 1);
    if !good || headers.get("x-vault-namespace").is_none_or(|namespace| namespace != "team") {
        return refused(403, "permission denied");
    }
    let mount = |path: &str, version: &str| {
        fine(&json!({ "path": path, "type": "kv", "options": { "version": version } }))
    };
    match path.as_str() {
        "sys/internal/ui/mounts/hidden/app" => refused(403, "preflight capability check returned 403"),
        "hidden/app" => fine(&json!({ "value": "plain" })),
        path if path.starts_with("sys/internal/ui/mounts/secret/") => mount("secret/", "2"),
        path if path.starts_with("sys/internal/ui/mounts/old/kv/") => mount("old/kv/", "1"),
        path if path.starts_with("sys/internal/ui/mounts/sealed/") => refused(503, "Vault is sealed"),
        "secret/data/app" | "secret/data/a b" => {
            fine(&json!({ "data": { "token": "hunter3", "port": 25 }, "metadata": { "version": 4 } }))
        }
        "secret/data/one" => {
            fine(&json!({ "data": { "whatever": "hunter4" }, "metadata": { "version": 1 } }))
        }
        "secret/data/deleted" => {
            let body =
                json!({ "data": { "data": null, "metadata": { "deletion_time": "2026-01-01T00:00:00Z" } } });
            (StatusCode::NOT_FOUND, Json(body))
        }
        "old/kv/app" => fine(&json!({ "token": "hunter5" })),
        _ => (StatusCode::NOT_FOUND, Json(json!({ "errors": [] }))),
    }
}

async fn vault() -> (String, Vault) {
    let vault = Vault::default();
    let router = Router::new()
        .route("/v1/auth/approle/login", post(login))
        .route("/v1/{*path}", get(read))
        .with_state(vault.clone());
    (format!("http://{}", serve(router).await), vault)
}

#[tokio::test]
async fn j11_vault_secrets_of_both_kinds_are_read() {
    let (address, _vault) = vault().await;
    let safe = safe(&[("VAULT_ADDR", &address), ("VAULT_TOKEN", "root"), ("VAULT_NAMESPACE", "team")]);
    assert_eq!(found(&safe, "vault://secret/app#token").await, "hunter3");
    assert_eq!(found(&safe, "vault://secret/data/app#port").await, "25");
    assert_eq!(found(&safe, "vault:///secret/a b#token").await, "hunter3");
    assert_eq!(found(&safe, "vault://secret/one").await, "hunter4", "a single member need not be named");
    assert_eq!(found(&safe, "vault://old/kv/app#token").await, "hunter5");
    assert_eq!(found(&safe, "vault://hidden/app").await, "plain", "without the right to ask for mounts");
    for (reference, words) in [
        ("vault://secret/none#a", "no secret at secret/none"),
        ("vault://secret/app#none", "no member none"),
        ("vault://secret/deleted#a", "no secret at secret/deleted"),
    ] {
        let text = assert_refused(safe.secret(reference).await);
        assert!(text.contains(words) && !text.contains("hunter"), "{text}");
    }
    for wrong in ["vault://secret/app", "vault://secret/../sys#a", "vault:///#a"] {
        let error = safe.secret(wrong).await.unwrap_err();
        assert!(matches!(error, Error::Reference(_)), "{wrong}: {error:?}");
    }
    let error = safe.secret("vault://sealed/app#a").await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("503")), "{error:?}");
}

#[tokio::test]
async fn j11_vault_logs_in_with_an_approle_and_replaces_a_revoked_token() {
    let (address, vault) = vault().await;
    let login = [
        ("VAULT_ADDR", address.as_str()),
        ("VAULT_NAMESPACE", "team"),
        ("VAULT_ROLE_ID", "role"),
        ("VAULT_SECRET_ID", "hunter2"),
    ];
    let good = safe(&login);
    assert_eq!(found(&good, "vault://secret/app#token").await, "hunter3");
    assert_eq!(found(&good, "vault://old/kv/app#token").await, "hunter5");
    assert_eq!(vault.logins.load(SeqCst), 1, "the token is kept");
    vault.revoked.store(1, SeqCst);
    assert_eq!(found(&good, "vault://secret/one").await, "hunter4");
    assert_eq!(vault.logins.load(SeqCst), 2);
    let mut wrong = login;
    wrong[3].1 = "hunter9";
    let text = assert_refused(safe(&wrong).secret("vault://secret/app#token").await);
    assert!(text.contains("invalid role or secret ID") && !text.contains("hunter"), "{text}");
}

#[tokio::test]
async fn j11_an_unavailable_or_unconfigured_vault_is_reported() {
    for variables in [
        &[][..],
        &[("VAULT_ADDR", "http://127.0.0.1:9")],
        &[("VAULT_ADDR", "http://127.0.0.1:9"), ("VAULT_TOKEN", "hunter2")],
    ] {
        let error = safe(variables).secret("vault://secret/app#a").await.unwrap_err();
        assert!(matches!(&error, Error::Unavailable(text) if !text.contains("hunter2")), "{error:?}");
    }
}
