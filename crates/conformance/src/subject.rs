//! Subject: one stage of one contract, and what the laws need to know of it.

use std::collections::BTreeSet;

use postrider_contract::{Claimed, Condition, Contract, Layer, Role, Stage, StateId, When};

use crate::arena::Kind;

/// A column that no contract maps; the harness adds it to every table.
pub const FOREIGN: &str = "not_ours";

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
    /// What a lane says of its groups instead of the contract.
    pub on_error: Option<&'static str>,
}

impl Subject {
    /// Every stage of every contract that comes with the product, as a lane with an external queue runs it where it can
    /// have one.
    pub fn all() -> Vec<Self> {
        Contract::builtin_names()
            .map(|name| parse(name, &[]).with_queue())
            .flat_map(|contract| {
                (0..contract.stages.len()).map(move |stage| Self {
                    contract: contract.clone(),
                    stage,
                    on_error: None,
                })
            })
            .collect()
    }

    /// Lanes that say otherwise what a failure does to the rows behind it: what the laws of groups are about.
    pub fn varied() -> Vec<Self> {
        let vary = |name, on_error: &'static str| {
            let text = format!("[group]\non_error = {on_error:?}");
            let table = toml::from_str(&text).expect("it is TOML");
            let contract = parse(name, &[Layer::new("settings", "lanes.varied", table)]);
            Self { contract, stage: 0, on_error: Some(on_error) }
        };
        vec![vary("outbox", "block"), vary("outbox", "next"), vary("dispatch_jobs", "wait")]
    }

    /// The stage as this store runs it; `None` where it does not: DynamoDB has the layout of one contract.
    pub fn on(self, kind: Kind) -> Option<Self> {
        if kind != Kind::DynamoDb {
            return Some(self);
        }
        postrider_store_dynamodb::adapted(self.contract).ok().map(|contract| Self { contract, ..self })
    }

    /// `mail_outbox::dispatch`.
    pub fn name(&self) -> String {
        let name = format!("{}::{}", self.contract.name, self.stage().name);
        self.on_error.map_or_else(|| name.clone(), |on_error| format!("{name}::{on_error}"))
    }

    pub fn stage(&self) -> &Stage {
        &self.contract.stages[self.stage]
    }

    pub fn column(&self, role: Role) -> Option<&str> {
        self.contract.column(role)
    }

    pub fn has(&self, role: Role) -> bool {
        self.column(role).is_some()
    }

    /// The state that the tests' rows start in.
    pub fn ready(&self) -> StateId {
        self.stage().ready[0]
    }

    /// Where a row goes that is handed back or put off before its first attempt.
    pub fn untried(&self) -> StateId {
        self.stage().untried.unwrap_or(self.stage().retry)
    }

    pub fn claimed(&self) -> StateId {
        match self.stage().claimed {
            Claimed::State(state) => state,
            Claimed::Same => self.ready(),
        }
    }

    pub fn state_name(&self, state: StateId) -> &str {
        &self.contract.state(state).name
    }

    /// Columns that hold a time.
    pub fn time_columns(&self) -> BTreeSet<String> {
        let contract = &self.contract;
        let roles = Role::ALL.into_iter().filter(|role| role.is_time());
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

    /// Does this state begin another stage?
    pub fn begins_another_stage(&self, state: StateId) -> bool {
        let others = self.contract.stages.iter().enumerate().filter(|(index, _)| *index != self.stage);
        others.into_iter().any(|(_, stage)| stage.ready.contains(&state))
    }
}
