//! The compared servers, and the databases that they serve.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    Ours,
    /// A hand-written server with two queries.
    Bare,
    Toolbox,
    Dbhub,
}

pub(super) const SIDES: [Side; 4] = [Side::Ours, Side::Bare, Side::Toolbox, Side::Dbhub];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

pub(super) const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

impl Side {
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Ours => "trunkline",
            Self::Bare => "axum and the driver",
            Self::Toolbox => "MCP Toolbox",
            Self::Dbhub => "DBHub",
        }
    }

    /// The JSON pointer to the rows in a reply. A second pointer applies to the JSON text at the first one.
    pub(super) fn rows_at(self) -> &'static str {
        match self {
            Self::Ours | Self::Bare => "/result/structuredContent/rows",
            // One content block per row.
            Self::Toolbox => "/result/content",
            Self::Dbhub => "/result/content/0/text /data/statements/0/rows",
        }
    }

    pub(super) fn has_stdio(self) -> bool {
        self != Self::Bare
    }
}

impl Engine {
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}
