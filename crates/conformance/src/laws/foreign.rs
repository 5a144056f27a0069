//! Laws for a worker of another program on the same table.

use std::collections::BTreeSet;

use crate::cell::Cell;
use crate::subject::Subject;
use crate::test_case::TestCase;
use crate::test_table::TestedStore;

const ROWS: usize = 600;

pub(crate) fn no_foreign_worker(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    let given = subject.contract.name == "mail_outbox" && kind == TestedStore::Postgres;
    (!given).then_some("its specification has no SQL for this database")
}

pub(crate) async fn foreign_worker(case: &TestCase) {
    case.put_ready(ROWS).await;
    let foreign = case.table.foreign().expect("checked");
    let (a, b) = (case.worker("a").await, case.worker("b").await);
    let ours = |worker| async move {
        let worker: crate::test_case::Worker = worker;
        let (mut taken, mut empty) = (Vec::new(), 0);
        while empty < 5 {
            let rows = worker.claim(20).await;
            empty = if rows.is_empty() { empty + 1 } else { 0 };
            taken.extend(rows.into_iter().map(|row| row.lease.id.to_string()));
        }
        taken
    };
    let theirs = async {
        let (mut taken, mut empty) = (Vec::new(), 0);
        while empty < 5 {
            let rows = foreign.claim(20).await;
            empty = if rows.is_empty() { empty + 1 } else { 0 };
            taken.extend(rows.into_iter().map(|id| match id {
                Cell::Int(id) => id.to_string(),
                Cell::Text(id) => id,
                other => panic!("no key: {other:?}"),
            }));
        }
        taken
    };
    let (first, second, foreign) = futures::join!(ours(a), ours(b), theirs);
    assert!(!foreign.is_empty() && !first.is_empty(), "both sides had a share");
    let all: Vec<&String> = first.iter().chain(&second).chain(&foreign).collect();
    let distinct: BTreeSet<&&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "a row went to two workers");
    assert_eq!(all.len(), ROWS, "a row went to nobody");
}
