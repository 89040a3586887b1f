//! Outcomes as results of `tools/call`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use trunkline::protocol::excerpt;
use trunkline::tool::{Abbreviate, Rendering};
use trunkline::{ErrorObject, Outcome};

use super::Tool;
use super::list::Form;
use super::representation::{ClientResults, Results};
use crate::era::Era;
use crate::model::down_level;

/// Appends the members of a tool's result: `content`, `structuredContent`, `isError`. Before the stateless era,
/// structured content must be an object.
pub(crate) fn write_result(
    json: &mut Vec<u8>,
    outcome: &Outcome,
    tool: &Tool,
    arguments: &[u8],
    form: Form,
) {
    let outcome = outcome.as_result();
    let (rendering, description) = (tool.rendering(), tool.description());
    let automatic = match rendering {
        // A result must conform to the output schema, if one is listed.
        Rendering::Text(_) if !form.has_output_schemas => Results::Text,
        _ => Results::Both,
    };
    let default = ClientResults::new(form.results.unwrap_or(automatic));
    let ClientResults { results, abbreviate } = form.client.unwrap_or(default);
    let is_structured = |result: &&[u8]| {
        results != Results::Text
            && matches!(rendering, Rendering::Json | Rendering::Text(_))
            && (form.era == Era::Modern || result.starts_with(b"{"))
    };
    let structured = outcome.ok().filter(is_structured);
    match (outcome, rendering) {
        _ if structured.is_some() && results == Results::Structured => {
            json.extend_from_slice(b"\"content\":[]");
        }
        (Ok(blocks), Rendering::Blocks) => {
            json.extend_from_slice(b"\"content\":");
            write_blocks(json, blocks, form);
        }
        (outcome, Rendering::Text(render)) => write_text(json, &render(arguments, outcome)),
        // The text of a string, and the JSON of other results.
        (Ok(result), Rendering::Json) if result.starts_with(b"\"") => {
            json.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
            json.extend_from_slice(result);
            json.extend_from_slice(b"}]");
        }
        // A result is JSON, which is UTF-8.
        (Ok(result), Rendering::Json | Rendering::ToolResult) => {
            write_text(json, &String::from_utf8_lossy(result));
        }
        (Err(error), Rendering::Json | Rendering::Blocks | Rendering::ToolResult) => {
            write_text(json, &error_text(error));
        }
    }
    if let Some(result) = structured {
        let shorten = description.extensions.get::<Abbreviate>().filter(|_| abbreviate);
        let short = shorten.and_then(|Abbreviate(shorten)| shorten(result));
        json.extend_from_slice(b",\"structuredContent\":");
        json.extend_from_slice(short.as_deref().unwrap_or(result));
    }
    write_is_error(json, outcome.is_err());
}

/// Appends the members of a result that has them already, except those of the envelope, and returns those of `_meta`.
/// `None` if the result is not an object.
pub(crate) fn write_members(
    json: &mut Vec<u8>,
    result: &[u8],
    form: Form,
) -> Option<Map<String, Value>> {
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(result).ok()?;
    members.remove("resultType");
    let meta = members.remove("_meta").map(|meta| serde_json::from_str(meta.get()));
    let meta = meta.transpose().ok()?.unwrap_or_default();
    if form.era == Era::Legacy {
        let is_allowed = |value: &&RawValue| value.get().starts_with('{');
        if members.get("structuredContent").is_some_and(|value| !is_allowed(value)) {
            members.remove("structuredContent");
        }
    }
    let content = members.remove("content").map_or("[]", RawValue::get);
    let structured = members.get("structuredContent").map(|value| value.get());
    let is_error = members.get("isError").is_some_and(|value| value.get() == "true");
    let results = form.client.map_or(Results::Both, |client| client.results);
    let own = match results {
        _ if is_error => complete_error(content, structured),
        Results::Both => None,
        Results::Text => structured.and_then(|structured| text_only(content, structured)),
        Results::Structured => structured.and_then(|_| without_texts(content)),
    };
    if !is_error && results == Results::Text {
        members.remove("structuredContent");
    }
    json.extend_from_slice(b"\"content\":");
    write_blocks(json, own.as_deref().unwrap_or(content).as_bytes(), form);
    for (name, value) in members {
        json.push(b',');
        serde_json::to_writer(&mut *json, &name).expect("text serialises into memory");
        json.push(b':');
        json.extend_from_slice(value.get().as_bytes());
    }
    Some(meta)
}

/// The content of an error whose first block has all texts and the structured content, since some hosts show their models
/// only that block. `None` if it has them already.
fn complete_error(content: &str, structured: Option<&str>) -> Option<String> {
    let blocks: Vec<Value> = serde_json::from_str(content).ok()?;
    let text = |block: &Value| {
        (block["type"] == "text").then(|| block["text"].as_str().map(str::to_owned))?
    };
    let texts: Vec<String> = blocks.iter().filter_map(text).collect();
    let mut whole = texts.join("\n");
    if let Some(structured) = structured.filter(|structured| !whole.contains(structured)) {
        whole = format!("{whole}\n{structured}");
    }
    let whole = excerpt(whole.trim_start(), MAX_ERROR);
    if blocks.first().and_then(text).as_deref() == Some(&*whole) {
        return None;
    }
    let others = blocks.iter().filter(|block| text(block).is_none()).cloned();
    let first = blocks.iter().find(|block| text(block).is_some()).cloned();
    let mut first = first.unwrap_or_else(|| json!({ "type": "text" }));
    first["text"] = (&*whole).into();
    Some(std::iter::once(first).chain(others).collect::<Value>().to_string())
}

/// The content for a client that reads no structured content. `None` if it has some already.
fn text_only(content: &str, structured: &str) -> Option<String> {
    let is_empty =
        serde_json::from_str::<Vec<&RawValue>>(content).is_ok_and(|blocks| blocks.is_empty());
    is_empty.then(|| json!([{ "type": "text", "text": structured }]).to_string())
}

/// The content without the texts, which structured content repeats.
fn without_texts(content: &str) -> Option<String> {
    let mut blocks: Vec<Value> = serde_json::from_str(content).ok()?;
    blocks.retain(|block| block["type"] != "text");
    Some(Value::from(blocks).to_string())
}

/// Appends the members of the result of a tool that was not run.
pub(crate) fn failure(json: &mut Vec<u8>, text: &str) {
    write_text(json, text);
    write_is_error(json, true);
}

/// Writes the blocks of a result: an array of blocks, one block, or text.
fn write_blocks(json: &mut Vec<u8>, blocks: &[u8], form: Form) {
    let blocks = down_level(blocks, form.revision);
    let (start, end) = match blocks.first() {
        Some(b'[') => (&b""[..], &b""[..]),
        Some(b'"') => (&b"[{\"type\":\"text\",\"text\":"[..], &b"}]"[..]),
        _ => (&b"["[..], &b"]"[..]),
    };
    json.extend_from_slice(start);
    json.extend_from_slice(&blocks);
    json.extend_from_slice(end);
}

fn write_text(json: &mut Vec<u8>, text: &str) {
    json.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
    serde_json::to_writer(&mut *json, text).expect("text serialises into memory");
    json.extend_from_slice(b"}]");
}

fn write_is_error(json: &mut Vec<u8>, is_error: bool) {
    json.extend_from_slice(b",\"isError\":");
    json.extend_from_slice(if is_error { b"true" } else { b"false" });
}

/// The text of an error: its message, its reason, and what else its data has, of at most [`MAX_ERROR`] bytes. Hosts show
/// their models nothing else.
pub(crate) fn error_text(error: &ErrorObject) -> String {
    let mut text = error.message().to_owned();
    match error.data().map(|data| (data, serde_json::from_str(data.get()))) {
        None => {}
        Some((_, Ok(Value::Object(mut data)))) => {
            if let Some(Value::String(reason)) = data.remove("reason") {
                text = format!("{text}: {reason}");
            }
            // The kind is for programs.
            data.remove("kind");
            for (name, value) in &data {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let value = value.trim_end();
                // Such as the only line of stderr, which is in the reason.
                if value.parse::<f64>().is_ok() || !text.contains(value) {
                    text = format!("{text}\n{name}: {value}");
                }
            }
        }
        Some((_, Ok(Value::String(data)))) => text = format!("{text}: {data}"),
        Some((data, _)) => text = format!("{text}: {}", data.get()),
    }
    excerpt(&text, MAX_ERROR).into_owned()
}

/// The maximum length of the text of an error in bytes.
const MAX_ERROR: usize = 16 << 10;
