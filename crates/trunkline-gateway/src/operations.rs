//! The operations that show and manage upstreams.

use serde::{Deserialize, Serialize};
use trunkline::{
    ErrorDescription, ErrorObject, Json, JsonSchema, Operation, Params, Router, RpcError, State,
    code,
};

use crate::gateway::Gateway;
use crate::status::UpstreamStatus;

/// The operations that show and manage the upstreams of a gateway. They are not tools:
///
/// * `gateway.upstreams` lists the upstreams with their states.
/// * `gateway.approve` approves the current definitions of the tools of an upstream, or of one of them.
/// * `gateway.reconnect` connects to an upstream without waiting for the next attempt.
///
/// The error for an unknown upstream or tool is -32011.
pub fn management<S: Clone + Send + Sync + 'static>(gateway: &Gateway) -> Router<S> {
    let list = Operation::new("gateway.upstreams", list)
        .title("List upstreams")
        .description("Lists the upstream servers with their states and problems.")
        .output::<UpstreamList>()
        .read_only()
        .closed_world();
    let approve = Operation::new("gateway.approve", approve)
        .title("Approve tools")
        .description(
            "Approves the current definitions of the tools of an upstream, or of one tool.",
        )
        .input::<Approve>()
        .output::<Approved>()
        .errors::<ManagementError>()
        .additive()
        .idempotent()
        .closed_world();
    let reconnect = Operation::new("gateway.reconnect", reconnect)
        .title("Reconnect an upstream")
        .description("Connects to a failed upstream now, or checks the connection.")
        .input::<Reconnect>()
        .errors::<ManagementError>()
        .additive()
        .idempotent();
    let router = Router::new().operation(list).operation(approve).operation(reconnect);
    router.with_state(gateway.clone())
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct UpstreamList {
    upstreams: Vec<UpstreamStatus>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[serde(deny_unknown_fields)]
struct Approve {
    /// The name of the upstream.
    upstream: String,
    /// The upstream's name of the tool; all without it.
    tool: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
struct Approved {
    /// The number of approved tools.
    approved: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[serde(deny_unknown_fields)]
struct Reconnect {
    /// The name of the upstream.
    upstream: String,
}

fn list(State(gateway): State<Gateway>) -> Json<UpstreamList> {
    Json(UpstreamList { upstreams: gateway.status() })
}

async fn approve(
    State(gateway): State<Gateway>,
    Params(Approve { upstream, tool }): Params<Approve>,
) -> Result<Approved, ManagementError> {
    let found = gateway.upstream(&upstream);
    let found = found.ok_or(ManagementError::UnknownUpstream(upstream))?;
    let approved = found.approve(tool.as_deref()).await;
    match tool {
        Some(tool) if approved == 0 => Err(ManagementError::UnknownTool(tool)),
        _ => Ok(Approved { approved }),
    }
}

fn reconnect(
    State(gateway): State<Gateway>,
    Params(Reconnect { upstream }): Params<Reconnect>,
) -> Result<(), ManagementError> {
    let found = gateway.upstream(&upstream);
    found.ok_or(ManagementError::UnknownUpstream(upstream))?.reconnect();
    Ok(())
}

#[derive(Debug, thiserror::Error)]
enum ManagementError {
    #[error("unknown upstream `{0}`")]
    UnknownUpstream(String),
    #[error("unknown tool `{0}`")]
    UnknownTool(String),
}

const NOT_FOUND: &str = "Not found";

impl RpcError for ManagementError {
    fn into_error_object(self) -> ErrorObject {
        let data = serde_json::json!({ "reason": self.to_string() });
        ErrorObject::new(code::NOT_FOUND, NOT_FOUND).with_data(&data)
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        vec![ErrorDescription::new(code::NOT_FOUND, NOT_FOUND)]
    }
}
