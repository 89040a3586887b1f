use schemars::JsonSchema;
use serde::Deserialize;

/// How rows are written in the text for language models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Lines of values with tabs between them, under a line of column names: less than half of the JSON.
    #[default]
    Tsv,
    /// The JSON of the result.
    Json,
}
