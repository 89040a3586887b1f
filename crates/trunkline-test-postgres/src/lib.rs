//! A private PostgreSQL server for the tests of this process. `TRUNKLINE_TEST_POSTGRES` names another one, as the URL
//! of a superuser without a database: `postgres://postgres@127.0.0.1:5432`. That server must trust connections of its
//! other roles.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod pgbouncer;
mod server;
mod sharing_proxy;

pub use pgbouncer::{PgBouncer, PoolMode};
pub use server::{
    Shutdown, certificate, create_database, create_roles, free_address, log_of, own, process, psql,
    psql_at, start_again, stop, unprivileged, url, url_of,
};
pub use sharing_proxy::SharingProxy;
