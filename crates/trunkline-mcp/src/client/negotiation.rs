use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use trunkline::ErrorObject;
use trunkline::client::{Error as CallError, ProtocolError};

use super::exchange::{Answer, Error, Exchange, RequestError, read};
use crate::protocol::error_code::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use crate::protocol::{Legacy, MODERN, header, meta, method};

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
    pub(super) meta: Option<Value>,
}

/// The era of a server, with the session of the first era.
#[derive(Debug)]
pub(super) enum Era {
    Modern,
    Legacy { version: HeaderValue, session: Option<HeaderValue> },
}

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

/// Sends a request of the stateless era first. Anything but the reply of a server of that era means an
/// earlier revision.
pub(super) async fn find(exchange: &Exchange) -> Result<Era, Error> {
    let probe =
        Era::Modern.request(exchange, method::DISCOVER, Params::default(), HeaderMap::new());
    let versions = match probe.await {
        Ok(answer) => match serde_json::from_str::<Discovered>(answer.result.get()) {
            Ok(discovered) => discovered.supported_versions,
            // Some servers have a result for any method.
            Err(_) => return initialize(exchange).await,
        },
        Err(failed) => match failed.error.error_object().filter(is_of_version).map(supported) {
            // It has just refused the stateless revision.
            Some(Some(versions)) => {
                versions.into_iter().filter(|version| version != MODERN).collect()
            }
            Some(None) => return Err(failed.into()),
            None if is_final(&failed) => return Err(failed.into()),
            None => return initialize(exchange).await,
        },
    };
    if versions.iter().any(|version| version == MODERN) {
        return Ok(Era::Modern);
    }
    if versions.iter().any(|version| Legacy::parse(version).is_some()) {
        return initialize(exchange).await;
    }
    Err(Error::Versions(versions))
}

fn is_of_version(error: &&ErrorObject) -> bool {
    error.code() == UNSUPPORTED_VERSION
}

fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    Some(serde_json::from_str::<Unsupported>(error.data()?.get()).ok()?.supported)
}

/// Whether `initialize` would fail as well.
fn is_final(failed: &RequestError) -> bool {
    const DENIED: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let is_denied = failed.status.is_some_and(|status| DENIED.contains(&status));
    match &failed.error {
        CallError::Protocol(ProtocolError::Redirect { .. }) => true,
        CallError::Protocol(_) => is_denied,
        error => match error.error_object() {
            Some(error) => {
                is_denied || (UNSUPPORTED_VERSION..=HEADER_MISMATCH).contains(&error.code())
            }
            None => true,
        },
    }
}

async fn initialize(exchange: &Exchange) -> Result<Era, Error> {
    let params = json!({
        "protocolVersion": Legacy::LATEST.as_str(),
        "capabilities": {},
        "clientInfo": exchange.client_info(),
    });
    let answer = exchange.call(method::INITIALIZE, &raw(&params), HeaderMap::new()).await;
    let mut answer = answer.map_err(Error::Initialize)?;
    let found: Initialized = read(method::INITIALIZE, &answer)?;
    let Some(version) = Legacy::parse(&found.protocol_version) else {
        return Err(Error::Versions(vec![found.protocol_version]));
    };
    let version = HeaderValue::from_static(version.as_str());
    let era = Era::Legacy { version, session: answer.headers.remove(header::SESSION_ID) };
    exchange
        .notify(method::INITIALIZED, era.headers(method::INITIALIZED))
        .await
        .map_err(Error::Initialize)?;
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
    ) -> Result<Answer, RequestError> {
        if self.is_modern() {
            params.meta = Some(json!({
                meta::PROTOCOL_VERSION: MODERN,
                meta::CLIENT_INFO: exchange.client_info(),
                meta::CLIENT_CAPABILITIES: {},
            }));
        }
        headers.extend(self.headers(method));
        exchange.call(method, &raw(&params), headers).await
    }

    /// Ends a session. The reply does not matter.
    pub(super) async fn end(&self, exchange: &Exchange) {
        const PATIENCE: Duration = Duration::from_secs(2);
        if let Self::Legacy { session: Some(_), .. } = self {
            exchange.delete(self.headers(""), PATIENCE).await;
        }
    }

    fn headers(&self, method: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match self {
            Self::Modern => {
                headers.insert(header::PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
                headers.insert(header::METHOD, HeaderValue::from_static(method));
            }
            Self::Legacy { version, session } => {
                headers.insert(header::PROTOCOL_VERSION, version.clone());
                if let Some(session) = session {
                    headers.insert(header::SESSION_ID, session.clone());
                }
            }
        }
        headers
    }
}

fn raw(params: &impl Serialize) -> Box<RawValue> {
    to_raw_value(params).expect("text and JSON serialise")
}
