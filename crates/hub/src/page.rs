//! Pagination: the limit and cursor of a request, and the page that is returned.

use serde::Serialize;
use utoipa::ToSchema;

/// The limit and cursor of a request for a page.
#[derive(Debug, Clone, Default)]
pub struct PageQuery {
    /// Maximum number of entries, 1 to 200. Default: 50.
    pub limit: Option<u32>,
    /// [`Page::next_cursor`] of the previous page. Default: the first page.
    pub cursor: Option<String>,
}

/// Maximum number of entries on a page.
pub const MAX_PAGE_SIZE: u32 = 200;

impl PageQuery {
    pub(crate) fn wanted(&self) -> u32 {
        self.limit.unwrap_or(50).clamp(1, MAX_PAGE_SIZE)
    }
}

/// One page of a list, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T: ToSchema> {
    /// The entries of this page.
    pub items: Vec<T>,
    /// Pass it as `cursor` to get the next page. Null: this is the last page.
    pub next_cursor: Option<String>,
}
