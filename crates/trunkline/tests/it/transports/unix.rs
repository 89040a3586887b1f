//! Servers on unix sockets.

use std::error::Error as _;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use futures_util::FutureExt;
use tempfile::TempDir;
use tokio::net::UnixStream;
use trunkline::client::{Client, Unix};
use trunkline::server::ServeError;
use trunkline::unix::{Peer, Server, ServerHandle, UnixConfig};
use trunkline::{Extension, Router, Rpc};

use crate::support::{in_time, until};

fn rpc() -> Rpc {
    Router::new()
        .method("ping", || "pong")
        .method("peer", |Extension(peer): Extension<Peer>| (peer.uid, peer.pid))
        .build()
        .unwrap()
}

async fn serve(path: &Path) -> Result<ServerHandle, ServeError> {
    in_time("to bind", Server::bind(path).serve(rpc())).await
}

async fn ping(client: &Client) -> String {
    in_time("a call", client.call("ping", ()).into_future()).await.unwrap()
}

/// The kind of the error of binding a socket.
#[track_caller]
fn refused(served: Result<ServerHandle, ServeError>) -> ErrorKind {
    match served {
        Err(ServeError::Bind { source, .. }) => source.kind(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn creates_and_removes_the_socket() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    for mode in [0o600, 0o660] {
        let settings = UnixConfig { mode, ..Default::default() };
        let server = Server::bind(&path).settings(settings).serve(rpc()).await.unwrap();
        let found = path.metadata().unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode);
        assert_eq!(server.path(), path);
        assert_eq!(ping(&Client::new(Unix::connect(&path))).await, "pong");
        server.stop().await;
        // No other files remain, either.
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}

/// Paths up to the maximum length of the system are served. Longer ones are refused with the reason.
#[tokio::test]
async fn refuses_long_paths() {
    let fits = |path: &Path| std::os::unix::net::SocketAddr::from_pathname(path).is_ok();
    let directory = TempDir::new().unwrap();
    let named = |length| directory.path().join("d".repeat(length)).join("sock");
    let longest = (1..200).rev().find(|length| fits(&named(*length))).unwrap();
    for (length, is_served) in [(longest - 4, true), (longest, true), (longest + 1, false)] {
        let path = named(length);
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        let served = serve(&path).await;
        if is_served {
            let server = served.unwrap();
            assert_eq!(ping(&Client::new(Unix::connect(&path))).await, "pong");
            server.stop().await;
        } else {
            let error = served.as_ref().unwrap_err().source().unwrap().to_string();
            assert!(error.contains("bytes") && error.contains("SUN_LEN"), "{error}");
            assert_eq!(refused(served), ErrorKind::InvalidInput);
        }
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 0);
    }
    // A long name in a short directory.
    let name = "n".repeat(longest + 6);
    assert_eq!(refused(serve(&directory.path().join(name)).await), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn replaces_a_stale_socket() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = serve(&path).await.unwrap();
    assert_eq!(ping(&Client::new(Unix::connect(&path))).await, "pong");
    server.stop().await;
}

#[tokio::test]
async fn keeps_other_files_and_sockets() {
    let directory = TempDir::new().unwrap();
    let [live, file, link] = ["live", "file", "link"].map(|name| directory.path().join(name));
    let server = serve(&live).await.unwrap();
    assert_eq!(refused(serve(&live).await), ErrorKind::AddrInUse);
    assert_eq!(ping(&Client::new(Unix::connect(&live))).await, "pong");
    std::fs::write(&file, "text").unwrap();
    assert_eq!(refused(serve(&file).await), ErrorKind::AlreadyExists);
    symlink(&file, &link).unwrap();
    assert_eq!(refused(serve(&link).await), ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
    let nowhere = directory.path().join("nowhere/socket");
    assert_eq!(refused(serve(&nowhere).await), ErrorKind::NotFound);
    // The path now belongs to another socket, which must not be removed.
    std::fs::remove_file(&live).unwrap();
    let other = UnixListener::bind(&live).unwrap();
    server.stop().await;
    assert!(live.exists());
    drop(other);
}

/// If several servers start on a stale socket at the same time, one succeeds.
#[tokio::test]
async fn only_one_server_binds_a_socket() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    drop(UnixListener::bind(&path).unwrap());
    let started = futures_util::future::join_all((0..8).map(|_| serve(&path))).await;
    let (served, failed): (Vec<_>, Vec<_>) = started.into_iter().partition(Result::is_ok);
    assert_eq!((served.len(), failed.len()), (1, 7));
    assert!(failed.into_iter().all(|failed| refused(failed) == ErrorKind::AddrInUse));
}

#[tokio::test]
async fn a_client_reconnects() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    let client = Client::new(Unix::connect(&path));
    let error = client.call::<String>("ping", ()).await.unwrap_err();
    assert!(error.source().is_some(), "{error}");
    for _ in 0..3 {
        let server = serve(&path).await.unwrap();
        // A call on the old connection fails.
        match in_time("a call", client.call::<String>("ping", ()).into_future()).await {
            Ok(pong) => assert_eq!(pong, "pong"),
            Err(error) => assert!(error.to_string().contains("closed before"), "{error}"),
        }
        assert_eq!(ping(&client).await, "pong");
        assert_eq!(ping(&client).await, "pong");
        assert_eq!(server.status().total_connections, 1);
        server.stop().await;
    }
}

#[tokio::test]
async fn limits_and_counts_connections() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    let settings = UnixConfig { connections: 1, ..Default::default() };
    let server = Server::bind(&path).settings(settings).serve(rpc()).await.unwrap();
    let first = UnixStream::connect(&path).await.unwrap();
    until("the first connection", || server.status().connections == 1).await;
    // The system accepts the connection, the server does not.
    let client = Client::new(Unix::connect(&path));
    let mut second = Box::pin(client.call::<String>("ping", ()).into_future());
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    assert_eq!(in_time("the second", second).await.unwrap(), "pong");
    let status = server.status();
    assert_eq!((status.total_connections, status.total_requests), (2, 1));
    assert!(server.stop().await.is_complete());
}

#[tokio::test]
async fn handlers_receive_the_credentials_of_the_peer() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    let server = serve(&path).await.unwrap();
    let client = Client::new(Unix::connect(&path));
    let (uid, pid): (u32, Option<u32>) = client.call("peer", ()).await.unwrap();
    let own = std::os::unix::fs::MetadataExt::uid(&path.metadata().unwrap());
    assert_eq!((uid, pid), (own, Some(std::process::id())));
    server.stop().await;
}

#[tokio::test]
async fn rejects_invalid_configurations() {
    type Set = fn(&mut UnixConfig);
    let set: [(&str, Set); 3] = [
        ("connections", |settings| settings.connections = 0),
        ("stream.in_flight", |settings| settings.stream.in_flight = 0),
        ("mode", |settings| settings.mode = 0o4600),
    ];
    for (name, set) in set {
        let mut settings = UnixConfig::default();
        set(&mut settings);
        let served = Server::bind("/nowhere").settings(settings).serve(rpc()).await;
        let Err(ServeError::Setting { setting, .. }) = served else { panic!("{name}") };
        assert_eq!(setting, name);
    }
}
