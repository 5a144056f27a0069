//! Google Secret Manager, against a fake server that checks what Google checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use postrider_seams::Secrets as _;
use postrider_seams::secret::Error;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::{assert_refused, found, safe, serve};

/// A 2048-bit key generated for this test only.
const KEY: &str = include_str!("gcp_key.pem");

#[derive(Clone, Default)]
struct Google {
    tokens: Arc<AtomicUsize>,
    public: Arc<Vec<u8>>,
}

async fn metadata(State(google): State<Google>, headers: HeaderMap) -> impl IntoResponse {
    let asked = headers.get("metadata-flavor").is_some_and(|flavor| flavor == "Google");
    google.tokens.fetch_add(1, SeqCst);
    let body = json!({ "access_token": "ya29.good", "expires_in": 3599, "token_type": "Bearer" });
    let status = if asked { StatusCode::OK } else { StatusCode::FORBIDDEN };
    (status, [("metadata-flavor", "Google")], Json(body))
}

/// Exchanges a JWT for an access token (RFC 7523).
async fn token(State(google): State<Google>, body: String) -> impl IntoResponse {
    google.tokens.fetch_add(1, SeqCst);
    let refused = |why: &str| {
        (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant", "error_description": why })))
    };
    let Some(assertion) =
        body.strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=")
    else {
        return refused("no assertion");
    };
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, google.public.as_slice());
    if key.verify(signed.as_bytes(), &signature).is_err() {
        return refused("Invalid JWT Signature.");
    }
    let (head, claims) = signed.split_once('.').unwrap();
    let part =
        |text: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap() };
    let (head, claims) = (part(head), part(claims));
    let right = head["alg"] == "RS256"
        && head["kid"] == "key-1"
        && claims["iss"] == "robot@x.iam.gserviceaccount.com"
        && claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        && claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap() <= 3600;
    if !right {
        return refused("Invalid JWT");
    }
    (StatusCode::OK, Json(json!({ "access_token": "ya29.good", "expires_in": 3599, "token_type": "Bearer" })))
}

async fn access(Path(name): Path<String>, headers: HeaderMap) -> impl IntoResponse {
    let error = |code: u16, message: &str| {
        let body = json!({ "error": { "code": code, "message": message } });
        (StatusCode::from_u16(code).unwrap(), Json(body))
    };
    if headers.get("authorization").is_none_or(|token| token != "Bearer ya29.good") {
        return error(401, "Request had invalid authentication credentials.");
    }
    // The CRC-32C of "hunter2", computed by another implementation.
    let payload =
        |data: &str, sum: &str| json!({ "payload": { "data": STANDARD.encode(data), "dataCrc32c": sum } });
    match name.as_str() {
        "projects/x/secrets/y/versions/latest:access" => {
            (StatusCode::OK, Json(json!({ "payload": { "data": STANDARD.encode("hunter2") } })))
        }
        "projects/x/secrets/y/versions/1:access" => {
            (StatusCode::OK, Json(json!({ "payload": { "data": STANDARD.encode("{\"a\": \"old\"}") } })))
        }
        "projects/x/secrets/damaged/versions/latest:access" => {
            (StatusCode::OK, Json(payload("hunter2", "1")))
        }
        "projects/x/secrets/numbers/versions/latest:access" => {
            (StatusCode::OK, Json(payload("123456789", "3808858755")))
        }
        _ => error(404, "Secret [projects/1/secrets/none] not found or has no versions."),
    }
}

async fn google(public: Vec<u8>) -> (String, Google) {
    let google = Google { tokens: Arc::default(), public: Arc::new(public) };
    let router = Router::new()
        .route("/computeMetadata/v1/instance/service-accounts/default/token", get(metadata))
        .route("/token", post(token))
        .route("/v1/{*name}", get(access))
        .with_state(google.clone());
    (serve(router).await.to_string(), google)
}

#[tokio::test]
async fn j11_google_secrets_are_read_with_the_machines_own_account() {
    let (host, google) = google(Vec::new()).await;
    let endpoint = format!("http://{host}");
    let safe =
        safe(&[("GCE_METADATA_HOST", &host), ("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", &endpoint)]);
    assert_eq!(found(&safe, "gcp-secretmanager://projects/x/secrets/y").await, "hunter2");
    assert_eq!(found(&safe, "gcp-secretmanager://projects/x/secrets/y/versions/1#a").await, "old");
    assert_eq!(found(&safe, "gcp-secretmanager://projects/x/secrets/numbers").await, "123456789");
    let missing = assert_refused(safe.secret("gcp-secretmanager://projects/x/secrets/none").await);
    assert!(missing.contains("not found"), "{missing}");
    let damaged = safe.secret("gcp-secretmanager://projects/x/secrets/damaged").await.unwrap_err();
    assert!(matches!(damaged, Error::Unavailable(_)), "{damaged:?}");
    assert_eq!(google.tokens.load(SeqCst), 1, "the token is kept");
    let error = safe.secret("gcp-secretmanager://y").await.unwrap_err();
    assert!(matches!(error, Error::Reference(_)), "{error:?}");
}

#[tokio::test]
async fn j11_google_secrets_are_read_with_a_key_file() {
    use ring::signature::KeyPair as _;
    use rustls_pki_types::pem::PemObject as _;
    let der = rustls_pki_types::PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let pair = ring::signature::RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    let (host, _google) = google(pair.public_key().as_ref().to_vec()).await;
    let endpoint = format!("http://{host}");
    let key = json!({
        "type": "service_account", "client_email": "robot@x.iam.gserviceaccount.com", "private_key_id": "key-1",
        "private_key": KEY, "token_uri": format!("{endpoint}/token"),
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key.to_string()).unwrap();
    let named = file.path().display().to_string();
    let variables = [
        ("GOOGLE_APPLICATION_CREDENTIALS", named.as_str()),
        ("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", &endpoint),
    ];
    assert_eq!(found(&safe(&variables), "gcp-secretmanager://projects/x/secrets/y").await, "hunter2");
    let (other, _google) = google(Vec::new()).await;
    let mut elsewhere = key.clone();
    elsewhere["token_uri"] = format!("http://{other}/token").into();
    std::fs::write(file.path(), elsewhere.to_string()).unwrap();
    let refused = assert_refused(safe(&variables).secret("gcp-secretmanager://projects/x/secrets/y").await);
    assert!(refused.contains("Invalid JWT Signature"), "{refused}");
}
