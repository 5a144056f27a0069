//! The fields that each composer reads, so that `[message]` of a contract is checked before any row is claimed.
//!
//! Fields of joined tables and of counts have a dot in their name; the contract crate checks these.

use postrider_config::{Mistake, Place};
use postrider_contract::{Contract, MessageValue, RESULTS};

/// The fields that one composer reads.
struct ComposerFields {
    composer: &'static str,
    /// Fields without which no row can be composed.
    required: &'static [&'static str],
    /// Fields of which at least one is needed, unless the list is empty.
    one_of: &'static [&'static str],
    optional: &'static [&'static str],
}

const COMPOSERS: [ComposerFields; 7] = [
    ComposerFields {
        composer: "email",
        required: &["to"],
        one_of: &["text", "html", "template"],
        optional: &[
            "cc",
            "bcc",
            "from",
            "reply_to",
            "subject",
            "variables",
            "locale",
            "headers",
            "attachments",
            "dedupe",
            "date",
            "created",
            "results",
            "traceparent",
        ],
    },
    ComposerFields {
        composer: "record",
        required: &["topic", "payload"],
        one_of: &[],
        optional: &["key", "dedupe", "traceparent", "headers", "type", "subject", "time"],
    },
    ComposerFields {
        composer: "webhook",
        required: &["url"],
        one_of: &[],
        optional: &[
            "payload",
            "content_type",
            "data_only",
            "headers",
            "timeout",
            "account",
            "code",
            "subject",
            "source",
            "dedupe",
            "client",
            "subscription",
            "event",
            "correlation",
            "time",
            "traceparent",
        ],
    },
    ComposerFields {
        composer: "mail_job",
        required: &["notification_id", "open_event_id", "subscription_id"],
        one_of: &[],
        optional: &["dedupe", "created", "traceparent"],
    },
    ComposerFields { composer: "eml", required: &["payload_path"], one_of: &[], optional: &["traceparent"] },
    ComposerFields { composer: "raw_eml", required: &["eml_path"], one_of: &[], optional: &["traceparent"] },
    ComposerFields { composer: "callback", required: &[], one_of: &[], optional: &["reason", "traceparent"] },
];

/// Returns the fields that `[message]` lacks for the composers of its stages, and those that no composer reads. Unknown
/// composers are not checked.
pub fn verify(contract: &Contract, origin: &str) -> Vec<Mistake> {
    let mut found = Vec::new();
    let mut wrong = |key: String, what: String, remedy: String| {
        found.push(Mistake { place: Place::new(origin), key, what, remedy });
    };
    let mut known: Vec<&str> = Vec::new();
    for stage in &contract.stages {
        let Some(reads) = COMPOSERS.iter().find(|reads| reads.composer == stage.composer) else {
            return found;
        };
        known.extend(reads.required.iter().chain(reads.one_of).chain(reads.optional));
        for field in reads.required.iter().filter(|field| !contract.message.contains_key(**field)) {
            let what = format!("is required by the composer `{}`: no row could be composed", reads.composer);
            wrong(format!("message.{field}"), what, format!("add {field} = \"COLUMN\" to [message]"));
        }
        if !reads.one_of.is_empty() && !reads.one_of.iter().any(|field| contract.message.contains_key(*field))
        {
            let what = format!("the composer `{}` needs one of {}", reads.composer, reads.one_of.join(", "));
            wrong("message".to_owned(), what, format!("add {} = \"COLUMN\" to [message]", reads.one_of[0]));
        }
    }
    known.sort_unstable();
    known.dedup();
    for (field, value) in &contract.message {
        let key = format!("message.{field}");
        let (name, member) = field.split_once('.').map_or((field.as_str(), false), |(name, _)| (name, true));
        if !known.contains(&name) {
            let what = "is not read by the composer".to_owned();
            wrong(key, what, format!("known: {}", known.join(", ")));
        } else if member && name != "headers" {
            let what = "is unknown: only `headers` has members, and a value has `text`, `json` or `map`";
            let remedy = format!("write {name} = \"COLUMN\", or {name} = {{ text = \"TEMPLATE\" }}");
            wrong(key, what.to_owned(), remedy);
        } else if name == RESULTS && !matches!(value, MessageValue::Column(_)) {
            let what = "must be a column: results are written to it".to_owned();
            wrong(key, what, format!("write {name} = \"COLUMN\""));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/reference/contract.md");

    const TABLE: &str = "[table]\nname = \"t\"\nid = \"id\"\n[columns]\nstatus = \"s\"\nattempts = \"n\"\n\
        claimed_at = \"c\"\ndue = \"d\"\n[[stage]]\nname = \"go\"\nready = \"a\"\nclaimed = \"b\"\ndelivered = \"e\"\n\
        retryable = \"a\"\ndead = \"x\"\n[retry]\nbase = \"1s\"\n";

    fn found(composer: &str, message: &str) -> Vec<String> {
        let text = format!(
            "contract = \"t\"\nversion = \"1.0\"\ncomposer = \"{composer}\"\n{TABLE}[message]\n{message}"
        );
        let contract = Contract::parse("t.toml", &text).unwrap();
        verify(&contract, "t.toml")
            .iter()
            .map(|problem| format!("{} {}", problem.key, problem.what))
            .collect()
    }

    #[test]
    fn the_built_in_contracts_have_what_their_composers_read() {
        for name in Contract::builtin_names() {
            let contract = Contract::parse(name, Contract::builtin(name).unwrap()).unwrap();
            assert_eq!(verify(&contract, name), [], "{name}");
        }
    }

    /// The rows of the table of one composer in the reference: field, and whether it is required.
    fn documented(composer: &str) -> Vec<(String, String)> {
        let heading = format!("### Composer `{composer}`\n");
        let (_, section) = PAGE.split_once(&heading).unwrap_or_else(|| panic!("no section of {composer}"));
        let rows = section.lines().take_while(|line| !line.starts_with('#'));
        rows.filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            Some((cells.next()?.trim_end_matches('`').to_owned(), cells.next()?.to_owned()))
        })
        .collect()
    }

    #[test]
    fn the_reference_lists_every_field_of_every_composer() {
        assert_eq!(PAGE.matches("\n### Composer `").count(), COMPOSERS.len());
        for reads in &COMPOSERS {
            let alternatives: Vec<String> = reads.one_of.iter().map(|field| format!("`{field}`")).collect();
            let one_of = format!("one of {}", alternatives.join(", "));
            let with = |fields: &'static [&'static str], required: &str| -> Vec<(String, String)> {
                fields.iter().map(|field| ((*field).to_owned(), required.to_owned())).collect()
            };
            let mut expected = with(reads.required, "yes");
            expected.extend(with(reads.one_of, &one_of));
            expected.extend(with(reads.optional, "no"));
            let mut listed = documented(reads.composer);
            listed.sort();
            expected.sort();
            assert_eq!(listed, expected, "{}", reads.composer);
        }
    }

    #[test]
    fn the_examples_of_the_reference_have_what_their_composers_read() {
        for reads in &COMPOSERS {
            let example = format!("```toml\ncomposer = \"{}\"\n\n[message]\n", reads.composer);
            let (_, rest) =
                PAGE.split_once(&example).unwrap_or_else(|| panic!("no example of {}", reads.composer));
            let (message, _) = rest.split_once("```").expect("the end of the example");
            assert_eq!(found(reads.composer, message), Vec::<String>::new(), "{}", reads.composer);
        }
    }

    #[test]
    fn required_fields_are_missed_and_unknown_ones_named() {
        assert_eq!(found("email", "to = \"a\"\ntext = \"b\"\n"), Vec::<String>::new());
        assert_eq!(
            found("email", "too = \"a\"\n"),
            [
                "message.to is required by the composer `email`: no row could be composed",
                "message the composer `email` needs one of text, html, template",
                "message.too is not read by the composer",
            ]
        );
        assert_eq!(
            found("record", "topic = \"a\"\nbody = \"b\"\n"),
            [
                "message.payload is required by the composer `record`: no row could be composed",
                "message.body is not read by the composer",
            ]
        );
        assert_eq!(
            found("webhook", "url = { a = \"b\" }\n"),
            [
                "message.url is required by the composer `webhook`: no row could be composed",
                "message.url.a is unknown: only `headers` has members, and a value has `text`, `json` or `map`"
            ]
        );
        assert_eq!(
            found("email", "to = { text = \"a@example.net\" }\ntext = \"b\"\nresults = \"c.d\"\n"),
            ["message.results must be a column: results are written to it"]
        );
    }
}
