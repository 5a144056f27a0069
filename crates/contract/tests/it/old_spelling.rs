//! Tests that old spellings are read, mean the same as the new ones, and are reported with the new spelling.

use postrider_contract::{Contract, Layer};

use crate::builtin;

/// The built-in contracts in the old spelling.
const OLD: [(&str, &str); 5] = [
    ("mail_outbox", include_str!("../old_spelling/mail_outbox.toml")),
    ("dispatch_jobs", include_str!("../old_spelling/dispatch_jobs.toml")),
    ("open_event_notifications", include_str!("../old_spelling/open_event_notifications.toml")),
    ("emails", include_str!("../old_spelling/emails.toml")),
    ("outbox", include_str!("../old_spelling/outbox.toml")),
];

fn old(name: &str) -> &'static str {
    OLD.iter().find(|(known, _)| *known == name).expect("a built-in").1
}

fn with(text: &str, layer: &str) -> Contract {
    let layer = Layer::new("postrider.toml", "lanes.x", layer.parse().expect("TOML"));
    Contract::parse_with("c.toml", text, &[layer]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn each_built_in_contract_means_the_same_in_the_old_spelling() {
    for (name, text) in OLD {
        let contract = Contract::parse(name, text).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(contract, builtin(name), "{name}");
    }
}

#[test]
fn the_built_in_contracts_use_no_old_spelling() {
    for name in Contract::builtin_names() {
        let text = Contract::builtin(name).expect("a built-in");
        assert_eq!(Contract::old_spellings(name, text), [], "{name}");
    }
}

#[test]
fn every_old_spelling_is_reported_with_its_place_and_the_new_one() {
    let reported = |name: &str| -> Vec<String> {
        Contract::old_spellings("c.toml", old(name)).iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        reported("emails").first().map(String::as_str),
        Some("c.toml:33:1: stage.intake.retry: `retry` is now called `retryable`; rename it")
    );
    let jobs = reported("dispatch_jobs").join("\n");
    for part in [
        "retry.asked: `asked` is now called `retry_after`",
        "sweep.stale.only: `only` is now called `only_if`",
        "\"queued\" is now called \"external_queue\"",
        "sweep.expire.bars_claims: `bars_claims` is now called `blocks_claims`",
        "write \"$outcome.status or null\"",
        "write \"$reason or keep\"",
    ] {
        assert!(jobs.contains(part), "{part}: {jobs}");
    }
    assert!(reported("emails").join("\n").contains("history.tells: `tells` is now called `reached_for`"));
    assert!(reported("open_event_notifications").join("\n").contains("due.wish: `wish` is now called"));
}

#[test]
fn a_lane_may_use_the_old_spelling_over_the_new_one_and_the_other_way_round() {
    for text in [old("dispatch_jobs"), Contract::builtin("dispatch_jobs").expect("a built-in")] {
        let changes = [
            ("stage.deliver.retry = 'QUEUED'", "stage.deliver.retryable = 'QUEUED'"),
            (
                "stage.deliver.retry = { to = 'QUEUED', jitter = 0.5 }",
                "stage.deliver = { retryable = 'QUEUED', retry.jitter = 0.5 }",
            ),
            ("retry.asked = 'least'", "retry.retry_after = 'minimum'"),
            ("sweep.expire.bars_claims = false", "sweep.expire.blocks_claims = false"),
            (
                "write.deferred.last_error = '$outcome.body?'",
                "write.deferred.last_error = '$outcome.body or keep'",
            ),
        ];
        for (old, new) in changes {
            let changed = with(text, old);
            assert_eq!(changed, with(text, new), "{old}");
            assert_ne!(changed, builtin("dispatch_jobs"), "{old}");
        }
    }
}

#[test]
fn both_spellings_in_one_file_are_a_mistake() {
    let text = old("outbox").replace("dead      = ", "retryable = \"PENDING\"\ndead      = ");
    let problems = Contract::parse("c.toml", &text).expect_err("which one counts?");
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "c.toml:34:1: stage.publish.retry: `retry` is now called `retryable`, which is given too; keep only the new one"
        ]
    );
}

#[test]
fn an_absent_value_is_null_or_keeps_the_column() {
    use postrider_contract::{Absent, Expr};
    let value = |written: &str| {
        let text =
            Contract::builtin("emails").expect("a built-in").replace("$outcome.eml_path or keep", written);
        Contract::parse("c.toml", &text).map(|contract| contract.writes[0].value.clone())
    };
    for (written, absent) in [
        ("$outcome.eml_path", Absent::Required),
        ("$outcome.eml_path or null", Absent::Null),
        ("$outcome.eml_path or keep", Absent::Keep),
    ] {
        assert_eq!(value(written), Ok(Expr::Outcome { field: "eml_path".to_owned(), absent }));
    }
    let message = value("$now or null").expect_err("always there").to_string();
    assert!(message.contains("`$now` is never absent; write \"$now\""), "{message}");
    let text = Contract::builtin("emails").expect("a built-in").replace("$reason or null", "$reason or keep");
    let message = Contract::parse("c.toml", &text).expect_err("a new row").to_string();
    assert!(message.contains("there is no earlier value to keep here"), "{message}");
}
