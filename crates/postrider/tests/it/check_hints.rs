//! The hints of `check` work: none leads in a circle, and each names its effect.

use crate::check_hazards::{CONTRACT, GROUP, TABLE, TestDatabase};

/// An enumerated type that lacks a state prevents the claim, and hides no other finding.
#[tokio::test]
async fn an_enum_type_hides_no_other_hazard() {
    let effect = "[[effect]]\non = [\"delivered\"]\ninsert = \"log\"\nvalues = { job = \"$id\" }\n";
    let database = TestDatabase::new("postgres", &format!("{CONTRACT}{GROUP}{effect}")).await;
    database.sql("CREATE TYPE job_state AS ENUM ('new', 'done', 'broken')").await;
    let table = TABLE.replace("state varchar(20)", "state job_state").replace("PRIMARY KEY", "NOT NULL");
    database.sql(&table.replace("failure text", "failure text NOT NULL")).await;
    database.sql("CREATE TABLE log (job varchar(40) NOT NULL, who text NOT NULL)").await;
    database.assert_fault("error", "state can't hold `taken` (state taken)");
    database.assert_fault("warning", "no primary key or unique index keeps id unique");
    database.assert_fault("error", "failure is NOT NULL");
    database.assert_fault("error", "log.who is NOT NULL");
    database.assert_fault("warning", "rows of the same topic may lose their order");
    let output = database.sandbox.run(&["check"]);
    assert!(!output.stdout.contains("keep their order"), "nothing was checked: {}", output.stdout);
}

/// PostgreSQL folds names; `check` also reports the tables next to the lane's own.
#[tokio::test]
async fn postgres_folds_names_of_related_tables() {
    let beside = [
        ("[[effect]]\non = [\"delivered\"]\ninsert = \"Log\"\nvalues = { job = \"$id\" }\n", "Log", "log"),
        (
            "[[join]]\nas = \"client\"\ntable = \"Clients\"\non = { id = \"row.topic\" }\ncolumns = [\"name\"]\n",
            "Clients",
            "clients",
        ),
        ("[pool]\ntable = \"Pools\"\n", "Pools", "pools"),
    ];
    for (part, wanted, there) in beside {
        let contract = CONTRACT.replace("created    = ", "pool       = \"topic\"\ncreated    = ");
        let database = TestDatabase::new("postgres", &format!("{contract}{part}")).await;
        database.sql(TABLE).await;
        let columns =
            "(id varchar(40), name text, job varchar(40), concurrency integer, rate integer, paused boolean)";
        database.sql(&format!("CREATE TABLE {there} {columns}")).await;
        let faults = database.faults();
        let is_wanted = |(_, text): &(String, String)| {
            text.contains(wanted)
                && text.contains(&format!("there is {there}"))
                && text.contains("PostgreSQL folds names")
        };
        assert!(faults.iter().any(is_wanted), "{wanted}: {faults:#?}");
    }
}

#[tokio::test]
async fn a_missing_column_is_reported_with_what_it_would_add() {
    for kind in ["postgres", "mysql", "sqlite"] {
        let contract = CONTRACT
            .replace("created    = ", "lease_until = \"held_until?\"\nowner = \"worker?\"\ncreated    = ");
        let database = TestDatabase::new(kind, &contract).await;
        database.sql(TABLE).await;
        database.assert_fault(
            "warning",
            "the table lacks the column held_until, which lets leases be short and be extended",
        );
        database.assert_fault(
            "warning",
            "the table lacks the column worker, which shows which worker holds a row",
        );
    }
}

/// `migrate` cannot help if the contract itself does not use the column.
#[tokio::test]
async fn unwritten_results_are_reported_with_their_remedy() {
    let mails = CONTRACT
        .replace("composer = \"record\"", "composer = \"email\"")
        .replace("topic   = \"topic\"", "to = \"topic\"\nsubject = \"topic\"\nresults = \"results\"")
        .replace("payload = \"payload\"", "text = \"payload\"");
    let database = TestDatabase::new("sqlite", &mails).await;
    database.sql(&TABLE.replace("payload text", "results text, payload text")).await;
    database.sandbox.run(&["migrate"]).success();
    database.assert_fault(
        "warning",
        "add [write] retry.results = \"$outcome.recipients or keep\" to the contract",
    );
    assert!(!database.faults().iter().any(|(_, text)| text.contains("run `postrider migrate`")));
    let written = format!("{mails}[write]\nretry.results = \"$outcome.recipients or keep\"\n");
    std::fs::write(database.sandbox.path("jobs.toml"), written).unwrap();
    assert!(!database.faults().iter().any(|(_, text)| text.contains("records which recipients")));
}

/// SQLite cannot add a column with the current time as its default.
#[tokio::test]
async fn rows_without_a_creation_time_are_reported_if_they_would_never_expire() {
    let expire = "[[sweep]]\nfrom = \"new\"\nto = \"broken\"\nolder_than = \"1d\"\n";
    let contract = format!("{CONTRACT}{expire}").replace("\"made_at\"", "\"made_at?\"");
    let database = TestDatabase::new("sqlite", &contract).await;
    database.sql(&TABLE.replace("made_at TIME NOT NULL, ", "")).await;
    database.sandbox.run(&["migrate"]).success();
    database.assert_fault(
        "warning",
        "made_at may be NULL and has no default: a row whose producer leaves it out never expires",
    );
    let database = TestDatabase::new("sqlite", &contract).await;
    database.sql(TABLE).await;
    database.sandbox.run(&["migrate"]).success();
    assert!(!database.faults().iter().any(|(_, text)| text.contains("made_at")));
}
