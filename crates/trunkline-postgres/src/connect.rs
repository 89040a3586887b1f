//! Opening connections and cancelling their statements.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::types::BorrowToSql;
use tokio_postgres::{CancelToken, Client, Config, RowStream, SimpleQueryMessage, Statement};
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::channel_binding::ServerEndPoint;
use crate::error::ConnectError;
use crate::pooling::Sessions;
use crate::stream::{Io, ObservedStream, SessionState};
use crate::target::TargetSession;

/// The limits of connecting.
#[derive(Clone, Copy, Debug)]
pub struct ConnectLimits {
    /// Maximum time for each host.
    pub timeout: Duration,
    /// Maximum size of one message of the server in bytes. A larger one ends the connection.
    pub max_message: usize,
}

/// An open connection. A task drives it, which ends after the connection is dropped and the server has answered.
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The state of the session.
    pub state: Arc<SessionState>,
    /// The sessions in which its transactions run.
    pub sessions: Sessions,
    /// Whether texts of the database may be any bytes: its encoding is `SQL_ASCII`.
    pub has_any_text: bool,
    /// Whether its user is not that of the first URL, but one that was [read later](crate::PostgresUrl::with_source).
    pub has_other_user: bool,
    /// Whether the process of the server is that of the connection.
    is_direct: bool,
    /// The place of its host in the address, for cancellation.
    host: usize,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to the first host that accepts. Must be called in a tokio runtime, which drives the connection.
    ///
    /// # Errors
    /// The error of the last host.
    pub async fn open(address: &Address, limits: ConnectLimits) -> Result<Self, ConnectError> {
        let mut failure =
            ConnectError::Setting { setting: "host", reason: "no host is given".to_owned() };
        // That of the URL takes precedence.
        let limit = address.config.get_connect_timeout().copied().unwrap_or(limits.timeout);
        for target in address.target.passes() {
            for (index, (host, port)) in address.hosts.iter().enumerate() {
                let name = shown(host, *port);
                match timeout(limit, Self::open_host(address, index, *target, limits)).await {
                    Ok(Ok(connection)) => return Ok(connection),
                    Ok(Err(error)) => failure = error,
                    Err(_) => failure = ConnectError::Timeout { host: name, limit },
                }
            }
        }
        Err(failure)
    }

    /// This is not an async function, whose code is compiled in each program that awaits it, so that the driver and TLS
    /// are compiled in this crate.
    #[inline(never)]
    fn open_host(
        address: &Address,
        index: usize,
        target: TargetSession,
        limits: ConnectLimits,
    ) -> Pin<Box<dyn Future<Output = Result<Self, ConnectError>> + Send + '_>> {
        Box::pin(async move {
            let connection = Self::connect_to(address, index, limits).await?;
            let host = address.hosts.get(index).map(|(host, port)| shown(host, *port));
            let host = host.unwrap_or_default();
            match target.refusal(&connection.client).await {
                Ok(None) => Ok(connection),
                Ok(Some(reason)) => Err(ConnectError::Refused { host, message: reason.to_owned() }),
                Err(error) => Err(refused(&host, &error)),
            }
        })
    }

    async fn connect_to(
        address: &Address,
        index: usize,
        limits: ConnectLimits,
    ) -> Result<Self, ConnectError> {
        let mut config = address.credentials.read(index).await;
        let mut opened = Self::connect_with(address, index, &config, limits).await;
        if matches!(opened, Err(ConnectError::Refused { .. })) {
            // The password may have been changed since it was read.
            let changed = address.credentials.read(index).await;
            if changed != config {
                opened = Self::connect_with(address, index, &changed, limits).await;
                config = changed;
            }
        }
        if opened.is_ok() {
            address.credentials.note(index, config);
        }
        opened
    }

    async fn connect_with(
        address: &Address,
        index: usize,
        config: &Config,
        limits: ConnectLimits,
    ) -> Result<Self, ConnectError> {
        let host = address.hosts.get(index).map(|(host, port)| shown(host, *port));
        let host = host.unwrap_or_default();
        let (stream, end_point) = open_stream(address, index).await?;
        let state = Arc::new(SessionState::default());
        let stream = ObservedStream::new(stream, limits.max_message, Arc::clone(&state));
        let stream = stream.map_err(|source| ConnectError::Io { host: host.clone(), source })?;
        let refused = |error: tokio_postgres::Error| refused(&host, &error);
        let has_other_user = config.get_user() != address.config.get_user();
        let config = end_point.config(config);
        let (client, driver) = config.connect_raw(stream, end_point).await.map_err(refused)?;
        let has_any_text = driver.parameter("server_encoding") == Some("SQL_ASCII");
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "a PostgreSQL connection ended");
            }
        });
        let mut is_direct = false;
        if address.needs_test() {
            let process = process(&client).await.map_err(refused)?;
            let process = process.ok_or(ConnectError::StatementPooling { host })?;
            is_direct = process == state.process();
            address.note_transaction(is_direct);
        }
        let sessions = address.sessions();
        if sessions == Sessions::Shared {
            state.set_shared();
        }
        let has_settings = address.config.get_options().is_some_and(has_settings);
        if sessions == Sessions::Shared && has_settings {
            let reason = "a connection pooler does not apply it to each session; set the values for the role: \
                          ALTER ROLE … SET …";
            return Err(ConnectError::Setting { setting: "options", reason: reason.to_owned() });
        }
        Ok(Self { client, state, sessions, has_any_text, has_other_user, is_direct, host: index })
    }

    /// Runs a prepared statement. `is_text` has an element for each column of its result: whether its values are
    /// requested as text instead of in the binary format. Empty for the binary format of all columns. No other
    /// statement may be sent until this one has been.
    ///
    /// # Errors
    /// As of [`Client::query_raw`].
    pub async fn query_raw<P>(
        &self,
        statement: &Statement,
        params: Vec<P>,
        is_text: &[bool],
    ) -> Result<RowStream, tokio_postgres::Error>
    where
        P: BorrowToSql,
    {
        let _reset = (!is_text.is_empty()).then(|| self.state.formats().set(is_text));
        self.client.query_raw(statement, params).await
    }

    /// The means to cancel a statement of this connection. None behind a pooler, which may apply the request to the
    /// statement of another client: PgBouncer 1.18 does so if the session is given to it meanwhile.
    #[must_use]
    pub fn canceller(&self) -> Option<Canceller> {
        let can_cancel = self.is_direct && self.sessions == Sessions::Own;
        can_cancel.then(|| Canceller { token: self.client.cancel_token(), host: self.host })
    }

    /// Whether the connection can be used for another call.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        !self.client.is_closed() && self.state.is_idle()
    }
}

/// Cancels the running statement of a connection.
#[derive(Clone)]
pub struct Canceller {
    token: CancelToken,
    host: usize,
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").finish_non_exhaustive()
    }
}

impl Canceller {
    /// Sends the request and waits until the server has processed it, or for `patience`.
    pub async fn cancel(&self, address: &Address, patience: Duration) {
        let request = async {
            let (mut stream, end_point) = match open_stream(address, self.host).await {
                Ok(opened) => opened,
                Err(error) => return tracing::debug!(%error, "cannot cancel a statement"),
            };
            if let Err(error) = self.token.cancel_query_raw(&mut stream, end_point).await {
                tracing::debug!(%error, "cannot cancel a statement");
            }
            // The server closes the stream after it has sent the signal.
            let _ = stream.read(&mut [0]).await;
        };
        let _ = timeout(patience, request).await;
    }
}

/// Whether the parameter `options` has settings of the session. Hosted servers also take the name of an endpoint from it,
/// such as `endpoint=NAME`, which is not an option of PostgreSQL.
fn has_settings(options: &str) -> bool {
    options.split_whitespace().any(|word| word.starts_with('-'))
}

/// The process of the server that runs a transaction. None if its statements are run by several ones, or if the pooler
/// ends transactions.
async fn process(client: &Client) -> Result<Option<u32>, tokio_postgres::Error> {
    const FIRST: &str = "BEGIN READ ONLY; SELECT pg_catalog.pg_backend_pid()";
    const SECOND: &str = "SELECT pg_catalog.pg_backend_pid(); ROLLBACK";
    // Sent together, in this order. A pooler may give another session to the second message after the reply to the first.
    let replies = tokio::join!(biased; client.simple_query(FIRST), client.simple_query(SECOND));
    let number = |messages: &[SimpleQueryMessage]| {
        messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse::<u32>().ok(),
            _ => None,
        })
    };
    match replies {
        (Ok(first), Ok(second)) => {
            let (first, second) = (number(&first), number(&second));
            Ok(first.filter(|_| first == second))
        }
        (Err(error), _) | (_, Err(error)) if is_statement_pooling(&error) => Ok(None),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// Whether a pooler refuses transactions. PgBouncer has a message, and no code of its own.
fn is_statement_pooling(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| error.message().contains("statement pooling"))
}

/// The message of the driver if the URL requires channel binding.
const NOT_BOUND: &str = "server did not use channel binding";

const NOT_BOUND_REMEDY: &str = "`channel_binding=require` needs TLS and a password with SCRAM-SHA-256; set \
                                `sslmode=require`, or remove `channel_binding` from the URL";

/// The error of a host that does not accept the connection.
fn refused(host: &str, error: &tokio_postgres::Error) -> ConnectError {
    let message = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(source) if source.to_string() == NOT_BOUND => {
                format!("{error}: {source}; {NOT_BOUND_REMEDY}")
            }
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    };
    ConnectError::Refused { host: host.to_owned(), message }
}

/// Connects to one host, and establishes TLS.
async fn open_stream(
    address: &Address,
    index: usize,
) -> Result<(Box<dyn Io>, ServerEndPoint), ConnectError> {
    let Some((host, port)) = address.hosts.get(index) else {
        let reason = "no host is given".to_owned();
        return Err(ConnectError::Setting { setting: "host", reason });
    };
    let error = |source: io::Error| ConnectError::Io { host: shown(host, *port), source };
    let name = match host {
        Host::Tcp(name) => name,
        #[cfg(unix)]
        Host::Unix(directory) => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            let stream = UnixStream::connect(path).await.map_err(error)?;
            return Ok((Box::new(stream), ServerEndPoint::default()));
        }
    };
    let mut stream = TcpStream::connect((name.as_str(), *port)).await.map_err(error)?;
    stream.set_nodelay(true).map_err(error)?;
    let Some(tls) = &address.tls else {
        return Ok((Box::new(stream), ServerEndPoint::default()));
    };
    if !accepts_tls(&mut stream).await.map_err(error)? {
        return if tls.is_required {
            Err(ConnectError::NoTls { host: shown(host, *port) })
        } else {
            Ok((Box::new(stream), ServerEndPoint::default()))
        };
    }
    let server_name =
        ServerName::try_from(name.clone()).map_err(|source| error(io::Error::other(source)))?;
    let connector = TlsConnector::from(Arc::clone(&tls.config));
    let connected = connector.connect(server_name, stream).await;
    let connected =
        connected.map_err(|source| ConnectError::Tls { host: shown(host, *port), source })?;
    let certificates = connected.get_ref().1.peer_certificates();
    let certificate = certificates.and_then(<[_]>::first);
    let end_point = certificate.map(|certificate| ServerEndPoint::of(certificate));
    Ok((Box::new(connected), end_point.unwrap_or_default()))
}

/// Asks the server for TLS, before the first message.
async fn accepts_tls(stream: &mut TcpStream) -> io::Result<bool> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    stream.write_all(&SSL_REQUEST).await?;
    match stream.read_u8().await? {
        b'S' => Ok(true),
        b'N' => Ok(false),
        _ => Err(io::Error::other("it is not a PostgreSQL server")),
    }
}

/// A host, for messages.
fn shown(host: &Host, port: u16) -> String {
    match host {
        Host::Tcp(name) => format!("{name}:{port}"),
        #[cfg(unix)]
        Host::Unix(directory) => directory.join(format!(".s.PGSQL.{port}")).display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::has_settings;

    #[test]
    fn options_with_settings_of_the_session() {
        for (options, expected) in [
            ("endpoint=ep-cool-name-1", false),
            ("project=ep-cool-name-1", false),
            ("reference=abc", false),
            ("-c search_path=a", true),
            ("-csearch_path=a", true),
            ("--search_path=a", true),
            ("endpoint=ep-a-1 -c search_path=a", true),
            ("", false),
        ] {
            assert_eq!(has_settings(options), expected, "{options}");
        }
    }
}
