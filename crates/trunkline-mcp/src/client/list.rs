//! Lists in pages.

use std::collections::BTreeMap;

use futures_util::Stream;
use futures_util::stream::try_unfold;
use serde_json::value::RawValue;

use super::cache::Key;
use super::client::Client;
use super::connection::RequestParts;
use super::error::{Error, shortened};
use super::message::{Params, elements};

/// The items of a list, or of a page of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct List<T> {
    /// The items, in the server's order.
    pub items: Vec<T>,
    /// The names of items that must not be used, each with the reason.
    pub rejected: Vec<(String, String)>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), rejected: Vec::new() }
    }
}

/// An item of a list.
pub(super) trait Item: Sized {
    const METHOD: &'static str;
    /// The member of the result.
    const MEMBER: &'static str;

    /// Reads an item. The error is its name, if it has one, and the reason for which it is rejected.
    fn read(object: Box<RawValue>, is_strict: bool) -> Result<Self, (String, String)>;
}

enum Position {
    Begin,
    After(String),
    End,
}

/// A page of a list, and the cursor of the next one.
struct Page<T> {
    list: List<T>,
    next: Option<String>,
    bytes: usize,
}

impl Client {
    pub(super) async fn list<T: Item>(&self) -> Result<List<T>, Error> {
        let config = &self.core.inbox().config;
        let (mut list, mut cursor, mut bytes) = (List::default(), None, 0);
        for _ in 0..config.max_pages {
            let Page { list: page, next, bytes: more } = self.page::<T>(cursor.as_deref()).await?;
            list.items.extend(page.items);
            list.rejected.extend(page.rejected);
            bytes += more;
            if list.items.len() + list.rejected.len() > config.max_items {
                return Err(too_long::<T>(config.max_items, "items"));
            }
            if bytes > config.list_bytes {
                return Err(too_long::<T>(config.list_bytes, "bytes"));
            }
            if next.is_none() {
                return Ok(list);
            }
            cursor = next;
        }
        Err(too_long::<T>(config.max_pages, "pages"))
    }

    pub(super) fn pages<T: Item>(
        &self,
    ) -> impl Stream<Item = Result<List<T>, Error>> + Send + use<T> {
        let client = self.clone();
        try_unfold((Position::Begin, 0), move |(position, count)| {
            let client = client.clone();
            async move {
                let cursor = match position {
                    Position::Begin => None,
                    Position::After(cursor) => Some(cursor),
                    Position::End => return Ok(None),
                };
                let max_pages = client.core.inbox().config.max_pages;
                if count == max_pages {
                    return Err(too_long::<T>(max_pages, "pages"));
                }
                let Page { list, next, .. } = client.page::<T>(cursor.as_deref()).await?;
                let next = next.map_or(Position::End, Position::After);
                Ok(Some((list, (next, count + 1))))
            }
        })
    }

    async fn page<T: Item>(&self, cursor: Option<&str>) -> Result<Page<T>, Error> {
        let key = Key { method: T::METHOD, selector: cursor.map(str::to_owned) };
        let result = match self.core.cached(&key).await? {
            Ok(result) => result,
            Err(generation) => {
                let params = Params { cursor, ..Params::default() };
                let answer = self.core.request(T::METHOD, &mut RequestParts::of(params)).await?;
                self.core.inbox().cache.put(key, &answer.result, generation);
                answer.result
            }
        };
        let malformed = |error: serde_json::Error| Error::malformed(T::METHOD, error);
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(result.get()).map_err(malformed)?;
        let Some(items) = members.get(T::MEMBER) else {
            return Err(Error::malformed(T::METHOD, format!("`{}` is missing", T::MEMBER)));
        };
        // Small items need much more memory than their text.
        let max_items = self.core.inbox().config.max_items;
        let items = elements(items.get().as_bytes(), max_items).map_err(malformed)?;
        let items = items.ok_or_else(|| too_long::<T>(max_items, "items"))?;
        let next: Option<String> = match members.get("nextCursor") {
            Some(cursor) => serde_json::from_str(cursor.get()).map_err(malformed)?,
            None => None,
        };
        let is_strict = self.core.session().is_modern();
        let mut list = List::default();
        for item in items {
            match T::read(item.to_owned(), is_strict) {
                Ok(item) => list.items.push(item),
                Err((name, reason)) => list.rejected.push((shortened(&name), shortened(&reason))),
            }
        }
        if let Some((name, reason)) = list.rejected.first() {
            let count = list.rejected.len();
            tracing::warn!(method = T::METHOD, count, name, reason, "rejecting items of a list");
        }
        Ok(Page { list, next, bytes: result.get().len() })
    }
}

fn too_long<T: Item>(max: usize, unit: &str) -> Error {
    Error::ListTooLong { method: T::METHOD, limit: format!("{max} {unit}") }
}

/// The name of an object, or an empty text.
pub(super) fn name_of(object: &RawValue, member: &str) -> String {
    let object: Result<serde_json::Value, _> = serde_json::from_str(object.get());
    let name = object.ok().and_then(|object| Some(object.get(member)?.as_str()?.to_owned()));
    name.unwrap_or_default()
}
