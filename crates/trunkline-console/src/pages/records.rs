//! Records: list, form, the history of a record, and undo.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};
use trunkline::history::Filter;
use trunkline::{ErrorObject, code};

use super::history::{Listed, readable};
use crate::console::{DisabledPage, Layout, Problem, Refused, Visit, page, page_with, see_other};
use crate::json::Json;
use crate::schema_form::{self, Field};
use crate::table::Table;
use crate::text;

const SECTION: &str = "records";

fn base(kind: &str) -> String {
    format!("/console/records/{}", text::encode(kind))
}

fn item_href(kind: &str, id: &str) -> String {
    format!("{}/item/{}", base(kind), text::encode(id))
}

fn disabled(visit: &Visit) -> Response {
    page(&DisabledPage {
        layout: visit.layout("Records", SECTION),
        explanation: "Records are off.",
        command: "trunkline serve --data-dir .trunkline",
        guide: "--records types.toml declares the types of records; without it, there is one type, todo.",
    })
}

/// The types, or the response without this one.
fn checked(visit: &Visit, kind: &str) -> Result<(), Refused> {
    let Some(types) = visit.record_types() else {
        return Err(disabled(visit).into());
    };
    if types.iter().any(|known| known == kind) {
        return Ok(());
    }
    let error = ErrorObject::new(code::NOT_FOUND, "Not found");
    let reason = format!("unknown type `{kind}`");
    Err(visit.failed(SECTION, &error.with_data(&json!({ "reason": reason }))).into())
}

#[derive(Template)]
#[template(path = "record_types.html")]
struct TypesPage {
    layout: Layout,
    types: Vec<(String, String, String)>,
}

pub(super) async fn types(visit: Visit) -> Response {
    let Some(types) = visit.record_types() else { return disabled(&visit) };
    if let [only] = &*types {
        return see_other(&base(only));
    }
    let described = |name: &String| {
        let found = visit.console.find(&format!("{name}.create"));
        let text = found.and_then(|(_, operation)| operation.description().text.clone());
        (name.clone(), base(name), text.unwrap_or_default())
    };
    let types = types.iter().map(described).collect();
    page(&TypesPage { layout: visit.layout("Records", SECTION), types })
}

#[derive(Template)]
#[template(path = "records.html")]
struct ListPage {
    layout: Layout,
    kind: String,
    base: String,
    table: Table,
    total: String,
    filters: Vec<Field>,
    is_filtered: bool,
    next: Option<String>,
    is_first: bool,
    /// The request of the last change, which can be undone.
    undo: String,
    notice: &'static str,
    problem: Option<Problem>,
}

pub(super) async fn list(Path(kind): Path<String>, visit: Visit) -> Result<Response, Refused> {
    checked(&visit, &kind)?;
    let schema = input(&visit, &format!("{kind}.filter"));
    let mut problem = None;
    let (mut criteria, mut filters) = match schema_form::params(&schema, &visit.fields.0) {
        Ok(criteria) => {
            let fields = schema_form::fields(&schema, &criteria);
            (criteria, fields)
        }
        Err(fields) => (Map::new(), fields),
    };
    filters.retain(|field| {
        !["cursor", "limit", "metadata", "createdAt", "updatedAt", "version"]
            .contains(&&*field.name)
    });
    let is_filtered = !criteria.is_empty();
    let mut pairs: Vec<(String, String)> = visit
        .fields
        .0
        .iter()
        .filter(|(name, _)| name.starts_with(schema_form::PREFIX))
        .cloned()
        .collect();
    criteria.insert("limit".to_owned(), 50.into());
    let cursor = visit.fields.get("cursor");
    criteria.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
    let operation = if is_filtered { "filter" } else { "list" };
    let found = match visit.call(&format!("{kind}.{operation}"), &criteria).await {
        Ok(called) => called.result,
        Err(error) => {
            problem = Some(Problem::of(&error));
            Json::Null
        }
    };
    let status = visit.call(&format!("{kind}.status"), &Map::new()).await;
    let total = status.ok().and_then(|called| called.result.get("counts")?.get("total")?.as_f64());
    let items = found.items("items");
    let mut table = Table::of_objects(items).unwrap_or_default();
    for (row, item) in table.rows.iter_mut().zip(items) {
        let id = item.text("id");
        if let Some(cell) = row.first_mut() {
            (cell.href, cell.is_external) = (Some(item_href(&kind, &id)), false);
        }
    }
    let next = found.get("nextCursor").and_then(Json::as_str).map(|cursor| {
        pairs.push(("cursor".to_owned(), cursor.to_owned()));
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        format!("{}{}", base(&kind), text::query(&pairs))
    });
    let (undo, notice) = notice(&visit);
    let status = problem.as_ref().map_or(StatusCode::OK, Problem::status);
    let list = ListPage {
        layout: visit.layout(kind.clone(), SECTION),
        base: base(&kind),
        table,
        total: total.map(|total| text::grouped(total as u64)).unwrap_or_default(),
        filters,
        is_filtered,
        next,
        is_first: cursor.is_none(),
        undo,
        notice,
        problem,
        kind,
    };
    Ok(page_with(status, &list))
}

/// The request that can be undone, and the message about it.
fn notice(visit: &Visit) -> (String, &'static str) {
    let request = visit.fields.text("request").to_owned();
    let notice = match visit.fields.text("done") {
        "created" => "The record was created.",
        "updated" => "The record was saved.",
        "deleted" => "The record was deleted.",
        "reverted" => "The change was undone.",
        "noop" => "There was nothing to undo.",
        _ => "",
    };
    (if notice.is_empty() { String::new() } else { request }, notice)
}

/// The schema of the params of an operation.
fn input(visit: &Visit, method: &str) -> Value {
    let found = visit.console.find(method);
    let schema = found.and_then(|(_, operation)| operation.description().input.clone());
    let mut schema = schema.map_or_else(|| json!({}), |schema| schema.as_value().clone());
    // The page sends the metadata itself.
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        members.remove("metadata");
    }
    schema
}

#[derive(Template)]
#[template(path = "record_form.html")]
struct FormPage {
    layout: Layout,
    kind: String,
    base: String,
    action: String,
    id: String,
    version: String,
    updated: String,
    fields: Vec<Field>,
    problem: Option<Problem>,
    undo: String,
    notice: &'static str,
    confirm_delete: bool,
    /// The calls that concern the record, and their request ids.
    calls: Vec<(Listed, String)>,
    has_history: bool,
    json: String,
}

pub(super) async fn new(Path(kind): Path<String>, visit: Visit) -> Result<Response, Refused> {
    checked(&visit, &kind)?;
    let fields = schema_form::fields(&input(&visit, &format!("{kind}.create")), &Map::new());
    Ok(page(&form_page(&visit, &kind, None, fields)))
}

fn form_page(visit: &Visit, kind: &str, record: Option<&Json>, fields: Vec<Field>) -> FormPage {
    let id = record.map(|record| record.text("id")).unwrap_or_default();
    let title = if record.is_some() { id.clone() } else { format!("New {kind}") };
    let (undo, notice) = notice(visit);
    let of = |name: &str| record.map(|record| record.text(name)).unwrap_or_default();
    FormPage {
        layout: visit.layout(title, SECTION),
        kind: kind.to_owned(),
        base: base(kind),
        action: if record.is_some() { item_href(kind, &id) } else { base(kind) },
        version: of("version"),
        updated: of("updatedAt"),
        fields,
        problem: None,
        undo,
        notice,
        confirm_delete: visit.fields.get("delete") == Some("ask"),
        calls: record.map(|_| calls(visit, kind, &id)).unwrap_or_default(),
        has_history: readable(visit).is_ok(),
        json: record.map(Json::pretty).unwrap_or_default(),
        id,
    }
}

/// The recorded calls of a record that changed it, newest first.
fn calls(visit: &Visit, kind: &str, id: &str) -> Vec<(Listed, String)> {
    const MAX_CALLS: usize = 30;
    let Ok(history) = readable(visit) else { return Vec::new() };
    let method = Some(format!("{kind}.*"));
    let page = history.entries(&Filter { method, limit: 1_000, ..Filter::default() });
    let concerned = page.entries.iter().filter_map(|entry| {
        let name = entry.operation.as_deref().or(entry.method.as_deref())?;
        let (_, command) = name.rsplit_once('.')?;
        if !["create", "update", "delete"].contains(&command) {
            return None;
        }
        let entry_json = serde_json::to_value(&**entry).ok()?;
        let message = |name: &str| {
            let text = entry_json.pointer(&format!("/{name}/text"))?.as_str()?;
            serde_json::from_str::<Value>(text).ok()
        };
        let request = message("request")?;
        let params = request.pointer("/params/arguments").or_else(|| request.get("params"))?;
        let created = || Some(message("response")?.pointer("/result/id")? == id);
        if params.get("id").is_none_or(|found| found != id) && created() != Some(true) {
            return None;
        }
        let request_id = params.pointer("/metadata/requestId").and_then(Value::as_str);
        Some((Listed::of(entry), request_id.unwrap_or_default().to_owned()))
    });
    concerned.take(MAX_CALLS).collect()
}

pub(super) async fn show(
    Path((kind, id)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Refused> {
    checked(&visit, &kind)?;
    let record = match visit.call(&format!("{kind}.read"), &one("id", &id)).await {
        Ok(called) => called.result,
        Err(error) => return Ok(visit.failed(SECTION, &error)),
    };
    let fields = update_fields(&visit, &kind, &record);
    Ok(page(&form_page(&visit, &kind, Some(&record), fields)))
}

fn update_fields(visit: &Visit, kind: &str, record: &Json) -> Vec<Field> {
    let values: Map<String, Value> = serde_json::from_str(&record.to_string()).unwrap_or_default();
    let mut fields = schema_form::fields(&input(visit, &format!("{kind}.update")), &values);
    fields.retain(|field| field.name != "id");
    fields
}

pub(super) async fn create(Path(kind): Path<String>, visit: Visit) -> Result<Response, Refused> {
    checked(&visit, &kind)?;
    if let Some(request) = visit.fields.get("revert") {
        return Ok(revert(&visit, &kind, request, &base(&kind)).await);
    }
    let schema = input(&visit, &format!("{kind}.create"));
    let mut params = match schema_form::params(&schema, &visit.fields.0) {
        Ok(params) => params,
        Err(fields) => {
            let form = form_page(&visit, &kind, None, fields);
            return Ok(page_with(StatusCode::UNPROCESSABLE_ENTITY, &form));
        }
    };
    let shown = params.clone();
    let request = request_id();
    params.insert("metadata".to_owned(), json!({ "requestId": request }));
    match visit.call_for_button(&format!("{kind}.create"), &params).await {
        Ok(called) => Ok(done(&item_href(&kind, &called.result.text("id")), "created", &request)),
        Err(error) => {
            let fields = schema_form::fields(&schema, &shown);
            let form = form_page(&visit, &kind, None, fields);
            Ok(refused(form, &error))
        }
    }
}

pub(super) async fn change(
    Path((kind, id)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Refused> {
    checked(&visit, &kind)?;
    let href = item_href(&kind, &id);
    if let Some(request) = visit.fields.get("revert") {
        return Ok(revert(&visit, &kind, request, &href).await);
    }
    let request = request_id();
    let mut metadata = json!({ "requestId": request });
    if let Some(version) = visit.fields.get("version").and_then(|text| text.parse::<u64>().ok()) {
        metadata["ifVersion"] = version.into();
    }
    if visit.fields.get("action") == Some("delete") {
        let mut params = one("id", &id);
        params.insert("metadata".to_owned(), metadata);
        return Ok(match visit.call_for_button(&format!("{kind}.delete"), &params).await {
            Ok(_) => done(&base(&kind), "deleted", &request),
            Err(error) => visit.failed(SECTION, &error),
        });
    }
    let schema = input(&visit, &format!("{kind}.update"));
    let mut sent = visit.fields.0.clone();
    sent.push((format!("{}id", schema_form::PREFIX), id.clone()));
    let read = visit.call(&format!("{kind}.read"), &one("id", &id)).await;
    let record = match read {
        Ok(called) => called.result,
        Err(error) => return Ok(visit.failed(SECTION, &error)),
    };
    let mut params = match schema_form::params(&schema, &sent) {
        Ok(params) => params,
        Err(mut fields) => {
            fields.retain(|field| field.name != "id");
            let form = form_page(&visit, &kind, Some(&record), fields);
            return Ok(page_with(StatusCode::UNPROCESSABLE_ENTITY, &form));
        }
    };
    // A field that was emptied is removed; fields that did not change are not sent.
    let before: Map<String, Value> = serde_json::from_str(&record.to_string()).unwrap_or_default();
    for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
        if name != "id" && before.contains_key(name) && !params.contains_key(name) {
            params.insert(name.clone(), Value::Null);
        }
    }
    params.retain(|name, value| name == "id" || before.get(name) != Some(value));
    let shown = params.clone();
    params.insert("metadata".to_owned(), metadata);
    match visit.call_for_button(&format!("{kind}.update"), &params).await {
        Ok(_) => Ok(done(&href, "updated", &request)),
        Err(error) => {
            let mut values = before;
            values.extend(shown);
            let mut fields = schema_form::fields(&schema, &values);
            fields.retain(|field| field.name != "id");
            Ok(refused(form_page(&visit, &kind, Some(&record), fields), &error))
        }
    }
}

fn refused(mut form: FormPage, error: &ErrorObject) -> Response {
    let problem = Problem::of(error);
    let status = problem.status();
    form.problem = Some(problem);
    page_with(status, &form)
}

async fn revert(visit: &Visit, kind: &str, request: &str, href: &str) -> Response {
    match visit.call_for_button(&format!("{kind}.revert"), &one("requestId", request)).await {
        Ok(called) => {
            let status = called.result.text("status");
            // The record of a reverted creation does not exist any more.
            let exists = match href == base(kind) {
                true => true,
                false => {
                    let id = visit.fields.text("id");
                    visit.call(&format!("{kind}.read"), &one("id", id)).await.is_ok()
                }
            };
            done(if exists { href } else { &href[..base(kind).len()] }, &status, "")
        }
        Err(error) => visit.failed(SECTION, &error),
    }
}

fn done(href: &str, what: &str, request: &str) -> Response {
    see_other(&format!("{href}{}", text::query(&[("done", what), ("request", request)])))
}

/// Params with one member.
fn one(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value.into())])
}

/// A unique id of a change, with which it can be undone.
fn request_id() -> String {
    let mut random = [0; 12];
    // Without random numbers, the change has no id and cannot be undone.
    if getrandom::fill(&mut random).is_err() {
        return String::new();
    }
    random.iter().fold("console-".to_owned(), |id, byte| format!("{id}{byte:02x}"))
}
