//! A manifest as TOML has it, and what is to be checked of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use trunkline::layers::validation::Validator;
use trunkline::{Effect, Schema};

use super::program;
use super::tool_manifest::ToolManifest;
use crate::config::ToolConfig;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Spanned<String>,
    title: Option<Spanned<String>>,
    description: Spanned<String>,
    command: Spanned<Vec<Spanned<String>>>,
    timeout_ms: Option<Spanned<u64>>,
    max_output_bytes: Option<Spanned<u64>>,
    #[serde(default)]
    env: Vec<Spanned<String>>,
    #[serde(default)]
    read_only: bool,
    destructive: Option<Spanned<bool>>,
    input_schema: Spanned<Value>,
    output_schema: Option<Spanned<Value>>,
}

/// A problem and its place in the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) reason: String,
    /// Whether the program was not found, which may change without the text.
    pub(super) lacks_program: bool,
}

/// The tool that a text declares.
pub(super) fn manifest(
    text: &str,
    folder: &Path,
    config: &ToolConfig,
) -> Result<ToolManifest, Fault> {
    let document: Document = toml::from_str(text).map_err(|error| Fault {
        at: error.span().map_or(0, |span| span.start),
        reason: error.message().to_owned(),
        lacks_program: false,
    })?;
    let (command, program, arguments) = words(&document.command, folder, config)?;
    let input = document.input_schema;
    if input.get_ref().get("type").and_then(Value::as_str) != Some("object") {
        return Err(fault(&input, "arguments are an object: add type = \"object\""));
    }
    let timeout = within(document.timeout_ms, ToolManifest::MAX_TIMEOUT.as_millis())?;
    let output_bytes = within(document.max_output_bytes, ToolManifest::MAX_OUTPUT_BYTES as u128)?;
    let title = document.title.map(|title| said(title, ToolManifest::MAX_TITLE));
    Ok(ToolManifest {
        name: named(document.name)?,
        title: title.transpose()?,
        description: said(document.description, ToolManifest::MAX_DESCRIPTION)?,
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
        input: schema(input)?,
        output: document.output_schema.map(schema).transpose()?,
    })
}

fn fault<T>(value: &Spanned<T>, reason: impl Into<String>) -> Fault {
    Fault { at: value.span().start, reason: reason.into(), lacks_program: false }
}

fn named(name: Spanned<String>) -> Result<String, Fault> {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let text = name.get_ref();
    if text.is_empty() || text.len() > ToolManifest::MAX_NAME || !text.bytes().all(is_name_byte) {
        let most = ToolManifest::MAX_NAME;
        let reason = format!("a name is 1 to {most} of the characters A-Z a-z 0-9 _ -");
        return Err(fault(&name, reason));
    }
    Ok(name.into_inner())
}

fn said(text: Spanned<String>, most: usize) -> Result<String, Fault> {
    if text.get_ref().trim().is_empty() {
        return Err(fault(&text, "this is empty: say something"));
    }
    if text.get_ref().len() > most {
        let reason = format!("at most {most} bytes: {} are too many", text.get_ref().len());
        return Err(fault(&text, reason));
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
        return Err(fault(command, "a command has a program: add it, in quotes"));
    };
    if words.len() > ToolManifest::MAX_WORDS {
        let reason = format!("a command has at most {} words", ToolManifest::MAX_WORDS);
        return Err(fault(command, reason));
    }
    let is_wrong = |word: &&Spanned<String>| word.get_ref().contains('\0');
    if let Some(word) =
        words.iter().find(is_wrong).or(Some(first).filter(|it| it.get_ref().is_empty()))
    {
        return Err(fault(word, "no program can be started with this"));
    }
    let program = program::find(first.get_ref(), folder, config)
        .map_err(|reason| Fault { lacks_program: true, ..fault(first, reason) })?;
    let rest = rest.iter().map(|word| word.get_ref().clone()).collect();
    Ok((first.get_ref().clone(), program, rest))
}

fn within(value: Option<Spanned<u64>>, most: u128) -> Result<Option<u64>, Fault> {
    let Some(value) = value else { return Ok(None) };
    if *value.get_ref() == 0 || u128::from(*value.get_ref()) > most {
        return Err(fault(&value, format!("this is from 1 to {most}")));
    }
    Ok(Some(value.into_inner()))
}

fn variables(names: Vec<Spanned<String>>) -> Result<Vec<String>, Fault> {
    let mut variables = Vec::new();
    let mut known = HashSet::new();
    for (index, name) in names.into_iter().enumerate() {
        let text = name.get_ref();
        let begins = text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
        if !begins || !text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            let reason = "a variable's name is of letters of ASCII, digits and _; its value is that of \
                          the server's environment";
            return Err(fault(&name, reason));
        }
        if !known.insert(text.clone()) {
            return Err(fault(&name, "duplicate name: leave it out"));
        }
        if index == ToolManifest::MAX_VARIABLES {
            let reason = format!("there are more than {} variables", ToolManifest::MAX_VARIABLES);
            return Err(fault(&name, reason));
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
                return Err(fault(&destructive, reason));
            }
            Ok(Some(Effect::Destroys))
        }
        _ if read_only => Ok(Some(Effect::Reads)),
        Some(_) => Ok(Some(Effect::Adds)),
        None => Ok(None),
    }
}

fn schema(value: Spanned<Value>) -> Result<Schema, Fault> {
    if has_time(value.get_ref()) {
        let reason = "JSON has no dates and times: write them as strings, in quotes";
        return Err(fault(&value, reason));
    }
    let schema = Schema::from(value.get_ref().clone());
    Validator::new(&schema).map_err(|error| {
        fault(&value, format!("invalid JSON Schema (draft 2020-12): {}", error.reason()))
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
