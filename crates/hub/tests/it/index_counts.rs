//! The number of indexes on the table of jobs: those of the contract and of the API together. Every one costs writes, so
//! none is added unnoticed. Unique indexes are not counted.

use crate::fixture::{self, Fixture};

async fn assert_indexes(fixture: &Fixture, query: &str, expected: &str) {
    assert_eq!(fixture.text(query).await.as_deref(), Some(expected), "{query}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_have_few_indexes_on_postgresql() {
    fixture::postgres(|fixture| async move {
        let query = "SELECT count(*)::text FROM pg_index WHERE indrelid = 'dispatch_jobs'::regclass AND NOT indisunique";
        assert_indexes(&fixture, query, "8").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_have_few_indexes_on_mysql() {
    fixture::mysql(|fixture| async move {
        let query = "SELECT CAST(COUNT(DISTINCT index_name) AS CHAR) FROM information_schema.statistics \
                     WHERE table_schema = DATABASE() AND table_name = 'dispatch_jobs' AND non_unique = 1";
        assert_indexes(&fixture, query, "10").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_have_few_indexes_on_sqlite() {
    fixture::sqlite(|fixture| async move {
        let query =
            "SELECT CAST(count(*) AS TEXT) FROM pragma_index_list('dispatch_jobs') WHERE \"unique\" = 0";
        assert_indexes(&fixture, query, "8").await;
    })
    .await;
}
