//! `trunkline resources`.

mod arguments;
mod summary;

use std::process::ExitCode;

pub(crate) use self::arguments::Arguments;
use self::arguments::{Source, Wanted};
use self::summary::Summary;
use crate::client::Native;
use crate::server::records;
use crate::terminal::output;
use crate::terminal::{Failure, Form, Table, finish, line, wait_for};

/// Lists the types, or describes one.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let (source, name) = match &arguments.wanted {
        Wanted::List(source) => (source, None),
        Wanted::Describe { name, source } => (source, Some(name)),
    };
    let form = Form::of_streams(source.connection.json);
    finish(form, || {
        let types = types(source)?;
        match name {
            None => {
                // Without --expose they can be served.
                if let Some(alike) = records::alike(types.iter().map(|kind| &*kind.name)) {
                    output::complain(&format!("trunkline: {}\n", line(&alike)));
                }
                Ok(list(&types, form))
            }
            Some(name) => match types.iter().find(|kind| kind.name == *name) {
                Some(kind) => Ok(describe(kind, form)),
                None => Err(Failure::Told(no_such_type(name, &types))),
            },
        }
    })
}

fn types(source: &Source) -> Result<Vec<Summary>, Failure> {
    let Source { url, connection, .. } = source;
    let Some(url) = url else {
        let types = records::types(source.file().as_deref());
        let types = types.map_err(|error| Failure::Told(output::causes(&error)))?;
        return Ok(types.iter().map(Summary::from).collect());
    };
    let url = url.clone().or_path("/forms");
    let native = Native::new(connection.connect(url)?, connection.timeout());
    wait_for(async {
        let document = native.get().await?;
        document.and_then(|document| summary::published(&document)).ok_or_else(|| {
            let told = "trunkline: what answers there does not describe resources\n";
            Failure::Told(told.to_owned())
        })
    })
}

fn list(types: &[Summary], form: Form) -> String {
    if form.is_json {
        let schemas: Vec<_> = types.iter().map(|kind| kind.schema.to_string()).collect();
        return form.json(&format!("[{}]", schemas.join(",")));
    }
    let rows = types.iter().map(|kind| {
        let fields: Vec<&str> = kind.fields.iter().map(|field| &*field.name).collect();
        [kind.name.clone(), fields.join(", "), kind.description.clone()]
    });
    form.table(&Table::of_texts(["name", "fields", "description"], rows))
}

fn describe(kind: &Summary, form: Form) -> String {
    if form.is_json {
        return form.json(&kind.schema.to_string());
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
    let table = form.table(&Table::of_texts(header, rows));
    let commands = line(&kind.commands.join(", ")).into_owned();
    form.cut(&heading) + "\n" + &table + "\n" + &form.cut(&format!("commands: {commands}"))
}

fn no_such_type(name: &str, types: &[Summary]) -> String {
    let names: Vec<_> = types.iter().map(|kind| line(&kind.name)).collect();
    format!("trunkline: there is no resource {}; there are: {}\n", line(name), names.join(", "))
}
