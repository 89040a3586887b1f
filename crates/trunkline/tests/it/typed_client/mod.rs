//! Typed clients, in process and over HTTP.

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

/// A served shop.
struct Shops {
    rpc: Rpc,
    seen: Seen,
    server: ServerHandle,
}

impl Shops {
    async fn open() -> Self {
        let seen = Seen::default();
        let rpc = Shop::into_router(Corner { seen: seen.clone() }).build().unwrap();
        let server = serve_with(rpc.http(), server::ServerConfig::default()).await;
        Self { rpc, seen, server }
    }

    /// The name of each transport, and a client over it.
    fn clients(&self) -> [(&'static str, ShopClient); 2] {
        let http = Http::connect(&format!("http://{}", self.server.local_addr())).unwrap();
        [
            ("memory", ShopClient::new(Client::with_config(self.rpc.clone(), without_delay()))),
            ("http", ShopClient::new(Client::with_config(http, without_delay()))),
        ]
    }

    async fn close(self) {
        in_time("the server's end", self.server.stop()).await;
    }
}

/// A client configuration with retries without delay.
fn without_delay() -> ClientConfig {
    let retry = Retry { backoff: Duration::ZERO, ..Retry::default() };
    ClientConfig { retry: Some(retry), ..ClientConfig::default() }
}
