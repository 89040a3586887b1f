//! The measured queries.

use serde::Serialize;
use serde_json::{Value, json};

use super::database::{ROWS, SENSORS};
use super::side::{Engine, Side};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Case {
    FiveRowsHttp,
    FiveRowsStdio,
    ThousandRowsHttp,
}

pub(super) const CASES: [Case; 3] =
    [Case::FiveRowsHttp, Case::FiveRowsStdio, Case::ThousandRowsHttp];

/// The rows of a sensor, and the rows from a key.
pub(super) fn statements(engine: Engine) -> [&'static str; 2] {
    match engine {
        Engine::Sqlite => [
            "SELECT * FROM readings WHERE sensor = ?",
            "SELECT * FROM readings WHERE id >= ? ORDER BY id LIMIT 1000",
        ],
        Engine::Postgres => [
            "SELECT * FROM readings WHERE sensor = $1",
            "SELECT * FROM readings WHERE id >= $1 ORDER BY id LIMIT 1000",
        ],
    }
}

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
    pub(super) fn request(self, side: Side, engine: Engine) -> Value {
        let [rows_of_sensor, rows_from] = statements(engine);
        // The names of tools in `bench/toolbox` and `bench/dbhub`.
        let (statement, tool) = match self {
            Self::FiveRowsHttp | Self::FiveRowsStdio => (rows_of_sensor, "rows_of_sensor"),
            Self::ThousandRowsHttp => (rows_from, "rows_from"),
        };
        let (name, arguments) = match side {
            Side::Ours => (
                "execute_raw_query",
                json!({ "query": statement, "params": [KEY], "max_rows": self.rows() }),
            ),
            Side::Bare | Side::Toolbox | Side::Dbhub => (tool, json!({ "key": KEY })),
        };
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": { "name": name, "arguments": arguments },
        })
    }
}
