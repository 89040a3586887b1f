//! Custom layers: a function, and a hand-written tower layer.

use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::Either;
use serde_json::json;
use tower::{Layer, Service};
use trunkline::layers::{Next, from_fn};
use trunkline::protocol::Endpoint;
use trunkline::{Call, ErrorObject, Extensions, Outcome, Router, State};

use super::{body, check, json_of, paused};

#[test]
fn a_function_can_read_the_call_and_the_outcome() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let rpc = Router::new()
        .method("ok", || 1)
        .method("fails", || Err::<(), _>(ErrorObject::new(7, "no")))
        .layer(from_fn(move |call: Call, next: Next| {
            let log = Arc::clone(&log);
            async move {
                let before = format!("{} {:?} {:?}", call.method(), call.id(), call.params());
                let name = call.operation().unwrap().name().to_owned();
                let outcome = next.run(call).await;
                log.lock().unwrap().push((name, before, outcome.code()));
                outcome
            }
        }))
        .build()
        .unwrap();
    check(&rpc, "ok", Ok(json!(1)));
    check(&rpc, "fails", Err(json!({ "code": 7, "message": "no" })));
    let notification = r#"{"jsonrpc":"2.0","method":"\u006fk","params":[]}"#;
    let reply = paused().block_on(rpc.handle(notification.into(), Extensions::new()));
    assert_eq!(reply.into_json(), None);
    let expected = [
        ("ok".to_owned(), "ok Some(Id(1)) None".to_owned(), None),
        ("fails".to_owned(), "fails Some(Id(1)) None".to_owned(), Some(7)),
        ("ok".to_owned(), "ok None Some([91, 93])".to_owned(), None),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_function_can_reply_instead_of_the_handler() {
    let called = Arc::new(Mutex::new(0));
    let count = Arc::clone(&called);
    let rpc = Router::new()
        .method("m", move || *count.lock().unwrap() += 1)
        .layer(from_fn(async |call: Call, next: Next| match call.is_notification() {
            true => next.run(call).await,
            false => Outcome::error(ErrorObject::new(1, "notifications only")),
        }))
        .build()
        .unwrap();
    check(&rpc, "m", Err(json!({ "code": 1, "message": "notifications only" })));
    assert_eq!(*called.lock().unwrap(), 0);
    let reply = r#"{"jsonrpc":"2.0","method":"m"}"#;
    paused().block_on(rpc.handle(reply.into(), Extensions::new()));
    assert_eq!(*called.lock().unwrap(), 1);
}

/// Passes on calls with even ids, and replies to others itself.
#[derive(Debug, Clone)]
struct EvenLayer;

#[derive(Debug, Clone)]
struct Even<S> {
    inner: S,
}

impl<S> Layer<S> for EvenLayer {
    type Service = Even<S>;

    fn layer(&self, inner: S) -> Even<S> {
        Even { inner }
    }
}

impl<S: Service<Call, Response = Outcome>> Service<Call> for Even<S> {
    type Response = Outcome;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Outcome, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let id: Option<i64> = call.id().and_then(|id| id.as_raw().parse().ok());
        if id.is_some_and(|id| id % 2 == 0) {
            return self.inner.call(call).left_future();
        }
        ready(Ok(Outcome::result("odd"))).right_future()
    }
}

#[test]
fn a_tower_layer_sees_every_member_of_a_batch() {
    let rpc = Router::new()
        .method("m", |State(text): State<&'static str>| text)
        .layer(EvenLayer)
        .with_state("even")
        .build()
        .unwrap();
    let members = [body("m", 1), body("m", 2), body("m", 3), body("m", 4)].join(",");
    let reply = paused().block_on(rpc.handle(format!("[{members}]").into(), Extensions::new()));
    let results: Vec<_> =
        json_of(reply).as_array().unwrap().iter().map(|reply| reply["result"].clone()).collect();
    assert_eq!(results, ["odd", "even", "odd", "even"]);
}

#[test]
fn a_layer_makes_one_service_for_each_operation() {
    #[derive(Clone)]
    struct CountLayer(Arc<Mutex<usize>>);

    impl Layer<Endpoint> for CountLayer {
        type Service = Endpoint;

        fn layer(&self, inner: Endpoint) -> Endpoint {
            *self.0.lock().unwrap() += 1;
            inner
        }
    }

    let services = Arc::new(Mutex::new(0));
    let router = Router::new().method("a", || 1).method("b", || 2);
    let rpc = router.layer(CountLayer(Arc::clone(&services))).build().unwrap();
    // Including those for rpc.discover and unknown methods.
    assert_eq!(*services.lock().unwrap(), 4);
    check(&rpc, "a", Ok(json!(1)));
    check(&rpc.clone(), "a", Ok(json!(1)));
    assert_eq!(*services.lock().unwrap(), 4);
}
