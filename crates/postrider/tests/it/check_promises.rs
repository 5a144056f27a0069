//! What `check` says is true: of targets that it does not probe, of plans that it does not examine, and of locks.

use crate::check_hazards::{CONTRACT, TABLE, TestDatabase, everywhere, insert};
use crate::sandbox::{Sandbox, eventually};

everywhere! {
    a_lane_with_a_single_claimer_needs_the_table_of_locks;
}

/// Without the table, each of two instances would claim.
async fn a_lane_with_a_single_claimer_needs_the_table_of_locks(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(TABLE).await;
    database.sql(&insert("1", "new", "0")).await;
    database.add_to_lane("single = true\npoll = \"50ms\"\n");
    let sandbox = &database.sandbox;
    let needs = "single = true needs a lock, and the database has no table postrider_locks";
    database.assert_fault("error", needs);
    for instance in ["first", "second"] {
        let output = sandbox.run(&["run", "--listen", "off"]).code(1);
        assert!(output.stderr.contains(needs), "{instance}: {}", output.stderr);
        assert!(output.stderr.contains("run `postrider migrate`"), "{instance}: {}", output.stderr);
    }
    let rows =
        |state: &str| sandbox.run(&["list", "jobs", "--state", state, "--json"]).success().json().len();
    assert_eq!(rows("new"), 1, "nothing was claimed");

    sandbox.run(&["migrate"]).success();
    assert!(!database.faults().iter().any(|(level, _)| level == "error"), "{:?}", database.faults());
    let running = [sandbox.start_with_log("first.log"), sandbox.start_with_log("second.log")];
    eventually("the row is delivered", || (rows("done") == 1).then_some(()));
    drop(running);
}

#[test]
fn check_says_what_its_probe_of_a_target_shows() {
    let settings = "[stores.main]\nurl = \"sqlite:app.db\"\n[mail]\nfrom = \"shop@example.com\"\n\
                    [transports.out]\nurl = \"file:outbox\"\n[transports.hooks]\nurl = \"webhook://\"\n\
                    [lanes.mail]\ncontract = \"mail_outbox\"\ntransport = \"out\"\n\
                    [lanes.jobs]\ncontract = \"dispatch_jobs\"\ntransport = \"hooks\"\n";
    let sandbox = Sandbox::new(Some(settings));
    sandbox.run(&["migrate"]).success();
    let output = sandbox.run(&["check"]).success().stdout;
    assert!(output.contains("ok       transport `out` can write its folder\n"), "{output}");
    assert!(
        output.contains("ok       transport `hooks` is not probed: rows name their targets\n"),
        "{output}"
    );
    assert!(!output.contains("accepts the credentials"), "{output}");
}

/// MySQL scans a small table even with every index; its plan proves nothing.
#[tokio::test]
async fn a_plan_that_was_not_examined_is_not_praised() {
    let database = TestDatabase::new("mysql", CONTRACT).await;
    database.sql(TABLE).await;
    let output = database.sandbox.run(&["check"]).stdout;
    assert!(
        output.contains("the claim's query plan is not checked: the table has fewer than 1000 rows"),
        "{output}"
    );
    assert!(!output.contains("reads an index"), "{output}");

    let row = insert("1", "new", "0").replace(';', "");
    database.sql(&row).await;
    for round in 0..11 {
        let columns = "state, tries, made_at, topic, payload";
        let more =
            format!("INSERT INTO jobs (id, {columns}) SELECT CONCAT('{round}.', id), {columns} FROM jobs");
        database.sql(&more).await;
    }
    database.sql("ANALYZE TABLE jobs").await;
    database.assert_fault("warning", "the claim reads more rows than it claims: a ");
    database.sandbox.run(&["migrate"]).success();
    database.sql("ANALYZE TABLE jobs").await;
    let output = database.sandbox.run(&["check"]).stdout;
    assert!(output.contains("the claim reads an index in claim order"), "{output}");
}
