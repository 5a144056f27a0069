//! SMTP AUTH: PLAIN, LOGIN and XOAUTH2, each as the exact bytes on the wire.
//!
//! Must not: write a secret, or an encoding of it, into a message, not even when the relay repeats it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::config::{Credentials, Mechanism};
use crate::ehlo::Extensions;

/// The client's lines of an authentication: each further line answers a 334.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AuthExchange {
    pub lines: Vec<String>,
}

impl AuthExchange {
    /// Returns the script of the mechanism that the settings ask for; the error names what the relay offers instead.
    pub(crate) fn choose(credentials: &Credentials, extensions: &Extensions) -> Result<Self, String> {
        let (mechanism, offered, name) = match credentials.mechanism {
            Mechanism::Password if !extensions.plain && extensions.login => (Mechanism::Login, true, "LOGIN"),
            Mechanism::Password | Mechanism::Plain => (Mechanism::Plain, extensions.plain, "PLAIN"),
            Mechanism::Login => (Mechanism::Login, extensions.login, "LOGIN"),
            Mechanism::XOAuth2 => (Mechanism::XOAuth2, extensions.xoauth2, "XOAUTH2"),
        };
        if offered {
            return Ok(Self::new(mechanism, &credentials.user, credentials.secret.reveal()));
        }
        let known =
            [(extensions.plain, "PLAIN"), (extensions.login, "LOGIN"), (extensions.xoauth2, "XOAUTH2")];
        let known: Vec<&str> =
            known.into_iter().filter_map(|(offered, name)| offered.then_some(name)).collect();
        let known = if known.is_empty() { "no mechanism that we know".to_owned() } else { known.join(", ") };
        Err(format!("the relay does not offer AUTH {name}; it offers {known}"))
    }

    fn new(mechanism: Mechanism, user: &str, secret: &str) -> Self {
        let lines = match mechanism {
            Mechanism::Password | Mechanism::Plain => {
                vec![format!("AUTH PLAIN {}", STANDARD.encode(format!("\0{user}\0{secret}")))]
            }
            Mechanism::Login => vec!["AUTH LOGIN".to_owned(), STANDARD.encode(user), STANDARD.encode(secret)],
            // A 334 to the token contains the error; an empty line makes the relay send the actual refusal.
            Mechanism::XOAuth2 => {
                let token = STANDARD.encode(format!("user={user}\u{1}auth=Bearer {secret}\u{1}\u{1}"));
                vec![format!("AUTH XOAUTH2 {token}"), String::new()]
            }
        };
        Self { lines }
    }

    /// Whether this text repeats a secret, plain or encoded.
    pub(crate) fn repeats_secret(&self, credentials: &Credentials, text: &str) -> bool {
        let secret = credentials.secret.reveal();
        let sent_tokens = self.lines.iter().filter_map(|line| line.rsplit(' ').next());
        let mut sent_tokens = sent_tokens.filter(|word| word.len() >= 8 && *word != "LOGIN");
        (!secret.is_empty() && text.contains(secret))
            || text.contains(&STANDARD.encode(secret))
            || sent_tokens.any(|word| text.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mechanism: Mechanism) -> Vec<String> {
        AuthExchange::new(mechanism, "tim", "tanstaaftanstaaf").lines
    }

    #[test]
    fn plain_is_the_example_of_rfc_4616() {
        assert_eq!(lines(Mechanism::Plain), ["AUTH PLAIN AHRpbQB0YW5zdGFhZnRhbnN0YWFm"]);
    }

    #[test]
    fn login_sends_user_and_password_on_lines_of_their_own() {
        assert_eq!(lines(Mechanism::Login), ["AUTH LOGIN", "dGlt", "dGFuc3RhYWZ0YW5zdGFhZg=="]);
    }

    #[test]
    fn xoauth2_has_control_a_between_its_parts() {
        let line = &lines(Mechanism::XOAuth2)[0];
        let token = line.strip_prefix("AUTH XOAUTH2 ").unwrap();
        assert_eq!(STANDARD.decode(token).unwrap(), b"user=tim\x01auth=Bearer tanstaaftanstaaf\x01\x01");
    }
}
