use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::row::Value;
use postrider_seams::store::{Class, LeaseResult, Settlement, Store as _};

use crate::server::{claim, settlement, with_database};

/// The columns that the tests compare, in one line.
const ROW: &str = "SELECT concat_ws('|', status, retry_count, coalesce(last_error, '-'), \
    coalesce(provider_message_id, '-'), sent_at IS NOT NULL, \
    round(extract(epoch FROM next_attempt_at - now())), coalesce(claimed_by, '-'), lease_until IS NOT NULL) \
    FROM mail_outbox WHERE id = ";

#[tokio::test(flavor = "multi_thread")]
async fn m03_each_transition_writes_exactly_what_it_should() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(7).await;
        server.run("UPDATE mail_outbox SET next_attempt_at = now(), last_error = 'before'").await;
        let rows = claim(&store, 7).await;
        let mut moves: Vec<Settlement> = rows
            .iter()
            .zip(Transition::SETTLES)
            .map(|(row, transition)| settlement(&row.lease, transition))
            .collect();
        for one in &mut moves {
            one.reason = (one.transition.is_failure()).then(|| format!("why {}", one.transition));
            one.delay = Duration::from_mins(2);
        }
        moves[0].receipt = Some("<1@relay>".into());

        let held = store.settle(&moves).await.expect("settle");

        assert_eq!(held, [LeaseResult::Held; 7]);
        let after = |at: usize| format!("{ROW}{}", moves[at].lease.id);
        let expected = [
            "sent|0|-|<1@relay>|t|0|-|f",
            "queued|1|why retry|-|f|120|-|f",
            "failed|1|why dead|-|f|0|-|f",
            "failed|1|why rejected|-|f|0|-|f",
            "failed|1|why skipped|-|f|0|-|f",
            "queued|0|before|-|f|120|-|f",
            "queued|0|before|-|f|0|-|f",
        ];
        for (at, expected) in expected.into_iter().enumerate() {
            assert_eq!(server.text(&after(at)).await.as_deref(), Some(expected), "{}", moves[at].transition);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_fence_changes_nothing() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let first = claim(&store, 1).await.remove(0);
        let released =
            store.settle(&[settlement(&first.lease, Transition::Released)]).await.expect("release");
        assert_eq!(released, [LeaseResult::Held]);
        let second = claim(&store, 1).await.remove(0);
        assert_ne!(first.lease.fence, second.lease.fence, "a claim time is later than the one before");

        for transition in Transition::SETTLES {
            let held = store.settle(&[settlement(&first.lease, transition)]).await.expect("settle");
            assert_eq!(held, [LeaseResult::Lost], "{transition}");
        }
        assert_eq!(store.extend(std::slice::from_ref(&first.lease)).await.expect("extend"), [None]);
        assert_eq!(server.text("SELECT status FROM mail_outbox").await.as_deref(), Some("dispatching"));

        let done = settlement(&second.lease, Transition::Delivered);
        assert_eq!(store.settle(std::slice::from_ref(&done)).await.expect("settle"), [LeaseResult::Held]);
        assert_eq!(store.settle(&[done]).await.expect("again"), [LeaseResult::Lost], "safe to repeat");
        assert_eq!(server.number("SELECT retry_count FROM mail_outbox").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extended_lease_settles_and_lives_longer() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let row = claim(&store, 1).await.remove(0);
        server.run("UPDATE mail_outbox SET lease_until = now() + interval '1 s'").await;

        let extended =
            store.extend(std::slice::from_ref(&row.lease)).await.expect("extend").remove(0).expect("held");

        let left =
            server.number("SELECT round(extract(epoch FROM lease_until - now())) FROM mail_outbox").await;
        assert!((58..=60).contains(&left), "{left}");
        let held = store.settle(&[settlement(&extended, Transition::Delivered)]).await.expect("settle");
        assert_eq!(held, [LeaseResult::Held]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_batch_answers_in_order() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(300).await;
        let rows = claim(&store, 300).await;
        server.run("UPDATE mail_outbox SET status = 'queued' WHERE id % 10 = 0").await;
        let moves: Vec<Settlement> = rows
            .iter()
            .rev()
            .enumerate()
            .map(|(at, row)| Settlement {
                delay: Duration::from_mins(1),
                reason: (at % 3 == 0).then(|| format!("bad \0 {at}")),
                ..settlement(&row.lease, if at % 3 == 0 { Transition::Retry } else { Transition::Delivered })
            })
            .collect();

        let held = store.settle(&moves).await.expect("settle");

        for (one, held) in moves.iter().zip(held) {
            let id: i64 = one.lease.id.to_string().parse().expect("a number");
            assert_eq!(held == LeaseResult::Lost, id % 10 == 0, "row {id}");
        }
        assert_eq!(server.number("SELECT count(*) FROM mail_outbox WHERE status = 'dispatching'").await, 0);
        let retried = "SELECT count(*) FROM mail_outbox WHERE retry_count = 1 AND last_error LIKE 'bad%'";
        assert_eq!(server.number(retried).await, 90);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_the_database_refuses_does_not_stop_the_others() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(20).await;
        server.run("ALTER TABLE mail_outbox ADD CONSTRAINT picky CHECK (id <> 7 OR status <> 'sent')").await;
        let rows = claim(&store, 20).await;
        let moves: Vec<_> = rows.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();

        let held = store.settle(&moves).await.expect("settle");

        assert_eq!(held.iter().filter(|held| **held == LeaseResult::Held).count(), 19);
        assert_eq!(held.iter().filter(|held| **held == LeaseResult::Refused).count(), 1);
        assert_eq!(
            server.text("SELECT status FROM mail_outbox WHERE id = 7").await.as_deref(),
            Some("dispatching")
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_are_written_with_their_move_and_only_for_held_rows() {
    with_database(|server| async move {
        let store = server.open("dispatch_jobs", "deliver").await;
        let job = "INSERT INTO dispatch_jobs (id, code, target_url, payload, status, created_at, updated_at) \
                   SELECT lpad(n::text, 13, '0'), 'a:b:c:d', 'https://example.org', '{}', 'QUEUED', now(), now() \
                   FROM generate_series(1, 2) AS n";
        server.run(job).await;
        let rows = claim(&store, 10).await;
        assert_eq!(rows.len(), 2);
        let mut moves: Vec<_> = rows.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
        for one in &mut moves {
            one.outcome.insert("duration_ms".into(), Value::Int(17));
            one.outcome.insert("result".into(), Value::Text("SUCCESS".into()));
            one.outcome.insert("status".into(), Value::Int(204));
        }
        moves[1].lease.fence = moves[1].lease.fence.iter().map(|_| Value::Text("2001-01-01 00:00:00+00".into())).collect();
        if let Some(last) = moves[1].lease.fence.last_mut() {
            *last = Value::Text("99".into());
        }

        let held = store.settle(&moves).await.expect("settle");

        assert_eq!(held, [LeaseResult::Held, LeaseResult::Lost]);
        let kept = "SELECT string_agg(job_id || '|' || attempt_number || '|' || status || '|' || response_code \
                    || '|' || duration_millis || '|' || length(id), ',') FROM dispatch_attempts";
        let id = &rows[0].lease.id;
        assert_eq!(server.text(kept).await, Some(format!("{id}|1|SUCCESS|204|17|13")));
    })
    .await;
}

/// A foreign-key check is a query for each inserted row. The trigger of a row runs at the end of the statement, as the
/// check does, and records under which setting both are planned; the trigger of an update shows that of the next settle.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_keys_of_effects_are_not_planned_for_each_row() {
    with_database(|server| async move {
        let store = server.open("dispatch_jobs", "deliver").await;
        let record = "CREATE TABLE modes (at text, mode text); \
                      CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                      INSERT INTO modes VALUES (TG_TABLE_NAME, current_setting('plan_cache_mode')); RETURN NEW; END $$; \
                      CREATE TRIGGER record AFTER INSERT ON dispatch_attempts FOR EACH ROW EXECUTE FUNCTION record(); \
                      CREATE TRIGGER record BEFORE UPDATE ON dispatch_jobs FOR EACH ROW \
                      WHEN (NEW.status = 'COMPLETED') EXECUTE FUNCTION record()";
        server.run(record).await;
        for id in ["0000000000001", "0000000000002"] {
            let job = "INSERT INTO dispatch_jobs (id, code, target_url, payload, status, created_at, updated_at) \
                       VALUES ('ID', 'a:b:c:d', 'https://example.org', '{}', 'QUEUED', now(), now())";
            server.run(&job.replace("ID", id)).await;
            let row = claim(&store, 1).await.remove(0);
            let mut done = settlement(&row.lease, Transition::Delivered);
            done.outcome.insert("result".into(), Value::Text("SUCCESS".into()));
            assert_eq!(store.settle(&[done]).await.expect("settle"), [LeaseResult::Held]);
        }
        let modes = "SELECT string_agg(DISTINCT at || ' ' || mode, ', ' ORDER BY at || ' ' || mode) FROM modes";
        assert_eq!(
            server.text(modes).await.as_deref(),
            Some("dispatch_attempts auto, dispatch_jobs force_custom_plan")
        );
    })
    .await;
}

/// A trigger on a quiet lane: nothing says whether the cause is in the row, and its outcome must not be forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_settle_of_the_only_row_is_an_error() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let row = claim(&store, 1).await.remove(0);
        server
            .run(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN IF NEW.status = 'sent' THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$; \
                 CREATE TRIGGER refuse BEFORE UPDATE ON mail_outbox FOR EACH ROW EXECUTE FUNCTION refuse()",
            )
            .await;
        let done = settlement(&row.lease, Transition::Delivered);

        let error = store.settle(std::slice::from_ref(&done)).await.expect_err("refused");

        assert_eq!(error.class, Class::Permanent, "{error}");
        server.run("DROP TRIGGER refuse ON mail_outbox").await;
        assert_eq!(store.settle(&[done]).await.expect("settle"), [LeaseResult::Held]);
    })
    .await;
}
