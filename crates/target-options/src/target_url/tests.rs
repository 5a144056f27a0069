use super::*;

fn mistakes(text: &str) -> Vec<String> {
    TargetUrl::parse(text, &[], 9).options.finish().iter().map(ToString::to_string).collect()
}

#[test]
fn a_url_has_many_hosts_a_login_a_path_and_options() {
    let text = "kafka://me%40x:p%3Aw%2F%40@one:1,two,[::1]:3,[fe80::1]/a%2Fb?size=5&tls=on";
    let mut address = TargetUrl::parse(text, &[], 9);
    assert_eq!((address.scheme.as_str(), address.user.as_deref()), ("kafka", Some("me@x")));
    assert_eq!(address.password, Some(Secret::new("p:w/@")));
    let hosts: Vec<String> = address.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["one:1", "two:9", "[::1]:3", "[fe80::1]:9"]);
    assert_eq!(address.path.as_deref(), Some("a/b"));
    assert_eq!(address.options.text("size").as_deref(), Some("5"));
    assert_eq!(address.options.text("tls").as_deref(), Some("on"));
    assert_eq!(address.options.finish(), []);
}

#[test]
fn options_next_to_the_url_win() {
    let overrides = [("password".to_owned(), "new".to_owned()), ("size".to_owned(), "2".to_owned())];
    let mut address = TargetUrl::parse("kafka://me:old@one?size=1", &overrides, 9);
    assert_eq!((address.user.as_deref(), address.password), (Some("me"), Some(Secret::new("new"))));
    assert_eq!(address.options.text("size").as_deref(), Some("2"));
}

#[test]
fn every_mistake_is_reported_and_no_secret() {
    for text in ["one:1", "kafka://me:hunter2@one:x,two:99999?what=1", "kafka://a:hunter2%ff@h"] {
        let mistakes = mistakes(text).join("; ");
        assert!(!mistakes.is_empty() && !mistakes.contains("hunter2"), "{mistakes}");
    }
    assert_eq!(mistakes("kafka://a:b@one:x,two:99999?what=1").len(), 3);
    let shown = format!("{:?}", TargetUrl::parse("kafka://me:hunter2@one?password=hunter3", &[], 9));
    assert!(!shown.contains("hunter"), "{shown}");
}
