use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use super::Client;
use super::error::Error;
use super::made::Made;
use crate::call::Call;
use crate::error::ErrorObject;

/// A notification that is sent when it is awaited, or added to a [`Batch`](super::Batch).
///
/// Over HTTP its future ends when the server has run it, over other transports when it is sent.
#[must_use = "a notification is sent when it is awaited, or added to a batch"]
#[derive(Debug)]
pub struct Notification {
    client: Client,
    made: Made,
    timeout: Duration,
}

impl Notification {
    pub(super) fn new(client: &Client, call: Result<Call, ErrorObject>) -> Self {
        let timeout = client.settings().timeout;
        Self { client: client.clone(), made: Made::new(call), timeout }
    }

    /// How long sending it may take, in place of the client's setting.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The notification, and the client that sends it.
    pub(super) fn into_parts(self) -> (Client, Made) {
        (self.client, self.made)
    }

    async fn run(self) -> Result<(), Error> {
        let outcome = self.client.run(self.made, self.timeout).await?;
        // What refuses a notification answers it, for all that it wants no answer.
        outcome.as_result().map(drop).map_err(|error| Error::of(error.clone()))
    }
}

impl IntoFuture for Notification {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
