//! Pages of lists.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::protocol::{CallFuture, RegisteredOperation};
use trunkline::{Call, ErrorObject, Outcome, code};

use super::context::Context;
use super::prebuilt::List;
use super::{Server, StartedCall, ready};
use crate::content::Resource;
use crate::fault::Fault;
use crate::request::string;
use crate::resource::{ListsResources, ResourcePage};

const UNKNOWN_CURSOR: Fault =
    Fault::Params("unknown cursor; request the list again without a cursor");

impl Server {
    /// Answers a request of a list.
    pub(super) fn list(
        self: &Arc<Self>,
        list: List,
        call: Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let Context { request, era, .. } = context;
        let page = match request.cursor {
            Some(cursor) if call.text(cursor) != b"null" => {
                let cursor = string(&call, Some(cursor));
                cursor.and_then(|cursor| list.page_of(&cursor)).ok_or(UNKNOWN_CURSOR)?
            }
            _ => 0,
        };
        let lists =
            if list == List::Resources { self.catalog.resource_lists() } else { Vec::new() };
        if lists.is_empty() {
            return Ok(ready(&self.catalog.page(list, era, page).ok_or(UNKNOWN_CURSOR)?));
        }
        let server = Arc::clone(self);
        let future = CallFuture::from_future(async move {
            let entries = match server.all_resources(lists, &call).await {
                Ok(entries) => entries,
                Err(error) => return Outcome::error(error),
            };
            let result = server.results.page(list, era, &entries, page);
            result.map_or_else(|| Outcome::error(UNKNOWN_CURSOR.error()), |result| written(&result))
        });
        Ok(future.into())
    }

    /// The entries of all resources, some of which are known only to operations.
    async fn all_resources(
        &self,
        lists: Vec<Arc<RegisteredOperation>>,
        call: &Call,
    ) -> Result<Vec<Vec<u8>>, ErrorObject> {
        let mut entries = self.catalog.resource_entries();
        for operation in lists {
            let mut call = call.duplicate().redirect_to(Arc::clone(&operation), None);
            for _ in 0..MAX_CALLS {
                let again = call.duplicate();
                let Ok(outcome) = self.rpc.run(call).await;
                let result = match outcome.as_result() {
                    Ok(result) => result,
                    // The list contains what the caller may read.
                    Err(error)
                        if matches!(error.code(), code::UNAUTHENTICATED | code::FORBIDDEN) =>
                    {
                        break;
                    }
                    Err(error) => return Err(error.clone()),
                };
                let listed = listed(&operation, result)?;
                entries.extend(listed.entries);
                let Some(next) = listed.next else { break };
                call = again.redirect_with(Arc::clone(&operation), &next)?;
            }
        }
        Ok(entries)
    }
}

/// The maximum number of calls of an operation for one list.
const MAX_CALLS: usize = 100;

/// The entries in the result of an operation that lists resources.
struct Listed {
    entries: Vec<Vec<u8>>,
    /// The params of the next call.
    next: Option<Map<String, Value>>,
}

fn listed(operation: &RegisteredOperation, result: &[u8]) -> Result<Listed, ErrorObject> {
    if let Some(ListsResources::By(resources)) = operation.description().extensions.get() {
        let ResourcePage { resources, next } = resources(result);
        let entry = |resource: &Resource| {
            serde_json::to_vec(resource).expect("a resource serialises into memory")
        };
        return Ok(Listed { entries: resources.iter().map(entry).collect(), next });
    }
    let listed: Vec<Box<RawValue>> = serde_json::from_slice(result).map_err(|error| {
        let name = operation.name();
        ErrorObject::internal(&format!("`{name}` does not list resources: {error}"))
    })?;
    let entries = listed.into_iter().map(|entry| entry.get().as_bytes().to_vec()).collect();
    Ok(Listed { entries, next: None })
}

fn written(result: &Bytes) -> Outcome {
    Outcome::from_writer(|json| json.extend_from_slice(result))
}
