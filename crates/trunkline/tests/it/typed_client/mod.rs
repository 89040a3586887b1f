//! Typed clients, over each transport that a test can have at both ends.

mod batch;
mod calls;
mod retry;
mod shop;

use std::time::Duration;

use shop::{Corner, Seen, Shop, ShopClient};
use trunkline::Rpc;
use trunkline::client::{Client, ClientConfig, Http, Retry};
use trunkline::server::{self, ServerHandle};

use crate::support::{in_time, serve_with};

/// A shop, and clients of it.
struct Street {
    rpc: Rpc,
    seen: Seen,
    server: ServerHandle,
}

impl Street {
    async fn open() -> Self {
        let seen = Seen::default();
        let rpc = Shop::into_router(Corner { seen: seen.clone() }).build().unwrap();
        let server = serve_with(rpc.http(), server::ServerConfig::default()).await;
        Self { rpc, seen, server }
    }

    /// A client over each transport, with its name.
    fn clients(&self) -> [(&'static str, ShopClient); 2] {
        let http = Http::connect(&format!("http://{}", self.server.local_addr())).unwrap();
        [
            ("memory", ShopClient::new(Client::with_config(self.rpc.clone(), impatient()))),
            ("http", ShopClient::new(Client::with_config(http, impatient()))),
        ]
    }

    async fn close(self) {
        in_time("the server's end", self.server.stop()).await;
    }
}

/// Retries without waits.
fn impatient() -> ClientConfig {
    let retry = Retry { backoff: Duration::ZERO, ..Retry::default() };
    ClientConfig { retry: Some(retry), ..ClientConfig::default() }
}
