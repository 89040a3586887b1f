//! The metrics of `/metrics` that are not about methods.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trunkline::ServerHandle;
use trunkline::layers::metrics::Exposition;
use trunkline::limits::MemoryBudget;
use trunkline::server::Problems;
use trunkline_mcp::Mcp;
use trunkline_sql::{Database, DatabaseName, Databases};

use super::problems::COMPONENTS;
use super::reload::ReloadState;
use super::service::Service;

/// The sources of the metrics. Cloning is cheap.
#[derive(Clone)]
pub(super) struct Gauges {
    databases: Option<Databases>,
    memory: MemoryBudget,
    mcp: Mcp,
    problems: Problems,
    reload: ReloadState,
    /// The time since the epoch when the program started to serve.
    started: Duration,
    /// Set when the server listens.
    server: Arc<OnceLock<ServerHandle>>,
}

impl Gauges {
    pub(super) fn new(
        served: &Service,
        mcp: &Mcp,
        problems: &Problems,
        reload: &ReloadState,
    ) -> Self {
        Self {
            databases: served.databases.clone(),
            memory: served.memory.clone(),
            mcp: mcp.clone(),
            problems: problems.clone(),
            reload: reload.clone(),
            started: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            server: Arc::default(),
        }
    }

    /// Adds the server, which exists after its routes.
    pub(super) fn set_server(&self, server: &ServerHandle) {
        drop(self.server.set(server.clone()));
    }

    /// Adds the metrics to a reply.
    pub(super) fn add(&self, text: &mut Exposition) {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        text.gauge("build_info", "The version, with the value 1.", [(&version[..], 1.0)]);
        let started = self.started.as_secs_f64();
        text.gauge("start_time_seconds", "Unix time of the start.", [(NONE, started)]);
        self.add_server(text);
        let (used, limit) = (self.memory.used() as f64, self.memory.limit() as f64);
        text.gauge("memory_used_bytes", "Bytes of requests and replies.", [(NONE, used)]);
        text.gauge("memory_limit_bytes", "Value of --max-memory.", [(NONE, limit)]);
        let sessions = self.mcp.session_count() as f64;
        text.gauge("mcp_sessions", "Sessions of MCP over HTTP.", [(NONE, sessions)]);
        let problems = self.problems.now();
        let components = COMPONENTS.map(|component| {
            let works = problems.iter().all(|problem| problem.component != component);
            ([("component", component)], f64::from(u8::from(works)))
        });
        let components = components.iter().map(|(labels, works)| (&labels[..], *works));
        text.gauge("component_up", "Whether the last use of a component succeeded.", components);
        self.reload.add(text);
        self.add_databases(text);
    }

    fn add_server(&self, text: &mut Exposition) {
        let Some(status) = self.server.get().map(ServerHandle::status) else { return };
        let open = status.connections as f64;
        text.gauge("connections", "Open connections.", [(NONE, open)]);
        let running = status.in_flight as f64;
        text.gauge("requests_running", "HTTP requests that are running.", [(NONE, running)]);
        let accepted = status.total_connections as f64;
        text.counter("connections_total", "Accepted connections.", [(NONE, accepted)]);
        let requests = status.total_requests as f64;
        text.counter("requests_total", "HTTP requests, without health checks.", [(NONE, requests)]);
    }

    fn add_databases(&self, text: &mut Exposition) {
        let Some(databases) = &self.databases else { return };
        let mut family = |name, help, value: fn(&Database) -> f64| {
            let sample = |(name, database): (&DatabaseName, &Database)| {
                (name.to_string(), database.engine().name().to_lowercase(), value(database))
            };
            let samples: Vec<_> = databases.iter().map(sample).collect();
            let samples: Vec<_> = samples
                .iter()
                .map(|(name, engine, value)| {
                    ([("database", &**name), ("engine", &**engine)], *value)
                })
                .collect();
            text.gauge(name, help, samples.iter().map(|(labels, value)| (&labels[..], *value)));
        };
        family("database_up", "Whether the last use of a database succeeded.", |database| {
            f64::from(u8::from(database.problem().is_none()))
        });
        family("database_connections_limit", "Connections for reading.", |database| {
            database.parallelism() as f64
        });
        family("database_calls_running", "Calls that use a connection.", |database| {
            database.usage().running as f64
        });
        family("database_calls_waiting", "Calls that wait for a connection.", |database| {
            database.usage().waiting as f64
        });
    }
}

const NONE: &[(&str, &str)] = &[];
