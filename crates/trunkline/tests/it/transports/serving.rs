//! The methods of the suite, served over a transport, and a client of them.

use std::process::Command;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::task::{JoinHandle, yield_now};
use trunkline::client::{self, Child, Client, Http, Transport, Unix, channel, child};
use trunkline::server::{self, Server, ServerHandle, Tls};
use trunkline::stream::{self, Framing, StreamError};
use trunkline::{CancellationToken, Rpc};

use super::service::CallCounts;
use crate::process::example;
use crate::support::in_time;

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In process, without a byte stream.
    Memory,
    Http,
    Https,
    /// A pipe in this process.
    Stream(Framing),
    Unix(Framing),
    /// The pipes of a child process.
    Child(Framing),
}

pub(super) const ALL: [Kind; 9] = [
    Kind::Memory,
    Kind::Http,
    Kind::Https,
    Kind::Stream(Framing::Lines),
    Kind::Stream(Framing::Headers),
    Kind::Unix(Framing::Lines),
    Kind::Unix(Framing::Headers),
    Kind::Child(Framing::Lines),
    Kind::Child(Framing::Headers),
];

/// A client and its server.
pub(super) struct Served {
    pub(super) kind: Kind,
    pub(super) client: Client,
    /// `None` if the server is another process.
    pub(super) rpc: Option<Rpc>,
    running: Running,
}

enum Running {
    /// The server ends with its client.
    Attached,
    Http(ServerHandle),
    Stream(CancellationToken, JoinHandle<Result<(), StreamError>>),
    /// The server and the directory of its socket.
    Unix(
        trunkline::unix::ServerHandle,
        #[expect(dead_code, reason = "held for its destructor")] TempDir,
    ),
}

impl Served {
    pub(super) async fn start(kind: Kind) -> Self {
        Self::draining(kind, Duration::from_secs(10)).await
    }

    /// Starts a server with this drain timeout.
    pub(super) async fn draining(kind: Kind, drain_timeout: Duration) -> Self {
        let rpc = CallCounts::new().router().build().unwrap();
        let mut stream = stream::StreamConfig::default();
        let mut channel = channel::ChannelConfig::default();
        if let Kind::Stream(framing) | Kind::Unix(framing) | Kind::Child(framing) = kind {
            (stream.framing, channel.framing) = (framing, framing);
        }
        (stream.drain_timeout, stream.message_bytes) = (drain_timeout, 16 << 20);
        channel.request_bytes = 16 << 20;
        let server = server::ServerConfig { drain_timeout, ..Default::default() };
        let mut http = trunkline::http::HttpConfig { max_body: 16 << 20, ..Default::default() };
        http.paths = vec!["/".to_owned()];
        match kind {
            Kind::Memory => Self::of(kind, rpc.clone(), Some(rpc), Running::Attached),
            Kind::Http => {
                let server = Server::bind("127.0.0.1:0").settings(server);
                let handle = server.serve(rpc.http_with(http)).await.unwrap();
                let http = Http::connect(&format!("http://{}", handle.local_addr())).unwrap();
                Self::of(kind, http, Some(rpc), Running::Http(handle))
            }
            Kind::Https => {
                let (tls, certificate) = certified();
                let server = Server::bind("127.0.0.1:0").settings(server).tls(tls);
                let handle = server.serve(rpc.http_with(http)).await.unwrap();
                let http = https(handle.local_addr().port(), &certificate);
                Self::of(kind, http, Some(rpc), Running::Http(handle))
            }
            Kind::Stream(_) => {
                let (ours, theirs) = tokio::io::duplex(64 << 10);
                let closing = stream.closing.clone();
                let served = rpc.clone();
                let serving =
                    tokio::spawn(async move { stream::serve(&served, theirs, stream).await });
                let channel = client::Channel::with_config(ours, channel);
                Self::of(kind, channel, Some(rpc), Running::Stream(closing, serving))
            }
            Kind::Unix(_) => {
                let directory = TempDir::new().unwrap();
                let path = directory.path().join("socket");
                let settings = trunkline::unix::UnixConfig { stream, ..Default::default() };
                let server = trunkline::unix::Server::bind(&path).settings(settings);
                let handle = server.serve(rpc.clone()).await.unwrap();
                let unix = Unix::connect_with(path, channel);
                Self::of(kind, unix, Some(rpc), Running::Unix(handle, directory))
            }
            Kind::Child(framing) => {
                let settings = child::ChildConfig { channel, ..Default::default() };
                let child = Child::spawn_with(stdio_server(framing), settings).unwrap();
                Self::of(kind, child, None, Running::Attached)
            }
        }
    }

    fn of(kind: Kind, transport: impl Transport, rpc: Option<Rpc>, running: Running) -> Self {
        let settings = client::ClientConfig { retry: None, ..Default::default() };
        Self { kind, client: Client::with_config(transport, settings), rpc, running }
    }

    /// The numbers of started and cancelled calls of `wait` and `work`, and of notifications `note`.
    pub(super) async fn counts(&self) -> [usize; 3] {
        in_time("the counts", self.client.call("counts", ()).into_future()).await.unwrap()
    }

    /// Waits for these counts.
    pub(super) async fn until(&self, expected: [usize; 3]) {
        let what = format!("{:?}: the counts {expected:?}", self.kind);
        in_time(&what, async {
            while self.counts().await != expected {
                yield_now().await;
            }
        })
        .await;
    }

    /// Begins to stop the server, which then refuses further calls.
    pub(super) async fn stop(&self) -> Stopping {
        match &self.running {
            Running::Attached => Stopping::Detached,
            Running::Http(handle) => {
                let stopping = handle.clone();
                let stopped = tokio::spawn(async move { stopping.stop().await.aborted });
                while handle.status().phase < server::Phase::Draining {
                    yield_now().await;
                }
                Stopping::Server(stopped)
            }
            Running::Unix(handle, _) => {
                let stopping = handle.clone();
                let stopped = tokio::spawn(async move { stopping.stop().await.aborted });
                while handle.status().phase < server::Phase::Draining {
                    yield_now().await;
                }
                Stopping::Server(stopped)
            }
            Running::Stream(closing, _) => {
                closing.cancel();
                Stopping::Detached
            }
        }
    }

    /// The result of serving the stream.
    pub(super) async fn ended(self) -> Option<Result<(), StreamError>> {
        let Self { client, running, .. } = self;
        drop(client);
        match running {
            Running::Stream(_, serving) => {
                Some(in_time("the end of the stream", serving).await.unwrap())
            }
            _ => None,
        }
    }
}

/// A server that is stopping.
pub(super) enum Stopping {
    /// The end can be observed by calls only.
    Detached,
    /// The future number of interrupted calls.
    Server(JoinHandle<usize>),
}

impl Stopping {
    pub(super) async fn cut(self) -> Option<usize> {
        match self {
            Self::Detached => None,
            Self::Server(stopped) => Some(in_time("the server's end", stopped).await.unwrap()),
        }
    }
}

/// The example `stdio_server`, which cargo builds next to the tests.
pub(super) fn stdio_server(framing: Framing) -> Command {
    let mut command = Command::new(example("stdio_server"));
    command.args(["--message-bytes", "16777216"]);
    // One of its methods panics, which should not print a backtrace.
    command.env("RUST_BACKTRACE", "0");
    if framing == Framing::Headers {
        command.arg("--headers");
    }
    command
}

/// A certificate for `localhost`, for the server and for its clients.
fn certified() -> (Tls, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let directory = TempDir::new().unwrap();
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
    std::fs::write(&certificate, cert.pem()).unwrap();
    std::fs::write(&key, signing_key.serialize_pem()).unwrap();
    (Tls::open(certificate, key).unwrap().check_interval(None), cert.pem())
}

/// A transport that trusts this certificate only.
pub(super) fn https(port: u16, certificate: &str) -> Http {
    let mut roots = client::http::Roots::none();
    roots.add_pem(certificate.as_bytes()).unwrap();
    let url = format!("https://localhost:{port}").parse().unwrap();
    Http::with_roots(url, client::http::HttpClientConfig::default(), &roots).unwrap()
}
