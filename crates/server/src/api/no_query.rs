//! Refuses query parameters, by name, on routes that have none.

use std::sync::LazyLock;

use axum::extract::{Query, Request};
use axum::http::Method;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{self, ParameterIn};

use super::Problem;

/// An operation, and whether it has query parameters.
struct Operation {
    method: Method,
    path: String,
    has_query: bool,
}

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let known = |path: &str, method: Method, operation: Option<path::Operation>| {
        let has_query = operation?.parameters.iter().flatten().any(|parameter| match parameter {
            RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Query,
            RefOr::Ref(_) => true,
        });
        Some(Operation { method, path: path.to_owned(), has_query })
    };
    let paths = super::described().into_openapi().paths.paths.into_iter();
    let operations = paths.flat_map(|(path, item)| {
        [
            known(&path, Method::GET, item.get),
            known(&path, Method::POST, item.post),
            known(&path, Method::PUT, item.put),
            known(&path, Method::DELETE, item.delete),
        ]
    });
    operations.flatten().collect()
});

/// Refuses the first query parameter if the operation has none.
pub fn refuse_parameters(request: &Request) -> Result<(), Problem> {
    if request.uri().query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let method = if *request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let path = request.uri().path();
    let mut meant =
        OPERATIONS.iter().filter(|known| known.method == *method && matches_template(path, &known.path));
    // An unknown route gets its own response.
    if meant.next().is_none_or(|first| first.has_query) || meant.any(|known| known.has_query) {
        return Ok(());
    }
    let given: Vec<(String, String)> =
        Query::try_from_uri(request.uri()).map(|Query(given)| given).unwrap_or_default();
    match given.first() {
        Some((name, _)) => Err(Problem::parameter(name, "is unknown: this route has no parameters")),
        None => Ok(()),
    }
}

/// Whether a path matches a template: `/lanes/mail/rows` matches `/lanes/{id}/rows`.
fn matches_template(path: &str, template: &str) -> bool {
    let (mut parts, mut wanted) = (path.split('/'), template.split('/'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some(wanted)) if wanted.starts_with('{') || part == wanted => {}
            _ => return false,
        }
    }
}
