//! Routes of `/dispatch-jobs`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use postrider_hub::Moment;
use postrider_hub::access::Role;
use postrider_hub::job::{Created, DispatchJob, DispatchStatus, Filter, MetadataFilter, NewJob, RetryResult};
use postrider_hub::page::{Page, PageQuery};
use serde::Deserialize;
use utoipa::ToSchema;

use super::auth::{Caller, OperatorCaller, ProducerCaller};
use super::body::{Body, MaybeBody};
use super::params::{Form, Id, Params, check, invalid_text};
use super::{Api, Problem};

/// Query parameters of the list of dispatch jobs.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobParams {
    /// Only jobs in this state. Default: all.
    status: Option<DispatchStatus>,
    /// Only jobs of this client. Default: all.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    client_id: Option<String>,
    /// Only jobs with this code. Default: all.
    #[param(min_length = 1, max_length = 255, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    code: Option<String>,
    /// Only jobs of this event. Default: all.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    event_id: Option<String>,
    /// Only jobs of this subscription. Default: all.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    subscription_id: Option<String>,
    /// Only jobs created at this time or later. Default: all.
    created_after: Option<Moment>,
    /// Only jobs created before this time. Default: all.
    created_before: Option<Moment>,
    /// Only jobs with this metadata key. Needs `metadataValue`. Default: all.
    #[param(min_length = 1, max_length = 128, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    metadata_key: Option<String>,
    /// Value of `metadataKey`. Default: none.
    #[param(min_length = 1, max_length = 255, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    metadata_value: Option<String>,
    /// If true, only jobs in ERROR that have attempts left. Default: false.
    retryable: Option<bool>,
    /// If true, only PENDING jobs that are due. Default: false.
    due: Option<bool>,
    /// Maximum number of entries. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page. Default: the first page.
    #[param(min_length = 1, max_length = 500, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

impl JobParams {
    fn split(self) -> Result<(Filter, PageQuery), Problem> {
        check(&[
            ("clientId", &self.client_id, Form::Slug(64)),
            ("code", &self.code, Form::Line(255)),
            ("eventId", &self.event_id, Form::Slug(64)),
            ("subscriptionId", &self.subscription_id, Form::Slug(64)),
            ("metadataKey", &self.metadata_key, Form::Line(128)),
            ("metadataValue", &self.metadata_value, Form::Line(255)),
        ])?;
        let metadata = metadata_filter(self.metadata_key, self.metadata_value)
            .map_err(|(field, mistake)| Problem::parameter(field, mistake))?;
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

/// Returns key and value if both are given, `None` if neither is; otherwise names the missing one.
fn metadata_filter(
    key: Option<String>,
    value: Option<String>,
) -> Result<Option<MetadataFilter>, (&'static str, &'static str)> {
    match (key, value) {
        (Some(key), Some(value)) => Ok(Some(MetadataFilter { key, value })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(("metadataValue", "is required with metadataKey")),
        (None, Some(_)) => Err(("metadataKey", "is required with metadataValue")),
    }
}

/// List dispatch jobs
///
/// Returns jobs newest first, without payloads and attempts.
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

/// Create a dispatch job
///
/// The payload is posted to the target, and retried after failures. The response returns as soon as the job is stored.
#[utoipa::path(post, path = "/dispatch-jobs", tag = "dispatch jobs", request_body = NewJob,
    params(("Idempotency-Key" = Option<String>, Header, description = "Same as `idempotencyKey` in the body.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$"),
        ("traceparent" = Option<String>, Header, description = "Trace that the delivery belongs to (W3C Trace Context).")),
    responses((status = 201, description = "The job", body = DispatchJob,
            headers(("Location" = String, description = "URL of the job"))),
        (status = 200, description = "The request was repeated: the first job", body = DispatchJob)))]
pub async fn create(
    State(api): State<Api>,
    ProducerCaller(caller): ProducerCaller,
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
    job.traceparent = traceparent(&headers);
    let (created, job) = api.hub()?.create_job(actor, job).await?;
    let status = if matches!(created, Created::New { .. }) { StatusCode::CREATED } else { StatusCode::OK };
    let place = format!("/api/v1/dispatch-jobs/{}", job.id);
    let mut response = (status, Json(job)).into_response();
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Returns the caller's `traceparent`, if it is valid. An invalid one is no reason to refuse a job.
pub(super) fn traceparent(headers: &HeaderMap) -> Option<String> {
    postrider_hub::traceparent(headers.get("traceparent")?.to_str().ok()?)
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Some(key.to_owned()))
        }
        _ => Err(Problem::parameter("Idempotency-Key", "must have 1 to 255 visible ASCII characters")),
    }
}

/// Get a dispatch job
///
/// Returns the job with its payload and every attempt.
#[utoipa::path(get, path = "/dispatch-jobs/{id}", tag = "dispatch jobs", params(("id" = String, Path, description = "Id of the job")),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.job(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Retry a dispatch job
///
/// Retries a job in ERROR now. A job that has no attempts left gets its original number of attempts again.
#[utoipa::path(post, path = "/dispatch-jobs/{id}/retry", tag = "dispatch jobs", params(("id" = String, Path, description = "Id of the job")),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn retry(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.retry_job(caller.at_least(Role::Operator)?, &id).await?))
}

/// Cancel a dispatch job
///
/// Possible until the job is delivered. A job that is being delivered stays cancelled whatever the attempt returns.
#[utoipa::path(post, path = "/dispatch-jobs/{id}/cancel", tag = "dispatch jobs", params(("id" = String, Path, description = "Id of the job")),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.cancel_job(caller.at_least(Role::Operator)?, &id).await?))
}

/// Mark a dispatch job as completed
///
/// For a job in ERROR that was dealt with by other means.
#[utoipa::path(post, path = "/dispatch-jobs/{id}/complete", tag = "dispatch jobs", params(("id" = String, Path, description = "Id of the job")),
    responses((status = 200, description = "The job", body = DispatchJob)))]
pub async fn complete(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchJob>, Problem> {
    Ok(Json(api.hub()?.complete_job(caller.at_least(Role::Operator)?, &id).await?))
}

/// The failed jobs to retry. Default: all of them.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryFilter {
    /// Only jobs of this client. Default: all.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    client_id: Option<String>,
    /// Only jobs with this code. Default: all.
    #[schema(min_length = 1, max_length = 255, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    code: Option<String>,
    /// Only jobs of this event. Default: all.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    event_id: Option<String>,
    /// Only jobs of this subscription. Default: all.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    subscription_id: Option<String>,
    /// Only jobs created at this time or later. Default: all.
    created_after: Option<Moment>,
    /// Only jobs created before this time. Default: all.
    created_before: Option<Moment>,
    /// Only jobs with this metadata key. Needs `metadataValue`. Default: all.
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    metadata_key: Option<String>,
    /// Value of `metadataKey`. Default: none.
    #[schema(min_length = 1, max_length = 255, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    metadata_value: Option<String>,
}

/// Retry failed dispatch jobs
///
/// Retries jobs that have no attempts left, oldest first, up to 1000 per request.
#[utoipa::path(post, path = "/dispatch-jobs/retry", tag = "dispatch jobs", request_body = Option<RetryFilter>,
    responses((status = 200, description = "The number of jobs retried", body = RetryResult)))]
pub async fn retry_many(
    State(api): State<Api>,
    OperatorCaller(caller): OperatorCaller,
    MaybeBody(filter): MaybeBody<RetryFilter>,
) -> Result<Json<RetryResult>, Problem> {
    let actor = caller.at_least(Role::Operator)?;
    let wrong = invalid_text(&[
        ("clientId", &filter.client_id, Form::Slug(64)),
        ("code", &filter.code, Form::Line(255)),
        ("eventId", &filter.event_id, Form::Slug(64)),
        ("subscriptionId", &filter.subscription_id, Form::Slug(64)),
        ("metadataKey", &filter.metadata_key, Form::Line(128)),
        ("metadataValue", &filter.metadata_value, Form::Line(255)),
    ]);
    if let Some((field, mistake)) = wrong {
        return Err(Problem::invalid(field, mistake));
    }
    let metadata = metadata_filter(filter.metadata_key, filter.metadata_value)
        .map_err(|(field, mistake)| Problem::invalid(field, mistake))?;
    let filter = Filter {
        client_id: filter.client_id,
        code: filter.code,
        event_id: filter.event_id,
        subscription_id: filter.subscription_id,
        created_after: filter.created_after,
        created_before: filter.created_before,
        metadata,
        ..Filter::default()
    };
    Ok(Json(api.hub()?.retry_jobs(actor, &filter).await?))
}
