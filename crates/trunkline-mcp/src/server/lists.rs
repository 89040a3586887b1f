//! Pages of lists.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::access::Principal;
use trunkline::protocol::{CallFuture, RegisteredOperation};
use trunkline::{Call, ErrorObject, Outcome, code};

use super::context::Context;
use super::prebuilt::List;
use super::{Server, StartedCall, ready};
use crate::fault::Fault;
use crate::model::Resource;
use crate::request::string;
use crate::resource::{ListsResources, ResourcePage, first_text};

const UNKNOWN_CURSOR: Fault =
    Fault::Params("unknown cursor; request the list again without a cursor");

/// The maximum number of calls of operations for one page.
const MAX_CALLS: usize = 100;

/// The position of a page among the resources that operations list. It is the cursor of the page, which clients can
/// change: calls with its params pass the same layers as all others.
#[derive(Debug, Serialize, Deserialize)]
struct Position {
    /// The name of the operation.
    operation: String,
    params: Option<Map<String, Value>>,
    /// The number of entries of the result that are on earlier pages.
    skip: usize,
}

/// The start of a page of resources.
enum Start {
    /// The number of a page of the resources that are known without a call.
    Known(usize),
    Listed(Position),
}

impl Position {
    const PREFIX: &'static str = "resources.";

    /// The first result of an operation.
    fn first(operation: &RegisteredOperation) -> Self {
        Self { operation: operation.name().to_owned(), params: None, skip: 0 }
    }

    fn parse(cursor: &str) -> Option<Self> {
        let json = BASE64.decode(cursor.strip_prefix(Self::PREFIX)?).ok()?;
        serde_json::from_slice(&json).ok()
    }

    fn cursor(&self) -> String {
        let json = serde_json::to_vec(self).expect("JSON values serialise into memory");
        format!("{}{}", Self::PREFIX, BASE64.encode(json))
    }
}

impl Server {
    /// Answers a request of a list.
    pub(super) fn list(
        self: &Arc<Self>,
        list: List,
        call: Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let Context { request, era, .. } = context;
        let cursor = request.cursor.filter(|cursor| call.text(*cursor) != b"null");
        let cursor = match cursor {
            Some(cursor) => Some(string(&call, Some(cursor)).ok_or(UNKNOWN_CURSOR)?.into_owned()),
            None => None,
        };
        // Some clients send an empty cursor with their first request.
        let cursor = cursor.as_deref().filter(|cursor| !cursor.is_empty());
        let page = cursor.map_or(Some(0), |cursor| list.page_of(cursor));
        let lists =
            if list == List::Resources { self.catalog.resource_lists() } else { Vec::new() };
        if lists.is_empty() {
            let page = page.ok_or(UNKNOWN_CURSOR)?;
            let caller = Principal::of(call.extensions());
            let page = self.catalog.page(&self.results, (list, era), page, caller);
            return Ok(ready(&page.ok_or(UNKNOWN_CURSOR)?));
        }
        let listed = || cursor.and_then(Position::parse).map(Start::Listed);
        let start = page.map(Start::Known).or_else(listed).ok_or(UNKNOWN_CURSOR)?;
        let server = Arc::clone(self);
        let future = CallFuture::from_future(async move {
            match server.resource_page(&lists, start, &call).await {
                Ok((entries, next)) => {
                    let result = server.results.page(list, era, &entries, next.as_deref());
                    Outcome::from_writer(|json| json.extend_from_slice(&result))
                }
                Err(error) => Outcome::error(error),
            }
        });
        Ok(future.into())
    }

    /// The entries of a page of resources, some of which are known only to operations, and the cursor of the next page.
    async fn resource_page(
        &self,
        lists: &[Arc<RegisteredOperation>],
        start: Start,
        call: &Call,
    ) -> Result<(Vec<Vec<u8>>, Option<String>), ErrorObject> {
        let max = self.results.page_entries();
        let (mut entries, mut position) = match start {
            Start::Listed(position) => (Vec::new(), position),
            Start::Known(page) => {
                let known = self.catalog.resource_entries(Principal::of(call.extensions()));
                let mut rest = known.chunks(max).skip(page);
                let entries = match rest.next() {
                    Some(entries) => entries.to_vec(),
                    None if page == 0 => Vec::new(),
                    None => return Err(UNKNOWN_CURSOR.error()),
                };
                if rest.next().is_some() {
                    return Ok((entries, Some(List::Resources.cursor(page + 1))));
                }
                (entries, Position::first(&lists[0]))
            }
        };
        let is_next = |operation: &Arc<RegisteredOperation>| operation.name() == position.operation;
        let mut index = lists.iter().position(is_next).ok_or_else(|| UNKNOWN_CURSOR.error())?;
        for _ in 0..MAX_CALLS {
            if entries.len() >= max {
                break;
            }
            let operation = &lists[index];
            let listed = self.listed(operation, position.params.as_ref(), call).await?;
            let count = listed.entries.len();
            let taken = count.saturating_sub(position.skip).min(max - entries.len());
            entries.extend(listed.entries.into_iter().skip(position.skip).take(taken));
            position.skip += taken;
            if position.skip < count {
                break;
            }
            if listed.next.is_some() {
                (position.params, position.skip) = (listed.next, 0);
                continue;
            }
            index += 1;
            let Some(operation) = lists.get(index) else { return Ok((entries, None)) };
            position = Position::first(operation);
        }
        Ok((entries, Some(position.cursor())))
    }

    /// The resources that an operation lists with these params. Empty if access rules refuse the call: the list contains
    /// what the caller may read.
    async fn listed(
        &self,
        operation: &Arc<RegisteredOperation>,
        params: Option<&Map<String, Value>>,
        call: &Call,
    ) -> Result<Listed, ErrorObject> {
        let call = call.duplicate();
        let call = match params {
            Some(params) => call.redirect_with(Arc::clone(operation), params)?,
            None => call.redirect_to(Arc::clone(operation), None),
        };
        let Ok(outcome) = self.rpc.run(call).await;
        match outcome.as_result() {
            Ok(result) => listed(operation, result),
            Err(error) if matches!(error.code(), code::UNAUTHENTICATED | code::FORBIDDEN) => {
                Ok(Listed { entries: Vec::new(), next: None })
            }
            Err(error) => Err(error.clone()),
        }
    }
}

/// The entries in the result of an operation that lists resources.
struct Listed {
    entries: Vec<Vec<u8>>,
    /// The params of the next call.
    next: Option<Map<String, Value>>,
}

fn listed(operation: &RegisteredOperation, result: &[u8]) -> Result<Listed, ErrorObject> {
    if let Some(ListsResources::By(resources)) = operation.description().extensions.get() {
        let ResourcePage { resources, next } = resources(result);
        let entry = |mut resource: Resource| {
            resource.title = first_text([&resource.title]);
            resource.description = first_text([&resource.description]);
            serde_json::to_vec(&resource).expect("a resource serialises into memory")
        };
        return Ok(Listed { entries: resources.into_iter().map(entry).collect(), next });
    }
    let listed: Vec<Box<RawValue>> = serde_json::from_slice(result).map_err(|error| {
        let name = operation.name();
        ErrorObject::internal(&format!("`{name}` does not list resources: {error}"))
    })?;
    let entries = listed.into_iter().map(|entry| entry.get().as_bytes().to_vec()).collect();
    Ok(Listed { entries, next: None })
}
