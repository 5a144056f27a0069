//! Groups settlements into statements: one group per transition, and one statement with shared values where rows allow
//! it.

use std::collections::{BTreeMap, HashMap};

use postrider_contract::{STORED_RECIPIENTS, Transition};
use postrider_seams::row::{RowId, Value};
use postrider_seams::store::Settlement;

use crate::settle::params::settlement_value;
use crate::settle::statements::{Settle, SettleRows};
use crate::{Field, Param, Script};

/// Below this number of rows, one more round trip costs more than writing the rows with the general statement.
const UNIFORM_LEAST: usize = 24;

/// Settlements that one script writes, sorted by key so that two workers lock rows in the same order.
#[derive(Debug)]
pub struct SettleBatch<'a> {
    pub script: &'a SettleRows,
    /// Indexes into the caller's settlements.
    pub members: Vec<usize>,
}

/// Groups the settlements that `which` selects, at most `most` per group.
///
/// Errs with the transition if the program has no script for it.
pub fn group<'a>(
    scripts: &'a BTreeMap<Transition, Settle>,
    moves: &[Settlement],
    which: impl Fn(usize) -> bool,
    most: usize,
) -> Result<Vec<SettleBatch<'a>>, Transition> {
    let mut rounds: BTreeMap<(usize, Transition, bool), Vec<usize>> = BTreeMap::new();
    let mut seen: HashMap<&RowId, usize> = HashMap::with_capacity(moves.len());
    for (index, settlement) in moves.iter().enumerate().filter(|(index, _)| which(*index)) {
        // A key that is named twice is settled twice, one after the other; the fence decides about the second.
        let round = seen.entry(&settlement.lease.id).and_modify(|times| *times += 1).or_insert(0);
        let remembers = settlement.outcome.contains_key(STORED_RECIPIENTS);
        rounds.entry((*round, settlement.transition, remembers)).or_default().push(index);
    }
    let mut groups = Vec::with_capacity(rounds.len());
    for ((_, transition, remembers), mut members) in rounds {
        let settle = scripts.get(&transition).ok_or(transition)?;
        members.sort_unstable_by(|a, b| moves[*a].lease.id.cmp(&moves[*b].lease.id));
        if let Some(script) = settle.remembering.as_ref().filter(|_| remembers) {
            let chunks = members.chunks(most.max(1));
            groups.extend(chunks.map(|chunk| SettleBatch { script, members: chunk.to_vec() }));
            continue;
        }
        split(settle, &members, moves, most.max(1), &mut groups);
    }
    Ok(groups)
}

fn split<'a>(
    settle: &'a Settle,
    members: &[usize],
    moves: &[Settlement],
    most: usize,
    groups: &mut Vec<SettleBatch<'a>>,
) {
    let mut push = |script: &'a SettleRows, members: &[usize]| {
        for chunk in members.chunks(most) {
            groups.push(SettleBatch { script, members: chunk.to_vec() });
        }
    };
    let Some(uniform) = &settle.uniform else { return push(&settle.each, members) };
    let shared = shared_fields(&uniform.script);
    let own = own_fields(&settle.each.script, &shared);
    let mut buckets: Vec<(Vec<Value>, Vec<usize>)> = Vec::new();
    let mut rest = Vec::new();
    for index in members.iter().copied() {
        if own.iter().any(|field| settlement_value(field, &moves[index]) != Value::Null) {
            rest.push(index);
            continue;
        }
        let values: Vec<Value> = shared.iter().map(|field| settlement_value(field, &moves[index])).collect();
        match buckets.iter().position(|(known, _)| *known == values) {
            Some(bucket) => buckets[bucket].1.push(index),
            // With more buckets than this, the rows share too little to be worth a statement.
            None if buckets.len() < 8 => buckets.push((values, vec![index])),
            None => rest.push(index),
        }
    }
    let alone = rest.is_empty() && buckets.len() == 1;
    for (_, bucket) in buckets {
        if alone || bucket.len() >= UNIFORM_LEAST { push(uniform, &bucket) } else { rest.extend(bucket) }
    }
    if !rest.is_empty() {
        rest.sort_unstable_by(|a, b| moves[*a].lease.id.cmp(&moves[*b].lease.id));
        push(&settle.each, &rest);
    }
}

/// The fields whose values all rows of a uniform settle must share.
fn shared_fields(uniform: &Script) -> Vec<Field> {
    binds(uniform)
        .filter_map(|bind| match bind {
            Param::One(field) => Some(field.clone()),
            _ => None,
        })
        .collect()
}

/// The fields that only the general settle writes: a row with a value for one of them cannot use the uniform one.
fn own_fields(each: &Script, shared: &[Field]) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for bind in binds(each) {
        match bind {
            Param::Array(field) => fields.push(field.clone()),
            Param::Rows(members) => fields.extend(members.iter().cloned()),
            _ => {}
        }
    }
    fields.retain(|field| *field != Field::Id && !shared.contains(field));
    fields
}

fn binds(script: &Script) -> impl Iterator<Item = &Param> {
    script.steps.iter().flat_map(|step| &step.params)
}
