//! The OpenAPI document, made of the routes' own descriptions.

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, License, OpenApi, Ref, RefOr, Response, ResponseBuilder, Server,
};

use super::problem::Problem;

/// The whole document, as it is checked in at `docs/reference/openapi.json`.
pub fn document() -> OpenApi {
    let mut document = super::described().into_openapi();
    let mut info = InfoBuilder::new()
        .title("Postrider")
        .version("1.0")
        .description(Some(
            "Webhook deliveries: dispatch jobs with every attempt on record, events, subscriptions, pools, service accounts.",
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
    document.security = Some(vec![SecurityRequirement::new("key", Vec::<String>::new())]);
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
        }
    }
    document
}

/// `post /dispatch-jobs/{id}/retry` as `postDispatchJobsIdRetry`: ids must differ, and the handlers' names do not.
fn id_of(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    words.fold(method.to_owned(), |id, word| id + &capital(word))
}

/// What every route may answer besides its own.
fn add_problems(operation: &mut Operation, path: &str) {
    let mut known = vec![
        ("400", "The request can't be read"),
        ("401", "No key, or one that opens nothing"),
        ("403", "This key may not"),
        ("422", "The request says something that can't be"),
        ("500", "The database refused the request"),
        ("503", "The database is away"),
    ];
    if path.contains('{') {
        known.push(("404", "There is none, or none that this key may see"));
    }
    if path.contains('{') || operation.request_body.is_some() {
        known.push(("409", "The state of things is against it"));
    }
    if operation.request_body.is_some() {
        known.push(("413", "The body is too large"));
        known.push(("415", "The body is not JSON"));
    }
    for (status, text) in known {
        let problem = RefOr::T(problem(text));
        operation.responses.responses.entry(status.to_owned()).or_insert(problem);
    }
}

fn problem(text: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(text).content("application/problem+json", content).build()
}
