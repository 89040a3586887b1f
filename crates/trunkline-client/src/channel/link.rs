use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::connection::{Connection, SendError};
use crate::error::Failure;
use crate::transport::Message;

/// The one connection that a transport has at a time, made when it is needed.
#[derive(Debug)]
pub(crate) struct Link<C> {
    connect: C,
    current: Mutex<Option<Arc<Connection>>>,
    connecting: tokio::sync::Mutex<()>,
    places: Semaphore,
}

/// How a connection is made.
pub(crate) trait Connect: Send + Sync + 'static {
    /// Makes a connection in place of one that has ended like this, if there was one.
    fn connect(
        &self,
        before: Option<Failure>,
    ) -> impl Future<Output = Result<Connection, Failure>> + Send;
}

impl<C: Connect> Link<C> {
    /// A link with so many messages under way at most.
    pub(crate) fn new(connect: C, in_flight: usize) -> Self {
        let places = Semaphore::new(in_flight.clamp(1, Semaphore::MAX_PERMITS));
        let (current, connecting) = (Mutex::new(None), tokio::sync::Mutex::new(()));
        Self { connect, current, connecting, places }
    }

    /// Sends a message, and waits for its reply.
    pub(crate) async fn send(&self, message: Message) -> Result<Option<Bytes>, Failure> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        let sent = self.connection().await?.send(&message).await;
        match sent {
            Ok(reply) => Ok(reply),
            Err(SendError::Failed(failure)) => Err(failure),
            // It ended between having been looked at and having been used.
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

    /// The connection, if it is one still, or how it has ended.
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
