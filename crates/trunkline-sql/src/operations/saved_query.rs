//! Queries of the operator as operations with typed params.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trunkline::layers::audit::DatabaseOperation;
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, Operation, Params, Router};

use super::render;
use crate::backend::Engine;
use crate::database::Database;
use crate::databases::{DatabaseName, Databases};
use crate::model::caller::Caller;
use crate::model::error::Error;
use crate::model::exact_json::{self, ExactJson};
use crate::model::read::{self, RawQuery};
use crate::model::rowset::{MAX_EXACT, Rowset};

/// A reading statement of the operator, which callers run by its name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SavedQuery {
    /// The name of the operation and of the tool.
    pub name: String,
    /// One statement. For SQLite, parameters are `:name` or `?`; for PostgreSQL `$1` and so on, in the order of
    /// `params`.
    pub sql: String,
    /// The description for callers and language models.
    pub description: String,
    /// The name of the database. `None` for the default one.
    pub database: Option<String>,
    /// The parameters.
    pub params: Vec<SavedParam>,
}

/// A parameter of a [`SavedQuery`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SavedParam {
    /// The name.
    pub name: String,
    /// The type of its values.
    pub kind: ParamKind,
    /// The description for callers and language models.
    pub description: Option<String>,
    /// The value if the caller sends none. Without a default, the parameter is required.
    pub default: Option<Json>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

/// The reason why a saved query cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedQueryError {
    /// The database is unknown, or rejects the statement or its parameters.
    #[error("query `{name}`: {reason}")]
    Rejected {
        /// The name of the query.
        name: String,
        /// The error of the database.
        reason: Error,
    },
    /// Two parameters have the same name.
    #[error("query `{name}`: duplicate parameter `{param}`")]
    DuplicateParam {
        /// The name of the query.
        name: String,
        /// The name of the parameter.
        param: String,
    },
    /// The default of a parameter does not have its type.
    #[error("query `{name}`: the default of parameter `{param}` must be {expected}")]
    InvalidDefault {
        /// The name of the query.
        name: String,
        /// The name of the parameter.
        param: String,
        /// The type, with its article.
        expected: &'static str,
    },
}

impl SavedQuery {
    /// A query of the default database without parameters.
    pub fn new(name: impl Into<String>, sql: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            sql: sql.into(),
            description: String::new(),
            database: None,
            params: Vec::new(),
        }
    }

    /// The schema of the params.
    fn schema(&self) -> Json {
        let mut properties = Map::new();
        for param in &self.params {
            let mut schema = json!({ "type": param.kind.name() });
            if let Some(description) = &param.description {
                schema["description"] = description.as_str().into();
            }
            if let Some(default) = &param.default {
                schema["default"] = default.clone();
            }
            properties.insert(param.name.clone(), schema);
        }
        let is_required = |param: &&SavedParam| param.default.is_none();
        let required: Vec<&str> =
            self.params.iter().filter(is_required).map(|param| param.name.as_str()).collect();
        let mut schema =
            json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    /// The values of the parameters, in their order.
    fn values(&self, mut arguments: Map<String, Json>) -> Result<Vec<Json>, Error> {
        let bad = |reason: String| Error::BadParams { reason };
        let mut values = Vec::with_capacity(self.params.len());
        for param in &self.params {
            let sent = arguments.remove(&param.name).filter(|value| !value.is_null());
            let Some(value) = sent.or_else(|| param.default.clone()) else {
                return Err(bad(format!("`{}` is missing", param.name)));
            };
            let value = param.kind.convert(value);
            if !param.kind.includes(&value) {
                return Err(bad(format!("`{}` must be {}", param.name, param.kind.description())));
            }
            values.push(value);
        }
        match arguments.keys().next() {
            Some(name) => Err(bad(format!("unknown parameter `{}`", name.escape_debug()))),
            None => Ok(values),
        }
    }

    fn request(&self, sql: String, values: Vec<Json>, engine: Engine) -> RawQuery {
        let mut request = RawQuery::new(sql);
        let is_named = |param: &SavedParam| self.sql.contains(&format!(":{}", param.name));
        let are_named = self.params.iter().all(is_named) || !self.sql.contains('?');
        request.params = Some(if engine == Engine::Sqlite && are_named {
            let names = self.params.iter().map(|param| param.name.clone());
            read::Params::ByName(names.zip(values).collect())
        } else {
            read::Params::ByPosition(values)
        });
        request
    }

    async fn run(
        &self,
        database: &Database,
        arguments: Map<String, Json>,
    ) -> Result<Rowset, ErrorObject> {
        let values = self.values(arguments)?;
        let request = self.request(self.sql.clone(), values, database.engine());
        let outcome = database.execute_raw_query(request).await;
        let outcome = outcome.map_err(|error| self.with_param(error))?;
        Ok(outcome.into_rows().ok_or(Error::NoStatement)?)
    }

    /// The error of the statement, with the name of a parameter instead of its number.
    fn with_param(&self, error: Error) -> Error {
        let Error::BadParam { number, reason } = error else { return error };
        match self.params.get(number.saturating_sub(1)) {
            Some(param) => Error::BadParams { reason: format!("`{}`: {reason}", param.name) },
            None => Error::BadParam { number, reason },
        }
    }

    /// Checks the declaration, and lets the database compile the statement.
    async fn check<'d>(
        &self,
        databases: &'d Databases,
    ) -> Result<(&'d DatabaseName, &'d Database), SavedQueryError> {
        let name = || self.name.clone();
        for (index, param) in self.params.iter().enumerate() {
            if self.params[..index].iter().any(|other| other.name == param.name) {
                let param = param.name.clone();
                return Err(SavedQueryError::DuplicateParam { name: name(), param });
            }
            if param.default.as_ref().is_some_and(|default| !param.kind.includes(default)) {
                let (param, expected) = (param.name.clone(), param.kind.description());
                return Err(SavedQueryError::InvalidDefault { name: name(), param, expected });
            }
        }
        let rejected = |reason| SavedQueryError::Rejected { name: name(), reason };
        let (name, database) = databases.entry(self.database.as_deref()).map_err(rejected)?;
        let checked = database.for_caller(&Caller::operator()).map_err(rejected)?;
        let nulls = vec![Json::Null; self.params.len()];
        let request = self.request(format!("EXPLAIN {}", self.sql), nulls, database.engine());
        checked.execute_raw_query(request).await.map_err(rejected)?;
        Ok((name, database))
    }
}

impl SavedParam {
    /// A required parameter.
    pub fn new(name: impl Into<String>, kind: ParamKind) -> Self {
        Self { name: name.into(), kind, description: None, default: None }
    }
}

impl ParamKind {
    fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// The type with its article, such as `an integer`.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
        }
    }

    /// Integers beyond 2^53 are strings in results, so they are accepted as such.
    fn convert(self, value: Json) -> Json {
        let integer = match (self, &value) {
            (Self::Integer | Self::Number, Json::String(text)) => text.parse::<i64>().ok(),
            _ => None,
        };
        let is_large = |integer: &i64| integer.unsigned_abs() > MAX_EXACT;
        integer.filter(is_large).map_or(value, Json::from)
    }

    /// Whether a value has this type.
    #[must_use]
    pub fn includes(self, value: &Json) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => {
                let large = exact_json::number(value);
                value.is_i64() || value.is_u64() || large.is_some_and(exact_json::is_integer)
            }
            Self::Number => value.is_number() || exact_json::number(value).is_some(),
            Self::Boolean => value.is_boolean(),
        }
    }
}

/// The operations of saved queries, each of which is a tool of the same name. The databases compile all statements
/// first, so that an invalid one is reported at the start.
///
/// # Errors
///
/// The first query that cannot be served.
pub async fn saved_queries<S: Clone + Send + Sync + 'static>(
    databases: &Databases,
    queries: impl IntoIterator<Item = SavedQuery>,
) -> Result<Router<S>, SavedQueryError> {
    let mut router = Router::new();
    for query in queries {
        let (name, database) = query.check(databases).await?;
        router = router.operation(operation(query, name, database.clone()));
    }
    Ok(router)
}

fn operation<S: Clone + Send + Sync + 'static>(
    query: SavedQuery,
    name: &DatabaseName,
    database: Database,
) -> Operation<S> {
    let query = Arc::new(query);
    let run = {
        let query = Arc::clone(&query);
        move |caller: Caller, Params(arguments): Params<BTreeMap<String, ExactJson>>| {
            let arguments = arguments.into_iter().map(|(name, ExactJson(value))| (name, value));
            let arguments = arguments.collect();
            let (query, database) = (Arc::clone(&query), database.clone());
            async move { query.run(&database.for_caller(&caller)?, arguments).await }
        }
    };
    let operation = Operation::new(&*query.name, run);
    // Without a description, clients see a text made of the name.
    let operation = match query.description.trim() {
        "" => operation,
        _ => operation.description(&*query.description),
    };
    operation
        .input_schema(query.schema())
        .output::<Rowset>()
        .database(name.as_str())
        .render_text(render::rows)
        .abbreviate(render::abbreviated)
        .read_only()
        .closed_world()
        .tool(&*query.name)
}
