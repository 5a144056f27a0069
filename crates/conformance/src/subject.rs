//! Test subject: one stage of one contract, and the properties of it that laws need.

use std::collections::BTreeSet;

use postrider_contract::{ClaimedState, ColumnRole, Condition, Contract, Layer, Stage, StateId, When};

use crate::test_table::TestedStore;

/// A column that no contract maps; the harness adds it to every table.
pub const UNMAPPED_COLUMN: &str = "not_ours";

fn parse(name: &str, layers: &[Layer]) -> Contract {
    let text = Contract::builtin(name).expect("its name is from the list");
    Contract::parse_with(&format!("{name}.toml"), text, layers)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// One stage of one contract.
#[derive(Debug, Clone)]
pub struct Subject {
    pub contract: Contract,
    pub stage: usize,
    /// The lane's `group.on_error`, if it overrides the contract's.
    pub on_error: Option<&'static str>,
    /// Whether delivered rows are deleted, other than in the built-in contract.
    pub deletes: bool,
}

impl Subject {
    /// Returns every stage of every built-in contract, with an external queue where the stage can have one.
    pub fn all() -> Vec<Self> {
        Contract::builtin_names()
            .map(|name| parse(name, &[]).with_queue())
            .flat_map(|contract| {
                (0..contract.stages.len()).map(move |stage| Self {
                    contract: contract.clone(),
                    stage,
                    on_error: None,
                    deletes: false,
                })
            })
            .collect()
    }

    /// Returns lanes that override what a failure does to later rows of the group, for the laws about groups.
    pub fn varied() -> Vec<Self> {
        let vary = |name, on_error: &'static str| {
            let text = format!("[group]\non_error = {on_error:?}");
            let table = toml::from_str(&text).expect("it is TOML");
            let contract = parse(name, &[Layer::new("settings", "lanes.varied", table)]);
            Self { contract, stage: 0, on_error: Some(on_error), deletes: false }
        };
        vec![vary("outbox", "block"), vary("outbox", "next"), vary("dispatch_jobs", "wait")]
    }

    /// Returns the `outbox` that deletes delivered rows, for every law.
    pub fn deleting() -> Self {
        let text = Contract::builtin("outbox").expect("its name is from the list");
        let changes = [("delivered = \"DELIVERED\"", "delivered = \"delete\""), ("\nDELIVERED = \"7d\"", "")];
        let text = changes.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the contract has {from}");
            text.replace(from, to)
        });
        let contract = Contract::parse("outbox.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        Self { contract, stage: 0, on_error: None, deletes: true }
    }

    /// Returns the stage as this store runs it; `None` if it cannot: DynamoDB has the layout of one contract only.
    pub fn on(self, kind: TestedStore) -> Option<Self> {
        if kind != TestedStore::DynamoDb {
            return Some(self);
        }
        postrider_store_dynamodb::adapted(self.contract).ok().map(|contract| Self { contract, ..self })
    }

    /// Returns the name in tests: `mail_outbox::dispatch`.
    pub fn name(&self) -> String {
        let mut name = format!("{}::{}", self.contract.name, self.stage().name);
        if self.deletes {
            name.push_str("::delete");
        }
        self.on_error.map_or_else(|| name.clone(), |on_error| format!("{name}::{on_error}"))
    }

    /// Returns the stage under test.
    pub fn stage(&self) -> &Stage {
        &self.contract.stages[self.stage]
    }

    /// Returns the column of `role`, if the contract has one.
    pub fn column(&self, role: ColumnRole) -> Option<&str> {
        self.contract.column(role)
    }

    /// Whether the contract has a column of `role`.
    pub fn has(&self, role: ColumnRole) -> bool {
        self.column(role).is_some()
    }

    /// Returns the states in which rows can be.
    pub fn states(&self) -> impl Iterator<Item = StateId> {
        let states = self.contract.states.iter().enumerate();
        states
            .filter(|(_, state)| !state.deletes)
            .map(|(index, _)| StateId(index))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Returns a state that no lane leaves: the delivered one, unless such rows are deleted.
    pub fn finished(&self) -> StateId {
        if self.deletes { self.stage().dead } else { self.stage().delivered }
    }

    /// Returns the state in which the tests' rows start.
    pub fn ready(&self) -> StateId {
        self.stage().ready[0]
    }

    /// Returns the state of a row that is released or deferred before its first attempt.
    pub fn untried(&self) -> StateId {
        self.stage().untried.unwrap_or(self.stage().retryable)
    }

    /// Returns the state of a claimed row; the ready state if a claim does not change it.
    pub fn claimed(&self) -> StateId {
        match self.stage().claimed {
            ClaimedState::State(state) => state,
            ClaimedState::Same => self.ready(),
        }
    }

    /// Returns the name of a state in the contract.
    pub fn state_name(&self, state: StateId) -> &str {
        &self.contract.state(state).name
    }

    /// Returns the columns that hold a time.
    pub fn time_columns(&self) -> BTreeSet<String> {
        let contract = &self.contract;
        let roles = ColumnRole::ALL.into_iter().filter(|role| role.is_time());
        let mut columns: BTreeSet<String> =
            roles.filter_map(|role| contract.column(role)).map(str::to_owned).collect();
        for sweep in &contract.sweeps {
            match &sweep.when {
                When::OlderThan { since, .. } => columns.insert(since.clone()),
                When::At { column } | When::Before { column } => columns.insert(column.clone()),
                When::Always => false,
            };
        }
        columns.extend(contract.retention.iter().flat_map(|rule| rule.since.iter().cloned()));
        let never = |condition: &Condition| matches!(condition, Condition::Never(_) | Condition::Null(_));
        for state in &contract.states {
            let times = state.conditions.iter().filter(|(_, condition)| never(condition));
            columns.extend(times.map(|(column, _)| column.clone()));
        }
        columns
    }

    /// Whether this state is a ready state of another stage.
    pub fn begins_another_stage(&self, state: StateId) -> bool {
        let others = self.contract.stages.iter().enumerate().filter(|(index, _)| *index != self.stage);
        others.into_iter().any(|(_, stage)| stage.ready.contains(&state))
    }
}
