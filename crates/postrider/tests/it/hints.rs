//! The hints of `check` work: none leads in a circle, and each names its effect.

use crate::hazards::{CONTRACT, GROUP, Place, TABLE};

/// An enumerated type that lacks a state prevents the claim, and hides no other finding.
#[tokio::test]
async fn an_enumerated_type_hides_no_other_hazard() {
    let effect = "[[effect]]\non = [\"delivered\"]\ninsert = \"log\"\nvalues = { job = \"$id\" }\n";
    let place = Place::new("postgres", &format!("{CONTRACT}{GROUP}{effect}")).await;
    place.sql("CREATE TYPE job_state AS ENUM ('new', 'done', 'broken')").await;
    let table = TABLE.replace("state varchar(20)", "state job_state").replace("PRIMARY KEY", "NOT NULL");
    place.sql(&table.replace("failure text", "failure text NOT NULL")).await;
    place.sql("CREATE TABLE log (job varchar(40) NOT NULL, who text NOT NULL)").await;
    place.says("error", "state can't hold `taken` (state taken)");
    place.says("warning", "no primary key or unique index keeps id unique");
    place.says("error", "failure is NOT NULL");
    place.says("error", "log.who is NOT NULL");
    place.says("warning", "rows of the same topic may lose their order");
    let said = place.shop.run(&["check"]);
    assert!(!said.out.contains("keep their order"), "nobody looked: {}", said.out);
}

/// PostgreSQL folds names; `check` also reports the tables next to the lane's own.
#[tokio::test]
async fn postgres_folds_names_of_the_tables_beside_it() {
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
        let place = Place::new("postgres", &format!("{contract}{part}")).await;
        place.sql(TABLE).await;
        let columns =
            "(id varchar(40), name text, job varchar(40), concurrency integer, rate integer, paused boolean)";
        place.sql(&format!("CREATE TABLE {there} {columns}")).await;
        let faults = place.faults();
        let told = |(_, text): &(String, String)| {
            text.contains(wanted)
                && text.contains(&format!("there is {there}"))
                && text.contains("PostgreSQL folds names")
        };
        assert!(faults.iter().any(told), "{wanted}: {faults:#?}");
    }
}

#[tokio::test]
async fn a_missing_column_is_told_with_what_it_would_add() {
    for kind in ["postgres", "mysql", "sqlite"] {
        let contract = CONTRACT
            .replace("created    = ", "lease_until = \"held_until?\"\nowner = \"worker?\"\ncreated    = ");
        let place = Place::new(kind, &contract).await;
        place.sql(TABLE).await;
        place.says(
            "warning",
            "the table lacks the column held_until, which lets leases be short and be extended",
        );
        place.says("warning", "the table lacks the column worker, which shows which worker holds a row");
    }
}

/// `migrate` cannot help if the contract itself does not use the column.
#[tokio::test]
async fn results_that_nothing_writes_are_told_with_what_helps() {
    let mails = CONTRACT
        .replace("composer = \"record\"", "composer = \"email\"")
        .replace("topic   = \"topic\"", "to = \"topic\"\nsubject = \"topic\"\nresults = \"results\"")
        .replace("payload = \"payload\"", "text = \"payload\"");
    let place = Place::new("sqlite", &mails).await;
    place.sql(&TABLE.replace("payload text", "results text, payload text")).await;
    place.shop.run(&["migrate"]).fine();
    place.says("warning", "add [write] retry.results = \"$outcome.recipients?\" to the contract");
    assert!(!place.faults().iter().any(|(_, text)| text.contains("run `postrider migrate`")));
    let written = format!("{mails}[write]\nretry.results = \"$outcome.recipients?\"\n");
    std::fs::write(place.shop.path("jobs.toml"), written).unwrap();
    assert!(!place.faults().iter().any(|(_, text)| text.contains("remembers which recipients")));
}

/// SQLite cannot add a column with the current time as its default.
#[tokio::test]
async fn rows_without_a_time_of_creation_are_told_of_where_they_would_never_expire() {
    let expire = "[[sweep]]\nfrom = \"new\"\nto = \"broken\"\nolder_than = \"1d\"\n";
    let contract = format!("{CONTRACT}{expire}").replace("\"made_at\"", "\"made_at?\"");
    let place = Place::new("sqlite", &contract).await;
    place.sql(&TABLE.replace("made_at TIME NOT NULL, ", "")).await;
    place.shop.run(&["migrate"]).fine();
    place.says(
        "warning",
        "made_at may be NULL and has no default: a row whose producer leaves it out never expires",
    );
    let place = Place::new("sqlite", &contract).await;
    place.sql(TABLE).await;
    place.shop.run(&["migrate"]).fine();
    assert!(!place.faults().iter().any(|(_, text)| text.contains("made_at")));
}
