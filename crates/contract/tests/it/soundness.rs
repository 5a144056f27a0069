//! Tests the checks of `verify`: each broken variant of a contract causes exactly one problem, at its line.

use crate::{broken, line_of};

/// Contract, text to replace, replacement, the wrong key, a part of the message.
const UNSOUND: &[(&str, &str, &str, &str, &str)] = &[
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
        "deferred.last_error = \"$reason?\"",
        "claimed.last_error = \"$from\"",
        "write.claimed.last_error",
        "there is no `$from` when a row is claimed: it may come from `QUEUED`, `RETRYING`",
    ),
    (
        "dispatch_jobs",
        "deferred.last_error = \"$reason?\"",
        "claimed.last_error = { json = { at = \"$claimed_at\" } }",
        "write.claimed.last_error",
        "there is no `$claimed_at` when a row is claimed: the move writes last_attempt_at, and no fence holds what it was",
    ),
    // Moves.
    (
        "mail_outbox",
        "[[stage]]",
        "[states]\nsent = { status = \"sent\", seen = { null = false } }\n\n[[stage]]",
        "stage.dispatch.delivered",
        "wants seen to be set",
    ),
    (
        "mail_outbox",
        "[[stage]]",
        "[states]\nqueued = { status = \"queued\", next_attempt_at = { null = true } }\n\n[[stage]]",
        "stage.dispatch.retry",
        "wants next_attempt_at to be NULL",
    ),
    (
        "mail_outbox",
        "delivered.\"recipient_results?\"",
        "delivered.status",
        "write.delivered.status",
        "only the rules of the language write it",
    ),
    (
        "mail_outbox",
        "delivered.\"recipient_results?\" = \"$outcome.recipients?\"",
        "claimed.note = \"$outcome.recipients\"",
        "write.claimed.note",
        "there is no `$outcome`",
    ),
    (
        "emails",
        "reason = \"$reason?\"",
        "reason = \"$outcome.words\"",
        "effect.1.values.reason",
        "there is no `$outcome`",
    ),
    // Groups.
    ("outbox", "sequence = [\"created\"]", "sequence = []", "group.sequence", "has no order"),
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
        "also where rows wait",
    ),
    (
        "mail_outbox",
        "retry     = \"queued\"",
        "retry     = \"qeued\"",
        "stage.dispatch.retry",
        "a retry would never come; did you mean `queued`?",
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
        "takes rows from `ACCEPTED` too",
    ),
    (
        "emails",
        "delivered = \"SENT-ACKNOWLEDGED\"",
        "delivered = \"ACCEPTED\"",
        "stage.sent_callback.delivered",
        "go round for ever",
    ),
    (
        "outbox",
        "[retention]",
        "[states]\nLOST = \"LOST\"\n\n[retention]",
        "states.LOST",
        "nothing leads to `LOST`",
    ),
    ("outbox", "DELIVERED = \"7d\"", "PENDING = \"7d\"", "retention.PENDING", "not finished"),
    (
        "open_event_notifications",
        "from        = \"waiting\"",
        "from       = \"locked\"",
        "sweep.expire.from",
        "a worker holds the rows",
    ),
    (
        "open_event_notifications",
        "from        = \"waiting\"",
        "from       = \"sent\"",
        "sweep.expire.from",
        "is final",
    ),
    (
        "open_event_notifications",
        "to          = \"expired\"",
        "to          = \"waiting\"",
        "sweep.expire.to",
        "to itself",
    ),
    ("dispatch_jobs", "to   = \"CANCELLED\"", "to   = \"QUEUED\"", "cancel.to", "is not final"),
    ("dispatch_jobs", "to   = \"RETRYING\"", "to   = \"COMPLETED\"", "requeue.to", "no claim takes rows"),
    (
        "outbox",
        "[retention]",
        "[[sweep]]\nfrom = \"PARKED\"\nto = \"HELD\"\n[[sweep]]\nfrom = \"HELD\"\nto = \"PARKED\"\n\n[retention]",
        "sweep.1.from",
        "never comes to an end",
    ),
    // Roles.
    (
        "outbox",
        "claimed_at = \"claimed_at\"",
        "",
        "columns.claimed_at",
        "no column plays the role `claimed_at`",
    ),
    ("outbox", "due        = \"next_attempt_at\"", "", "retry", "nothing remembers when a retry is due"),
    ("outbox", "created    = \"created_at\"\n", "", "claim.min_age", "no column plays the role `created`"),
    ("outbox", "attempts   = \"retry_count\"\n", "", "columns.attempts", "tried for ever"),
    ("outbox", "fence = [\"version\"]", "fence = [\"due\"]", "lease.fence", "a claim does not write `due`"),
    ("mail_outbox", "fence   = [\"claimed_at\"]", "fence   = [\"owner\"]", "lease.fence", "may be absent"),
    (
        "open_event_notifications",
        "fence  = [\"owner\", \"claimed_at\"]",
        "fence = [\"owner\"]",
        "lease.fence",
        "does not change when the same worker",
    ),
    (
        "open_event_notifications",
        "after  = \"attempted\"",
        "after  = \"claimed_at\"",
        "due.after",
        "is emptied",
    ),
    (
        "open_event_notifications",
        "cap    = \"lease\"",
        "jitter = 0.1\ncap    = \"lease\"",
        "retry.jitter",
        "can't be jittered",
    ),
    (
        "mail_outbox",
        "cap    = \"1h\"",
        "cap    = \"10s\"",
        "retry.cap",
        "the cap (10s) is below the base (30s)",
    ),
    (
        "mail_outbox",
        "claimed   = \"dispatching\"",
        "claimed   = \"same\"",
        "stage.dispatch.claimed",
        "nobody sees that a row is held",
    ),
    (
        "outbox",
        "version    = \"version\"",
        "version    = \"retry_count\"",
        "columns.version",
        "can't be both",
    ),
];

#[test]
fn each_unsound_contract_is_refused_where_it_is_wrong() {
    for (name, from, to, key, message) in UNSOUND {
        let problems = broken(name, from, to);
        let hit =
            problems.iter().find(|problem| problem.key == *key && problem.to_string().contains(message));
        let hit =
            hit.unwrap_or_else(|| panic!("{name}: {to:?} should give {key}: {message}, gave {problems:#?}"));
        let last = key.rsplit('.').next().expect("a key");
        if to.contains(last) && !to.is_empty() {
            let part = to.lines().find(|line| line.contains(last)).expect("the key is in the replacement");
            assert_eq!(hit.place.map(|(line, _)| line), Some(line_of(name, from, to, part)), "{hit}");
        }
    }
}

#[test]
fn one_slip_gives_one_problem() {
    let alone = [
        ("mail_outbox", "cap    = \"1h\"", "cap    = \"10s\""),
        ("outbox", "DELIVERED = \"7d\"", "PENDING = \"7d\""),
        ("open_event_notifications", "from        = \"waiting\"", "from       = \"sent\""),
        ("emails", "claimed   = \"PROCESSING\"", "claimed   = \"INTAKING\""),
        ("mail_outbox", "jitter = 0.2", "jiter = 0.2"),
    ];
    for (name, from, to) in alone {
        let problems = broken(name, from, to);
        assert_eq!(problems.len(), 1, "{name} with {to}: {problems:#?}");
    }
}
