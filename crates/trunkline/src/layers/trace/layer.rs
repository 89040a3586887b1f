use std::borrow::Cow;

use tower::Layer;

use super::Trace;
use crate::call::Call;

/// Opens a tracing span for each call.
#[derive(Debug, Clone, Copy)]
pub struct TraceLayer {
    naming: Naming,
    on: bool,
}

/// What a span is named after.
#[derive(Debug, Clone, Copy)]
pub(super) enum Naming {
    /// The operation: who calls cannot make new names.
    Registered,
    /// The method that is called, whatever it is.
    Called,
}

impl TraceLayer {
    /// One span for each call.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    /// One span for each call of a [client](crate::client::Client), which knows no operations: its
    /// `rpc.method` is the method that this program calls.
    ///
    /// ```
    /// # use trunkline::{Router, client::Client, layers::TraceLayer};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let rpc = Router::new().method("ping", || "pong").build()?;
    /// let client = Client::new(rpc).layer(TraceLayer::client());
    /// # let pong: String = client.call("ping", ()).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn client() -> Self {
        Self { naming: Naming::Called, on: true }
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { naming: Naming::Registered, on }
    }
}

impl Naming {
    pub(super) fn name(self, call: &Call) -> Cow<'_, str> {
        match (self, call.operation()) {
            (Self::Called, _) => call.method(),
            (Self::Registered, Some(operation)) => Cow::Borrowed(operation.name()),
            (Self::Registered, None) => Cow::Borrowed("unknown"),
        }
    }
}

impl Default for TraceLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner, naming: self.naming, on: self.on }
    }
}
