//! The negotiation of the era and the revision ("Backward Compatibility").

use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use trunkline::ErrorObject;
use trunkline::client::{Error as CallError, ProtocolError};

use super::config::KnownEra;
use super::connection::{CallOptions, Connection, RequestParts};
use super::error::{Error, RequestError};
use super::http_endpoint::HttpEndpoint;
use super::http_link::HttpLink;
use super::inbox::Inbox;
use super::link::Link;
use super::message::{raw, request as request_text};
use super::request::{Answer, Outgoing};
use super::session::{ServerInfo, Session};
use super::transport::{Kind, Transport};
use super::{sse, stdio};
use crate::protocol::error_code::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use crate::protocol::{Legacy, MODERN, header, method};

/// A connection whose revision is negotiated.
pub(super) struct Negotiated {
    pub(super) connection: Connection,
    pub(super) session: Session,
    pub(super) info: ServerInfo,
}

/// The result of a request of the stateless era.
enum Probe {
    Modern(ServerInfo),
    Legacy,
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

/// Connects, and negotiates the revision.
pub(super) async fn connect(transport: Transport, inbox: &Arc<Inbox>) -> Result<Negotiated, Error> {
    let http = match transport.0 {
        Kind::Http(http) => http,
        Kind::Stdio { command, config } => {
            let channel = stdio::spawn(command, &config, inbox)?;
            return on_channel(Connection::new(Link::Channel(channel), Arc::clone(inbox))).await;
        }
        Kind::Stream { input, output } => {
            let channel = stdio::open(input, output, inbox);
            return on_channel(Connection::new(Link::Channel(channel), Arc::clone(inbox))).await;
        }
    };
    let endpoint = HttpEndpoint::new(http, Arc::clone(inbox));
    let (eras, origin) = (&inbox.config.eras, endpoint.origin());
    if let Some(known) = eras.get(&origin).filter(|known| *known != KnownEra::Modern) {
        let connection = over_http(&endpoint);
        let negotiated = match known {
            KnownEra::Sse => over_sse(&endpoint).await,
            _ => with_initialize(connection).await.map_err(|(error, _)| error),
        };
        match negotiated {
            Ok(negotiated) => return Ok(negotiated),
            Err(error @ Error::Authorization(_)) => return Err(error),
            Err(_) => eras.set(&origin, None),
        }
    }
    let connection = over_http(&endpoint);
    let (era, negotiated) = match probe(&connection).await? {
        Probe::Modern(info) => (KnownEra::Modern, modern(connection, info)),
        Probe::Legacy => match with_initialize(connection).await {
            Ok(negotiated) => (KnownEra::Legacy, negotiated),
            Err((error, _)) if may_be_sse(&error) => match over_sse(&endpoint).await {
                Ok(negotiated) => (KnownEra::Sse, negotiated),
                Err(_) => return Err(error),
            },
            Err((error, _)) => return Err(error),
        },
    };
    eras.set(&origin, Some(era));
    Ok(negotiated)
}

fn over_http(endpoint: &HttpEndpoint) -> Connection {
    let link = Link::Http(HttpLink::new(endpoint.clone()));
    Connection::new(link, Arc::clone(&endpoint.inbox))
}

async fn over_sse(endpoint: &HttpEndpoint) -> Result<Negotiated, Error> {
    let inbox = &endpoint.inbox;
    let channel = sse::open(endpoint, inbox.config.timeout).await?;
    let connection = Connection::new(Link::Channel(channel), Arc::clone(inbox));
    with_initialize(connection).await.map_err(|(error, _)| error)
}

async fn on_channel(connection: Connection) -> Result<Negotiated, Error> {
    match probe(&connection).await? {
        Probe::Modern(info) => Ok(modern(connection, info)),
        Probe::Legacy => with_initialize(connection).await.map_err(|(error, _)| error),
    }
}

fn modern(connection: Connection, info: ServerInfo) -> Negotiated {
    connection.inbox.set_modern(true);
    Negotiated { connection, session: Session::Modern, info }
}

async fn with_initialize(connection: Connection) -> Result<Negotiated, (Error, Connection)> {
    match initialize(&connection).await {
        Ok((session, info)) => Ok(Negotiated { connection, session, info }),
        Err(error) => Err((error, connection)),
    }
}

/// Sends a request of the stateless era first. Anything but the reply of a server of that era means an earlier
/// revision.
async fn probe(connection: &Connection) -> Result<Probe, Error> {
    let is_channel = matches!(connection.link, Link::Channel(_));
    let config = &connection.inbox.config;
    let timeout = is_channel.then(|| config.probe_timeout.min(config.timeout));
    connection.inbox.set_modern(true);
    let mut is_repeated = false;
    let versions = loop {
        let options = CallOptions { timeout, ..CallOptions::default() };
        let parts = RequestParts { options, ..RequestParts::default() };
        let error = match connection.request(&Session::Modern, method::DISCOVER, &parts).await {
            Ok(answer) => match serde_json::from_str::<Discovered>(answer.result.get()) {
                Ok(Discovered { supported_versions: versions }) => {
                    if versions.iter().any(|version| version == MODERN) {
                        let info = ServerInfo::read(answer.result, MODERN);
                        let info = info.map_err(|error| Error::malformed(method::DISCOVER, error));
                        return Ok(Probe::Modern(info?));
                    }
                    break versions;
                }
                // Some servers have a result for any method.
                Err(_) => return Ok(Probe::Legacy),
            },
            Err(error) => error,
        };
        match error.error_object().filter(is_of_version).map(supported) {
            Some(Some(versions)) => {
                // A server that refuses what it supports gets a second chance.
                let is_mutual = versions.iter().any(|version| version == MODERN);
                if !is_mutual || std::mem::replace(&mut is_repeated, true) {
                    break versions.into_iter().filter(|version| version != MODERN).collect();
                }
            }
            Some(None) => return Err(error),
            None if is_final(&error, is_channel) => return Err(error),
            None => return Ok(Probe::Legacy),
        }
    };
    match versions.iter().any(|version| Legacy::parse(version).is_some()) {
        true => Ok(Probe::Legacy),
        false => Err(Error::versions(versions)),
    }
}

fn is_of_version(error: &&ErrorObject) -> bool {
    error.code() == UNSUPPORTED_VERSION
}

fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    Some(serde_json::from_str::<Unsupported>(error.data()?.get()).ok()?.supported)
}

/// Whether `initialize` would fail as well.
fn is_final(error: &Error, is_channel: bool) -> bool {
    const DENIED: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let Error::Request(RequestError { error, status }) = error else { return true };
    let is_denied = status.is_some_and(|status| DENIED.contains(&status));
    match error {
        CallError::Protocol(ProtocolError::Redirect { .. }) => true,
        CallError::Protocol(_) => is_denied,
        error => match error.error_object() {
            Some(error) => {
                is_denied || (UNSUPPORTED_VERSION..=HEADER_MISMATCH).contains(&error.code())
            }
            // Servers on stdio may ignore unknown requests.
            None => !(is_channel && error.is_timeout()),
        },
    }
}

/// Whether the server may support HTTP+SSE only.
fn may_be_sse(error: &Error) -> bool {
    let statuses = [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED];
    error.status().is_some_and(|status| statuses.contains(&status))
}

/// Opens a session of the legacy era.
pub(super) async fn initialize(connection: &Connection) -> Result<(Session, ServerInfo), Error> {
    let inbox = &connection.inbox;
    inbox.set_modern(false);
    let config = &inbox.config;
    let id = connection.next_id();
    let params = json!({
        "protocolVersion": Legacy::LATEST.as_str(),
        "capabilities": config.handler.features().capabilities(),
        "clientInfo": config.client_info(),
    });
    let first = Session::Legacy { version: Legacy::LATEST, id: None };
    let request = Outgoing {
        id,
        method: method::INITIALIZE,
        body: request_text(id, method::INITIALIZE, &raw(&params)),
        name: None,
        headers: http::HeaderMap::new(),
        is_open_ended: false,
    };
    let answer = connection.send(&first, &request, &CallOptions::default()).await;
    let Answer { result, mut headers } = answer.map_err(as_initialize)?;
    let malformed = |error| Error::malformed(method::INITIALIZE, error);
    let found: Initialized = serde_json::from_str(result.get()).map_err(malformed)?;
    let Some(version) = Legacy::parse(&found.protocol_version) else {
        return Err(Error::versions(vec![found.protocol_version]));
    };
    let session = Session::Legacy { version, id: headers.remove(header::SESSION_ID) };
    connection.notify(&session, method::INITIALIZED).await.map_err(as_initialize)?;
    let info = ServerInfo::read(result, version.as_str()).map_err(malformed)?;
    Ok((session, info))
}

fn as_initialize(error: Error) -> Error {
    match error {
        Error::Request(error) => Error::Initialize(error),
        other => other,
    }
}
