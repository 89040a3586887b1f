use http::StatusCode;
use trunkline_access::Principal;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;

use super::error::EndpointError;
use crate::layers::authorize::{Rules, SharedRules};

/// The name for access to the history and the logs in rules.
pub(super) const NAME: &str = "history";

/// The callers that may read the history and the logs, which contain requests of all callers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Readers {
    /// Callers with a listed token, and all callers if no token is required. Callers with signed tokens are
    /// refused, since an issuer may sign tokens for many of them.
    #[default]
    Listed,
    /// All callers.
    Anyone,
    /// Callers that meet the requirements of these rules for the name `history`. Without requirements for it,
    /// all callers are refused. Include the rules for methods, since the history contains their results.
    Rules(Rules),
    /// The same, with rules that can be replaced. Without requirements and roles, as [`Listed`](Self::Listed).
    Shared(SharedRules),
}

impl Readers {
    /// Checks that the sender of a request or call may read.
    ///
    /// # Errors
    /// -32008 for other senders.
    pub fn check(&self, sender: &Extensions) -> Result<(), ErrorObject> {
        let principal = Principal::of(sender);
        let may_read = match self {
            Self::Listed => is_listed(principal),
            Self::Anyone => true,
            Self::Rules(rules) => rules.admits(NAME, principal).unwrap_or(false),
            Self::Shared(rules) => {
                let rules = rules.current();
                let admitted = rules.admits(NAME, principal);
                admitted
                    .unwrap_or_else(|| rules.patterns().next().is_none() && is_listed(principal))
            }
        };
        if may_read {
            return Ok(());
        }
        let reason = "the caller may not read the history";
        let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
        Err(error.with_data(&serde_json::json!({ "reason": reason })))
    }

    pub(super) fn admit(&self, sender: &Extensions) -> Result<(), EndpointError> {
        let refuse = |error| EndpointError { status: StatusCode::FORBIDDEN, error };
        self.check(sender).map_err(refuse)
    }
}

fn is_listed(principal: Option<&Principal>) -> bool {
    principal.is_none_or(|principal| principal.issuer().is_none())
}
