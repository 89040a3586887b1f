//! Who is measured, and with what.

use serde::Serialize;

/// A server: a binary of the `bench/` workspace with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Contender {
    Floor,
    Ours,
    PeerJsonrpsee,
    AxumSerde,
    PeerAjj,
}

/// Those that a goal compares stand next to each other, because a noisy machine changes slowly.
pub(super) const CONTENDERS: [Contender; 5] = [
    Contender::Floor,
    Contender::Ours,
    Contender::PeerJsonrpsee,
    Contender::AxumSerde,
    Contender::PeerAjj,
];

impl Contender {
    pub(super) fn binary(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ours => "ours",
            Self::PeerJsonrpsee => "peer_jsonrpsee",
            Self::AxumSerde => "axum_serde",
            Self::PeerAjj => "peer_ajj",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Floor => "hyper, a reply that was ready before",
            Self::Ours => "trunkline",
            Self::PeerJsonrpsee => "jsonrpsee",
            Self::AxumSerde => "axum + serde, by hand",
            Self::PeerAjj => "ajj on axum",
        }
    }
}

/// What is posted: a body and its right reply, files of `bench/load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Case {
    Single,
    Batch,
}

pub(super) const CASES: [Case; 2] = [Case::Single, Case::Batch];

impl Case {
    pub(super) fn body_file(self) -> &'static str {
        match self {
            Self::Single => "bench/load/single.json",
            Self::Batch => "bench/load/batch.json",
        }
    }

    pub(super) fn reply_file(self) -> &'static str {
        match self {
            Self::Single => "bench/load/single.reply.json",
            Self::Batch => "bench/load/batch.reply.json",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Single => "single call",
            Self::Batch => "batch of 100",
        }
    }
}
