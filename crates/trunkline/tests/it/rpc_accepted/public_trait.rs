//! Public traits and their implementations cause no warnings.

#![deny(warnings, missing_docs, async_fn_in_trait, refining_impl_trait, clippy::all)]

use trunkline::{ErrorObject, Router, rpc};

/// A service.
#[rpc(namespace = "service")]
pub trait Service {
    /// With a body.
    async fn with_body(&self, line: String) -> Result<usize, ErrorObject> {
        let length = self.without_body(line).await?;
        Ok(length + 1)
    }

    /// Without a body.
    async fn without_body(&self, line: String) -> Result<usize, ErrorObject>;
}

/// An implementor.
#[derive(Debug)]
pub struct Implementor;

impl Service for Implementor {
    async fn without_body(&self, line: String) -> Result<usize, ErrorObject> {
        Ok(line.len())
    }
}

#[test]
fn is_accepted() {
    let _: Router = Implementor.into_router();
}
