use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use trunkline::ErrorObject;
use trunkline::client::{Error, ProtocolError};

use super::exchange::{Answer, Exchange, McpError, read};
use crate::client::CallError;

/// The params of each request.
#[derive(Debug, Default, Serialize)]
pub(super) struct Params<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'p RawValue>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Meta>,
}

/// The one version that this client speaks without a session.
const MODERN: &str = "2026-07-28";

/// The versions that begin with `initialize`; the first is asked for.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The error codes that only a modern server uses.
const MODERN_ERRORS: std::ops::RangeInclusive<i64> = -32022..=-32020;
const UNSUPPORTED_VERSION: i64 = -32022;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

#[derive(Debug)]
pub(super) enum Era {
    Modern,
    Legacy { version: HeaderValue, session: Option<HeaderValue> },
}

/// What every modern request says of its sender.
#[derive(Debug, Serialize)]
pub(super) struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'static str,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    client: Implementation,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Capabilities,
}

#[derive(Debug, Serialize)]
struct Implementation {
    name: &'static str,
    version: &'static str,
}

/// None: nobody is there to be asked anything.
#[derive(Debug, Serialize)]
struct Capabilities {}

const CLIENT: Implementation =
    Implementation { name: "trunkline", version: env!("CARGO_PKG_VERSION") };

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
}

#[derive(Deserialize)]
struct Unsupported {
    supported: Vec<String>,
}

/// Asks as a modern client first. What a modern server has answered is believed; anything else
/// means a server of before.
pub(super) async fn find(exchange: &Exchange) -> Result<Era, McpError> {
    let probe =
        Era::Modern.request(exchange, "server/discover", Params::default(), HeaderMap::new());
    let versions = match probe.await {
        Ok(answer) => match serde_json::from_str::<Discovered>(answer.result.get()) {
            Ok(discovered) => discovered.supported_versions,
            // A server that answers anything to what it does not know.
            Err(_) => return initialize(exchange).await,
        },
        Err(failed) => match failed.error.error_object().filter(is_of_version).map(supported) {
            // It has just refused that one.
            Some(Some(versions)) => {
                versions.into_iter().filter(|version| version != MODERN).collect()
            }
            Some(None) => return Err(failed.into()),
            None if is_final(&failed) => return Err(failed.into()),
            None => return initialize(exchange).await,
        },
    };
    let speaks = |version: &str| versions.iter().any(|known| known == version);
    if speaks(MODERN) {
        return Ok(Era::Modern);
    }
    if LEGACY.into_iter().any(speaks) {
        return initialize(exchange).await;
    }
    Err(McpError::Versions(versions))
}

fn is_of_version(error: &&ErrorObject) -> bool {
    error.code() == UNSUPPORTED_VERSION
}

fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    Some(serde_json::from_str::<Unsupported>(error.data()?.get()).ok()?.supported)
}

/// Whether asking in another way is of no use.
fn is_final(failed: &CallError) -> bool {
    const DENIED: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let is_denied = failed.status.is_some_and(|status| DENIED.contains(&status));
    match &failed.error {
        Error::Protocol(ProtocolError::Redirect { .. }) => true,
        Error::Protocol(_) => is_denied,
        error => match error.error_object() {
            Some(error) => is_denied || MODERN_ERRORS.contains(&error.code()),
            None => true,
        },
    }
}

async fn initialize(exchange: &Exchange) -> Result<Era, McpError> {
    const INITIALIZE: &str = "initialize";
    let params = json!({"protocolVersion": LEGACY[0], "capabilities": Capabilities {}, "clientInfo": CLIENT});
    let params = to_raw_value(&params).expect("JSON is JSON");
    let answer = exchange.call(INITIALIZE, Some(&params), HeaderMap::new()).await;
    let mut answer = answer.map_err(McpError::Begin)?;
    let found: Initialized = read(INITIALIZE, &answer)?;
    let Some(version) = LEGACY.into_iter().find(|known| *known == found.protocol_version) else {
        return Err(McpError::Versions(vec![found.protocol_version]));
    };
    let version = HeaderValue::from_static(version);
    let era = Era::Legacy { version, session: answer.headers.remove(SESSION) };
    exchange
        .notify("notifications/initialized", era.headers("notifications/initialized"))
        .await
        .map_err(McpError::Begin)?;
    Ok(era)
}

impl Era {
    pub(super) fn is_modern(&self) -> bool {
        matches!(self, Self::Modern)
    }

    pub(super) async fn request(
        &self,
        exchange: &Exchange,
        method: &'static str,
        mut params: Params<'_>,
        mut headers: HeaderMap,
    ) -> Result<Answer, CallError> {
        if self.is_modern() {
            params.meta =
                Some(Meta { version: MODERN, client: CLIENT, capabilities: Capabilities {} });
        }
        headers.extend(self.headers(method));
        exchange.call(method, Some(&params_text(&params)), headers).await
    }

    /// Ends a session. Whether the server agrees is its business.
    pub(super) async fn end(&self, exchange: &Exchange) {
        /// Nobody wants to wait for this.
        const PATIENCE: Duration = Duration::from_secs(2);
        if let Self::Legacy { session: Some(_), .. } = self {
            exchange.delete(self.headers(""), PATIENCE).await;
        }
    }

    fn headers(&self, method: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match self {
            Self::Modern => {
                headers.insert(VERSION, HeaderValue::from_static(MODERN));
                headers.insert(METHOD, HeaderValue::from_static(method));
            }
            Self::Legacy { version, session } => {
                headers.insert(VERSION, version.clone());
                if let Some(session) = session {
                    headers.insert(SESSION, session.clone());
                }
            }
        }
        headers
    }
}

fn params_text(params: &Params<'_>) -> Box<RawValue> {
    to_raw_value(params).expect("text and JSON are JSON")
}
