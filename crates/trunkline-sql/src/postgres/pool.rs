//! A bounded number of connections, and the queue for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use trunkline_postgres::{Address, ConnectError, ConnectLimits, Connection, Outage};

use super::config::PostgresConfig;
use super::role;
use super::session::Session;
use crate::backend::Usage;
use crate::model::error::Error;
use crate::model::unmatched_rule::NamedObject;

/// The connections of one database.
pub(super) struct Pool {
    /// That of all pools of the database.
    pub(super) address: Arc<Address>,
    pub(super) config: PostgresConfig,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    idle: Mutex<Vec<Session>>,
    /// Number of leased connections.
    leased: Mutex<usize>,
    returned: Condvar,
    /// That of all pools of the server.
    outage: Arc<Outage>,
    /// The time of the last attempt to connect by [`Pool::problem`].
    last_probe: Mutex<Option<Instant>>,
    /// The tables and columns that the rules name, by the last lookup.
    pub(super) named: Mutex<Arc<[NamedObject]>>,
}

/// During an outage, [`Pool::problem`] attempts to connect after this time.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The right to use one connection.
pub(super) struct Permit {
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.pool.leased.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.pool.returned.notify_all();
    }
}

impl Pool {
    pub(super) fn new(address: Arc<Address>, config: PostgresConfig, outage: Arc<Outage>) -> Self {
        Self {
            address,
            permits: Arc::new(Semaphore::new(config.connections)),
            config,
            waiting: AtomicUsize::new(0),
            idle: Mutex::new(Vec::new()),
            leased: Mutex::new(0),
            returned: Condvar::new(),
            outage,
            last_probe: Mutex::new(None),
            named: Mutex::new(Arc::default()),
        }
    }

    /// Waits for a free connection, or opens one.
    pub(super) async fn lease(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Result<(Permit, Session), Error> {
        let permit = self.permit(patience.min(self.config.queue_wait)).await?;
        let session = async {
            loop {
                let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some(mut session) = idle else { break };
                // Without knowing that its sessions are shared.
                let is_outdated = session.connection.sessions != self.address.sessions();
                // If not, the server has closed it.
                if !is_outdated && session.settle().await {
                    return Ok(session);
                }
            }
            self.connect().await.map_err(connect_error)
        };
        match timeout(patience, session).await {
            Ok(session) => Ok((permit, session?)),
            Err(_) => Err(Error::Timeout { limit: patience }),
        }
    }

    /// The numbers of calls that run and that wait.
    pub(super) fn usage(&self) -> Usage {
        let running = *self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        Usage { running, waiting: self.waiting.load(Ordering::Relaxed) }
    }

    async fn permit(self: &Arc<Self>, patience: Duration) -> Result<Permit, Error> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waiting = Waiting::begin(self)?;
                let acquired = Arc::clone(&self.permits).acquire_owned();
                let acquired = timeout(patience, acquired).await.map_err(|_| Error::Busy)?;
                acquired.map_err(|_| Error::Closed)?
            }
        };
        *self.leased.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Ok(Permit { pool: Arc::clone(self), _permit: permit })
    }

    /// Opens a connection, and records whether the server can be reached.
    async fn connect(&self) -> Result<Session, ConnectError> {
        self.outage.observe(&self.address, self.open()).await
    }

    /// Opens a connection.
    pub(super) async fn open(&self) -> Result<Session, ConnectError> {
        let limits = ConnectLimits {
            timeout: self.config.connect_timeout,
            max_message: self.config.max_message,
        };
        let connection = Connection::open(&self.address, limits).await?;
        if connection.has_other_user {
            role::check(&connection, &self.address, &self.config).await?;
        }
        Ok(Session::new(connection, &self.config, Arc::clone(&self.address)))
    }

    /// Takes a connection back after a call. The end of its transaction has been sent.
    pub(super) fn give_back(&self, session: Session) {
        if session.can_be_kept() && !self.permits.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        }
    }

    /// The reason why no connection can be opened. Another attempt is made, unless the last one is recent.
    pub(super) fn problem(self: &Arc<Self>) -> Option<String> {
        if !self.outage.is_current() {
            return None;
        }
        let mut last_probe = self.last_probe.lock().unwrap_or_else(PoisonError::into_inner);
        if last_probe.is_none_or(|last| last.elapsed() >= PROBE_INTERVAL)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            *last_probe = Some(Instant::now());
            let pool = Arc::clone(self);
            runtime.spawn(async move {
                if let Ok(session) = pool.connect().await {
                    pool.give_back(session);
                }
            });
        }
        Some("the PostgreSQL server cannot be reached".to_owned())
    }

    /// Refuses further calls, and waits until the connections are returned.
    pub(super) fn close(&self, patience: Duration) -> bool {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let leased = self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.returned.wait_timeout_while(leased, patience, |leased| *leased > 0);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// A connection that cannot be opened, as the error of a call.
fn connect_error(error: ConnectError) -> Error {
    match error.is_connection_limit() {
        true => Error::Busy,
        false => Error::Unreachable(error.into()),
    }
}

/// A place in the queue.
struct Waiting<'p>(&'p AtomicUsize);

impl<'p> Waiting<'p> {
    fn begin(pool: &'p Pool) -> Result<Self, Error> {
        if pool.permits.is_closed() {
            return Err(Error::Closed);
        }
        let place = Self(&pool.waiting);
        if pool.waiting.fetch_add(1, Ordering::AcqRel) >= pool.config.queue {
            return Err(Error::Busy);
        }
        Ok(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
