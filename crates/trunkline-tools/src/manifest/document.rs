//! A manifest as TOML has it, and what is to be checked of it.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trunkline::layers::validation::Validator;
use trunkline::{Effect, Schema};

use super::error::{Fault, PROGRAM};
use super::program;
use super::tool_manifest::ToolManifest;
use crate::config::ToolConfig;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Option<Spanned<String>>,
    title: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    command: Option<Spanned<Vec<Spanned<String>>>>,
    timeout_ms: Option<Spanned<u64>>,
    max_output_bytes: Option<Spanned<u64>>,
    #[serde(default)]
    env: Vec<Spanned<String>>,
    #[serde(default)]
    read_only: bool,
    destructive: Option<Spanned<bool>>,
    input_schema: Option<Spanned<Value>>,
    output_schema: Option<Spanned<Value>>,
}

/// The tool that a text declares.
pub(super) fn manifest(
    text: &str,
    folder: &Path,
    config: &ToolConfig,
) -> Result<ToolManifest, Fault> {
    let parsed = DeTable::parse(text).map_err(|error| Fault {
        at: start(error.span()),
        path: String::new(),
        reason: format!("this is not TOML: {}", error.message()),
    })?;
    let document: Document = toml::from_str(text).map_err(|error| {
        let at = start(error.span());
        let path = path_to(parsed.get_ref(), at).unwrap_or_default();
        Fault { at, path, reason: error.message().to_owned() }
    })?;
    let name = named(required(document.name, "name", "name = \"shout\"")?)?;
    let description = required(document.description, "description", "description = \"…\"")?;
    let command = required(document.command, "command", "command = [\"./program\"]")?;
    let (command, program, arguments) = words(&command, folder, config)?;
    let example = "[input_schema] with type = \"object\"";
    let input = required(document.input_schema, "input_schema", example)?;
    if input.get_ref().get("type").and_then(Value::as_str) != Some("object") {
        return Err(fault(
            &input,
            "input_schema",
            "arguments are an object: add type = \"object\"",
        ));
    }
    let timeout = within("timeout_ms", document.timeout_ms, ToolManifest::MAX_TIMEOUT.as_millis())?;
    let most_bytes = ToolManifest::MAX_OUTPUT_BYTES as u128;
    let output_bytes = within("max_output_bytes", document.max_output_bytes, most_bytes)?;
    Ok(ToolManifest {
        name,
        title: document
            .title
            .map(|title| said(title, "title", ToolManifest::MAX_TITLE))
            .transpose()?,
        description: said(description, "description", ToolManifest::MAX_DESCRIPTION)?,
        command,
        program,
        arguments,
        folder: folder.to_owned(),
        timeout: timeout.map_or(ToolManifest::DEFAULT_TIMEOUT, Duration::from_millis),
        max_output_bytes: output_bytes
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or(ToolManifest::DEFAULT_OUTPUT_BYTES),
        env: variables(document.env)?,
        effect: effect(document.read_only, document.destructive)?,
        input: schema(input, "input_schema")?,
        output: document.output_schema.map(|it| schema(it, "output_schema")).transpose()?,
    })
}

fn start(span: Option<Range<usize>>) -> usize {
    span.map_or(0, |span| span.start)
}

fn fault<T>(value: &Spanned<T>, path: &str, reason: impl Into<String>) -> Fault {
    Fault { at: value.span().start, path: path.to_owned(), reason: reason.into() }
}

fn required<T>(value: Option<T>, key: &str, example: &str) -> Result<T, Fault> {
    let reason = || format!("a tool does not go without: add {example}");
    value.ok_or_else(|| Fault { at: 0, path: key.to_owned(), reason: reason() })
}

fn named(name: Spanned<String>) -> Result<String, Fault> {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let text = name.get_ref();
    if text.is_empty() || text.len() > ToolManifest::MAX_NAME || !text.bytes().all(is_name_byte) {
        let most = ToolManifest::MAX_NAME;
        let reason = format!("a name is 1 to {most} of the characters A-Z a-z 0-9 _ -");
        return Err(fault(&name, "name", reason));
    }
    Ok(name.into_inner())
}

fn said(text: Spanned<String>, key: &str, most: usize) -> Result<String, Fault> {
    if text.get_ref().trim().is_empty() {
        return Err(fault(&text, key, "this is empty: say something"));
    }
    if text.get_ref().len() > most {
        let reason = format!("at most {most} bytes: {} are too many", text.get_ref().len());
        return Err(fault(&text, key, reason));
    }
    Ok(text.into_inner())
}

fn words(
    command: &Spanned<Vec<Spanned<String>>>,
    folder: &Path,
    config: &ToolConfig,
) -> Result<(String, PathBuf, Vec<String>), Fault> {
    let words = command.get_ref();
    let Some((first, rest)) = words.split_first() else {
        return Err(fault(command, "command", "a command has a program: add it, in quotes"));
    };
    if words.len() > ToolManifest::MAX_WORDS {
        let reason = format!("a command has at most {} words", ToolManifest::MAX_WORDS);
        return Err(fault(command, "command", reason));
    }
    for (index, word) in words.iter().enumerate() {
        if word.get_ref().contains('\0') || (index == 0 && word.get_ref().is_empty()) {
            let path = format!("command[{index}]");
            return Err(fault(word, &path, "no program can be started with this"));
        }
    }
    let program = program::find(first.get_ref(), folder, config)
        .map_err(|reason| fault(first, PROGRAM, reason))?;
    let rest = rest.iter().map(|word| word.get_ref().clone()).collect();
    Ok((first.get_ref().clone(), program, rest))
}

fn within(key: &str, value: Option<Spanned<u64>>, most: u128) -> Result<Option<u64>, Fault> {
    let Some(value) = value else { return Ok(None) };
    if *value.get_ref() == 0 || u128::from(*value.get_ref()) > most {
        return Err(fault(&value, key, format!("this is from 1 to {most}")));
    }
    Ok(Some(value.into_inner()))
}

fn variables(names: Vec<Spanned<String>>) -> Result<Vec<String>, Fault> {
    let mut variables = Vec::new();
    let mut known = HashSet::new();
    for (index, name) in names.into_iter().enumerate() {
        let path = format!("env[{index}]");
        let text = name.get_ref();
        let begins = text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
        if !begins || !text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            let reason = "a variable's name is of letters of ASCII, digits and _; its value is that of \
                          the server's environment";
            return Err(fault(&name, &path, reason));
        }
        if !known.insert(text.clone()) {
            return Err(fault(&name, &path, "this name stands here already: leave it out"));
        }
        if index == ToolManifest::MAX_VARIABLES {
            let reason = format!("there are more than {} variables", ToolManifest::MAX_VARIABLES);
            return Err(fault(&name, &path, reason));
        }
        variables.push(name.into_inner());
    }
    Ok(variables)
}

fn effect(read_only: bool, destructive: Option<Spanned<bool>>) -> Result<Option<Effect>, Fault> {
    match destructive {
        Some(destructive) if *destructive.get_ref() => {
            if read_only {
                let reason = "what only reads destroys nothing: leave out one of the two";
                return Err(fault(&destructive, "destructive", reason));
            }
            Ok(Some(Effect::Destroys))
        }
        _ if read_only => Ok(Some(Effect::Reads)),
        Some(_) => Ok(Some(Effect::Adds)),
        None => Ok(None),
    }
}

fn schema(value: Spanned<Value>, key: &str) -> Result<Schema, Fault> {
    if has_time(value.get_ref()) {
        let reason = "JSON has no dates and times: write them as strings, in quotes";
        return Err(fault(&value, key, reason));
    }
    let at = value.span().start;
    let schema = Schema::from(value.into_inner());
    Validator::new(&schema).map_err(|error| Fault {
        at,
        path: key.to_owned(),
        reason: format!("invalid JSON Schema (draft 2020-12): {}", error.reason()),
    })?;
    Ok(schema)
}

/// Whether there is a date or a time in it: serde knows them from TOML as objects with this member.
fn has_time(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_time),
        Value::Object(members) => {
            members.contains_key("$__toml_private_datetime") || members.values().any(has_time)
        }
        _ => false,
    }
}

/// The keys that lead to what stands at a byte of the text.
fn path_to(table: &DeTable<'_>, at: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        let inner = match value.get_ref() {
            DeValue::Table(table) => path_to(table, at).map(|path| format!("{name}.{path}")),
            DeValue::Array(array) => array
                .iter()
                .position(|element| element.span().contains(&at))
                .map(|index| format!("{name}[{index}]")),
            _ => None,
        };
        let is_here = key.span().contains(&at) || value.span().contains(&at);
        inner.or_else(|| is_here.then(|| name.to_string()))
    })
}
