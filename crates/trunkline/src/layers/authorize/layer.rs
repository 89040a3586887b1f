use std::sync::Arc;

use tower::Layer;

use super::Authorize;
use super::requirement::Requirement;
use crate::router::Pattern;
use crate::rpc::Rpc;

/// Says who may call which methods. A method that no pattern matches may be called by all.
///
/// Use it with [`Router::layer`](crate::Router::layer), so that it is asked for every door. Methods
/// of other protocols are checked as the operations that they call.
#[derive(Debug, Clone, Default)]
#[must_use = "it does nothing until it is added to a router"]
pub struct AuthorizeLayer {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    pub(super) requirement: Requirement,
}

impl AuthorizeLayer {
    /// A layer that lets every call pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Methods whose names match `pattern` have this requirement, besides those of other patterns
    /// that match. A pattern is a name, or a prefix and `*`: `admin.*`, or `*` for all methods.
    pub fn require(mut self, pattern: &str, requirement: Requirement) -> Self {
        self.rules.push(Rule { pattern: Pattern::new(pattern), requirement });
        self
    }

    /// The patterns that match no method. A slip in one leaves the methods that it is meant for to
    /// all, so look at them once the router is built:
    ///
    /// ```
    /// # use trunkline::{Router, layers::authorize::{AuthorizeLayer, scope}};
    /// # fn main() -> Result<(), trunkline::BuildError> {
    /// let authorize = AuthorizeLayer::new().require("admn.*", scope("admin"));
    /// let rpc = Router::new().method("admin.stop", || "stopped").layer(authorize.clone()).build()?;
    /// assert_eq!(authorize.unmatched(&rpc).collect::<Vec<_>>(), ["admn.*"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn unmatched<'a>(&'a self, rpc: &'a Rpc) -> impl Iterator<Item = &'a str> {
        let patterns = self.rules.iter().map(|rule| &rule.pattern);
        let is_unmatched = |pattern: &&Pattern| {
            !rpc.operations().iter().any(|operation| pattern.matches(operation.name()))
        };
        patterns.filter(is_unmatched).map(Pattern::as_str)
    }
}

impl<S> Layer<S> for AuthorizeLayer {
    type Service = Authorize<S>;

    fn layer(&self, inner: S) -> Authorize<S> {
        Authorize { inner, rules: Arc::from(self.rules.as_slice()) }
    }
}
