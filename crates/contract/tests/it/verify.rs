//! Tests the checks of `verify`: each broken variant of a contract causes exactly one problem, at its line.

use crate::{broken, line_of};

/// Contract, text to replace, replacement, the wrong key, a part of the message.
const INVALID: &[(&str, &str, &str, &str, &str)] = &[
    // States.
    (
        "dispatch_jobs",
        "next_attempt_at = { null = true }",
        "next_attempt_at = { null = false }",
        "states.DEAD",
        "a row can be in `RETRYING` and in `DEAD` at once",
    ),
    (
        "emails",
        "SENT_SILENT   = { status = \"SENT\",   next_attempt_at = { never = true } }",
        "SENT_SILENT   = { status = \"SENT\",   payload_file_path = { null = true } }",
        "states.SENT_SILENT",
        "at once",
    ),
    // Values.
    (
        "dispatch_jobs",
        "deferred.last_error = \"$reason or keep\"",
        "claimed.last_error = \"$from\"",
        "write.claimed.last_error",
        "`$from` is unknown in the transition `claimed`: rows come from `QUEUED`, `RETRYING`",
    ),
    (
        "dispatch_jobs",
        "deferred.last_error = \"$reason or keep\"",
        "claimed.last_error = { json = { at = \"$claimed_at\" } }",
        "write.claimed.last_error",
        "`$claimed_at` is unknown in the transition `claimed`: it writes last_attempt_at, and the fence does not contain it",
    ),
    // Moves.
    (
        "mail_outbox",
        "[[stage]]",
        "[states]\nsent = { status = \"sent\", seen = { null = false } }\n\n[[stage]]",
        "stage.dispatch.delivered",
        "state `sent` requires seen to be set, but the transition `delivered` does not write it so",
    ),
    (
        "mail_outbox",
        "[[stage]]",
        "[states]\nqueued = { status = \"queued\", next_attempt_at = { null = true } }\n\n[[stage]]",
        "stage.dispatch.retryable",
        "requires next_attempt_at to be NULL",
    ),
    (
        "mail_outbox",
        "delivered.\"recipient_results?\"",
        "delivered.status",
        "write.delivered.status",
        "status has the role `status`, which only Postrider writes",
    ),
    (
        "mail_outbox",
        "delivered.\"recipient_results?\" = \"$outcome.recipients or keep\"",
        "claimed.note = \"$outcome.recipients\"",
        "write.claimed.note",
        "`$outcome` and `$envelope` are absent in the transition `claimed`",
    ),
    (
        "emails",
        "reason = \"$reason or null\"",
        "reason = \"$outcome.words\"",
        "effect.1.values.reason",
        "`$outcome` and `$envelope` are absent in the transition `claimed`",
    ),
    // Groups.
    ("outbox", "sequence = [\"created\"]", "sequence = []", "group.sequence", "the group has no order"),
    // The machine.
    (
        "mail_outbox",
        "dead      = \"failed\"",
        "dead      = \"sent\"",
        "stage.dispatch.dead",
        "`sent` is the delivered state too: failed rows would look delivered",
    ),
    (
        "mail_outbox",
        "dead      = \"failed\"",
        "dead      = \"failed\"\nrejected  = \"sent\"",
        "stage.dispatch.rejected",
        "`sent` is the delivered state too: failed rows would look delivered",
    ),
    (
        "mail_outbox",
        "dead      = \"failed\"",
        "dead      = \"queued\"",
        "stage.dispatch.dead",
        "`queued` is ready too",
    ),
    (
        "mail_outbox",
        "dead      = \"failed\"",
        "dead      = \"dispatching\"",
        "stage.dispatch.dead",
        "`dispatching` is the claimed state",
    ),
    (
        "mail_outbox",
        "claimed   = \"dispatching\"",
        "claimed   = \"queued\"",
        "stage.dispatch.claimed",
        "is ready or retryable too",
    ),
    (
        "mail_outbox",
        "retryable = \"queued\"",
        "retryable = \"qeued\"",
        "stage.dispatch.retryable",
        "rows in `qeued` are never claimed, so they would never be retried; did you mean `queued`?",
    ),
    (
        "emails",
        "claimed   = \"PROCESSING\"",
        "claimed   = \"INTAKING\"",
        "stage.send.claimed",
        "stage `intake` holds its rows in `INTAKING` too",
    ),
    (
        "emails",
        "ready     = \"READY\"",
        "ready     = [\"READY\", \"ACCEPTED\"]",
        "stage.send.ready",
        "claims rows from `ACCEPTED` too",
    ),
    (
        "emails",
        "delivered = \"SENT-ACKNOWLEDGED\"",
        "delivered = \"ACCEPTED\"",
        "stage.sent_callback.delivered",
        "leads back to `ACCEPTED`: the row would never reach a final state",
    ),
    (
        "outbox",
        "[retention]",
        "[states]\nLOST = \"LOST\"\n\n[retention]",
        "states.LOST",
        "no transition leads to `LOST`",
    ),
    ("outbox", "DELIVERED = \"7d\"", "PENDING = \"7d\"", "retention.PENDING", "not finished"),
    (
        "open_event_notifications",
        "from          = \"waiting\"",
        "from          = \"locked\"",
        "sweep.expire.from",
        "a worker holds the rows",
    ),
    (
        "open_event_notifications",
        "from          = \"waiting\"",
        "from          = \"sent\"",
        "sweep.expire.from",
        "is final",
    ),
    (
        "open_event_notifications",
        "to            = \"expired\"",
        "to            = \"waiting\"",
        "sweep.expire.to",
        "to itself",
    ),
    ("dispatch_jobs", "to   = \"CANCELLED\"", "to   = \"QUEUED\"", "cancel.to", "is not final"),
    ("dispatch_jobs", "to   = \"RETRYING\"", "to   = \"COMPLETED\"", "requeue.to", "are never claimed"),
    (
        "outbox",
        "[retention]",
        "[[sweep]]\nfrom = \"PARKED\"\nto = \"HELD\"\n[[sweep]]\nfrom = \"HELD\"\nto = \"PARKED\"\n\n[retention]",
        "sweep.1.from",
        "can never reach a final state",
    ),
    // Roles.
    (
        "outbox",
        "claimed_at = \"claimed_at\"",
        "",
        "columns.claimed_at",
        "no column has the role `claimed_at`",
    ),
    (
        "outbox",
        "due        = \"next_attempt_at\"",
        "",
        "retry",
        "the time of the next attempt is stored in it",
    ),
    ("outbox", "created    = \"created_at\"\n", "", "claim.min_age", "no column has the role `created`"),
    ("outbox", "attempts   = \"retry_count\"\n", "", "columns.attempts", "retried forever"),
    ("outbox", "fence = [\"version\"]", "fence = [\"due\"]", "lease.fence", "a claim does not write `due`"),
    (
        "mail_outbox",
        "fence   = [\"claimed_at\"]",
        "fence   = [\"owner\"]",
        "lease.fence",
        "the column of `owner` is optional",
    ),
    (
        "open_event_notifications",
        "fence  = [\"owner\", \"claimed_at\"]",
        "fence = [\"owner\"]",
        "lease.fence",
        "does not change when the same worker",
    ),
    (
        "open_event_notifications",
        "after       = \"attempted\"",
        "after       = \"claimed_at\"",
        "due.after",
        "is set to NULL when a row leaves the claimed state of stage `notify`",
    ),
    (
        "open_event_notifications",
        "cap    = \"lease\"",
        "jitter = 0.1\ncap    = \"lease\"",
        "retry.jitter",
        "cannot be combined with due.after",
    ),
    (
        "mail_outbox",
        "cap         = \"1h\"",
        "cap         = \"10s\"",
        "retry.cap",
        "the cap (10s) is below the base (30s)",
    ),
    (
        "mail_outbox",
        "claimed   = \"dispatching\"",
        "claimed   = \"same\"",
        "stage.dispatch.claimed",
        "\"same\" needs lease.by = \"due\"",
    ),
    (
        "outbox",
        "version    = \"version\"",
        "version    = \"retry_count\"",
        "columns.version",
        "cannot have both roles",
    ),
];

#[test]
fn each_invalid_contract_is_refused_where_it_is_wrong() {
    for (name, from, to, key, message) in INVALID {
        let problems = broken(name, from, to);
        let hit =
            problems.iter().find(|problem| problem.key == *key && problem.to_string().contains(message));
        let hit =
            hit.unwrap_or_else(|| panic!("{name}: {to:?} should give {key}: {message}, gave {problems:#?}"));
        let last = key.rsplit('.').next().expect("a key");
        if to.contains(last) && !to.is_empty() {
            let part = to.lines().find(|line| line.contains(last)).expect("the key is in the replacement");
            assert_eq!(
                hit.place.position.map(|(line, _)| line),
                Some(line_of(name, from, to, part)),
                "{hit}"
            );
        }
    }
}

#[test]
fn one_mistake_gives_one_problem() {
    let alone = [
        ("mail_outbox", "cap         = \"1h\"", "cap         = \"10s\""),
        ("outbox", "DELIVERED = \"7d\"", "PENDING = \"7d\""),
        ("open_event_notifications", "from          = \"waiting\"", "from          = \"sent\""),
        ("emails", "claimed   = \"PROCESSING\"", "claimed   = \"INTAKING\""),
        ("mail_outbox", "jitter      = 0.2", "jiter = 0.2"),
    ];
    for (name, from, to) in alone {
        let problems = broken(name, from, to);
        assert_eq!(problems.len(), 1, "{name} with {to}: {problems:#?}");
    }
}
