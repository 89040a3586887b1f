//! The era of a server, and what it requires of each request.

use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::config::McpClientConfig;
use super::handler::HandlerFeatures;
use super::message::Params;
use crate::log_level::LogLevel;
use crate::model::Implementation;
use crate::protocol::{Legacy, MODERN, extension, header, meta};

/// The negotiated revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Session {
    Modern,
    Legacy {
        version: Legacy,
        /// The session of Streamable HTTP, if the server has assigned one.
        id: Option<HeaderValue>,
    },
}

/// The server, as it describes itself. Its texts are not trusted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The negotiated revision: `2026-07-28`.
    pub protocol_version: String,
    /// The name. Empty if the server has not sent one.
    pub name: String,
    /// The version. Empty if the server has not sent one.
    pub version: String,
    /// Instructions for models.
    pub instructions: Option<String>,
    /// The capabilities.
    pub capabilities: ServerCapabilities,
    /// The whole result of `server/discover` or `initialize`, as received.
    pub object: Box<RawValue>,
}

/// The capabilities of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Tools.
    pub tools: bool,
    /// Resources.
    pub resources: bool,
    /// Subscriptions to resources.
    pub subscribe: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completion.
    pub completions: bool,
    /// Log messages.
    pub logging: bool,
    /// Tasks (extension `io.modelcontextprotocol/tasks`).
    pub tasks: bool,
}

impl Session {
    pub(super) fn is_modern(&self) -> bool {
        matches!(self, Self::Modern)
    }

    pub(super) fn version(&self) -> &'static str {
        match self {
            Self::Modern => MODERN,
            Self::Legacy { version, .. } => version.as_str(),
        }
    }

    pub(super) fn has_id(&self) -> bool {
        matches!(self, Self::Legacy { id: Some(_), .. })
    }

    /// The headers of every HTTP request.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::PROTOCOL_VERSION, HeaderValue::from_static(self.version()));
        if let Self::Legacy { id: Some(id), .. } = self {
            headers.insert(header::SESSION_ID, id.clone());
        }
        headers
    }

    /// Adds the members of `_meta` that every request has.
    pub(super) fn complete(
        &self,
        params: &mut Params<'_>,
        config: &McpClientConfig,
        features: HandlerFeatures,
        level: Option<LogLevel>,
    ) {
        if !self.is_modern() {
            return;
        }
        let meta = params.meta.get_or_insert_with(Map::new);
        meta.insert(meta::PROTOCOL_VERSION.to_owned(), MODERN.into());
        meta.insert(meta::CLIENT_INFO.to_owned(), config.client_info());
        let mut capabilities = features.capabilities();
        if config.tasks {
            capabilities["extensions"] = json!({ extension::TASKS: {} });
        }
        meta.insert(meta::CLIENT_CAPABILITIES.to_owned(), capabilities);
        if let Some(level) = level {
            meta.insert(meta::LOG_LEVEL.to_owned(), level.name().into());
        }
    }
}

impl ServerInfo {
    /// Reads the result of `server/discover` or `initialize`.
    pub(super) fn read(result: Box<RawValue>, version: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            #[serde(default)]
            capabilities: Map<String, Value>,
            instructions: Option<String>,
            server_info: Option<Implementation>,
            #[serde(rename = "_meta", default)]
            meta: Map<String, Value>,
        }
        let members: Members = serde_json::from_str(result.get())?;
        let described = members.meta.get(meta::SERVER_INFO).cloned();
        let described = described.and_then(|info| serde_json::from_value(info).ok());
        let Implementation { name, version: server_version, .. } =
            described.or(members.server_info).unwrap_or_default();
        Ok(Self {
            protocol_version: version.to_owned(),
            name,
            version: server_version,
            instructions: members.instructions,
            capabilities: ServerCapabilities::read(&members.capabilities),
            object: result,
        })
    }
}

impl ServerCapabilities {
    fn read(capabilities: &Map<String, Value>) -> Self {
        let has = |name: &str| capabilities.get(name).is_some_and(Value::is_object);
        Self {
            tools: has("tools"),
            resources: has("resources"),
            subscribe: capabilities.get("resources").is_some_and(|it| it["subscribe"] == true),
            prompts: has("prompts"),
            completions: has("completions"),
            logging: has("logging"),
            tasks: capabilities
                .get("extensions")
                .is_some_and(|it| it[extension::TASKS].is_object()),
        }
    }
}
