use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::Produce as _;
use postrider_seams::row::{Detail, Value};
use postrider_seams::store::Store;
use tokio::time::Instant;

use crate::server::{contract, settlement, with_database};

/// Whether the lane is woken before the deadline.
async fn is_woken(lane: &dyn Store) -> bool {
    let start = Instant::now();
    let wait = Duration::from_millis(300);
    lane.wake(start + wait).await;
    start.elapsed() < wait
}

/// MySQL has no notifications: these wake-ups stay within the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_wakes_the_lanes_on_its_table_and_a_settle_those_of_the_next_stage() {
    with_database(|server| async move {
        use postrider_seams::migrate::{Migrate as _, MigrateOptions};
        let database = server.database();
        database.migration(contract("emails")).apply(MigrateOptions::default()).await.expect("migrate");
        database.migration(contract("outbox")).apply(MigrateOptions::default()).await.expect("migrate");
        let open =
            async |name: &str, stage: &str| database.open(contract(name), stage, "test").await.expect("open");
        let (intake, send) = (open("emails", "intake").await, open("emails", "send").await);
        let other = open("outbox", "publish").await;
        assert!(!is_woken(&*intake).await, "nothing was written");
        let file = Detail::from([("payload_path".to_owned(), Value::Text("/mails/1.json".to_owned()))]);
        intake.produce(&file).await.expect("a row");
        assert!(is_woken(&*intake).await && is_woken(&*send).await, "both are on this table");
        assert!(!is_woken(&*other).await, "another table");
        let claimed = intake.claim(10).await.expect("claimed");
        assert_eq!(claimed.len(), 1);
        assert!(!is_woken(&*send).await, "a claim makes no row ready");
        let mut delivered = settlement(&claimed[0].lease, Transition::Delivered);
        let path = Value::Text("/mails/1.eml".to_owned());
        delivered.envelope.insert("eml_path".to_owned(), path);
        intake.settle(&[delivered]).await.expect("settled");
        assert!(is_woken(&*send).await, "the row is ready for the next stage");
        assert!(!is_woken(&*intake).await, "not for this one");
    })
    .await;
}
