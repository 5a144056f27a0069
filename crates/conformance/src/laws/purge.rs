//! Laws of the purge: what is deleted, and what never is.

use std::time::Duration;

use postrider_contract::StateId;

use crate::cell::Cell;
use crate::test_case::TestCase;

const YEAR: Duration = Duration::from_hours(365 * 24);

pub(crate) async fn purge_spares_live_rows(case: &TestCase) {
    let worker = case.worker("a").await;
    let now = case.table.now().await;
    let rules = case.subject.contract.retention.clone();
    let (mut old, mut young) = (Vec::new(), Vec::new());
    for StateId(index) in case.subject.states() {
        let state = StateId(index);
        let mut row = case.row_in(index + 1, state).await;
        let rule = rules.iter().find(|rule| rule.state == state);
        let times = case.subject.time_columns();
        for column in rule.into_iter().flat_map(|rule| &rule.since).filter(|column| times.contains(*column)) {
            row.insert(column.clone(), Cell::Time(now));
        }
        let mut kept = row.clone();
        let id = case.put(row).await;
        case.age(&id, YEAR).await;
        old.push((state, id, rule.is_some()));
        if let Some(rule) = rule {
            // One day before its retention ends.
            let fresh = case.row_in(100 + index, state).await;
            let short = rule.after.saturating_sub(Duration::from_hours(24));
            for column in &rule.since {
                kept.insert(
                    column.clone(),
                    Cell::Time(now - i64::try_from(short.as_micros()).expect("days")),
                );
            }
            let times = kept.into_iter().filter(|(column, _)| rule.since.contains(column));
            young.push(case.put(fresh.into_iter().chain(times).collect()).await);
        }
    }
    let expired = old.iter().filter(|(_, _, expired)| *expired).count() as u64;
    assert_eq!(worker.purge().await, expired);
    for (state, id, expired) in &old {
        let gone = case.find(id).await.is_none();
        assert_eq!(gone, *expired, "a year old and {}", case.subject.state_name(*state));
    }
    for id in &young {
        assert!(case.find(id).await.is_some(), "its time has not come");
    }
    assert_eq!(worker.purge().await, 0, "a second purge finds nothing");
}
