//! Serves the methods that protocol test suites call: `subtract`, `sum`, `echo`, `fail` and so on.
//!
//! ```text
//! cargo run -p trunkline --example spec_server -- --listen 127.0.0.1:8080
//! ```
#![expect(clippy::print_stdout, reason = "callers read the address")]

mod service;

use std::error::Error;
use std::time::Duration;

use clap::Parser;
use trunkline::server::{self, Health, Server};
use trunkline::{Limits, http};

/// Serves the methods of the protocol cases at `/`.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Maximum size of a request body, in bytes.
    #[arg(long)]
    max_body: Option<usize>,
    /// Maximum number of requests in a batch.
    #[arg(long)]
    max_batch: Option<usize>,
    /// Timeout for reading a request body, in milliseconds.
    #[arg(long)]
    body_timeout_ms: Option<u64>,
    /// Required bearer token. Can be repeated.
    #[arg(long)]
    bearer: Vec<String>,
    /// Origin that may call and read replies. Can be repeated.
    #[arg(long)]
    cors_origin: Vec<String>,
    /// Accepted host name. Can be repeated.
    #[arg(long)]
    allow_host: Vec<String>,
    /// Origin that may call. Can be repeated.
    #[arg(long)]
    allow_origin: Vec<String>,
    /// Path of the health page.
    #[arg(long)]
    health: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let rpc = service::router(arguments.limits()).build()?;
    let http = rpc.http_with(arguments.http());
    let shutdown = server::shutdown_signal()?;
    let server = Server::bind(&arguments.listen).settings(arguments.server()).serve(http).await?;
    println!("listening on http://{}", server.local_addr());
    shutdown.await;
    server.stop().await;
    Ok(())
}

impl Arguments {
    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.batch_requests = self.max_batch.unwrap_or(limits.batch_requests);
        limits
    }

    fn http(&self) -> http::HttpConfig {
        let mut settings = http::HttpConfig { paths: vec!["/".to_owned()], ..Default::default() };
        settings.max_body = self.max_body.unwrap_or(settings.max_body);
        settings.body_timeout =
            self.body_timeout_ms.map(Duration::from_millis).or(settings.body_timeout);
        settings.allow_origins.clone_from(&self.allow_origin);
        settings.cors_origins.clone_from(&self.cors_origin);
        self.allow_host.iter().for_each(|host| settings.hosts.allow(host));
        self.bearer.iter().for_each(|token| settings.bearer.allow(token.as_str()));
        settings
    }

    fn server(&self) -> server::ServerConfig {
        let health = self.health.as_ref().map(|path| Health {
            path: path.clone(),
            service: "spec_server".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        server::ServerConfig { health, ..Default::default() }
    }
}
