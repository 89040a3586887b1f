//! Layers of this crate and of tower in one `ServiceBuilder`.

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tower::ServiceBuilder;
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use trunkline::access::Principal;
use trunkline::client::{Client, Error};
use trunkline::layers::rate_limit::Rate;
use trunkline::layers::{
    CatchPanicLayer, ConcurrencyLimitLayer, HandleErrorLayer, MetricsLayer, Next, RateLimitLayer,
    TimeoutLayer, TraceLayer, ValidateLayer, from_fn,
};
use trunkline::{Call, Extensions, Outcome, Router, Rpc};

use super::{body, json_of, paused};

const SECOND: Duration = Duration::from_secs(1);

/// Adds a layer outside of, between and inside of layers of tower.
macro_rules! stack {
    ($outer:expr, $middle:expr, $inner:expr) => {
        ServiceBuilder::new()
            .layer($outer)
            .load_shed()
            .concurrency_limit(1)
            .layer($middle)
            .timeout(SECOND)
            .map_response(|outcome: Outcome| outcome)
            .layer($inner)
    };
    ($layer:expr) => {
        stack!($layer, $layer, $layer)
    };
}

fn methods() -> Router {
    Router::new().method("now", || 1).method("never", pending::<()>)
}

/// Calls `never` and, while it runs, `now`. Then calls `now` again.
#[track_caller]
fn check(name: &str, router: Router) {
    let rpc = router.build().unwrap();
    let call = |method: &str| {
        let mut extensions = Extensions::new();
        extensions.insert(Principal::new("ada"));
        let (rpc, body): (Rpc, _) = (rpc.clone(), body(method, 1));
        async move { json_of(rpc.handle(body.into(), extensions).await) }
    };
    let (first, second) = paused().block_on(async {
        let first = tokio::join!(biased; call("never"), call("never"), call("now"));
        (first, call("now").await)
    });
    let code = |reply: &Value| reply["error"]["code"].clone();
    assert_eq!(code(&first.0), json!(-32004), "{name}: {first:?}");
    assert_eq!(code(&first.1), json!(-32005), "{name}: {first:?}");
    assert_eq!(first.2["result"], json!(1), "{name}: each method has its own limit: {first:?}");
    assert_eq!(second["result"], json!(1), "{name}: {second}");
}

#[test]
fn each_layer_of_a_router_composes_with_those_of_tower() {
    let layered = |name: &str, add: &dyn Fn(Router) -> Router| check(name, add(methods()));
    let rate = RateLimitLayer::new(Rate::default());
    layered("trace", &|router| router.layer(stack!(TraceLayer::new())));
    layered("catch_panic", &|router| router.layer(stack!(CatchPanicLayer::new())));
    layered("timeout", &|router| router.layer(stack!(TimeoutLayer::new(SECOND * 9))));
    layered("concurrency_limit", &|router| router.layer(stack!(ConcurrencyLimitLayer::new(9))));
    layered("rate_limit", &|router| router.layer(stack!(rate.clone())));
    layered("validation", &|router| router.layer(stack!(ValidateLayer::new())));
    layered("handle_error", &|router| router.layer(stack!(HandleErrorLayer::documented())));
    let function = || from_fn(async |call: Call, next: Next| next.run(call).await);
    layered("from_fn", &|router| {
        let errors = HandleErrorLayer::documented;
        let outer = ServiceBuilder::new().layer(function()).layer(errors());
        let middle = ServiceBuilder::new().layer(function()).layer(errors());
        router.layer(stack!(outer, middle, function()))
    });
}

#[test]
fn each_layer_of_a_client_composes_with_those_of_tower() {
    #[track_caller]
    fn check(name: &str, add: impl FnOnce(Client) -> Client) {
        let client = add(Client::new(methods().build().unwrap()));
        let (first, second, third) = paused().block_on(async {
            let call = || client.call::<i64>("never", ()).into_future();
            let (first, second) = tokio::join!(biased; call(), call());
            (first, second, client.call::<i64>("now", ()).await)
        });
        assert!(matches!(&first, Err(Error::Layer(e)) if e.is::<Elapsed>()), "{name}: {first:?}");
        assert!(
            matches!(&second, Err(Error::Layer(e)) if e.is::<Overloaded>()),
            "{name}: {second:?}"
        );
        assert_eq!(third.unwrap(), 1, "{name}");
    }

    let rate = RateLimitLayer::new(Rate::default());
    check("trace", |client| client.layer(stack!(TraceLayer::client())));
    check("metrics", |client| client.layer(stack!(MetricsLayer::of(["now"]))));
    check("catch_panic", |client| client.layer(stack!(CatchPanicLayer::new())));
    check("timeout", |client| client.layer(stack!(TimeoutLayer::new(SECOND * 9))));
    check("concurrency_limit", |client| client.layer(stack!(ConcurrencyLimitLayer::new(9))));
    check("rate_limit", |client| client.layer(stack!(rate.clone())));
}
