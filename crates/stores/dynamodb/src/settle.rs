//! Settles rows: moves that compare the fence, several in parallel.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use postrider_rows::TransitionInput;
use postrider_seams::Lease;
use postrider_seams::store::{Class, Error, LeaseResult, Settlement};

use crate::store::DynamoStore;

/// Moves that were made in a call that failed as a whole: the engine will request them again.
#[derive(Debug, Default)]
pub(crate) struct SettledBefore(Mutex<HashSet<String>>);

impl SettledBefore {
    fn add(&self, leases: impl Iterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(leases);
    }

    fn take(&self, lease: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(lease)
    }
}

fn lease_key(lease: &Lease) -> String {
    format!("{} {:?}", lease.id, lease.fence)
}

impl DynamoStore {
    pub(crate) async fn settle_all(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        let moving = moves.iter().map(|settlement| self.settle_one(settlement)).collect();
        let settled: Vec<Result<LeaseResult, Error>> = self.database.in_parallel(moving).await;
        let is_refusal =
            |made: &Result<LeaseResult, Error>| matches!(made, Err(error) if error.class == Class::Permanent);
        if settled.iter().all(|made| made.is_ok() || is_refusal(made)) && !settled.iter().all(is_refusal) {
            // A row that DynamoDB rejects does not stop the others.
            return Ok(settled.into_iter().map(|made| made.unwrap_or(LeaseResult::Refused)).collect());
        }
        let succeeded = moves.iter().zip(&settled).filter(|(_, made)| matches!(made, Ok(LeaseResult::Held)));
        self.settled_before.add(succeeded.map(|(settlement, _)| lease_key(&settlement.lease)));
        // An error that passes comes first: the caller makes the whole call again.
        let (refused, failed): (Vec<_>, Vec<_>) =
            settled.into_iter().filter_map(Result::err).partition(|error| error.class == Class::Permanent);
        failed.into_iter().chain(refused).next().map_or(Ok(Vec::new()), Err)
    }

    async fn settle_one(&self, settlement: &Settlement) -> Result<LeaseResult, Error> {
        if self.settled_before.take(&lease_key(&settlement.lease)) {
            return Ok(LeaseResult::Held);
        }
        let settled = self.settle_fenced(settlement).await;
        if let Err(error) = &settled
            && error.class == Class::Permanent
        {
            tracing::warn!(row = %settlement.lease.id, %error, "DynamoDB refuses to settle a row");
        }
        settled
    }

    async fn settle_fenced(&self, settlement: &Settlement) -> Result<LeaseResult, Error> {
        let Some(before) = self.record_of_lease(&settlement.lease).await? else {
            return Ok(LeaseResult::Lost);
        };
        let input = TransitionInput {
            delay: settlement.delay,
            receipt: settlement.receipt.as_deref(),
            outcome: &settlement.outcome,
            ..self.transition_input(&settlement.envelope, settlement.reason.as_deref())
        };
        let step = self.contract.lease_move(self.stage(), settlement.transition);
        let made = self.apply_move(&step, &before, &input).await?;
        self.held.remove(&before.id);
        self.unknown_fences.forget(&before.id);
        if made.is_some() {
            self.clear_crashes(&before.id, settlement.transition).await?;
        }
        Ok(if made.is_some() { LeaseResult::Held } else { LeaseResult::Lost })
    }
}
