//! The checks of `/health/ready`.

use trunkline::server::Readiness;
use trunkline_agent::conversation::Conversations;
use trunkline_resources::Resources;
use trunkline_sql::{Database, DatabaseName, Databases, Error, ErrorClass, RawQuery};

use super::service::Service;
use super::shared_state::SharedState;

/// The checks of the databases and stores of a service. Databases answer a query; stores report their last use.
pub(super) fn checks(served: &Service, conversations: &Conversations) -> Readiness {
    let mut readiness = Readiness::default();
    if let Some(databases) = served.databases.clone() {
        readiness = readiness.check("database", move || Box::pin(check_all(databases.clone())));
    }
    if let Some(records) = &served.records {
        let records = records.resources.clone();
        readiness = readiness.check("records", move || last_use(Resources::problem(&records)));
    }
    let conversations = conversations.clone();
    readiness = readiness.check("conversations", move || last_use(conversations.problem()));
    if let Some(nodes) = served.nodes.clone() {
        readiness = readiness.check("sessions", move || last_use(SharedState::problem(&nodes)));
    }
    readiness
}

fn last_use(problem: Option<String>) -> trunkline::server::CheckFuture {
    Box::pin(std::future::ready(problem.map_or(Ok(()), Err)))
}

async fn check_all(databases: Databases) -> Result<(), String> {
    for (name, database) in databases.iter() {
        check(name, database, databases.are_several()).await?;
    }
    Ok(())
}

async fn check(name: &DatabaseName, database: &Database, is_named: bool) -> Result<(), String> {
    let answer = database.execute_raw_query(RawQuery::new("SELECT 1")).await;
    let problem = match answer {
        Ok(_) => None,
        Err(error @ Error::Unreachable(_)) => Some(error.to_string()),
        // A busy database is reachable.
        Err(error) if error.class() == ErrorClass::Retry => None,
        Err(error) => Some(error.to_string()),
    };
    match problem.or_else(|| database.problem()) {
        Some(problem) if is_named => Err(format!("{name}: {problem}")),
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}
