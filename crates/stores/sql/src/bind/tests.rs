use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{GroupMode, Transition};
use postrider_seams::row::{Lease, RowId, Value};
use postrider_seams::store::{INLINE_LIMIT, Settlement};

use super::*;
use crate::claim::row::ClaimReader;
use crate::driver::execute::Arg;
use crate::settle::batches::{SettleBatch, group};
use crate::settle::params::Settlements;
use crate::typed::{Bound, Columns, Params as _};
use crate::{Dialect, Field, Layout, Param, Script, Settle, SettleRows, Step, Yields};

fn script(params: Vec<Param>) -> SettleRows {
    let step = Step { sql: String::new(), params, yields: Yields::Keys };
    SettleRows { script: Script { steps: vec![step] } }
}

/// Scripts in which `delivered` has a uniform form without receipts, and `retry` has none.
fn scripts() -> BTreeMap<Transition, Settle> {
    let each =
        script(vec![Param::Array(Field::Id), Param::Array(Field::Fence(0)), Param::Array(Field::Receipt)]);
    let uniform = Some(script(vec![Param::Ids, Param::One(Field::Fence(0))]));
    let retry = script(vec![Param::Rows(vec![Field::Id, Field::Fence(0), Field::Delay, Field::Reason])]);
    BTreeMap::from([
        (Transition::Delivered, Settle { uniform, each, remembering: None }),
        (Transition::Retry, Settle { uniform: None, each: retry, remembering: None }),
    ])
}

fn claim_reader() -> ClaimReader {
    let layout = Layout {
        integer_id: true,
        fences: 1,
        claim_time: None,
        pool: 6,
        fields: Arc::from(["to".to_owned()]),
        joined: Arc::from([]),
    };
    ClaimReader { layout, from: None }
}

fn delivered(id: i64, fence: &str) -> Settlement {
    Settlement {
        lease: Lease { id: RowId::Int(id), fence: Box::new([Value::Text(fence.to_owned())]) },
        transition: Transition::Delivered,
        delay: Duration::ZERO,
        reason: None,
        receipt: None,
        envelope: BTreeMap::new(),
        outcome: BTreeMap::new(),
        releases: Vec::new(),
    }
}

fn is_uniform(group: &SettleBatch<'_>) -> bool {
    group.script.script.steps[0].params.contains(&Param::Ids)
}

#[test]
fn rows_of_one_claim_take_the_uniform_statement_sorted_by_key() {
    let scripts = scripts();
    let moves: Vec<_> = [3, 1, 2].map(|id| delivered(id, "t")).into();
    let groups = group(&scripts, &moves, |_| true, 500).expect("known");
    assert_eq!(groups.len(), 1);
    assert!(is_uniform(&groups[0]));
    assert_eq!(groups[0].members, [1, 2, 0]);
}

#[test]
fn a_receipt_of_its_own_needs_the_general_statement() {
    let scripts = scripts();
    let mut moves: Vec<_> = (0..30).map(|id| delivered(id, "t")).collect();
    moves[7].receipt = Some("250 ok".into());
    let groups = group(&scripts, &moves, |_| true, 500).expect("known");
    assert_eq!(
        groups.iter().map(|group| (is_uniform(group), group.members.len())).collect::<Vec<_>>(),
        [(true, 29), (false, 1)]
    );
}

#[test]
fn scattered_fences_share_one_general_statement() {
    let scripts = scripts();
    let moves: Vec<_> = (0..40).map(|id| delivered(id, &format!("t{id}"))).collect();
    let groups = group(&scripts, &moves, |_| true, 500).expect("known");
    assert_eq!(groups.len(), 1);
    assert!(!is_uniform(&groups[0]));
    assert_eq!(groups[0].members, (0..40).collect::<Vec<_>>());
}

#[test]
fn a_key_named_twice_is_settled_in_turn_and_nothing_is_left_out() {
    let scripts = scripts();
    let mut moves = vec![delivered(1, "a"), delivered(1, "b"), delivered(2, "a")];
    moves[1].transition = Transition::Retry;
    let groups = group(&scripts, &moves, |_| true, 500).expect("known");
    assert!(groups.iter().all(|group| group.members != [0, 1]));
    let mut all: Vec<_> = groups.iter().flat_map(|group| group.members.clone()).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2]);
}

#[test]
fn groups_are_cut_at_the_limit() {
    let scripts = scripts();
    let moves: Vec<_> = (0..450).map(|id| delivered(id, "t")).collect();
    let sizes: Vec<_> = group(&scripts, &moves, |_| true, 200)
        .expect("known")
        .iter()
        .map(|group| group.members.len())
        .collect();
    assert_eq!(sizes, [200, 200, 50]);
}

#[test]
fn an_unknown_transition_is_an_error() {
    let mut one = delivered(1, "t");
    one.transition = Transition::Skipped;
    assert_eq!(group(&scripts(), &[one], |_| true, 500).expect_err("unknown"), Transition::Skipped);
}

#[test]
fn json_rows_carry_numbers_as_numbers_and_no_nul() {
    let mut one = delivered(7, "t");
    one.delay = Duration::from_millis(1500);
    one.reason = Some("a\0b \"q\"".into());
    let status = Field::Outcome("status".into());
    let rows = Param::Rows(vec![Field::Id, Field::Fence(0), Field::Delay, Field::Reason, status]);
    let given = [&one];
    let Some(Bound::One(Arg::Text(Some(text)))) = Settlements(&given).value(&rows, Dialect::Sqlite) else {
        panic!("a text");
    };
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!([{"id": "7", "f0": "t", "delay": 1.5, "reason": "a\u{fffd}b \"q\"", "o_status": null}])
    );
}

fn row(size: i64, to: Value) -> Vec<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    vec![
        Value::Int(5),
        text("f"),
        Value::Int(2),
        Value::Null,
        Value::Null,
        text("g"),
        text("wait"),
        text("p"),
        text("client"),
        Value::Int(-1),
        Value::Int(size),
        to,
    ]
}

#[test]
fn a_claimed_row_reads_by_the_layout() {
    let row = Columns::new(row(3, Value::Bytes(vec![0xff])));
    let claimed = claim_reader().read(row).expect("a key");
    assert_eq!(claimed.lease.id, RowId::Int(5));
    assert_eq!(claimed.counters.attempts, 2);
    let group = claimed.group.expect("in a group");
    assert_eq!((&*group.key, group.on_error), ("g", GroupMode::Wait));
    assert_eq!((claimed.pool.as_deref(), claimed.share.as_deref()), (Some("p"), Some("client")));
    assert_eq!(claimed.waited_micros, -1);
    assert_eq!(claimed.fields.expect("small").get("to"), &Value::Bytes(vec![0xff]));
}

#[test]
fn a_large_row_comes_without_its_fields() {
    let size = i64::try_from(INLINE_LIMIT).expect("small") + 1;
    let row = Columns::new(row(size, Value::Null));
    let claimed = claim_reader().read(row).expect("a key");
    assert!(claimed.fields.is_none());
    assert_eq!(claimed.size, INLINE_LIMIT + 1);
}

#[test]
fn tsids_are_crockford_and_sort_by_time() {
    assert_eq!(tsid::encode(0), "0000000000000");
    assert_eq!(tsid::encode(u64::MAX), "FZZZZZZZZZZZZ");
    assert!(tsid::encode(1 << 22) > tsid::encode((1 << 22) - 1));
    let many: Vec<String> = (0..10_000).map(|_| tsid()).collect();
    assert!(many.iter().all(|id| id.len() == 13));
    assert!(
        many.is_sorted_by(|a, b| a < b),
        "each is greater than the one before, however many a millisecond holds"
    );
}

#[test]
fn j01_an_id_past_the_range_of_its_millisecond_carries_into_time_not_into_the_process() {
    let (millis, process) = (7_u64, 1023_u64);
    let last = millis << 22 | process << 12 | 0xffe;
    assert_eq!(tsid::following(last), last + 1);
    assert_eq!(tsid::following(last + 1), (millis + 1) << 22 | process << 12);
}
