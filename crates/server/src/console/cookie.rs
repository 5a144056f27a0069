//! The session cookie: reads, sets and deletes it.

use axum::http::{HeaderMap, header};

const NAME: &str = "postrider_session";

/// Returns the session token of a request; the first if there are several.
pub fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).map(|(_, value)| value)
}

/// Returns the value that sets the cookie: not readable by scripts, not sent from other sites, no expiry.
pub fn value(token: &str, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{NAME}={token}; Path=/; HttpOnly; SameSite=Strict{secure}")
}

/// Returns the value that deletes the cookie.
pub fn removed() -> String {
    format!("{NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// Whether the browser uses https. This listener speaks plain HTTP; the proxy or the page's origin reports it.
pub fn is_secure(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let forwarded = text("forwarded").to_ascii_lowercase();
    text("x-forwarded-proto").eq_ignore_ascii_case("https")
        || forwarded.contains("proto=https")
        || text("origin").starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_found_among_other_cookies() {
        for (cookies, token) in [
            (vec!["a=1; postrider_session=abc; b=2"], Some("abc")),
            (vec!["a=1", "postrider_session=abc"], Some("abc")),
            (vec!["postrider_session=abc;postrider_session=def"], Some("abc")),
            (vec!["xpostrider_session=abc"], None),
            (vec!["postrider_session"], None),
            (vec![], None),
        ] {
            let mut headers = HeaderMap::new();
            for cookie in &cookies {
                headers.append(header::COOKIE, cookie.parse().expect("a header"));
            }
            assert_eq!(session(&headers), token, "{cookies:?}");
        }
    }
}
