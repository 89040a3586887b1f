//! The negotiation of the era and the revision ("Backward Compatibility").

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use trunkline::ErrorObject;
use trunkline::client::{Error as CallError, ProtocolError, TransportError};

use super::config::KnownEra;
use super::connection::{Connection, RequestParts};
use super::error::{Error, RequestError};
use super::http_endpoint::HttpEndpoint;
use super::http_link::HttpLink;
use super::inbox::Inbox;
use super::link::Link;
use super::options::CallOptions;
use super::request::{Answer, Outgoing};
use super::session::{ServerInfo, Session};
use super::stdio::StdioConfig;
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
    Legacy { first: FirstReply },
}

/// The reply to the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstReply {
    Received,
    /// The server has ignored the request, or has ended.
    Missing,
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
        Kind::Stdio { command, config } => return with_process(command, &config, inbox).await,
        Kind::Stream { input, output } => {
            let channel = stdio::open(input, output, inbox);
            let connection = Connection::new(Link::Channel(channel), Arc::clone(inbox));
            return on_channel(connection, None).await.map(|(negotiated, _)| negotiated);
        }
    };
    let endpoint = HttpEndpoint::new(http, Arc::clone(inbox));
    let (eras, origin) = (&inbox.config.eras, endpoint.origin());
    if let Some(known) = eras.get(&origin).filter(|known| *known != KnownEra::Modern) {
        let connection = over_http(&endpoint);
        let negotiated = match known {
            KnownEra::Sse => over_sse(&endpoint).await,
            _ => with_initialize(connection, None).await.map_err(|(error, _)| error),
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
        Probe::Legacy { .. } => match with_initialize(connection, None).await {
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
    with_initialize(connection, None).await.map_err(|(error, _)| error)
}

/// Starts a process, and negotiates with it.
///
/// Some servers exit on a request that is not `initialize`. If the process ends before it has replied to that, it is
/// started once more with this request. The era of such a command is remembered.
async fn with_process(
    mut command: Command,
    config: &StdioConfig,
    inbox: &Arc<Inbox>,
) -> Result<Negotiated, Error> {
    let (eras, key) = (&inbox.config.eras, key(&command));
    let limit = inbox.config.connect_timeout;
    let until = Instant::now() + limit;
    let is_known = eras.get(&key) == Some(KnownEra::Legacy);
    let mut is_legacy = is_known;
    loop {
        let channel = stdio::spawn(&mut command, config, inbox)?;
        let connection = Connection::new(Link::Channel(channel.clone()), Arc::clone(inbox));
        let negotiating = async {
            match is_legacy {
                true => match with_initialize(connection, Some(limit)).await {
                    Ok(negotiated) => Ok((negotiated, FirstReply::Missing)),
                    Err((error, _)) => Err(error),
                },
                false => on_channel(connection, Some(limit)).await,
            }
        };
        let error = match timeout_at(until, negotiating).await {
            Ok(Ok((negotiated, first))) => {
                if first == FirstReply::Missing {
                    eras.set(&key, Some(KnownEra::Legacy));
                }
                return Ok(negotiated);
            }
            Ok(Err(error)) => error,
            Err(_) => Link::Channel(channel).timed_out(limit).into(),
        };
        if is_known {
            // The server may have been replaced.
            eras.set(&key, None);
        }
        if is_legacy || !is_end_of_process(&error) {
            return Err(error);
        }
        tracing::debug!(%error, "the server ended; starting it again with `initialize` as the first request");
        is_legacy = true;
    }
}

/// The key of a command among the known servers. A hash, since arguments may contain secrets.
fn key(command: &Command) -> String {
    let mut hasher = DefaultHasher::new();
    command.get_program().hash(&mut hasher);
    command.get_args().for_each(|argument| argument.hash(&mut hasher));
    command.get_current_dir().hash(&mut hasher);
    format!("command {:016x}", hasher.finish())
}

/// Whether the process has ended before it has replied to `initialize`.
fn is_end_of_process(error: &Error) -> bool {
    let (Error::Request(error) | Error::Initialize(error)) = error else { return false };
    matches!(error.error, CallError::Transport(TransportError::Broken { .. }))
}

/// Negotiates over a channel. Also returns whether the server has replied to the first request. `limit` is the timeout of
/// `initialize`, if it is not that of the configuration.
async fn on_channel(
    connection: Connection,
    limit: Option<Duration>,
) -> Result<(Negotiated, FirstReply), Error> {
    let first = match probe(&connection).await? {
        Probe::Modern(info) => return Ok((modern(connection, info), FirstReply::Received)),
        Probe::Legacy { first } => first,
    };
    match with_initialize(connection, limit).await {
        Ok(negotiated) => Ok((negotiated, first)),
        // Meanwhile, the server replies: its start took longer than the timeout of the first request.
        Err((error, connection))
            if first == FirstReply::Missing && error.error_object().is_some() =>
        {
            match probe(&connection).await? {
                Probe::Modern(info) => Ok((modern(connection, info), FirstReply::Received)),
                Probe::Legacy { .. } => Err(error),
            }
        }
        Err((error, _)) => Err(error),
    }
}

fn modern(connection: Connection, info: ServerInfo) -> Negotiated {
    connection.inbox.set_modern(true);
    Negotiated { connection, session: Session::Modern, info }
}

/// `limit` is the timeout of the request, if it is not that of the configuration.
async fn with_initialize(
    connection: Connection,
    limit: Option<Duration>,
) -> Result<Negotiated, (Error, Connection)> {
    match initialize(&connection, limit).await {
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
                Err(_) => return Ok(Probe::Legacy { first: FirstReply::Received }),
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
            None => {
                let is_silent =
                    matches!(&error, Error::Request(request) if request.error.is_timeout());
                let first = if is_silent { FirstReply::Missing } else { FirstReply::Received };
                return Ok(Probe::Legacy { first });
            }
        }
    };
    match versions.iter().any(|version| Legacy::parse(version).is_some()) {
        true => Ok(Probe::Legacy { first: FirstReply::Received }),
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
pub(super) async fn initialize(
    connection: &Connection,
    limit: Option<Duration>,
) -> Result<(Session, ServerInfo), Error> {
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
    let request = Outgoing::new(id, method::INITIALIZE, &params);
    let options = CallOptions { timeout: limit, ..CallOptions::default() };
    let answer = connection.send(&first, &request, &options).await;
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
