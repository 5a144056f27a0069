//! Listing jobs with keyset pagination. An index serves each common filter; with another one, a page reads parts of the
//! table.

use super::states::JobStates;
use super::view::{self, TABLE, metadata_query, read_metadata};
use super::{DispatchJob, DispatchStatus, enum_name};
use crate::access::{Actor, ClientScope};
use crate::cursor::{List, ListOrder, PagePosition};
use crate::page::{Page, PageQuery};
use crate::sql::{Clauses as _, Dialect, SqlBuilder, now, status_for_lists};
use crate::{Error, Hub, Moment, mask};

/// A filter for jobs. `None` and `false` members match every job.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<DispatchStatus>,
    pub client_id: Option<String>,
    pub code: Option<String>,
    pub event_id: Option<String>,
    pub subscription_id: Option<String>,
    pub created_after: Option<Moment>,
    pub created_before: Option<Moment>,
    pub metadata: Option<MetadataFilter>,
    /// Only jobs in ERROR that have attempts left.
    pub retryable: bool,
    /// Only PENDING jobs whose scheduled time has passed.
    pub due: bool,
}

/// A filter for jobs that have this metadata key with this value.
#[derive(Debug, Clone)]
pub struct MetadataFilter {
    pub key: String,
    pub value: String,
}

impl Filter {
    /// Returns the order of the list, which decides the index that serves it.
    fn order<'a>(&self, scope: &ClientScope, states: &'a JobStates, parts: &'a [String]) -> ListOrder<'a> {
        if !parts.is_empty() {
            return ListOrder::IdOfStates { key: states.key(), parts };
        }
        let kinds = [self.client_id.as_deref(), self.event_id.as_deref(), self.subscription_id.as_deref()];
        let of_kind = kinds.into_iter().any(|kind| kind.is_some()) || scope.default_client().is_some();
        // Few jobs are in progress.
        let few = self.rare_status() || self.status == Some(DispatchStatus::InProgress);
        if of_kind || few || self.metadata.is_some() {
            ListOrder::IdOfKind
        } else if *scope == ClientScope::All && !self.is_set() {
            ListOrder::Id
        } else {
            ListOrder::IdInParts { table: TABLE.name }
        }
    }

    /// Whether the filter selects a rare status, whose jobs an index holds.
    fn rare_status(&self) -> bool {
        use DispatchStatus::{Cancelled, Error, Pending};
        let rare = matches!(self.status, Some(Cancelled | Error | Pending));
        rare || self.retryable || self.due
    }

    /// Returns the parts of the contract's index of states that hold the jobs; empty if it does not hold them all.
    fn parts(&self, states: &JobStates) -> Vec<String> {
        use DispatchStatus::{Cancelled, Error, Pending};
        match self.status {
            _ if self.due => states.of("PENDING"),
            _ if self.retryable => states.failed(),
            Some(Pending) => states.of("PENDING"),
            Some(Cancelled) => states.of("CANCELLED"),
            Some(Error) => states.failed(),
            _ => Vec::new(),
        }
    }

    /// Whether the filter has a member that no index serves alone.
    fn is_set(&self) -> bool {
        let times = self.created_after.is_some() || self.created_before.is_some();
        times || self.status.is_some() || self.code.is_some()
    }

    /// Appends ` AND …` for every member that is set.
    pub(super) fn append_conditions(
        &self,
        query: SqlBuilder,
        dialect: Dialect,
        states: &JobStates,
    ) -> SqlBuilder {
        let status = status_for_lists(dialect);
        let mut query = query
            .and_equals("client_id", self.client_id.as_deref())
            .and_equals("code", self.code.as_deref())
            .and_equals("event_id", self.event_id.as_deref())
            .and_equals("subscription_id", self.subscription_id.as_deref())
            .and_created(self.created_after, self.created_before);
        if self.status == Some(DispatchStatus::InProgress) {
            query = query.push(" AND t.status = 'IN_PROGRESS'").all_of(&states.of("IN_PROGRESS"));
        } else if let Some(wanted) = &self.status {
            query = query.push(&format!(" AND {status} = ")).text(&enum_name(wanted));
        }
        if let Some(MetadataFilter { key, value }) = &self.metadata {
            query = query
                .push(" AND t.id IN (SELECT m.job_id FROM dispatch_job_metadata AS m WHERE m.")
                .column("key")
                .push(" = ")
                .text(key)
                .push(" AND m.")
                .column("value")
                .push(" = ")
                .text(value)
                .push(")");
        }
        if self.retryable {
            let attempts_left = "t.attempt_count < COALESCE(t.max_retries, 3)";
            query = query.push(&format!(" AND {status} = 'ERROR' AND {attempts_left}"));
        }
        if self.due {
            let due = format!("(t.scheduled_for IS NULL OR t.scheduled_for <= {})", now(dialect));
            query = query.push(&format!(" AND {status} = 'PENDING' AND {due}"));
        }
        query
    }
}

impl Hub {
    /// Returns a page of jobs within the actor's scope, newest first, without payloads and attempts.
    pub async fn jobs(
        &self,
        actor: &Actor,
        filter: &Filter,
        page: &PageQuery,
    ) -> Result<Page<DispatchJob>, Error> {
        let parts = filter.parts(&self.job_states);
        let list = List {
            doing: "list dispatch jobs",
            context: &format!("jobs {filter:?}"),
            order: filter.order(&actor.scope, &self.job_states, &parts),
            read: |mut row| view::read(&mut row),
            position: |job| PagePosition::of_id(&job.id),
        };
        let query = filter.append_conditions(self.select(&TABLE), self.dialect(), &self.job_states);
        let query = query.and_in_scope(&actor.scope);
        let mut page = self.read_page(actor, page, query, list).await?;
        self.add_metadata(&mut page.items).await?;
        for job in &mut page.items {
            mask::headers(actor, false, &mut job.headers);
            mask::addresses(actor, &job.target_url, &mut job.last_error);
        }
        Ok(page)
    }

    async fn add_metadata(&self, jobs: &mut [DispatchJob]) -> Result<(), Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        let query = metadata_query(self.dialect(), &ids);
        for row in self.fetch_all("read the metadata of dispatch jobs", query).await? {
            let (id, entry) = read_metadata(row);
            if let Some(job) = jobs.iter_mut().find(|job| job.id == id) {
                job.metadata.push(entry);
            }
        }
        Ok(())
    }
}
