//! Rotation of keys at a URL and in a file while the server runs.

use std::error::Error;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Keys, KeysError, Refresh, TokenError};
use trunkline::client::http::Url;
use trunkline::server::ServerHandle;

use super::signer::Signer;
use super::{ask, serve_jwt, set};
use crate::support::{in_time, until};

/// A server that publishes the keys of an issuer.
#[derive(Clone)]
pub(super) struct Issuer(Arc<Published>);

struct Published {
    reply: Mutex<(StatusCode, String)>,
    fetches: AtomicUsize,
    /// Permits for replies to fetches.
    open: Semaphore,
}

const HOUR: Duration = Duration::from_secs(3_600);

impl Issuer {
    /// Serves a key set on a free port.
    pub(super) async fn serve(keys: String) -> (Self, Url) {
        let reply = Mutex::new((StatusCode::OK, keys));
        let open = Semaphore::new(Semaphore::MAX_PERMITS);
        let issuer = Self(Arc::new(Published { reply, fetches: AtomicUsize::new(0), open }));
        let answer = async |State(Self(published)): State<Self>| {
            published.fetches.fetch_add(1, Ordering::SeqCst);
            published.open.acquire().await.unwrap().forget();
            let (status, body) = published.reply.lock().unwrap().clone();
            let mut headers = HeaderMap::new();
            headers.insert("location", "/elsewhere".parse().unwrap());
            (status, headers, body)
        };
        let elsewhere =
            async |State(Self(published)): State<Self>| published.reply.lock().unwrap().1.clone();
        let app = Router::new()
            .route("/jwks", get(answer))
            .route("/elsewhere", get(elsewhere))
            .with_state(issuer.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async { axum::serve(listener, app).await });
        (issuer, url)
    }

    fn publish(&self, status: StatusCode, body: String) {
        *self.0.reply.lock().unwrap() = (status, body);
    }

    fn fetches(&self) -> usize {
        self.0.fetches.load(Ordering::SeqCst)
    }

    /// Delays replies to further fetches.
    fn close(&self) {
        self.0.open.forget_permits(usize::MAX);
    }

    fn reopen(&self) {
        self.0.open.add_permits(1_000);
    }
}

fn signer() -> Signer {
    Signer::new(Algorithm::Es256)
}

fn refresh(after: Duration, interval: Duration) -> Refresh {
    let mut refresh = Refresh::default();
    (refresh.after, refresh.interval) = (after, interval);
    refresh
}

/// Repeats the request until the response has this status.
async fn until_status(server: &ServerHandle, token: &str, status: u16) {
    in_time("a status", async {
        while ask(server, token).await.status != status {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn fetches_keys_when_a_token_names_an_unknown_one() {
    let [old, new] = [signer(), signer()];
    let (issuer, url) = Issuer::serve(set([old.named_jwk("old")])).await;
    let keys = Keys::url_with(url, refresh(HOUR, Duration::from_millis(20))).unwrap();
    let server = serve_jwt(keys, JwtConfig::default()).await;
    assert_eq!(issuer.fetches(), 0, "no request yet");
    assert_eq!(ask(&server, &old.token("old")).await.status, 200, "the first token waits");
    assert_eq!(issuer.fetches(), 1);
    issuer.publish(StatusCode::OK, set([new.named_jwk("new")]));
    assert_eq!(ask(&server, &old.token("old")).await.status, 200, "the key is cached");
    until_status(&server, &new.token("new"), 200).await;
    assert_eq!(ask(&server, &old.token("old")).await.status, 401, "the key was removed");
    assert_eq!(ask(&server, &new.token("new")).await.status, 200);
}

#[tokio::test]
async fn fetches_expired_keys_in_the_background() {
    let [old, new] = [signer(), signer()];
    let (issuer, url) = Issuer::serve(set([old.named_jwk("a")])).await;
    let keys = Keys::url_with(url, refresh(Duration::ZERO, Duration::ZERO)).unwrap();
    keys.load().await.unwrap();
    let server = serve_jwt(keys, JwtConfig::default()).await;
    issuer.close();
    issuer.publish(StatusCode::OK, set([new.named_jwk("a")]));
    for _ in 0..10 {
        assert_eq!(ask(&server, &old.token("a")).await.status, 200, "requests do not wait");
    }
    until("the fetch", || issuer.fetches() == 2).await;
    issuer.reopen();
    until_status(&server, &old.token("a"), 401).await;
    until_status(&server, &new.token("a"), 200).await;
}

#[tokio::test]
async fn many_unknown_keys_cause_few_fetches() {
    let good = signer();
    let (issuer, url) = Issuer::serve(set([good.named_jwk("a")])).await;

    // Within the interval, keys are fetched once.
    let keys = Keys::url_with(url.clone(), refresh(HOUR, HOUR)).unwrap();
    keys.load().await.unwrap();
    let server = serve_jwt(keys, JwtConfig::default()).await;
    let tokens: Vec<_> = (0..100).map(|kid| good.token(&format!("unknown-{kid}"))).collect();
    for reply in join_all(tokens.iter().map(|token| ask(&server, token))).await {
        assert_eq!(reply.status, 401);
    }
    assert_eq!(issuer.fetches(), 1);
    assert_eq!(ask(&server, &good.token("a")).await.status, 200);

    // All requests during a fetch wait for it.
    let keys = Keys::url_with(url, refresh(HOUR, Duration::ZERO)).unwrap();
    let jwt = Jwt::new(keys, JwtConfig::default());
    issuer.close();
    let opening = async {
        until("the fetch", || issuer.fetches() == 2).await;
        issuer.reopen();
    };
    let waiting = join_all(tokens.iter().map(|token| jwt.verify(token)));
    let (checked, ()) = in_time("the fetch", futures_util::future::join(waiting, opening)).await;
    assert!(checked.iter().all(|checked| checked == &Err(TokenError::UnknownKey)));
    assert_eq!(issuer.fetches(), 2);
}

/// A fetch serves all waiting requests, so the end of one does not cancel it.
#[tokio::test]
async fn a_dropped_request_does_not_cancel_the_fetch() {
    let good = signer();
    let (issuer, url) = Issuer::serve(set([good.named_jwk("a")])).await;
    let jwt = Jwt::new(Keys::url_with(url, refresh(HOUR, HOUR)).unwrap(), JwtConfig::default());
    issuer.close();
    let token = good.token("a");
    tokio::select! {
        biased;
        _ = jwt.verify(&token) => panic!("no key was fetched yet"),
        () = until("the fetch", || issuer.fetches() == 1) => {}
    }
    issuer.reopen();
    assert!(in_time("the key", jwt.verify(&token)).await.is_ok());
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn keeps_keys_while_fetches_fail() {
    let good = signer();
    let (issuer, url) = Issuer::serve(set([good.named_jwk("a")])).await;
    let mut refresh = refresh(Duration::ZERO, Duration::ZERO);
    refresh.timeout = Duration::from_secs(2);
    refresh.max_bytes = 10_000;
    let keys = Keys::url_with(url, refresh).unwrap();
    let server = serve_jwt(keys.clone(), JwtConfig::default()).await;
    keys.load().await.unwrap();
    let huge = format!("{}{}", set([good.named_jwk("a")]), " ".repeat(10_000));
    let secret = set([Signer::new(Algorithm::Hs256).named_jwk("h")]);
    let rows: [(&str, StatusCode, String, &[&str]); 7] = [
        ("down", StatusCode::INTERNAL_SERVER_ERROR, "oops".to_owned(), &["returned status 500"]),
        ("gone", StatusCode::NOT_FOUND, String::new(), &["returned status 404"]),
        ("moved", StatusCode::FOUND, String::new(), &["returned status 302"]),
        (
            "a page",
            StatusCode::OK,
            "<html>".to_owned(),
            &["unusable key set", "not a JSON Web Key"],
        ),
        ("no keys", StatusCode::OK, set([]), &["unusable key set", "no usable key among 0"]),
        ("only secrets", StatusCode::OK, secret, &["unusable key set", "all keys are secrets"]),
        ("too large", StatusCode::OK, huge, &["cannot fetch", "exceeds 10000 bytes"]),
    ];
    for (name, status, body, expected) in rows {
        issuer.publish(status, body);
        check_failure(name, keys.load().await, expected);
        assert_eq!(ask(&server, &good.token("a")).await.status, 200, "{name}: the key stays");
        assert_eq!(ask(&server, &good.token("b")).await.status, 401, "{name}: another key");
    }
    issuer.publish(StatusCode::OK, set([good.named_jwk("a")]));
    issuer.close();
    check_failure("too slow", keys.load().await, &["timed out after 2000 ms"]);
    issuer.reopen();
    keys.load().await.unwrap();
}

#[track_caller]
fn check_failure(name: &str, loaded: Result<(), KeysError>, expected: &[&str]) {
    let error = loaded.expect_err(name);
    let message =
        format!("{error} {}", error.source().map(ToString::to_string).unwrap_or_default());
    for part in expected {
        assert!(message.contains(part), "{name}: no {part:?} in {message:?}");
    }
}

#[tokio::test]
async fn drops_keys_after_the_maximum_age() {
    let good = signer();
    let (issuer, url) = Issuer::serve(set([good.named_jwk("a")])).await;
    let mut refresh = refresh(HOUR, Duration::ZERO);
    refresh.max_age = Duration::from_millis(1);
    let keys = Keys::url_with(url, refresh).unwrap();
    keys.load().await.unwrap();
    issuer.publish(StatusCode::BAD_GATEWAY, String::new());
    let server = serve_jwt(keys, JwtConfig::default()).await;
    until_status(&server, &good.token("a"), 503).await;
    let reply = ask(&server, &good.token("a")).await;
    assert_eq!(reply.json()["error"]["data"]["status"], 503);
    assert_eq!(reply.header("www-authenticate"), None, "the token may be valid");
    assert_eq!(ask(&server, "no.token").await.status, 401, "this token is invalid");
}

#[tokio::test]
async fn reports_a_refused_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let keys = Keys::url(url).unwrap();
    check_failure("no server", keys.load().await, &["cannot fetch http://127.0.0.1:"]);
}

#[tokio::test]
async fn reads_a_changed_file_again() {
    let [old, new] = [signer(), signer()];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let write = |keys: [Value; 1]| fs::write(&path, set(keys)).unwrap();
    let keys = Keys::file(&path);
    check_failure("no file", keys.load().await, &["cannot read", "jwks.json", "No such file"]);
    let server = serve_jwt(keys.clone(), JwtConfig::default()).await;
    assert_eq!(ask(&server, &old.token("old")).await.status, 503, "no keys yet");

    write([old.named_jwk("old")]);
    until_status(&server, &old.token("old"), 200).await;
    fs::write(&path, "{").unwrap();
    check_failure(
        "half a file",
        keys.load().await,
        &["unusable key set", "not a JSON Web Key Set"],
    );
    assert_eq!(ask(&server, &old.token("old")).await.status, 200, "the key stays");
    write([new.named_jwk("new")]);
    until_status(&server, &new.token("new"), 200).await;
    assert_eq!(ask(&server, &old.token("old")).await.status, 401);
    write([old.named_jwk("new")]);
    until_status(&server, &new.token("new"), 401).await;
}

/// Also without calls in the meantime.
#[tokio::test(start_paused = true)]
async fn refuses_a_key_that_was_removed_from_a_file_during_a_pause() {
    let [old, new] = [signer(), signer()];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    fs::write(&path, set([old.named_jwk("old")])).unwrap();
    let jwt = Jwt::new(Keys::file(&path), JwtConfig::default());
    assert!(jwt.verify(&old.token("old")).await.is_ok());
    fs::write(&path, set([new.named_jwk("new")])).unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(jwt.verify(&old.token("old")).await, Err(TokenError::UnknownKey));

    fs::remove_file(&path).unwrap();
    tokio::time::advance(HOUR).await;
    assert!(
        jwt.verify(&new.token("new")).await.is_ok(),
        "the keys are kept if the file cannot be read"
    );
}

/// Replacement of keys without ids, and tokens without them.
#[tokio::test]
async fn rotates_keys_without_ids() {
    let [old, new, other] = [signer(), signer(), signer()];
    let nameless =
        |signer: &Signer| signer.sign(&json!({"alg": "ES256"}), &json!({"exp": super::now() + 60}));
    let (issuer, url) = Issuer::serve(set([old.jwk()])).await;
    let interval = Duration::from_millis(20);
    let keys = Keys::url_with(url.clone(), refresh(HOUR, interval)).unwrap();
    let server = serve_jwt(keys, JwtConfig::default()).await;
    assert_eq!(ask(&server, &nameless(&old)).await.status, 200);
    issuer.publish(StatusCode::OK, set([old.jwk(), new.jwk()]));
    until_status(&server, &nameless(&new), 200).await;
    assert_eq!(ask(&server, &nameless(&old)).await.status, 200, "the key was kept");
    issuer.publish(StatusCode::OK, set([other.jwk()]));
    until_status(&server, &nameless(&other), 200).await;
    assert_eq!(ask(&server, &nameless(&new)).await.status, 401);

    // Invalid signatures cause few fetches, too.
    let fetches = issuer.fetches();
    let jwt = Jwt::new(Keys::url_with(url, refresh(HOUR, HOUR)).unwrap(), JwtConfig::default());
    for _ in 0..10 {
        assert_eq!(jwt.verify(&nameless(&new)).await, Err(TokenError::Signature));
    }
    assert_eq!(issuer.fetches(), fetches + 1);
}

#[tokio::test]
async fn fetches_again_after_a_failed_load() {
    let good = signer();
    let (issuer, url) = Issuer::serve(String::new()).await;
    issuer.publish(StatusCode::BAD_GATEWAY, String::new());
    let keys = Keys::url_with(url, refresh(HOUR, HOUR)).unwrap();
    check_failure("down", keys.load().await, &["returned status 502"]);
    issuer.publish(StatusCode::OK, set([good.named_jwk("a")]));
    let jwt = Jwt::new(keys, JwtConfig::default());
    assert!(jwt.verify(&good.token("a")).await.is_ok());
}

/// Tokens are checked after a pending load of keys, even if the loading future is dropped.
#[tokio::test]
async fn tokens_wait_for_a_pending_load() {
    for is_dropped in [false, true] {
        let good = signer();
        let (issuer, url) = Issuer::serve(set([good.named_jwk("a")])).await;
        issuer.close();
        let keys = Keys::url_with(url, refresh(HOUR, HOUR)).unwrap();
        let jwt = Jwt::new(keys.clone(), JwtConfig::default());
        let mut loading = Box::pin(async move { keys.load().await });
        tokio::select! {
            biased;
            _ = &mut loading => panic!("no reply was sent yet"),
            () = until("the fetch", || issuer.fetches() == 1) => {}
        }
        let loading = (!is_dropped).then_some(loading);
        let token = good.token("a");
        let mut checking = Box::pin(jwt.verify(&token));
        assert!(futures_util::poll!(&mut checking).is_pending(), "it waits");
        issuer.reopen();
        assert!(in_time("the key", checking).await.is_ok());
        if let Some(loading) = loading {
            in_time("the load", loading).await.unwrap();
        }
        assert_eq!(issuer.fetches(), 1);
    }
}

/// At a URL: keys that expired long ago are fetched before a token is checked.
#[tokio::test]
async fn refuses_a_key_that_was_removed_from_a_url_during_a_pause() {
    let [old, new] = [signer(), signer()];
    let (issuer, url) = Issuer::serve(set([old.named_jwk("a")])).await;
    let mut refresh = refresh(Duration::ZERO, Duration::ZERO);
    refresh.wait_after = Duration::ZERO;
    let keys = Keys::url_with(url, refresh).unwrap();
    keys.load().await.unwrap();
    let jwt = Jwt::new(keys, JwtConfig::default());
    issuer.publish(StatusCode::OK, set([new.named_jwk("a")]));
    assert_eq!(jwt.verify(&old.token("a")).await, Err(TokenError::Signature));
    issuer.publish(StatusCode::BAD_GATEWAY, String::new());
    assert!(jwt.verify(&new.token("a")).await.is_ok(), "they cannot be fetched: the keys stay");
}
