use super::*;

fn with(field: &str) -> Result<Vec<Attachment>, Error> {
    parse(&format!(
        r#"[{{"filename":"a.bin","content":"AAEC"}},{{"filename":"b.bin","content":"AAEC",{field}}}]"#
    ))
}

#[test]
fn attachments_have_defaults_and_read_every_member() {
    let found = parse(
        r#"[{"filename":"a.bin","content":"AAEC"},
            {"filename":"b.txt","content_type":"Text/Plain; charset=\"utf-8\"","content":"aGk=","inline":true},
            {"filename":"c.png","content_type":"image/png","content":"iVBO\r\nRw==","cid":"<c@x>"}]"#,
    )
    .unwrap();
    assert_eq!(found[0].kind.essence, "application/octet-stream");
    assert_eq!((found[0].content.as_slice(), found[0].inline, &found[0].cid), (&[0, 1, 2][..], false, &None));
    assert_eq!(found[1].kind.essence, "text/plain");
    assert_eq!(found[1].kind.parameters, [("charset".to_owned(), "utf-8".to_owned())]);
    assert!(found[1].inline);
    assert_eq!((found[2].content.as_slice(), found[2].inline), (&b"\x89PNG"[..], true));
    assert_eq!(found[2].cid.as_deref(), Some("c@x"));
}

#[test]
fn each_mistake_names_its_attachment() {
    assert_eq!(parse(r#"[{"filename":"a","content":"%%%"}]"#), Err(Error::Base64 { n: 1 }));
    for name in ["", "a/b", "..\\\\b", "a\\nb", "a\\u0000"] {
        let json = format!(r#"[{{"filename":"{name}","content":""}}]"#);
        assert!(matches!(parse(&json), Err(Error::Name { n: 1, .. })), "{json}");
    }
    for kind in ["pdf", "a/b/c", "text/plain; boundary=x", "text/plain\\r\\nX: y", "a b/c", "text/plain; x"] {
        let result = with(&format!(r#""content_type":"{kind}""#));
        assert!(matches!(result, Err(Error::Type { n: 2, .. })), "{kind}: {result:?}");
    }
    for kind in ["multipart/mixed", "message/rfc822"] {
        let result = with(&format!(r#""content_type":"{kind}""#));
        assert!(matches!(result, Err(Error::Structured { n: 2, .. })), "{kind}");
    }
    assert!(matches!(with(r#""cid":"a>b""#), Err(Error::Cid { n: 2, .. })));
}

#[test]
fn invalid_json_is_reported() {
    assert!(matches!(parse("[{"), Err(Error::Json(_))));
    assert!(matches!(parse(r#"{"filename":"a","content":""}"#), Err(Error::Json(_))));
    assert!(matches!(parse(r#"[{"filename":"a"}]"#), Err(Error::Json(_))));
    assert!(matches!(parse(r#"[{"filename":"a","content":"","path":"/etc/passwd"}]"#), Err(Error::Json(_))));
}

#[test]
fn more_attachments_than_the_limit_are_refused() {
    let many = vec![r#"{"filename":"a","content":""}"#; 101].join(",");
    assert_eq!(parse(&format!("[{many}]")), Err(Error::Many));
}
