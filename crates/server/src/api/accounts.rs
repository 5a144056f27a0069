//! Routes of `/service-accounts`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::account::{
    AccountChange, CredentialsChange, NewAccount, ServiceAccount, ServiceAccountWithSecret,
};
use postrider_hub::page::{Page, PageQuery};
use serde::Deserialize;

use super::auth::{AdminCaller, Caller};
use super::body::{Body, MaybeBody};
use super::idempotency::{IdempotencyHeader, IdempotentBody, create_once};
use super::params::{Form, Id, Params, check};
use super::{Api, Problem};

/// Query parameters of the list of service accounts.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AccountParams {
    /// Only the account with this code. Default: all accounts.
    #[param(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    code: Option<String>,
    /// Maximum number of entries. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page. Default: the first page.
    #[param(min_length = 1, max_length = 500, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List service accounts
///
/// Returns accounts newest first. Secrets are never shown.
#[utoipa::path(get, path = "/service-accounts", tag = "service accounts", params(AccountParams),
    responses((status = 200, description = "A page of accounts", body = Page<ServiceAccount>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(params): Params<AccountParams>,
) -> Result<Json<Page<ServiceAccount>>, Problem> {
    let actor = caller.at_least(Role::Operator)?;
    check(&[("code", &params.code, Form::Slug(128))])?;
    let page = PageQuery { limit: params.limit, cursor: params.cursor };
    Ok(Json(api.hub()?.accounts(actor, params.code.as_deref(), &page).await?))
}

/// Create a service account
///
/// If no credentials are given, a signing secret is generated. It is shown in this response only.
#[utoipa::path(post, path = "/service-accounts", tag = "service accounts", request_body = NewAccount,
    params(IdempotencyHeader),
    responses((status = 201, description = "The account", body = ServiceAccountWithSecret),
        (status = 200, description = "The request was repeated: the account, without its secret", body = ServiceAccountWithSecret)))]
pub async fn create(
    State(api): State<Api>,
    AdminCaller(caller): AdminCaller,
    IdempotentBody { new, request }: IdempotentBody<NewAccount>,
) -> Result<(StatusCode, Json<ServiceAccountWithSecret>), Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Admin)?);
    let make = hub.create_account(actor, new);
    let made = create_once((hub, actor), "serviceAccount", request, make, |made| &made.account.id).await?;
    let find = async |id: &str| {
        let account = hub.account(actor, id).await?;
        Ok(ServiceAccountWithSecret { account, signing_secret: None })
    };
    made.response(find).await
}

/// Get a service account
///
/// Returns the account with references to its secrets, never the secrets themselves.
#[utoipa::path(get, path = "/service-accounts/{id}", tag = "service accounts", params(("id" = String, Path, description = "Id of the service account")),
    responses((status = 200, description = "The account", body = ServiceAccount)))]
pub async fn get(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<ServiceAccount>, Problem> {
    Ok(Json(api.hub()?.account(caller.at_least(Role::Operator)?, &id).await?))
}

/// Change a service account
///
/// Replaces its name, description, clients, allowed hosts, application and roles.
#[utoipa::path(put, path = "/service-accounts/{id}", tag = "service accounts", params(("id" = String, Path, description = "Id of the service account")),
    request_body = AccountChange, responses((status = 200, description = "The account", body = ServiceAccount)))]
pub async fn put(
    State(api): State<Api>,
    AdminCaller(caller): AdminCaller,
    Id(id): Id,
    Body(what): Body<AccountChange>,
) -> Result<Json<ServiceAccount>, Problem> {
    Ok(Json(api.hub()?.change_account(caller.at_least(Role::Admin)?, &id, &what).await?))
}

/// Replace the credentials of a service account
///
/// The old signing secret stays valid for 24 hours: requests carry both signatures.
#[utoipa::path(post, path = "/service-accounts/{id}/regenerate-credentials", tag = "service accounts",
    params(("id" = String, Path, description = "Id of the service account")), request_body = CredentialsChange,
    responses((status = 200, description = "The account", body = ServiceAccountWithSecret)))]
pub async fn regenerate(
    State(api): State<Api>,
    AdminCaller(caller): AdminCaller,
    Id(id): Id,
    MaybeBody(with): MaybeBody<CredentialsChange>,
) -> Result<Json<ServiceAccountWithSecret>, Problem> {
    Ok(Json(api.hub()?.regenerate(caller.at_least(Role::Admin)?, &id, &with).await?))
}

/// Activate a service account
///
/// Jobs that use the account are delivered again.
#[utoipa::path(post, path = "/service-accounts/{id}/activate", tag = "service accounts", params(("id" = String, Path, description = "Id of the service account")),
    responses((status = 200, description = "The account", body = ServiceAccount)))]
pub async fn activate(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<ServiceAccount>, Problem> {
    Ok(Json(api.hub()?.activate_account(caller.at_least(Role::Admin)?, &id, true).await?))
}

/// Deactivate a service account
///
/// Jobs that use the account wait and use no attempt.
#[utoipa::path(post, path = "/service-accounts/{id}/deactivate", tag = "service accounts", params(("id" = String, Path, description = "Id of the service account")),
    responses((status = 200, description = "The account", body = ServiceAccount)))]
pub async fn deactivate(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<ServiceAccount>, Problem> {
    Ok(Json(api.hub()?.activate_account(caller.at_least(Role::Admin)?, &id, false).await?))
}
