//! AWS Secrets Manager and SSM, against Ministack.

use std::time::Duration;

use postrider_http::{Client, ClientSettings, Guard, HeaderMap, HttpRequest, Method, RequestLimits, Target};
use postrider_seams::Secrets as _;
use postrider_seams::secret::Error;
use postrider_services::Ministack;

use crate::{assert_refused, found, safe};

/// Stores a secret or parameter, as an operator would.
async fn put(endpoint: &str, operation: &str, body: serde_json::Value) -> serde_json::Value {
    let client =
        Client::new(&ClientSettings { guard: Guard::allow_all(), ..ClientSettings::default() }).unwrap();
    let service = if operation.starts_with("secrets") { "secretsmanager" } else { "ssm" };
    let mut headers = HeaderMap::new();
    headers.insert("x-amz-target", operation.parse().unwrap());
    headers.insert("content-type", "application/x-amz-json-1.1".parse().unwrap());
    let scope = format!(
        "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    );
    headers.insert("authorization", scope.parse().unwrap());
    let target = Target::parse(endpoint).unwrap();
    let call = HttpRequest { method: Method::POST, target, headers, body: body.to_string().into() };
    let answer = client.send(&call, RequestLimits::within(Duration::from_secs(30), 100_000)).await.unwrap();
    assert!(answer.is_success(), "{answer:?}");
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn j11_aws_keeps_secrets_and_parameters() {
    let ministack = tokio::task::spawn_blocking(Ministack::start).await.unwrap().unwrap();
    let endpoint = ministack.endpoint();
    let made = put(
        &endpoint,
        "secretsmanager.CreateSecret",
        serde_json::json!({ "Name": "acme-token", "SecretString": "hunter2", "ClientRequestToken": "00000000-0000-0000-0000-000000000001" }),
    )
    .await;
    let arn = made["ARN"].as_str().unwrap().to_owned();
    let login = serde_json::json!({ "user": "shop", "password": "hunter3" }).to_string();
    put(&endpoint, "secretsmanager.CreateSecret", serde_json::json!({ "Name": "acme/login", "SecretString": login, "ClientRequestToken": "00000000-0000-0000-0000-000000000002" })).await;
    put(
        &endpoint,
        "AmazonSSM.PutParameter",
        serde_json::json!({ "Name": "/acme/token", "Value": "hunter4", "Type": "SecureString" }),
    )
    .await;
    let safe = safe(&[
        ("AWS_ENDPOINT_URL", &endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ]);
    assert_eq!(found(&safe, "aws-secretsmanager://acme-token").await, "hunter2");
    assert_eq!(found(&safe, &format!("aws-secretsmanager://{arn}")).await, "hunter2");
    assert_eq!(found(&safe, "aws-secretsmanager://acme/login#password").await, "hunter3");
    assert_eq!(found(&safe, "aws-ssm:///acme/token").await, "hunter4");
    let missing = assert_refused(safe.secret("aws-secretsmanager://nobody").await);
    assert!(missing.contains("ResourceNotFoundException"), "{missing}");
    let missing = assert_refused(safe.secret("aws-ssm://nobody").await);
    assert!(missing.contains("ParameterNotFound"), "{missing}");
    drop(ministack);
    let error = safe.secret("aws-secretsmanager://acme/login").await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
}
