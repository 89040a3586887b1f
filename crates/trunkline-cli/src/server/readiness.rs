//! The checks of `/health/ready`.
//!
//! They are of what all nodes depend on and other calls cannot work without: the databases, and the server of a shared
//! store. A fault of a local store or of a write does not take a node out of rotation: without calls, nothing would end
//! it.

use std::time::Duration;

use futures_util::future::join_all;
use trunkline::server::Readiness;
use trunkline_sql::{Database, Databases, Error, ErrorClass};

use super::service::Service;
use super::shared_state::SharedState;

/// The time in which a database must answer. Less than that of a check, so that the reason has the name of the
/// database.
const PING_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The checks of the databases and the shared store of a service.
pub(super) fn checks(served: &Service) -> Readiness {
    let mut readiness = Readiness::default();
    if let Some(databases) = served.databases.clone() {
        readiness = readiness.check("database", move || Box::pin(check_all(databases.clone())));
    }
    if let Some(nodes) = served.nodes.clone() {
        // Each node reads the messages of the others all the time, so an outage is known without a query.
        readiness = readiness.check("store", move || {
            let outage = SharedState::outage(&nodes);
            Box::pin(std::future::ready(outage.map_or(Ok(()), Err)))
        });
    }
    readiness
}

/// Checks the databases concurrently. The reason has the name of each that does not work, if there are several.
async fn check_all(databases: Databases) -> Result<(), String> {
    let problems = join_all(databases.iter().map(async |(name, database)| {
        let problem = problem(database).await?;
        Some(if databases.are_several() { format!("{name}: {problem}") } else { problem })
    }));
    let problems: Vec<_> = problems.await.into_iter().flatten().collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

async fn problem(database: &Database) -> Option<String> {
    match database.ping(PING_TIMEOUT).await {
        Ok(()) => None,
        Err(error @ Error::Unreachable(_)) => Some(error.to_string()),
        // A busy database can be reached.
        Err(error) if error.class() == ErrorClass::Retry => None,
        Err(Error::Timeout { limit }) => {
            Some(format!("no answer within {} s", limit.as_secs_f64()))
        }
        Err(error) => Some(error.to_string()),
    }
}
