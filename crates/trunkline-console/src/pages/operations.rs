//! Operations: search, a form from the schema of the params, calls and their results.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use serde_json::{Map, Value};
use trunkline::layers::authorize::{is_restricted, is_visible_to};
use trunkline::protocol::{Description, RegisteredOperation};
use trunkline::{Effect, ErrorObject, Schema};

use crate::console::{Layout, Problem, Visit, object, page, page_with};
use crate::schema_form::{self, Field};
use crate::snippets::{Snippet, Target, snippets};
use crate::table::ResultView;
use crate::text;

/// An operation in the list.
struct Listed {
    name: String,
    href: String,
    /// The first sentence of the description.
    summary: String,
    effect: EffectLabel,
    is_restricted: bool,
}

/// The effect of an operation, for people.
pub(crate) struct EffectLabel {
    pub(crate) class: &'static str,
    pub(crate) text: &'static str,
}

impl EffectLabel {
    pub(crate) fn of(effect: Option<Effect>) -> Self {
        let (class, text) = match effect {
            Some(Effect::ReadOnly) => ("reads", "reads"),
            Some(Effect::Additive) => ("adds", "adds"),
            Some(Effect::Destructive) => ("changes", "changes"),
            None => ("unknown", "not declared"),
        };
        Self { class, text }
    }
}

struct Group {
    name: String,
    operations: Vec<Listed>,
}

#[derive(Template)]
#[template(path = "operations.html")]
struct ListPage {
    layout: Layout,
    search: String,
    groups: Vec<Group>,
    total: usize,
}

pub(super) async fn list(visit: Visit) -> Response {
    let search = visit.fields.text("q").trim().to_owned();
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let operations = visit.operations();
    let mut groups: Vec<Group> = Vec::new();
    let mut total = 0;
    for operation in &operations {
        let description = operation.description();
        if !words.iter().all(|word| mentions(description, word)) {
            continue;
        }
        total += 1;
        let name = description.name.rsplit_once('.').map_or("", |(group, _)| group);
        let listed = listed(description);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.operations.push(listed),
            None => groups.push(Group { name: name.to_owned(), operations: vec![listed] }),
        }
    }
    let layout = visit.layout("Operations", "operations");
    page(&ListPage { layout, search, groups, total })
}

fn mentions(description: &Description, word: &str) -> bool {
    let texts = [Some(&description.name), description.title.as_ref(), description.text.as_ref()];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(word))
}

fn listed(description: &Description) -> Listed {
    let text = description.text.as_deref().unwrap_or_default();
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    Listed {
        name: description.name.clone(),
        href: href(&description.name),
        summary: text::beginning(&text[..end], 160).0.to_owned(),
        effect: EffectLabel::of(description.effect),
        is_restricted: is_restricted(description),
    }
}

pub(super) fn href(name: &str) -> String {
    format!("/console/operations/{}", text::encode(name))
}

/// A call and its outcome.
struct Answer {
    millis: String,
    view: ResultView,
    problem: Option<Problem>,
}

#[derive(Template)]
#[template(path = "operation.html")]
struct FormPage {
    layout: Layout,
    name: String,
    description: String,
    effect: EffectLabel,
    tool: String,
    is_restricted: bool,
    action: String,
    fields: Vec<Field>,
    has_schema: bool,
    /// The params as JSON text.
    json: String,
    json_error: String,
    /// Whether the call waits for a confirmation.
    confirm: bool,
    /// Whether the JSON text was submitted.
    is_json: bool,
    /// Whether fields have errors.
    is_invalid: bool,
    answer: Option<Answer>,
    snippets: Vec<Snippet>,
    /// The URL of the form with its values.
    shared: String,
    input_schema: String,
    output_schema: String,
}

pub(super) async fn form(Path(name): Path<String>, visit: Visit) -> Response {
    let operation = match find(&visit, &name) {
        Ok(operation) => operation,
        Err(error) => return visit.failed("operations", &error),
    };
    let text = visit.fields.get("params").unwrap_or("{}");
    let (params, error) = match object(text) {
        Ok(params) => (params, String::new()),
        Err(error) => (Map::new(), error),
    };
    let mut page_of = form_page(&visit, &operation, &params);
    if !error.is_empty() {
        (page_of.json, page_of.json_error) = (text.to_owned(), error);
    }
    page(&page_of)
}

pub(super) async fn call(Path(name): Path<String>, visit: Visit) -> Response {
    let operation = match find(&visit, &name) {
        Ok(operation) => operation,
        Err(error) => return visit.failed("operations", &error),
    };
    let description = operation.description();
    let is_json = visit.fields.get("mode") == Some("json");
    let sent = match (is_json, &description.input) {
        (false, Some(schema)) => match schema_form::params(schema.as_value(), &visit.fields.0) {
            Ok(params) => params,
            Err(fields) => {
                let page_of = form_page(&visit, &operation, &Map::new());
                let page_of = FormPage { fields, is_invalid: true, ..page_of };
                return page_with(http::StatusCode::UNPROCESSABLE_ENTITY, &page_of);
            }
        },
        _ => {
            let text = visit.fields.get("json").unwrap_or("{}");
            match object(text) {
                Ok(params) => params,
                Err(json_error) => {
                    let page_of = form_page(&visit, &operation, &Map::new());
                    let json = text.to_owned();
                    let page_of = FormPage { json, json_error, is_json: true, ..page_of };
                    return page_with(http::StatusCode::UNPROCESSABLE_ENTITY, &page_of);
                }
            }
        }
    };
    let mut page_of = form_page(&visit, &operation, &sent);
    page_of.is_json = is_json;
    let mut status = http::StatusCode::OK;
    page_of.answer = Some(match visit.call(&name, &sent).await {
        Ok(called) => Answer {
            millis: text::millis(called.millis),
            view: ResultView::of(&called.result, called.bytes),
            problem: None,
        },
        Err(error) if visit.asks(&error) => {
            page_of.confirm = true;
            return page(&page_of);
        }
        Err(error) => {
            let problem = Problem::of(&error);
            // As for calls over JSON-RPC, only refusals because of the caller have a status.
            if [401, 403, 429].contains(&problem.status().as_u16()) {
                status = problem.status();
            }
            Answer { millis: String::new(), view: ResultView::default(), problem: Some(problem) }
        }
    });
    page_with(status, &page_of)
}

fn find(visit: &Visit, name: &str) -> Result<Arc<RegisteredOperation>, ErrorObject> {
    let found = visit.console.find(name).map(|(_, operation)| operation);
    let found = found.filter(|found| is_visible_to(found.description(), visit.principal()));
    found.ok_or_else(|| ErrorObject::method_not_found(name))
}

fn form_page(
    visit: &Visit,
    operation: &RegisteredOperation,
    params: &Map<String, Value>,
) -> FormPage {
    let description = operation.description();
    let schema = description.input.as_ref().map(Schema::as_value);
    let fields = schema.map(|schema| schema_form::fields(schema, params)).unwrap_or_default();
    let params_json = Value::from(params.clone());
    let name = description.name.clone();
    let action = href(&name);
    let shared = match params.is_empty() {
        true => action.clone(),
        false => format!("{action}{}", text::query(&[("params", &params_json.to_string())])),
    };
    let target = Target {
        base: &visit.base(),
        path: if visit.console.is_agents(&name) { "/api" } else { "/rpc" },
        needs_token: visit.principal().is_some(),
        tool: description.tool.as_deref(),
    };
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    FormPage {
        layout: visit.layout(name.clone(), "operations"),
        description: description.text.clone().unwrap_or_default(),
        effect: EffectLabel::of(description.effect),
        tool: description.tool.clone().unwrap_or_default(),
        is_restricted: is_restricted(description),
        action,
        has_schema: schema.is_some(),
        fields,
        json: pretty(&params_json),
        json_error: String::new(),
        confirm: false,
        is_json: false,
        is_invalid: false,
        answer: None,
        snippets: snippets(&target, &name, params),
        shared,
        input_schema: schema.map(pretty).unwrap_or_default(),
        output_schema: description
            .output
            .as_ref()
            .map(|one| pretty(one.as_value()))
            .unwrap_or_default(),
        name,
    }
}
