//! The addresses in a mail that lead back to its subscription, made from a pattern of the lane's settings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Unreserved characters stay as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URL with places in it: `https://seats.example/unsubscribe?token={token}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Subscription,
    Token,
}

/// What fills the places.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    pub subscription: i64,
    /// The subscription's own secret; rows without one have no link that needs it.
    pub token: Option<&'a str>,
}

impl Pattern {
    /// The error says what would be right.
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
                        "{{{other}}} is no place: there are {{subscription_id}} and {{token}}"
                    ));
                }
            });
            rest = &rest[end + 1..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    pub fn needs_token(&self) -> bool {
        self.0.contains(&Piece::Token)
    }

    /// `None` where the row lacks what a place needs.
    pub fn fill(&self, with: &Filling<'_>) -> Option<String> {
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
        let pattern = Pattern::parse("https://x.example/s/{subscription_id}?t={token}").unwrap();
        let with = |token| Filling { subscription: 5, token };
        assert_eq!(pattern.fill(&with(Some("a&b c"))).unwrap(), "https://x.example/s/5?t=a%26b%20c");
        assert_eq!(pattern.fill(&with(None)), None);
    }

    #[test]
    fn a_wrong_pattern_says_what_is_wrong() {
        assert!(Pattern::parse("x.example").unwrap_err().contains("https://"));
        assert!(Pattern::parse("https://x/{user}").unwrap_err().contains("{user}"));
        assert!(Pattern::parse("https://x/{token").unwrap_err().contains("never closed"));
    }
}
