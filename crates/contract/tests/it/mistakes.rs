//! Tests that every mistake is reported with its line, its key and how to fix it, and that none hides another.

use postrider_contract::Contract;

use crate::{broken, line_of};

/// Contract, text to replace, replacement, the wrong key, a part of the message.
const MISTAKES: &[(&str, &str, &str, &str, &str)] = &[
    ("mail_outbox", "jitter      = 0.2", "jiter = 0.2", "retry.jiter", "unknown key; did you mean `jitter`?"),
    (
        "mail_outbox",
        "jitter      = 0.2",
        "jitter = 1.5",
        "retry.jitter",
        "invalid value `1.5`: expected a number from 0 to 1",
    ),
    (
        "mail_outbox",
        "max   = 5",
        "max = 0",
        "attempts.max",
        "invalid value `0`: expected a whole number of at least 1",
    ),
    (
        "mail_outbox",
        "max   = 5",
        "max = \"5\"",
        "attempts.max",
        "invalid value \"5\": expected a whole number of at least 1",
    ),
    (
        "mail_outbox",
        "base        = \"30s\"",
        "base = 30",
        "retry.base",
        "invalid value `30`: a duration needs a unit; write \"30s\" for seconds",
    ),
    (
        "mail_outbox",
        "base        = \"30s\"",
        "base = \"30 s\"",
        "retry.base",
        "invalid value \"30 s\": expected a duration above zero and up to 3650d, such as \"30s\"; a duration is",
    ),
    (
        "mail_outbox",
        "base        = \"30s\"",
        "base = \"0s\"",
        "retry.base",
        "invalid value \"0s\": expected a duration above zero",
    ),
    (
        "mail_outbox",
        "batch = 200",
        "batch = 2000",
        "claim.batch",
        "invalid value `2000`: expected a whole number from 1 to 1000",
    ),
    (
        "mail_outbox",
        "power       = \"n\"",
        "power = \"m\"",
        "retry.power",
        "invalid value \"m\"; did you mean `n`?",
    ),
    ("mail_outbox", "version  = \"1.0\"", "version = \"2.0\"", "version", "unsupported major version 2"),
    ("mail_outbox", "version  = \"1.0\"", "version = \"one\"", "version", "invalid version \"one\""),
    (
        "mail_outbox",
        "attempts    = \"retry_count\"",
        "attempt = \"retry_count\"",
        "columns.attempt",
        "unknown role; did you mean `attempts`?",
    ),
    ("mail_outbox", "\"retry_count\"", "'retry\"count'", "columns.attempts", "can't be in a name"),
    ("mail_outbox", "name = \"mail_outbox\"", "name = \"a.b.c\"", "table.name", "can't be in a name"),
    (
        "mail_outbox",
        "fence   = [\"claimed_at\"]",
        "fence = [\"claimd_at\"]",
        "lease.fence.1",
        "did you mean `claimed_at`?",
    ),
    (
        "mail_outbox",
        "from = [\"failed\"]",
        "from = [\"faild\"]",
        "requeue.from.1",
        "unknown state `faild`; did you mean `failed`?",
    ),
    (
        "mail_outbox",
        "\"attempts.max\"",
        "\"attempts.maximum\"",
        "settings.DISPATCH_MAX_ATTEMPTS",
        "cannot be set by a setting; did you mean `attempts.max`?",
    ),
    (
        "mail_outbox",
        "fence   = [\"claimed_at\"]",
        "by = \"exclusive\"",
        "lease.by",
        "\"exclusive\" is not supported: a lock alone does not keep a stale worker from settling rows; write \"time\"",
    ),
    (
        "open_event_notifications",
        "defer       = \"lease\"",
        "defer = \"memory\"",
        "due.defer",
        "\"memory\" is now called \"none\"; write defer = \"none\"",
    ),
    ("mail_outbox", "composer = \"email\"", "", "stage.dispatch.composer", "is required"),
    (
        "mail_outbox",
        "order = [\"due\", \"id\"]",
        "order = [\"updated\", \"id\"]",
        "claim.order.1",
        "no column has the role `updated`",
    ),
    (
        "outbox",
        "on_error = \"wait\"",
        "on_error = \"stop\"",
        "group.on_error",
        "known: parallel, next, wait, block",
    ),
    ("outbox", "DELIVERED = \"7d\"", "DELIVRED = \"7d\"", "retention.DELIVRED", "did you mean `DELIVERED`?"),
    (
        "dispatch_jobs",
        "default     = \"exponential\"",
        "default = \"exponentail\"",
        "retry.default",
        "did you mean `exponential`?",
    ),
    (
        "dispatch_jobs",
        "\"$outcome.result\"",
        "\"$outcom.result\"",
        "effect.1.values.status",
        "unknown value `$outcom.result`",
    ),
    ("dispatch_jobs", "\"$tsid\"", "\"$tsdi\"", "effect.1.values.id", "did you mean `$tsid`?"),
    (
        "dispatch_jobs",
        "\"delivered\", \"retry\"",
        "\"deliverd\", \"retry\"",
        "effect.1.on.1",
        "unknown transition `deliverd`; did you mean `delivered`?",
    ),
    (
        "open_event_notifications",
        "retry_after = \"error.retryAfterSeconds\"",
        "retry_after = \"error\"",
        "due.retry_after",
        "\"error\" is not a member of a JSON column",
    ),
    (
        "open_event_notifications",
        "poison = 5",
        "poison = 0",
        "lease.poison",
        "invalid value `0`: expected a whole number from 1 to 1000",
    ),
    (
        "open_event_notifications",
        "as    = \"history.sent\"",
        "as    = \"history sent\"",
        "count.history sent.as",
        "invalid name \"history sent\"",
    ),
    (
        "open_event_notifications",
        "within = \"3m\"",
        "since = \"created\"",
        "count.history.duplicates.since",
        "without `within`",
    ),
    ("dispatch_jobs", "from       = \"QUEUED\"", "froms = \"QUEUED\"", "sweep.stale.from", "is required"),
    (
        "open_event_notifications",
        "\"event.section_id\"",
        "\"evnt.section_id\"",
        "join.section.on.section_id",
        "no join above is named `evnt`; did you mean `event`?",
    ),
    (
        "open_event_notifications",
        "{ null = true }",
        "{ nul = true }",
        "states.waiting.locked_at",
        "must have either `null` or `never`",
    ),
    ("open_event_notifications", "[states]", "[stats]", "stats", "unknown key; did you mean `states`?"),
];

#[test]
fn each_mistake_is_found_where_it_is() {
    for (name, from, to, key, message) in MISTAKES {
        let problems = broken(name, from, to);
        let hit =
            problems.iter().find(|problem| problem.key == *key && problem.to_string().contains(message));
        let hit =
            hit.unwrap_or_else(|| panic!("{name}: {to:?} should give {key}: {message}, gave {problems:#?}"));
        if !to.is_empty() && !message.contains("is required") {
            let line = line_of(name, from, to, to.lines().next().expect("a line"));
            assert_eq!(hit.place.position.map(|(line, _)| line), Some(line), "{hit}");
        }
    }
}

#[test]
fn all_mistakes_come_at_once_in_the_order_of_the_file() {
    let text = Contract::builtin("mail_outbox")
        .expect("a built-in")
        .replace("batch = 200", "batch = 0")
        .replace("jitter      = 0.2", "jitter = -1")
        .replace("dead      = \"failed\"", "dead      = \"queued\"")
        .replace("attempts    = \"retry_count\"", "attempts    = \"retry count\"");
    let problems = Contract::parse("mail.toml", &text).expect_err("four mistakes");
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(
        keys,
        ["columns.attempts", "stage.dispatch.dead", "claim.batch", "retry.jitter", "requeue.from.1"]
    );
    let lines: Vec<_> = problems.iter().map(|problem| problem.place.position).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    let shown = problems.to_string();
    assert_eq!(shown.lines().count(), problems.iter().count());
    assert!(shown.lines().all(|line| line.starts_with("mail.toml:")), "{shown}");
}

#[test]
fn broken_toml_is_reported_with_its_place() {
    let problems = Contract::parse("c.toml", "contract = \"x\"\nversion = \n[table\n").expect_err("no TOML");
    let first = problems.iter().next().expect("a problem");
    assert_eq!(first.place.position.map(|(line, _)| line), Some(2));
    assert!(first.what.starts_with("not TOML"), "{first}");
}

#[test]
fn an_empty_file_says_what_is_required() {
    let problems = Contract::parse("c.toml", "").expect_err("nothing there");
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    for key in ["contract", "version", "table", "stage"] {
        assert!(keys.contains(&key), "{key} is missing from {keys:?}");
    }
}

#[test]
fn mistakes_are_printed_in_columns() {
    let text = r#"contract = "x"
version = "1.0"
composer = "email"
[table]
name = "t"
id = "id"
[columns]
status = "status"
attempts = "n"
clamed_at = "c"
[[stage]]
name = "s"
ready = "new"
claimed = "busy"
delivered = "done"
retryable = "nw"
dead = "dead"
[retry]
base = 30
"#;
    let problems = Contract::parse("x.toml", text).expect_err("many mistakes");
    let shown = "\
x.toml:7:2: columns.claimed_at: no column has the role `claimed_at`: without it no lease could expire, and \
                 rows of a crashed worker would stay claimed; add claimed_at = \"COLUMN\" to [columns]
x.toml:10:13: columns.clamed_at: unknown role; did you mean `claimed_at`?
x.toml:16:1: stage.s.retryable: rows in `nw` are never claimed, so they would never be retried; did you mean `new`?
x.toml:19:8: retry.base: invalid value `30`: a duration needs a unit; write \"30s\" for seconds";
    assert_eq!(problems.to_string(), shown);
}
