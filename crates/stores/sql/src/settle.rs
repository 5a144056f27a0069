//! Runs settle and extend: moves guarded by the fence, one script per group.

pub(crate) mod batches;
pub(crate) mod deletion;
pub(crate) mod params;
pub(crate) mod recipients;
pub(crate) mod statements;
pub(crate) mod unanswered;

use std::collections::HashMap;

use postrider_seams::row::{Lease, RowId};
use postrider_seams::store::{Class, Error, LeaseResult, Settlement};

use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::settle::batches::{SettleBatch, group};
use crate::settle::params::{Leases, Settlements};
use crate::settle::statements::{ExtendLeases, SettleRows};

impl OpenTable {
    /// Settles rows, and returns for each whether its lease still held. Errs if the database refuses all of them.
    pub async fn settle(&self, on: &impl Driver, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        let (mut answers, refusal) = self.settle_once(on, moves).await?;
        self.settle_renewed(on, moves, &mut answers).await?;
        if let Some(error) = refusal
            && answers.iter().all(|answer| *answer == LeaseResult::Refused)
        {
            return Err(error);
        }
        self.record_late(on, moves, &answers).await?;
        self.clear_crashes(on, moves, &answers).await;
        let back =
            moves.iter().flat_map(|settlement| settlement.releases.iter().map(|lease| lease.id.clone()));
        let own = moves.iter().filter(|settlement| settlement.is_untried());
        let own = own.map(|settlement| settlement.lease.id.clone());
        self.refund(on, own.chain(back).collect()).await;
        Ok(answers)
    }

    /// Settles rows with the leases given; returns the error of a row that was refused as well.
    async fn settle_once(
        &self,
        on: &impl Driver,
        moves: &[Settlement],
    ) -> Result<(Vec<LeaseResult>, Option<Error>), Error> {
        let holding: Vec<usize> = (0..moves.len()).filter(|at| !moves[*at].releases.is_empty()).collect();
        let groups = self.grouped(moves, |at| moves[at].releases.is_empty())?;
        let (mut answers, mut refusal) = (vec![LeaseResult::Lost; moves.len()], None);
        for at in holding {
            answers[at] = self.settle_holding(on, &moves[at], &mut refusal).await?;
        }
        for group in groups {
            let settled = settle_group(on, group.script, moves, &group.members).await?;
            for index in group.members {
                if let Some(answer) = settled.answers.get(&moves[index].lease.id) {
                    answers[index] = *answer;
                }
            }
            refusal = refusal.or(settled.refusal);
        }
        Ok((answers, refusal))
    }

    /// Records attempts of rows that were cancelled meanwhile.
    async fn record_late(
        &self,
        on: &impl Driver,
        moves: &[Settlement],
        answers: &[LeaseResult],
    ) -> Result<(), Error> {
        let late = &self.statements.late;
        let tried = |at: usize| answers[at] == LeaseResult::Lost && late.contains_key(&moves[at].transition);
        if !(0..moves.len()).any(tried) {
            return Ok(());
        }
        let groups = group(late, moves, tried, self.settle_batch()).unwrap_or_default();
        for group in groups {
            settle_group(on, group.script, moves, &group.members).await?;
        }
        Ok(())
    }

    fn grouped(
        &self,
        moves: &[Settlement],
        which: impl Fn(usize) -> bool,
    ) -> Result<Vec<SettleBatch<'_>>, Error> {
        group(&self.statements.settle, moves, which, self.settle_batch()).map_err(|transition| {
            let (contract, stage) = (&self.contract.name, &self.stage.name);
            Error::new(
                Class::Permanent,
                format!("contract {contract} has no move {transition} in stage {stage}"),
            )
        })
    }

    /// Settles a row that holds its group and releases the rows behind it, in one transaction, the row itself last.
    async fn settle_holding(
        &self,
        on: &impl Driver,
        settlement: &Settlement,
        refusal: &mut Option<Error>,
    ) -> Result<LeaseResult, Error> {
        let rest: Vec<Settlement> = settlement.releases.iter().cloned().map(Settlement::released).collect();
        let own = std::slice::from_ref(settlement);
        let mut batches: Vec<(&SettleRows, Vec<&Settlement>)> = Vec::new();
        for (moves, groups) in [(&*rest, self.grouped(&rest, |_| true)?), (own, self.grouped(own, |_| true)?)]
        {
            let members = |group: &SettleBatch<'_>| group.members.iter().map(|at| &moves[*at]).collect();
            batches.extend(groups.iter().map(|group| (group.script, members(group))));
        }
        let calls: Vec<_> = batches.iter().map(|(script, rows)| (*script, Settlements(rows))).collect();
        match on.fetch_all("settle a run", &calls).await {
            Ok(mut settled) => {
                let is_own = settled.pop().unwrap_or_default().contains(&settlement.lease.id);
                Ok(if is_own { LeaseResult::Held } else { LeaseResult::Lost })
            }
            // The row itself is at fault: the rows behind it are released, and its lease holds its group.
            Err(error) if error.class == Class::Permanent => {
                note_refused(&settlement.lease.id, &error);
                for group in self.grouped(&rest, |_| true)? {
                    settle_group(on, group.script, &rest, &group.members).await?;
                }
                refusal.get_or_insert(error);
                Ok(LeaseResult::Refused)
            }
            Err(error) => Err(error),
        }
    }

    /// Extends leases and returns them with new fences; `None` for a lease that was lost.
    ///
    /// After an error the fences that were written are found again by the next call with these leases, of any verb.
    pub async fn extend(&self, on: &impl Driver, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        // A lease that cannot expire needs no extension.
        let Some(script) = &self.statements.extend else {
            return Ok(leases.iter().cloned().map(Some).collect());
        };
        match self.extend_all(on, script, leases).await {
            Ok(mut extended) => {
                self.unanswered.forget(leases.iter().map(|lease| &lease.id));
                Ok(leases.iter().map(|lease| extended.remove(&lease.id)).collect())
            }
            Err(error) => {
                self.note_unanswered(leases);
                Err(error)
            }
        }
    }

    async fn extend_all(
        &self,
        on: &impl Driver,
        script: &ExtendLeases,
        leases: &[Lease],
    ) -> Result<HashMap<RowId, Lease>, Error> {
        let mut extended = self.extend_once(on, script, leases.iter()).await?;
        let lost = leases.iter().filter(|lease| !extended.contains_key(&lease.id));
        let renewed = self.renewed(on, lost).await?;
        extended.extend(self.extend_once(on, script, renewed.values()).await?);
        Ok(extended)
    }

    async fn extend_once(
        &self,
        on: &impl Driver,
        script: &ExtendLeases,
        leases: impl Iterator<Item = &Lease>,
    ) -> Result<HashMap<RowId, Lease>, Error> {
        let mut sorted: Vec<&Lease> = leases.collect();
        sorted.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let mut extended: HashMap<RowId, Lease> = HashMap::with_capacity(sorted.len());
        for part in sorted.chunks(self.batch) {
            let leases = on.fetch("extend leases", script, Leases(part)).await?;
            extended.extend(leases.into_iter().map(|lease| (lease.id.clone(), lease)));
        }
        Ok(extended)
    }
}

/// If this many rows are rejected one by one and none is accepted, the cause is hardly in the rows: the others of the
/// group count as refused too, without a statement for each.
const REFUSED_AT_MOST: usize = 8;

/// The answers of a group's rows; those without one were lost.
#[derive(Default)]
struct SettledGroup {
    answers: HashMap<RowId, LeaseResult>,
    /// The error of a row that was refused.
    refusal: Option<Error>,
}

/// Settles a group; a statement that the database rejects permanently is halved until the rows at fault are alone. All
/// others are settled.
async fn settle_group(
    on: &impl Driver,
    script: &SettleRows,
    moves: &[Settlement],
    members: &[usize],
) -> Result<SettledGroup, Error> {
    let mut settled = SettledGroup::default();
    let mut todo = vec![members];
    while let Some(part) = todo.pop() {
        let rows: Vec<&Settlement> = part.iter().map(|index| &moves[*index]).collect();
        match on.fetch("settle rows", script, Settlements(&rows)).await {
            Ok(keys) => settled.answers.extend(keys.into_iter().map(|key| (key, LeaseResult::Held))),
            Err(error) if error.class == Class::Permanent => {
                let (refused, accepted) = settled.counts();
                if part.len() > 1 && (refused < REFUSED_AT_MOST || accepted > 0) {
                    let (first, second) = part.split_at(part.len() / 2);
                    todo.extend([second, first]);
                    continue;
                }
                for index in part {
                    let id = &moves[*index].lease.id;
                    note_refused(id, &error);
                    settled.answers.insert(id.clone(), LeaseResult::Refused);
                }
                settled.refusal.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(settled)
}

impl SettledGroup {
    /// Returns the numbers of rows refused and accepted so far.
    fn counts(&self) -> (usize, usize) {
        let refused = self.answers.values().filter(|answer| **answer == LeaseResult::Refused).count();
        (refused, self.answers.len() - refused)
    }
}

fn note_refused(id: &RowId, error: &Error) {
    tracing::warn!(%id, %error, "the database refuses to settle a row");
}
