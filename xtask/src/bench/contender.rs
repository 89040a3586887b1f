//! The measured servers and requests.

use serde::Serialize;

/// The package of `bench/` with the servers `ours` and `axum_serde`. The others are in the package of the root.
pub(super) const PAIR: &str = "trunkline-bench-pair";

/// A server: a binary of the `bench/` workspace with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Contender {
    Floor,
    Ours,
    PeerJsonrpsee,
    AxumSerde,
    PeerAjj,
    McpOurs,
    McpRmcp,
}

/// A request: a body and its expected reply, files of `bench/load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Case {
    Single,
    Batch,
    LegacyTool,
    ModernTool,
    LegacyList,
    ModernList,
}

/// Servers with the same reply. Those that are compared are measured in sequence, since load on the machine changes slowly.
pub(super) struct Field {
    pub(super) contenders: &'static [Contender],
    pub(super) cases: &'static [Case],
}

pub(super) const JSON_RPC: Field = Field {
    contenders: &[
        Contender::Floor,
        Contender::Ours,
        Contender::PeerJsonrpsee,
        Contender::AxumSerde,
        Contender::PeerAjj,
    ],
    cases: &[Case::Single, Case::Batch],
};

pub(super) const MCP: Field = Field {
    contenders: &[Contender::McpOurs, Contender::McpRmcp],
    cases: &[Case::LegacyTool, Case::ModernTool, Case::LegacyList, Case::ModernList],
};

impl Contender {
    pub(super) fn binary(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ours => "ours",
            Self::PeerJsonrpsee => "peer_jsonrpsee",
            Self::AxumSerde => "axum_serde",
            Self::PeerAjj => "peer_ajj",
            Self::McpOurs => "mcp_ours",
            Self::McpRmcp => "mcp_rmcp",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Floor => "hyper, a constant reply",
            Self::Ours | Self::McpOurs => "trunkline",
            Self::PeerJsonrpsee => "jsonrpsee",
            Self::AxumSerde => "axum + serde, by hand",
            Self::PeerAjj => "ajj on axum",
            Self::McpRmcp => "rmcp on axum",
        }
    }
}

/// The accepted types of a Streamable HTTP client.
const ACCEPT: &str = "Accept: application/json, text/event-stream";

impl Case {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Single | Self::Batch => "/",
            Self::LegacyTool | Self::ModernTool | Self::LegacyList | Self::ModernList => "/mcp",
        }
    }

    /// Additional headers.
    pub(super) fn headers(self) -> &'static [&'static str] {
        match self {
            Self::Single | Self::Batch => &[],
            Self::LegacyTool | Self::LegacyList => &[ACCEPT, "MCP-Protocol-Version: 2025-11-25"],
            Self::ModernList => {
                &[ACCEPT, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"]
            }
            Self::ModernTool => &[
                ACCEPT,
                "MCP-Protocol-Version: 2026-07-28",
                "Mcp-Method: tools/call",
                "Mcp-Name: add",
            ],
        }
    }

    pub(super) fn body_file(self) -> &'static str {
        match self {
            Self::Single => "bench/load/single.json",
            Self::Batch => "bench/load/batch.json",
            Self::LegacyTool => "bench/load/legacy_tool.json",
            Self::ModernTool => "bench/load/modern_tool.json",
            Self::LegacyList => "bench/load/legacy_list.json",
            Self::ModernList => "bench/load/modern_list.json",
        }
    }

    pub(super) fn reply_file(self) -> &'static str {
        match self {
            Self::Single => "bench/load/single.reply.json",
            Self::Batch => "bench/load/batch.reply.json",
            Self::LegacyTool | Self::ModernTool => "bench/load/tool.reply.json",
            Self::LegacyList | Self::ModernList => "bench/load/list.reply.json",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Single => "single call",
            Self::Batch => "batch of 100",
            Self::LegacyTool => "tools/call, 2025-11-25",
            Self::ModernTool => "tools/call, 2026-07-28",
            Self::LegacyList => "tools/list of 100, 2025-11-25",
            Self::ModernList => "tools/list of 100, 2026-07-28",
        }
    }
}
