//! Errors of authorization servers, replies with unusual types, and users who take their time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Semaphore;
use trunkline::BoxError;
use trunkline_mcp::client::Authorization;
use trunkline_mcp::client::oauth::{
    FileStore, Grant, Interaction, MemoryStore, OAuth, OAuthConfig, TokenStore, UserAgent,
};

use super::renewal::{authorized, short, short_lived};
use super::world::{Agrees, REDIRECT, Rules, World};
use super::{cause, challenge, interactive};
use crate::support::{in_time, until};

const REFRESH: &str = "token refresh_token public(dynamic) refresh_token=r1";

/// A program with the tokens of an earlier login refreshes them, which fails. Later, the server accepts the refresh token,
/// if the store still has it.
async fn check_refusal(status: u16, text: &'static str, is_kept: bool) {
    let store: Arc<dyn TokenStore> = Arc::new(MemoryStore::default());
    let config = || OAuthConfig { store: Arc::clone(&store), ..OAuthConfig::new(Grant::Stored) };
    let expired = json!({ "expires_in": 0, "refresh_token": "r1" });
    let rules = Rules { token: expired, ..Rules::default() };
    let (world, _) = authorized(rules, OAuthConfig { store: store.clone(), ..interactive() }).await;

    world.change(|rules| {
        rules.token_status = status;
        rules.token_text = Some(text);
    });
    let found = OAuth::new(&world.mcp(), config()).unwrap().token().await;
    let place = format!("{status} {text}");
    assert_eq!(short(&world.log()), [REFRESH], "{place}");
    match found {
        Ok(token) => assert!(token.is_none() && !is_kept, "{place}: {token:?}"),
        Err(error) => assert!(is_kept, "{place}: {}", cause(&error)),
    }

    world.change(|rules| {
        rules.token_status = 200;
        rules.token_text = None;
    });
    let token = OAuth::new(&world.mcp(), config()).unwrap().token().await.unwrap();
    assert_eq!(token.as_deref(), is_kept.then_some("t3"), "{place}");
}

#[tokio::test]
async fn only_invalid_grant_discards_a_refresh_token() {
    for (status, text, is_kept) in [
        (400, r#"{"error": "invalid_grant"}"#, false),
        (401, r#"{"error": "invalid_grant", "error_description": 7}"#, false),
        (200, r#"{"error": "invalid_grant"}"#, false),
        (400, r#"{"error": "temporarily_unavailable"}"#, true),
        (400, r#"{"error": "invalid_client"}"#, true),
        (401, r#"{"error": "invalid_client"}"#, true),
        (400, r#"{"error": "unauthorized_client"}"#, true),
        (400, r#"{"error": "invalid_request"}"#, true),
        (400, r#"{"error": "invalid_scope"}"#, true),
        (400, r#"{"error": "unsupported_grant_type"}"#, true),
        (400, r#"{"error": "bad_refresh_token"}"#, true),
        (429, r#"{"error": "slow_down"}"#, true),
        (429, r#"{"error": "invalid_grant"}"#, true),
        (408, r#"{"error": "invalid_grant"}"#, true),
        (500, r#"{"error": "invalid_grant"}"#, true),
        (503, r#"{"error": "temporarily_unavailable"}"#, true),
        (502, "<html>", true),
        (403, "<html>invalid_grant", true),
        (400, "error=invalid_grant", true),
        (400, "", true),
        (404, r#"{"error": {"code": "invalid_grant"}}"#, true),
        (200, "<html>", true),
        (200, "{}", true),
        (302, "", true),
    ] {
        check_refusal(status, text, is_kept).await;
    }
}

/// A refused refresh is followed by another authorization if a user is present. Temporary errors are not.
#[tokio::test]
async fn users_log_in_again_after_final_errors() {
    const AGAIN: [&str; 2] = ["authorize scope=a", "token authorization_code public(dynamic)"];
    for (status, code, rest) in [
        (400, "invalid_grant", &AGAIN[..]),
        (400, "invalid_scope", &AGAIN),
        (401, "invalid_client", &[&["register MCP client none native"], &AGAIN[..]].concat()),
        (429, "invalid_client", &[]),
        (400, "temporarily_unavailable", &[]),
    ] {
        let rules = Rules { token: json!({ "refresh_token": "r1" }), ..Rules::default() };
        let (world, oauth) = authorized(rules, interactive()).await;
        world
            .change(|rules| (rules.token_status, rules.token) = (status, json!({ "error": code })));
        // The new authorization fails, too, and discards nothing.
        let found = challenge(&oauth, &world, 401, "Bearer scope=a").await.unwrap_err();
        let temporary = found.contains("429") || found.contains(code);
        assert!(temporary, "{found}");
        assert_eq!(short(&world.log()), [&[REFRESH], rest].concat(), "{code}");
    }
}

#[tokio::test]
async fn an_unknown_client_is_registered_again() {
    let store: Arc<dyn TokenStore> = Arc::new(MemoryStore::default());
    let config = || OAuthConfig { store: Arc::clone(&store), ..interactive() };
    let expired = json!({ "expires_in": 0, "refresh_token": "r1" });
    let (world, oauth) = authorized(Rules { token: expired, ..Rules::default() }, config()).await;
    world.change(|rules| {
        rules.client = json!({ "client_id": "again" });
        rules.refused_client = Some("dynamic");
    });
    // The expired token is sent, since its refusal starts the new authorization.
    assert_eq!(challenge(&oauth, &world, 401, "Bearer").await, Ok(true));
    let log = short(&world.log());
    assert_eq!(log[..2], [REFRESH, REFRESH]);
    assert_eq!(log.last().unwrap(), "token authorization_code public(again)");
}

#[tokio::test]
async fn members_of_unusual_types() {
    // Token replies: the scopes of the next authorization, and whether the token is about to expire.
    for (changes, is_short) in [
        (json!({ "expires_in": "20" }), true),
        (json!({ "expires_in": " 20 " }), true),
        (json!({ "expires_in": 20.5 }), true),
        (json!({ "expires_in": "20.0" }), true),
        (json!({ "expires_in": "3600" }), false),
        (json!({ "expires_in": 1e300 }), false),
        (json!({ "expires_in": -1 }), false),
        (json!({ "expires_in": "never" }), false),
        (json!({ "expires_in": {} }), false),
        (json!({ "expires_in": 20, "scope": ["a", "b", 3] }), true),
        (json!({ "expires_in": 20, "scope": {} }), true),
        (json!({ "expires_in": 20, "id_token": [], "refresh_token_expires_in": "1" }), true),
    ] {
        let mut token = json!({ "refresh_token": "r1" });
        token.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let (world, oauth) = authorized(Rules { token, ..Rules::default() }, interactive()).await;
        let expected = if is_short { "t2" } else { "t1" };
        assert_eq!(oauth.token().await.unwrap().as_deref(), Some(expected), "{changes}");
        assert_eq!(short(&world.log()).len(), usize::from(is_short), "{changes}");
    }
    // No refresh token.
    for refresh in [json!(""), json!(false), json!(7)] {
        let token = json!({ "expires_in": 20, "refresh_token": refresh });
        let (world, oauth) = authorized(Rules { token, ..Rules::default() }, interactive()).await;
        assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t1"), "{refresh}");
        assert!(world.log().is_empty(), "{refresh}");
    }
    // Registrations, and the metadata of both servers.
    let future = u32::MAX.to_string();
    for (resource, server, client) in [
        (json!({}), json!({}), json!({ "client_secret_expires_at": "0" })),
        (json!({}), json!({}), json!({ "client_secret_expires_at": future })),
        (json!({}), json!({}), json!({ "client_secret_expires_at": 4e9 })),
        (json!({}), json!({}), json!({ "client_secret_expires_at": "never" })),
        (json!({}), json!({}), json!({ "client_secret": "", "client_id_issued_at": "now" })),
        (json!({}), json!({}), json!({ "token_endpoint_auth_method": ["none"] })),
        (json!({ "scopes_supported": "a" }), json!({ "scopes_supported": "a b" }), json!({})),
        (json!({ "scopes_supported": {} }), json!({ "scopes_supported": 3 }), json!({})),
    ] {
        let place = format!("{resource} {server} {client}");
        let world = World::start(Rules { resource, server, client, ..Rules::default() }).await;
        let oauth = OAuth::new(&world.mcp(), interactive()).unwrap();
        assert_eq!(challenge(&oauth, &world, 401, "Bearer").await, Ok(true), "{place}");
    }
}

/// A user who agrees when they may.
struct Hesitates(Arc<Semaphore>);

impl UserAgent for Hesitates {
    fn authorize(&self, url: String) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(async move {
            self.0.acquire().await?.forget();
            Agrees.authorize(url).await
        })
    }
}

/// Other users of a shared folder may put links there.
#[cfg(unix)]
#[tokio::test]
async fn a_lock_file_that_is_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    drop(store.lock("a").await.unwrap());
    let lock = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&lock).unwrap();
    let target = folder.path().join("target");
    std::os::unix::fs::symlink(&target, &lock).unwrap();
    let error = store.lock("a").await.unwrap_err();
    let reason = std::error::Error::source(&*error).unwrap().to_string();
    assert_eq!(reason, "it is a symbolic link; remove it", "{error}");
    assert!(!target.exists());
}

#[tokio::test]
async fn nothing_is_locked_while_a_user_decides() {
    let folder = tempfile::tempdir().unwrap();
    let file = Arc::new(FileStore::new(folder.path()));
    let stores: [Arc<dyn TokenStore>; 2] = [Arc::new(MemoryStore::default()), file];
    for store in stores {
        let decisions = Arc::new(Semaphore::new(1));
        let agent = Interaction::agent(REDIRECT, Hesitates(Arc::clone(&decisions)));
        let config = OAuthConfig::new(Grant::AuthorizationCode(agent));
        let config = OAuthConfig { store: Arc::clone(&store), ..config };
        let (world, oauth) = authorized(short_lived(), config).await;

        // One user decides about further scopes, for all requests that need them.
        const FORBIDDEN: &str = "Bearer error=\"insufficient_scope\", scope=b";
        let refused = || {
            let oauth = oauth.clone();
            let refusal = world.challenge(403, FORBIDDEN).with_token(Some("t1".to_owned()));
            tokio::spawn(
                async move { oauth.challenged(refusal).await.map_err(|error| cause(&error)) },
            )
        };
        let deciding = [refused(), refused(), refused(), refused()];
        until("the page", || world.log().iter().any(|line| line.starts_with("GET "))).await;
        tokio::time::sleep(Duration::from_millis(20)).await;

        // Meanwhile, requests have their token, also a refreshed one, and so have other clients of the store.
        world.change(|rules| rules.token = json!({ "expires_in": 20, "refresh_token": "r2" }));
        assert_eq!(in_time("the token", oauth.token()).await.unwrap().as_deref(), Some("t2"));
        let other = OAuthConfig { store: Arc::clone(&store), ..OAuthConfig::new(Grant::Stored) };
        let other = OAuth::new(&world.mcp(), other).unwrap();
        assert_eq!(in_time("the token", other.token()).await.unwrap().as_deref(), Some("t3"));
        drop(in_time("the lock", store.lock(&world.mcp())).await.unwrap());

        world.change(|rules| rules.token = json!({ "refresh_token": "r3" }));
        decisions.add_permits(1);
        for decided in deciding {
            assert_eq!(in_time("the decision", decided).await.unwrap(), Ok(true));
        }
        for oauth in [&oauth, &other] {
            assert_eq!(oauth.token().await.unwrap().as_deref(), Some("t4"));
        }
    }
}
