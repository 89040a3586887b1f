//! The TLS handshake, in the task of the connection, so that a silent client does not block others.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

use super::answer::Answer;
use super::connection::{self, Client};
use super::shared::Shared;
use super::stream::Stream;
use super::tls::{Tls, client_certificate};
use super::watch::Watch;

/// The content type of a handshake record, the first byte of a TLS connection (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;
/// The maximum time for a handshake while the server is stopping.
const STOPPING_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum time for writing the error to a client that does not use TLS.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves a connection until it ends, times out, or the server stops.
pub(in crate::server) async fn serve<A: Answer>(
    socket: TcpStream,
    peer: SocketAddr,
    tls: Tls,
    service: Arc<A>,
    shared: Arc<Shared>,
) {
    let handshake = timeout(shared.settings.head_timeout, accept(socket, &tls));
    // A stopping server still notifies clients that complete the handshake soon.
    let stopped = async {
        shared.drain.cancelled().await;
        let _ = timeout(STOPPING_TIMEOUT, shared.abort.cancelled()).await;
    };
    let result = tokio::select! {
        result = handshake => result,
        () = stopped => return,
    };
    match result {
        Ok(Ok(Some(stream))) => {
            let certificate = client_certificate(stream.get_ref().1);
            let client = Client { address: peer, certificate };
            connection::serve(stream, client, service, shared).await;
        }
        Ok(Ok(None)) => {}
        Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
    }
}

/// Performs the handshake. Sends an error to a client that does not use TLS, and returns `None`.
async fn accept(socket: TcpStream, tls: &Tls) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    if socket.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
        let refused = timeout(REFUSAL_TIMEOUT, refuse(socket)).await;
        return refused.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map(|()| None);
    }
    tls.acceptor().accept(socket).await.map(Some)
}

async fn refuse(socket: TcpStream) -> io::Result<()> {
    let reason = "this port requires TLS; use an https:// URL";
    let error = ErrorObject::new(code::REFUSED, "Refused")
        .with_data(&json!({ "status": 400, "reason": reason }));
    let body = Outcome::error(error).into_response(b"null");
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let watch = Arc::new(Watch::new());
    // The rest of the request is discarded.
    watch.cut_short();
    let mut stream = Stream::new(socket, watch);
    stream.write_all(&[head.into_bytes(), body].concat()).await?;
    stream.shutdown().await
}
