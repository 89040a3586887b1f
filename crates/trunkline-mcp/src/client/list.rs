//! Lists in pages.

use std::collections::{BTreeMap, HashSet};

use futures_util::Stream;
use futures_util::stream::try_unfold;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::cache::Key;
use super::client::Client;
use super::connection::RequestParts;
use super::error::Error;
use super::message::{Params, elements};
use crate::model::Received;
use crate::protocol::shortened;

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
pub(super) trait Item: DeserializeOwned + Send {
    const METHOD: &'static str;
    /// The member of the result.
    const MEMBER: &'static str;
    /// The member of an item that names it.
    const NAME: &'static str;

    /// Checks what the type does not show. The error is the reason for which the item is rejected.
    fn check(&self, is_stateless: bool) -> Result<(), String> {
        let _ = is_stateless;
        Ok(())
    }
}

/// The position in a list.
#[derive(Default)]
struct Position {
    /// The cursor of the next page, if it is not the first one.
    cursor: Option<String>,
    /// The cursors so far.
    seen: HashSet<String>,
    pages: usize,
    has_ended: bool,
    /// Whether the server has repeated a cursor, and so probably items.
    is_repeated: bool,
}

impl Position {
    /// Moves on to the page after this one. An empty cursor, or one that the server has sent before, ends the list: some
    /// servers send one with each page.
    fn advance<T: Item>(&mut self, next: Option<String>) {
        self.pages += 1;
        let next = next.filter(|cursor| !cursor.is_empty());
        self.is_repeated = next.as_ref().is_some_and(|cursor| !self.seen.insert(cursor.clone()));
        if self.is_repeated {
            tracing::warn!(
                method = T::METHOD,
                "the server has repeated a cursor, which ends the list"
            );
        }
        self.has_ended = self.is_repeated || next.is_none();
        self.cursor = next;
    }
}

impl Client {
    pub(super) async fn list<T: Item>(&self) -> Result<List<Received<T>>, Error> {
        let config = &self.core.inbox().config;
        let (mut list, mut position, mut bytes) = (List::default(), Position::default(), 0);
        while let Some((page, more)) = self.page::<T>(&mut position).await? {
            list.items.extend(page.items);
            list.rejected.extend(page.rejected);
            bytes += more;
            if list.items.len() + list.rejected.len() > config.max_items {
                return Err(too_long::<T>(config.max_items, "items"));
            }
            if bytes > config.list_bytes {
                return Err(too_long::<T>(config.list_bytes, "bytes"));
            }
        }
        if position.is_repeated {
            let mut seen = HashSet::new();
            list.items.retain(|item| seen.insert(item.object().get().to_owned()));
        }
        Ok(list)
    }

    pub(super) fn pages<T: Item>(
        &self,
    ) -> impl Stream<Item = Result<List<Received<T>>, Error>> + Send + use<T> {
        let client = self.clone();
        try_unfold(Position::default(), move |mut position| {
            let client = client.clone();
            async move {
                let page = client.page::<T>(&mut position).await?;
                Ok(page.map(|(list, _)| (list, position)))
            }
        })
    }

    /// The next page, and its size in bytes.
    async fn page<T: Item>(
        &self,
        position: &mut Position,
    ) -> Result<Option<(List<Received<T>>, usize)>, Error> {
        let max_pages = self.core.inbox().config.max_pages;
        if position.has_ended {
            return Ok(None);
        }
        if position.pages == max_pages {
            return Err(too_long::<T>(max_pages, "pages"));
        }
        let cursor = position.cursor.as_deref();
        let key = Key { method: T::METHOD, selector: cursor.map(str::to_owned) };
        let request = async {
            let params = Params { cursor, ..Params::default() };
            let answer = self.core.request(T::METHOD, &mut RequestParts::of(params)).await?;
            Ok((answer.result, false))
        };
        let result = self.core.cached(key, request).await?;
        let malformed = |error: serde_json::Error| Error::malformed(T::METHOD, error);
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(result.get()).map_err(malformed)?;
        let items = members.get(T::MEMBER).filter(|items| items.get() != "null");
        let Some(items) = items else {
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
        let is_stateless = self.core.session().is_modern();
        let mut list = List::default();
        for object in items {
            let item = Received::<T>::read(object.to_owned()).map_err(|error| error.to_string());
            match item.and_then(|item| item.check(is_stateless).map(|()| item)) {
                Ok(item) => list.items.push(item),
                Err(reason) => {
                    let name = name_of(object, T::NAME);
                    list.rejected.push((shortened(&name), shortened(&reason)));
                }
            }
        }
        if let Some((name, reason)) = list.rejected.first() {
            let count = list.rejected.len();
            tracing::warn!(method = T::METHOD, count, name, reason, "rejecting items of a list");
        }
        position.advance::<T>(next);
        Ok(Some((list, result.get().len())))
    }
}

fn too_long<T: Item>(max: usize, unit: &str) -> Error {
    Error::ListTooLong { method: T::METHOD, limit: format!("{max} {unit}") }
}

/// The name of an object, or an empty text.
fn name_of(object: &RawValue, member: &str) -> String {
    let object: Result<serde_json::Value, _> = serde_json::from_str(object.get());
    let name = object.ok().and_then(|object| Some(object.get(member)?.as_str()?.to_owned()));
    name.unwrap_or_default()
}
