//! Ids and query parameters of the URL; unknown ones are refused with their name.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use postrider_hub::Fault;
use postrider_hub::page::PageQuery;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Problem;
use super::json_checks::NO_NUL;

/// The allowed form of a text parameter, with its maximum length.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Letters, digits, dots, underscores and hyphens.
    Slug(usize),
    /// Anything without control characters.
    Line(usize),
}

impl Form {
    fn mistake(self, text: &str) -> Option<String> {
        let (most, fine): (usize, fn(char) -> bool) = match self {
            Self::Slug(most) => (most, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')),
            Self::Line(most) => (most, |c| !c.is_control()),
        };
        let fits = (1..=most).contains(&text.chars().count()) && text.chars().all(fine);
        (!fits).then(|| match self {
            Self::Slug(_) => format!("must have 1 to {most} letters, digits, dots, underscores or hyphens"),
            Self::Line(_) => format!("must have 1 to {most} characters, none of them a control character"),
        })
    }
}

/// Returns the name and the error of the first text that does not have its form, `None` if all do.
pub fn invalid_text<'a>(texts: &[(&'a str, &Option<String>, Form)]) -> Option<(&'a str, String)> {
    texts.iter().find_map(|(field, text, form)| Some((*field, form.mistake(text.as_deref()?)?)))
}

/// Checks that every parameter has its form.
pub fn check(texts: &[(&str, &Option<String>, Form)]) -> Result<(), Problem> {
    invalid_text(texts).map_or(Ok(()), |(field, mistake)| Err(Problem::parameter(field, mistake)))
}

/// The variable part of a path with one.
pub struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(id) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the path is not UTF-8"))?;
        Ok(Self(id))
    }
}

/// The lane and the row of a path.
pub struct RowId(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for RowId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((lane, row)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the path is not UTF-8"))?;
        Ok(Self(lane, row))
    }
}

/// Refuses a NUL character in the path or the query, on every route.
pub fn refuse_nul(uri: &Uri) -> Result<(), Problem> {
    let holds_nul = |part: &str| part.contains("%00");
    if holds_nul(uri.path()) {
        return Err(Problem::parameter("path", NO_NUL));
    }
    let mut pairs = uri.query().unwrap_or_default().split('&');
    match pairs.find(|pair| holds_nul(pair)) {
        Some(pair) => Err(Problem::parameter(pair.split('=').next().unwrap_or_default(), NO_NUL)),
        None => Ok(()),
    }
}

/// The query parameters of a request.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => Err(parse_problem(&rejection.body_text())),
        }
    }
}

/// Converts an error such as `Failed to deserialize query string: status: unknown variant …`.
fn parse_problem(text: &str) -> Problem {
    let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text);
    let (field, message) = match text.split_once(": ") {
        Some((field, message)) => (field.to_owned(), message),
        None => (text.split('`').nth(1).unwrap_or("query").to_owned(), text),
    };
    let detail = "the request is not valid: see `errors`";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
        .with_faults(vec![Fault::outside_body(field, message)])
}

/// Query parameters of a paged list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Maximum number of entries. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// `nextCursor` of the previous page. Default: the first page.
    #[param(min_length = 1, max_length = 500, pattern = "^[A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}

impl PageParams {
    /// Converts the parameters to the query of a page.
    pub fn query(self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor }
    }
}
