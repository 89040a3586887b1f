//! `[queries.NAME]`.

use std::ops::Range;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use trunkline_sql::saved_query::{ParamKind, SavedParam, SavedQuery};

use super::caller_roles::Placed;
use super::problem::Problems;

/// A query that callers run by its name.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct QuerySection {
    #[schemars(with = "Option<String>")]
    sql: Option<Spanned<String>>,
    description: Option<String>,
    #[schemars(with = "Option<String>")]
    database: Option<Spanned<String>>,
    params: Vec<ParamSection>,
}

/// A parameter of a query.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ParamSection {
    #[schemars(with = "String")]
    name: Spanned<String>,
    #[serde(rename = "type", default)]
    kind: ParamType,
    description: Option<String>,
    #[schemars(with = "Option<serde_json::Value>")]
    default: Option<Spanned<toml::Value>>,
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

/// The database that a query names.
#[derive(Debug)]
pub(crate) struct QueryDatabase {
    pub(crate) query: String,
    pub(crate) database: Placed,
}

/// The valid queries of the file, and the databases that they name. The others are among the problems.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, QuerySection>,
    problems: &mut Problems<'_>,
) -> (Vec<SavedQuery>, Vec<QueryDatabase>) {
    let mut queries = Vec::with_capacity(sections.len());
    let mut databases = Vec::new();
    for (key, section) in sections {
        let (span, name) = (key.span(), key.into_inner());
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
            let rule = "a name has 1 to 64 letters, digits or `_`";
            problems.add(&span, format!("invalid name `{name}` in `queries`: {rule}"));
        }
        if let Some(database) = &section.database {
            let position = problems.position(database.span().start);
            let database = Placed { text: database.get_ref().clone(), position };
            databases.push(QueryDatabase { query: name.clone(), database });
        }
        check_params(&name, &section.params, problems);
        let Some(sql) = section.sql else {
            if !problems.concern(&format!("queries.{name}.sql")) {
                problems.add(&span, format!("`queries.{name}` requires `sql`"));
            }
            continue;
        };
        if sql.get_ref().trim().is_empty() {
            problems.add(&sql.span(), format!("`queries.{name}.sql`: the statement is empty"));
        }
        let mut query = SavedQuery::new(name, sql.into_inner());
        query.description = section.description.unwrap_or_default();
        query.database = section.database.map(Spanned::into_inner);
        query.params = section.params.into_iter().map(ParamSection::param).collect();
        queries.push(query);
    }
    (queries, databases)
}

fn check_params(query: &str, params: &[ParamSection], problems: &mut Problems<'_>) {
    for (index, param) in params.iter().enumerate() {
        let name = param.name.get_ref();
        let mut problem = |span: Range<usize>, reason: String| {
            problems.add(&span, format!("`queries.{query}.params`: {reason}"));
        };
        if name.is_empty() {
            problem(param.name.span(), "the name of a parameter is empty".to_owned());
        }
        if params[..index].iter().any(|other| other.name.get_ref() == name) {
            problem(param.name.span(), format!("duplicate parameter `{name}`"));
        }
        if let Some(default) = &param.default
            && !param.kind().includes(&json(default.get_ref()))
        {
            let expected = param.kind().description();
            let reason = format!("the default of parameter `{name}` must be {expected}");
            problem(default.span(), reason);
        }
    }
}

/// A value as JSON. A date is an object, and has none of the types.
fn json(value: &toml::Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

impl ParamSection {
    fn kind(&self) -> ParamKind {
        match self.kind {
            ParamType::String => ParamKind::String,
            ParamType::Integer => ParamKind::Integer,
            ParamType::Number => ParamKind::Number,
            ParamType::Boolean => ParamKind::Boolean,
        }
    }

    fn param(self) -> SavedParam {
        let kind = self.kind();
        let mut param = SavedParam::new(self.name.into_inner(), kind);
        param.description = self.description;
        param.default = self.default.map(|value| json(value.get_ref()));
        param
    }
}
