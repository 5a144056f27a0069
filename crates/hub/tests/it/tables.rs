//! Migrations of the hub's tables: a second one changes nothing, and lost columns and tables are added again.

use postrider_hub::migrate;

use crate::site::{Site, on_every_database};

on_every_database!(a_second_migration_finds_nothing_missing, a_lost_index_and_column_are_added_again);

async fn a_second_migration_finds_nothing_missing(site: &Site) {
    assert_eq!(migrate::plan(&*site.database).await.expect("a plan"), Vec::<String>::new());
}

async fn a_lost_index_and_column_are_added_again(site: &Site) {
    site.run("ALTER TABLE dispatch_jobs DROP COLUMN created_by").await;
    site.run("DROP TABLE dispatch_pools").await;
    let ran = migrate::apply(&*site.database).await.expect("migrated");
    assert_eq!(ran.len(), 3, "{ran:#?}");
    assert_eq!(site.count("dispatch_pools").await, 0);
    assert_eq!(site.text("SELECT count(created_by) FROM dispatch_jobs").await.as_deref(), Some("0"));
}
