//! The TOML document of a manifest, and its validation.

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

/// A problem of a manifest, and its position in the text.
#[derive(Debug)]
pub(super) struct Diagnostic {
    pub(super) at: usize,
    pub(super) reason: String,
    /// Whether the program was not found. Installing it solves the problem.
    pub(super) is_program_missing: bool,
}

/// Parses the text of a manifest.
pub(super) fn parse(
    text: &str,
    folder: &Path,
    config: &ToolConfig,
) -> Result<ToolManifest, Diagnostic> {
    let document: Document = toml::from_str(text).map_err(|error| Diagnostic {
        at: error.span().map_or(0, |span| span.start),
        reason: error.message().to_owned(),
        is_program_missing: false,
    })?;
    let (command, program, arguments) = parse_command(&document.command, folder, config)?;
    let input = document.input_schema;
    if input.get_ref().get("type").and_then(Value::as_str) != Some("object") {
        return Err(diagnostic(&input, "the input schema must have `type = \"object\"`"));
    }
    let timeout = parse_range(document.timeout_ms, ToolManifest::MAX_TIMEOUT.as_millis())?;
    let output_bytes =
        parse_range(document.max_output_bytes, ToolManifest::MAX_OUTPUT_BYTES as u128)?;
    let title = document.title.map(|title| parse_text(title, ToolManifest::MAX_TITLE));
    Ok(ToolManifest {
        name: parse_name(document.name)?,
        title: title.transpose()?,
        description: parse_text(document.description, ToolManifest::MAX_DESCRIPTION)?,
        command,
        program,
        arguments,
        folder: folder.to_owned(),
        timeout: timeout.map_or(ToolManifest::DEFAULT_TIMEOUT, Duration::from_millis),
        max_output_bytes: output_bytes
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or(ToolManifest::DEFAULT_OUTPUT_BYTES),
        env: parse_variables(document.env)?,
        effect: parse_effect(document.read_only, document.destructive)?,
        input: parse_schema(input)?,
        output: document.output_schema.map(parse_schema).transpose()?,
    })
}

fn diagnostic<T>(value: &Spanned<T>, reason: impl Into<String>) -> Diagnostic {
    Diagnostic { at: value.span().start, reason: reason.into(), is_program_missing: false }
}

fn parse_name(name: Spanned<String>) -> Result<String, Diagnostic> {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let text = name.get_ref();
    if text.is_empty() || text.len() > ToolManifest::MAX_NAME || !text.bytes().all(is_name_byte) {
        let max = ToolManifest::MAX_NAME;
        let reason = format!("a name must have 1 to {max} of the characters A-Z a-z 0-9 _ -");
        return Err(diagnostic(&name, reason));
    }
    Ok(name.into_inner())
}

fn parse_text(text: Spanned<String>, max: usize) -> Result<String, Diagnostic> {
    if text.get_ref().trim().is_empty() {
        return Err(diagnostic(&text, "the text must not be empty"));
    }
    if text.get_ref().len() > max {
        let reason = format!("the text has {} bytes; the maximum is {max}", text.get_ref().len());
        return Err(diagnostic(&text, reason));
    }
    Ok(text.into_inner())
}

fn parse_command(
    command: &Spanned<Vec<Spanned<String>>>,
    folder: &Path,
    config: &ToolConfig,
) -> Result<(String, PathBuf, Vec<String>), Diagnostic> {
    let elements = command.get_ref();
    let Some((first, rest)) = elements.split_first() else {
        return Err(diagnostic(command, "the program is missing; add it in quotes"));
    };
    if elements.len() > ToolManifest::MAX_COMMAND_ELEMENTS {
        let reason =
            format!("a command must have at most {} elements", ToolManifest::MAX_COMMAND_ELEMENTS);
        return Err(diagnostic(command, reason));
    }
    let is_invalid = |element: &&Spanned<String>| element.get_ref().contains('\0');
    if let Some(element) =
        elements.iter().find(is_invalid).or(Some(first).filter(|it| it.get_ref().is_empty()))
    {
        return Err(diagnostic(
            element,
            "the program must not be empty, and no element may contain NUL",
        ));
    }
    let program = program::find(first.get_ref(), folder, config)
        .map_err(|reason| Diagnostic { is_program_missing: true, ..diagnostic(first, reason) })?;
    let rest = rest.iter().map(|element| element.get_ref().clone()).collect();
    Ok((first.get_ref().clone(), program, rest))
}

fn parse_range(value: Option<Spanned<u64>>, max: u128) -> Result<Option<u64>, Diagnostic> {
    let Some(value) = value else { return Ok(None) };
    if *value.get_ref() == 0 || u128::from(*value.get_ref()) > max {
        return Err(diagnostic(&value, format!("the value must be from 1 to {max}")));
    }
    Ok(Some(value.into_inner()))
}

fn parse_variables(names: Vec<Spanned<String>>) -> Result<Vec<String>, Diagnostic> {
    let mut variables = Vec::new();
    let mut known = HashSet::new();
    for (index, name) in names.into_iter().enumerate() {
        let text = name.get_ref();
        let is_valid_start =
            text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
        if !is_valid_start || !text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            let reason = "invalid variable name: use ASCII letters, digits and `_`; the value is taken from \
                          the environment of the server";
            return Err(diagnostic(&name, reason));
        }
        if !known.insert(text.clone()) {
            return Err(diagnostic(&name, "duplicate variable name"));
        }
        if index == ToolManifest::MAX_VARIABLES {
            let reason =
                format!("a manifest must have at most {} variables", ToolManifest::MAX_VARIABLES);
            return Err(diagnostic(&name, reason));
        }
        variables.push(name.into_inner());
    }
    Ok(variables)
}

fn parse_effect(
    read_only: bool,
    destructive: Option<Spanned<bool>>,
) -> Result<Option<Effect>, Diagnostic> {
    match destructive {
        Some(destructive) if *destructive.get_ref() => {
            if read_only {
                let reason = "`read_only` and `destructive` exclude each other; remove one of them";
                return Err(diagnostic(&destructive, reason));
            }
            Ok(Some(Effect::Destructive))
        }
        _ if read_only => Ok(Some(Effect::ReadOnly)),
        Some(_) => Ok(Some(Effect::Additive)),
        None => Ok(None),
    }
}

fn parse_schema(value: Spanned<Value>) -> Result<Schema, Diagnostic> {
    if contains_time(value.get_ref()) {
        let reason = "JSON Schema has no dates and times; write them as strings in quotes";
        return Err(diagnostic(&value, reason));
    }
    let schema = Schema::from(value.get_ref().clone());
    Validator::new(&schema).map_err(|error| {
        diagnostic(&value, format!("invalid JSON Schema (draft 2020-12): {}", error.reason()))
    })?;
    Ok(schema)
}

/// Whether a value contains a date or a time, which TOML's deserializer represents as an object with this member.
fn contains_time(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(contains_time),
        Value::Object(members) => {
            members.contains_key("$__toml_private_datetime") || members.values().any(contains_time)
        }
        _ => false,
    }
}
