//! `/console`: the web console.

use std::net::SocketAddr;

use clap::Args;
use clap::builder::BoolishValueParser;
use trunkline::Rpc;
use trunkline::http::{HttpConfig, HttpService, Routes};
use trunkline::layers::authorize::SharedRules;
use trunkline::server::Problems;
use trunkline_console::{ConsoleConfig, ConsoleDatabase, HistoryAccess, Sessions};
use trunkline_records::RecordType;

use super::service::{DATABASES, Service};

/// The flags of the console.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct ConsoleArgs {
    /// Serve the web console at /console [default: on loopback addresses]
    ///
    /// The console has the same access rules as the other endpoints. If the server has tokens, it asks for one. By
    /// default, it is served only if other machines cannot reach the server.
    #[arg(
        long,
        value_name = "BOOL",
        env = "TRUNKLINE_CONSOLE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        overrides_with = "no_console",
        hide_possible_values = true,
        value_parser = BoolishValueParser::new()
    )]
    console: Option<bool>,
    /// Do not serve the web console
    #[arg(long, overrides_with = "console")]
    no_console: bool,
}

impl ConsoleArgs {
    /// The console of a server at these addresses, if it is served.
    pub(crate) fn console(
        &self,
        addresses: &[SocketAddr],
        http: &HttpConfig,
        is_https: bool,
    ) -> Option<ConsoleSetup> {
        let is_local = || addresses.iter().all(|address| address.ip().is_loopback());
        let is_on = !self.no_console && self.console.unwrap_or_else(is_local);
        let tokens = http.bearer.clone();
        let resource = http.protected_resource.as_ref().map(|resource| resource.url.to_string());
        // Behind a proxy, the URL of the server for its clients.
        let is_https = is_https || resource.is_some_and(|url| url.starts_with("https://"));
        let port = addresses.first().map_or(0, SocketAddr::port);
        let sessions = || trunkline_console::sessions(tokens.clone(), port, is_https);
        is_on.then(|| ConsoleSetup { sessions: (!tokens.is_empty()).then(sessions), is_https })
    }
}

/// A console before its service is built.
#[derive(Clone)]
pub(crate) struct ConsoleSetup {
    /// None if no token is required.
    sessions: Option<Sessions>,
    is_https: bool,
}

/// The parts of a server that its pages show.
pub(crate) struct Parts<'a> {
    pub(crate) rpc: &'a Rpc,
    pub(crate) agent: &'a Rpc,
    pub(crate) model: Option<&'a str>,
    pub(crate) served: &'a Service,
    pub(crate) history: Option<HistoryAccess>,
    pub(crate) problems: &'a Problems,
    pub(crate) limits: Vec<(String, String)>,
    pub(crate) rules: &'a SharedRules,
}

impl ConsoleSetup {
    /// The sessions of browsers, if a token is required.
    pub(crate) fn sessions(&self) -> Option<Sessions> {
        self.sessions.clone()
    }

    /// The routes of the console.
    pub(crate) fn routes(&self, parts: Parts<'_>) -> Vec<Routes> {
        let Parts { rpc, agent, model, served, history, problems, limits, rules } = parts;
        let mut config = ConsoleConfig::new("Trunkline", env!("CARGO_PKG_VERSION"));
        config.agent = Some(agent.clone());
        config.model = model.map(str::to_owned);
        config.databases = databases(served);
        config.rules = rules.clone();
        config.record_types = served.records.as_ref().map(|records| {
            records.store.types().iter().map(RecordType::name).map(str::to_owned).collect()
        });
        config.has_tools = served.tools.is_some();
        config.has_upstreams = served.gateway.is_some();
        config.history = history;
        config.problems = problems.clone();
        config.limits = limits;
        config.sessions = self.sessions.clone();
        config.is_https = self.is_https;
        trunkline_console::routes(rpc, config)
    }
}

/// Adds the console, if it is served.
pub(crate) fn merged(service: HttpService, routes: &[Routes]) -> HttpService {
    routes.iter().cloned().fold(service, HttpService::merge)
}

/// Adds an endpoint that pages of the console use, and a second one for them, which accepts their sessions.
pub(crate) fn merged_with_data(
    service: HttpService,
    routes: Routes,
    console: Option<&ConsoleSetup>,
) -> HttpService {
    let service = service.merge(routes.clone());
    match console {
        Some(console) => {
            service.merge(trunkline_console::data_routes(routes, console.sessions.as_ref()))
        }
        None => service,
    }
}

fn databases(served: &Service) -> Vec<ConsoleDatabase> {
    let Some(databases) = &served.databases else { return Vec::new() };
    let database = |(name, database): (&trunkline_sql::DatabaseName, &trunkline_sql::Database)| {
        ConsoleDatabase {
            name: name.to_string(),
            engine: database.engine().name().to_owned(),
            is_writable: database.is_writable(),
            prefix: match served.are_databases_separate {
                true => format!("{DATABASES}.{name}"),
                false => DATABASES.to_owned(),
            },
            is_selected: databases.are_several() && !served.are_databases_separate,
        }
    };
    databases.iter().map(database).collect()
}
