//! Resolving references against services: Ministack for AWS, fake servers on loopback for Google and Vault.

mod aws;
mod gcp;
mod local;
mod vault;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use postrider_seams::Secrets as _;
use postrider_seams::secret::Error;
use postrider_secrets::{Environment, SecretResolver};

/// A resolver with these variables, whose cache time is short enough for the tests to see changes.
fn safe(variables: &[(&str, &str)]) -> SecretResolver {
    let variables = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    SecretResolver::with_ttl(Environment::new(variables, ""), Duration::from_millis(1))
}

async fn found(safe: &SecretResolver, reference: &str) -> String {
    match safe.secret(reference).await {
        Ok(secret) => secret.reveal().to_owned(),
        Err(error) => panic!("{reference}: {error}"),
    }
}

#[track_caller]
fn assert_refused(result: Result<postrider_seams::Secret, Error>) -> String {
    match result {
        Err(Error::Refused(text)) => text,
        other => panic!("{other:?}"),
    }
}

async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
