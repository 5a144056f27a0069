//! Pagination cursors: the position where a page ended, signed, and valid only for the same list and scope.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::access::Actor;
use crate::page::{Page, PageQuery};
use crate::{Error, Hub, Moment};

/// The position where a page ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// Creation time of the last entry, for lists that are ordered by it.
    pub created: Option<Moment>,
    pub id: String,
}

impl Hub {
    /// Decodes the cursor of the request; `None` if it has none, an error if it was not issued for this list and scope.
    pub(crate) fn opened(
        &self,
        actor: &Actor,
        about: &str,
        page: &PageQuery,
    ) -> Result<Option<After>, Error> {
        if page.limit.is_some_and(|limit| limit == 0 || limit > crate::page::MOST) {
            return Err(Error::parameter("limit", format!("must be from 1 to {}", crate::page::MOST)));
        }
        let Some(cursor) = &page.cursor else { return Ok(None) };
        let wrong = || Error::parameter("cursor", "is not a cursor that this list returned to this API key");
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong())?;
        let (place, tag) = bytes.split_at_checked(bytes.len().saturating_sub(TAG)).ok_or_else(wrong)?;
        let place = std::str::from_utf8(place).map_err(|_| wrong())?;
        let good = self.signature(actor, about, place);
        if !bool::from(subtle::ConstantTimeEq::ct_eq(&good[..], tag)) {
            return Err(wrong());
        }
        let (created, id) = place.split_once('|').ok_or_else(wrong)?;
        Ok(Some(After { created: Moment::parse(created), id: id.to_owned() }))
    }

    /// Builds a page from the entries found. One entry more than the limit means that there is a next page.
    pub(crate) fn closed<T: utoipa::ToSchema>(
        &self,
        actor: &Actor,
        about: &str,
        page: &PageQuery,
        mut items: Vec<T>,
        place: impl Fn(&T) -> (Option<Moment>, String),
    ) -> Page<T> {
        let wanted = page.wanted() as usize;
        let more = items.len() > wanted;
        items.truncate(wanted);
        let next_cursor = items.last().filter(|_| more).map(|last| {
            let (created, id) = place(last);
            let place = format!("{}|{id}", created.map(|created| created.to_string()).unwrap_or_default());
            let tag = self.signature(actor, about, &place);
            URL_SAFE_NO_PAD.encode([place.as_bytes(), &tag].concat())
        });
        Page { items, next_cursor }
    }

    fn signature(&self, actor: &Actor, about: &str, place: &str) -> [u8; TAG] {
        let text = format!("{}\0{about}\0{place}", actor.scope.mark());
        let tag = hmac::sign(&self.cursor_key, text.as_bytes());
        tag.as_ref()[..TAG].try_into().expect("a SHA-256 tag is longer than that")
    }
}

const TAG: usize = 16;
