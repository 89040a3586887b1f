//! The answers to the server's requests, and the notifications that the client has received.

#![expect(deprecated, reason = "sampling, roots and logging are deprecated since 2026-07-28")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorData, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

#[derive(Clone, Default)]
pub struct User(Arc<Mutex<Received>>);

#[derive(Default)]
pub struct Received {
    pub logs: Vec<Value>,
    pub progress: Vec<f64>,
    /// `tools`, `prompts`, `resources`, or the URI of a changed resource.
    pub changes: Vec<String>,
}

impl User {
    pub fn received(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
        let client_info = json!({ "name": "rmcp-client", "version": "1.0.0" });
        let config = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": client_info,
        });
        serde_json::from_value(config).expect("the members have the types of the protocol")
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let question = json!(params.messages).to_string();
        let text = if question.contains("capital of France") { "Paris" } else { "Good morning" };
        let content = json!({ "type": "text", "text": text });
        parse(json!({ "role": "assistant", "model": "test", "content": content }))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        parse(json!({ "roots": [{ "uri": "file:///srv/one" }, { "uri": "file:///srv/two" }] }))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = json!(request);
        if let Some(action @ ("decline" | "cancel")) = request["message"].as_str() {
            return parse(json!({ "action": action }));
        }
        let properties = request["requestedSchema"]["properties"].as_object();
        let content: Map<String, Value> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), answer(name, schema)))
            .collect();
        parse(json!({ "action": "accept", "content": content }))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.received().progress.push(params.progress);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.received().logs.push(params.data);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.received().changes.push(params.uri);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.received().changes.push("tools".to_owned());
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.received().changes.push("prompts".to_owned());
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.received().changes.push("resources".to_owned());
    }
}

fn parse<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn answer(name: &str, schema: &Value) -> Value {
    if !schema["default"].is_null() {
        return schema["default"].clone();
    }
    match (name, &schema["type"]) {
        ("name" | "username", _) => json!("Ada"),
        ("email", _) => json!("ada@example.org"),
        ("color", _) => json!("blue"),
        ("context", _) => json!("tests"),
        (_, kind) if kind == "boolean" => json!(true),
        (_, kind) if kind == "array" => json!([choice(&schema["items"])]),
        _ => choice(schema),
    }
}

/// The first of the choices, with or without titles.
fn choice(schema: &Value) -> Value {
    let pointers = ["/enum/0", "/oneOf/0/const", "/anyOf/0/const"];
    pointers.into_iter().find_map(|pointer| schema.pointer(pointer)).cloned().unwrap_or_default()
}
