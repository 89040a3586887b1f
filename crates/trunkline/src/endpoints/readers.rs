use http::StatusCode;
use trunkline_access::Principal;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;

use super::refused::Refused;
use crate::layers::authorize::Rules;

/// What the rules call it to read the record.
pub(super) const NAME: &str = "history";

/// Who may read what others have asked and were answered.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Readers {
    /// Who needs no token, and who has a listed one. Holders of signed tokens may not: an issuer signs
    /// for many, and each would read the calls of all.
    #[default]
    Listed,
    /// Everyone who may call.
    Anyone,
    /// Who meets what these rules require for the name `history`; nobody, where they require nothing for
    /// it. Rules that hold for methods belong here, too: without them, the record would show results to
    /// those who may not ask for them.
    Rules(Rules),
}

impl Readers {
    pub(super) fn admit(&self, sender: &Extensions) -> Result<(), Refused> {
        let principal = Principal::of(sender);
        let may_read = match self {
            Self::Listed => principal.is_none_or(|principal| principal.issuer().is_none()),
            Self::Anyone => true,
            Self::Rules(rules) => rules.admit(NAME, principal),
        };
        if may_read {
            return Ok(());
        }
        let reason = "the history holds what others sent, and the caller may not read it";
        let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
        let error = error.with_data(&serde_json::json!({ "reason": reason }));
        Err(Refused { status: StatusCode::FORBIDDEN, error })
    }
}
