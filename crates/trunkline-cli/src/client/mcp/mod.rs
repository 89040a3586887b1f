//! An MCP client over Streamable HTTP, for servers of both eras: 2026-07-28, which is stateless, and
//! the versions before it, which begin with `initialize`.

mod era;
mod exchange;
mod parameter_headers;
mod schema;
mod tool;

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::client::Http;

use self::era::{Era, Params};
pub(crate) use self::exchange::McpError;
use self::exchange::{Answer, Exchange, MAX_PAGES, malformed, read};
pub(crate) use self::schema::Property;
pub(crate) use self::tool::{Content, Tool, ToolAnswer};
use super::CallError;

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
