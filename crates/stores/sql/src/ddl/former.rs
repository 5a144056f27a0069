//! Names the indexes that earlier versions created and that the contract no longer needs, with the statements that
//! drop them. `check` reports them; `migrate` drops nothing.
//!
//! Invariant: an index is named only if an earlier version gave it exactly this name. Indexes of the application are
//! never named.

use std::collections::BTreeSet;

use postrider_contract::{Contract, Stage, When};

use super::index::{Index, index_name};
use super::{added, needed, table_name};
use crate::groups::order::{live_mark, ordered_mark};
use crate::{Dialect, Error, Shape};

/// The API's indexes of earlier versions on the table of jobs.
const OF_THE_API: [&str; 6] = ["newest", "status", "client", "code", "event", "subscription"];

/// The API's index of rare statuses, which the contract's index of states replaces, except on MySQL.
const RARE_OF_THE_API: &str = "dispatch_jobs_rare_status";

/// An index that the API creates instead of these.
const OF_THE_API_NOW: &str = "dispatch_jobs_of_client";

/// An index that is no longer needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerIndex {
    pub name: String,
    /// The statement that drops it.
    pub drop: String,
}

/// Returns those of the existing indexes that an earlier version created and no lane of the contract needs.
pub fn unneeded(
    contract: &Contract,
    shape: &Shape,
    existing: &[Index],
    dialect: Dialect,
) -> Result<Vec<FormerIndex>, Error> {
    let shape = added(contract, dialect, shape.clone(), &mut Vec::new())?;
    let mut used: Vec<Index> = Vec::new();
    // Another lane of the table may have an external queue.
    for contract in [contract.clone(), contract.clone().with_queue()] {
        used.extend(needed::needed(&contract, dialect, &shape)?.into_iter().map(|needed| needed.index));
    }
    let own = needed::needed(contract, dialect, &shape)?;
    if own.iter().any(|needed| !existing.iter().any(|index| index.serves(&needed.index))) {
        // Until `migrate` has created the new indexes, the old ones serve.
        return Ok(Vec::new());
    }
    // An index that serves instead of a missing one is still needed.
    let is_there = |needed: &&Index| existing.iter().any(|index| index.name == needed.name);
    let is_used = |index: &Index| {
        used.iter().any(|needed| needed.name == index.name || (!is_there(&needed) && index.serves(needed)))
    };
    let mut former = former_names(contract, dialect);
    if existing.iter().any(|index| index.name == OF_THE_API_NOW) {
        former.extend(OF_THE_API.map(|what| format!("dispatch_jobs_{what}")));
    }
    if dialect != Dialect::Mysql {
        former.insert(RARE_OF_THE_API.to_owned());
    }
    let spent = |index: &Index| dialect != Dialect::Mysql && has_limit(contract, &index.name);
    let is_former = |index: &&Index| !is_used(index) && (former.contains(&index.name) || spent(index));
    let dropped = |index: &Index| FormerIndex {
        name: index.name.clone(),
        drop: drop_statement(contract, &index.name, dialect),
    };
    Ok(existing.iter().filter(is_former).map(dropped).collect())
}

fn drop_statement(contract: &Contract, name: &str, dialect: Dialect) -> String {
    let quoted = dialect.quoted(name);
    let schema = contract.table.schema.as_ref().map(|schema| format!("{}.", dialect.quoted(schema)));
    match dialect {
        // Without locking the table.
        Dialect::Postgres => format!("DROP INDEX CONCURRENTLY {}{quoted}", schema.unwrap_or_default()),
        Dialect::Mysql => format!("DROP INDEX {quoted} ON {}", table_name(contract, dialect)),
        Dialect::Sqlite => format!("DROP INDEX {quoted}"),
    }
}

/// Every name that an earlier version gave to an index of this contract's table.
fn former_names(contract: &Contract, dialect: Dialect) -> BTreeSet<String> {
    let mut parts = Vec::new();
    for stage in &contract.stages {
        let named = names_of_stage(contract, stage, dialect).into_iter();
        parts.extend(named.map(|what| format!("{}_{what}", stage.name)));
    }
    if dialect != Dialect::Mysql {
        let counts = 1..=contract.counts.len();
        parts.extend(counts.map(|at| if at == 1 { "same".to_owned() } else { format!("same{at}") }));
    }
    for state in contract.states.iter().map(|state| state.name.to_lowercase()) {
        parts.push(format!("{state}_purge"));
        if dialect != Dialect::Mysql {
            parts.push(format!("{state}_state"));
        }
    }
    for sweep in &contract.sweeps {
        match &sweep.when {
            When::At { column } => parts.push(format!("sweep_{column}")),
            When::Before { column } => parts.push(format!("sweep_before_{column}")),
            When::Always | When::OlderThan { .. } => {}
        }
    }
    parts.iter().map(|part| index_name(&contract.table.name, part)).collect()
}

fn names_of_stage(contract: &Contract, stage: &Stage, dialect: Dialect) -> Vec<String> {
    let group = contract.group.as_ref();
    let (live, ordered) =
        (group.map(live_mark).unwrap_or_default(), group.map(ordered_mark).unwrap_or_default());
    let mut names = vec!["claim".to_owned(), "pool".to_owned(), "lease".to_owned(), format!("order{live}")];
    if dialect == Dialect::Mysql {
        names.extend(["share".to_owned(), "held".to_owned(), format!("flight{live}")]);
    } else {
        names.push("held".to_owned());
        names.extend(["free", "share", "fresh", "flight"].map(|what| format!("{what}{ordered}")));
    }
    // MySQL has one index for each ready state.
    for number in 1..=stage.ready.len() {
        let number = if number == 1 { String::new() } else { number.to_string() };
        names.push(format!("offer{number}"));
        if dialect == Dialect::Mysql {
            names.extend(
                ["claim".to_owned(), format!("free{live}"), "fresh".to_owned()].map(|what| what + &number),
            );
        } else {
            names.push(format!("queued{number}"));
        }
    }
    names
}

/// Whether this is the name of an index of rare rows or of rows without attempts left, which had their limits in it.
fn has_limit(contract: &Contract, name: &str) -> bool {
    let of_stages = contract.stages.iter().map(|stage| format!("{}_spent", stage.name));
    of_stages.chain(["rare".to_owned()]).any(|what| {
        let beginning = index_name(&contract.table.name, &what);
        let limits = name.strip_prefix(&beginning).map(|rest| rest.strip_suffix("_own").unwrap_or(rest));
        // `rare` has one limit for each stage, and none if no rows can be without attempts left.
        let mut limits = limits.into_iter().flat_map(|limits| limits.split('_'));
        limits.next().is_some_and(|limit| what == "rare" && limit.is_empty() || is_number(limit))
            && limits.all(is_number)
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
