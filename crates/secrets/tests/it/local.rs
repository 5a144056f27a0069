//! References that are resolved without a network request.

use std::time::Duration;

use postrider_seams::Secrets as _;
use postrider_seams::secret::Error;
use postrider_secrets::{Environment, Keyring, SecretResolver};

use crate::{assert_refused, found, safe};

#[tokio::test]
async fn j11_variables_and_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("login"), "{\"user\": \"shop\", \"password\": \"hunter2\"}\n").unwrap();
    std::fs::write(folder.path().join("empty"), "\n").unwrap();
    let variables = [("TOKEN".to_owned(), "hunter2".to_owned()), ("NOTHING".to_owned(), String::new())];
    let safe = SecretResolver::new(Environment::new(variables, folder.path()));
    assert_eq!(found(&safe, "env://TOKEN").await, "hunter2");
    assert_eq!(found(&safe, "file://login#password").await, "hunter2");
    let whole = format!("file://{}", folder.path().join("login").display());
    assert!(found(&safe, &whole).await.ends_with('}'), "the last line end is gone");
    for missing in [
        "env://NOTHING",
        "env://OTHER",
        "file://nowhere",
        "file://empty",
        "env://TOKEN#a",
        "file://login#none",
    ] {
        let text = assert_refused(safe.secret(missing).await);
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn j11_an_encrypted_secret_decrypts_with_its_key() {
    let (old, new) = (Keyring::generate_key("old"), Keyring::generate_key("new"));
    let encrypted = Keyring::parse(old.reveal()).unwrap().encrypt("hunter2").unwrap();
    let both = format!("{} {}", new.reveal(), old.reveal());
    assert_eq!(found(&safe(&[("POSTRIDER_SECRET_KEY", &both)]), &encrypted).await, "hunter2");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &both).unwrap();
    let named = file.path().display().to_string();
    assert_eq!(found(&safe(&[("POSTRIDER_SECRET_KEY_FILE", &named)]), &encrypted).await, "hunter2");
    let key = old.reveal().split_once(':').unwrap().1;
    assert_eq!(postrider_seams::scrub::scrub(&format!("the key {key}")), "the key [redacted]", "(G7)");
    for variables in
        [&[][..], &[("POSTRIDER_SECRET_KEY", new.reveal())], &[("POSTRIDER_SECRET_KEY", "nonsense")]]
    {
        let error = safe(variables).secret(&encrypted).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
}

#[tokio::test]
async fn j11_a_change_is_seen_when_the_cache_forgets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "one").unwrap();
    let environment = Environment::new([], folder.path());
    let (quick, slow) =
        (SecretResolver::with_ttl(environment.clone(), Duration::ZERO), SecretResolver::new(environment));
    assert_eq!(
        (found(&quick, "file://token").await, found(&slow, "file://token").await),
        ("one".into(), "one".into())
    );
    std::fs::write(&file, "two").unwrap();
    assert_eq!(
        (found(&quick, "file://token").await, found(&slow, "file://token").await),
        ("two".into(), "one".into())
    );
}
