//! The tables of well-known libraries: the draft of each is its recipe, and even without the layout it is close.

use postrider_composers::message;
use postrider_contract::Contract;
use postrider_draft::{Answers, draft, guess, known_layouts};
use postrider_seams::table::DatabaseKind;

use crate::ddl::described;

const SCRIPTS: [(&str, DatabaseKind, &str); 10] = [
    (
        "transaction-outbox",
        DatabaseKind::Postgres,
        include_str!("../../../../docs/recipes/transaction-outbox.postgres.sql"),
    ),
    (
        "transaction-outbox",
        DatabaseKind::Mysql,
        include_str!("../../../../docs/recipes/transaction-outbox.mysql.sql"),
    ),
    ("namastack", DatabaseKind::Postgres, include_str!("../../../../docs/recipes/namastack.postgres.sql")),
    (
        "django-post-office",
        DatabaseKind::Postgres,
        include_str!("../../../../docs/recipes/django-post-office.postgres.sql"),
    ),
    (
        "flowcatalyst",
        DatabaseKind::Postgres,
        include_str!("../../../../docs/recipes/flowcatalyst.postgres.sql"),
    ),
    (
        "sbmt-outbox",
        DatabaseKind::Postgres,
        include_str!("../../../../docs/recipes/sbmt-outbox.postgres.sql"),
    ),
    (
        "laravel-emails",
        DatabaseKind::Mysql,
        include_str!("../../../../docs/recipes/laravel-emails.mysql.sql"),
    ),
    (
        "rails-mails",
        DatabaseKind::Postgres,
        include_str!("../../../../docs/recipes/rails-mails.postgres.sql"),
    ),
    ("rails-mails", DatabaseKind::Sqlite, include_str!("../../../../docs/recipes/rails-mails.sqlite.sql")),
    (
        "cap-published",
        DatabaseKind::Postgres,
        include_str!("../../../../docs/recipes/cap-published.postgres.sql"),
    ),
];

/// The lines that matter, without comments and alignment, sorted within the file as they stand.
fn lines(contract: &str) -> Vec<String> {
    let code = contract.lines().map(|line| line.split('#').next().unwrap_or_default());
    let spaced = code.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    spaced.filter(|line| !line.is_empty()).collect()
}

/// The number of lines that one of the two has and the other lacks, the larger of both directions.
fn difference(draft: &str, recipe: &str) -> usize {
    let (draft, recipe) = (lines(draft), lines(recipe));
    let lacks =
        |these: &[String], those: &[String]| these.iter().filter(|line| !those.contains(line)).count();
    lacks(&draft, &recipe).max(lacks(&recipe, &draft))
}

#[test]
fn a_draft_differs_from_its_recipe_in_at_most_five_lines() {
    for (name, database, script) in SCRIPTS {
        let table = described(database, script);
        let made = draft(&table, None, &Answers::new());
        assert_eq!(made.layout, Some(name));
        let layout = known_layouts().iter().find(|layout| layout.name == name).expect("it is known");
        let different = difference(&made.text, layout.contract);
        assert!(different <= 5, "{name}: {different} lines\n{}", made.text);
        let contract = Contract::parse(name, &made.text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(message::verify(&contract, name), [], "{name}");
    }
}

/// Lines that differ if the library is not known, so that the guesses do not become worse.
const BY_GUESSES: [(&str, usize); 8] = [
    ("transaction-outbox", 11),
    ("namastack", 9),
    ("django-post-office", 24),
    ("flowcatalyst", 22),
    ("sbmt-outbox", 14),
    ("laravel-emails", 13),
    ("rails-mails", 7),
    ("cap-published", 16),
];

/// Guesses alone make a valid contract of each table, and come close, although the tables are empty.
#[test]
fn guesses_alone_come_close_to_the_recipes() {
    for (name, database, script) in SCRIPTS {
        let made = guess(&described(database, script), None, &Answers::new());
        let contract =
            Contract::parse(name, &made.text).unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
        assert_eq!(message::verify(&contract, name), [], "{name}\n{}", made.text);
        let layout = known_layouts().iter().find(|layout| layout.name == name).expect("it is known");
        let different = difference(&made.text, layout.contract);
        let (_, most) = BY_GUESSES.iter().find(|(known, _)| *known == name).expect("it is listed");
        assert!(different <= *most, "{name} {database:?}: {different} lines\n{}", made.text);
    }
}
