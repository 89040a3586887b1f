//! `trunkline records`: the types of records.

mod summary;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use trunkline::client::http::Url;

use self::summary::Summary;
use crate::client::Native;
use crate::commands::connection::{Connection, MORE, NOTES, URL};
use crate::server::records;
use crate::terminal::output;
use crate::terminal::{Failure, Format, Renderer, Table, finish, line, wait_for};

/// Show the record types of a file or a server
#[derive(Subcommand)]
pub(crate) enum RecordsCommand {
    /// List the record types
    ///
    /// Reports why a file cannot be served.
    #[command(after_help = MORE, after_long_help = NOTES)]
    List(Source),
    /// Describe a record type: its fields and commands
    #[command(after_help = MORE, after_long_help = NOTES)]
    Describe {
        /// Type, such as todo
        name: String,
        #[command(flatten)]
        source: Source,
    },
}

/// The file or server with the types, and the format of the output.
#[derive(Args)]
pub(crate) struct Source {
    /// Declarations of the types [env: TRUNKLINE_RECORDS] [default: the built-in types]
    // As an `env` of clap, the variable would conflict with --url.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    records: Option<PathBuf>,
    /// Server URL or HOST:PORT, to show the types of a running server
    ///
    /// The default path is /forms.
    #[arg(long, value_name = "URL", value_parser = URL)]
    url: Option<Url>,
    /// Format of the output [default: a table]
    #[arg(long, value_enum, conflicts_with = "json", help_heading = "Output")]
    format: Option<Format>,
    #[command(flatten)]
    connection: Connection,
}

impl Source {
    /// The file of the flag or the variable.
    fn file(&self) -> Option<PathBuf> {
        self.records.clone().or_else(|| {
            let variable = env::var_os("TRUNKLINE_RECORDS");
            variable.filter(|path| !path.is_empty()).map(PathBuf::from)
        })
    }
}

/// Lists the types, or describes one.
pub(crate) fn run(command: &RecordsCommand) -> ExitCode {
    let (source, name) = match command {
        RecordsCommand::List(source) => (source, None),
        RecordsCommand::Describe { name, source } => (source, Some(name)),
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
