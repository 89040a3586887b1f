//! The components of a server that can fail while it runs.

use trunkline::layers::audit::AuditLog;
use trunkline::server::{Problem, Problems};
use trunkline_agent::conversation::Conversations;
use trunkline_records::Records;
use trunkline_sql::Databases;

use super::history::Recorder;
use super::reload::ReloadState;
use super::service::Service;
use super::shared_state::SharedState;

/// The names of the components in `/health` and metrics.
pub(super) const COMPONENTS: [&str; 7] =
    ["database", "records", "conversations", "audit_log", "sessions", "log", "configuration"];

/// The components whose last use failed.
pub(super) fn problems(
    served: &Service,
    conversations: &Conversations,
    recorder: Option<&Recorder>,
    reloads: &ReloadState,
) -> Problems {
    let (databases, conversations) = (served.databases.clone(), conversations.clone());
    let records = served.records.as_ref().map(|records| records.store.clone());
    let (recorder, audit) = (recorder.cloned(), served.audit.clone());
    let (nodes, reloads) = (served.nodes.clone(), reloads.clone());
    let session_store = served.session_store.clone();
    Problems::new(move || {
        let found = [
            databases.as_ref().and_then(Databases::problem),
            records.as_ref().and_then(Records::problem),
            conversations.problem(),
            audit.as_ref().and_then(AuditLog::problem),
            match &session_store {
                Some(store) => store.problem(),
                None => nodes.as_ref().and_then(SharedState::problem),
            },
            recorder.as_ref().and_then(Recorder::problem),
            reloads.problem(),
        ];
        let problem = |(component, reason): (_, Option<_>)| {
            reason.map(|reason| Problem { component, reason })
        };
        COMPONENTS.into_iter().zip(found).filter_map(problem).collect()
    })
}
