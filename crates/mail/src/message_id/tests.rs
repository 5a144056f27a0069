use super::*;

#[test]
fn plain_keys_stay_as_they_are() {
    assert_eq!(message_id("mail_outbox", "42", "example.org"), "mail_outbox.42@example.org");
    let uuid = "6fa459ea-ee8a-3ca4-894e-db77e160355e";
    assert_eq!(message_id("mails", uuid, "example.org"), format!("mails.{uuid}@example.org"));
    assert_eq!(message_id("mails", "order.7", "example.org"), "mails.order.7@example.org");
}

#[test]
fn invalid_characters_are_replaced_and_a_hash_keeps_ids_distinct() {
    let ids = ["a b", "a_b", "a>b", "a\r\nb", "a@b", "a..b", "é", "", &"x".repeat(101), &"x".repeat(102)]
        .map(|key| message_id("mails", key, "example.org"));
    for (index, id) in ids.iter().enumerate() {
        assert!(id.len() < 200 && id.is_ascii(), "{id}");
        let (local, _) = id.split_once('@').unwrap();
        let atom = |atom: &str| {
            !atom.is_empty() && atom.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        assert!(local.split('.').all(atom), "{id}");
        assert!(!ids[index + 1..].contains(id), "{id} twice");
    }
}

#[test]
fn m08_the_same_row_has_the_same_id_forever() {
    assert_eq!(message_id("mails", "a b", "example.org"), "mails.a_b-c8687a08aa5d6ed2044328fa@example.org");
}
