//! Name resolution, and TCP connections to permitted networks.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower::Service;
use trunkline_core::error::BoxError;

use super::networks::{Networks, NotPermitted};

pub(super) type Tcp = HttpConnector<Resolver>;

/// The idle time before the first probe of a connection.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 4;

pub(super) fn tcp(networks: Networks) -> Tcp {
    let mut tcp =
        HttpConnector::new_with_resolver(Resolver { system: GaiResolver::new(), networks });
    tcp.set_nodelay(true);
    // A stream of events may be silent: a peer that has vanished ends it within two minutes.
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    tcp
}

/// Resolves names with the system's resolver, and omits addresses outside of the permitted networks.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    system: GaiResolver,
    networks: Networks,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.system.poll_ready(cx).map_err(BoxError::from)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (resolving, networks) = (self.system.call(name), self.networks);
        Box::pin(async move {
            let is_permitted = |address: &SocketAddr| networks.permit(address.ip());
            let (permitted, other): (Vec<_>, Vec<_>) = resolving.await?.partition(is_permitted);
            match other.first() {
                Some(other) if permitted.is_empty() => {
                    Err(NotPermitted { address: other.ip() }.into())
                }
                _ => Ok(permitted.into_iter()),
            }
        })
    }
}
