//! The credentials of requests.

use std::sync::Arc;

use http::request::Parts;
use trunkline_access::Principal;

use super::authenticate::{Authentication, Authenticator};
use super::refusal::Refusal;

/// Verifies the credentials of a request. `None` without authenticators.
pub(super) fn authenticate<'a>(
    authenticators: impl Iterator<Item = &'a Arc<dyn Authenticator>> + Clone,
    request: &Parts,
) -> Result<Option<Authentication>, Refusal> {
    let mut has_any = false;
    for authenticator in authenticators.clone() {
        has_any = true;
        if let Some(found) = authenticator.authenticate(request) {
            return Ok(Some(found));
        }
    }
    match has_any {
        true => Err(Refusal::NoCredentials(authenticators.map(|one| one.remedy()).collect())),
        false => Ok(None),
    }
}

/// Waits for the principal of credentials, if they are required.
pub(super) async fn principal(found: Option<Authentication>) -> Result<Option<Principal>, Refusal> {
    match found {
        Some(found) => Ok(Some(found.await?)),
        None => Ok(None),
    }
}
