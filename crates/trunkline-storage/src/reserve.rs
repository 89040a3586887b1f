//! Memory for the time in which other queries exhaust SQLite's heap limit, which is the limit of the process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

/// A database in memory that only occupies memory under the heap limit. Absent without a limit, or without memory. All
/// stores of the process share it, as they share the limit.
pub(crate) struct Reserve(Mutex<Option<Connection>>);

/// Enough for a few of the largest records.
const CONTENT: &str = "CREATE TABLE reserve AS SELECT zeroblob(2097152)";

/// The pause before each further attempt. A query that meets the limit fails soon, and frees its memory.
const PAUSES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(80),
];

impl Reserve {
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Reserve>> = Mutex::new(Weak::new());
        let mut shared = lock(&SHARED);
        let reserve = shared.upgrade().unwrap_or_else(|| Arc::new(Self(Mutex::default())));
        *shared = Arc::downgrade(&reserve);
        reserve
    }

    /// Occupies the memory, unless it is occupied. That takes milliseconds.
    pub(crate) fn fill(&self) {
        let mut connection = lock(&self.0);
        if connection.is_none() {
            *connection = occupy();
        }
    }

    /// Runs `attempt`; if it ran out of memory, again with the reserve. Returns the last outcome.
    pub(crate) fn support<T>(
        &self,
        mut attempt: impl FnMut() -> T,
        ran_out: impl Fn(&T) -> bool,
    ) -> T {
        let mut outcome = attempt();
        if !ran_out(&outcome) || heap_limit().is_none() {
            return outcome;
        }
        let _filled_again = Released::new(self);
        for pause in PAUSES {
            thread::sleep(pause);
            outcome = attempt();
            if !ran_out(&outcome) {
                break;
            }
        }
        outcome
    }
}

/// The reserve while its memory is used. Dropping this fills it again, also after a panic.
struct Released<'r>(&'r Reserve);

impl<'r> Released<'r> {
    fn new(reserve: &'r Reserve) -> Self {
        drop(lock(&reserve.0).take());
        Self(reserve)
    }
}

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.fill();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn occupy() -> Option<Connection> {
    heap_limit()?;
    let connection = Connection::open_in_memory().ok()?;
    connection.execute_batch(CONTENT).ok()?;
    Some(connection)
}

/// The heap limit of SQLite in bytes, if set. The last known limit if memory is lacking to read it.
pub(crate) fn heap_limit() -> Option<u64> {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let limit = Connection::open_in_memory().and_then(|connection| {
        connection.pragma_query_value(None, "hard_heap_limit", |row| row.get::<_, i64>(0))
    });
    if let Ok(limit) = limit {
        KNOWN.store(limit.unsigned_abs(), Relaxed);
    }
    Some(KNOWN.load(Relaxed)).filter(|limit| *limit > 0)
}
