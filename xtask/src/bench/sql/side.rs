//! Who is asked.

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

    /// Where in a reply the rows are, as a JSON pointer.
    pub(super) fn rows_at(self) -> &'static str {
        match self {
            Self::Ours => "/result/structuredContent/rows",
            // A block for each.
            Self::Toolbox => "/result/content",
        }
    }
}
