//! `GET /forms`: a description of the native commands.

use http::header::HOST;
use http::uri::{Authority, Scheme, Uri};
use serde::Serialize;
use serde_json::Value;
use trunkline::access::Principal;
use trunkline::http::Headers;
use trunkline::layers::authorize::is_visible_to;
use trunkline::protocol::RegisteredOperation;
use trunkline::{Effect, Extensions, Schema};

use super::Routes;
use crate::declaration::Field;

/// A path, or a command that a path accepts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    /// The key: `execute`, or the name of an operation, `todo.create`.
    rel: &'a str,
    /// The HTTP method.
    method: &'static str,
    href: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    operation: Option<Operation<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Operation<'a> {
    command: &'a str,
    resource: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    /// The declared fields of the resource, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<&'a str>>,
    /// The schema of the params by name. In native commands, `id` and `metadata` are next to the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
}

/// The paths: key, HTTP method and description.
const PATHS: [(&str, &str, &str); 5] = [
    ("execute", "POST", "{command, resource, id?, payload?, metadata?}, or JSON-RPC 2.0"),
    ("repeat", "POST", "The same for a command that may have been executed before"),
    ("revert", "POST", "{requestId}: reverts the request with this metadata.requestId"),
    ("forms", "GET", "This document"),
    ("ping", "GET", "{\"status\": \"ok\"}"),
];

impl Routes {
    /// The JSON text of the forms, for a client that requested `uri`: the paths, and the operations in lists for the
    /// caller.
    pub(super) fn forms(&self, uri: &Uri, extensions: &Extensions) -> Vec<u8> {
        let base = base(uri, extensions);
        let paths = PATHS.map(|(rel, method, description)| Form {
            rel,
            method,
            href: format!("{base}/{rel}"),
            description: Some(description),
            operation: None,
        });
        let operations = self.rpc.operations();
        let caller = Principal::of(extensions);
        let operations = operations.iter();
        let operations = operations.filter(|one| is_visible_to(one.description(), caller));
        let operations = operations.filter_map(|operation| self.form(operation, &base));
        let forms: Vec<Form<'_>> = paths.into_iter().chain(operations).collect();
        serde_json::to_vec(&forms).expect("structs with text keys serialise into memory")
    }

    /// The form of an operation. `None` for operations without a record type.
    fn form<'a>(&'a self, operation: &'a RegisteredOperation, base: &str) -> Option<Form<'a>> {
        let rel = operation.name();
        let (resource, command) =
            rel.rsplit_once('.').filter(|(resource, _)| *resource != "rpc")?;
        let kind = self.records.types().get(resource);
        let description = operation.description();
        let read_only = description.effect == Some(Effect::ReadOnly);
        let operation = Operation {
            command,
            resource,
            title: description.title.as_deref(),
            read_only,
            destructive: description.effect == Some(Effect::Destructive),
            idempotent: read_only || description.idempotent,
            fields: kind.map(|kind| kind.fields().iter().map(Field::name).collect()),
            input: description.input.as_ref().map(Schema::as_value),
            output: description.output.as_ref().map(Schema::as_value),
        };
        Some(Form {
            rel,
            method: "POST",
            href: format!("{base}/execute"),
            description: description.text.as_deref(),
            operation: Some(operation),
        })
    }
}

/// `http://HOST`, with the host that the client requested.
fn base(uri: &Uri, extensions: &Extensions) -> String {
    let headers = Headers::of(extensions);
    let header = |name| headers.and_then(|headers| headers.get(name)?.to_str().ok());
    let host = uri.authority().map(Authority::as_str).or_else(|| header(HOST.as_str()));
    let forwarded =
        header("x-forwarded-proto").filter(|scheme| matches!(*scheme, "http" | "https"));
    let scheme = forwarded.or_else(|| extensions.get::<Scheme>().map(Scheme::as_str));
    format!("{}://{}", scheme.unwrap_or("http"), host.unwrap_or("localhost"))
}
