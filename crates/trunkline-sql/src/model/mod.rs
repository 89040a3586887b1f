//! Values, schema, results, requests and errors. Independent of the database engine.

pub(crate) mod arguments;
pub(crate) mod caller;
pub(crate) mod change;
pub(crate) mod committed_change;
pub(crate) mod create_table;
pub(crate) mod cursor;
pub(crate) mod describe;
pub(crate) mod error;
pub(crate) mod exact_json;
pub(crate) mod export;
pub(crate) mod file_value;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod json_text;
pub(crate) mod limits;
pub(crate) mod plan;
pub(crate) mod profile;
pub(crate) mod read;
pub(crate) mod row_encoder;
pub(crate) mod rowset;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod table_name;
pub(crate) mod unmatched_rule;
pub(crate) mod value;
pub(crate) mod visibility;
