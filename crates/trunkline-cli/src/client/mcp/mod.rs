//! An MCP client over Streamable HTTP, for servers of both eras: 2026-07-28, which is stateless, and
//! the versions before it, which begin with `initialize`.

mod era;
mod exchange;
mod parameter_headers;
mod schema;
mod tool;

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use trunkline::client::Http;

use self::era::Era;
use self::exchange::{Answer, Exchange};
pub(crate) use self::schema::Property;
pub(crate) use self::tool::{Content, Tool, ToolAnswer};
use super::CallError;

/// The most pages of a list that are read.
const MAX_PAGES: usize = 100;

/// A server whose era is known.
#[derive(Debug)]
pub(crate) struct Mcp {
    exchange: Exchange,
    era: Era,
}

/// What a server offers.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) tools: Vec<Tool>,
    /// The names of tools that must not be used, and why.
    pub(crate) rejected: Vec<(String, String)>,
}

/// Why MCP did not get its result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("cannot begin MCP")]
    Begin(#[source] CallError),
    #[error("the server speaks other versions of MCP: {}", .0.join(", "))]
    Versions(Vec<String>),
    #[error("the answer to {method} is not what MCP says: {reason}")]
    Malformed { method: &'static str, reason: String },
    #[error("the list of tools has no end: it was left after {MAX_PAGES} pages")]
    Endless,
}

/// The params of all that is sent.
#[derive(Debug, Default, Serialize)]
struct Params<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'p RawValue>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<era::Meta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

impl Mcp {
    /// Finds out which era the server is of. Each request may take as long as `timeout`.
    pub(crate) async fn begin(http: Http, timeout: Duration) -> Result<Self, McpError> {
        let exchange = Exchange::new(http, timeout);
        let era = era::find(&exchange).await?;
        Ok(Self { exchange, era })
    }

    /// All tools, in the server's order.
    pub(crate) async fn tools(&self) -> Result<Tools, McpError> {
        const METHOD: &str = "tools/list";
        let mut tools = Tools::default();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = Params { cursor: cursor.as_deref(), ..Params::default() };
            let answer = self.request(METHOD, params, HeaderMap::new()).await?;
            let page: Page = read(METHOD, &answer)?;
            for tool in page.tools {
                let tool = Tool::read(tool).map_err(|error| malformed(METHOD, error))?;
                match &tool.parameter_headers {
                    // Only there do arguments travel in headers.
                    Err(reason) if self.era.is_modern() => {
                        tools.rejected.push((tool.name, reason.clone()));
                    }
                    _ => tools.tools.push(tool),
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(McpError::Endless)
    }

    /// Calls a tool. `arguments` is an object.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        arguments: &RawValue,
    ) -> Result<ToolAnswer, McpError> {
        const METHOD: &str = "tools/call";
        let mut headers = HeaderMap::new();
        if self.era.is_modern() {
            const NAME: HeaderName = HeaderName::from_static("mcp-name");
            headers.insert(NAME, parameter_headers::encode(&tool.name));
            for (name, value) in tool.parameter_headers.iter().flatten() {
                if let Some(value) = value.read(arguments) {
                    headers.insert(name.clone(), value);
                }
            }
        }
        let params =
            Params { name: Some(&tool.name), arguments: Some(arguments), ..Params::default() };
        let answer = self.request(METHOD, params, headers).await?;
        ToolAnswer::read(answer.result).map_err(|error| malformed(METHOD, error))
    }

    /// Ends the session, if there is one. The server would do so by itself, later.
    pub(crate) async fn end(self) {
        self.era.end(&self.exchange).await;
    }

    async fn request(
        &self,
        method: &'static str,
        params: Params<'_>,
        headers: HeaderMap,
    ) -> Result<Answer, CallError> {
        self.era.request(&self.exchange, method, params, headers).await
    }
}

fn params_text(params: &Params<'_>) -> Box<RawValue> {
    to_raw_value(params).expect("text and JSON are JSON")
}

fn read<'a, T: Deserialize<'a>>(method: &'static str, answer: &'a Answer) -> Result<T, McpError> {
    serde_json::from_str(answer.result.get()).map_err(|error| malformed(method, error))
}

fn malformed(method: &'static str, error: serde_json::Error) -> McpError {
    McpError::Malformed { method, reason: error.to_string() }
}
