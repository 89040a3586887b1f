use super::layer::AuthorizeLayer;
use super::requirement::Requirement;
use crate::access::Principal;
use crate::operation::Pattern;

/// Which methods require what of who calls them: for
/// [`Router::authorize`](crate::Router::authorize). A method that no pattern matches may be called by
/// all.
#[derive(Debug, Clone, Default)]
#[must_use = "rules hold for the router that they are given to"]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
struct Rule {
    pattern: Pattern,
    requirement: Requirement,
}

impl Rules {
    /// No rules: everybody may call everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Methods whose names match `pattern` have this requirement, besides those of other patterns that
    /// match. A pattern is a name, or a prefix and `*`: `admin.*`, or `*` for all methods.
    pub fn require(mut self, pattern: &str, requirement: Requirement) -> Self {
        self.0.push(Rule { pattern: Pattern::new(pattern), requirement });
        self
    }

    /// The patterns, as they were written.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|rule| rule.pattern.as_str())
    }

    /// Whether this principal meets all that is required for a name that is no method; nobody does where
    /// nothing is required.
    pub(crate) fn admit(&self, name: &str, principal: Option<&Principal>) -> bool {
        let mut matching = self.0.iter().filter(|rule| rule.pattern.matches(name)).peekable();
        let is_met = |rule: &Rule| principal.is_some_and(|one| rule.requirement.is_met_by(one));
        matching.peek().is_some() && matching.all(is_met)
    }

    /// What a method of this name requires; none if nothing.
    pub(crate) fn layer_for(&self, method: &str) -> Option<AuthorizeLayer> {
        let matching = self.0.iter().filter(|rule| rule.pattern.matches(method));
        let requirements: Vec<_> = matching.map(|rule| rule.requirement.clone()).collect();
        (!requirements.is_empty()).then(|| AuthorizeLayer::all(requirements))
    }
}
