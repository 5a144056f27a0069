use super::*;

fn mistakes(query: &str) -> String {
    let found = url_mistakes(&format!("postgres://app:hunter2@db/shop?{query}"));
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn an_option_that_the_driver_would_ignore_is_a_mistake() {
    assert_eq!(mistakes("sslmode=verify-full&sslrootcert=ca.pem&options=-c%20search_path=app"), "");
    assert_eq!(mistakes("options[search_path]=app&host=/run/postgresql"), "");
    assert_eq!(
        mistakes("ssl_mode=verify-full"),
        "ssl_mode is not an option of this database; did you mean `sslmode`?"
    );
    assert!(mistakes("connect_timeout=1").starts_with("connect_timeout is not an option"));
    assert_eq!(mistakes("sslmode=verify"), "sslmode has an invalid value");
    assert!(url_mistakes("postgres://app:hunter2@db:port/x")[0].what.contains("can't be read"));
}

#[test]
fn a_setting_of_our_sessions_cannot_be_set() {
    assert!(mistakes("application_name=shop").contains("always named postrider"));
    for set in
        ["options=-c%20TimeZone=Asia/Tokyo", "options=--timezone=Asia/Tokyo", "options[TimeZone]=Asia/Tokyo"]
    {
        assert!(mistakes(set).contains("cannot set timezone"), "{set}: {}", mistakes(set));
    }
    assert!(mistakes("options=-c%20a=1%20-cstatement_timeout=0").contains("cannot set statement_timeout"));
}
