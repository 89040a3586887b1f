use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::connection::{Connection, SendError};
use crate::error::Failure;
use crate::transport::Message;

/// The connection of a transport: one at a time, opened on demand.
#[derive(Debug)]
pub(crate) struct Link<C> {
    connect: C,
    current: Mutex<Option<Arc<Connection>>>,
    connecting: tokio::sync::Mutex<()>,
    in_flight: Semaphore,
}

/// Opens connections.
pub(crate) trait Connect: Send + Sync + 'static {
    /// Opens a connection. `before` is the failure of the previous connection, if any.
    fn connect(
        &self,
        before: Option<Failure>,
    ) -> impl Future<Output = Result<Connection, Failure>> + Send;
}

impl<C: Connect> Link<C> {
    /// A link with at most `in_flight` messages in flight.
    pub(crate) fn new(connect: C, in_flight: usize) -> Self {
        let in_flight = Semaphore::new(in_flight.clamp(1, Semaphore::MAX_PERMITS));
        let (current, connecting) = (Mutex::new(None), tokio::sync::Mutex::new(()));
        Self { connect, current, connecting, in_flight }
    }

    /// Sends a message and waits for its reply.
    pub(crate) async fn send(&self, message: Message) -> Result<Option<Bytes>, Failure> {
        // The semaphore is never closed.
        let _permit = self.in_flight.acquire().await;
        let sent = self.connection().await?.send(&message).await;
        match sent {
            Ok(reply) => Ok(reply),
            Err(SendError::Failed(failure)) => Err(failure),
            // The connection ended after it was obtained and before it was used.
            Err(SendError::Ended(_)) => match self.connection().await?.send(&message).await {
                Ok(reply) => Ok(reply),
                Err(SendError::Failed(failure) | SendError::Ended(failure)) => Err(failure),
            },
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, Failure> {
        if let Ok(connection) = self.open() {
            return Ok(connection);
        }
        let _connecting = self.connecting.lock().await;
        // Another call may have connected in the meantime.
        let before = match self.open() {
            Ok(connection) => return Ok(connection),
            Err(before) => before,
        };
        let connection = Arc::new(self.connect.connect(before).await?);
        *self.current() = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// The current connection, or its failure if it has ended.
    fn open(&self) -> Result<Arc<Connection>, Option<Failure>> {
        let current = self.current();
        let connection = current.as_ref().ok_or(None)?;
        match connection.ended() {
            None => Ok(Arc::clone(connection)),
            ended => Err(ended),
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Connection>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
