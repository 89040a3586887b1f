//! An MCP endpoint that requires a token, its authorization server, and a user agent, on one port of this machine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use serde_json::{Value, json};
use trunkline::BoxError;
use trunkline::client::Http;
use trunkline_mcp::client::Challenge;
use trunkline_mcp::client::oauth::UserAgent;

/// The redirect URI of the user agent.
pub(super) const REDIRECT: &str = "http://127.0.0.1:1/callback";

/// The behaviour of the servers. The documents are those of a conforming server, with changes: members that replace others,
/// or remove them if they are null. `O` in texts is the origin.
#[derive(Clone)]
pub(super) struct Rules {
    /// The path of the resource's metadata.
    pub(super) resource_path: &'static str,
    pub(super) resource: Value,
    /// The path of the authorization server's metadata.
    pub(super) server_path: &'static str,
    pub(super) server: Value,
    /// The reply to a registration.
    pub(super) client: Value,
    /// The reply to a token request.
    pub(super) token: Value,
    pub(super) token_status: u16,
    /// The body of the reply to a token request, if it is not that document.
    pub(super) token_text: Option<&'static str>,
    /// The client id that the token endpoint does not know.
    pub(super) refused_client: Option<&'static str>,
    pub(super) token_delay: Duration,
    /// The rest of the redirect's query, after `state`.
    pub(super) redirect: &'static str,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            resource_path: "/.well-known/oauth-protected-resource/mcp",
            resource: json!({}),
            server_path: "/.well-known/oauth-authorization-server",
            server: json!({}),
            client: json!({}),
            token: json!({}),
            token_status: 200,
            token_text: None,
            refused_client: None,
            token_delay: Duration::ZERO,
            redirect: "code=c0de&iss=O",
        }
    }
}

/// A running server.
#[derive(Clone)]
pub(super) struct World(Arc<Inner>);

struct Inner {
    origin: String,
    rules: Mutex<Rules>,
    log: Mutex<Vec<String>>,
    /// The challenge of the last authorization request.
    challenge: Mutex<String>,
    tokens: Mutex<u32>,
}

type Query = HashMap<String, String>;

impl World {
    pub(super) async fn start(rules: Rules) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let world = Self(Arc::new(Inner {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            rules: Mutex::new(rules),
            log: Mutex::default(),
            challenge: Mutex::default(),
            tokens: Mutex::default(),
        }));
        let router = Router::new().fallback(answer).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        world
    }

    pub(super) fn origin(&self) -> &str {
        &self.0.origin
    }

    pub(super) fn mcp(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.0.rules.lock().unwrap());
    }

    /// The requests since the last call, with `O` instead of the origin.
    pub(super) fn log(&self) -> Vec<String> {
        let log = std::mem::take(&mut *self.0.log.lock().unwrap());
        log.into_iter().map(|line| line.replace(self.origin(), "O")).collect()
    }

    /// A refusal by the MCP endpoint.
    pub(super) fn challenge(&self, status: u16, value: &str) -> Challenge {
        let mut headers = HeaderMap::new();
        let value = value.replace("O/", &format!("{}/", self.origin()));
        headers.insert(header::WWW_AUTHENTICATE, value.parse().unwrap());
        Challenge::of(self.mcp(), StatusCode::from_u16(status).unwrap(), &headers).unwrap()
    }

    /// Applies changes to a document.
    fn merge(&self, document: &mut Value, changes: &Value) {
        let changes = changes.to_string().replace("\"O", &format!("\"{}", self.origin()));
        let changes: serde_json::Map<String, Value> = serde_json::from_str(&changes).unwrap();
        for (name, value) in changes {
            match value {
                Value::Null => drop(document.as_object_mut().unwrap().remove(&name)),
                value => document[name] = value,
            }
        }
    }

    fn record(&self, line: String) {
        self.0.log.lock().unwrap().push(line);
    }

    fn authorize(&self, query: &Query, rules: &Rules) -> Response {
        let get = |name: &str| query.get(name).map_or("-", String::as_str);
        assert_eq!((get("response_type"), get("code_challenge_method")), ("code", "S256"));
        self.0.challenge.lock().unwrap().clone_from(&get("code_challenge").to_owned());
        let (client, scope, resource) = (get("client_id"), get("scope"), get("resource"));
        self.record(format!("authorize client={client} scope={scope} resource={resource}"));
        let rest = rules.redirect.replace('O', self.origin());
        let location = format!("{}?state={}&{rest}", get("redirect_uri"), get("state"));
        (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
    }

    fn token(&self, form: &Query, headers: &HeaderMap, rules: &Rules) -> Response {
        let get = |name: &str| form.get(name).map_or("-", String::as_str);
        let grant = get("grant_type").rsplit(':').next().unwrap_or_default();
        if grant == "authorization_code" {
            let hash = ring::digest::digest(&ring::digest::SHA256, get("code_verifier").as_bytes());
            assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(hash), *self.0.challenge.lock().unwrap());
            assert_eq!(get("code"), "c0de");
        }
        let client = match headers.get(header::AUTHORIZATION) {
            Some(value) => {
                let value = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
                format!(
                    "basic({})",
                    String::from_utf8_lossy(&BASE64_STANDARD.decode(value).unwrap())
                )
            }
            None if form.contains_key("client_secret") => {
                format!("post({}:{})", get("client_id"), get("client_secret"))
            }
            None if form.contains_key("client_assertion") => format!("jwt({})", get("client_id")),
            None => format!("public({})", get("client_id")),
        };
        let rest: String = ["scope", "resource", "refresh_token", "assertion", "audience"]
            .into_iter()
            .filter_map(|name| Some(format!(" {name}={}", form.get(name)?)))
            .collect();
        self.record(format!("token {grant} {client}{rest}"));
        if rules.refused_client == Some(get("client_id")) {
            let error = json!({ "error": "invalid_client" }).to_string();
            return (StatusCode::UNAUTHORIZED, error).into_response();
        }
        let mut tokens = self.0.tokens.lock().unwrap();
        *tokens += 1;
        let mut reply = json!({ "access_token": format!("t{tokens}"), "token_type": "Bearer" });
        self.merge(&mut reply, &rules.token);
        let text = rules.token_text.map_or_else(|| reply.to_string(), str::to_owned);
        (StatusCode::from_u16(rules.token_status).unwrap(), text).into_response()
    }

    fn register(&self, body: &[u8], rules: &Rules) -> Response {
        let body: Value = serde_json::from_slice(body).unwrap();
        let text = |name: &str| body[name].as_str().unwrap_or("-").to_owned();
        let grants = body["grant_types"].to_string();
        let (method, kind) = (text("token_endpoint_auth_method"), text("application_type"));
        assert_eq!(grants, r#"["authorization_code","refresh_token"]"#);
        self.record(format!("register {} {method} {kind}", text("client_name")));
        let mut reply = json!({ "client_id": "dynamic" });
        self.merge(&mut reply, &rules.client);
        let status = if reply["error"].is_null() { 201 } else { 400 };
        (StatusCode::from_u16(status).unwrap(), reply.to_string()).into_response()
    }
}

async fn answer(
    State(world): State<World>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let rules = world.0.rules.lock().unwrap().clone();
    let (origin, path) = (world.origin(), uri.path());
    match (method.as_str(), path) {
        ("GET", "/authorize") => world.authorize(&pairs(uri.query().unwrap_or_default()), &rules),
        ("POST", "/token") => {
            let reply = world.token(&pairs(std::str::from_utf8(&body).unwrap()), &headers, &rules);
            tokio::time::sleep(rules.token_delay).await;
            reply
        }
        ("POST", "/register") => world.register(&body, &rules),
        ("GET", path) => {
            world.record(format!("GET {path}"));
            let (mut document, changes) = if path == rules.resource_path {
                let document = json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] });
                (document, &rules.resource)
            } else if path == rules.server_path {
                let document = json!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "registration_endpoint": format!("{origin}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                    "authorization_response_iss_parameter_supported": true,
                });
                (document, &rules.server)
            } else {
                return StatusCode::NOT_FOUND.into_response();
            };
            world.merge(&mut document, changes);
            document.to_string().into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

fn pairs(text: &str) -> Query {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text).decode_utf8().unwrap().into_owned()
    };
    let parts = text.split('&').filter_map(|part| part.split_once('='));
    parts.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// A user who always agrees: follows the redirect of the authorization server, up to the redirect URI.
pub(super) struct Agrees;

impl UserAgent for Agrees {
    fn authorize(&self, url: String) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(async move { Ok(location(&url).await) })
    }
}

/// The redirect of a page.
pub(super) async fn location(url: &str) -> String {
    let reply = Http::connect(url).unwrap().get(HeaderMap::new()).await.unwrap();
    reply.headers[header::LOCATION].to_str().unwrap().to_owned()
}
