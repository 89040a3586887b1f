//! The relations of a database: a diagram of its tables and foreign keys.

use askama::Template;
use axum::response::Response;
use serde_json::Map;

use super::databases::{DatabaseVisit, Head, SECTION, table_href};
use crate::console::{Layout, Refused, page};
use crate::diagram::{Diagram, Entity};
use crate::json::Json;

/// The maximum number of tables in a diagram.
const MAX_TABLES: usize = 40;

#[derive(Template)]
#[template(path = "relations.html")]
struct RelationsPage {
    layout: Layout,
    head: Head,
    diagram: Diagram,
    /// The number of tables that are not shown.
    hidden: usize,
    references: Vec<(String, String)>,
}

pub(super) async fn show(visit: DatabaseVisit) -> Result<Response, Refused> {
    let head = visit.head("relations");
    let listed = match visit.call("list_tables", Map::new()).await {
        Ok(called) => called.result,
        Err(error) => return Ok(visit.failed(&error)),
    };
    let tables = listed.items("tables");
    let mut entities = Vec::new();
    let mut references = Vec::new();
    for table in tables.iter().filter(|table| table.text("kind") == "table").take(MAX_TABLES) {
        let table = table.text("name");
        let described = match visit.describe(&table).await {
            Ok(described) => described,
            Err(error) => return Ok(visit.failed(&error)),
        };
        let entity = entity(&table, &described, &head);
        references.extend(entity.references.iter().map(|target| (table.clone(), target.clone())));
        entities.push(entity);
    }
    let hidden = tables.len().saturating_sub(MAX_TABLES);
    let diagram = Diagram::of(entities);
    let layout = visit.visit.layout(format!("Relations · {}", visit.database.name), SECTION);
    Ok(page(&RelationsPage { layout, head, diagram, hidden, references }))
}

fn entity(table: &str, described: &Json, head: &Head) -> Entity {
    let primary: Vec<String> = described.items("primary_key").iter().map(Json::plain).collect();
    let mut keys: Vec<(String, bool)> = primary.iter().map(|name| (name.clone(), true)).collect();
    let mut references = Vec::new();
    for key in described.items("foreign_keys") {
        let target = key.text("references_table");
        if !references.contains(&target) {
            references.push(target);
        }
        for column in key.items("columns").iter().map(Json::plain) {
            if !keys.iter().any(|(known, _)| *known == column) {
                keys.push((column, false));
            }
        }
    }
    Entity { name: table.to_owned(), href: table_href(&head.base, table), keys, references }
}
