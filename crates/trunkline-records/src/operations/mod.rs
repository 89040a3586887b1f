//! The operations of records.

mod error;
#[cfg(feature = "mcp")]
mod mcp;

#[cfg(feature = "mcp")]
pub use mcp::notify_subscribers;
use serde_json::value::RawValue;
use trunkline::access::Principal;
use trunkline::{
    Call, CancellationToken, ErrorObject, Extensions, FromCall, Operation, Router, Schema, State,
};

use crate::adapter;
use crate::command::Command;
use crate::declaration::{RecordType, Verb};
use crate::error::Error;
use crate::records::{Caller, Context, Mode, Records};

/// Returns the operations of every record type: `todo.create`, `todo.read`, `todo.update`, `todo.delete`,
/// `todo.list`, `todo.filter`, `todo.status` and `todo.revert`.
///
/// The operations of types for which `is_tool` returns true are also tools for language models, named `todo_create`.
/// Dots in names become underscores. With the feature `mcp`, their records are also resources, `records://todo/ID`, and
/// `notify_subscribers` notifies MCP clients of changed records.
///
/// Error codes: -32602 for invalid params, with `data.pointer`; -32011 for unknown records; -32012 for conflicts, with
/// `data.kind`; -32004 for timeouts; -32005 for an overloaded store, where a retry may succeed; -32000 for a failed
/// store, with the cause in the log.
pub fn operations<S>(records: &Records, is_tool: impl Fn(&str) -> bool) -> Router<S> {
    let mut router = Router::new();
    for kind in records.types().iter() {
        let is_tool = is_tool(kind.name());
        for verb in Verb::ALL {
            let operation = operation(kind, verb, records.config().max_page);
            router =
                router.operation(if is_tool { offered(kind, verb, operation) } else { operation });
        }
    }
    router.with_state(records.clone())
}

/// The operation as a tool and, with the feature `mcp`, as a resource.
fn offered(kind: &RecordType, verb: Verb, operation: Operation<Records>) -> Operation<Records> {
    #[cfg(feature = "mcp")]
    let operation = mcp::resource(kind, verb, operation);
    operation.tool(format!("{}_{}", kind.name().replace('.', "_"), verb.as_str()))
}

fn operation(kind: &RecordType, verb: Verb, max_page: usize) -> Operation<Records> {
    let name = format!("{}.{}", kind.name(), verb.as_str());
    let operation = match verb {
        Verb::Read | Verb::Delete => Operation::new(name, execute::<ByPosition<false>>),
        Verb::Revert => Operation::new(name, execute::<ByPosition<true>>),
        _ => Operation::new(name, execute::<Command>),
    };
    let operation = match verb {
        Verb::Read | Verb::List | Verb::Filter | Verb::Status => operation.read_only(),
        Verb::Create => operation.additive(),
        Verb::Update | Verb::Delete => operation.destructive(),
        Verb::Revert => operation.destructive().idempotent(),
    };
    // Members are data: in an update, `null` deletes one, or is an error, and is not the same as a missing one. A criterion
    // of another type matches nothing.
    let operation = match verb {
        Verb::Create | Verb::Update | Verb::Filter => operation.strict_params(),
        Verb::Read | Verb::Delete | Verb::List | Verb::Status | Verb::Revert => operation,
    };
    operation
        .title(title(kind, verb))
        .description(description(kind, verb))
        .input_schema(input(kind, verb, max_page))
        .output_schema(kind.output(verb))
        .errors::<Error>()
        .closed_world()
}

/// The schema of the params, with the maximum page size of this server.
fn input(kind: &RecordType, verb: Verb, max_page: usize) -> Schema {
    let mut input = kind.input(verb);
    let limits = ["/properties/limit", "/properties/metadata/properties/limit"];
    for (index, limit) in limits.into_iter().enumerate() {
        let is_field = index == 0 && kind.field("limit").is_some();
        if let Some(limit) = input.pointer_mut(limit).filter(|_| !is_field) {
            limit["maximum"] = max_page.into();
        }
    }
    match verb {
        // Null removes a field of the record.
        Verb::Update => input.into(),
        _ => Schema::from(input).without_null_options(),
    }
}

fn title(kind: &RecordType, verb: Verb) -> String {
    let name = kind.name();
    match verb {
        Verb::Create => format!("Create a {name}"),
        Verb::Read => format!("Read a {name}"),
        Verb::Update => format!("Update a {name}"),
        Verb::Delete => format!("Delete a {name}"),
        Verb::List => format!("List records of {name}"),
        Verb::Filter => format!("Filter records of {name}"),
        Verb::Status => format!("Status of {name}"),
        Verb::Revert => format!("Revert a change of {name}"),
    }
}

fn description(kind: &RecordType, verb: Verb) -> String {
    let name = kind.name();
    let text = match verb {
        Verb::Create => format!("Creates a {name} with the given id or a generated one."),
        Verb::Read => format!("Reads the {name} with this id."),
        Verb::Update => format!(
            "Changes only the given fields of a {name}; null removes a field, or resets it to its default."
        ),
        Verb::Delete => format!("Deletes the {name} with this id."),
        Verb::List => {
            format!("Lists the records of {name} by id, page by page.")
        }
        Verb::Filter => format!(
            "Finds records of {name}. Free text matches a substring, ignoring case; all other values, and fields \
             with an enum, must be equal."
        ),
        Verb::Status => format!("Counts the records of {name}, and describes their fields."),
        Verb::Revert => format!(
            "Undoes a create, update or delete of {name} that was sent with metadata.requestId."
        ),
    };
    match kind.description() {
        Some(description) => format!("{text} ({name}: {description})"),
        None => text,
    }
}

async fn execute<C: Into<Command>>(
    State(records): State<Records>,
    command: C,
    context: Context,
    cancel: CancellationToken,
) -> Result<Box<RawValue>, Error> {
    records.execute(command.into(), &context, &cancel).await
}

/// A command that accepts params by position: the id (`requestId` for `revert`), and metadata.
struct ByPosition<const IS_REVERT: bool>(Command);

impl<S, const IS_REVERT: bool> FromCall<S> for ByPosition<IS_REVERT> {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        adapter::command_of(call).map(Self)
    }

    fn declared() -> Vec<&'static str> {
        vec![if IS_REVERT { "requestId" } else { "id" }, "metadata"]
    }
}

impl<const IS_REVERT: bool> From<ByPosition<IS_REVERT>> for Command {
    fn from(ByPosition(command): ByPosition<IS_REVERT>) -> Self {
        command
    }
}

/// The authenticated caller, and the [`Mode`] that the route has set.
impl<S> FromCall<S> for Context {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}

impl Context {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let key = extensions.get::<Principal>().and_then(Principal::owner_key);
        let caller = key.map(Caller::new).unwrap_or_default();
        let mode = extensions.get::<Mode>().copied().unwrap_or_default();
        Self { caller, mode }
    }
}
