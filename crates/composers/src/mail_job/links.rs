//! URLs in a mail that point to its subscription, made from patterns in the lane's settings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are percent-encoded: all but the unreserved ones.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URL with placeholders: `https://seats.example/unsubscribe?token={token}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Subscription,
    Token,
}

/// The values of the placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Placeholders<'a> {
    pub subscription: i64,
    /// The subscription's secret token; without one, links that need it are left out.
    pub token: Option<&'a str>,
}

impl UrlPattern {
    /// Parses a pattern. The error describes what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with("https://") && !text.starts_with("http://") {
            return Err("must start with https:// (or http://)".to_owned());
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let Some(end) = rest[at..].find('}').map(|end| at + end) else {
                return Err("has a { that is never closed".to_owned());
            };
            pieces.push(Piece::Text(rest[..at].to_owned()));
            pieces.push(match &rest[at + 1..end] {
                "subscription_id" => Piece::Subscription,
                "token" => Piece::Token,
                other => {
                    return Err(format!(
                        "unknown placeholder {{{other}}}: known are {{subscription_id}} and {{token}}"
                    ));
                }
            });
            rest = &rest[end + 1..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Whether the pattern contains `{token}`.
    pub fn needs_token(&self) -> bool {
        self.0.contains(&Piece::Token)
    }

    /// Returns the URL, or `None` if the row lacks the value of a placeholder.
    pub fn fill(&self, with: &Placeholders<'_>) -> Option<String> {
        let mut url = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => url.push_str(text),
                Piece::Subscription => url.push_str(&with.subscription.to_string()),
                Piece::Token => url.extend(utf8_percent_encode(with.token?, ESCAPED)),
            }
        }
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_escaped() {
        let pattern = UrlPattern::parse("https://x.example/s/{subscription_id}?t={token}").unwrap();
        let with = |token| Placeholders { subscription: 5, token };
        assert_eq!(pattern.fill(&with(Some("a&b c"))).unwrap(), "https://x.example/s/5?t=a%26b%20c");
        assert_eq!(pattern.fill(&with(None)), None);
    }

    #[test]
    fn a_wrong_pattern_says_what_is_wrong() {
        assert!(UrlPattern::parse("x.example").unwrap_err().contains("https://"));
        assert!(UrlPattern::parse("https://x/{user}").unwrap_err().contains("{user}"));
        assert!(UrlPattern::parse("https://x/{token").unwrap_err().contains("never closed"));
    }
}
