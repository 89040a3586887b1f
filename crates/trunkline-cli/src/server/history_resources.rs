//! The history as resources of MCP: `history://recent`, and `history://call/{id}`.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use trunkline::history::endpoint::Readers;
use trunkline::history::{Entry, Filter, History};
use trunkline::layers::{Next, from_fn};
use trunkline::{
    Call, ErrorObject, JsonSchema, Operation, Outcome, Params, Router, State, code, schemars,
};
use trunkline_mcp::{McpOperation, Resource, ResourceTemplate};

/// The prefix of the methods.
pub(crate) const NAMESPACE: &str = "history";

const RECENT: &str = "history://recent";
const RECENT_LIMITED: &str = "history://recent{?limit}";
const CALL: &str = "history://call/{id}";
const JSON: &str = "application/json";

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Recent {
    /// Maximum number of calls, at most 100. Default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ById {
    /// The number of the call: `sequence` in lists.
    id: u64,
}

#[derive(Serialize)]
struct Calls<'a> {
    entries: Vec<&'a Entry>,
}

/// The operations that read the history, for the callers that may read it over HTTP.
pub(super) fn operations(history: &History, readers: Readers) -> Router {
    let recent = Operation::new(format!("{NAMESPACE}.recent"), recent)
        .title("Recent calls")
        .description(
            "Returns the last calls of this server, newest first, without reads of the history.",
        )
        .input::<Recent>()
        .resource(Resource::new(RECENT, "history").mime_type(JSON))
        .resource_template(ResourceTemplate::new(RECENT_LIMITED, "history").mime_type(JSON));
    let call = Operation::new(format!("{NAMESPACE}.call"), by_id)
        .title("A call of the history")
        .description("Returns a call of the history.")
        .input::<ById>()
        .resource_template(ResourceTemplate::new(CALL, "call").mime_type(JSON))
        .resource_missing_if(|error| error.code() == code::NOT_FOUND);
    let admit = move |call: Call, next: Next| {
        let checked = readers.check(call.extensions());
        async move {
            match checked {
                Ok(()) => next.run(call).await,
                Err(error) => Outcome::error(error),
            }
        }
    };
    let router = [recent, call].into_iter().fold(Router::new(), |router, operation| {
        router.operation(operation.read_only().closed_world())
    });
    router.layer(from_fn(admit)).with_state(history.clone())
}

async fn recent(
    State(history): State<History>,
    Params(Recent { limit }): Params<Recent>,
) -> Result<Box<RawValue>, ErrorObject> {
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        let reason = format!("`limit` must be from 1 to {MAX_LIMIT}");
        return Err(ErrorObject::invalid_params(&reason));
    }
    redacted(move || {
        let mut filter = Filter::default();
        let mut found = Vec::new();
        loop {
            let page = history.entries(&filter);
            found.extend(page.entries.into_iter().filter(|entry| !reads_history(entry)));
            if page.next.is_none() || found.len() >= limit {
                break;
            }
            filter.before = page.next;
        }
        let entries = found.iter().take(limit).map(|entry| &**entry).collect();
        Ok(to_raw_value(&Calls { entries }))
    })
    .await
}

async fn by_id(
    State(history): State<History>,
    Params(ById { id }): Params<ById>,
) -> Result<Box<RawValue>, ErrorObject> {
    redacted(move || {
        let filter = Filter { before: id.checked_add(1), limit: 1, ..Filter::default() };
        let page = history.entries(&filter);
        let entry = page.entries.first().filter(|entry| entry.sequence == id);
        let missing = || {
            let error = ErrorObject::new(code::NOT_FOUND, "Not found");
            error.with_data(
                &serde_json::json!({ "reason": format!("no call `{id}` in the history") }),
            )
        };
        Ok(to_raw_value(&**entry.ok_or_else(missing)?))
    })
    .await
}

/// Whether the call is one of these operations, whose result contains other calls.
fn reads_history(entry: &Entry) -> bool {
    let name = entry.operation.as_deref().or(entry.method.as_deref());
    name.and_then(|name| name.strip_prefix(NAMESPACE)).is_some_and(|rest| rest.starts_with('.'))
}

/// Writes entries. They are redacted when they are written, which takes too long for a thread of the runtime.
async fn redacted(
    write: impl FnOnce() -> Result<serde_json::Result<Box<RawValue>>, ErrorObject> + Send + 'static,
) -> Result<Box<RawValue>, ErrorObject> {
    let written = tokio::task::spawn_blocking(write).await;
    let written = written.map_err(|error| ErrorObject::internal_error(&error))?;
    written?.map_err(|error| ErrorObject::internal_error(&error))
}
