use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::*;

/// Scrubs a text with a register that contains this secret.
fn cleaned(secret: &str, text: &str) -> String {
    let mut register = Register::default();
    for part in forms::secrets_in(secret) {
        register.add(forms::of(&part));
    }
    register.scrub(text).into_owned()
}

const KEY: &str = "SG.a/b+c=d \"e\"é-7Zk2";

#[test]
fn every_form_of_a_secret_is_removed() {
    let url = KEY.bytes().fold(String::new(), |url, byte| url + &format!("%{byte:02X}"));
    assert_eq!(cleaned(KEY, &format!("401 the key {KEY} is wrong")), "401 the key [redacted] is wrong");
    let json = serde_json::to_string(&format!("key {KEY} is wrong")).unwrap();
    assert_eq!(cleaned(KEY, &json), "\"key [redacted] is wrong\"");
    for before in ["", "u", "us", "user:", "api:x:"] {
        for engine in [&STANDARD, &URL_SAFE] {
            let echoed = engine.encode(format!("{before}{KEY}"));
            let clean = cleaned(KEY, &format!("Basic {echoed}!"));
            assert!(clean.contains(REDACTED) && clean.len() < 40, "{before}: {clean}");
        }
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let upper: String = KEY
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let form = upper.replace("%20", "+");
    for text in [&upper, &upper.to_lowercase().replace("sg.", "SG.").replace("zk2", "Zk2"), &form] {
        assert_eq!(cleaned(KEY, &format!("key={text}&x=1")), "key=[redacted]&x=1");
    }
    assert!(url.len() > KEY.len());
}

/// What other encoders write: PHP, .NET, Go, Gson, Python, HTML, percent in both cases and only for some characters.
#[test]
fn g07_the_escapes_of_every_encoder_are_undone() {
    const SECRET: &str = "tok/en+a=b&c<d>e'f\"g é😀 z7Q";
    for echoed in [
        r#"tok\/en+a=b&c<d>e'f\"g \u00e9\ud83d\ude00 z7Q"#,
        r"tok/en\u002Ba=b\u0026c\u003Cd\u003Ee\u0027f\u0022g \u00E9\uD83D\uDE00 z7Q",
        r#"tok/en\u002ba\u003db\u0026c\u003cd\u003ee\u0027f\"g é😀 z7Q"#,
        r#"tok\\\/en+a=b&c<d>e'f\\\"g \\u00e9\\ud83d\\ude00 z7Q"#,
        "tok&#x2F;en&#43;a&#x3d;b&amp;c&lt;d&gt;e&#39;f&quot;g é😀 z7Q",
        "tok%2fen%2Ba=b%26c%3Cd%3ee'f%22g%20%C3%A9%f0%9f%98%80%20z7Q",
        "tok%2Fen%2Ba%3Db%26c%3Cd%3Ee%27f%22g+%C3%A9%F0%9F%98%80+z7Q",
        r"tok%252Fen%252Ba%253Db%2526c%253Cd%253Ee%2527f%2522g%2520%25C3%25A9%25F0%259F%2598%2580%2520z7Q",
    ] {
        let text = format!("{{\"Ü\":\"no {echoed} is 50% \\u0041\"}}");
        assert_eq!(cleaned(SECRET, &text), "{\"Ü\":\"no [redacted] is 50% \\u0041\"}", "{echoed}");
        for cut in (30..echoed.len()).filter(|&at| echoed.is_char_boundary(at)) {
            let clean = cleaned(SECRET, &format!("no {}… (1 KB)", &echoed[..cut]));
            assert!(
                clean.starts_with("no [redacted]") && !clean.contains("z7"),
                "{} {clean}",
                &echoed[..cut]
            );
        }
    }
    let basic = STANDARD.encode(format!("api:??>>{SECRET}")).replace('/', "\\/").replace('+', "\\u002B");
    let clean = cleaned(SECRET, &basic);
    assert!(clean.contains(REDACTED) && clean.len() < 40, "{clean}");
}

/// A secret that looks like an escape is still found, verbatim and escaped.
#[test]
fn g07_a_secret_that_contains_an_escape_is_removed() {
    for secret in [r"ab%41cd\nef&amp;gh", r"C:\new\u0041z%zz", "%25%25%25%25"] {
        let json = serde_json::to_string(secret).unwrap();
        let percent = secret.bytes().fold(String::new(), |text, byte| text + &format!("%{byte:02x}"));
        for echoed in [secret, json.trim_matches('"'), &percent] {
            assert_eq!(cleaned(secret, &format!("<{echoed}>")), "<[redacted]>", "{echoed}");
        }
    }
}

/// Nothing but secrets is changed, and no text makes the search fail.
#[test]
fn g07_any_text_is_searched() {
    let pieces = [
        "abc", "+", "def", "/", "\\u00", "2", "B", "%2", "f", "&#4", "3;", "\\", "\\/", "Ü", "…", "\\ud83d",
        "&",
    ];
    let mut state = 1_u64;
    let mut removed = 0;
    for _ in 0..50_000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]);
        }
        let clean = cleaned("abc+def", &text);
        assert!(clean.contains(REDACTED) || clean == text, "{text:?} is now {clean:?}");
        removed += usize::from(clean != text);
    }
    assert!(removed > 10, "{removed}");
}

#[test]
fn a_secret_that_was_cut_off_is_removed_too() {
    assert_eq!(cleaned(KEY, "the key SG.a/b+c="), "the key [redacted]");
    assert_eq!(cleaned(KEY, "the key SG.a/b+c=… (1 KB)"), "the key [redacted]… (1 KB)");
    assert_eq!(cleaned(KEY, "keys start with SG.a/b"), "keys start with SG.a/b");
}

#[test]
fn the_secrets_of_urls_are_found_in_them() {
    for (url, secret) in [
        ("postgres://app:hunter%2Ftwo@db/app", "hunter/two"),
        ("postgres://app:hunter%2Ftwo@db/app", "hunter%2Ftwo"),
        ("postgres://app:hunter/two@db/app", "hunter/two"),
        ("nats://u:hunter-two@h1:4222,h2:4222", "hunter-two"),
        ("nats://hunter-two@h1", "hunter-two"),
        ("sendgrid://?key=hunter-two", "hunter-two"),
        ("ses://AKIA:hunter-two@eu-central-1", "hunter-two"),
    ] {
        assert_eq!(cleaned(url, &format!("no: {secret}.")), "no: [redacted].", "{url}");
    }
    let url = "postgres://postrider@database.example/postrider?sslmode=require";
    assert_eq!(cleaned(url, "postrider at database.example"), "postrider at database.example");
    assert_eq!(cleaned("whsec_aHVudGVyLXR3bw", "aHVudGVyLXR3bw"), REDACTED);
}

#[test]
fn short_secrets_and_other_texts_stay_as_they_are() {
    register("guest");
    assert_eq!(scrub("be our guest"), "be our guest");
    register("a-secret-of-this-test");
    register("a-secret-of-this-test");
    assert_eq!(scrub("ÄÖÜ a-secret-of-this-tesT"), "ÄÖÜ a-secret-of-this-tesT");
    assert_eq!(scrubbed("ÄÖÜ a-secret-of-this-test ß".to_owned()), "ÄÖÜ [redacted] ß");
}

#[test]
fn the_oldest_secrets_are_forgotten_when_there_are_many() {
    let mut register = Register::default();
    for number in 0..=KEPT {
        register.add(forms::of(&format!("secret number {number:08}")));
    }
    assert_eq!(register.scrub("secret number 00000000"), "secret number 00000000");
    assert_eq!(register.scrub("secret number 00000001"), REDACTED);
    assert_eq!(register.order.len(), KEPT);
}

#[test]
fn g07_secrets_of_the_settings_are_never_forgotten() {
    let mut register = Register::default();
    let settings = ["the relay's password", "the provider's key"];
    register.add(forms::of(settings[1]));
    for secret in &settings {
        register.keep(secret, forms::of(secret));
    }
    for number in 0..=KEPT {
        register.add(forms::of(&format!("secret number {number:08}")));
    }
    for secret in settings {
        assert_eq!(register.scrub(secret), REDACTED);
    }
    assert_eq!(register.order.len(), KEPT);
}

#[test]
fn a_url_without_a_host_is_no_secret() {
    for place in
        ["file:outbox", "sqlite:shop.db", "reliable:a,b", "webhook:", "webhook://", "sqlite://shop.db"]
    {
        let text = format!("the settings name {place}, which is not there");
        assert_eq!(cleaned(place, &text), text);
    }
}
