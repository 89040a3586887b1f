//! `[queries.NAME]`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use trunkline_sql::saved_query::{ParamKind, SavedParam, SavedQuery};

use super::problem::Problems;

/// A query that callers run by its name.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct QuerySection {
    sql: Option<String>,
    description: Option<String>,
    database: Option<String>,
    params: Vec<ParamSection>,
}

/// A parameter of a query.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ParamSection {
    name: String,
    #[serde(rename = "type", default)]
    kind: ParamType,
    description: Option<String>,
    #[schemars(with = "Option<serde_json::Value>")]
    default: Option<toml::Value>,
}

#[derive(Deserialize, Default, Clone, Copy, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ParamType {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
}

/// The valid queries of the file. The others are among the problems.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, QuerySection>,
    problems: &mut Problems<'_>,
) -> Vec<SavedQuery> {
    let mut queries = Vec::with_capacity(sections.len());
    for (key, section) in sections {
        let (span, name) = (key.span(), key.into_inner());
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
            let rule = "a name has 1 to 64 letters, digits or `_`";
            problems.add(&span, format!("invalid name `{name}` in `queries`: {rule}"));
            continue;
        }
        let Some(sql) = section.sql else {
            problems.add(&span, format!("`queries.{name}` requires `sql`"));
            continue;
        };
        let mut query = SavedQuery::new(name, sql);
        query.description = section.description.unwrap_or_default();
        query.database = section.database;
        query.params = section.params.into_iter().map(ParamSection::param).collect();
        queries.push(query);
    }
    queries
}

impl ParamSection {
    fn param(self) -> SavedParam {
        let kind = match self.kind {
            ParamType::String => ParamKind::String,
            ParamType::Integer => ParamKind::Integer,
            ParamType::Number => ParamKind::Number,
            ParamType::Boolean => ParamKind::Boolean,
        };
        let mut param = SavedParam::new(self.name, kind);
        param.description = self.description;
        // A date has no JSON form, and is not of any type.
        param.default = self.default.map(|value| serde_json::to_value(value).unwrap_or_default());
        param
    }
}
