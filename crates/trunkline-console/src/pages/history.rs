//! The history of calls: live, filtered, and one call in detail.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use serde_json::{Map, Value, json};
use trunkline::history::{Entry, Filter, History, Status};
use trunkline::{Effect, ErrorObject, code};

use super::operations;
use crate::console::{DATA, DisabledPage, Layout, Refused, Visit, page};
use crate::json::Json;
use crate::text;

const SECTION: &str = "history";

/// A call in the list.
pub(super) struct Listed {
    pub(super) href: String,
    pub(super) time: String,
    pub(super) method: String,
    pub(super) endpoint: String,
    pub(super) principal: String,
    pub(super) status: String,
    pub(super) class: &'static str,
    pub(super) millis: String,
}

impl Listed {
    pub(super) fn of(entry: &Entry) -> Self {
        // Redacting the texts, which are not shown, takes most of the time.
        let mut head = entry.clone();
        (head.request, head.response) = (None, None);
        let json = as_json(&head);
        let method = entry.method.as_deref().unwrap_or("(invalid request)");
        let method = match entry.operation.as_deref() {
            Some(operation) => format!("{method} {operation}"),
            None => method.to_owned(),
        };
        let (class, status) = match (entry.status, entry.code) {
            (Status::Result, _) => ("ok", "result".to_owned()),
            (Status::Error, Some(code)) => ("error", format!("error {code}")),
            (Status::Error, None) => ("error", "error".to_owned()),
            (Status::Cancelled, _) => ("cancelled", "cancelled".to_owned()),
        };
        Self {
            href: format!("/console/history/{}", entry.sequence),
            time: json.text("time"),
            method,
            endpoint: entry.endpoint.to_owned(),
            principal: entry.principal.as_deref().unwrap_or_default().to_owned(),
            status,
            class,
            millis: text::millis(entry.duration.as_secs_f64() * 1_000.0),
        }
    }
}

/// The redacted form of an entry, as all readers get it.
fn as_json(entry: &Entry) -> Json {
    let text = serde_json::to_vec(entry).unwrap_or_default();
    Json::parse(&text).unwrap_or(Json::Null)
}

/// The history, if the user may read it.
pub(super) fn readable(visit: &Visit) -> Result<&History, Refused> {
    let Some(access) = &visit.console.config.history else {
        return Err(page(&DisabledPage {
            layout: visit.layout("History", SECTION),
            explanation: "The history of calls is off.",
            command: "trunkline serve",
            guide: "Start the server without --no-history. --log also writes the calls to files.",
        })
        .into());
    };
    match access.readers.check(&visit.extensions) {
        Ok(()) => Ok(&access.history),
        Err(error) => Err(visit.failed(SECTION, &error).into()),
    }
}

#[derive(Template)]
#[template(path = "history.html")]
struct ListPage {
    layout: Layout,
    entries: Vec<Listed>,
    method: String,
    status: String,
    endpoint: String,
    principal: String,
    trace_id: String,
    error: String,
    /// The URL of the stream of new entries that match.
    stream: String,
    next: Option<String>,
    is_first: bool,
    first: String,
}

/// The parameters of the filter that the page has fields for.
const PARAMETERS: [&str; 5] = ["method", "status", "endpoint", "principal", "trace_id"];

pub(super) async fn list(visit: Visit) -> Result<Response, Refused> {
    let history = readable(&visit)?;
    let fields = &visit.fields;
    let pairs = PARAMETERS.map(|name| (name, fields.text(name).trim()));
    let query = text::query(&pairs);
    let (filter, error) = match Filter::from_query(query.trim_start_matches('?')) {
        Ok(filter) => (filter, String::new()),
        Err(error) => (Filter::default(), error.to_string()),
    };
    let before = fields.get("before").and_then(|text| text.parse().ok());
    let found = history.entries(&Filter { before, limit: 100, ..filter });
    let next = found.next.map(|before| {
        let before = before.to_string();
        let pairs: Vec<_> = pairs.into_iter().chain([("before", before.as_str())]).collect();
        format!("/console/history{}", text::query(&pairs))
    });
    let layout = visit.layout("History", SECTION);
    let [method, status, endpoint, principal, trace_id] = pairs.map(|(_, value)| value.to_owned());
    let entries = tokio::task::spawn_blocking(move || {
        found.entries.iter().map(|entry| Listed::of(entry)).collect()
    });
    Ok(page(&ListPage {
        layout,
        entries: entries.await.unwrap_or_default(),
        method,
        status,
        endpoint,
        principal,
        trace_id,
        error,
        stream: format!("{DATA}/history/stream{query}"),
        next,
        is_first: before.is_none(),
        first: format!("/console/history{query}"),
    }))
}

#[derive(Template)]
#[template(path = "call.html")]
struct CallPage {
    layout: Layout,
    entry: Listed,
    facts: Vec<(String, String)>,
    trace: Option<String>,
    request: String,
    is_request_cut: bool,
    response: String,
    is_response_cut: bool,
    /// The URL of the form of the operation with the params of the call.
    form: Option<String>,
    /// The URL that repeats the call, and its params, if it reads.
    repeat: Option<(String, String)>,
}

pub(super) async fn call(Path(sequence): Path<u64>, visit: Visit) -> Result<Response, Refused> {
    let history = readable(&visit)?;
    let filter = Filter { before: sequence.checked_add(1), limit: 1, ..Filter::default() };
    let found = history.entries(&filter).entries.first().cloned();
    let Some(entry) = found.filter(|entry| entry.sequence == sequence) else {
        let reason = "the history does not contain the call any more";
        let error = ErrorObject::new(code::NOT_FOUND, "Not found");
        return Ok(visit.failed(SECTION, &error.with_data(&json!({ "reason": reason }))));
    };
    Ok(page(&call_page(&visit, &entry)))
}

fn call_page(visit: &Visit, entry: &Arc<Entry>) -> CallPage {
    let json = as_json(entry);
    let shown = [
        "kind",
        "protocol",
        "endpoint",
        "principal",
        "issuer",
        "id",
        "batch_index",
        "code",
        "stream_bytes",
    ];
    let facts = shown.iter().filter_map(|name| Some(((*name).to_owned(), json.get(name)?.plain())));
    let text_of = |name: &str| {
        let text = json.get(name);
        let is_cut = text.and_then(|text| text.get("cut")) == Some(&Json::Bool(true));
        let text = text.map(|text| text.text("text")).unwrap_or_default();
        let pretty = Json::parse(text.as_bytes()).map(|json| json.pretty());
        (pretty.unwrap_or(text), is_cut)
    };
    let ((request, is_request_cut), (response, is_response_cut)) =
        (text_of("request"), text_of("response"));
    let trace = json.get("trace_id").map(Json::plain);
    let call = (!is_request_cut).then(|| repeatable(visit, entry, &request)).flatten();
    let listed = Listed::of(entry);
    let params = |params: &Map<String, Value>| Value::from(params.clone()).to_string();
    CallPage {
        layout: visit.layout(listed.method.clone(), SECTION),
        form: call.as_ref().map(|(name, sent, _)| {
            let query = match sent.is_empty() {
                true => String::new(),
                false => text::query(&[("params", &params(sent))]),
            };
            format!("{}{query}", operations::href(name))
        }),
        repeat: call
            .filter(|(.., is_read)| *is_read)
            .map(|(name, sent, _)| (operations::href(&name), params(&sent))),
        entry: listed,
        facts: facts.collect(),
        trace,
        request,
        is_request_cut,
        response,
        is_response_cut,
    }
}

/// The operation and the params of a recorded request, and whether it only reads. None if a value was redacted, or the
/// operation does not exist.
fn repeatable(
    visit: &Visit,
    entry: &Entry,
    request: &str,
) -> Option<(String, Map<String, Value>, bool)> {
    let mut message: Value = serde_json::from_str(request).ok()?;
    let name = entry.operation.as_deref().or(entry.method.as_deref())?;
    let params = match &entry.operation {
        // `tools/call`.
        Some(_) => message["params"]["arguments"].take(),
        None => message["params"].take(),
    };
    let params = match params {
        Value::Object(params) => params,
        Value::Null => Map::new(),
        _ => return None,
    };
    if request.contains("[redacted]") {
        return None;
    }
    let (_, operation) = visit.console.find(name)?;
    let is_read = operation.description().effect_of(&params) == Some(Effect::ReadOnly);
    Some((name.to_owned(), params, is_read))
}
