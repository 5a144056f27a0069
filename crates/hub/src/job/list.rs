//! Listing jobs with keyset pagination; an index serves each filter.

use super::view::{self, SHEET, metadata_of, metadatum};
use super::{DispatchJob, DispatchStatus, name};
use crate::access::{Actor, Scope};
use crate::cursor::After;
use crate::draft::Draft;
use crate::page::{Page, PageQuery};
use crate::sheet::{Reader, newest_first, now, status_to_list};
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
    fn mark(&self) -> String {
        format!("jobs {self:?}")
    }

    /// Whether the filter selects by something other than the creation time.
    fn narrows(&self) -> bool {
        let kinds = [&self.client_id, &self.code, &self.event_id, &self.subscription_id];
        let kind = self.status.is_some() || self.retryable || self.due || self.metadata.is_some();
        kind || kinds.into_iter().any(Option::is_some)
    }

    /// Appends ` AND …` for every member that is set.
    pub(super) fn narrow(&self, mut query: Draft, dialect: postrider_sql::Dialect) -> Draft {
        let texts = [
            ("client_id", self.client_id.clone()),
            ("code", self.code.clone()),
            ("event_id", self.event_id.clone()),
            ("subscription_id", self.subscription_id.clone()),
        ];
        if let Some(status) = &self.status {
            query = query.push(" AND ").push(status_to_list(dialect)).push(" = ").text(&name(status));
        }
        for (column, value) in texts {
            if let Some(value) = value {
                query = query.push(" AND t.").name(column).push(" = ").text(&value);
            }
        }
        if self.created_after.is_some() {
            query = query.push(" AND t.created_at >= ").time(self.created_after);
        }
        if self.created_before.is_some() {
            query = query.push(" AND t.created_at < ").time(self.created_before);
        }
        if let Some(metadata) = &self.metadata {
            query = query
                .push(" AND t.id IN (SELECT m.job_id FROM dispatch_job_metadata AS m WHERE m.")
                .name("key")
                .push(" = ")
                .text(&metadata.key)
                .push(" AND m.")
                .name("value")
                .push(" = ")
                .text(&metadata.value)
                .push(")");
        }
        if self.retryable {
            query = query
                .push(" AND ")
                .push(status_to_list(dialect))
                .push(" = 'ERROR' AND t.attempt_count < COALESCE(t.max_retries, 3)");
        }
        if self.due {
            query = query
                .push(" AND ")
                .push(status_to_list(dialect))
                .push(" = 'PENDING' AND (t.scheduled_for IS NULL OR t.scheduled_for <= ")
                .push(now(dialect))
                .push(")");
        }
        query
    }
}

/// Appends ` AND …` for the clients that the actor may access.
pub(super) fn within(query: Draft, actor: &Actor) -> Draft {
    match &actor.scope {
        Scope::All => query,
        Scope::Only(clients) => query.push(" AND t.client_id IN ").texts(clients.iter().map(String::as_str)),
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
        let about = filter.mark();
        let after = self.opened(actor, &about, page)?;
        let dialect = self.dialect();
        let query = Draft::new(dialect, SHEET.selected(dialect)).push(" WHERE 1 = 1");
        let query = beyond(within(filter.narrow(query, dialect), actor), after.as_ref());
        let order = newest_first(dialect, filter.narrows() || actor.scope.default_client().is_some());
        let query = query.push(&order).push(" LIMIT ").int(page.wanted() + 1);
        let rows = self.all("list dispatch jobs", query).await?;
        let jobs: Vec<DispatchJob> = rows.into_iter().map(|row| view::read(&mut Reader::new(row))).collect();
        let mut page = self.closed(actor, &about, page, jobs, |job| (job.created_at, job.id.clone()));
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
        for row in self.all("read the metadata of dispatch jobs", metadata_of(self.dialect(), &ids)).await? {
            let (id, metadatum) = metadatum(row);
            if let Some(job) = jobs.iter_mut().find(|job| job.id == id) {
                job.metadata.push(metadatum);
            }
        }
        Ok(())
    }
}

/// Appends ` AND …` for the rows after the end of the previous page.
pub(crate) fn beyond(query: Draft, after: Option<&After>) -> Draft {
    let Some(After { created, id }) = after else { return query };
    query
        // An index can start from this condition.
        .push(" AND t.created_at <= ")
        .time(*created)
        .push(" AND (t.created_at < ")
        .time(*created)
        .push(" OR t.id < ")
        .text(id)
        .push(")")
}
