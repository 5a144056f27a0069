//! Migrations of the hub's tables: a second one changes nothing, and lost columns and tables are added again.

use postrider_hub::migrate;

use crate::fixture::{Fixture, on_every_database};

on_every_database!(a_second_migration_finds_nothing_missing, a_lost_index_and_column_are_added_again);

async fn a_second_migration_finds_nothing_missing(fixture: &Fixture) {
    assert_eq!(migrate::plan(&*fixture.database).await.expect("a plan"), Vec::<String>::new());
}

async fn a_lost_index_and_column_are_added_again(fixture: &Fixture) {
    fixture.run("ALTER TABLE dispatch_jobs DROP COLUMN created_by").await;
    fixture.run("DROP TABLE dispatch_pools").await;
    let ran = migrate::apply(&*fixture.database).await.expect("migrated");
    assert_eq!(ran.len(), 3, "{ran:#?}");
    assert_eq!(fixture.count("dispatch_pools").await, 0);
    assert_eq!(fixture.text("SELECT count(created_by) FROM dispatch_jobs").await.as_deref(), Some("0"));
}
