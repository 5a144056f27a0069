use bytes::Bytes;

use super::*;

fn mail(to: &[&str]) -> Mail {
    Mail {
        from: "box@example.org".to_owned(),
        to: to.iter().map(|&to| to.to_owned()).collect(),
        message: Bytes::new(),
        rest: None,
        message_id: "m-1@example.org".to_owned(),
        utf8: false,
        settled: Vec::new(),
        metadata: Vec::new(),
    }
}

fn parsed(to: &[&str], cc: &[&str]) -> ParsedMessage {
    let list = |some: &[&str]| {
        some.iter()
            .map(|&email| ParsedMailbox { name: Some("N".to_owned()), email: email.to_owned() })
            .collect()
    };
    ParsedMessage { to: list(to), cc: list(cc), ..ParsedMessage::default() }
}

fn shape(groups: &[RecipientGroup]) -> Vec<[Vec<&str>; 3]> {
    groups
        .iter()
        .map(|part| {
            [&part.to, &part.cc, &part.bcc]
                .map(|list| list.iter().map(|mailbox| mailbox.email.as_str()).collect())
        })
        .collect()
}

#[test]
fn the_header_decides_visibility_and_the_envelope_delivery() {
    let groups = split_visible(&mail(&["a@x", "c@x", "h@x"]), &parsed(&["A@x", "served@x"], &["c@x"]), 50);
    assert_eq!(shape(&groups), [[vec!["a@x"], vec!["c@x"], vec!["h@x"]]]);
    assert_eq!(groups[0].to[0].name.as_deref(), Some("N"));
}

#[test]
fn a_hidden_recipient_is_never_shown_to_others() {
    let groups = split_visible(&mail(&["h@x", "i@x"]), &parsed(&["gone@x"], &[]), 50);
    assert_eq!(shape(&groups), [[vec!["h@x"], vec![], vec![]], [vec!["i@x"], vec![], vec![]]]);
}

#[test]
fn copies_alone_are_seen_as_well() {
    let groups = split_visible(&mail(&["c@x", "h@x"]), &parsed(&[], &["c@x"]), 50);
    assert_eq!(shape(&groups), [[vec!["c@x"], vec![], vec!["h@x"]]]);
}

#[test]
fn no_request_has_more_than_the_provider_takes() {
    let groups =
        split_visible(&mail(&["a@x", "b@x", "c@x", "h@x", "i@x"]), &parsed(&["a@x", "b@x", "c@x"], &[]), 2);
    assert_eq!(
        shape(&groups),
        [
            [vec!["a@x", "b@x"], vec![], vec![]],
            [vec!["c@x"], vec![], vec!["h@x"]],
            [vec!["i@x"], vec![], vec![]]
        ]
    );
    assert_eq!(split_envelope(&mail(&["a@x", "b@x", "c@x"]), 2).len(), 2);
}
