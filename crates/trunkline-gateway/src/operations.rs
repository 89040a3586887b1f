//! The operations that show and manage upstreams.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trunkline::{
    ErrorDescription, ErrorObject, JsonSchema, Operation, Params, Router, RpcError, State, code,
};

use crate::gateway::Gateway;
use crate::status::UpstreamStatus;
use crate::upstream::{ApproveError, Upstream};

/// The operations that show and manage the upstreams of a gateway. They are not tools:
///
/// * `gateway.upstreams` lists the upstreams with their states and the definitions of tools to review.
/// * `gateway.approve` approves definitions of tools by their digests.
/// * `gateway.reconnect` connects to an upstream without waiting for the next attempt.
///
/// The error for an unknown upstream or tool is -32011, and for a definition with another digest -32012.
pub fn management<S: Clone + Send + Sync + 'static>(gateway: &Gateway) -> Router<S> {
    let list = Operation::new("gateway.upstreams", list)
        .title("List upstreams")
        .description(
            "Lists the upstream servers with their states and problems, and the differences of tool definitions that are \
             not approved.",
        )
        .input::<List>()
        .output::<UpstreamList>()
        .errors::<ManagementError>()
        .read_only()
        .closed_world();
    let approve = Operation::new("gateway.approve", approve)
        .title("Approve tools")
        .description(
            "Approves definitions of tools of an upstream, by the digests that were reviewed. If one of them is not the \
             current one any more, none is approved.",
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
    /// The digests that were reviewed, by the upstream's names of the tools, as listed by `gateway.upstreams`.
    tools: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[serde(deny_unknown_fields)]
struct List {
    /// The name of an upstream; all without it.
    #[serde(default)]
    upstream: Option<String>,
    /// The upstream's name of a tool that is not approved. Only this one is listed under `unapproved`, with the whole
    /// difference. Requires `upstream`.
    #[serde(default)]
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

fn list(
    State(gateway): State<Gateway>,
    Params(List { upstream, tool }): Params<List>,
) -> Result<UpstreamList, ManagementError> {
    let Some(upstream) = upstream else {
        return match tool {
            Some(_) => Err(ManagementError::NoUpstream),
            None => Ok(UpstreamList { upstreams: gateway.status() }),
        };
    };
    let found = find(&gateway, upstream)?;
    let mut status = found.status();
    if let Some(tool) = tool {
        let difference = found.unapproved(&tool);
        status.unapproved = vec![difference.ok_or(ManagementError::NotUnapproved(tool))?];
    }
    Ok(UpstreamList { upstreams: vec![status] })
}

async fn approve(
    State(gateway): State<Gateway>,
    Params(Approve { upstream, tools }): Params<Approve>,
) -> Result<Approved, ManagementError> {
    let found = find(&gateway, upstream)?;
    let approved = tools.len();
    found.approve(tools).await.map_err(|(tool, error)| match error {
        ApproveError::UnknownTool => ManagementError::UnknownTool(tool),
        ApproveError::OtherDigest(digest) => ManagementError::OtherDigest { tool, digest },
    })?;
    Ok(Approved { approved })
}

fn reconnect(
    State(gateway): State<Gateway>,
    Params(Reconnect { upstream }): Params<Reconnect>,
) -> Result<(), ManagementError> {
    find(&gateway, upstream)?.reconnect();
    Ok(())
}

fn find(gateway: &Gateway, name: String) -> Result<Arc<Upstream>, ManagementError> {
    gateway.upstream(&name).ok_or(ManagementError::UnknownUpstream(name))
}

#[derive(Debug, thiserror::Error)]
enum ManagementError {
    #[error("unknown upstream `{0}`")]
    UnknownUpstream(String),
    #[error("unknown tool `{0}`")]
    UnknownTool(String),
    #[error("no tool `{0}` without approval")]
    NotUnapproved(String),
    #[error("`tool` requires `upstream`")]
    NoUpstream,
    #[error(
        "the definition of the tool `{tool}` has another digest; nothing was approved; review the definition again"
    )]
    OtherDigest {
        tool: String,
        /// That of the current definition.
        digest: String,
    },
}

const NOT_FOUND: &str = "Not found";
const CONFLICT: &str = "Conflict";
const INVALID_PARAMS: &str = "Invalid params";

impl RpcError for ManagementError {
    fn into_error_object(self) -> ErrorObject {
        let mut data = serde_json::json!({ "reason": self.to_string() });
        let (code, message) = match self {
            Self::OtherDigest { tool, digest } => {
                data["tool"] = tool.into();
                data["digest"] = digest.into();
                (code::CONFLICT, CONFLICT)
            }
            Self::NoUpstream => (code::INVALID_PARAMS, INVALID_PARAMS),
            Self::UnknownUpstream(_) | Self::UnknownTool(_) | Self::NotUnapproved(_) => {
                (code::NOT_FOUND, NOT_FOUND)
            }
        };
        ErrorObject::new(code, message).with_data(&data)
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        let described = [(code::NOT_FOUND, NOT_FOUND), (code::CONFLICT, CONFLICT)];
        described.map(|(code, message)| ErrorDescription::new(code, message)).to_vec()
    }
}
