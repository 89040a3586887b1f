//! The caller of an operation.

use std::fmt;

use serde_json::{Map, Value as Json};

/// The caller of an operation, for databases that distinguish callers ([`Database::for_caller`](crate::Database)).
#[derive(Clone, Default)]
pub struct Caller(Kind);

#[derive(Clone)]
enum Kind {
    Client(Map<String, Json>),
    Operator,
}

impl Caller {
    /// A client whose token has these claims. Without a token, there are no claims.
    #[must_use]
    pub fn client(claims: Map<String, Json>) -> Self {
        Self(Kind::Client(claims))
    }

    /// The operator, who may read the schema with the rights of any client.
    #[must_use]
    pub fn operator() -> Self {
        Self(Kind::Operator)
    }

    /// Whether it is the operator.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        matches!(self.0, Kind::Operator)
    }

    /// A claim of the token. `None` if it is missing or null.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<&Json> {
        match &self.0 {
            Kind::Client(claims) => claims.get(name).filter(|claim| !claim.is_null()),
            Kind::Operator => None,
        }
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::Client(Map::new())
    }
}

impl fmt::Debug for Caller {
    /// Without the claims, which may be personal data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Kind::Client(_) => "Caller::Client",
            Kind::Operator => "Caller::Operator",
        })
    }
}
