//! The engine of the tests in this program: PostgreSQL.

use std::sync::mpsc;
use std::thread;

use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};
use trunkline_storage::Location;

use trunkline_test_postgres::{PgBouncer, create_database, psql, url_of};

/// A new database, in a role without further privileges.
pub(crate) struct Place {
    url: String,
    /// That of a pooler before the server, if there is one.
    pooled: Option<String>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { url: url_of("app", &create_database("")), pooled: None }
    }

    /// A new database whose stores use a pooler.
    pub(crate) fn behind(pooler: &PgBouncer) -> Self {
        let name = create_database("");
        Self { url: url_of("app", &name), pooled: Some(pooler.url_of("app", &name)) }
    }

    /// The URL for stores.
    pub(crate) fn url(&self) -> &str {
        self.pooled.as_deref().unwrap_or(&self.url)
    }

    pub(crate) fn location(&self) -> Location {
        Location::postgres(self.url()).unwrap()
    }

    /// Refuses connections and ends the existing ones, or accepts connections again.
    pub(crate) fn set_reachable(&self, is_reachable: bool) {
        let (_, name) = self.url.rsplit_once('/').unwrap();
        let sql = format!(
            "ALTER DATABASE {name} ALLOW_CONNECTIONS {is_reachable}; \
             SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity \
             WHERE datname = '{name}' AND NOT {is_reachable}"
        );
        psql("postgres", "postgres", &sql);
    }

    /// A session like that of another process.
    pub(crate) fn other_process(&self) -> Session {
        let session = Session::begin(self.url.clone());
        session.execute("SET search_path TO trunkline");
        session
    }
}

/// Begins a transaction with the lock of writers.
pub(crate) fn lock(session: &Session) {
    session.execute("BEGIN; SELECT 1 FROM store WHERE name = 'items' FOR UPDATE");
}

/// The version of the schema.
pub(crate) fn version(session: &Session) -> String {
    session.texts("SELECT version FROM store WHERE name = 'items'").remove(0)
}

/// A session with its own thread, since tests block.
pub(crate) struct Session(mpsc::Sender<(String, mpsc::Sender<Vec<String>>)>);

impl Session {
    fn begin(url: String) -> Self {
        let (sender, statements) = mpsc::channel::<(String, mpsc::Sender<_>)>();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let config: Config = format!("{url}?sslmode=disable").parse().unwrap();
                let [Host::Tcp(host)] = config.get_hosts() else { panic!("the URL has no host") };
                let address = (host.as_str(), config.get_ports().first().copied().unwrap_or(5432));
                let stream = tokio::net::TcpStream::connect(address).await.unwrap();
                let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap();
                tokio::spawn(connection);
                while let Ok((sql, reply)) = statements.recv() {
                    let messages = client.simple_query(&sql).await.unwrap();
                    let texts = messages.iter().filter_map(|message| match message {
                        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap().to_owned()),
                        _ => None,
                    });
                    reply.send(texts.collect()).unwrap();
                }
            });
        });
        Self(sender)
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.texts(sql);
    }

    /// The first column of all rows.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        let (sender, reply) = mpsc::channel();
        self.0.send((sql.to_owned(), sender)).unwrap();
        reply.recv().unwrap_or_else(|_| panic!("{sql} failed"))
    }
}
