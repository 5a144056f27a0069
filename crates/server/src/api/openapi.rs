//! The OpenAPI document, generated from the descriptions of the routes.

use axum::http::StatusCode;
use postrider_hub::expand_text_format;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ArrayItems, Schema};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, License, OpenApi, Ref, RefOr, Response, ResponseBuilder, Server,
};

use super::examples::{Examples, inline};
use super::problem::Problem;

/// Returns the whole document, as it is checked in at `docs/reference/openapi.json`.
pub fn document() -> OpenApi {
    let mut document = super::described().into_openapi();
    let mut info = InfoBuilder::new()
        .title("Postrider")
        .version("1.0")
        .description(Some(
            "Deliver webhooks and e-mails: dispatch jobs with every attempt, events, subscriptions, pools, service accounts, lanes.",
        ))
        .build();
    let mut license = License::new("Apache-2.0");
    license.identifier = Some("Apache-2.0".to_owned());
    info.license = Some(license);
    document.info = info;
    document.servers = Some(vec![Server::new("/api/v1")]);
    let components = document.components.get_or_insert_with(Components::new);
    let key = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("key", key);
    components.schemas.insert("Problem".to_owned(), <Problem as utoipa::PartialSchema>::schema());
    components.schemas.insert("Fault".to_owned(), <postrider_hub::Fault as utoipa::PartialSchema>::schema());
    components.schemas.values_mut().for_each(complete);
    document.security = Some(vec![SecurityRequirement::new("key", Vec::<String>::new())]);
    let examples = Examples::read();
    for (path, item) in &mut document.paths.paths {
        let operations = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("put", &mut item.put),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            let Some(operation) = operation else { continue };
            operation.operation_id = Some(id_of(method, path));
            add_problems(operation, path);
            examples.add_to(operation);
        }
    }
    document
}

/// Returns the operation id: `postDispatchJobsIdRetry` for `post /dispatch-jobs/{id}/retry`. Handler names repeat.
fn id_of(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    words.fold(method.to_owned(), |id, word| id + &capital(word))
}

/// Adds the errors that every route may return to those that it documents itself.
fn add_problems(operation: &mut Operation, path: &str) {
    let mut known = vec![
        (StatusCode::BAD_REQUEST, "The request cannot be read"),
        (StatusCode::UNAUTHORIZED, "The API key is missing, invalid, expired or revoked"),
        (StatusCode::FORBIDDEN, "The API key may not do this"),
        (StatusCode::UNPROCESSABLE_ENTITY, "The request is not valid"),
        (StatusCode::INTERNAL_SERVER_ERROR, "The database refused the request"),
        (StatusCode::SERVICE_UNAVAILABLE, "The database is not available"),
    ];
    if path.contains('{') {
        known.push((StatusCode::NOT_FOUND, "Not found, or not visible to this API key"));
    }
    if path.contains('{') || operation.request_body.is_some() {
        known.push((StatusCode::CONFLICT, "The request conflicts with the present state"));
    }
    if operation.request_body.is_some() {
        known.push((StatusCode::PAYLOAD_TOO_LARGE, "The body is too large"));
        known.push((StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body has the wrong media type"));
    }
    for (status, text) in known {
        let problem = RefOr::T(problem(text));
        operation.responses.responses.entry(status.as_u16().to_string()).or_insert(problem);
    }
    for (status, response) in &mut operation.responses.responses {
        let Some(response) = inline(response) else { continue };
        if let Some(content) = response.content.get_mut("application/problem+json").and_then(inline) {
            content.example = Some(example_problem(status, &response.description));
        }
    }
}

fn problem(text: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(text).content("application/problem+json", content).build()
}

fn example_problem(status: &str, text: &str) -> serde_json::Value {
    let status = status.parse().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let problem = match status {
        StatusCode::UNAUTHORIZED => Problem::unauthorized(),
        StatusCode::SERVICE_UNAVAILABLE => Problem::unavailable(),
        StatusCode::UNPROCESSABLE_ENTITY => Problem::parameter("limit", "must be between 1 and 200"),
        status => Problem::new(status, text),
    };
    serde_json::to_value(problem).unwrap_or_default()
}

/// Completes a schema: writes patterns for formats, and moves the description of a nullable member to the member. utoipa
/// writes it at the reference within `oneOf`, where
/// readers and generators do not find it.
fn complete(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            expand_text_format(object);
            object.properties.values_mut().for_each(complete);
        }
        RefOr::T(Schema::AllOf(all_of)) => all_of.items.iter_mut().for_each(complete),
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(item) = &mut array.items {
                complete(item);
            }
        }
        RefOr::T(Schema::OneOf(one_of)) if one_of.description.is_none() => {
            let described = one_of.items.iter_mut().find_map(|item| match item {
                RefOr::Ref(item) if !item.description.is_empty() => {
                    Some(std::mem::take(&mut item.description))
                }
                _ => None,
            });
            one_of.description = described;
        }
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}
