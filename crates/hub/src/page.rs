//! Pages: how many, from where on.

use serde::Serialize;
use utoipa::ToSchema;

/// Which page of a list.
#[derive(Debug, Clone, Default)]
pub struct PageQuery {
    /// 1 to 200; 50 if none.
    pub limit: Option<u32>,
    /// Where the page before ended: [`Page::next_cursor`].
    pub cursor: Option<String>,
}

/// The most entries of a page.
pub const MOST: u32 = 200;

impl PageQuery {
    pub(crate) fn wanted(&self) -> u32 {
        self.limit.unwrap_or(50).clamp(1, MOST)
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
