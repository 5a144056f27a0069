//! Writes the jobs of single requests together, and answers each with its job.

use std::sync::Arc;

use super::create::{Created, write};
use super::fresh::fresh_reads;
use super::{DispatchJob, JOBS, JobDraft};
use crate::Error;
use crate::access::Actor;
use crate::group_commit::{WriteTogether, shared_error};
use crate::sql::Execute;

/// A validated job, and who creates it.
pub(crate) struct JobRequest {
    pub actor: Actor,
    pub draft: JobDraft,
}

/// The result of one request: the job if it is new.
pub(crate) type WrittenJob = (Created, Option<DispatchJob>);

/// Writes jobs into one database.
pub(crate) struct JobWriter(pub Arc<dyn Execute>);

impl WriteTogether for JobWriter {
    type Request = JobRequest;
    type Answer = WrittenJob;
    type Error = Error;

    fn bytes(request: &JobRequest) -> usize {
        request.draft.new.payload.as_ref().map_or(0, String::len)
    }

    async fn write(&self, mut requests: Vec<JobRequest>) -> Vec<Result<WrittenJob, Error>> {
        match self.transact(&requests).await {
            Ok(answers) => answers,
            // The cause may be a single job or a duplicate id: write each job alone, so that the others succeed.
            Err(error) if error.is_permanent() => {
                let mut answers = Vec::with_capacity(requests.len());
                for request in &mut requests {
                    request.draft.assign_new_id();
                    match self.transact(std::slice::from_ref(request)).await {
                        Ok(alone) => answers.extend(alone),
                        Err(error) => answers.push(Err(error)),
                    }
                }
                answers
            }
            Err(error) => shared_error(error, requests.len()),
        }
    }
}

impl JobWriter {
    async fn transact(&self, requests: &[JobRequest]) -> Result<Vec<Result<WrittenJob, Error>>, Error> {
        let database = &*self.0;
        let mut drafts: Vec<(&Actor, &JobDraft)> =
            requests.iter().map(|request| (&request.actor, &request.draft)).collect();
        // The same order everywhere, so that two transactions with the same keys cannot deadlock.
        drafts.sort_by(|(_, one), (_, other)| one.new.idempotency_key.cmp(&other.new.idempotency_key));
        let ids = padded_ids(requests.iter().map(|request| request.draft.id.as_str()).collect());
        let has_metadata = requests.iter().any(|request| !request.draft.new.metadata.is_empty());
        // The database's clock set some of the columns.
        let reads = fresh_reads(database.dialect(), &ids, has_metadata);
        let (by_key, mut fresh) = write(database, &drafts, reads).await?;
        // Here, as a caller that disconnects must not leave its job to the next poll.
        database.wake(JOBS);
        let answer = |request: &JobRequest| {
            let created = by_key.created(&request.draft)?;
            Ok((created, fresh.remove(&request.draft.id).map(|row| row.job(&request.draft))))
        };
        Ok(requests.iter().map(answer).collect())
    }
}

/// Repeats the last id up to a power of two, so that there are few different statements to prepare.
fn padded_ids(mut ids: Vec<&str>) -> Vec<&str> {
    if let Some(last) = ids.last().copied() {
        ids.resize(ids.len().next_power_of_two(), last);
    }
    ids
}
