use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use trunkline_storage::{Connection, Location, OpenError, Schema, Store, StoreConfig, StoreError};

use super::{
    EventContent, MESSAGE_PAGE, Nodes, NodesError, NodesFuture, SessionChange, SessionRecord,
    StreamEvent,
};

const SCHEMA: Schema = Schema {
    name: "nodes",
    file: "sessions.sqlite",
    // `tlnd`.
    application_id: 0x746c_6e64,
    migrations: &[
        "
        CREATE TABLE secret (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
        CREATE TABLE mcp_session (
            id TEXT PRIMARY KEY,
            record TEXT NOT NULL,
            used_s INTEGER NOT NULL,
            is_confirmed INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX mcp_session_of_time ON mcp_session (used_s);
        CREATE TABLE mcp_event (
            session TEXT NOT NULL REFERENCES mcp_session ON DELETE CASCADE,
            stream INTEGER NOT NULL,
            number INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            body TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            created_s INTEGER NOT NULL,
            PRIMARY KEY (session, stream, number)
        ) STRICT;
        CREATE INDEX mcp_event_of_time ON mcp_event (created_s);
        CREATE TABLE node_message (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            body TEXT NOT NULL,
            created_s INTEGER NOT NULL
        ) STRICT;
    ",
        "
        ALTER TABLE mcp_session ADD COLUMN caller TEXT NOT NULL DEFAULT '';
    ",
    ],
    postgres: &[
        r#"
        CREATE TABLE secret (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
        CREATE TABLE mcp_session (
            id text COLLATE "C" PRIMARY KEY,
            record text NOT NULL,
            used_s bigint NOT NULL,
            is_confirmed boolean NOT NULL
        );
        CREATE INDEX mcp_session_of_time ON mcp_session (used_s);
        CREATE TABLE mcp_event (
            session text COLLATE "C" NOT NULL REFERENCES mcp_session ON DELETE CASCADE,
            stream bigint NOT NULL,
            number bigint NOT NULL,
            kind bigint NOT NULL,
            body text NOT NULL,
            bytes bigint NOT NULL,
            created_s bigint NOT NULL,
            PRIMARY KEY (session, stream, number)
        );
        CREATE INDEX mcp_event_of_time ON mcp_event (created_s);
        CREATE TABLE node_message (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            body text NOT NULL,
            created_s bigint NOT NULL
        );
    "#,
        r#"
        ALTER TABLE mcp_session ADD COLUMN caller text COLLATE "C" NOT NULL DEFAULT '';
    "#,
    ],
};

/// The time for which messages and events are stored.
const RETENTION: Duration = Duration::from_secs(600);

/// A session in use is written at most this often.
const USE_INTERVAL: Duration = Duration::from_secs(60);

/// The interval of the removal of what has expired.
const CLEANING_INTERVAL: Duration = Duration::from_secs(30);

/// [`Nodes`] in a PostgreSQL database (feature `postgres`), or in a file for one server or servers on one machine.
///
/// The transactions of writers do not overlap, so the numbers of messages are in the order of their commits.
#[derive(Clone)]
pub struct StoredNodes {
    store: Store,
    idle: Duration,
    /// Whether the file has existed, or was written. If not, sessions are not looked up.
    may_have_sessions: Arc<AtomicBool>,
}

impl StoredNodes {
    /// Opens `sessions.sqlite` in a directory, or a PostgreSQL database, whose sessions expire after they were `idle`.
    /// Blocks.
    ///
    /// # Errors
    /// If the database cannot be created or opened, or was written by a newer version.
    pub fn open(location: impl Into<Location>, idle: Duration) -> Result<Self, OpenError> {
        let store = Store::open(location, SCHEMA, config(), maintain(idle))?;
        Ok(Self { store, idle, may_have_sessions: Arc::new(AtomicBool::new(true)) })
    }

    /// Like [`open`](Self::open), but the first write creates a missing file, and an existing one is opened when it is
    /// needed.
    pub fn deferred(location: impl Into<Location>, idle: Duration) -> Self {
        let location = location.into();
        let may_have_sessions = match &location {
            Location::Directory(directory) => directory.join(SCHEMA.file).exists(),
            _ => true,
        };
        let store = Store::deferred(location, SCHEMA, config(), maintain(idle));
        Self { store, idle, may_have_sessions: Arc::new(AtomicBool::new(may_have_sessions)) }
    }

    /// Opens an existing file of [deferred](Self::deferred) nodes, or checks that it could be created. Blocks.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn prepare(&self) -> Result<(), OpenError> {
        self.store.prepare()
    }

    /// The secret of this name, which the first node creates. All nodes have the same.
    ///
    /// # Errors
    /// If the database cannot be read or written, or the random number generator of the system fails.
    pub async fn secret(&self, name: &'static str) -> Result<[u8; 32], NodesError> {
        let mut new = [0; 32];
        getrandom::fill(&mut new).map_err(NodesError::failed)?;
        let text = BASE64.encode(new);
        let secret = self.write(text.len(), move |connection| {
            let insert = "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            connection.execute(insert, &[name.into(), (&text).into()])?;
            let select = "SELECT value FROM secret WHERE name = ?1";
            connection.query_row(select, &[name.into()], |row| row.get::<String>(0))
        });
        let decoded = BASE64.decode(secret.await?.unwrap_or_default()).unwrap_or_default();
        let invalid = || NodesError::failed(format!("the secret `{name}` has not 32 bytes"));
        decoded.try_into().map_err(|_| invalid())
    }

    /// The reason why the last work could not read or write, if any. It is safe to send to a client.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.store.problem()
    }

    /// The reason why the database server cannot be reached, if it cannot. It is safe to send to a client.
    #[must_use]
    pub fn outage(&self) -> Option<String> {
        self.store.outage()
    }

    /// Completes accepted work, and rejects further work. False if that takes longer than `timeout`. Blocks.
    #[must_use]
    pub fn close(&self, timeout: Duration) -> bool {
        self.store.close(timeout)
    }

    async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, NodesError> {
        self.store.write(pending(), bytes, work).await.map_err(nodes_error)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, NodesError> {
        self.store.read(pending(), work).await.map_err(nodes_error)
    }
}

fn config() -> StoreConfig {
    StoreConfig { readers: 2, ..StoreConfig::default() }
}

/// Removes what has expired, from time to time.
fn maintain(idle: Duration) -> impl FnMut(&Connection, Duration) -> Result<(), StoreError> + Send {
    let mut last: Option<Instant> = None;
    move |connection, _| {
        if last.is_some_and(|last| last.elapsed() < CLEANING_INTERVAL) {
            return Ok(());
        }
        last = Some(Instant::now());
        remove_expired(connection, idle)
    }
}

fn nodes_error(error: StoreError) -> NodesError {
    // A write that was lost with its connection may be repeated.
    if error.is_temporary() || matches!(error, StoreError::Unconfirmed) {
        NodesError::Temporary(error.into())
    } else {
        NodesError::failed(error)
    }
}

debug_fields!(StoredNodes: store);

impl Nodes for StoredNodes {
    fn create_session(
        &self,
        id: String,
        session: SessionRecord,
        max: usize,
    ) -> NodesFuture<'_, bool> {
        let idle = self.idle;
        self.may_have_sessions.store(true, Ordering::Relaxed);
        let uris = session.resources.iter().map(String::len).sum::<usize>();
        Box::pin(self.write(session.capabilities.len() + uris, move |connection| {
            if !has_space(connection, idle, &id, &session.caller, max)? {
                return Ok(false);
            }
            let since = last_message(connection)?;
            let record = text(&SessionRecord { since, ..session.clone() });
            let insert = "INSERT INTO mcp_session (id, record, used_s, is_confirmed, caller) \
                          VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE \
                          SET record = excluded.record, used_s = excluded.used_s";
            let (time, caller) = (now().into(), (&session.caller).into());
            let values = [(&id).into(), (&record).into(), time, false.into(), caller];
            connection.execute(insert, &values)?;
            Ok(true)
        }))
    }

    fn find_session(&self, id: String) -> NodesFuture<'_, Option<SessionRecord>> {
        let (idle, key) = (self.idle, id.clone());
        Box::pin(async move {
            if !self.may_have_sessions.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let found = self.read(move |connection| {
                let select = "SELECT record, used_s, is_confirmed FROM mcp_session WHERE id = ?1";
                connection.query_row(select, &[(&key).into()], |row| {
                    Ok((row.get::<String>(0)?, row.get::<i64>(1)?, row.get::<bool>(2)?))
                })
            });
            let Some((record, used, is_confirmed)) = found.await? else { return Ok(None) };
            if used <= before(idle) {
                return Ok(None);
            }
            if !is_confirmed || used <= before(USE_INTERVAL) {
                self.keep_sessions(vec![id]).await?;
            }
            serde_json::from_str(&record).map(Some).map_err(NodesError::failed)
        })
    }

    fn change_session(&self, id: String, change: SessionChange) -> NodesFuture<'_, ()> {
        Box::pin(self.write(id.len(), move |connection| {
            let select = "SELECT record FROM mcp_session WHERE id = ?1";
            let found = connection.query_row(select, &[(&id).into()], |row| row.get::<String>(0));
            let Some(found) = found? else { return Ok(()) };
            let Ok(mut record) = serde_json::from_str::<SessionRecord>(&found) else {
                return Ok(());
            };
            record.apply(&change);
            let update = "UPDATE mcp_session SET record = ?2 WHERE id = ?1";
            connection.execute(update, &[(&id).into(), (&text(&record)).into()]).map(drop)
        }))
    }

    fn end_session(&self, id: String) -> NodesFuture<'_, ()> {
        Box::pin(self.write(id.len(), move |connection| {
            connection.execute("DELETE FROM mcp_session WHERE id = ?1", &[(&id).into()]).map(drop)
        }))
    }

    fn keep_sessions(&self, ids: Vec<String>) -> NodesFuture<'_, Vec<String>> {
        let bytes = ids.iter().map(String::len).sum();
        Box::pin(self.write(bytes, move |connection| {
            let update = "UPDATE mcp_session SET used_s = ?2, is_confirmed = ?3 WHERE id = ?1";
            let mut kept = Vec::new();
            for id in &ids {
                if connection.execute(update, &[id.into(), now().into(), true.into()])? > 0 {
                    kept.push(id.clone());
                }
            }
            Ok(kept)
        }))
    }

    fn add_events(
        &self,
        session: String,
        stream: u64,
        events: Vec<StreamEvent>,
        max_bytes: usize,
    ) -> NodesFuture<'_, ()> {
        let bytes = events.iter().map(|event| event.body().len()).sum();
        Box::pin(self.write(bytes, move |connection| {
            // The client may have ended the session.
            let insert = "INSERT INTO mcp_event (session, stream, number, kind, body, bytes, created_s) \
                          SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM mcp_session WHERE id = ?1";
            for event in &events {
                let size = event.body().len() as u64;
                let values = [
                    (&session).into(),
                    stream.into(),
                    event.number.into(),
                    event.kind().into(),
                    event.body().into(),
                    size.into(),
                    now().into(),
                ];
                connection.execute(insert, &values)?;
            }
            let trim = "DELETE FROM mcp_event WHERE session = ?1 AND (stream, number) IN ( \
                        SELECT stream, number FROM ( \
                        SELECT stream, number, sum(bytes) OVER (ORDER BY created_s DESC, stream DESC, number DESC) AS total \
                        FROM mcp_event WHERE session = ?1) AS sizes WHERE total > ?2)";
            connection.execute(trim, &[(&session).into(), (max_bytes as u64).into()]).map(drop)
        }))
    }

    fn events(
        &self,
        session: String,
        stream: u64,
        from: u64,
    ) -> NodesFuture<'_, Option<Vec<StreamEvent>>> {
        Box::pin(self.read(move |connection| {
            let of_stream = [(&session).into(), stream.into()];
            let exists = "SELECT 1 FROM mcp_event WHERE session = ?1 AND stream = ?2 LIMIT 1";
            if connection.query_row(exists, &of_stream, |_| Ok(()))?.is_none() {
                return Ok(None);
            }
            let select = "SELECT number, kind, body FROM mcp_event \
                          WHERE session = ?1 AND stream = ?2 AND number >= ?3 ORDER BY number";
            let [session, stream] = of_stream;
            let events = connection.query_all(select, &[session, stream, from.into()], |row| {
                let content = match row.get::<i64>(1)? {
                    0 => EventContent::Message(row.get(2)?),
                    1 => EventContent::Close,
                    _ => EventContent::End,
                };
                Ok(StreamEvent { number: unsigned(row.get(0)?), content })
            });
            events.map(Some)
        }))
    }

    fn publish(&self, message: String) -> NodesFuture<'_, ()> {
        Box::pin(self.write(message.len(), move |connection| {
            let insert = "INSERT INTO node_message (body, created_s) VALUES (?1, ?2)";
            connection.execute(insert, &[(&message).into(), now().into()]).map(drop)
        }))
    }

    fn messages(&self, after: u64) -> NodesFuture<'_, Vec<(u64, String)>> {
        Box::pin(self.read(move |connection| {
            let select = "SELECT number, body FROM node_message WHERE number > ?1 \
                          ORDER BY number LIMIT ?2";
            connection.query_all(select, &[after.into(), (MESSAGE_PAGE as u64).into()], |row| {
                Ok((unsigned(row.get(0)?), row.get(1)?))
            })
        }))
    }

    fn position(&self, since: u64) -> NodesFuture<'_, (u64, bool)> {
        Box::pin(self.read(move |connection| {
            let last = last_message(connection)?;
            // A message is removed after those before it. The first one has the number 1.
            let select = "SELECT 1 FROM node_message WHERE number = ?1";
            let kept = since.max(1);
            let is_kept = connection.query_row(select, &[kept.into()], |_| Ok(()))?.is_some();
            Ok((last, last == since || is_kept))
        }))
    }
}

impl StreamEvent {
    fn kind(&self) -> i64 {
        match self.content {
            EventContent::Message(_) => 0,
            EventContent::Close => 1,
            EventContent::End => 2,
        }
    }

    fn body(&self) -> &str {
        match &self.content {
            EventContent::Message(json) => json,
            EventContent::Close | EventContent::End => "",
        }
    }
}

/// The number of the last message; 0 without one. The log is never emptied completely.
fn last_message(connection: &Connection) -> Result<u64, StoreError> {
    let select = "SELECT number FROM node_message ORDER BY number DESC LIMIT 1";
    let last = connection.query_row(select, &[], |row| row.get::<i64>(0))?;
    Ok(last.map_or(0, unsigned))
}

/// Whether a session can be added, after another one was removed if necessary: one of the caller who would have most.
fn has_space(
    connection: &Connection,
    idle: Duration,
    id: &str,
    caller: &str,
    max: usize,
) -> Result<bool, StoreError> {
    let count = |connection: &Connection| {
        let count = "SELECT count(*) FROM mcp_session";
        let count = connection.query_row(count, &[], |row| row.get::<i64>(0))?;
        Ok::<_, StoreError>(unsigned(count.unwrap_or_default()) < max as u64)
    };
    if count(connection)? {
        return Ok(true);
    }
    let exists = "SELECT 1 FROM mcp_session WHERE id = ?1";
    if connection.query_row(exists, &[id.into()], |_| Ok(()))?.is_some() {
        return Ok(true);
    }
    remove_expired(connection, idle)?;
    let oldest = "DELETE FROM mcp_session WHERE id IN (SELECT id FROM mcp_session JOIN (\
                      SELECT caller AS of_caller, \
                          count(*) + CASE WHEN caller = ?2 THEN 1 ELSE 0 END AS sessions \
                      FROM mcp_session GROUP BY caller\
                  ) AS counts ON caller = of_caller \
                  WHERE (NOT is_confirmed OR used_s <= ?1) \
                      AND sessions > (SELECT count(*) FROM mcp_session WHERE caller = ?2) \
                  ORDER BY sessions DESC, CASE WHEN caller = ?2 THEN 0 ELSE 1 END, \
                      is_confirmed, used_s LIMIT 1)";
    if !count(connection)? {
        // Those in use are written each minute.
        let unused = before(USE_INTERVAL * 2);
        connection.execute(oldest, &[unused.into(), caller.into()])?;
    }
    count(connection)
}

fn remove_expired(connection: &Connection, idle: Duration) -> Result<(), StoreError> {
    let old = before(RETENTION);
    connection.execute("DELETE FROM mcp_session WHERE used_s <= ?1", &[before(idle).into()])?;
    connection.execute("DELETE FROM mcp_event WHERE created_s <= ?1", &[old.into()])?;
    // The last one has the position of nodes and sessions.
    let messages = "DELETE FROM node_message WHERE created_s <= ?1 \
                    AND number < (SELECT max(number) FROM node_message)";
    connection.execute(messages, &[old.into()]).map(drop)
}

fn text(record: &SessionRecord) -> String {
    serde_json::to_string(record).expect("texts and numbers serialise")
}

/// Seconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

fn before(time: Duration) -> i64 {
    now().saturating_sub(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
