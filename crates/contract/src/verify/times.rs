//! Checks that `[table] times` names columns whose times the contract reads or writes.

use std::collections::BTreeSet;

use crate::{ColumnRole, Condition};

use super::Verifier;

impl Verifier<'_> {
    pub(super) fn times(&self) {
        let known = self.time_columns();
        for column in self.contract.table.times.keys().filter(|column| !known.contains(column.as_str())) {
            let remedy = postrider_config::suggestion(column, known.iter().copied());
            let what = "has no effect: the contract uses no time in this column";
            self.report.add_for_key(&format!("table.times.{column}"), what, remedy);
        }
    }

    fn time_columns(&self) -> BTreeSet<&str> {
        let contract = self.contract;
        let roles = ColumnRole::ALL.into_iter().filter(|role| role.is_time());
        let swept = contract.sweeps.iter().filter_map(|sweep| sweep.when.column());
        let kept = contract.retention.iter().flat_map(|rule| &rule.since).map(String::as_str);
        let counted = contract.counts.iter().filter_map(|count| count.within.as_ref());
        let conditions = contract.states.iter().flat_map(|state| &state.conditions);
        let never = conditions.filter(|(_, condition)| matches!(condition, Condition::Never(_)));
        roles
            .filter_map(|role| contract.column(role))
            .chain(swept)
            .chain(kept)
            .chain(counted.map(|(_, since)| since.as_str()))
            .chain(never.map(|(column, _)| column.as_str()))
            .collect()
    }
}
