//! Access tokens and challenges.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::json;
use trunkline::client::Http;
use trunkline_mcp::client::{Authorization, AuthorizationError, Challenge, Error};

use super::script::{Asked, Script, http, modern, result};

/// Tokens `t0`, `t1`, …: each challenge but the last of `max` leads to the next.
#[derive(Default)]
struct Tokens {
    max: usize,
    fails: bool,
    challenges: Mutex<Vec<Challenge>>,
}

impl Authorization for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthorizationError>> {
        let count = self.challenges.lock().unwrap().len();
        Box::pin(std::future::ready(Ok(Some(format!("t{count}")))))
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, AuthorizationError>> {
        let mut challenges = self.challenges.lock().unwrap();
        challenges.push(challenge);
        let answer = match self.fails {
            true => Err(AuthorizationError::new("the user closed the browser")),
            false => Ok(challenges.len() <= self.max),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A server that accepts one token only.
async fn requires(token: &'static str) -> Script {
    Script::start(move |asked: &Asked| match asked.header("authorization") {
        Some(sent) if sent == format!("Bearer {token}") => match asked.method() {
            "tools/list" => result(asked, &json!({ "tools": [], "ttlMs": 60_000 })),
            _ => modern(asked),
        },
        _ => http("401 Unauthorized\nWWW-Authenticate: Bearer scope=\"a\"", ""),
    })
    .await
}

#[tokio::test]
async fn challenged_requests_are_repeated() {
    let script = requires("t2").await;
    let tokens = Arc::new(Tokens { max: 9, ..Tokens::default() });
    let client = script.connect(|config| config.authorization = Some(tokens.clone())).await;
    client.unwrap().list_tools().await.unwrap();
    let challenges = tokens.challenges.lock().unwrap().clone();
    assert_eq!(challenges.len(), 2);
    assert_eq!((&challenges[0].url, challenges[0].status.as_u16()), (&script.url, 401));
    assert_eq!(challenges[0].www_authenticate, ["Bearer scope=\"a\""]);
    let expected = ["server/discover", "server/discover", "server/discover", "tools/list"];
    assert_eq!(script.methods(), expected);
}

#[tokio::test]
async fn challenges_are_limited() {
    for (max, asked) in [(0, 1), (1, 2), (9, 4)] {
        let script = requires("none").await;
        let tokens = Arc::new(Tokens { max, ..Tokens::default() });
        let refused = script.connect(|config| config.authorization = Some(tokens)).await;
        assert_eq!(refused.unwrap_err().status().map(|status| status.as_u16()), Some(401));
        assert_eq!(script.asked().len(), asked, "{max}");
    }
}

#[tokio::test]
async fn failed_authorization_fails_the_request() {
    let script = requires("none").await;
    let tokens = Arc::new(Tokens { fails: true, ..Tokens::default() });
    let failed = script.connect(|config| config.authorization = Some(tokens)).await.unwrap_err();
    assert!(matches!(failed, Error::Authorization(_)), "{failed}");
    assert_eq!(script.asked().len(), 1);

    // A server whose era is known.
    let http = Http::connect(&script.url).unwrap();
    let tokens = Arc::new(Tokens { fails: true, ..Tokens::default() });
    let failed = script.connect(|config| {
        config.eras.assume_legacy(&http);
        config.authorization = Some(tokens.clone());
    });
    assert!(matches!(failed.await.unwrap_err(), Error::Authorization(_)));
    assert_eq!(tokens.challenges.lock().unwrap().len(), 1);

    let newline: Arc<dyn Authorization> = Arc::new("a\nb".to_owned());
    let failed = script.connect(|config| config.authorization = Some(newline)).await.unwrap_err();
    assert!(matches!(failed, Error::Authorization(_)), "{failed}");
}

#[tokio::test]
async fn a_static_token_is_sent() {
    let script = requires("abc").await;
    let token: Arc<dyn Authorization> = Arc::new("abc".to_owned());
    let client = script.connect(|config| config.authorization = Some(token)).await.unwrap();
    assert!(!format!("{client:?}").contains("abc"), "{client:?}");
    let wrong: Arc<dyn Authorization> = Arc::new("abd".to_owned());
    script.connect(|config| config.authorization = Some(wrong)).await.unwrap_err();
    assert_eq!(script.asked().len(), 2);
}

#[tokio::test]
async fn cached_results_belong_to_one_token() {
    struct Current(Mutex<String>);
    impl Authorization for Current {
        fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthorizationError>> {
            let token = self.0.lock().unwrap().clone();
            Box::pin(std::future::ready(Ok(Some(token))))
        }

        fn challenged(&self, _: Challenge) -> BoxFuture<'_, Result<bool, AuthorizationError>> {
            Box::pin(std::future::ready(Ok(false)))
        }
    }
    let script = Script::start(|asked| match asked.method() {
        "tools/list" => result(asked, &json!({ "tools": [], "ttlMs": 60_000 })),
        _ => modern(asked),
    });
    let script = script.await;
    let current = Arc::new(Current(Mutex::new("a".to_owned())));
    let client =
        script.connect(|config| config.authorization = Some(current.clone())).await.unwrap();
    for (token, expected) in [("a", 1), ("a", 1), ("b", 2), ("b", 2), ("a", 3)] {
        token.clone_into(&mut current.0.lock().unwrap());
        client.list_tools().await.unwrap();
        assert_eq!(script.asked_for("tools/list").len(), expected, "{token}");
    }
}
