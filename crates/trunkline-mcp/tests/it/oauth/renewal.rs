//! Tokens over time: expiry, refusals, step-up, other authorization servers, and stores.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trunkline_mcp::client::Authorization;
use trunkline_mcp::client::oauth::{FileStore, MemoryStore, OAuth, OAuthConfig, TokenStore};

use super::world::{Rules, World};
use super::{cause, challenge, interactive};
use crate::support::{in_time, until};

/// The grants of the requests to the token endpoint, and the scopes of authorization requests.
pub(super) fn short(log: &[String]) -> Vec<String> {
    let lines = log.iter().filter(|line| !line.starts_with("GET "));
    lines
        .map(|line| {
            let is_kept = |word: &&str| !word.contains("resource=") && !word.contains("client=");
            line.split(' ').filter(is_kept).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// Expires in 20 s, and is refreshed 30 s before that: always.
pub(super) fn short_lived() -> Rules {
    let token = json!({ "expires_in": 20, "refresh_token": "r1" });
    Rules { token, ..Rules::default() }
}

pub(super) async fn authorized(rules: Rules, config: OAuthConfig) -> (World, OAuth) {
    let world = World::start(rules).await;
    let oauth = OAuth::new(&world.mcp(), config).unwrap();
    assert_eq!(challenge(&oauth, &world, 401, "Bearer scope=a").await, Ok(true));
    world.log();
    (world, oauth)
}

#[tokio::test]
async fn tokens_are_refreshed_before_they_expire() {
    let (world, oauth) = authorized(short_lived(), interactive()).await;
    // The second refresh token replaces the first one; a reply without one keeps it.
    world.change(|rules| rules.token = json!({ "expires_in": 20, "refresh_token": "r2" }));
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t2"));
    world.change(|rules| rules.token = json!({ "expires_in": 20 }));
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t3"));
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t4"));
    let requests = short(&world.log());
    let refresh =
        |token: &str| format!("token refresh_token public(dynamic) refresh_token={token}");
    assert_eq!(requests, [refresh("r1"), refresh("r2"), refresh("r2")]);

    // Failures keep a token that is still valid.
    world.change(|rules| rules.token_status = 500);
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t4"));
    // An invalid refresh token discards the tokens.
    world.change(|rules| {
        rules.token_status = 400;
        rules.token = json!({ "error": "invalid_grant" });
    });
    assert_eq!(oauth.token().await.unwrap(), None);
    assert_eq!(oauth.token().await.unwrap(), None);

    let lasting =
        Rules { token: json!({ "expires_in": 3600, "refresh_token": "r" }), ..Rules::default() };
    let (world, oauth) = authorized(lasting, interactive()).await;
    for _ in 0..3 {
        assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t1"));
    }
    assert!(world.log().is_empty());

    let expired =
        Rules { token: json!({ "expires_in": 0, "refresh_token": "r" }), ..Rules::default() };
    let (world, oauth) = authorized(expired, interactive()).await;
    world.change(|rules| rules.token_status = 500);
    let error = cause(&oauth.token().await.unwrap_err());
    assert!(error.contains("returned status 500"), "{error}");
}

#[tokio::test]
async fn refused_tokens_are_refreshed_once() {
    let lasting = Rules { token: json!({ "refresh_token": "r" }), ..Rules::default() };
    let (world, oauth) = authorized(lasting, interactive()).await;
    assert_eq!(challenge(&oauth, &world, 401, "Bearer scope=a").await, Ok(true));
    assert_eq!(
        short(&world.log()),
        ["token refresh_token public(dynamic) scope=a refresh_token=r".replace(" scope=a", "")]
    );
    assert_eq!(challenge(&oauth, &world, 401, "Bearer scope=b").await, Ok(true));
    assert_eq!(
        short(&world.log()),
        ["authorize scope=a b", "token authorization_code public(dynamic)"]
    );
    // A server that refuses every token.
    let error = challenge(&oauth, &world, 401, "Bearer").await.unwrap_err();
    assert_eq!(error, "authorization was attempted 3 times within 60 s");
    assert!(world.log().is_empty());
}

#[tokio::test]
async fn tokens_that_were_accepted_are_refreshed_again() {
    let lasting = Rules { token: json!({ "refresh_token": "r" }), ..Rules::default() };
    let config = OAuthConfig { attempts_within: Duration::from_millis(10), ..interactive() };
    let (world, oauth) = authorized(lasting, config).await;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(challenge(&oauth, &world, 401, "Bearer").await, Ok(true));
        assert_eq!(short(&world.log()), ["token refresh_token public(dynamic) refresh_token=r"]);
    }
}

#[tokio::test]
async fn a_refresh_continues_when_its_request_is_cancelled() {
    let lasting = Rules { token: json!({ "refresh_token": "r1" }), ..Rules::default() };
    let (world, oauth) = authorized(lasting, interactive()).await;
    world.change(|rules| {
        rules.token = json!({ "refresh_token": "r2" });
        rules.token_delay = Duration::from_millis(50);
    });
    tokio::select! {
        found = challenge(&oauth, &world, 401, "Bearer") => panic!("{found:?}"),
        () = until("the refresh", || world.log().iter().any(|line| line.starts_with("token"))) => {}
    }
    let token = in_time("the token", oauth.token()).await.unwrap();
    assert_eq!(token.as_deref(), Some("t2"));
}

#[tokio::test]
async fn clients_share_the_tokens_of_a_store() {
    let rules = Rules { token: json!({ "refresh_token": "r1" }), ..Rules::default() };
    let store = Arc::new(MemoryStore::default());
    let config = || OAuthConfig { store: store.clone(), ..interactive() };
    let (world, first) = authorized(rules, config()).await;
    let second = OAuth::new(&world.mcp(), config()).unwrap();
    assert_eq!(second.token().await.unwrap().as_deref(), Some("t1"));
    // A refresh token that is used twice may be revoked with all of its successors.
    world.change(|rules| rules.token = json!({ "refresh_token": "r2", "expires_in": 20 }));
    assert_eq!(challenge(&first, &world, 401, "Bearer").await, Ok(true));
    assert_eq!(challenge(&second, &world, 401, "Bearer").await, Ok(true));
    world.change(|rules| rules.token = json!({ "refresh_token": "r3", "expires_in": 3600 }));
    for oauth in [&second, &first] {
        assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t3"));
    }
    let refresh =
        |token: &str| format!("token refresh_token public(dynamic) refresh_token={token}");
    assert_eq!(short(&world.log()), [refresh("r1"), refresh("r2")]);
}

/// Clients of a store, also in different processes, do not use a refresh token twice.
#[tokio::test]
async fn concurrent_clients_of_a_store_refresh_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = Arc::new(FileStore::new(folder.path()));
    let stores: [Arc<dyn TokenStore>; 2] = [Arc::new(MemoryStore::default()), file];
    for store in stores {
        let config = || OAuthConfig { store: store.clone(), ..interactive() };
        let (world, _first) = authorized(short_lived(), config()).await;
        world.change(|rules| {
            rules.token = json!({ "refresh_token": "r2" });
            rules.token_delay = Duration::from_millis(50);
        });
        let clients: Vec<_> = (0..8).map(|_| OAuth::new(&world.mcp(), config()).unwrap()).collect();
        let tokens = clients.iter().map(Authorization::token);
        let tokens = in_time("the tokens", futures_util::future::join_all(tokens)).await;
        assert!(tokens.iter().all(|token| token.as_ref().unwrap().as_deref() == Some("t2")));
        assert_eq!(short(&world.log()), ["token refresh_token public(dynamic) refresh_token=r1"]);

        let refusal = || world.challenge(401, "Bearer").with_token(Some("t2".to_owned()));
        let refused = clients.iter().map(|oauth| oauth.challenged(refusal()));
        let renewed = in_time("the renewal", futures_util::future::join_all(refused)).await;
        assert!(renewed.iter().all(|renewed| matches!(renewed, Ok(true))), "{renewed:?}");
        assert_eq!(short(&world.log()), ["token refresh_token public(dynamic) refresh_token=r2"]);
    }
}

#[tokio::test]
async fn insufficient_scopes_are_requested_once() {
    const FORBIDDEN: &str = "Bearer error=\"insufficient_scope\", scope=";
    let (world, oauth) = authorized(Rules::default(), interactive()).await;
    for value in [
        "Bearer".to_owned(),
        "Bearer scope=b".to_owned(),
        "Bearer error=\"insufficient_scope\"".to_owned(),
        format!("{FORBIDDEN}a"),
    ] {
        assert_eq!(challenge(&oauth, &world, 403, &value).await, Ok(false), "{value}");
    }
    assert!(world.log().is_empty());

    // The scopes that were requested before are requested again.
    let value = format!("{FORBIDDEN}b");
    assert_eq!(challenge(&oauth, &world, 403, &value).await, Ok(true));
    let authorized = ["authorize scope=a b", "token authorization_code public(dynamic)"];
    assert_eq!(short(&world.log()), authorized);
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t2"));
    assert_eq!(challenge(&oauth, &world, 403, &value).await, Ok(false));

    // The earlier token may be refused after the new one was obtained.
    let late = world.challenge(403, &value).with_token(Some("t1".to_owned()));
    assert!(oauth.challenged(late).await.unwrap());
    assert!(world.log().is_empty());

    // A user who refuses keeps the token.
    world.change(|rules| rules.redirect = "error=access_denied&iss=O");
    let error = challenge(&oauth, &world, 403, &format!("{FORBIDDEN}c")).await.unwrap_err();
    assert!(error.contains("access_denied"), "{error}");
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t2"));
}

#[tokio::test]
async fn credentials_are_those_of_one_authorization_server() {
    let token = || Rules { token: json!({ "refresh_token": "r" }), ..Rules::default() };
    let other = World::start(Rules { client: json!({ "client_id": "other" }), ..token() }).await;
    let (world, oauth) = authorized(token(), interactive()).await;
    world.change(|rules| rules.resource = json!({ "authorization_servers": [other.origin()] }));
    assert_eq!(challenge(&oauth, &world, 401, "Bearer").await, Ok(true));
    let requests = other.log().join("\n");
    assert!(requests.contains("register MCP client") && requests.contains("client=other"));
    assert!(!requests.contains("dynamic") && !requests.contains("refresh_token"), "{requests}");
    let resource = "GET /.well-known/oauth-protected-resource/mcp";
    assert_eq!(world.log(), [resource]);

    // A token is sent to the server that it is for.
    let error = oauth.challenged(other.challenge(401, "Bearer")).await.unwrap_err();
    assert!(cause(&error).contains("the tokens are those of"), "{error:?}");

    // A client without an issuer stays at the first authorization server.
    let client = trunkline_mcp::client::oauth::RegisteredClient::new("known");
    let config = OAuthConfig { clients: vec![client], ..interactive() };
    let (world, oauth) = authorized(token(), config).await;
    world.change(|rules| rules.resource = json!({ "authorization_servers": [other.origin()] }));
    let error = challenge(&oauth, &world, 401, "Bearer").await.unwrap_err();
    assert!(error.contains("no client id for the authorization server"), "{error}");
    let requests = other.log().join("\n");
    assert!(requests.ends_with("oauth-authorization-server"), "{requests}");
}

#[tokio::test]
async fn concurrent_refusals_authorize_once() {
    let world = World::start(Rules::default()).await;
    let oauth = OAuth::new(&world.mcp(), interactive()).unwrap();
    let challenges = (0..8).map(|_| oauth.challenged(world.challenge(401, "Bearer")));
    let found = futures_util::future::join_all(challenges).await;
    assert!(found.iter().all(|found| matches!(found, Ok(true))), "{found:?}");
    let requests = short(&world.log());
    assert_eq!(requests.iter().filter(|line| line.starts_with("token")).count(), 1, "{requests:?}");
}

#[tokio::test]
async fn files_keep_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("tokens");
    let config = || OAuthConfig { store: Arc::new(FileStore::new(&folder)), ..interactive() };
    let (world, oauth) = authorized(short_lived(), config()).await;
    drop(oauth);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let [file, lock] = &files[..] else { panic!("{files:?}") };
    assert_eq!(lock, &file.with_extension("lock"));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(file), mode(lock)), (0o700, 0o600, 0o600));

    // Another process refreshes the token with the registered client.
    let oauth = OAuth::new(&world.mcp(), config()).unwrap();
    assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t2"));
    assert_eq!(short(&world.log()), ["token refresh_token public(dynamic) refresh_token=r1"]);
    let store = FileStore::new(&folder);
    let saved = store.load(&world.mcp()).await.unwrap().unwrap();
    let text = format!("{saved:?} {oauth:?}");
    assert!(!text.contains("\"t2\"") && !text.contains("\"r1\""), "{text}");
    assert!(store.load("https://other.example.com/mcp").await.unwrap().is_none());

    assert!(oauth.forget_tokens().await.unwrap());
    assert!(!oauth.forget_tokens().await.unwrap());
    let oauth = OAuth::new(&world.mcp(), config()).unwrap();
    assert_eq!(oauth.token().await.unwrap(), None);

    // A damaged file is an error, and stays.
    std::fs::write(file, "{").unwrap();
    let oauth = OAuth::new(&world.mcp(), config()).unwrap();
    let error = cause(&oauth.token().await.unwrap_err());
    assert!(error.contains("does not contain credentials"), "{error}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{");
}

#[tokio::test]
async fn requests_have_deadlines() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}/mcp", listener.local_addr().unwrap());
    let config = OAuthConfig { timeout: Duration::from_millis(20), ..interactive() };
    let oauth = OAuth::new(&server, config).unwrap();
    let headers = http::HeaderMap::new();
    let refusal =
        trunkline_mcp::client::Challenge::of(&server, http::StatusCode::UNAUTHORIZED, &headers);
    let error = cause(&oauth.challenged(refusal.unwrap()).await.unwrap_err());
    assert!(error.contains("within 20 ms"), "{error}");
}
