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
        served: Vec::new(),
        metadata: Vec::new(),
    }
}

fn draft(to: &[&str], cc: &[&str]) -> Draft {
    let list = |some: &[&str]| {
        some.iter().map(|&email| Mailbox { name: Some("N".to_owned()), email: email.to_owned() }).collect()
    };
    Draft { to: list(to), cc: list(cc), ..Draft::default() }
}

fn shape(parts: &[Part]) -> Vec<[Vec<&str>; 3]> {
    parts
        .iter()
        .map(|part| {
            [&part.to, &part.cc, &part.bcc]
                .map(|list| list.iter().map(|mailbox| mailbox.email.as_str()).collect())
        })
        .collect()
}

#[test]
fn the_header_says_who_is_seen_and_the_envelope_who_gets_it() {
    let parts = seen(&mail(&["a@x", "c@x", "h@x"]), &draft(&["A@x", "served@x"], &["c@x"]), 50);
    assert_eq!(shape(&parts), [[vec!["a@x"], vec!["c@x"], vec!["h@x"]]]);
    assert_eq!(parts[0].to[0].name.as_deref(), Some("N"));
}

#[test]
fn a_hidden_recipient_is_never_shown_to_others() {
    let parts = seen(&mail(&["h@x", "i@x"]), &draft(&["gone@x"], &[]), 50);
    assert_eq!(shape(&parts), [[vec!["h@x"], vec![], vec![]], [vec!["i@x"], vec![], vec![]]]);
}

#[test]
fn copies_alone_are_seen_as_well() {
    let parts = seen(&mail(&["c@x", "h@x"]), &draft(&[], &["c@x"]), 50);
    assert_eq!(shape(&parts), [[vec!["c@x"], vec![], vec!["h@x"]]]);
}

#[test]
fn no_request_has_more_than_the_provider_takes() {
    let parts = seen(&mail(&["a@x", "b@x", "c@x", "h@x", "i@x"]), &draft(&["a@x", "b@x", "c@x"], &[]), 2);
    assert_eq!(
        shape(&parts),
        [
            [vec!["a@x", "b@x"], vec![], vec![]],
            [vec!["c@x"], vec![], vec!["h@x"]],
            [vec!["i@x"], vec![], vec![]]
        ]
    );
    assert_eq!(whole(&mail(&["a@x", "b@x", "c@x"]), 2).len(), 2);
}
