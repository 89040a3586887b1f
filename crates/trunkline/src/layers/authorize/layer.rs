use std::sync::Arc;

use tower::Layer;

use super::Authorize;
use super::requirement::Requirement;

/// Says what the methods that it wraps require of who calls them.
///
/// It wraps methods that are registered before it. [`Rules`](super::Rules) hold for those that are
/// registered later, too.
#[derive(Debug, Clone)]
pub struct AuthorizeLayer {
    requirements: Arc<[Requirement]>,
}

impl AuthorizeLayer {
    /// Calls have to meet this requirement.
    #[must_use]
    pub fn new(requirement: Requirement) -> Self {
        Self { requirements: Arc::new([requirement]) }
    }

    pub(super) fn all(requirements: Vec<Requirement>) -> Self {
        Self { requirements: requirements.into() }
    }
}

impl<S> Layer<S> for AuthorizeLayer {
    type Service = Authorize<S>;

    fn layer(&self, inner: S) -> Authorize<S> {
        Authorize { inner, requirements: Arc::clone(&self.requirements) }
    }
}
