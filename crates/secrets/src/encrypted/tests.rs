use proptest::prelude::*;

use super::*;

fn ring(ids: &[&str]) -> (Keyring, Vec<Secret>) {
    let keys: Vec<Secret> = ids.iter().map(|id| Keyring::generate_key(id)).collect();
    (reading(&keys), keys)
}

fn reading(keys: &[Secret]) -> Keyring {
    let text: Vec<&str> = keys.iter().map(Secret::reveal).collect();
    Keyring::parse(&text.join("\n")).unwrap()
}

fn path(reference: &str) -> &str {
    Scheme::Encrypted.strip(reference).unwrap()
}

#[test]
fn j11_an_encrypted_secret_decrypts_and_reveals_nothing() {
    let (ring, _) = ring(&["k1"]);
    let encrypted = ring.encrypt("hunter2").unwrap();
    assert!(!encrypted.contains("hunter2"));
    assert_ne!(encrypted, ring.encrypt("hunter2").unwrap(), "the same secret never looks the same");
    assert_eq!(ring.decrypt(path(&encrypted)).unwrap().reveal(), "hunter2");
}

#[test]
fn j11_any_change_is_noticed() {
    let (ring, _) = ring(&["k1"]);
    let encrypted = URL_SAFE_NO_PAD.decode(path(&ring.encrypt("hunter2").unwrap())).unwrap();
    for at in 0..encrypted.len() {
        let mut changed = encrypted.clone();
        changed[at] ^= 1;
        assert!(ring.decrypt(&URL_SAFE_NO_PAD.encode(&changed)).is_err(), "byte {at}");
        assert!(ring.decrypt(&URL_SAFE_NO_PAD.encode(&encrypted[..at])).is_err(), "cut at {at}");
    }
}

#[test]
fn j11_keys_rotate() {
    let (old, mut keys) = ring(&["2025"]);
    let encrypted = old.encrypt("hunter2").unwrap();
    keys.insert(0, Keyring::generate_key("2026"));
    let both = reading(&keys);
    assert_eq!(both.decrypt(path(&encrypted)).unwrap().reveal(), "hunter2");
    let reencrypted = both.reencrypt(&encrypted).unwrap().unwrap();
    assert_eq!(both.reencrypt(&reencrypted).unwrap(), None, "it is under the new key already");
    let new = reading(&keys[..1]);
    assert_eq!(new.decrypt(path(&reencrypted)).unwrap().reveal(), "hunter2");
    let error = new.decrypt(path(&encrypted)).unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("2025")), "{error}");
    let (other, _) = ring(&["2025"]);
    assert!(matches!(other.decrypt(path(&encrypted)), Err(Error::Refused(_))), "another key of the same id");
}

#[test]
fn keys_are_parsed_and_errors_never_show_them() {
    let key = Keyring::generate_key("a");
    let text = format!("# ours\n{}, {}\n", key.reveal(), Keyring::generate_key("b").reveal());
    assert_eq!(Keyring::parse(&text).unwrap().keys.len(), 2);
    assert_eq!(Keyring::parse(" \n# none\n").err(), Some(KeyError::None));
    for wrong in ["hunter2", "a:hunter2", "a:", ":aGVsbG8=", "a b:c"] {
        let error = Keyring::parse(wrong).err().unwrap().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let twice = format!("{} {}", key.reveal(), key.reveal());
    assert_eq!(Keyring::parse(&twice).err(), Some(KeyError::DuplicateId("a".to_owned())));
}

proptest! {
    #[test]
    fn j11_invalid_text_is_an_error_and_no_panic(text in "\\PC*|[A-Za-z0-9_-]{0,80}") {
        let (ring, _) = ring(&["k"]);
        prop_assert!(ring.decrypt(&text).is_err());
    }

    #[test]
    fn j11_every_secret_comes_back(secret in "\\PC{0,200}") {
        let (ring, _) = ring(&["k"]);
        let encrypted = ring.encrypt(&secret).unwrap();
        let decrypted = ring.decrypt(path(&encrypted)).unwrap();
        prop_assert_eq!(decrypted.reveal(), secret.as_str());
    }
}
