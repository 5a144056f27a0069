//! Stress test of ordered groups: many workers, failures in the middle of runs, and an oracle that sees every delivery.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postrider_contract::{GroupMode, Transition};
use postrider_seams::ClaimedRow;
use postrider_seams::store::{LeaseResult, Settlement};

use super::group_rows::holding_modes;
use crate::cell::Cell;
use crate::test_case::{TestCase, Worker, settlement};

/// The oracle's record of a group: its holder, and the rows delivered.
#[derive(Default)]
struct GroupRecord {
    held_by: Option<String>,
    delivered: Vec<String>,
}

pub(crate) async fn group_order_under_stress(case: &TestCase) {
    const GROUPS: usize = 12;
    const ROWS: i64 = 8;
    let mode = *holding_modes(case).first().unwrap_or(&GroupMode::Next);
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for group in 0..GROUPS {
        let name = format!("g{group:02}");
        let ids = case.put_group(&name, ROWS, mode).await;
        expected.insert(name, ids.iter().map(id_text).collect());
    }
    let oracle: Arc<Mutex<BTreeMap<String, GroupRecord>>> = Arc::default();
    let failed: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let mut workers = Vec::new();
    for n in 0..4 {
        let worker = case.worker(&format!("w{n}")).await;
        let (oracle, failed) = (Arc::clone(&oracle), Arc::clone(&failed));
        workers.push(tokio::spawn(async move { work(&worker, n, mode, &oracle, &failed).await }));
    }
    for worker in workers {
        worker.await.expect("a worker that keeps the order does not fail");
    }
    let oracle = oracle.lock().expect("no worker panicked");
    for (group, ids) in &expected {
        let record = oracle.iter().find(|(key, _)| key.ends_with(group)).map(|(_, record)| &record.delivered);
        assert_eq!(record, Some(ids), "group {group} was delivered whole and in order");
    }
}

fn id_text(id: &Cell) -> String {
    match id {
        Cell::Int(id) => id.to_string(),
        Cell::Text(id) => id.clone(),
        other => panic!("no key: {other:?}"),
    }
}

/// Claims and delivers; every third row fails once and hands back the rest of its run.
async fn work(
    worker: &Worker,
    n: usize,
    mode: GroupMode,
    oracle: &Mutex<BTreeMap<String, GroupRecord>>,
    failed: &Mutex<BTreeSet<String>>,
) {
    let name = format!("w{n}");
    let mut empty = 0;
    while empty < 40 {
        let rows = worker.claim(20).await;
        empty = if rows.is_empty() { empty + 1 } else { 0 };
        let mut runs: BTreeMap<String, Vec<ClaimedRow>> = BTreeMap::new();
        for row in rows {
            let key = row.group.as_ref().expect("it says its group").key.to_string();
            runs.entry(key).or_default().push(row);
        }
        for key in runs.keys() {
            let mut oracle = oracle.lock().expect("no worker panicked");
            let record = oracle.entry(key.clone()).or_default();
            assert_eq!(record.held_by, None, "group {key} is held by another worker");
            record.held_by = Some(name.clone());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        for (key, run) in runs {
            deliver_run(worker, &key, &run, mode, oracle, failed).await;
        }
        if empty > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn deliver_run(
    worker: &Worker,
    key: &str,
    run: &[ClaimedRow],
    mode: GroupMode,
    oracle: &Mutex<BTreeMap<String, GroupRecord>>,
    failed: &Mutex<BTreeSet<String>>,
) {
    let mut moves = Vec::new();
    for (at, row) in run.iter().enumerate() {
        let id = row.lease.id.to_string();
        let fails = mode != GroupMode::Next
            && id.bytes().map(usize::from).sum::<usize>().is_multiple_of(3)
            && failed.lock().expect("no worker panicked").insert(id.clone());
        if fails {
            let rest = run[at + 1..].iter().map(|row| row.lease.clone()).collect();
            moves.push(Settlement {
                delay: Duration::ZERO,
                releases: rest,
                ..settlement(&row.lease, Transition::Retry)
            });
            break;
        }
        oracle.lock().expect("no worker panicked").entry(key.to_owned()).or_default().delivered.push(id);
        moves.push(settlement(&row.lease, Transition::Delivered));
    }
    // Before the last settle no other worker can hold the group; after it any worker may.
    oracle.lock().expect("no worker panicked").entry(key.to_owned()).or_default().held_by = None;
    let held = worker.settle(&moves).await;
    assert!(held.iter().all(|held| *held == LeaseResult::Held), "nobody else had the rows");
}
