//! `/dispatch-jobs`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use postrider_hub::Moment;
use postrider_hub::access::Role;
use postrider_hub::job::{Created, DispatchJob, DispatchStatus, Filter, MetadataFilter, NewJob, Retried};
use postrider_hub::page::{Page, PageQuery};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::admit::Caller;
use super::body::{BatchBody, Body, MaybeBody};
use super::params::{Id, Params};
use super::{Api, Problem};

/// Which jobs, and which page of them.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobParams {
    status: Option<DispatchStatus>,
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    client_id: Option<String>,
    #[param(min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")]
    code: Option<String>,
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    event_id: Option<String>,
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    subscription_id: Option<String>,
    /// At this time or later.
    created_after: Option<Moment>,
    /// Before this time.
    created_before: Option<Moment>,
    /// Jobs with this metadata; `metadataValue` belongs to it.
    #[param(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    metadata_key: Option<String>,
    #[param(min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")]
    metadata_value: Option<String>,
    /// true: those in ERROR that have attempts left.
    retryable: Option<bool>,
    /// true: those PENDING whose time has come.
    due: Option<bool>,
    /// Entries at most; 50 if left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the page before.
    #[param(min_length = 1, max_length = 500, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// A text that no column can hold finds nothing, on some databases with an error.
fn no_nul(params: &[(&str, &Option<String>)]) -> Result<(), Problem> {
    match params.iter().find(|(_, value)| value.as_ref().is_some_and(|value| value.contains('\0'))) {
        Some((field, _)) => Err(Problem::invalid(*field, "must not have the character NUL")),
        None => Ok(()),
    }
}

impl JobParams {
    fn split(self) -> Result<(Filter, PageQuery), Problem> {
        no_nul(&[
            ("clientId", &self.client_id),
            ("code", &self.code),
            ("eventId", &self.event_id),
            ("subscriptionId", &self.subscription_id),
            ("metadataKey", &self.metadata_key),
            ("metadataValue", &self.metadata_value),
        ])?;
        let metadata = match (self.metadata_key, self.metadata_value) {
            (Some(key), Some(value)) => Some(MetadataFilter { key, value }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(Problem::invalid("metadataValue", "is missing beside metadataKey"));
            }
            (None, Some(_)) => {
                return Err(Problem::invalid("metadataKey", "is missing beside metadataValue"));
            }
        };
        let filter = Filter {
            status: self.status,
            client_id: self.client_id,
            code: self.code,
            event_id: self.event_id,
            subscription_id: self.subscription_id,
            created_after: self.created_after,
            created_before: self.created_before,
            metadata,
            retryable: self.retryable.unwrap_or(false),
            due: self.due.unwrap_or(false),
        };
        Ok((filter, PageQuery { limit: self.limit, cursor: self.cursor }))
    }
}

/// Jobs, newest first, without payloads and attempts.
#[utoipa::path(get, path = "/dispatch-jobs", tag = "dispatch jobs", params(JobParams),
    responses((status = 200, description = "A page of jobs", body = Page<DispatchJob>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(params): Params<JobParams>,
) -> Result<Json<Page<DispatchJob>>, Problem> {
    let actor = caller.at_least(Role::Viewer)?;
    let (filter, page) = params.split()?;
    Ok(Json(api.hub()?.jobs(actor, &filter, &page).await?))
}

/// Makes a job.
#[utoipa::path(post, path = "/dispatch-jobs", tag = "dispatch jobs", request_body = NewJob,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same as `idempotencyKey`.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 201, description = "The job", body = DispatchJob,
            headers(("Location" = String, description = "Where it is"))),
        (status = 200, description = "The same request was made before: its job", body = DispatchJob)))]
pub async fn create(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    Body(mut job): Body<NewJob>,
) -> Result<Response, Problem> {
    let actor = caller.at_least(Role::Producer)?;
    if let Some(key) = idempotency_key(&headers)? {
        match &job.idempotency_key {
            Some(own) if *own != key => {
                return Err(Problem::invalid("idempotencyKey", "differs from the header Idempotency-Key"));
            }
            _ => job.idempotency_key = Some(key),
        }
    }
    let (created, job) = api.hub()?.create_job(actor, job).await?;
    let status = if matches!(created, Created::Fresh { .. }) { StatusCode::CREATED } else { StatusCode::OK };
    let place = format!("/api/v1/dispatch-jobs/{}", job.id);
    let mut response = (status, Json(job)).into_response();
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if !key.is_empty() => Ok(Some(key.to_owned())),
        _ => Err(Problem::invalid("Idempotency-Key", "must have 1 to 255 visible ASCII characters")),
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJobs {
    #[schema(min_items = 1, max_items = 1000)]
    jobs: Vec<NewJob>,
}

/// What came of each job, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchOutcome {
    results: Vec<ItemOutcome>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ItemOutcome {
    index: usize,
    /// What the request would have answered by itself: 201, 200, 403, 409, 422.
    status: u16,
    /// Of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<Problem>,
}

impl ItemOutcome {
    pub fn fine(index: usize, fresh: bool, id: String) -> Self {
        Self { index, status: if fresh { 201 } else { 200 }, id: Some(id), problem: None }
    }

    pub fn wrong(index: usize, problem: Problem) -> Self {
        Self { index, status: problem.status().as_u16(), id: None, problem: Some(problem) }
    }
}

/// Makes up to 1000 jobs. Each has its own answer; a request that can't be read is refused as a whole.
#[utoipa::path(post, path = "/dispatch-jobs/batch", tag = "dispatch jobs", request_body = NewJobs,
    responses((status = 200, description = "What came of each", body = BatchOutcome)))]
pub async fn create_batch(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    BatchBody(NewJobs { mut jobs }): BatchBody<NewJobs>,
) -> Result<Json<BatchOutcome>, Problem> {
    let actor = caller.at_least(Role::Producer)?;
    if jobs.is_empty() || jobs.len() > api.limits.batch {
        return Err(Problem::invalid("jobs", format!("must have 1 to {} entries", api.limits.batch)));
    }
    if let Some(key) = idempotency_key(&headers)? {
        for (index, job) in jobs.iter_mut().enumerate() {
            job.idempotency_key.get_or_insert_with(|| format!("{key}#{index}"));
        }
    }
    let outcomes = api.hub()?.create_jobs(actor, jobs).await?;
    let told = |(index, outcome): (usize, Result<Created, postrider_hub::Error>)| match outcome {
        Ok(created) => {
            ItemOutcome::fine(index, matches!(created, Created::Fresh { .. }), created.id().to_owned())
        }
        Err(error) => ItemOutcome::wrong(index, error.into()),
    };
    Ok(Json(BatchOutcome { results: outcomes.into_iter().enumerate().map(told).collect() }))
}

/// A job with every attempt.
#[utoipa::path(get, path = "/dispatch-jobs/{id}", tag = "dispatch jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.job(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Tries a job in ERROR again, now; a spent one with its original budget on top.
#[utoipa::path(post, path = "/dispatch-jobs/{id}/retry", tag = "dispatch jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn retry(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.retry_job(caller.at_least(Role::Operator)?, &id).await?))
}

/// Cancels a job that was not delivered yet. One in flight stays cancelled, whatever its attempt comes to.
#[utoipa::path(post, path = "/dispatch-jobs/{id}/cancel", tag = "dispatch jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.cancel_job(caller.at_least(Role::Operator)?, &id).await?))
}

/// Vouches for a job in ERROR: it counts as delivered.
#[utoipa::path(post, path = "/dispatch-jobs/{id}/complete", tag = "dispatch jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn complete(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.complete_job(caller.at_least(Role::Operator)?, &id).await?))
}

/// Which spent jobs to retry; nothing said: all of them.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryFilter {
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    client_id: Option<String>,
    #[schema(min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")]
    code: Option<String>,
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    event_id: Option<String>,
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    subscription_id: Option<String>,
    created_after: Option<Moment>,
    created_before: Option<Moment>,
}

/// Tries spent jobs again, up to 1000 a call, the oldest first.
#[utoipa::path(post, path = "/dispatch-jobs/retry", tag = "dispatch jobs", request_body = RetryFilter,
    responses((status = 200, description = "How many", body = Retried)))]
pub async fn retry_many(
    State(api): State<Api>,
    caller: Caller,
    MaybeBody(filter): MaybeBody<RetryFilter>,
) -> Result<Json<Retried>, Problem> {
    let actor = caller.at_least(Role::Operator)?;
    no_nul(&[
        ("clientId", &filter.client_id),
        ("code", &filter.code),
        ("eventId", &filter.event_id),
        ("subscriptionId", &filter.subscription_id),
    ])?;
    let filter = Filter {
        client_id: filter.client_id,
        code: filter.code,
        event_id: filter.event_id,
        subscription_id: filter.subscription_id,
        created_after: filter.created_after,
        created_before: filter.created_before,
        ..Filter::default()
    };
    Ok(Json(api.hub()?.retry_jobs(actor, &filter).await?))
}
