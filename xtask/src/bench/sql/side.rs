//! The compared servers.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    Ours,
    Toolbox,
}

pub(super) const SIDES: [Side; 2] = [Side::Ours, Side::Toolbox];

impl Side {
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Ours => "trunkline",
            Self::Toolbox => "MCP Toolbox",
        }
    }

    /// The JSON pointer to the rows in a reply.
    pub(super) fn rows_at(self) -> &'static str {
        match self {
            Self::Ours => "/result/structuredContent/rows",
            // One content block per row.
            Self::Toolbox => "/result/content",
        }
    }
}
