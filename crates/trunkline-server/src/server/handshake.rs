//! What a connection begins with, in its own task: whoever is silent keeps nobody else waiting.

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
use super::connection;
use super::shared::Shared;
use super::stream::Stream;
use super::tls::Tls;
use super::watch::Watch;

/// The first byte of a client that speaks TLS: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;
/// How long a client that connects to a server that stops may take to have its connection.
const LATE: Duration = Duration::from_secs(1);
/// How long a client that does not speak TLS may take to be told so.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves a connection until it ends, waits too long, or has to stop.
pub(in crate::server) async fn serve<A: Answer>(
    socket: TcpStream,
    peer: SocketAddr,
    tls: Tls,
    service: Arc<A>,
    shared: Arc<Shared>,
) {
    let shaken = timeout(shared.settings.head_timeout, shake(socket, &tls));
    // A server that stops says so to whom it can; it does not wait for those who are silent.
    let stopped = async {
        shared.drain.cancelled().await;
        let _ = timeout(LATE, shared.cut.cancelled()).await;
    };
    let shaken = tokio::select! {
        shaken = shaken => shaken,
        () = stopped => return,
    };
    match shaken {
        Ok(Ok(Some(stream))) => connection::serve(stream, peer, service, shared).await,
        Ok(Ok(None)) => {}
        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS connection comes about"),
        Err(_) => tracing::debug!(%peer, "the TLS handshake timed out"),
    }
}

/// Nothing comes of a client that does not speak TLS. It is told so.
async fn shake(socket: TcpStream, tls: &Tls) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    if socket.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
        let told = timeout(FAREWELL, refuse(socket)).await;
        return told.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map(|()| None);
    }
    tls.acceptor().accept(socket).await.map(Some)
}

async fn refuse(socket: TcpStream) -> io::Result<()> {
    let reason = "this port speaks TLS: the URL begins with https://";
    let error = ErrorObject::new(code::REFUSED, "Refused")
        .with_data(&json!({ "status": 400, "reason": reason }));
    let body = Outcome::error(error).into_response(b"null");
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let watch = Arc::new(Watch::new());
    // The rest of the request is still to come, and is not wanted.
    watch.cut_short();
    let mut stream = Stream::new(socket, watch);
    stream.write_all(&[head.into_bytes(), body].concat()).await?;
    stream.shutdown().await
}
