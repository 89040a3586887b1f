//! The measured queries.

use serde::Serialize;
use serde_json::{Value, json};

use super::database::{ROWS, SENSORS};
use super::side::Side;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Case {
    FiveRowsHttp,
    FiveRowsStdio,
    ThousandRowsHttp,
}

pub(super) const CASES: [Case; 3] =
    [Case::FiveRowsHttp, Case::FiveRowsStdio, Case::ThousandRowsHttp];

pub(super) const ROWS_OF_SENSOR: &str = "SELECT * FROM readings WHERE sensor = ?";
pub(super) const ROWS_FROM: &str = "SELECT * FROM readings WHERE id >= ? ORDER BY id LIMIT 1000";

/// The placeholder that the client replaces by a different number in each request.
const KEY: &str = "$KEY";

impl Case {
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::FiveRowsHttp => "5 rows, HTTP",
            Self::FiveRowsStdio => "5 rows, stdio",
            Self::ThousandRowsHttp => "1,000 rows, HTTP",
        }
    }

    pub(super) fn is_stdio(self) -> bool {
        self == Self::FiveRowsStdio
    }

    pub(super) fn rows(self) -> u32 {
        match self {
            Self::FiveRowsHttp | Self::FiveRowsStdio => 5,
            Self::ThousandRowsHttp => 1_000,
        }
    }

    /// The upper bound of keys, exclusive.
    pub(super) fn keys(self) -> u32 {
        match self {
            Self::FiveRowsHttp | Self::FiveRowsStdio => SENSORS,
            Self::ThousandRowsHttp => ROWS - self.rows(),
        }
    }

    /// The request to a side.
    pub(super) fn request(self, side: Side) -> Value {
        let (name, arguments) = match side {
            Side::Ours => (
                "execute_raw_query",
                json!({ "query": self.statement(), "params": [KEY], "max_rows": self.rows() }),
            ),
            Side::Toolbox => (self.tool(), json!({ "key": KEY })),
        };
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": { "name": name, "arguments": arguments },
        })
    }

    fn statement(self) -> &'static str {
        match self {
            Self::FiveRowsHttp | Self::FiveRowsStdio => ROWS_OF_SENSOR,
            Self::ThousandRowsHttp => ROWS_FROM,
        }
    }

    /// The name of the tool in `bench/toolbox/tools.yaml`.
    fn tool(self) -> &'static str {
        match self {
            Self::FiveRowsHttp | Self::FiveRowsStdio => "rows_of_sensor",
            Self::ThousandRowsHttp => "rows_from",
        }
    }
}
