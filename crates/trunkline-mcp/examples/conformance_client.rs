//! The client that the protocol's official conformance suite runs for each of its client scenarios.
//!
//! ```console
//! $ conformance client --command target/debug/examples/conformance_client --requirements 2026-07-28
//! ```

#![expect(clippy::print_stderr, reason = "the suite shows it")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use futures_util::future::{BoxFuture, try_join_all};
use http::HeaderMap;
use http::header::LOCATION;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use trunkline::BoxError;
use trunkline::access::jwt::{Algorithm, SigningKey};
use trunkline::client::Http;
use trunkline_mcp::client::oauth::{
    ClientAuthentication, Grant, IdentityProvider, Interaction, OAuth, OAuthConfig,
    RegisteredClient, Secret, UserAgent,
};
use trunkline_mcp::client::{
    Client, ClientHandler, HandlerError, HandlerFeatures, List, McpClientConfig,
};
use trunkline_mcp::tools::Tool;
use trunkline_mcp::{ElicitRequest, ElicitResult, Received};

/// The value that a scenario passes in `MCP_CONFORMANCE_CONTEXT`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    #[serde(rename = "toolCalls")]
    tool_calls: Vec<Call>,
    client_id: String,
    client_secret: Option<String>,
    private_key_pem: String,
    idp_client_id: String,
    idp_id_token: String,
    idp_issuer: String,
    idp_token_endpoint: String,
    valid_jwt: String,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Box<RawValue>,
}

/// Follows the redirect of the authorization server, which asks no user.
struct Redirects;

impl UserAgent for Redirects {
    fn authorize(&self, url: String) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(async move {
            let reply = Http::connect(&url)?.get(HeaderMap::new()).await?;
            let location = reply.headers.get(LOCATION).ok_or("no redirect")?;
            Ok(location.to_str()?.to_owned())
        })
    }
}

/// The authorization of the scenarios `auth/…`.
fn oauth(url: &str, scenario: &str, context: &Context) -> Result<OAuth, Box<dyn Error>> {
    const REDIRECT: &str = "http://127.0.0.1:3000/callback";
    const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
    let mut client = RegisteredClient::new(&context.client_id);
    if let Some(secret) = &context.client_secret {
        client.authentication = ClientAuthentication::Secret(secret.as_str().into());
    }
    let grant = match scenario {
        "auth/client-credentials-basic" => Grant::ClientCredentials,
        "auth/client-credentials-jwt" => {
            let key = SigningKey::from_pem(Algorithm::Es256, &context.private_key_pem)?;
            client.authentication = ClientAuthentication::PrivateKeyJwt(Arc::new(key));
            Grant::ClientCredentials
        }
        "auth/enterprise-managed-authorization" => {
            let sso = RegisteredClient::new(&context.idp_client_id);
            let id_token = context.idp_id_token.as_str().into();
            let (issuer, endpoint) = (&context.idp_issuer, &context.idp_token_endpoint);
            Grant::JwtBearer(Box::new(IdentityProvider::new(issuer, endpoint, sso, id_token)?))
        }
        "auth/wif-jwt-bearer" => {
            Grant::JwtBearer(Box::new(Secret::from(context.valid_jwt.as_str())))
        }
        _ => Grant::AuthorizationCode(Interaction::agent(REDIRECT, Redirects)),
    };
    let mut config = OAuthConfig::new(grant);
    if context.client_id.is_empty() {
        config.client_metadata_url = Some(DOCUMENT.to_owned());
    } else {
        config.clients.push(client);
    }
    Ok(OAuth::new(url, config)?)
}

/// Accepts every form with its defaults.
struct Handler;

impl ClientHandler for Handler {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.forms = true;
        features
    }

    fn elicit(
        &self,
        elicitation: ElicitRequest,
    ) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        let elicited = match elicitation {
            ElicitRequest::Form { requested_schema, .. } => {
                ElicitResult::Accept(confirmed(&requested_schema))
            }
            _ => ElicitResult::Decline,
        };
        Box::pin(std::future::ready(Ok(elicited)))
    }
}

/// `true` for members without a default that are Booleans.
fn confirmed(schema: &RawValue) -> Map<String, Value> {
    let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let is_confirmation =
        |property: &Value| property["type"] == "boolean" && property["default"].is_null();
    let confirmed = properties.into_iter().filter(|(_, property)| is_confirmation(property));
    confirmed.map(|(name, _)| (name, Value::Bool(true))).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().filter(|url| url.starts_with("http"));
    let url = url.ok_or("usage: conformance_client URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Context =
        if context.is_empty() { Context::default() } else { serde_json::from_str(&context)? };
    let mut config = McpClientConfig::new("conformance-client", env!("CARGO_PKG_VERSION"));
    if matches!(&*scenario, "elicitation-sep1034-client-defaults" | "sep-2322-client-request-state")
    {
        config.handler = Arc::new(Handler);
    }
    if scenario.starts_with("auth/") {
        config.authorization = Some(Arc::new(oauth(&url, &scenario, &context)?));
    }
    let client = Client::connect(Http::connect(&url)?, config).await?;
    let done = run(&client, &scenario, &context).await;
    client.close().await;
    done
}

async fn run(client: &Client, scenario: &str, context: &Context) -> Result<(), Box<dyn Error>> {
    let List { items: tools, rejected, .. } = client.list_tools().await?;
    for (name, reason) in rejected {
        eprintln!("rejected {name}: {reason}");
    }
    let empty = to_raw_value(&json!({}))?;
    match scenario {
        // Their servers only have a list.
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
        "http-custom-headers" => {
            for Call { name, arguments } in &context.tool_calls {
                client.call_tool(tool(&tools, name)?, arguments).await?;
            }
        }
        "http-standard-headers" => {
            client.call_tool(tools.first().ok_or("no tool")?, &empty).await?;
            let resources = client.list_resources().await?.items;
            client.read_resource(&resources.first().ok_or("no resource")?.uri).await?;
            let prompts = client.list_prompts().await?.items;
            let prompt = &prompts.first().ok_or("no prompt")?.name;
            client.get_prompt(prompt, &BTreeMap::new()).await?;
        }
        "json-schema-2020-12-preservation" => {
            let schema = &tool(&tools, "json_schema_2020_12_tool")?.input_schema;
            let arguments = to_raw_value(&BTreeMap::from([("schema", schema)]))?;
            client.call_tool(tool(&tools, "json_schema_echo")?, &arguments).await?;
        }
        // At the same time, so that the rounds of one call could affect another.
        "sep-2322-client-request-state" => {
            try_join_all(tools.iter().map(|tool| client.call_tool(tool, &empty))).await?;
        }
        _ => {
            let numbers = to_raw_value(&json!({ "a": 5, "b": 3 }))?;
            for tool in &tools {
                let takes_numbers = tool.input_schema.get().contains("\"a\"");
                client.call_tool(tool, if takes_numbers { &numbers } else { &empty }).await?;
            }
        }
    }
    Ok(())
}

fn tool<'t>(tools: &'t [Received<Tool>], name: &str) -> Result<&'t Received<Tool>, String> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| format!("no tool {name}"))
}
