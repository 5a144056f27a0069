//! Laws of column contents: what is written to the contract's columns, and that others are left alone.

use std::collections::BTreeSet;
use std::time::Duration;

use postrider_contract::{ColumnRole, StateId, Transition};
use postrider_seams::Value;
use postrider_seams::store::{INLINE_LIMIT, LeaseResult, Settlement, SweepKind};

use crate::cell::{Cell, Row};
use crate::expected::Expected;
use crate::subject::Subject;
use crate::test_case::{TestCase, by_id, retry_transient, settlement};
use crate::test_table::{ColumnKind, TestedStore};

/// Returns the columns that a verb may write: roles, conditions of states, the contract's own writes.
fn mapped(subject: &Subject) -> BTreeSet<String> {
    let contract = &subject.contract;
    let written = [
        ColumnRole::Status,
        ColumnRole::Attempts,
        ColumnRole::Due,
        ColumnRole::ClaimedAt,
        ColumnRole::LeaseUntil,
        ColumnRole::Attempted,
        ColumnRole::Owner,
        ColumnRole::Version,
        ColumnRole::Error,
        ColumnRole::Receipt,
        ColumnRole::Updated,
        ColumnRole::Finished,
        ColumnRole::Duration,
    ];
    let roles = written.into_iter().filter_map(|role| contract.column(role)).map(str::to_owned);
    let states =
        contract.states.iter().flat_map(|state| state.conditions.iter().map(|(column, _)| column.clone()));
    let writes = contract.writes.iter().map(|write| write.column.name.clone());
    let swept =
        contract.sweeps.iter().flat_map(|sweep| sweep.writes.iter().map(|(column, _)| column.name.clone()));
    roles.chain(states).chain(writes).chain(swept).collect()
}

pub(crate) async fn unmapped_columns(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut ours = mapped(&case.subject);
    // Columns that the database computes from ours change with them.
    let computed = case.table.columns().iter().filter(|column| column.generated);
    ours.extend(computed.map(|column| column.name.clone()));
    let foreign =
        |row: Row| -> Row { row.into_iter().filter(|(column, _)| !ours.contains(column)).collect() };
    let mut n = 0;
    for transition in Transition::SETTLES {
        n += 1;
        let id = case.put(case.ready_row(n).await).await;
        let before = foreign(case.row(&id).await);
        assert!(before.contains_key(crate::subject::UNMAPPED_COLUMN), "there is a column of others'");
        let claimed = worker.claim_one().await;
        assert_eq!(foreign(case.row(&id).await), before, "by the claim");
        let lease = worker.extend(&claimed.lease).await.expect("it is held");
        assert_eq!(foreign(case.row(&id).await), before, "by the extension");
        let moved = Settlement { delay: Duration::from_mins(15), ..settlement(&lease, transition) };
        assert_eq!(worker.settle_one(moved).await, LeaseResult::Held);
        let deleted = case.subject.deletes && transition == Transition::Delivered;
        let left = if deleted { Row::new() } else { before };
        assert_eq!(foreign(case.row(&id).await), left, "by {transition}");
        case.finish_by_hand(&id).await;
    }
    let id = case.put(case.ready_row(50).await).await;
    worker.claim_one().await;
    case.expire(&id).await;
    let before = foreign(case.row(&id).await);
    worker.reclaim().await;
    assert_eq!(foreign(case.row(&id).await), before, "by the reclaim");
    case.finish_by_hand(&id).await;
    // Rows in every state, old and without attempts left: all that sweeps and operators can move.
    for StateId(index) in case.subject.states() {
        let mut row = case.row_in(100 + index, StateId(index)).await;
        row.insert(case.subject.column(ColumnRole::Attempts).expect("counted").to_owned(), Cell::Int(9));
        let id = case.put(row).await;
        case.age(&id, Duration::from_hours(48)).await;
        let before = foreign(case.row(&id).await);
        worker.sweep(SweepKind::Exhausted).await;
        for sweep in 0..case.subject.contract.sweeps.len() {
            worker.sweep(SweepKind::Contract(sweep)).await;
        }
        worker.requeue(&id).await;
        // Without a cancelled state this is an error, which another law checks.
        let _ = worker.store.cancel(&by_id(&id)).await;
        assert_eq!(foreign(case.row(&id).await), before, "from {}", case.subject.state_name(StateId(index)));
        case.finish_by_hand(&id).await;
    }
}

const AWKWARD: &str =
    "it's \"q\" \\ back\\\\slash\n\ttab \u{1F4EE} ñ 漢 %s ? $1 {held} ; -- /* \u{7f} {\"a\":[1]}";

pub(crate) fn no_message_text(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    Expected::of(subject).large.is_none().then_some("its message columns are names of files or keys")
}

pub(crate) async fn text_is_verbatim(case: &TestCase) {
    let worker = case.worker("a").await;
    let column = Expected::of(&case.subject).large.expect("checked");
    let is_json =
        case.table.columns().iter().any(|known| known.name == column && known.kind == ColumnKind::Json);
    let text = if is_json {
        r#""it's \"q\" \\ 📮 ñ 漢 %s ? $1 {held} ; --""#.to_owned()
    } else {
        AWKWARD.to_owned()
    };
    let mut row = case.ready_row(1).await;
    row.insert(column.to_owned(), Cell::text(&text));
    let id = case.put(row).await;
    let claimed = worker.claim_one().await;
    let fields = claimed.fields.clone().expect("it is small");
    let field = field_of(case, column);
    assert_eq!(fields.get(&field), &Value::Text(text), "on the way out");
    let failed = Settlement {
        reason: Some(AWKWARD.to_owned()),
        delay: Duration::from_mins(15),
        ..settlement(&claimed.lease, Transition::Retry)
    };
    assert_eq!(worker.settle_one(failed).await, LeaseResult::Held);
    let row = case.row(&id).await;
    assert_eq!(case.role(&row, ColumnRole::Error).as_text(), Some(AWKWARD), "on the way back");
}

/// Returns the composer's field name for a column.
fn field_of(case: &TestCase, column: &str) -> String {
    let fields = case.subject.contract.message_columns();
    fields.into_iter().find(|(_, known)| known == column).expect("it is a message column").0
}

pub(crate) fn no_large_column(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    Expected::of(subject).large.is_none().then_some("its message columns are names of files or keys")
}

pub(crate) async fn large_rows(case: &TestCase) {
    let worker = case.worker("a").await;
    let column = Expected::of(&case.subject).large.expect("checked");
    let size = usize::try_from(INLINE_LIMIT).expect("small") * 4;
    // A JSON string is valid in a text column too.
    let text = format!("\"{}\"", "0123456789abcdef".repeat(size / 16));
    for (n, body) in [(1, text.as_str()), (2, "\"small\"")] {
        let mut row = case.ready_row(n).await;
        row.insert(column.to_owned(), Cell::text(body));
        case.put(row).await;
    }
    let claimed = worker.claim(10).await;
    assert_eq!(claimed.len(), 2);
    let large =
        claimed.iter().find(|row| row.fields.is_none()).expect("a large row comes without its fields");
    assert!(large.size >= size as u64, "{} bytes", large.size);
    let small = claimed.iter().find(|row| row.fields.is_some()).expect("a small row comes with them");
    assert!(small.size < INLINE_LIMIT, "{} bytes", small.size);
    let leases = [small.lease.clone(), large.lease.clone()];
    let loaded = retry_transient(|| worker.store.load(&leases)).await;
    let field = field_of(case, column);
    let texts: Vec<_> =
        loaded.iter().map(|fields| fields.as_ref().expect("it is there").get(&field).clone()).collect();
    assert_eq!(texts, [Value::Text("\"small\"".to_owned()), Value::Text(text)], "in the order asked for");
}

pub(crate) fn nothing_unreadable(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    if Expected::of(subject).large.is_none() {
        return Some("its message columns are names of files or keys");
    }
    (kind != TestedStore::Sqlite).then_some("the database admits no text that is not valid UTF-8")
}

pub(crate) async fn unreadable_row(case: &TestCase) {
    let worker = case.worker("a").await;
    let column = Expected::of(&case.subject).large.expect("checked");
    let mut broken = case.ready_row(1).await;
    broken.insert(column.to_owned(), Cell::Bytes(vec![b'a', 0xff, 0xfe, b'z']));
    let id = case.put(broken).await;
    case.put(case.ready_row(2).await).await;
    let claimed = worker.claim(10).await;
    assert_eq!(claimed.len(), 2, "both are claimed: the one can be rejected, the other delivered");
    let broken = claimed.iter().find(|row| case.is(&id, &row.lease.id)).expect("it is there");
    let value = broken.fields.as_ref().expect("it is small").get(&field_of(case, column)).clone();
    assert_eq!(value, Value::Bytes(vec![b'a', 0xff, 0xfe, b'z']), "as it is, for the composer to refuse");
    assert_eq!(worker.settle_with(broken, Transition::Rejected).await, LeaseResult::Held);
    case.assert_state(&id, case.subject.stage().rejected).await;
}
