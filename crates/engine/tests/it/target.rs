//! Rules G1 and G3: while a target is away or refuses our credentials, rows of the backlog lose no attempt.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_engine::Health;
use postrider_seams::{Failure, Outcome, Receipt, RowId, Value};

use crate::fixtures::{
    Scripted, contract, count, fill, health, int, mail, start, table, text, unreachable, until,
};

const MINUTE: Duration = Duration::from_mins(1);

/// Returns a transport that cannot connect until `up` is set.
fn down() -> Arc<Scripted> {
    let up = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&up);
    let transport =
        Scripted::new(
            move |_| if seen.load(SeqCst) { Outcome::Delivered(Receipt::default()) } else { unreachable() },
        );
    transport.up.store(false, SeqCst);
    let transport = Arc::new(transport);
    let watched = Arc::clone(&transport);
    tokio::spawn(async move {
        while !watched.up.load(SeqCst) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        up.store(true, SeqCst);
    });
    transport
}

#[tokio::test(start_paused = true)]
async fn g01_a_target_that_is_away_stops_the_lane_and_costs_no_row_an_attempt() {
    let table = table();
    fill(&table, 200);
    let transport = down();
    let engine = start(&table, &transport);
    until("unreachable", MINUTE, || matches!(health(&engine), Health::Unreachable { .. })).await;
    tokio::time::sleep(MINUTE * 5).await;
    let spent: i64 = (1..=200).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!(spent, 0, "{} tries at a dead relay are no attempts", transport.total());
    assert_eq!(count(&table, "dispatching"), 0, "untried rows were handed back");
    assert!(!health(&engine).is_ready());

    transport.up.store(true, SeqCst);
    until("all sent by itself", MINUTE * 10, || count(&table, "sent") == 200).await;
    assert_eq!(health(&engine), Health::Running);
}

/// The target goes away in the middle of a run: only deliveries that it answered count as attempts.
#[tokio::test(start_paused = true)]
async fn g01_rows_of_which_nothing_was_sent_cost_nothing_when_the_target_goes_away() {
    let table = table();
    fill(&table, 300);
    let transport = Arc::new_cyclic(|weak: &std::sync::Weak<Scripted>| {
        let (target, calls) = (weak.clone(), std::sync::atomic::AtomicUsize::new(0));
        Scripted::new(move |_| {
            if calls.fetch_add(1, SeqCst) < 100 {
                return Outcome::Delivered(Receipt::default());
            }
            target.upgrade().expect("it is being asked").up.store(false, SeqCst);
            unreachable()
        })
    });
    transport.up.store(true, SeqCst);
    let engine = start(&table, &transport);
    until("unreachable", MINUTE, || matches!(health(&engine), Health::Unreachable { .. })).await;
    until("handed back", MINUTE, || count(&table, "queued") == 200).await;
    let spent: i64 = (1..=300).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!(spent, 0);
}

/// Some recipients have the mail from an earlier attempt; in this one nothing was sent.
#[tokio::test(start_paused = true)]
async fn g01_a_partly_accepted_mail_costs_nothing_when_the_target_is_gone_at_its_retry() {
    let table = table();
    fill(&table, 1);
    let results = r#"[{"address":"a@x","result":"accepted"},{"address":"b@x","result":"deferred"}]"#;
    let transport = Arc::new_cyclic(|weak: &std::sync::Weak<Scripted>| {
        let target = weak.clone();
        Scripted::new(move |_| {
            target.upgrade().expect("it is being asked").up.store(false, SeqCst);
            let detail = [("recipients".to_owned(), Value::Text(results.to_owned()))].into();
            let failure = Failure::new("connection refused");
            Outcome::Retryable(Failure { unreachable: true, partly_accepted: true, detail, ..failure })
        })
    });
    table.edit(&RowId::Int(1), |row| {
        row.insert("recipient_results".to_owned(), Value::Text(results.to_owned()));
    });
    let engine = start(&table, &transport);
    until("unreachable", MINUTE, || matches!(health(&engine), Health::Unreachable { .. })).await;
    until("handed back", MINUTE, || count(&table, "queued") == 1).await;
    assert_eq!(int(&table, 1, "retry_count"), Some(0));
    assert_eq!(text(&table, 1, "recipient_results").as_deref(), Some(results), "a@x still has it");
}

/// A connection breaks although the target is up. The first time it may have been restarted; each further time counts,
/// so that a target that breaks every connection ends the row.
#[tokio::test(start_paused = true)]
async fn g01_a_connection_that_breaks_again_while_the_target_is_there_is_an_attempt() {
    let table = table();
    fill(&table, 1);
    let transport = Arc::new(Scripted::new(|_| unreachable()));
    transport.up.store(true, SeqCst);
    let engine = start(&table, &transport);
    until("an attempt is counted", MINUTE, || int(&table, 1, "retry_count") == Some(1)).await;
    assert_eq!((transport.times("1"), health(&engine)), (2, Health::Running));
    let max = contract().stages[0].attempts.max as usize;
    until("it ends", 600 * MINUTE, || count(&table, "failed") == 1).await;
    // The first break is free, and so is a fifth in a row, for which the lane stops and probes.
    assert_eq!(transport.times("1"), max + 2);
}

/// A relay is restarted: it breaks what is in flight, eight mails here, and answers the next connection at once.
#[tokio::test(start_paused = true)]
async fn g01_a_restart_of_the_target_costs_no_row_an_attempt() {
    let table = table();
    fill(&table, 300);
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let transport = Arc::new(Scripted::new(move |_| {
        let is_restart = (100..108).contains(&calls.fetch_add(1, SeqCst));
        if is_restart { unreachable() } else { Outcome::Delivered(Receipt::default()) }
    }));
    let _engine = start(&table, &transport);
    until("all sent", MINUTE, || count(&table, "sent") == 300).await;
    let spent: i64 = (1..=300).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!((spent, transport.total()), (0, 308));
}

#[tokio::test(start_paused = true)]
async fn g01_an_answer_in_between_keeps_the_lane_running() {
    let table = table();
    fill(&table, 40);
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let transport = Arc::new(Scripted::new(move |_| {
        if turn.fetch_add(1, SeqCst) % 4 == 3 {
            Outcome::Delivered(Receipt::default())
        } else {
            unreachable()
        }
    }));
    let engine = start(&table, &transport);
    until("each tried", MINUTE, || transport.total() >= 40).await;
    assert_eq!(health(&engine), Health::Running);
}

#[tokio::test(start_paused = true)]
async fn g03_a_refusal_of_us_pauses_the_lane_and_costs_no_row_anything() {
    let table = table();
    fill(&table, 50);
    let transport = Arc::new(Scripted::new(|_| Outcome::Refused(Failure::new("535 authentication failed"))));
    transport.up.store(false, SeqCst);
    let engine = start(&table, &transport);
    until("misconfigured or probing", MINUTE, || !health(&engine).is_ready()).await;
    tokio::time::sleep(MINUTE).await;
    let spent: i64 = (1..=50).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!(spent, 0);
    assert_eq!(count(&table, "queued"), 50);
    assert!(transport.probes.load(SeqCst) > 2, "it tries again with backoff");
}

/// As with brokers: a connection is open anyway, so an idle lane reports an outage as well.
#[tokio::test(start_paused = true)]
async fn g01_a_target_that_goes_while_nothing_is_sent_is_noticed_and_so_is_its_return() {
    let table = table();
    let mut scripted = Scripted::delivers();
    scripted.idle_probe_interval = Some(Duration::from_secs(4));
    let transport = Arc::new(scripted);
    let engine = start(&table, &transport);
    until("running", MINUTE, || health(&engine) == Health::Running).await;
    for _ in 0..2 {
        transport.up.store(false, SeqCst);
        let ten_seconds = Duration::from_secs(10);
        until("it says so", ten_seconds, || matches!(health(&engine), Health::Unreachable { .. })).await;
        tokio::time::sleep(MINUTE).await;
        transport.up.store(true, SeqCst);
        until("it says that as well", ten_seconds, || health(&engine) == Health::Running).await;
    }
}

/// Returns a broker that accepts records and acknowledges none while it is down; its probe fails meanwhile.
fn hanging_broker() -> Arc<Scripted> {
    let up = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&up);
    let mut scripted = Scripted::new(move |_| {
        if seen.load(SeqCst) {
            Outcome::Delivered(Receipt::default())
        } else {
            Outcome::Uncertain(Failure::new("no acknowledgement by the deadline"))
        }
    });
    scripted.idle_probe_interval = Some(Duration::from_secs(4));
    scripted.takes = Duration::from_secs(5);
    let transport = Arc::new(scripted);
    let watched = Arc::clone(&transport);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            up.store(watched.up.load(SeqCst), SeqCst);
        }
    });
    transport
}

#[tokio::test(start_paused = true)]
async fn o02_a_broker_that_hangs_spends_no_attempt() {
    let table = table();
    fill(&table, 30);
    let transport = hanging_broker();
    let engine = start(&table, &transport);
    // Records are in flight when the broker stops.
    tokio::time::sleep(Duration::from_secs(1)).await;
    transport.up.store(false, SeqCst);
    until("it says so", Duration::from_secs(20), || matches!(health(&engine), Health::Unreachable { .. }))
        .await;
    tokio::time::sleep(MINUTE).await;
    assert!(transport.total() > 0, "some were sent and not acknowledged");
    let spent: i64 = (1..=30).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!((spent, count(&table, "queued")), (0, 30), "nothing is spent, and nothing is held");
    transport.up.store(true, SeqCst);
    until("it goes on", Duration::from_secs(10), || health(&engine) == Health::Running).await;
    until("all sent", 2 * MINUTE, || count(&table, "sent") == 30).await;
}

/// Only this row gets no answer while others do: the broker is up, and the row's attempts limit it.
#[tokio::test(start_paused = true)]
async fn o02_a_record_that_alone_gets_no_acknowledgement_ends() {
    let table = table();
    fill(&table, 1);
    let mut scripted = Scripted::new(|envelope| match envelope.row.as_str() {
        "1" => Outcome::Uncertain(Failure::new("no acknowledgement")),
        _ => Outcome::Delivered(Receipt::default()),
    });
    scripted.idle_probe_interval = Some(Duration::from_secs(4));
    let transport = Arc::new(scripted);
    let engine = start(&table, &transport);
    for id in 2..500 {
        table.insert(mail(&table, id));
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(health(&engine), Health::Running);
        if count(&table, "failed") == 1 {
            break;
        }
    }
    // The first time costs no attempt: the broker may have hung.
    assert_eq!((count(&table, "failed"), transport.times("1")), (1, 6));
}

/// The broker's connections stay open and its probe succeeds, but it acknowledges nothing: a part of it hangs.
#[tokio::test(start_paused = true)]
async fn o02_a_broker_that_answers_probes_and_acknowledges_nothing_spends_no_attempt() {
    let table = table();
    fill(&table, 30);
    let acknowledges = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&acknowledges);
    let mut scripted = Scripted::new(move |_| {
        if seen.load(SeqCst) {
            Outcome::Delivered(Receipt::default())
        } else {
            Outcome::Uncertain(Failure::new("no acknowledgement in time"))
        }
    });
    scripted.idle_probe_interval = Some(Duration::from_secs(4));
    scripted.takes = Duration::from_secs(5);
    let transport = Arc::new(scripted);
    let engine = start(&table, &transport);
    until("it says so", Duration::from_secs(30), || matches!(health(&engine), Health::Unreachable { .. }))
        .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    transport.most_at_once.store(0, SeqCst);
    let before = transport.total();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(matches!(health(&engine), Health::Unreachable { .. }), "the trials do not hide it");
    }
    let trials = transport.total() - before;
    assert!((30..=130).contains(&trials), "{trials} trials in ten minutes");
    assert_eq!(transport.most_at_once.load(SeqCst), 1, "one row at a time");
    let tried = (1..=30).filter(|id| transport.times(&id.to_string()) > 0).count();
    assert!(tried > 5, "trials are made with one row after another: {tried}");
    let spent: i64 = (1..=30).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!((spent, count(&table, "failed")), (0, 0), "nothing is spent");

    acknowledges.store(true, SeqCst);
    until("it goes on", MINUTE, || health(&engine) == Health::Running).await;
    until("all sent", 3 * MINUTE, || count(&table, "sent") == 30).await;
    let spent: i64 = (1..=30).map(|id| int(&table, id, "retry_count").expect("set")).sum();
    assert_eq!(spent, 0);
}

/// The rows of the trial are gone: no delivery is left to show that the target is well.
#[tokio::test(start_paused = true)]
async fn o02_a_lane_on_trial_without_rows_is_taken_to_be_well() {
    let table = table();
    fill(&table, 1);
    let mut scripted = Scripted::new(|_| Outcome::Uncertain(Failure::new("no acknowledgement in time")));
    scripted.idle_probe_interval = Some(Duration::from_secs(4));
    let transport = Arc::new(scripted);
    let engine = start(&table, &transport);
    until("it says so", 2 * MINUTE, || matches!(health(&engine), Health::Unreachable { .. })).await;
    until("handed back", MINUTE, || count(&table, "queued") == 1).await;
    table.edit(&RowId::Int(1), |row| {
        row.insert("status".to_owned(), Value::Text("sent".to_owned()));
    });
    until("it is well", 2 * MINUTE, || health(&engine) == Health::Running).await;
}
