//! Authentication of requests.

use std::fmt;
use std::sync::Arc;

use http::Response;
use http::request::Parts;
use trunkline_access::Principal;
use trunkline_core::call::MaybeReady;

use super::reply_body::ReplyBody;

/// The result of the verification of credentials. It is ready, unless keys are fetched for it.
pub type Authentication = MaybeReady<Result<Principal, AuthenticationError>>;

/// A kind of credentials: finds them in a request, and verifies them.
///
/// The authenticators of a service are asked in their order, and the first one that finds its credentials decides. A
/// request without any credentials is refused. Streams of events are authenticated again from time to time, as GET
/// requests, and end when they are refused.
///
/// Credentials that browsers send by themselves, such as cookies and client certificates, need a check of the
/// [origin](super::is_own_origin).
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// Verifies the credentials of a request. `None` if it has none of this kind.
    ///
    /// A [`ClientCertificate`](super::ClientCertificate) is an extension of the request.
    fn authenticate(&self, request: &Parts) -> Option<Authentication>;

    /// The remedy for a request without credentials, such as "send a token".
    fn remedy(&self) -> &'static str;

    /// The response to a refused GET request that accepts a page, in place of an error: a form to sign in. Default: none.
    fn page(&self, _request: &Parts) -> Option<Response<ReplyBody>> {
        None
    }
}

/// The reason why credentials are not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthenticationError {
    /// They are invalid, with the reason if the client may know it: status 401.
    #[error("{}", .0.unwrap_or("the token is not valid"))]
    Invalid(Option<&'static str>),
    /// They are not accepted from another origin: status 403.
    #[error(
        "the request does not come from a page of this server; `Origin` must be that of this server"
    )]
    Origin,
    /// They cannot be verified now: status 503.
    #[error("no keys available to verify tokens; try again later")]
    Unavailable,
}

/// The authenticators of a service.
pub(super) type Authenticators = Arc<[Arc<dyn Authenticator>]>;
