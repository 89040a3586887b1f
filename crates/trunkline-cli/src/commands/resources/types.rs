//! `trunkline resources list` and `trunkline resources describe`: record types.

use std::process::ExitCode;

use super::arguments::{Source, Types};
use super::summary::{self, Summary};
use crate::client::Native;
use crate::server::records;
use crate::terminal::output;
use crate::terminal::{Failure, Format, Renderer, Table, finish, line, wait_for};

/// Lists the types, or describes one.
pub(super) fn run(command: &Types) -> ExitCode {
    let (source, name) = match command {
        Types::List(source) => (source, None),
        Types::Describe { name, source } => (source, Some(name)),
    };
    let renderer = Renderer::for_streams(source.connection.json, source.format);
    finish(renderer, || {
        let types = types(source)?;
        match name {
            None => {
                // Without --expose, they can be served.
                if let Some(alike) = records::tool_conflict(types.iter().map(|kind| &*kind.name)) {
                    output::message(&format!("trunkline: {}\n", line(&alike)));
                }
                list(&types, renderer)
            }
            Some(name) => match types.iter().find(|kind| kind.name == *name) {
                Some(kind) => describe(kind, renderer),
                None => Err(Failure::Message(unknown_type(name, &types))),
            },
        }
    })
}

fn types(source: &Source) -> Result<Vec<Summary>, Failure> {
    let Source { url, connection, .. } = source;
    let Some(url) = url else {
        let types = records::types(source.file().as_deref());
        let types = types.map_err(|error| Failure::Message(output::causes(&error)))?;
        return Ok(types.iter().map(Summary::from).collect());
    };
    let url = url.clone().or_path("/forms");
    let native = Native::new(connection.connect(url)?, connection.timeout());
    wait_for(async {
        let document = native.get().await?;
        document.and_then(|document| summary::published(&document)).ok_or_else(|| {
            let message = "trunkline: the response does not describe record types\n";
            Failure::Message(message.to_owned())
        })
    })
}

fn list(types: &[Summary], renderer: Renderer) -> Result<String, Failure> {
    let schemas = || types.iter().map(|kind| kind.schema.to_string());
    match renderer.format() {
        Some(Format::Json) => {
            Ok(renderer.json(&format!("[{}]", schemas().collect::<Vec<_>>().join(","))))
        }
        Some(Format::Ndjson) => Ok(schemas().map(|schema| renderer.json(&schema)).collect()),
        Some(_) => renderer.value(&summary::rows(types)),
        None => {
            let rows = types.iter().map(|kind| {
                let fields: Vec<&str> = kind.fields.iter().map(|field| &*field.name).collect();
                [kind.name.clone(), fields.join(", "), kind.description.clone()]
            });
            Ok(renderer.table(&Table::from_texts(["name", "fields", "description"], rows)))
        }
    }
}

fn describe(kind: &Summary, renderer: Renderer) -> Result<String, Failure> {
    match renderer.format() {
        Some(Format::Json | Format::Ndjson) => return Ok(renderer.json(&kind.schema.to_string())),
        Some(_) => return renderer.value(&summary::field_rows(kind)),
        None => {}
    }
    let colon = if kind.description.is_empty() { "" } else { ": " };
    let heading = format!("{}{colon}{}", line(&kind.name), line(&kind.description));
    let rows = kind.fields.iter().map(|field| {
        let required = if field.is_required { "yes" } else { "" }.to_owned();
        let values = field.values.join(", ");
        [&field.name, &field.kind, &required, &field.default, &values, &field.description]
            .map(Clone::clone)
    });
    let header = ["field", "type", "required", "default", "values", "description"];
    let table = renderer.table(&Table::from_texts(header, rows));
    let commands = line(&kind.commands.join(", ")).into_owned();
    let commands = renderer.cut(&format!("commands: {commands}"));
    Ok(renderer.cut(&heading) + "\n" + &table + "\n" + &commands)
}

fn unknown_type(name: &str, types: &[Summary]) -> String {
    let names: Vec<_> = types.iter().map(|kind| line(&kind.name)).collect();
    format!("trunkline: unknown type `{}`; the types are {}\n", line(name), names.join(", "))
}
