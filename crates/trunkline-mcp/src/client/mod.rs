//! An MCP client over Streamable HTTP.
//!
//! It supports servers of both eras: those of 2026-07-28, which are stateless, and those of the earlier
//! revisions, which open with `initialize`.
//!
//! ```
//! # use trunkline::{JsonSchema, Operation, Params, Router, Server};
//! # use trunkline_mcp::{Mcp, McpConfig};
//! # #[derive(serde::Deserialize, JsonSchema)]
//! # #[schemars(crate = "trunkline::schemars")]
//! # struct Add { a: i64, b: i64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let add = Operation::new("math.add", |Params(Add { a, b })| a + b).input::<Add>().tool("add");
//! # let mcp = Mcp::new(Router::new().operation(add).build()?, McpConfig::new("sums", "1.0.0"))?;
//! # let server = Server::bind("127.0.0.1:0").serve(mcp.rpc().http().merge(mcp.routes())).await?;
//! # let url = format!("http://{}/mcp", server.local_addr());
//! use serde_json::value::to_raw_value;
//! use trunkline::client::Http;
//! use trunkline_mcp::client::{Client, McpClientConfig};
//!
//! let client = Client::connect(Http::connect(&url)?, McpClientConfig::new("docs", "1.0.0")).await?;
//! let list = client.tools().await?;
//! let arguments = to_raw_value(&serde_json::json!({ "a": 40, "b": 2 }))?;
//! let result = client.call(&list.tools[0], &arguments).await?;
//! assert_eq!(result.structured.unwrap().get(), "42");
//! client.close().await;
//! # server.stop().await;
//! # Ok(())
//! # }
//! ```

mod authorization;
mod exchange;
mod negotiation;
mod tool;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::client::Http;

pub use self::authorization::{Authorization, AuthorizationError, Challenge};
use self::exchange::{Answer, Exchange, malformed, read};
pub use self::exchange::{Error, McpClientConfig, RequestError};
use self::negotiation::{Era, Params};
pub use self::tool::{Tool, ToolResult};
use crate::param_headers::encode;
use crate::protocol::{header, method};

/// A client of one server, whose era is known.
#[derive(Debug)]
pub struct Client {
    exchange: Exchange,
    era: Era,
}

/// The tools of a server.
#[derive(Debug, Default)]
pub struct ToolList {
    /// The tools, in the server's order.
    pub tools: Vec<Tool>,
    /// Names of tools that must not be used, each with the reason.
    pub rejected: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

impl Client {
    /// Negotiates the revision of the protocol.
    ///
    /// # Errors
    /// [`Error::Initialize`] if the URL is not an MCP endpoint, or [`Error::Versions`] if it supports
    /// none of this client's revisions.
    pub async fn connect(http: Http, settings: McpClientConfig) -> Result<Self, Error> {
        let exchange = Exchange::new(http, settings);
        let era = negotiation::find(&exchange).await?;
        Ok(Self { exchange, era })
    }

    /// Lists all tools.
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or there are more than 100 pages.
    pub async fn tools(&self) -> Result<ToolList, Error> {
        const METHOD: &str = method::TOOLS_LIST;
        const MAX_PAGES: usize = 100;
        let mut list = ToolList::default();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = Params { cursor: cursor.as_deref(), ..Params::default() };
            let answer = self.request(METHOD, params, HeaderMap::new()).await?;
            let page: Page = read(METHOD, &answer)?;
            for tool in page.tools {
                let tool = Tool::read(tool).map_err(|error| malformed(METHOD, error))?;
                match &tool.param_headers {
                    // Only the stateless era mirrors arguments into headers.
                    Err(error) if self.era.is_modern() => {
                        list.rejected.push((tool.name, error.to_string()));
                    }
                    _ => list.tools.push(tool),
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(list);
            }
        }
        Err(Error::TooManyPages(MAX_PAGES))
    }

    /// Calls a tool. `arguments` is an object.
    ///
    /// # Errors
    /// When the request fails, or its result is malformed. A tool that fails has a result with
    /// [`is_error`](ToolResult::is_error).
    pub async fn call(&self, tool: &Tool, arguments: &RawValue) -> Result<ToolResult, Error> {
        const METHOD: &str = method::TOOLS_CALL;
        let mut headers = HeaderMap::new();
        if self.era.is_modern() {
            headers.insert(header::NAME, encode(&tool.name));
            for param in tool.param_headers.iter().flatten() {
                if let Some(value) = param.value(arguments) {
                    headers.insert(param.name(), value);
                }
            }
        }
        let params =
            Params { name: Some(&tool.name), arguments: Some(arguments), ..Params::default() };
        let answer = self.request(METHOD, params, headers).await?;
        ToolResult::read(answer.result).map_err(|error| malformed(METHOD, error))
    }

    /// Ends the session, if there is one. Otherwise the server ends it after a while.
    pub async fn close(self) {
        self.era.end(&self.exchange).await;
    }

    async fn request(
        &self,
        method: &'static str,
        params: Params<'_>,
        headers: HeaderMap,
    ) -> Result<Answer, RequestError> {
        self.era.request(&self.exchange, method, params, headers).await
    }
}
