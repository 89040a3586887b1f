//! `[clients.NAME]`: the results that MCP clients receive.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use trunkline_mcp::tools::{ClientResults, Results};

/// An MCP client, by the name that it gives.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientSection {
    results: Representation,
    /// Whether long cells of structured results are abbreviated.
    #[serde(default = "yes")]
    abbreviate: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Representation {
    Text,
    Structured,
    Both,
}

fn yes() -> bool {
    true
}

/// The results of the clients of the file.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, ClientSection>,
) -> BTreeMap<String, ClientResults> {
    let clients = sections.into_iter().map(|(name, ClientSection { results, abbreviate })| {
        let results = match results {
            Representation::Text => Results::Text,
            Representation::Structured => Results::Structured,
            Representation::Both => Results::Both,
        };
        (name.into_inner(), ClientResults { results, abbreviate })
    });
    clients.collect()
}
