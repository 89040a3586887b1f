//! The pages, and their routes.

mod agent;
mod databases;
mod history;
mod operations;
mod overview;
mod query;
mod records;
mod relations;
mod rows;
mod sign_in;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use trunkline::Rpc;
use trunkline::http::Routes;

use crate::assets;
use crate::config::ConsoleConfig;
use crate::console::{Console, DATA};
use crate::sessions::Sessions;

pub use sign_in::sessions;

/// The routes of an endpoint that pages of a console use, under the path `/console/data`. They accept the
/// [sessions](ConsoleConfig::sessions) of the console.
pub fn data_routes(routes: Routes, sessions: Option<&Sessions>) -> Routes {
    let routes = routes.nest(DATA);
    match sessions {
        Some(sessions) => routes.authenticator(Arc::new(sessions.clone())),
        None => routes,
    }
}

/// The routes of a console: its pages, and the files and the sign-in form that need no token. `rpc` is the service
/// whose operations it calls.
///
/// Merge all of them into the [service](trunkline::http::HttpService). Pages accept the
/// [sessions](ConsoleConfig::sessions) of browsers. They also use `/history/stream`, `/db/NAME/query` and `/api` under
/// `/console/data`: merge the [`data_routes`] of those endpoints, too.
#[must_use]
pub fn routes(rpc: &Rpc, config: ConsoleConfig) -> Vec<Routes> {
    let sessions = config.sessions.clone();
    let console = Console::new(rpc.clone(), config);
    let pages = Router::new()
        .route("/console", get(overview::show))
        .route("/console/operations", get(operations::list))
        .route("/console/operations/{name}", get(operations::form).post(operations::call))
        .route("/console/databases", get(databases::list))
        .route("/console/databases/{database}", get(databases::tables))
        .route("/console/databases/{database}/relations", get(relations::show))
        .route("/console/databases/{database}/query", get(query::form).post(query::run))
        .route("/console/databases/{database}/tables/{table}", get(rows::list))
        .route("/console/databases/{database}/tables/{table}/columns", get(databases::columns))
        .route("/console/databases/{database}/tables/{table}/value", get(rows::value))
        .route("/console/history", get(history::list))
        .route("/console/history/{sequence}", get(history::call))
        .route("/console/records", get(records::types))
        .route("/console/records/{type}", get(records::list).post(records::create))
        .route("/console/records/{type}/new", get(records::new))
        .route("/console/records/{type}/item/{id}", get(records::show).post(records::change))
        .route("/console/tools", get(tools::show).post(tools::act))
        .route("/console/agent", get(agent::show).post(agent::send))
        .with_state(console.clone());
    let pages = Routes::new("console", pages);
    let public = Router::new()
        .route("/console/assets/{version}/{name}", get(assets::serve))
        .route("/console/sign-in", post(sign_in::sign_in))
        .route("/console/sign-out", post(sign_in::sign_out))
        .with_state(console);
    let public = Routes::new("console", public).public();
    match sessions {
        Some(sessions) => vec![pages.authenticator(Arc::new(sessions)), public],
        None => vec![pages, public],
    }
}
