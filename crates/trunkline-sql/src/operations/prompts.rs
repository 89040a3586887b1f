//! Prompts for exploring a database.

use serde::Deserialize;
use trunkline::{Json, JsonSchema, Operation, Params, Schema};
use trunkline_mcp::{Annotations, Block, McpOperation, Prompt, PromptMessage, Role};

use super::names::Names;
use super::resources::{EXPLAIN, EXPLORE, PROFILE, resource_of};
use crate::databases::Databases;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Explore {
    /// A question about the data.
    question: Option<String>,
    #[schemars(skip)]
    database: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Explain {
    /// Table or view name.
    table_name: String,
    #[schemars(skip)]
    database: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Profile {
    /// Table or view name.
    table_name: String,
    /// Column name.
    column: String,
    #[schemars(skip)]
    database: Option<String>,
}

/// The prompts, for databases of this engine.
pub(super) fn prompts(names: &Names<'_>, engine: &'static str) -> [Operation<Databases>; 3] {
    let context = Context { engine, uri: names.uri(), tool_prefix: names.tool("") };
    let [exploring, explaining, profiling] = [context.clone(), context.clone(), context];
    [
        Operation::new(EXPLORE, move |Params(request)| exploring.explore(&request))
            .title("Explore the database")
            .description("Describes the database, or answers a question about it.")
            .input_schema(names.schema(Schema::of_input::<Explore>()))
            .prompt(Prompt::new(names.tool(EXPLORE))),
        Operation::new(EXPLAIN, move |Params(request)| Json(explaining.explain(&request)))
            .title("Explain a table")
            .description("Explains the content of a table and its relations to others.")
            .input_schema(names.schema(Schema::of_input::<Explain>()))
            .prompt(Prompt::new(names.tool(EXPLAIN))),
        Operation::new(PROFILE, move |Params(request)| Json(profiling.profile(&request)))
            .title("Profile a column")
            .description("Examines the values of a column, and reports what looks wrong.")
            .input_schema(names.schema(Schema::of_input::<Profile>()))
            .prompt(Prompt::new(names.tool(PROFILE))),
    ]
    .map(|prompt| names.on_database(prompt.read_only().closed_world()))
}

/// The parts of prompts that depend on the names of databases.
#[derive(Clone)]
struct Context {
    engine: &'static str,
    /// The beginning of URIs, which may contain `{database}`.
    uri: String,
    tool_prefix: String,
}

impl Context {
    fn explore(&self, request: &Explore) -> String {
        let (database, tools) = (self.database(request.database.as_deref()), &self.tool_prefix);
        let steps = format!(
            "Call {tools}list_tables first, then {tools}describe_table for each table that matters, with a few sample \
             rows."
        );
        match &request.question {
            None => format!(
                "Explore {database}. {steps} Then summarise what the database is about, how its tables are related, \
                 and three questions that it can answer, each with its SQL."
            ),
            Some(question) => format!(
                "Answer a question from {database}. {steps} Then answer with one SQL statement \
                 ({tools}execute_raw_query), show the statement, and say which assumptions it makes.\n\n\
                 Question: {question}"
            ),
        }
    }

    fn explain(&self, request: &Explain) -> Vec<PromptMessage> {
        let (database, tools) = (self.database(request.database.as_deref()), &self.tool_prefix);
        let table = &request.table_name;
        let text = format!(
            "Explain the table {table:?} of {database}: what a row represents, the meaning of each column, and the \
             tables that it refers to or that refer to it. Call {tools}describe_table with 5 sample rows. Point out \
             columns whose values do not fit their names or types."
        );
        self.with_table(text, table, request.database.as_deref())
    }

    fn profile(&self, request: &Profile) -> Vec<PromptMessage> {
        let (database, tools) = (self.database(request.database.as_deref()), &self.tool_prefix);
        let Profile { table_name: table, column, .. } = request;
        let text = format!(
            "Examine the column {column:?} of the table {table:?} of {database} with {tools}execute_raw_query: the \
             number of rows, of nulls and of distinct values, the minimum and maximum, and the 10 most frequent \
             values. Report values that look wrong, such as outliers, placeholders and different spellings of the same \
             value."
        );
        self.with_table(text, table, request.database.as_deref())
    }

    fn database(&self, name: Option<&str>) -> String {
        match name {
            Some(name) => format!("the database {name:?} (argument `database` of the tools)"),
            None => format!("the {} database", self.engine),
        }
    }

    /// A message of the user with a link to a table.
    fn with_table(&self, text: String, table: &str, database: Option<&str>) -> Vec<PromptMessage> {
        let uri = self.uri.replace("{database}", database.unwrap_or_default());
        let has_database = database.is_some() || uri == self.uri;
        let resource = if has_database { resource_of(&uri, table) } else { None };
        let link = resource.map(|resource| {
            Block::link(resource).annotations(Annotations::new().audience([Role::Assistant]))
        });
        [Block::text(text)].into_iter().chain(link).map(PromptMessage::user).collect()
    }
}
