use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::cell::MAX_EXACT;

/// The number of a row. As JSON it is a number, and above 2^53 in magnitude a string of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowNumber(pub i64);

impl Serialize for RowNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.unsigned_abs() <= MAX_EXACT {
            serializer.serialize_i64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

impl JsonSchema for RowNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RowNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}
