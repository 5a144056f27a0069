//! Checks queue names by the rules of each broker, before anything connects.

use postrider_target_options::{InvalidOptions, OptionMistake};

/// Checks the name of a JetStream stream or consumer; returns what is wrong.
#[cfg(feature = "nats")]
pub(crate) fn stream(what: &str, name: &str) -> Option<OptionMistake> {
    let is_allowed = |c: char| !c.is_control() && !c.is_whitespace() && !".*>/\\".contains(c);
    let is_valid = (1..=255).contains(&name.len()) && name.chars().all(is_allowed);
    let rule = "must have 1 to 255 characters, and no blank, '.', '*', '>', '/' or '\\'";
    (!is_valid).then(|| OptionMistake::of(what, rule))
}

/// Checks a NATS subject, which must have no wildcards; returns what is wrong.
#[cfg(feature = "nats")]
pub(crate) fn subject(name: &str) -> Option<OptionMistake> {
    let token = |token: &str| {
        !token.is_empty()
            && !token.contains(|c: char| c.is_control() || c.is_whitespace() || "*>".contains(c))
    };
    let is_valid = name.len() <= 255 && name.split('.').all(token) && !name.starts_with('$');
    let rule = "must be words with dots between them, without blanks, '*' and '>'";
    (!is_valid).then(|| OptionMistake::of("subject", rule))
}

/// Checks the name of an AMQP queue on the default exchange; returns what is wrong.
#[cfg(feature = "amqp")]
pub(crate) fn amqp(name: &str) -> Option<OptionMistake> {
    let is_valid = (1..=255).contains(&name.len())
        && !name.starts_with("amq.")
        && !name.contains(|c: char| c == '/' || c.is_control());
    let rule = "must have 1 to 255 bytes, no '/', and not begin with amq.";
    (!is_valid).then(|| OptionMistake::of("queue", rule))
}

/// Checks the name or URL of a standard SQS queue; returns what is wrong.
#[cfg(feature = "sqs")]
pub(crate) fn sqs(name: &str) -> Option<OptionMistake> {
    if name.strip_suffix(".fifo").is_some() {
        let rule = "must be a standard queue: a FIFO queue holds jobs back, and order is kept without it";
        return Some(OptionMistake::of("queue", rule));
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_url = name.starts_with("https://") || name.starts_with("http://");
    let is_valid = is_url || ((1..=80).contains(&name.len()) && name.bytes().all(is_allowed));
    let rule = "must be a queue's URL, or 1 to 80 letters, digits, '-' and '_'";
    (!is_valid).then(|| OptionMistake::of("queue", rule))
}

/// Returns `Ok` if no check found an error.
pub(crate) fn check(
    broker: &'static str,
    mistakes: impl IntoIterator<Item = Option<OptionMistake>>,
) -> Result<(), InvalidOptions> {
    InvalidOptions::check(broker, mistakes.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_broker_would_refuse_are_mistakes() {
        assert!(["jobs", "postrider_jobs", "jobs-1"].iter().all(|name| stream("queue", name).is_none()));
        assert!(["", "a.b", "a b", "a*", "a>", "a/b"].iter().all(|name| stream("queue", name).is_some()));
        assert!(["jobs", "postrider.jobs"].iter().all(|name| subject(name).is_none()));
        assert!(["", "a..b", "a.*", "a.>", "a b", "$JS.x"].iter().all(|name| subject(name).is_some()));
        assert!(["jobs", "postrider.jobs"].iter().all(|name| amqp(name).is_none()));
        assert!(["", "amq.jobs", "exchange/key"].iter().all(|name| amqp(name).is_some()));
        assert!(
            ["jobs", "https://sqs.eu-west-1.amazonaws.com/1/jobs"].iter().all(|name| sqs(name).is_none())
        );
        assert!(["", "jobs.fifo", "a b", "a.b"].iter().all(|name| sqs(name).is_some()));
    }
}
