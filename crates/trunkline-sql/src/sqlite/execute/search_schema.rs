use super::list_tables::openable;
use crate::model::error::Error;
use crate::model::schema::Table;
use crate::model::search::{self, Candidate, MAX_TABLES, SchemaMatches, SearchSchema};
use crate::sqlite::schema;
use crate::sqlite::session::Session;

pub(crate) fn search_schema(
    session: &mut Session<'_>,
    request: &SearchSchema,
) -> Result<SchemaMatches, Error> {
    let found = schema::listed_tables(session)?;
    let is_complete = found.len() <= MAX_TABLES;
    let mut candidates = Vec::new();
    for (name, kind, without_rowid) in found.into_iter().take(MAX_TABLES) {
        candidates.push(Candidate {
            table: name.clone(),
            kind,
            column: None,
            declared_type: None,
            description: None,
        });
        let table = openable(schema::load(session, name, kind, without_rowid))?;
        if let Some(table) = table {
            candidates.extend(columns(&table));
        }
    }
    search::rank(request, candidates, is_complete)
}

fn columns(table: &Table) -> impl Iterator<Item = Candidate> {
    table.visible_columns().map(|column| Candidate {
        table: table.name.clone(),
        kind: table.kind,
        column: Some(column.name.clone()),
        declared_type: Some(column.declared_type.clone()).filter(|name| !name.is_empty()),
        description: None,
    })
}
