//! The resources of the suite.

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{Operation, Params, Router};
use trunkline_mcp::{Contents, McpOperation, Resource, ResourceTemplate};

use crate::PNG;

pub(crate) fn resources() -> Router {
    let static_text = Resource::new("test://static-text", "static-text").mime_type("text/plain");
    let static_binary =
        Resource::new("test://static-binary", "static-binary").mime_type("image/png");
    let watched = Resource::new("test://watched-resource", "watched").mime_type("text/plain");
    let data = ResourceTemplate::new("test://template/{id}/data", "data");
    Router::new()
        .operation(
            Operation::new("static_text", || "This is the content of the static text resource.")
                .description("Text.")
                .resource(static_text),
        )
        .operation(
            Operation::new("static_binary", || Contents::binary(&PNG))
                .description("An image.")
                .resource(static_binary),
        )
        .operation(
            Operation::new("watched", || "Watched.")
                .description("Text to which clients subscribe.")
                .resource(watched),
        )
        .operation(
            Operation::new("data", template_data)
                .description("The data of an id.")
                .resource_template(data.mime_type("application/json")),
        )
}

#[derive(Deserialize)]
struct Data {
    id: String,
}

fn template_data(Params(Data { id }): Params<Data>) -> Value {
    let data = format!("Data for ID: {id}");
    json!({ "id": id, "templateTest": true, "data": data })
}
