//! The HTTP server, with graceful shutdown and status.
//!
//! It uses hyper directly, with HTTP/1.1, and HTTP/2 by prior knowledge (h2c) or over TLS.

mod accept;
mod answer;
mod config;
mod connection;
mod handle;
#[cfg(feature = "tls")]
mod handshake;
mod health;
mod readiness;
mod reply;
mod shared;
#[cfg(feature = "signal")]
mod signal;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod watch;

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::http::HttpService;
use crate::status::Counts;

pub use crate::status::{Phase, Status};
pub use config::{DrainMode, Health, Problem, Problems, ServeError, ServerConfig};
pub use handle::{Drained, ServerHandle};
pub use readiness::{CheckFuture, Readiness};
#[cfg(feature = "signal")]
pub use signal::shutdown_signal;
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};

pub(crate) use accept::recover;

use answer::{Answer, Tower};
use health::Pages;
use shared::{Shared, TrackedExecutor};

/// A builder of an HTTP server.
///
/// ```
/// # use trunkline::{Router, Server};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rpc = Router::new().method("ping", || "pong").build()?;
/// let server = Server::bind("127.0.0.1:0").serve(rpc).await?;
/// println!("listening on http://{}", server.local_addr());
/// assert!(server.stop().await.is_complete());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a server runs when `serve` is awaited"]
pub struct Server {
    listen: Listen,
    settings: ServerConfig,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl Server {
    /// Creates a server for an address, as `host:port`, or for a [`TcpListener`] of tokio or `std`, such as one that a
    /// service manager passes. With port 0, the system chooses the port.
    pub fn bind(listen: impl Into<Listen>) -> Self {
        Self {
            listen: listen.into(),
            settings: ServerConfig::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Sets the configuration.
    pub fn settings(mut self, settings: ServerConfig) -> Self {
        self.settings = settings;
        self
    }

    /// Serves only TLS connections, with HTTP/1.1 and HTTP/2.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Binds the address and serves an `Rpc` or an [`HttpService`].
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn serve(self, service: impl Into<HttpService>) -> Result<ServerHandle, ServeError> {
        let (service, bound) = (service.into(), self.bound().await?);
        service.bind(bound.address);
        Ok(bound.start_rpc(service))
    }

    /// Binds the address and serves any tower service, such as an [`HttpService`] in HTTP layers or an axum
    /// router.
    ///
    /// The address is not added to the accepted hosts of inner services.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn serve_http<S, B>(self, service: S) -> Result<ServerHandle, ServeError>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        Ok(self.bound().await?.start(Tower(service)))
    }

    async fn bound(self) -> Result<Bound, ServeError> {
        let Self { listen, settings, .. } = self;
        settings.check()?;
        let name = match &listen {
            Listen::Address(address) => address.clone(),
            Listen::Tokio(_) | Listen::Std(_) => "the given listener".to_owned(),
        };
        let bound = async {
            let listener = listen.listener().await?;
            Ok((listener.local_addr()?, listener))
        };
        let bound: io::Result<_> = bound.await;
        let (address, listener) =
            bound.map_err(|source| ServeError::Bind { address: name, source })?;
        let tasks = TaskTracker::new();
        let mut builder = Builder::new(TrackedExecutor(tasks.clone()));
        // The watch of each connection limits the time for headers. hyper's timer would allocate for each request.
        builder.http1().max_buf_size(settings.head_bytes);
        builder
            .http2()
            .max_concurrent_streams(settings.streams)
            .max_header_list_size(u32::try_from(settings.head_bytes).unwrap_or(u32::MAX));
        let counts = Arc::new(Counts::new());
        let shared = Arc::new(Shared {
            pages: Pages::new(&settings, &counts),
            settings,
            #[cfg(feature = "tls")]
            tls: self.tls,
            counts,
            builder,
            drain: CancellationToken::new(),
            abort: CancellationToken::new(),
            closed: CancellationToken::new(),
        });
        Ok(Bound { listener, address, shared, tasks })
    }
}

/// An address to listen on, or a listener.
#[derive(Debug)]
#[non_exhaustive]
pub enum Listen {
    /// `host:port`.
    Address(String),
    /// A listener of tokio.
    Tokio(TcpListener),
    /// A listener of the standard library.
    Std(std::net::TcpListener),
}

impl Listen {
    async fn listener(self) -> io::Result<TcpListener> {
        match self {
            Self::Address(address) => TcpListener::bind(address).await,
            Self::Tokio(listener) => Ok(listener),
            Self::Std(listener) => {
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)
            }
        }
    }
}

macro_rules! listen {
    ($($type:ty, $value:ident => $listen:expr;)*) => {$(
        impl From<$type> for Listen {
            fn from($value: $type) -> Self {
                $listen
            }
        }
    )*};
}

listen! {
    &str, address => Self::Address(address.to_owned());
    String, address => Self::Address(address);
    &String, address => Self::Address(address.clone());
    SocketAddr, address => Self::Address(address.to_string());
    &SocketAddr, address => Self::Address(address.to_string());
    TcpListener, listener => Self::Tokio(listener);
    std::net::TcpListener, listener => Self::Std(listener);
}

/// A server with an address, whose clients wait.
struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    tasks: TaskTracker,
}

impl Bound {
    /// Serves an `Rpc`.
    ///
    /// This is not generic, so that the connections of hyper are compiled in this crate. The code of an async function
    /// is compiled in each program that awaits it: hyper would take most of the build of a small one.
    #[inline(never)]
    fn start_rpc(self, service: HttpService) -> ServerHandle {
        self.start(service)
    }

    fn start<A: Answer>(self, service: A) -> ServerHandle {
        let Self { listener, address, shared, tasks } = self;
        tasks.spawn(accept::run(listener, service, Arc::clone(&shared), tasks.clone()));
        #[cfg(feature = "tls")]
        if let Some(tls) = shared.tls.clone() {
            let shared = Arc::clone(&shared);
            tasks.spawn(tls.watch(async move { shared.counts.reached(Phase::Stopped).await }));
        }
        shared.counts.advance(Phase::Running);
        tracing::info!(%address, "server is running");
        ServerHandle { address, shared, tasks }
    }
}
