//! The engine of the tests in this program: PostgreSQL.

use trunkline_records::Location;

use trunkline_test_postgres::{create_database, url_of};

/// A new database.
pub(crate) struct Place(String);

impl Place {
    pub(crate) fn new() -> Self {
        Self(url_of("app", &create_database("")))
    }

    pub(crate) fn location(&self) -> Location {
        Location::postgres(&self.0).unwrap()
    }
}
