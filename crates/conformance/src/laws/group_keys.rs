//! Laws of group keys: unusual keys, very many keys, and new keys among held ones.

use std::collections::BTreeMap;

use postrider_contract::{ColumnRole, Transition};
use postrider_seams::store::LeaseResult;

use super::group_rows::modes;
use crate::cell::Cell;
use crate::row::HOUR;
use crate::test_case::TestCase;

/// Unusual characters in keys. MySQL's default collations ignore case and trailing blanks.
const ODD: [&str; 9] =
    ["0", "NULL", "a'b\"c\\d`e", "%_", "$1", "{\"k\": [1]}", "two words", "line\nbreak", "Ünïcødé 🚚"];

pub(crate) async fn unusual_keys(case: &TestCase) {
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    let long = "k".repeat(240);
    let mut groups = BTreeMap::new();
    for key in ODD.into_iter().chain(["", &long]) {
        groups.insert(key, case.put_group(key, 2, mode).await);
    }
    // One at a time, so that each group once is the one where the next claim starts.
    let mut got: Vec<_> = Vec::new();
    for _ in 0..groups.len() * 2 {
        let row = worker.claim_one().await;
        assert!(row.group.is_some(), "every key is one, the empty one too: {row:?}");
        assert_eq!(worker.settle_with(&row, Transition::Delivered).await, LeaseResult::Held);
        got.push(row);
    }
    assert!(worker.claim(10).await.is_empty());
    for (key, ids) in groups {
        let place = |id: &Cell| got.iter().position(|row| case.is(id, &row.lease.id));
        assert!(place(&ids[0]).is_some() && place(&ids[0]) < place(&ids[1]), "group {key:?} is in order");
    }
}

pub(crate) async fn every_group_is_delivered(case: &TestCase) {
    const GROUPS: usize = 130;
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    let now = case.table.now().await;
    let mut rows = Vec::new();
    for group in 0..GROUPS {
        for seq in 1..=3 {
            rows.push(case.group_row(&format!("g{group:03}"), seq, mode, now));
        }
    }
    case.table.insert(&case.subject.contract.table.name, &rows).await;
    let mut order: BTreeMap<String, Vec<String>> = BTreeMap::new();
    loop {
        let rows = worker.claim(7).await;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let group = row.group.as_ref().expect("it says its group").key.to_string();
            order.entry(group).or_default().push(row.lease.id.to_string());
            assert_eq!(worker.settle_with(&row, Transition::Delivered).await, LeaseResult::Held);
        }
    }
    assert_eq!(order.len(), GROUPS);
    // Keys are in the opposite order: see `grouped`.
    let id = |row: &crate::cell::Row| match &row[&case.subject.contract.table.id] {
        Cell::Int(id) => id.to_string(),
        Cell::Text(id) => id.clone(),
        other => panic!("no key: {other:?}"),
    };
    let expected: Vec<Vec<String>> = rows.chunks(3).map(|rows| rows.iter().map(id).collect()).collect();
    let got: Vec<Vec<String>> = order.into_values().collect();
    assert_eq!(got, expected, "each group whole and in order");
}

pub(crate) async fn new_group_among_held_ones(case: &TestCase) {
    // More rows than one claim reads: only the newest rows show the new group this soon.
    const HELD: usize = 2500;
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    let now = case.table.now().await;
    let due = case.subject.column(ColumnRole::Due).expect("retries have a due time").to_owned();
    let mut rows = Vec::with_capacity(HELD);
    for n in 0..HELD {
        let mut head = case.group_row(&format!("a{n:04}"), 1, mode, now);
        head.insert(due.clone(), Cell::Time(now + HOUR));
        rows.push(head);
    }
    case.table.insert(&case.subject.contract.table.name, &rows).await;
    let new = case.put_group("z", 1, mode).await;
    case.assert_rows(&worker.claim(10).await, &[&new[0]]);
}
