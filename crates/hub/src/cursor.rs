//! Pagination by keyset: reads one page of a list, and signs the cursor of the next. A cursor is the position where a
//! page ended; it is valid only for the same list and scope.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::access::Actor;
use crate::page::{MAX_PAGE_SIZE, Page, PageQuery};
use crate::sql::{Clauses as _, Dialect, NEWEST, RowReader, SqlBuilder, Statement};
use crate::{Error, Hub, Moment};

/// The position where a page ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePosition {
    /// Creation time of the last entry, for lists that are ordered by it.
    pub created: Option<Moment>,
    pub id: String,
}

impl PagePosition {
    /// Creates the position of an entry in a list that is ordered by id.
    pub fn of_id(id: &str) -> Self {
        Self { created: None, id: id.to_owned() }
    }
}

/// The order of a list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder<'a> {
    /// By id. Ids grow with time.
    Id,
    /// By id, among the rows of one kind, which have an index of their own with this order.
    IdOfKind,
    /// By id, among the rows that an index finds in parts, each by a condition and in the order of this key.
    IdOfStates { key: &'a str, parts: &'a [String] },
    /// By id, with a filter that no index serves: a page reads parts of the table until it has a row, and the next one
    /// reads on.
    IdInParts { table: &'static str },
    /// By creation time and id. `selective`: the list has a filter whose index has the same order.
    Created { selective: bool },
}

/// A list that is read page by page.
pub struct List<'a, T> {
    /// Completes the error message "could not …".
    pub doing: &'a str,
    /// Identifies the list and its filter in the signature of the cursor.
    pub context: &'a str,
    pub order: ListOrder<'a>,
    pub read: fn(RowReader) -> T,
    pub position: fn(&T) -> PagePosition,
}

impl ListOrder<'_> {
    /// Returns the query for the first rows after this position, in order.
    fn first_rows(
        self,
        query: SqlBuilder,
        dialect: Dialect,
        after: Option<PagePosition>,
        limit: u32,
    ) -> Statement {
        let Self::IdOfStates { key, parts } = self else {
            return self.append(query, dialect, after).push(" LIMIT ").int(limit).finish();
        };
        let query = match after {
            Some(after) => query.push(&format!(" AND {key} < ")).text(&after.id),
            None => query,
        };
        let Statement { sql, args } = query.finish();
        // A statement can name a parameter several times, except on MySQL, which has no such index.
        let part = |part: &String| {
            format!("SELECT * FROM ({sql} AND {part} ORDER BY {key} DESC LIMIT {limit}) AS p")
        };
        let sql = match parts {
            [only] => format!("{sql} AND {only} ORDER BY {key} DESC LIMIT {limit}"),
            parts => {
                let parts: Vec<String> = parts.iter().map(part).collect();
                format!("{} ORDER BY id DESC LIMIT {limit}", parts.join(" UNION ALL "))
            }
        };
        Statement { sql, args }
    }

    /// Appends the condition for the rows after this position, and the order.
    fn append(self, query: SqlBuilder, dialect: Dialect, after: Option<PagePosition>) -> SqlBuilder {
        let Self::Created { selective } = self else {
            let query = match after {
                Some(after) => query.push(" AND t.id < ").text(&after.id),
                None => query,
            };
            let of_kind = self == Self::IdOfKind && dialect == Dialect::Postgres;
            return query.push(&format!(" ORDER BY t.id{}", if of_kind { NEWEST } else { " DESC" }));
        };
        let query = match after {
            Some(PagePosition { created, id }) => query
                // An index can start from this condition.
                .push(" AND t.created_at <= ")
                .moment(created)
                .push(" AND (t.created_at < ")
                .moment(created)
                .push(" OR t.id < ")
                .text(&id)
                .push(")"),
            None => query,
        };
        let way = if dialect == Dialect::Postgres && !selective { NEWEST } else { " DESC" };
        query.push(&format!(" ORDER BY t.created_at{way}, t.id{way}"))
    }
}

impl Hub {
    /// Reads a page of a list; `query` selects all its rows.
    pub(crate) async fn read_page<T: utoipa::ToSchema>(
        &self,
        actor: &Actor,
        page: &PageQuery,
        query: SqlBuilder,
        list: List<'_, T>,
    ) -> Result<Page<T>, Error> {
        let mut after = self.decode_cursor(actor, list.context, page)?;
        let mut parts = 1;
        let (items, last) = loop {
            let last = match list.order {
                ListOrder::IdInParts { table } => self.last_id(list.doing, table, after.as_ref()).await?,
                _ => None,
            };
            let part = match &last {
                Some(last) => query.clone().push(" AND t.id >= ").text(last),
                None => query.clone(),
            };
            let part = list.order.first_rows(part, self.dialect(), after, page.wanted() + 1);
            let rows = self.fetch_rows(list.doing, part).await?;
            match last {
                Some(last) if rows.is_empty() && parts < PARTS => after = Some(PagePosition::of_id(&last)),
                last => break (rows.into_iter().map(list.read).collect(), last),
            }
            parts += 1;
        };
        let mut page = self.build_page(actor, list.context, page, items, list.position);
        if let Some(last) = last.filter(|_| page.next_cursor.is_none()) {
            page.next_cursor = Some(self.encode_cursor(actor, list.context, PagePosition::of_id(&last)));
        }
        Ok(page)
    }

    /// The last id that a page may read; `None` if the table ends before.
    async fn last_id(
        &self,
        doing: &str,
        table: &str,
        after: Option<&PagePosition>,
    ) -> Result<Option<String>, Error> {
        let query = self.sql(format!("SELECT t.id FROM {table} AS t"));
        let query = match after {
            Some(after) => query.push(" WHERE t.id < ").text(&after.id),
            None => query,
        };
        let query = query.push(" ORDER BY t.id DESC LIMIT 1 OFFSET ").int(MAX_ROWS_READ - 1);
        Ok(self.fetch_all(doing, query).await?.pop().and_then(|mut row| row.text()))
    }

    /// Decodes the cursor of the request; `None` if it has none, an error if it was not issued for this list and scope.
    pub(crate) fn decode_cursor(
        &self,
        actor: &Actor,
        context: &str,
        page: &PageQuery,
    ) -> Result<Option<PagePosition>, Error> {
        if page.limit.is_some_and(|limit| limit == 0 || limit > MAX_PAGE_SIZE) {
            return Err(Error::parameter("limit", format!("must be from 1 to {MAX_PAGE_SIZE}")));
        }
        let Some(cursor) = &page.cursor else { return Ok(None) };
        let invalid =
            || Error::parameter("cursor", "is not a cursor that this list returned to this API key");
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
        let (position, tag) =
            bytes.split_at_checked(bytes.len().saturating_sub(TAG_BYTES)).ok_or_else(invalid)?;
        let position = std::str::from_utf8(position).map_err(|_| invalid())?;
        let expected = self.signature(actor, context, position);
        if !bool::from(subtle::ConstantTimeEq::ct_eq(&expected[..], tag)) {
            return Err(invalid());
        }
        let (created, id) = position.split_once('|').ok_or_else(invalid)?;
        Ok(Some(PagePosition { created: Moment::parse(created), id: id.to_owned() }))
    }

    /// Builds a page from the entries found. One entry more than the limit means that there is a next page.
    pub(crate) fn build_page<T: utoipa::ToSchema>(
        &self,
        actor: &Actor,
        context: &str,
        page: &PageQuery,
        mut items: Vec<T>,
        position: fn(&T) -> PagePosition,
    ) -> Page<T> {
        let wanted = page.wanted() as usize;
        let more = items.len() > wanted;
        items.truncate(wanted);
        let last = items.last().filter(|_| more);
        let next_cursor = last.map(|last| self.encode_cursor(actor, context, position(last)));
        Page { items, next_cursor }
    }

    fn encode_cursor(&self, actor: &Actor, context: &str, position: PagePosition) -> String {
        let PagePosition { created, id } = position;
        let position = format!("{}|{id}", created.map(|created| created.to_string()).unwrap_or_default());
        let tag = self.signature(actor, context, &position);
        URL_SAFE_NO_PAD.encode([position.as_bytes(), &tag].concat())
    }

    fn signature(&self, actor: &Actor, context: &str, position: &str) -> [u8; TAG_BYTES] {
        let text = format!("{}\0{context}\0{position}", actor.scope.identity());
        let tag = hmac::sign(&self.cursor_key, text.as_bytes());
        tag.as_ref()[..TAG_BYTES].try_into().expect("a SHA-256 tag is longer than that")
    }
}

const TAG_BYTES: usize = 16;

/// Number of rows in a part of [`ListOrder::IdInParts`].
const MAX_ROWS_READ: u32 = 50_000;

/// Maximum number of parts that a page reads until it has a row.
const PARTS: usize = 8;
