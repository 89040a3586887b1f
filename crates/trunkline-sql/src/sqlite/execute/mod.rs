//! The operations on a connection: each builds its statement, runs it and reads the result.

pub(super) mod change;
pub(super) mod database_health;
pub(super) mod describe_table;
pub(super) mod explain_query;
pub(super) mod export_rows;
pub(super) mod import;
pub(super) mod insert;
pub(super) mod list_tables;
pub(super) mod profile_table;
pub(super) mod query_records;
pub(super) mod raw_query;
pub(super) mod search_schema;
