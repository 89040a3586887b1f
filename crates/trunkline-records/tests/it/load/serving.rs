//! A server of records in this process.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tokio::runtime::{Builder, Runtime};
use trunkline::server::ServerHandle;
use trunkline::{Router, Server};
use trunkline_records::{RecordTypes, Records, operations, routes};

/// The name of the record type.
pub(crate) const TALLY: &str = "load.tally";

const TYPES: &str = r#"
    [records."load.tally".fields]
    count = { type = "integer", required = true }
    note = { type = "string", required = true }
"#;

/// Timeout of closing the store.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct LocalServer {
    runtime: Runtime,
    server: ServerHandle,
    records: Records,
}

impl LocalServer {
    /// Serves the records of a directory on a free port.
    pub(crate) fn start(directory: &Path) -> Self {
        let types = RecordTypes::parse(TYPES).unwrap();
        let records = Records::open(directory, types, Default::default()).unwrap();
        let rpc = Router::new().merge(operations(&records, |_| false)).build().unwrap();
        let service = rpc.http().merge(routes(&rpc, &records));
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(Server::bind("127.0.0.1:0").serve(service)).unwrap();
        Self { runtime, server, records }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Stops the server and closes the store.
    pub(crate) fn stop(self) {
        let drained = self.runtime.block_on(self.server.stop());
        assert!(drained.is_complete(), "{drained:?}");
        assert!(self.records.close(PATIENCE), "the store did not close");
    }
}

/// Opens the database in a directory after an integrity check.
#[track_caller]
pub(crate) fn sound_database(directory: &Path) -> Connection {
    let database = Connection::open(directory.join("trunkline.sqlite")).unwrap();
    let found: String = database.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
    database
}
