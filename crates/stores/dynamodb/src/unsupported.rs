//! The keys of a contract that DynamoDB has no use for: its layout, its claims and its fence are code.
//!
//! Invariant: a key that would change nothing is refused. What remains is read by this store, by `postrider-rows`, or by
//! the engine.

use std::time::Duration;

use postrider_contract::{ClaimOrder, ColumnRole, Contract, TimeForm};

/// Returns the contract's keys that DynamoDB does not support, each with the reason, which continues a sentence.
pub fn unsupported_keys(contract: &Contract) -> Vec<(&'static str, &'static str)> {
    let order = [ColumnRole::Updated, ColumnRole::Id].map(ClaimOrder::of);
    let is_fence = |role: &ColumnRole| matches!(role, ColumnRole::Version | ColumnRole::ClaimedAt);
    let history = contract.history.as_ref().map(|history| history.table.as_str());
    let updated = contract.column(ColumnRole::Updated);
    let is_set = [
        ("table.time", contract.table.time != TimeForm::Native || !contract.table.times.is_empty()),
        ("claim.order", contract.claim.order != order),
        ("claim.fair", contract.claim.fair.is_some()),
        ("group", contract.group.is_some()),
        ("join", !contract.joins.is_empty()),
        ("stage", contract.states.iter().any(|state| state.deletes)),
        ("tally", !contract.counts.is_empty()),
        ("pool", contract.pool.is_some()),
        ("lease.fence", contract.stages.iter().any(|stage| !stage.lease.fence.iter().all(is_fence))),
        ("effect", contract.effects.iter().any(|effect| Some(effect.table.as_str()) != history)),
        (
            "retention",
            // Without `since`, the last change comes first.
            contract
                .retention
                .iter()
                .any(|rule| rule.after > Duration::ZERO && rule.since.first().map(String::as_str) != updated),
        ),
    ];
    is_set.into_iter().filter(|(_, set)| *set).map(|(key, _)| (key, reason(key))).collect()
}

fn reason(key: &str) -> &'static str {
    match key {
        "table.time" => "cannot be set on DynamoDB, where times are RFC 3339 texts",
        "claim.order" => {
            "cannot be set on DynamoDB, which claims the oldest change first: [\"updated\", \"id\"]"
        }
        "claim.fair" => "is not possible on DynamoDB, which claims the oldest change first",
        "group" | "join" => "is not possible on DynamoDB, which can't claim by it",
        "stage" => "cannot end with \"delete\" on DynamoDB, which records each state",
        "tally" => "is not possible on DynamoDB, which counts nothing",
        "pool" => "is not possible on DynamoDB, which has no pool limits",
        "lease.fence" => "cannot be set on DynamoDB, where the fence is the time of the last move",
        "effect" => "is not possible on DynamoDB, which records moves in the table itself",
        _ => "`since` cannot be set on DynamoDB, where the age counts from the move into the state",
    }
}

#[cfg(test)]
mod tests {
    use postrider_contract::{Column, PoolTable, StateId};

    use super::*;

    type Change = fn(&mut Contract);

    /// Returns the unsupported keys of the contract `emails` after a change.
    fn unsupported(change: Change) -> Vec<&'static str> {
        let text = Contract::builtin("emails").unwrap();
        let mut contract = Contract::parse("emails", text).unwrap();
        change(&mut contract);
        unsupported_keys(&contract).into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn keys_that_would_change_nothing_are_refused() {
        let rule = |since: &[&str]| postrider_contract::Retention {
            state: StateId(0),
            after: Duration::from_hours(1),
            since: since.iter().map(|column| (*column).to_owned()).collect(),
        };
        assert_eq!(unsupported(|_| ()), [""; 0]);
        assert_eq!(unsupported(|contract| contract.claim.min_age = Duration::from_secs(1)), [""; 0]);
        assert_eq!(
            unsupported(|contract| contract.stages[0].lease.fence = vec![ColumnRole::ClaimedAt]),
            [""; 0]
        );
        let changes: [(&str, Change); 7] = [
            ("stage", |contract| contract.states[0].deletes = true),
            ("claim.order", |contract| contract.claim.order[0].descending = true),
            ("claim.order", |contract| contract.claim.order[0] = ClaimOrder::of(ColumnRole::Created)),
            ("claim.fair", |contract| {
                contract.claim.fair = Some(Column { name: "client".to_owned(), optional: false });
            }),
            ("lease.fence", |contract| contract.stages[3].lease.fence = vec![ColumnRole::Owner]),
            ("table.time", |contract| contract.table.time = TimeForm::EpochMillis),
            ("effect", |contract| contract.effects[0].table = "audit".to_owned()),
        ];
        for (key, change) in changes {
            assert_eq!(unsupported(change), [key]);
        }
        let names = || "x".to_owned();
        let pool =
            PoolTable { table: names(), id: names(), concurrency: names(), rate: names(), paused: names() };
        let mut contract = Contract::parse("emails", Contract::builtin("emails").unwrap()).unwrap();
        contract.pool = Some(pool);
        contract.retention = vec![rule(&["updated_at"]), rule(&["updated_at", "created_at"])];
        assert_eq!(unsupported_keys(&contract).len(), 1);
        contract.retention = vec![rule(&["created_at"])];
        assert_eq!(unsupported_keys(&contract).len(), 2);
    }
}
